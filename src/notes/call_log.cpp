// SPDX-License-Identifier: BSD-3-Clause
#include "notes/call_log.h"

#include <algorithm>

namespace tutti::notes {
namespace {

constexpr uint64_t kMix = 0x9e3779b97f4a7c15u;

// After the same calls collectives, and roots that are not too far apart, never share a kind where
// bytes are equal. Bytes count, as a large call may be cut into pieces of which another rank has
// more, and since hosts have been seen to write beyond a receive that was too short.
uint32_t kind_of(uint64_t history, uint32_t collective, uint32_t root, uint64_t bytes) {
    constexpr uint32_t kApart = 17;  // prime to the numbers of kinds, 30 and powers of two
    static_assert(TUTTI_COLLECTIVE_COUNT < kApart - 1, "and what is left to the host");
    return static_cast<uint32_t>(history >> 34) + static_cast<uint32_t>(bytes * kMix >> 40) +
           collective + kApart * root;
}

}  // namespace

transport::CallWord CallLog::add(tutti_collective collective, uint32_t root, uint64_t bytes) {
    ++number_;
    const uint64_t note = node::CallNote::of(number_, collective, root, bytes).pack();
    const transport::CallWord word{note, history_, kind_of(history_, collective, root, bytes)};
    entries_[number_ % kKept] = {note, history_};
    const uint64_t hash = (history_ ^ note) * kMix + root + 1;
    history_ = hash ^ hash >> 29;
    return word;
}

// Numbers wrap around; two that are compared are close.
bool CallLog::has(uint32_t number) const {
    const uint32_t ago = number_ - number;
    return number != 0 && ago < kKept && ago < number_;
}

LastCalls CallLog::tell() const {
    LastCalls calls;
    calls.number = number_;
    calls.count = std::min(number_, LastCalls::kMax);
    for (uint32_t i = 0; i < calls.count; ++i) {
        const Entry& entry = entries_[(number_ - i) % kKept];
        calls.notes[i] = entry.note;
        calls.before = entry.before;
    }
    return calls;
}

CallLog::Difference CallLog::compare(const LastCalls& theirs) const {
    const uint32_t count = std::min(theirs.count, LastCalls::kMax);
    for (uint32_t i = count; i-- > 0;) {
        const uint32_t number = theirs.number - i;
        if (!has(number)) continue;
        const Entry& mine = entries_[number % kKept];
        if (i + 1 == count && mine.before != theirs.before) return {true, false, number, {}};
        if (mine.note != theirs.notes[i]) {
            return {true, true, number, node::CallNote::unpack(theirs.notes[i])};
        }
    }
    return {};
}

}  // namespace tutti::notes
