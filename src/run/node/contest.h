// SPDX-License-Identifier: BSD-3-Clause
// Compares two ways of moving data by a team's own calls. Some calls of each kind and size use the
// two ways in turn, and their times are compared. A way never changes an operand order.
//
// Rings or single copy: what is measured when a team is made (meter.h) moves data that was just
// written, of 256 KiB at most. A program may send the same data again, or more than a cache holds,
// and then the other way may be faster. Members count these calls alike and hear the same times, so
// all go the same way. Of gathers, scatters and vector forms each giver counts its own and hears
// its own times. The others need not know of its contests.
//
// Results written into the caches or past them: each member counts its own calls and hears its own
// times. A result that the caches can hold is better written into them. How much they hold is not
// known where many share one, or where it belongs to a virtual machine's host.
//
// A state machine on numbers; it moves no data.
#pragma once

#include <array>
#include <cstdint>

#include "base/collectives.h"
#include "run/node/node_team.h"

namespace tutti::node {

class Contest {
  public:
    // A contest is so many turns, in use and other, of so many calls, of which the first finds what
    // the other way left and does not count.
    static constexpr uint32_t kTurns = 4;
    static constexpr uint32_t kCallsATurn = 3;
    static constexpr uint32_t kCalls = kTurns * kCallsATurn;
    static constexpr uint32_t kTimes = kTurns / 2 * (kCallsATurn - 1);  // of each way
    // A contest ends after these where the first timed call of the other way took more than one and
    // a half times the slower one before: single copy may take four times as long as rings. That
    // call may have been disturbed, so the next contest is not put off by much.
    static constexpr uint32_t kCallsAtLeast = kCallsATurn + 2;
    static constexpr uint32_t kDistanceGrowthThen = 2;
    // Calls of a kind before its first contest: programs are known to make no more than 40 of 1
    // MiB.
    static constexpr uint32_t kFirst = 8;
    // Between two: at first little, since a disturbed contest may have misled, then so many that
    // the half of a contest that goes the slower way is less than a hundredth.
    static constexpr uint32_t kDistance = 64;
    static constexpr uint32_t kDistanceGrowth = 8;
    static constexpr uint32_t kDistanceMax = 4096;
    // Below, what measuring has found is right. Of a vector form: of a block.
    static constexpr uint64_t kBytesMin = 32 * 1024;

    // Picoseconds for a KiB, by way: the first one (rings, within), the second one.
    using Times = std::array<std::array<uint32_t, kTimes>, 2>;

    // first: calls of a kind before its first contest. inherits: a size of which nothing is known
    // goes like the next shorter one.
    explicit Contest(uint32_t first = kFirst, bool inherits = true)
        : first_(first), inherits_(inherits) {
        forget();
    }

    // Whether calls of this kind may be rings or single copies that move alike on a team of so
    // many.
    static bool is_about(const Call& call, Rank ranks);

    // ---- of each call that is_about() ----
    // True where members are to compare before it begins: its kind's contest is over, or may be.
    [[nodiscard]] bool compares(const Call& call) const {
        const Kind& kind = of(call);
        return kind.calls >= kind.next + kind.length;
    }
    // It begins: whether by the second way. tuned: what measuring says. is_timed() says whether its
    // time is wanted.
    bool enter(const Call& call, bool tuned);
    [[nodiscard]] bool is_timed() const { return timed_ != nullptr; }
    void began(uint64_t now_ns) { began_ns_ = now_ns; }
    void ended(uint64_t now_ns);
    // How the next one will go, but for contests.
    [[nodiscard]] bool prefers_second(const Call& call, bool tuned) const;
    // The next one is part of a contest.
    [[nodiscard]] bool is_on(const Call& call) const {
        const Kind& kind = of(call);
        return kind.calls >= kind.next && kind.calls < kind.next + kind.length;
    }

    // ---- when times are compared ----
    [[nodiscard]] Times times(const Call& call) const { return of(call).times; }
    // all: of each call the longest that a member has; where each decides alone, times().
    void heard(const Call& call, const Times& all);
    // The ranks were moved: all begins anew.
    void forget() {
        for (auto& sizes : kinds_) sizes.fill(Kind{.next = first_});
    }

  private:
    enum class Says : uint8_t { kNothing, kFirstWay, kSecondWay };
    struct Kind {
        Says says = Says::kNothing;
        uint32_t calls = 0;
        uint32_t next = kFirst;           // the first call of the next contest
        uint32_t length = kCallsAtLeast;  // its calls until members compare
        uint32_t distance = kDistance;
        Times times{};
    };
    static constexpr size_t kSizes = 16;  // by powers of two; the last one is open
    static size_t size_of(const Call& call);
    [[nodiscard]] Kind& of(const Call& call) { return kinds_[call.collective][size_of(call)]; }
    [[nodiscard]] const Kind& of(const Call& call) const {
        return kinds_[call.collective][size_of(call)];
    }

    std::array<std::array<Kind, kSizes>, TUTTI_COLLECTIVE_COUNT> kinds_{};
    uint32_t first_;
    bool inherits_;
    uint32_t* timed_ = nullptr;  // where the time of the call under way belongs
    uint64_t timed_bytes_ = 0;
    uint64_t began_ns_ = 0;
};

}  // namespace tutti::node
