// SPDX-License-Identifier: BSD-3-Clause
// Calls that failed outside the team on this rank, and how the members find out whether they failed
// on all of them.
//
// A call with wrong arguments goes to the embedder, which returns an error, and takes no number in
// the team. Where all ranks made the same mistake, they stay in step. Where others ran that call in
// the team, this rank is a call behind: its next call would meet their last one. So before its next
// call a rank that had errors compares its mark with all others: how many there were, and before
// which call. Whoever has begun that call without such a comparison is the proof that the ranks are
// out of step. Calls that never fail pay nothing: the comparison is begun by the ranks that had
// errors; the others see its marks where they wait for long.
//
// On one node marks are words in the slice. Across nodes they are notes, step k to the rank 2^k
// further and from the rank 2^k before (a dissemination barrier).
#pragma once

#include <array>
#include <cstdint>

namespace tutti::notes {

struct Mark {
    uint16_t round = 0;  // of comparisons; 0: none yet
    uint16_t count = 0;  // of errors so far
    uint32_t call = 0;   // the next

    bool operator==(const Mark&) const = default;
    // Of calls by number: `call` is among the first so many. Numbers wrap; these two are close.
    [[nodiscard]] bool is_reached(uint32_t calls) const {
        return static_cast<int32_t>(calls - call) >= 0;
    }
    [[nodiscard]] uint64_t pack() const {
        return uint64_t{round} << 48 | uint64_t{count} << 32 | call;
    }
    static Mark unpack(uint64_t word) {
        return {static_cast<uint16_t>(word >> 48), static_cast<uint16_t>(word >> 32),
                static_cast<uint32_t>(word)};
    }
};

enum class Verdict { kAgree, kNotYet, kOutOfStep };

class Rejections {
  public:
    void add() {
        ++count_;
        is_open_ = true;
    }
    // There are errors that have not been compared.
    [[nodiscard]] bool is_open() const { return is_open_; }
    // A comparison, before this call.
    Mark begin(uint32_t next_call);
    // It has ended well.
    void end() { is_open_ = false; }

    [[nodiscard]] const Mark& mark() const { return mark_; }
    // Of another rank's mark, in a comparison.
    [[nodiscard]] Verdict compare(const Mark& other) const;
    // Whether `other` compares before a call that this rank has begun without doing so.
    [[nodiscard]] bool is_passed(const Mark& other, uint32_t calls_begun) const;

    // ---- across nodes ----
    static constexpr uint32_t kStepsMax = 32;
    void heard(uint32_t from, uint32_t its_step, const Mark& mark);
    [[nodiscard]] Verdict compare_step() const;
    // A rank by whose mark this one is out of step; false if none has been heard of.
    bool find_passed(uint32_t calls_begun, uint32_t& rank) const;

    uint32_t step = 0;     // of the comparison under way
    bool is_sent = false;  // the note of this step

  private:
    struct Heard {
        uint32_t from = 0;
        Mark mark;
    };

    Mark mark_;
    uint16_t count_ = 0;
    bool is_open_ = false;
    // By round modulo 2 and step. A rank that ended a round knows that all have begun it, so none
    // is two rounds ahead of another.
    std::array<std::array<Heard, kStepsMax>, 2> heard_{};
};

}  // namespace tutti::notes
