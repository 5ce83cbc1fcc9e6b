// SPDX-License-Identifier: BSD-3-Clause
#include "lab/survey/survey.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/assert.h"

namespace tutti::survey {
namespace {

constexpr uint64_t kTripBytes = 8;
constexpr uint32_t kAttemptsMax = 2;
// Of fewer trials a sum says too little.
constexpr uint32_t kTrialsOfSum = 3;
// A host that was never seen with more than so much of the usual speed is slow by itself.
constexpr double kSlowHost = 0.7;

}  // namespace

Survey::Survey(uint32_t hosts, const Limits& limits)
    : hosts_(hosts),
      limits_(limits),
      random_(limits.seed),
      lost_(hosts),
      trips_(hosts, limits.latency_hosts_max),
      pairs_({limits.transfer_ns, limits.bytes_min, limits.bytes_max}),
      best_(hosts) {
    TUTTI_ASSERT(hosts > 0, "some hosts");
    TUTTI_ASSERT(limits.bytes_min > 0, "a transfer has bytes");
    TUTTI_ASSERT(limits.bytes_min <= limits.bytes_max, "bytes_min is within bytes_max");
    found_.is_placed.assign(hosts, false);
    if (hosts == 1) conclude(Found::Verdict::kOneSwitch, "one host");
}

// ---------------------------------------------------------------- experiments

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
        case Stage::kPairs:
            return ask_transfers(pairs_.ask(), LonePairs::kTrials);
        case Stage::kSplits:
            return ask_splits();
        case Stage::kExam:
            if (exam_->is_done()) return end_exam();
            return ask_transfers(exam_->ask(), 1);
        case Stage::kDone:
            return;
    }
}

void Survey::ask(Experiment experiment, uint32_t trials) {
    TUTTI_ASSERT(!is_asked_, "one experiment at a time");
    experiment_ = std::move(experiment);
    trials_.begin(trials);
    is_asked_ = true;
}

void Survey::ask_transfers(std::vector<Transfer> transfers, uint32_t trials) {
    ask({Experiment::Kind::kStreams, pairs_.bytes(), 0, std::move(transfers)}, trials);
}

void Survey::take(std::span<const uint64_t> times_ns) {
    TUTTI_ASSERT(is_asked_, "something was asked for");
    TUTTI_ASSERT(times_ns.size() == experiment_.transfers.size(), "one by transfer");
    ++found_.experiments;
    count_longest(times_ns);
    trials_.take(times_ns);
    const bool has_lost = lost_.take(experiment_.transfers, times_ns);
    if (has_lost && (stage_ == Stage::kSplits || stage_ == Stage::kExam)) {
        // Its silence would be told of all groups, and takes long. That is no failed attempt.
        is_asked_ = false;
        --attempts_;
        return begin_splits();
    }
    // What nobody answers is not repeated.
    const auto is_missing = [](uint64_t time_ns) { return time_ns == kMissingNs; };
    if (!trials_.is_complete() && !std::ranges::all_of(times_ns, is_missing)) return;
    is_asked_ = false;
    switch (stage_) {
        case Stage::kTrips:
            return trips_.take(experiment_.transfers, trials_.medians_ns());
        case Stage::kPairs:
            return take_pair(trials_.medians_ns());
        case Stage::kSplits:
            return take_splits();
        case Stage::kExam:
            return take_exam();
        case Stage::kDone:
            return;
    }
}

void Survey::count_longest(std::span<const uint64_t> times_ns) {
    uint64_t longest_ns = 0;
    for (const uint64_t time : times_ns) {
        longest_ns =
            std::max(longest_ns, time == kMissingNs ? limits_.missing_ns
                                                    : time * std::max(1u, experiment_.round_trips));
    }
    found_.longest_ns += longest_ns;
}

// The transfers of the experiment, and what they got.
Observation Survey::observed() const {
    Observation seen{experiment_.transfers, {}};
    for (const double time_ns : trials_.medians_ns()) {
        seen.speeds.push_back(time_ns < 0 ? kNoSpeed
                                          : static_cast<double>(experiment_.bytes) / time_ns);
    }
    return seen;
}

void Survey::count_best(const Observation& seen) {
    for (size_t i = 0; i < seen.speeds.size(); ++i) {
        for (const uint32_t host : {seen.transfers[i].from, seen.transfers[i].to}) {
            best_[host] = std::max(best_[host], seen.speeds[i]);
        }
    }
}

// ---------------------------------------------------------------- round trips, pairs alone

void Survey::ask_trips() {
    std::vector<Transfer> pairs = trips_.ask(lost_);
    if (pairs.empty()) return end_trips();
    ask({Experiment::Kind::kRoundTrips, kTripBytes, limits_.round_trips, std::move(pairs)}, 1);
}

void Survey::end_trips() {
    for (uint32_t host = 0; host < hosts_; ++host) {
        if (trips_.is_silent(host)) lost_.lose(host);
    }
    std::vector<uint32_t> hosts = lost_.alive();
    if (hosts.size() < 2) {
        return conclude(Found::Verdict::kCannotTell, "hosts do not answer each other");
    }
    pairs_.begin(std::move(hosts), random_);
    stage_ = Stage::kPairs;
}

void Survey::take_pair(std::span<const double> times_ns) {
    if (pairs_.knows_length()) count_best(observed());
    pairs_.take(times_ns);
    if (pairs_.has_failed()) {
        return conclude(Found::Verdict::kCannotTell, "no transfer comes through");
    }
    if (pairs_.knows_length()) found_.transfer_bytes = pairs_.bytes();
    if (!pairs_.is_done()) return;
    usual_ = pairs_.usual();
    begin_splits();
}

// ---------------------------------------------------------------- splitting level by level

void Survey::begin_splits() {
    ++attempts_;
    observations_.clear();
    exam_.reset();
    std::vector<uint32_t> hosts = lost_.alive();
    if (hosts.size() < 2) {
        return conclude(Found::Verdict::kCannotTell, "hosts do not answer each other");
    }
    splits_.emplace(std::move(hosts), random_);
    stage_ = Stage::kSplits;
}

void Survey::try_again(const char* reason) {
    if (attempts_ == kAttemptsMax) return conclude(Found::Verdict::kCannotTell, reason);
    begin_splits();
}

void Survey::ask_splits() {
    std::vector<Transfer> transfers = splits_->ask(random_);
    if (transfers.empty()) return end_splits();
    ask_transfers(std::move(transfers), splits_->trials());
}

void Survey::take_splits() {
    if (trials_.count() > 1) trials_.count_spread();
    Observation seen = observed();
    std::vector<double> parts;
    for (const double speed : seen.speeds) parts.push_back(speed < 0 ? kNoSpeed : speed / usual_);
    splits_->take(parts, trials_.spread());
    count_best(seen);
    if (trials_.count() >= kTrialsOfSum) observations_.push_back(std::move(seen));
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

void Survey::end_splits() {
    sets_ = splits_->sets();
    found_.is_by_load = sets_.size() > 1;
    if (splits_->is_doubtful()) {
        return try_again("some transfers are slow together, but not by groups");
    }
    usual_ = std::max(usual_, within(innermost(sets_, hosts_)));
    measure_crossings(sets_, observations_, usual_);
    simplify(sets_);
    const size_t by_load = sets_.size();
    refine(sets_, trips_.groups());
    found_.is_by_latency = sets_.size() > by_load;
    const auto is_free = [](const HostSet& set) { return set.is_by_load && !set.is_crowded; };
    if (std::ranges::any_of(sets_, is_free)) {
        return try_again("a group's narrow link was never crowded");
    }
    exam_.emplace(sets_, hosts_, usual_, trials_.spread(), random_.next());
    stage_ = Stage::kExam;
}

// ---------------------------------------------------------------- the proof, the end

void Survey::take_exam() {
    const Observation seen = observed();
    exam_->take(seen.speeds);
    count_best(seen);
}

void Survey::end_exam() {
    // What crosses in the exam counts, too: never before did all send across.
    observations_.insert(observations_.end(), exam_->observations().begin(),
                         exam_->observations().end());
    measure_crossings(sets_, observations_, usual_);
    const Exam::Result result = exam_->judge(make_fabric());
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

topo::Fabric Survey::make_fabric() const {
    HostSpeeds speeds{usual_, std::vector<double>(hosts_)};
    for (uint32_t host = 0; host < hosts_; ++host) {
        if (best_[host] > 0 && best_[host] < kSlowHost * usual_) speeds.own[host] = best_[host];
    }
    return fabric_of(sets_, speeds, trips_.trips());
}

void Survey::conclude(Found::Verdict verdict, std::string reason) {
    stage_ = Stage::kDone;
    is_asked_ = false;
    found_.verdict = verdict;
    found_.reason = std::move(reason);
    found_.is_lost = lost_.by_host();
    if (verdict == Found::Verdict::kCannotTell || hosts_ == 1) {
        found_.is_by_load = found_.is_by_latency = false;
        std::vector<uint32_t> all(hosts_);
        std::iota(all.begin(), all.end(), 0u);
        sets_ = {{.hosts = std::move(all), .children = {}}};
    }
    found_.fabric = make_fabric();
    if (verdict == Found::Verdict::kCannotTell) return;
    for (const HostSet& set : sets_) {
        if (!set.children.empty()) continue;
        for (const uint32_t host : set.hosts) found_.is_placed[host] = !lost_.is_lost(host);
    }
}

}  // namespace tutti::survey
