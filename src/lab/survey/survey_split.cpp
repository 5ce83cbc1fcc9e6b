// SPDX-License-Identifier: BSD-3-Clause
// The survey's last stages: splitting level by level, and the proof on fresh transfers.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/assert.h"
#include "lab/survey/survey.h"

namespace tutti::survey {
namespace {

constexpr uint32_t kAttemptsMax = 2;
// A host that was never seen with more than so much of the usual speed is slow by itself.
constexpr double kSlowHost = 0.7;

}  // namespace

void Survey::begin_splits() {
    ++attempts_;
    is_doubtful_ = false;
    observations_.clear();
    exam_.reset();
    sets_.assign(1, {.hosts = alive(), .children = {}});
    splits_.clear();
    if (sets_.front().hosts.size() < 2) {
        return conclude(Found::Verdict::kCannotTell, "hosts do not answer each other");
    }
    splits_.push_back({0, Splitter(sets_.front().hosts, random_.next())});
    stage_ = Stage::kSplit;
}

void Survey::try_again(const char* reason) {
    if (attempts_ == kAttemptsMax) return conclude(Found::Verdict::kCannotTell, reason);
    begin_splits();
}

void Survey::count_best(const Observation& seen) {
    for (size_t i = 0; i < seen.speeds.size(); ++i) {
        for (const uint32_t host : {seen.transfers[i].from, seen.transfers[i].to}) {
            best_[host] = std::max(best_[host], seen.speeds[i]);
        }
    }
}

void Survey::ask_splits() {
    std::vector<Transfer> transfers;
    uint32_t trials = 1;
    for (Split& split : splits_) {
        split.asked = 0;
        if (split.splitter.is_done()) continue;
        const std::vector<Transfer> some = split.splitter.ask();
        split.asked = some.size();
        trials = std::max(trials, split.splitter.trials());
        transfers.insert(transfers.end(), some.begin(), some.end());
    }
    // Groups are split as soon as their parents are, beside others that are not yet done.
    if (transfers.empty()) {
        std::vector<Split> ended;
        std::swap(ended, splits_);
        for (Split& split : ended) end_split(split);
        if (splits_.empty()) end_splits();
        return;
    }
    ask_transfers(std::move(transfers), trials);
}

void Survey::take_splits() {
    Observation seen{experiment_.transfers, {}};
    std::vector<double> parts;
    for (size_t i = 0; i < medians_ns_.size(); ++i) {
        const double time_ns = medians_ns_[i];
        const double speed = time_ns < 0 ? kNoSpeed : static_cast<double>(bytes_) / time_ns;
        seen.speeds.push_back(speed);
        parts.push_back(speed < 0 ? kNoSpeed : speed / usual_);
    }
    size_t first = 0;
    for (Split& split : splits_) {
        if (split.asked == 0) continue;
        split.splitter.take(std::span(parts).subspan(first, split.asked), spread());
        first += split.asked;
    }
    count_best(seen);
    // Of one trial alone a sum says too little.
    if (trials_ >= 3) observations_.push_back(std::move(seen));
}

void Survey::end_split(Split& split) {
    is_doubtful_ |= split.splitter.is_doubtful();
    const uint32_t parent = split.set;
    if (split.splitter.groups().empty()) {
        // Hosts that are slow with all others are not of the group; without them there may be more
        // to see.
        const std::vector<uint32_t>& loners = split.splitter.loners();
        if (loners.empty() || is_doubtful_) return;
        std::vector<uint32_t>& hosts = sets_[parent].hosts;
        for (const uint32_t loner : loners) std::erase(hosts, loner);
        if (!hosts.empty()) splits_.push_back({parent, Splitter(hosts, random_.next())});
        return;
    }
    for (const std::vector<uint32_t>& group : split.splitter.groups()) {
        const auto number = static_cast<uint32_t>(sets_.size());
        sets_[parent].children.push_back(number);
        sets_.push_back({.parent = parent, .hosts = group, .children = {}, .is_by_load = true});
        splits_.push_back({number, Splitter(group, random_.next())});
    }
}

// What transfers within innermost sets got, which share nothing; 0 where there were none. Where a
// single transfer fills an uplink, pairs alone may all have had that in their way.
double Survey::within(const std::vector<uint32_t>& at) const {
    std::vector<double> speeds;
    for (const Observation& seen : observations_) {
        for (size_t i = 0; i < seen.speeds.size(); ++i) {
            const auto [from, to] = seen.transfers[i];
            if (at[from] == kNoSet || at[from] != at[to]) continue;
            // Between hosts that are in none of a set's parts its narrow links may lie.
            if (!sets_[at[from]].children.empty()) continue;
            if (seen.speeds[i] > 0) speeds.push_back(seen.speeds[i]);
        }
    }
    return speeds.empty() ? 0 : median(std::move(speeds));
}

// By pair, as latency_groups() wants them.
std::vector<uint64_t> Survey::square(std::span<const RoundTrip> trips) const {
    std::vector<uint64_t> times_ns(uint64_t{hosts_} * hosts_, kMissingNs);
    for (const auto& [who, time_ns] : trips) {
        times_ns[uint64_t{who.from} * hosts_ + who.to] = time_ns;
    }
    return times_ns;
}

void Survey::end_splits() {
    found_.is_by_load = sets_.size() > 1;
    if (is_doubtful_) return try_again("some transfers are slow together, but not by groups");
    usual_ = std::max(usual_, within(innermost(sets_, hosts_)));
    measure_crossings(sets_, observations_, usual_);
    simplify(sets_);
    const size_t by_load = sets_.size();
    if (hosts_ <= limits_.latency_hosts_max) {
        refine(sets_, latency_groups(hosts_, square(trips_[0]), square(trips_[1])));
    }
    found_.is_by_latency = sets_.size() > by_load;
    const auto is_free = [](const HostSet& set) { return set.is_by_load && !set.is_crowded; };
    if (std::ranges::any_of(sets_, is_free)) {
        return try_again("a group's narrow link was never crowded");
    }
    exam_.emplace(sets_, hosts_, usual_, spread(), random_.next());
    stage_ = Stage::kExam;
}

void Survey::ask_exam() {
    if (exam_->is_done()) return end_exam();
    ask_transfers(exam_->ask(), 1);
}

void Survey::take_exam() {
    std::vector<double> speeds;
    for (const double time_ns : medians_ns_) {
        speeds.push_back(time_ns < 0 ? kNoSpeed : static_cast<double>(bytes_) / time_ns);
    }
    exam_->take(speeds);
    count_best(exam_->observations().back());
}

void Survey::end_exam() {
    // What crosses in the exam counts, too: never before did all send across.
    observations_.insert(observations_.end(), exam_->observations().begin(),
                         exam_->observations().end());
    measure_crossings(sets_, observations_, usual_);
    const Exam::Result result = exam_->judge(make_fabric(sets_));
    found_.agreement_per_mille = result.agreement_per_mille;
    if (result.flaw) return try_again(result.flaw);
    if (result.usual > 0) usual_ = result.usual;
    for (HostSet& set : sets_) {
        if (set.children.empty()) {
            std::erase_if(set.hosts, [&](uint32_t host) { return !result.is_sure[host]; });
        }
    }
    if (sets_.size() == 1) return conclude(Found::Verdict::kOneSwitch, "no narrow link was found");
    conclude(Found::Verdict::kGroups, !found_.is_by_latency ? "narrow links lie between the groups"
                                      : found_.is_by_load
                                          ? "narrow links and round trips tell the groups"
                                          : "round trips tell the groups");
}

HostSpeeds Survey::speeds() const {
    HostSpeeds speeds{usual_, std::vector<double>(hosts_)};
    for (uint32_t host = 0; host < hosts_; ++host) {
        if (best_[host] > 0 && best_[host] < kSlowHost * usual_) speeds.own[host] = best_[host];
    }
    return speeds;
}

topo::Fabric Survey::make_fabric(const HostSets& sets) const {
    return fabric_of(sets, speeds(), trips_[0]);
}

void Survey::conclude(Found::Verdict verdict, std::string reason) {
    stage_ = Stage::kDone;
    is_asked_ = false;
    found_.verdict = verdict;
    found_.reason = std::move(reason);
    if (verdict == Found::Verdict::kCannotTell || hosts_ == 1) {
        found_.is_by_load = found_.is_by_latency = false;
        std::vector<uint32_t> all(hosts_);
        std::iota(all.begin(), all.end(), 0u);
        sets_ = {{.hosts = std::move(all), .children = {}}};
    }
    found_.fabric = make_fabric(sets_);
    if (verdict == Found::Verdict::kCannotTell) return;
    for (uint32_t set = 0; set < sets_.size(); ++set) {
        if (!sets_[set].children.empty()) continue;
        for (const uint32_t host : sets_[set].hosts) found_.is_placed[host] = !found_.is_lost[host];
    }
}

}  // namespace tutti::survey
