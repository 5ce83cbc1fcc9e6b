// SPDX-License-Identifier: BSD-3-Clause
#include "lab/survey/survey.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/assert.h"

namespace tutti::survey {
namespace {

constexpr uint64_t kTripBytes = 8;
constexpr uint32_t kPasses = 2;
// Of more than latency_hosts_max hosts, so that rates have latencies beside them.
constexpr uint32_t kFewRounds = 8;
constexpr uint32_t kLoneTrials = 3;
constexpr uint32_t kLonePairsMax = 64;
constexpr uint64_t kBytesStep = 16 << 10;
constexpr uint32_t kSizeTries = 16;
// A host none of whose transfers came in so many experiments is lost; and when none at all came in
// so many of round trips, that is enough of them.
constexpr uint32_t kMissingMax = 3;

bool is_missing(uint64_t time_ns) { return time_ns == kMissingNs; }

// Round `round` of a tournament of an even number: everyone meets everyone else once in number - 1
// rounds (the circle method). The last stays, the others go round.
Transfer match(uint32_t number, uint32_t round, uint32_t pair) {
    const uint32_t others = number - 1;
    if (pair == 0) return {round, others};
    return {(round + pair) % others, (round + others - pair) % others};
}

}  // namespace

Survey::Survey(uint32_t hosts, const Limits& limits)
    : hosts_(hosts), limits_(limits), random_(limits.seed) {
    TUTTI_ASSERT(hosts > 0, "some hosts");
    TUTTI_ASSERT(limits.bytes_min > 0, "a transfer has bytes");
    TUTTI_ASSERT(limits.bytes_min <= limits.bytes_max, "bytes_min is within bytes_max");
    missing_in_a_row_.assign(hosts, 0);
    met_.assign(hosts, 0);
    answered_.assign(hosts, 0);
    best_.assign(hosts, 0);
    found_.is_lost.assign(hosts, false);
    found_.is_placed.assign(hosts, false);
    sets_.push_back({});
    if (hosts == 1) conclude(Found::Verdict::kOneSwitch, "one host");
}

std::vector<uint32_t> Survey::alive() const {
    std::vector<uint32_t> hosts;
    for (uint32_t host = 0; host < hosts_; ++host) {
        if (!found_.is_lost[host]) hosts.push_back(host);
    }
    return hosts;
}

const Experiment* Survey::next() {
    if (stage_ == Stage::kDone) return nullptr;
    if (found_.experiments >= limits_.experiments_max || found_.longest_ns >= limits_.ns_max) {
        conclude(Found::Verdict::kCannotTell, "the time for measuring was over");
        return nullptr;
    }
    while (!is_asked_ && stage_ != Stage::kDone) advance();
    return stage_ == Stage::kDone ? nullptr : &experiment_;
}

// Asks the next question of the stage, or goes on to the next stage.
void Survey::advance() {
    switch (stage_) {
        case Stage::kTrips:
            return ask_trips();
        case Stage::kSize:
        case Stage::kLone:
            return ask_pair();
        case Stage::kSplit:
            return ask_splits();
        case Stage::kExam:
            return ask_exam();
        case Stage::kDone:
            return;
    }
}

void Survey::take(std::span<const uint64_t> times_ns) {
    TUTTI_ASSERT(is_asked_, "something was asked for");
    TUTTI_ASSERT(times_ns.size() == experiment_.transfers.size(), "one by transfer");
    ++found_.experiments;
    count_longest(times_ns);
    trials_ns_.emplace_back(times_ns.begin(), times_ns.end());
    const bool has_lost = count_missing(times_ns);
    const bool is_silent = std::ranges::all_of(times_ns, is_missing);
    if (has_lost && (stage_ == Stage::kSplit || stage_ == Stage::kExam)) {
        // Its silence would be told of all groups, and takes long. That is no failed attempt.
        trials_ns_.clear();
        is_asked_ = false;
        --attempts_;
        return begin_splits();
    }
    // What nobody answers is not repeated.
    if (trials_ns_.size() < trials_ && !is_silent) return;
    count_medians();
    if (stage_ == Stage::kSplit && trials_ > 1) count_spread();
    trials_ns_.clear();
    is_asked_ = false;
    switch (stage_) {
        case Stage::kTrips:
            return take_trips();
        case Stage::kSize:
            return take_size();
        case Stage::kLone:
            return take_lone();
        case Stage::kSplit:
            return take_splits();
        case Stage::kExam:
            return take_exam();
        case Stage::kDone:
            return;
    }
}

void Survey::count_medians() {
    medians_ns_.clear();
    for (size_t i = 0; i < experiment_.transfers.size(); ++i) {
        std::vector<double> times;
        for (const auto& trial : trials_ns_) {
            if (is_missing(trial[i])) continue;
            times.push_back(static_cast<double>(std::max(trial[i], uint64_t{1})));
        }
        medians_ns_.push_back(2 * times.size() < trials_ + 1 ? kNoSpeed : median(std::move(times)));
    }
}

void Survey::count_longest(std::span<const uint64_t> times_ns) {
    uint64_t longest_ns = 0;
    for (const uint64_t time : times_ns) {
        longest_ns =
            std::max(longest_ns, is_missing(time) ? limits_.missing_ns
                                                  : time * std::max(1u, experiment_.round_trips));
    }
    found_.longest_ns += longest_ns;
}

// A transfer that came speaks for both its ends. One that is missing speaks against an end only
// where the other one has answered last: who meets the dead is not lost for it. Whether a host was
// lost now.
bool Survey::count_missing(std::span<const uint64_t> times_ns) {
    std::vector<uint8_t> came(hosts_);
    std::vector<uint8_t> failed(hosts_);
    for (size_t i = 0; i < times_ns.size(); ++i) {
        const auto [from, to] = experiment_.transfers[i];
        if (!is_missing(times_ns[i])) {
            came[from] = came[to] = 1;
            continue;
        }
        if (missing_in_a_row_[to] == 0) failed[from] = 1;
        if (missing_in_a_row_[from] == 0) failed[to] = 1;
    }
    bool has_lost = false;
    for (uint32_t host = 0; host < hosts_; ++host) {
        if (came[host]) missing_in_a_row_[host] = 0;
        if (came[host] || !failed[host] || found_.is_lost[host]) continue;
        if (++missing_in_a_row_[host] < kMissingMax) continue;
        found_.is_lost[host] = has_lost = true;
    }
    return has_lost;
}

// How much times of one and the same transfer differ, among those of others.
void Survey::count_spread() {
    std::vector<double> ratios;
    for (size_t i = 0; i < experiment_.transfers.size(); ++i) {
        uint64_t least = kMissingNs;
        uint64_t most = 0;
        for (const auto& trial : trials_ns_) {
            if (is_missing(trial[i])) continue;
            least = std::min(least, std::max(trial[i], uint64_t{1}));
            most = std::max(most, trial[i]);
        }
        if (most > 0) ratios.push_back(static_cast<double>(most) / static_cast<double>(least));
    }
    if (!ratios.empty()) spreads_.push_back(median(std::move(ratios)));
}

uint32_t Survey::rounds() const {
    const uint32_t all = hosts_ + hosts_ % 2 - 1;
    return hosts_ > limits_.latency_hosts_max ? std::min(kFewRounds, all) : all;
}

void Survey::ask_trips() {
    if (round_ == kPasses * rounds() || silent_in_a_row_ == kMissingMax) return end_trips();
    const uint32_t number = hosts_ + hosts_ % 2;
    experiment_ = {Experiment::Kind::kRoundTrips, kTripBytes, limits_.round_trips, {}};
    for (uint32_t pair = 0; pair < number / 2; ++pair) {
        const Transfer who = match(number, round_ % rounds(), pair);
        if (who.from >= hosts_ || who.to >= hosts_) continue;
        if (found_.is_lost[who.from] || found_.is_lost[who.to]) continue;
        experiment_.transfers.push_back(who);
    }
    trials_ = 1;
    is_asked_ = !experiment_.transfers.empty();
    if (!is_asked_) ++round_;
}

void Survey::take_trips() {
    std::vector<RoundTrip>& trips = trips_[round_ / rounds()];
    const size_t known = trips.size();
    for (size_t i = 0; i < medians_ns_.size(); ++i) {
        const Transfer& who = experiment_.transfers[i];
        const bool came = medians_ns_[i] >= 0;
        for (const uint32_t host : {who.from, who.to}) {
            ++met_[host];
            answered_[host] += came ? 1 : 0;
        }
        if (came) trips.push_back({who, static_cast<uint64_t>(medians_ns_[i])});
    }
    silent_in_a_row_ = trips.size() == known ? silent_in_a_row_ + 1 : 0;
    ++round_;
}

void Survey::end_trips() {
    for (uint32_t host = 0; host < hosts_; ++host) {
        if (2 * answered_[host] < met_[host]) found_.is_lost[host] = true;
    }
    line_ = alive();
    if (line_.size() < 2) {
        return conclude(Found::Verdict::kCannotTell, "hosts do not answer each other");
    }
    for (size_t i = line_.size(); i > 1; --i) std::swap(line_[i - 1], line_[random_.below(i)]);
    bytes_ = limits_.bytes_min;
    round_ = 0;
    stage_ = Stage::kSize;
}

void Survey::ask_transfers(std::vector<Transfer> transfers, uint32_t trials) {
    experiment_ = {Experiment::Kind::kStreams, bytes_, 0, std::move(transfers)};
    trials_ = trials;
    is_asked_ = true;
}

// Two that send each other, and nobody else.
void Survey::ask_pair() {
    const auto pairs = static_cast<uint32_t>(line_.size() / 2);
    const uint32_t at = 2 * (round_ % pairs);
    ask_transfers({{line_[at], line_[at + 1]}, {line_[at + 1], line_[at]}}, kLoneTrials);
}

// Longer transfers, until they are long enough; another pair where one does not answer.
void Survey::take_size() {
    if (++size_tries_ > kSizeTries) {
        return conclude(Found::Verdict::kCannotTell, "no transfer comes through");
    }
    if (medians_ns_[0] < 0 || medians_ns_[1] < 0) {
        ++round_;
        return;
    }
    const double time_ns = std::max(medians_ns_[0], medians_ns_[1]);
    if (time_ns < static_cast<double>(limits_.transfer_ns) && bytes_ < limits_.bytes_max) {
        bytes_ = std::min(2 * bytes_, limits_.bytes_max);
        return;
    }
    // No longer than they need to be: narrow links make them so.
    const double enough =
        static_cast<double>(bytes_) * static_cast<double>(limits_.transfer_ns) / time_ns;
    const auto steps = static_cast<uint64_t>(enough / static_cast<double>(kBytesStep)) + 1;
    bytes_ = std::clamp(steps * kBytesStep, limits_.bytes_min, bytes_);
    found_.transfer_bytes = bytes_;
    round_ = 0;
    stage_ = Stage::kLone;
}

void Survey::take_lone() {
    for (size_t i = 0; i < medians_ns_.size(); ++i) {
        if (medians_ns_[i] < 0) continue;
        const double speed = static_cast<double>(bytes_) / medians_ns_[i];
        lone_.push_back(speed);
        for (const uint32_t host : {experiment_.transfers[i].from, experiment_.transfers[i].to}) {
            best_[host] = std::max(best_[host], speed);
        }
    }
    if (++round_ < std::min<size_t>(line_.size() / 2, kLonePairsMax)) return;
    if (lone_.empty()) return conclude(Found::Verdict::kCannotTell, "no transfer comes through");
    // Some pairs may have a narrow link between them that one transfer fills already.
    usual_ = quantile(lone_, 0.75);
    begin_splits();
}

}  // namespace tutti::survey
