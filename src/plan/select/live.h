// SPDX-License-Identifier: BSD-3-Clause
// TUTTI_TUNE=live: which calls of a team try another algorithm, and which one has won. A state
// machine on numbers that all members know alike, so all decide the same. docs/live.md.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plan/sched/shape.h"
#include "tutti/tutti.h"

namespace tutti::select {

// Calls that run alike, whatever their root.
struct CallKind {
    tutti_collective collective = TUTTI_BARRIER;
    uint64_t bytes = 0;
    uint32_t element_bytes = 1;
    bool is_commutative = true;
    // Of a reduction: its bits do not depend on the order of operands.
    bool is_exact = true;

    bool operator==(const CallKind&) const = default;
    // On a team of so many.
    [[nodiscard]] sched::Shape shape(uint32_t ranks) const;
    // For members to find out whether they mean the same; not 0.
    [[nodiscard]] uint64_t name() const;
};

// A way to run calls of one kind, and what came of it.
struct Way {
    enum class Outcome { kUntried, kSlower, kFaster };

    uint32_t force = 0;  // its number in Runner::ways; 0: as the rules say
    std::string name;    // of the algorithm
    Outcome outcome = Outcome::kUntried;
    // Of a call, as last measured, and of the way that it was measured against, in between; 0: not.
    uint64_t ns = 0;
    uint64_t instead_ns = 0;
};

class Live {
  public:
    // So many kinds at a time. Where there are more, those that do not come any more and were never
    // tried give way.
    static constexpr uint32_t kKindsMax = 16;
    // One call in so many tries another way, at most.
    static constexpr uint64_t kShare = 20;
    // A batch is made of up to four turns, in each of which all calls of its kind go one way; of
    // three of them times are wanted.
    static constexpr uint32_t kTimesATurn = 3;
    static constexpr uint32_t kTimesMax = 4 * kTimesATurn;

    struct Question {
        CallKind kind;
        uint64_t name = 0;
        uint64_t calls = 0;
        uint64_t calls_before = 0;  // when members last compared
        // What trials have cost, in calls by the way in use.
        uint64_t spent = 0;
        uint64_t share = kShare;
        // That of the rules first; none before members ask for the first time.
        std::vector<Way> ways;
        uint32_t in_use = 0;   // into ways
        uint64_t since = 0;    // the team's call
        uint32_t tries = 0;    // into ways; ways.size(): all have been tried
        uint32_t batches = 0;  // of that one
        uint32_t turn_calls = kTimesATurn;
        // From the last arrival to the last exit, by the way in use in its last batch; 0: not
        // known.
        uint64_t delay_ns = 0;
        uint32_t drifted = 0;  // samples since that are far from it, less those that are not
        uint64_t stretch = 1;  // of the time that a batch is given
        bool are_due = true;   // ways: the runner is asked for them
    };

    // all: reductions whose bits change with the way, too.
    explicit Live(bool all) : all_(all) { questions_.reserve(kKindsMax); }

    // ---- of each call ----
    // How it runs: Way::force.
    [[nodiscard]] uint32_t force(const CallKind& kind) const;
    // When all have come to it and left is to be told: a batch of its kind is under way.
    [[nodiscard]] bool is_timed(const CallKind& kind) const;
    // It is over. Its kind's number in questions(), or kNone.
    uint32_t ran(const CallKind& kind);

    // ---- when members compare, between two calls ----
    // What this member would try next, as far as it knows before it hears the others; calls: of the
    // team so far.
    struct Wish {
        uint64_t name = 0;   // of the kind; 0: nothing
        uint64_t calls = 0;  // of the team, until members are to compare again
    };
    [[nodiscard]] Wish wish(uint64_t calls) const;
    // Of a call of the batch under way, by one clock. left_ns: of the rank that left last;
    // INT64_MIN: not known.
    struct Times {
        int64_t arrived_ns = 0;  // the last arriver
        int64_t left_ns = 0;
    };
    // Of any call of a kind, by its number in questions().
    void sampled(uint32_t question, const Times& times);
    // All have said their wishes, and the batch under way is over; calls: of the team. No times:
    // members do not agree on it.
    void heard(std::span<const Times> times, uint64_t calls);
    // All members wish to try something for calls of a kind of this name: the kind, where it is to
    // be told first which ways there are, else nullptr.
    [[nodiscard]] const CallKind* wants_ways(uint64_t name) const;
    // Memory that runs out changes nothing.
    void set_ways(uint64_t name, std::vector<Way> ways);
    // A batch begins with the next call, if there still is something to try and it is time.
    void begin(uint64_t name);

    // Its number in questions(), or kNone.
    static constexpr uint32_t kNone = UINT32_MAX;
    [[nodiscard]] uint32_t find(const CallKind& kind) const;
    [[nodiscard]] std::span<const Question> questions() const { return questions_; }

  private:
    [[nodiscard]] uint32_t find(uint64_t name) const;
    [[nodiscard]] bool may_ask(const CallKind& kind) const;
    void forget_unused();
    void close_batch(std::span<const Times> times, uint64_t calls);
    [[nodiscard]] bool is_in_batch(const CallKind& kind) const;
    [[nodiscard]] bool is_new_way(uint32_t turn) const;
    void judge(Question& question, std::span<const Times> times, uint64_t calls, uint64_t between);
    static void ask_later(Question& question);
    static void end_trial(Question& question, uint64_t calls, bool has_won);

    const bool all_;
    std::vector<Question> questions_;
    uint64_t calls_before_ = 0;  // of the team, when members last compared
    // The batch under way.
    uint32_t open_ = kNone;
    uint32_t batch_ = 0;  // calls of it so far
};

}  // namespace tutti::select
