// SPDX-License-Identifier: BSD-3-Clause
// Splits a set of hosts by the narrowest links between them, by transfers that share these.
//
// Idea. Each host sends to one and receives from one, all at once: a permutation. Then no host's
// own link is shared, so a transfer that gets less than a link carries must have passed a link
// between switches that others pass too: its two hosts are apart. (That two transfers which disturb
// each other share a link is the test of Shao, Berman, Wolski 1999, "Using effective network views
// to promote distributed application performance", PDPTA. Theirs takes pairs of transfers; one
// permutation loads an uplink with all that its leaf has, so it finds an uplink that only many
// together fill, and tests every leaf at once.)
//   1  Load: random permutations; then, from the one that got least, the transfers that got most
//      change their receivers among each other, as long as that makes all together slower. In the
//      end whatever can be crowded is.
//   2  Ask: host x takes, in that permutation, a host y for its receiver, whose sender takes the
//      receiver that x had. All else stays loaded, so the transfer gets as little as those around
//      it if a narrow link lies between the two, and more if none does. Asked several times, each
//      time among other questions, so that no single arrangement decides. At most an eighth of the
//      hosts ask at once: three quarters of the load stay as they were.
//   3  Hosts between which no narrow link lies are a group; groups are asked about each other, and
//      joined in doubt: they are split again, each by itself, where they have narrow links within.
//
// So n hosts in g groups take some 8 log2 n experiments to load and about 2.5 n (g + 1) / min(g,
// n/8) questions' rounds: O(n) together, O(n) transfers each.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/prng.h"
#include "lab/survey/experiment.h"

namespace tutti::survey {

class Splitter {
  public:
    Splitter(std::vector<uint32_t> hosts, uint64_t seed);
    [[nodiscard]] bool is_done() const { return phase_ == Phase::kDone; }
    // The next transfers; not when it is done.
    std::vector<Transfer> ask();
    // How often they are to be made, for the medians.
    [[nodiscard]] uint32_t trials() const;
    // Of each of them the speed, as a part of what a host's link carries; kNoSpeed: missing.
    // `spread`: by how much the times of one transfer differ, made several times; 1: not at all.
    void take(std::span<const double> speeds, double spread);

    // When it is done: at least two groups of two hosts or more, or none; and hosts that fit in
    // none.
    [[nodiscard]] const std::vector<std::vector<uint32_t>>& groups() const { return groups_; }
    [[nodiscard]] const std::vector<uint32_t>& loners() const { return loners_; }
    // Transfers got slow, but what was answered gives no groups.
    [[nodiscard]] bool is_doubtful() const { return is_doubtful_; }

  private:
    enum class Phase : uint8_t { kRandom, kClimb, kConfirm, kAsk, kCompare, kDone };
    // One that asks: a host alone at first, and in the end groups about each other.
    struct Cluster {
        std::vector<uint32_t> members;
        bool is_group = false;
        bool is_gone = false;         // joined another
        std::vector<uint8_t> is_far;  // by cluster: asked, and a narrow link is between
        uint32_t about = kNobody;     // whom it asks about now
        std::vector<double> answers;  // speed, as a part of the threshold
        uint32_t tries = 0;
    };
    struct Question {
        uint32_t asker = 0;  // cluster
        uint32_t from = 0;   // place, of whose transfer it depends
    };
    enum class Answer : uint8_t { kOpen, kNear, kFar, kNone };
    static constexpr uint32_t kNobody = UINT32_MAX;

    [[nodiscard]] uint32_t count() const { return static_cast<uint32_t>(hosts_.size()); }
    void randomize();
    bool propose();
    void take_load();
    void confirm();
    void begin_asking();
    void arrange();
    bool pose(uint32_t asker, std::vector<uint8_t>& is_taken);
    bool choose_about(uint32_t asker);
    void take_answers();
    [[nodiscard]] Answer judge(const Cluster& cluster) const;
    void settle(uint32_t asker);
    void join(uint32_t asker, uint32_t into);
    void finish();
    void shuffle(std::vector<uint32_t>& list);
    [[nodiscard]] std::vector<uint32_t> senders() const;

    std::vector<uint32_t> hosts_;
    Prng random_;
    Phase phase_ = Phase::kRandom;
    std::vector<uint32_t> to_;       // by place in hosts_: the receiver; its own place: none
    std::vector<double> speeds_;     // by place: of its transfer as it was made last
    std::vector<uint32_t> best_to_;  // the slowest so far
    std::vector<double> best_speeds_;
    double best_mean_ = 2;
    uint32_t steps_ = 0;
    uint32_t failures_ = 0;

    double least_ = 1;  // what transfers over the narrowest link get in the loaded permutation
    std::vector<Cluster> clusters_;
    std::vector<Question> questions_;  // of this round
    double spread_ = 1;
    uint32_t rounds_ = 0;

    std::vector<std::vector<uint32_t>> groups_;
    std::vector<uint32_t> loners_;
    bool is_doubtful_ = false;
};

}  // namespace tutti::survey
