// SPDX-License-Identifier: BSD-3-Clause
// The last calls of a team across hosts as this rank ran them. Two ranks find by them the call in
// which they disagree. No I/O.
//
// Each call has a word (transport.h): what it is, and a hash of all that were before. Messages
// carry it or a part of it (p2p.h). If an awaited message does not come, a rank sends its last
// calls to the ranks that it waits for. A rank that finds a call among them that differs from its
// own ends the team's calls.
#pragma once

#include <array>
#include <cstdint>

#include "run/node/word.h"
#include "run/transport/transport.h"

namespace tutti::notes {

// The last calls of a rank, as it tells them others.
struct LastCalls {
    static constexpr uint32_t kMax = 8;
    uint32_t number = 0;  // of the last one
    uint32_t count = 0;
    uint64_t before = 0;                 // the hash of what was before the first of them
    std::array<uint64_t, kMax> notes{};  // packed; the last one first
};

// Whether calls of two ranks may go together that differ in bytes alone: the root of a gather has
// more room than is sent to it, or a receiver of a scatter has. Two receivers may differ, too: each
// of them hears of the root what it gets.
bool goes_together(const node::CallNote& mine, uint32_t rank, const node::CallNote& theirs,
                   uint32_t from);

class CallLog {
  public:
    // The next call, from 1.
    transport::CallWord add(tutti_collective collective, uint32_t root, uint64_t bytes);
    // The last one has not been; the next has its number.
    void withdraw();
    // The number of the last one; wraps around.
    [[nodiscard]] uint32_t number() const { return number_; }
    // Of a call that is not forgotten yet.
    [[nodiscard]] node::CallNote note(uint32_t number) const {
        return node::CallNote::unpack(entries_[number % kKept].note);
    }
    [[nodiscard]] node::CallNote last() const { return note(number_); }

    [[nodiscard]] LastCalls tell() const;
    // Of one that is not forgotten yet, alone.
    [[nodiscard]] LastCalls tell(uint32_t number) const;
    // Whether a word is of the last call, but for what that is; it came with a message.
    [[nodiscard]] bool is_of_last(const transport::CallWord& word) const;

    struct Difference {
        bool is_there = false;
        bool is_known = false;  // theirs; otherwise it was before the call `number`
        uint32_t number = 0;
        node::CallNote theirs;
    };
    // The first call known to both sides that was not the same on both.
    [[nodiscard]] Difference compare(const LastCalls& theirs) const;

  private:
    struct Entry {
        uint64_t note = 0;
        uint64_t before = 0;
    };
    // A rank that sends without waiting may be that far ahead of one that disagrees with it.
    static constexpr uint32_t kKept = 64;

    [[nodiscard]] bool has(uint32_t number) const;

    std::array<Entry, kKept> entries_{};
    uint32_t number_ = 0;
    uint64_t history_ = 0;
};

}  // namespace tutti::notes
