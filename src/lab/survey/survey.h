// SPDX-License-Identifier: BSD-3-Clause
// Finds the switches between hosts by measuring, where no file tells them: a state machine that
// asks for experiments and is told what came out. It does nothing by itself and knows no clock.
//
//     Survey survey(hosts, {});
//     while (const Experiment* experiment = survey.next()) survey.take(times_ns_of(*experiment));
//     survey.found()
//
// In turn:
//   1  round trips between all pairs, twice (trip_rounds.h, latency_groups.h);
//   2  how long transfers must be, and what a host's link carries: pairs alone (lone_pairs.h);
//   3  which hosts narrow links lie between, then within each group found so (set_splits.h);
//   4  fresh transfers, of which the fabric that was found must tell how long they take (exam.h).
//      Where it does not, 3 and 4 once more, with another seed; then nothing was found.
// docs/survey.md tells limits and figures.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lab/survey/exam.h"
#include "lab/survey/lone_pairs.h"
#include "lab/survey/lost_hosts.h"
#include "lab/survey/set_splits.h"
#include "lab/survey/sets.h"
#include "lab/survey/trials.h"
#include "lab/survey/trip_rounds.h"

namespace tutti::survey {

struct Limits {
    // A transfer is as long as takes a pair alone this time, within these bounds: long against
    // round trips and against what a shaper lets pass at once.
    uint64_t transfer_ns = 30'000'000;
    uint64_t bytes_min = 64 << 10;
    uint64_t bytes_max = 4 << 20;
    uint32_t round_trips = 15;
    // Beyond so many hosts round trips are measured for some pairs only, and make no groups.
    uint32_t latency_hosts_max = 256;
    // Then the survey ends, with nothing found: experiments, and the sum of their longest
    // transfers, of which a missing one counts as missing_ns.
    uint32_t experiments_max = 20'000;
    uint64_t ns_max = 60'000'000'000;
    uint64_t missing_ns = 5'000'000'000;
    uint64_t seed = 1;
};

struct Found {
    enum class Verdict : uint8_t {
        kGroups,      // the fabric has the groups, and foretold fresh transfers
        kOneSwitch,   // no narrow link and no farther hosts were found; nor are they needed then
        kCannotTell,  // what was measured fits no tree; the fabric is one switch
    };
    Verdict verdict = Verdict::kCannotTell;
    // Groups first, then one switch for each host that could not be placed. A host's link has its
    // measured rate; a switch's link upwards what its links carry together, as one.
    topo::Fabric fabric;
    std::vector<bool> is_placed;       // by host: one of its switch's group, for certain
    std::vector<bool> is_lost;         // by host: does not answer
    bool is_by_load = false;           // some groups have narrow links between them
    bool is_by_latency = false;        // some are told by round trips
    uint32_t agreement_per_mille = 0;  // of fresh transfers that took what was foretold
    std::string reason;                // one line
    uint32_t experiments = 0;
    uint64_t transfer_bytes = 0;  // of one transfer; 0: that was not found out
    uint64_t longest_ns = 0;      // sum of each experiment's longest time
};

class Survey {
  public:
    Survey(uint32_t hosts, const Limits& limits);
    // Valid until take(); nullptr at the end.
    const Experiment* next();
    // By transfer of the experiment: its time; kMissingNs where it did not end in time.
    void take(std::span<const uint64_t> times_ns);
    [[nodiscard]] const Found& found() const { return found_; }

  private:
    enum class Stage : uint8_t { kTrips, kPairs, kSplits, kExam, kDone };

    void advance();
    void ask(Experiment experiment, uint32_t trials);
    void ask_transfers(std::vector<Transfer> transfers, uint32_t trials);
    void ask_trips();
    void ask_splits();
    void end_trips();
    void take_pair(std::span<const double> times_ns);
    void begin_splits();
    void take_splits();
    void end_splits();
    void take_exam();
    void end_exam();
    void try_again(const char* reason);
    void conclude(Found::Verdict verdict, std::string reason);

    void count_longest(std::span<const uint64_t> times_ns);
    void count_best(const Observation& seen);
    [[nodiscard]] Observation observed() const;
    [[nodiscard]] double within(const std::vector<uint32_t>& at) const;
    [[nodiscard]] topo::Fabric make_fabric() const;

    const uint32_t hosts_;
    const Limits limits_;
    Prng random_;
    Stage stage_ = Stage::kTrips;
    Experiment experiment_;
    bool is_asked_ = false;
    Trials trials_;  // of this experiment
    LostHosts lost_;

    TripRounds trips_;
    LonePairs pairs_;
    std::vector<double> best_;  // by host: the most that it sent or received, bytes per nanosecond
    double usual_ = 0;          // what a host's link carries
    uint32_t attempts_ = 0;     // of the stages from here on
    std::optional<SetSplits> splits_;
    std::vector<Observation> observations_;
    HostSets sets_;
    std::optional<Exam> exam_;
    Found found_;
};

}  // namespace tutti::survey
