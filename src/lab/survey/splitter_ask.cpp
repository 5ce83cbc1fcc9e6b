// SPDX-License-Identifier: BSD-3-Clause
// The splitter's second part: who is near whom, asked under load.
#include <cmath>

#include "base/assert.h"
#include "lab/survey/splitter.h"

namespace tutti::survey {
namespace {

// An answer counts as clear when it is so far from the threshold, either way.
constexpr double kClear = 1.12;
// A transfer over the narrowest link gets more when others leave it, not twice as much.
constexpr double kTwice = 2;
constexpr size_t kClearMin = 3;  // of which so many settle it
constexpr size_t kAnswersMax = 5;
constexpr size_t kComparedMax = 6;
// Where times of one transfer differ so much, chance makes two of six.
constexpr double kRough = 1.5;
constexpr size_t kNearRough = 4;
constexpr uint32_t kTriesMax = 10;  // with transfers that do not come

}  // namespace

// The two ends of a slow transfer are apart: the first groups.
void Splitter::begin_asking() {
    phase_ = Phase::kAsk;
    uint32_t slowest = kNobody;
    for (uint32_t place = 0; place < count(); ++place) {
        const double speed = best_speeds_[place];
        if (speed >= 0 && (slowest == kNobody || speed < best_speeds_[slowest])) slowest = place;
    }
    clusters_.resize(count());
    for (uint32_t place = 0; place < count(); ++place) {
        clusters_[place].members = {place};
        clusters_[place].is_far.assign(count(), 0);
        clusters_[place].is_group = place == slowest || place == best_to_[slowest];
    }
    arrange();
}

// A group that the asker does not know to be far. In kCompare groups ask those behind them.
bool Splitter::choose_about(uint32_t asker) {
    Cluster& cluster = clusters_[asker];
    if (cluster.about != kNobody && !clusters_[cluster.about].is_gone) return true;
    std::vector<uint32_t> open;
    const uint32_t first = phase_ == Phase::kCompare ? asker + 1 : 0;
    for (uint32_t other = first; other < count(); ++other) {
        const Cluster& group = clusters_[other];
        if (group.is_group && !group.is_gone && !cluster.is_far[other] && other != asker) {
            open.push_back(other);
        }
    }
    cluster.answers.clear();
    cluster.tries = 0;
    cluster.about = open.empty() ? kNobody : open[random_.below(open.size())];
    return cluster.about != kNobody;
}

// Puts a question of this asker into the permutation, if the hosts that it moves are free.
bool Splitter::pose(uint32_t asker, std::vector<uint8_t>& is_taken) {
    const Cluster& cluster = clusters_[asker];
    const std::vector<uint32_t>& others = clusters_[cluster.about].members;
    // Were all these near, the group would still send seven eighths of what it did.
    uint32_t same = 0;
    for (const Question& question : questions_) {
        same += clusters_[question.asker].about == cluster.about ? 1 : 0;
    }
    if (same >= std::max<size_t>(1, others.size() / 8)) return false;
    const std::vector<uint32_t> from_of = senders();
    for (uint32_t attempt = 0; attempt < 4; ++attempt) {
        uint32_t from = cluster.members[random_.below(cluster.members.size())];
        uint32_t to = others[random_.below(others.size())];
        if (random_.below(2) == 0) std::swap(from, to);
        const uint32_t left_to = to_[from];
        const uint32_t left_from = from_of[to];
        if (is_taken[from] || is_taken[to] || is_taken[left_to] || is_taken[left_from]) continue;
        is_taken[from] = is_taken[to] = is_taken[left_to] = is_taken[left_from] = 1;
        if (left_to != to) {
            to_[from] = to;
            to_[left_from] = left_to;
        }
        questions_.push_back({asker, from});
        return true;
    }
    return false;
}

// The next round's permutation; goes on where nobody has anything to ask.
void Splitter::arrange() {
    const uint32_t at_once = std::max(1u, count() / 8);
    // Every question is asked kAnswersMax times at most, of every host about every group.
    const uint32_t rounds_max = 64 + 16 * count();
    for (;;) {
        to_ = best_to_;
        questions_.clear();
        std::vector<uint8_t> is_taken(count());
        std::vector<uint32_t> order;
        for (uint32_t i = 0; i < count(); ++i) {
            if (!clusters_[i].is_gone && clusters_[i].is_group == (phase_ == Phase::kCompare)) {
                order.push_back(i);
            }
        }
        shuffle(order);
        bool is_new = false;
        for (const uint32_t asker : order) {
            if (questions_.size() == at_once) break;
            if (choose_about(asker)) {
                pose(asker, is_taken);
            } else if (phase_ == Phase::kAsk) {
                // Far from all: the first of a group, about which the others now ask.
                clusters_[asker].is_group = is_new = true;
            }
        }
        if (++rounds_ > rounds_max) {
            is_doubtful_ = true;
            return finish();
        }
        if (!questions_.empty()) return;
        if (is_new || phase_ == Phase::kAsk) {
            if (order.empty()) {
                phase_ = Phase::kCompare;
                for (Cluster& cluster : clusters_) cluster.is_far.assign(count(), 0);
            }
            continue;
        }
        return finish();
    }
}

Splitter::Answer Splitter::judge(const Cluster& cluster) const {
    const std::vector<double>& answers = cluster.answers;
    if (cluster.tries >= kTriesMax && answers.empty()) return Answer::kNone;
    if (answers.size() < 2 && cluster.tries < kTriesMax) return Answer::kOpen;
    size_t near = 0;
    size_t far = 0;
    for (const double answer : answers) {
        near += answer > kClear ? 1 : 0;
        far += answer < 1 / kClear ? 1 : 0;
    }
    // Groups are joined in doubt: each of several hosts has a say.
    if (phase_ == Phase::kCompare) {
        const bool is_over = answers.size() >= kComparedMax || cluster.tries >= kTriesMax;
        if (near >= (spread_ > kRough ? kNearRough : 2)) return Answer::kNear;
        return is_over || (near == 0 && answers.size() >= kClearMin) ? Answer::kFar : Answer::kOpen;
    }
    // No accident makes a transfer fast that is not, but too little load does: that takes more.
    if (far == answers.size() || far >= kClearMin) return Answer::kFar;
    if (near >= kClearMin) return Answer::kNear;
    if (answers.size() < kAnswersMax && cluster.tries < kTriesMax) return Answer::kOpen;
    return median(answers) > 1 ? Answer::kNear : Answer::kFar;
}

void Splitter::take_answers() {
    // Where shares are uneven, as TCP's are, the least is that much less than is usual.
    const double threshold = std::min(kTwice * std::sqrt(spread_) * least_, kSlow);
    for (const Question& question : questions_) {
        Cluster& cluster = clusters_[question.asker];
        ++cluster.tries;
        const double speed = speeds_[question.from];
        if (speed >= 0) cluster.answers.push_back(speed / threshold);
    }
    // First all that was heard, then what follows: who joins changes whom others ask about.
    for (const Question& question : questions_) settle(question.asker);
    arrange();
}

void Splitter::settle(uint32_t asker) {
    Cluster& cluster = clusters_[asker];
    if (cluster.is_gone || cluster.about == kNobody) return;
    const Answer answer = judge(cluster);
    if (answer == Answer::kOpen) return;
    const uint32_t about = cluster.about;
    cluster.about = kNobody;
    if (answer == Answer::kNear) return join(asker, about);
    cluster.is_far[about] = 1;
    clusters_[about].is_far[asker] = 1;
}

void Splitter::join(uint32_t asker, uint32_t into) {
    if (clusters_[into].is_gone) return;
    for (const uint32_t place : clusters_[asker].members) clusters_[into].members.push_back(place);
    clusters_[asker].members.clear();
    clusters_[asker].is_gone = true;
}

void Splitter::finish() {
    phase_ = Phase::kDone;
    for (const Cluster& cluster : clusters_) {
        if (cluster.is_gone) continue;
        std::vector<uint32_t> hosts;
        for (const uint32_t place : cluster.members) hosts.push_back(hosts_[place]);
        std::sort(hosts.begin(), hosts.end());
        if (hosts.size() == 1) {
            loners_.push_back(hosts.front());
        } else {
            groups_.push_back(std::move(hosts));
        }
    }
    std::sort(groups_.begin(), groups_.end());
    std::sort(loners_.begin(), loners_.end());
    if (groups_.size() >= 2) return;
    // A host that is slow by itself gives no groups, and that is no doubt.
    if (loners_.empty() || 4 * loners_.size() > count()) is_doubtful_ = true;
    groups_.clear();
}

}  // namespace tutti::survey
