// SPDX-License-Identifier: BSD-3-Clause
// The proof of what a survey found: transfers that were not made before, of which the fabric must
// tell how long they take.
//
// In each round all hosts send across, half-way round the switches, so that links are as crowded as
// they can be; but in each innermost set some send to a mate. Were that mate not one, the transfer
// would be as slow as those around it. Each host is examined kPasses times, with different mates:
// in the first pass under transfers across everything, then across what is below the same switch as
// its own, since that loads the lowest links. Where two sets were split that are one, transfers
// between them come too fast.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "lab/survey/sets.h"

namespace tutti::survey {

class Exam {
  public:
    // Of the innermost sets' hosts; `usual`: the speed of a host's link, bytes per nanosecond;
    // `spread`: by how much times of one transfer differ.
    Exam(const HostSets& sets, uint32_t hosts, double usual, double spread, uint64_t seed);
    [[nodiscard]] bool is_done() const { return pass_ == kPasses + kPassesMore; }
    std::vector<Transfer> ask();
    // Bytes per nanosecond, by transfer; once each, without repetition.
    void take(std::span<const double> speeds);
    [[nodiscard]] const std::vector<Observation>& observations() const { return observations_; }

    struct Result {
        const char* flaw = "no fresh transfer came through";  // nullptr: there is none
        uint32_t agreement_per_mille = 0;                     // of all transfers
        std::vector<bool> is_sure;                            // by host: is near its mates
        double usual = 0;  // what those got that had nobody in their way; 0: none
    };
    [[nodiscard]] Result judge(const topo::Fabric& fabric) const;

  private:
    // Of all hosts, and then of those that have failed one.
    static constexpr uint32_t kPasses = 3;
    static constexpr uint32_t kPassesMore = 2;

    struct Tally {
        uint32_t made = 0;
        uint32_t good = 0;
        void add(bool is_good) {
            ++made;
            good += is_good ? 1 : 0;
        }
        [[nodiscard]] bool has(double share) const { return good >= share * made; }
    };
    // How the transfers fared against what was foretold.
    struct Marks {
        Tally all;
        std::vector<Tally> of_set;   // that one of its hosts took part in
        std::vector<Tally> within;   // a set
        std::vector<Tally> of_host;  // that it was examined by
        std::map<std::pair<uint32_t, uint32_t>, Tally> between;  // two sets, over crowded links
        std::vector<double> free;  // speeds of those with no others in the way
    };
    [[nodiscard]] Marks mark(const topo::Fabric& fabric) const;
    [[nodiscard]] bool is_unproven(const Marks& marks) const;
    void begin_pass();
    void arrange(const std::vector<uint32_t>& leaves);
    void examine(uint32_t leaf);
    void visit();
    [[nodiscard]] bool has_visits() const;
    void redirect(uint32_t from, uint32_t to);
    [[nodiscard]] std::vector<uint32_t> shuffled(std::vector<uint32_t> list);

    HostSets sets_;
    std::vector<uint32_t> leaf_of_;  // by host: its innermost set, or kNoSet
    std::vector<uint32_t> leaves_;
    Prng random_;
    const double usual_;
    const double spread_;
    uint32_t pass_ = 0;
    uint32_t rounds_ = 0;                         // that were made for visits alone
    std::vector<std::vector<uint32_t>> waiting_;  // by set: hosts to be examined in this pass
    std::vector<std::pair<uint32_t, uint32_t>> all_visits_;
    std::vector<std::pair<uint32_t, uint32_t>> visits_;  // sets, one of which sends to the other
    std::vector<uint32_t> to_;                           // by host: the receiver; itself: none
    std::vector<uint8_t> is_examined_;  // by host, in this round: its receiver stays
    std::vector<uint8_t> has_failed_;   // by host
    std::vector<Observation> observations_;
    std::vector<std::vector<uint8_t>> examined_;  // by observation and transfer
};

}  // namespace tutti::survey
