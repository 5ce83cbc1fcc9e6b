// SPDX-License-Identifier: BSD-3-Clause
#include "lab/survey/exam.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "base/assert.h"
#include "lab/survey/shares.h"

namespace tutti::survey {
namespace {

// Foretold well enough: within this factor either way. Twice as much is a shared link more.
constexpr double kNearFactor = 1.5;
// That of three trials which vary by 20 %.
constexpr double kSmoothSpread = 1.2;
// A mate gets at least so much of what is foretold; over an uplink with half of what its hosts
// could send it would get about half.
constexpr double kMateMin = 0.75;
// Of the transfers between two sets over crowded links so many are to be slow.
constexpr double kApartMin = 0.7;
// So often, of three or five times.
constexpr double kSureMin = 0.6;
// And of all transfers within a set so many, and one, may get less: nobody is in their way.
constexpr double kSlowMatesMax = 0.08;
// Rounds for visits alone.
constexpr uint32_t kRoundsMax = 16;
// Of all transfers so many must be foretold, and of those of any group.
constexpr double kAgreementMin = 0.85;
constexpr double kGroupAgreementMin = 0.75;
// Of the hosts so many may turn out to be far from their mates; one may, always.
constexpr double kUnsureMax = 0.1;
// Foretold to be so slow, a transfer passes a crowded link.
constexpr double kCrowded = 0.7;
// And with so much more than that, it does not.
constexpr double kFreeFactor = 1.3;

}  // namespace

Exam::Exam(const HostSets& sets, uint32_t hosts, double usual, double spread, uint64_t seed)
    : sets_(sets), leaf_of_(innermost(sets, hosts)), random_(seed), usual_(usual), spread_(spread) {
    for (uint32_t set = 0; set < sets_.size(); ++set) {
        if (sets_[set].children.empty() && !sets_[set].hosts.empty()) leaves_.push_back(set);
    }
    for (uint32_t& leaf : leaf_of_) {
        if (leaf != kNoSet && !sets_[leaf].children.empty()) leaf = kNoSet;
    }
    to_.resize(hosts);
    is_examined_.resize(hosts);
    has_failed_.resize(hosts);
    for (const uint32_t one : leaves_) {
        for (const uint32_t other : leaves_) {
            if (one != other) visits_.emplace_back(one, other);
        }
    }
    for (size_t i = visits_.size(); i > 1; --i) {
        std::swap(visits_[i - 1], visits_[random_.below(i)]);
    }
    all_visits_ = visits_;
    begin_pass();
}

std::vector<uint32_t> Exam::shuffled(std::vector<uint32_t> list) {
    for (size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[random_.below(i)]);
    return list;
}

// The next one in which somebody is to be examined.
void Exam::begin_pass() {
    for (; !is_done(); ++pass_) {
        waiting_.assign(sets_.size(), {});
        bool has_any = false;
        for (const uint32_t leaf : leaves_) {
            if (sets_[leaf].hosts.size() < 2) continue;
            waiting_[leaf] = shuffled(sets_[leaf].hosts);
            if (pass_ >= kPasses) {
                std::erase_if(waiting_[leaf], [&](uint32_t host) { return !has_failed_[host]; });
            }
            has_any |= !waiting_[leaf].empty();
        }
        if (has_any) return;
    }
}

// All hosts of these leaves send half-way round.
void Exam::arrange(const std::vector<uint32_t>& leaves) {
    std::vector<uint32_t> line;
    for (const uint32_t leaf : leaves) {
        const std::vector<uint32_t> hosts = shuffled(sets_[leaf].hosts);
        line.insert(line.end(), hosts.begin(), hosts.end());
    }
    const size_t shift = line.size() / 2;
    for (size_t i = 0; i < line.size(); ++i) to_[line[i]] = line[(i + shift) % line.size()];
}

// What was sent to the new receiver goes to the old one instead.
void Exam::redirect(uint32_t from, uint32_t to) {
    if (to_[from] == to) return;
    const auto other = std::find(to_.begin(), to_.end(), to);
    if (other != to_.end()) *other = to_[from];
    to_[from] = to;
}

// Some of a leaf's hosts send to mates.
void Exam::examine(uint32_t leaf) {
    const std::vector<uint32_t>& mates = sets_[leaf].hosts;
    const size_t at_once = std::max<size_t>(1, (mates.size() + 4) / 8);
    for (size_t i = 0; i < at_once && !waiting_[leaf].empty(); ++i) {
        const uint32_t host = waiting_[leaf].back();
        uint32_t mate = host;
        while (mate == host) mate = mates[random_.below(mates.size())];
        const auto from =
            static_cast<size_t>(std::find(to_.begin(), to_.end(), mate) - to_.begin());
        // One that is examined keeps its mate.
        if (from < to_.size() && is_examined_[from]) return;
        waiting_[leaf].pop_back();
        redirect(host, mate);
        is_examined_[host] = 1;
    }
}

bool Exam::has_visits() const {
    return std::any_of(visits_.begin(), visits_.end(), [this](const auto& visit) {
        return (sets_[visit.first].parent == sets_[visit.second].parent) == (pass_ == 1);
    });
}

// Of each set one host at most visits another, and one is visited.
void Exam::visit() {
    std::vector<uint8_t> is_out(sets_.size());
    std::vector<uint8_t> is_in(sets_.size());
    std::erase_if(visits_, [&](const std::pair<uint32_t, uint32_t>& visit) {
        const auto& [from, to] = visit;
        const bool is_near = sets_[from].parent == sets_[to].parent;
        if (is_near != (pass_ == 1)) return false;
        if (is_out[from] || is_in[to]) return false;
        const std::vector<uint32_t>& guests = sets_[from].hosts;
        const std::vector<uint32_t>& hosts = sets_[to].hosts;
        const uint32_t guest = guests[random_.below(guests.size())];
        const uint32_t host = hosts[random_.below(hosts.size())];
        const auto other =
            static_cast<size_t>(std::find(to_.begin(), to_.end(), host) - to_.begin());
        if (is_examined_[guest] || (other < to_.size() && is_examined_[other])) return false;
        redirect(guest, host);
        is_out[from] = is_in[to] = 1;
        return true;
    });
}

std::vector<Transfer> Exam::ask() {
    TUTTI_ASSERT(!is_done(), "something is to be asked");
    std::iota(to_.begin(), to_.end(), 0u);
    std::fill(is_examined_.begin(), is_examined_.end(), uint8_t{0});
    // Switches in a random order, but what is below one side by side.
    std::vector<uint64_t> key(sets_.size());
    std::map<std::vector<uint64_t>, uint32_t> ordered;
    for (auto& value : key) value = random_.next();
    for (const uint32_t leaf : leaves_) {
        std::vector<uint64_t> way;
        for (uint32_t set = leaf; set != kNoSet; set = sets_[set].parent) way.push_back(key[set]);
        std::reverse(way.begin(), way.end());
        ordered.emplace(std::move(way), leaf);
    }
    std::map<uint32_t, std::vector<uint32_t>> arenas;
    for (const auto& [way, leaf] : ordered) {
        arenas[pass_ == 0 ? 0 : sets_[leaf].parent].push_back(leaf);
    }
    for (const auto& [parent, leaves] : arenas) arrange(leaves);
    for (const uint32_t leaf : leaves_) examine(leaf);
    if (pass_ < 2) visit();
    Observation next;
    examined_.emplace_back();
    for (uint32_t host = 0; host < to_.size(); ++host) {
        if (to_[host] == host) continue;
        next.transfers.push_back({host, to_[host]});
        examined_.back().push_back(is_examined_[host]);
    }
    observations_.push_back(next);
    return next.transfers;
}

void Exam::take(std::span<const double> speeds) {
    Observation& seen = observations_.back();
    seen.speeds.assign(speeds.begin(), speeds.end());
    for (size_t i = 0; i < speeds.size(); ++i) {
        if (examined_.back()[i] && speeds[i] < kMateMin * usual_) {
            has_failed_[seen.transfers[i].from] = 1;
        }
    }
    const auto is_empty = [](const std::vector<uint32_t>& list) { return list.empty(); };
    if (!std::all_of(waiting_.begin(), waiting_.end(), is_empty)) return;
    if (pass_ < 2 && has_visits() && ++rounds_ < kRoundsMax) return;
    rounds_ = 0;
    ++pass_;
    begin_pass();
}

Exam::Marks Exam::mark(const topo::Fabric& fabric) const {
    Marks marks;
    // What times differ by themselves is nobody's mistake.
    const double near = kNearFactor * std::max(1.0, spread_ / kSmoothSpread);
    marks.of_set.resize(sets_.size());
    marks.within.resize(sets_.size());
    marks.of_host.resize(leaf_of_.size());
    for (size_t at = 0; at < observations_.size(); ++at) {
        const Observation& seen = observations_[at];
        const std::vector<double> foretold = fair_shares(fabric, seen.transfers);
        for (size_t i = 0; i < seen.speeds.size(); ++i) {
            const double speed = seen.speeds[i];
            if (speed < 0) continue;
            const uint32_t from = leaf_of_[seen.transfers[i].from];
            const uint32_t to = leaf_of_[seen.transfers[i].to];
            const double ratio = speed / foretold[i];
            const bool is_good = ratio < near && ratio > 1 / near;
            marks.all.add(is_good);
            marks.of_set[from].add(is_good);
            marks.of_set[to].add(is_good);
            if (examined_[at][i]) marks.of_host[seen.transfers[i].from].add(ratio > kMateMin);
            if (from == to) marks.within[from].add(ratio > kMateMin);
            if (foretold[i] > 0.95 * usual_) marks.free.push_back(speed);
            if (foretold[i] > kCrowded * usual_) continue;
            marks.between[std::minmax(from, to)].add(ratio < kFreeFactor || speed < kSlow * usual_);
        }
    }
    return marks;
}

// Two sets that have narrow links, one of which sent to the other, but not over a crowded link.
bool Exam::is_unproven(const Marks& marks) const {
    const std::set<std::pair<uint32_t, uint32_t>> left(visits_.begin(), visits_.end());
    for (const auto& visit : all_visits_) {
        const auto& [one, other] = visit;
        if (one > other || !sets_[one].is_crowded || !sets_[other].is_crowded) continue;
        if (!left.contains(visit) && !marks.between.contains(visit)) return true;
    }
    return false;
}

Exam::Result Exam::judge(const topo::Fabric& fabric) const {
    const Marks marks = mark(fabric);
    Result result{.is_sure = std::vector<bool>(leaf_of_.size(), false)};
    if (marks.all.made == 0) return result;
    result.agreement_per_mille = 1000 * marks.all.good / marks.all.made;
    if (!marks.free.empty()) result.usual = median(marks.free);
    uint32_t unsure = 0;
    for (size_t host = 0; host < leaf_of_.size(); ++host) {
        const Tally& tally = marks.of_host[host];
        if (tally.made < 2) continue;
        result.is_sure[host] = tally.has(kSureMin);
        unsure += tally.has(kSureMin) ? 0 : 1;
    }
    const auto has_too_few = [](const Tally& tally) { return !tally.has(kGroupAgreementMin); };
    // That there are no groups at all is not said lightly.
    const double slow_max = leaves_.size() == 1 ? kSlowMatesMax / 3 : kSlowMatesMax;
    const auto is_mixed = [=](const Tally& tally) {
        return tally.made - tally.good > 1 + slow_max * tally.made;
    };
    const auto is_one = [](const auto& entry) { return !entry.second.has(kApartMin); };
    if (!marks.all.has(kAgreementMin) || std::ranges::any_of(marks.of_set, has_too_few)) {
        result.flaw = "fresh transfers do not take what the groups foretell";
    } else if (unsure > std::max(1.0, kUnsureMax * static_cast<double>(leaf_of_.size())) ||
               std::ranges::any_of(marks.within, is_mixed)) {
        result.flaw = "fresh transfers within a group are slow";
    } else if (std::ranges::any_of(marks.between, is_one)) {
        result.flaw = "fresh transfers between two groups are not slow";
    } else if (is_unproven(marks)) {
        result.flaw = "no fresh transfer showed the narrow link between two groups";
    } else {
        result.flaw = nullptr;
    }
    return result;
}

}  // namespace tutti::survey
