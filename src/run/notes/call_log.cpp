// SPDX-License-Identifier: BSD-3-Clause
#include "run/notes/call_log.h"

#include <algorithm>

#include "base/assert.h"
#include "base/collectives.h"

namespace tutti::notes {
namespace {

constexpr uint64_t kMix = 0x9e3779b97f4a7c15u;

// After the same calls collectives, and roots that are not too far apart, never share a kind where
// bytes are equal. Bytes count, as a large call may be cut into pieces of which another rank has
// more, and since hosts have been seen to write beyond a receive that was too short.
uint32_t kind_of(uint64_t history, uint32_t collective, uint32_t root, uint64_t bytes) {
    constexpr uint32_t kApart = 19;  // prime to the numbers of kinds, 30 and powers of two
    static_assert(TUTTI_COLLECTIVE_COUNT < kApart - 1, "and what is left to the host");
    return static_cast<uint32_t>(history >> 34) + static_cast<uint32_t>(bytes * kMix >> 40) +
           collective + kApart * root;
}

// Of a root, words have the low bits.
bool is_root(const node::CallNote& call, uint32_t rank) {
    return node::CallNote::of(0, TUTTI_BCAST, rank, 0).root == call.root;
}

}  // namespace

bool goes_together(const node::CallNote& mine, uint32_t rank, const node::CallNote& theirs,
                   uint32_t from) {
    if (mine.collective != theirs.collective || mine.root != theirs.root) return false;
    if (mine.bytes == 0 || theirs.bytes == 0) return false;
    if (!has_rooted_blocks(static_cast<tutti_collective>(mine.collective))) return false;
    const bool is_gather = mine.collective == TUTTI_GATHER;
    const bool am_root = is_root(mine, rank), is_theirs = is_root(mine, from);
    if (am_root == is_theirs) return !is_gather;
    const bool have_room = am_root == is_gather;
    return have_room ? theirs.bytes < mine.bytes : theirs.bytes > mine.bytes;
}

transport::CallWord CallLog::add(tutti_collective collective, uint32_t root, uint64_t bytes) {
    ++number_;
    const uint64_t note = node::CallNote::of(number_, collective, root, bytes).pack();
    const transport::CallWord word{note, history_, kind_of(history_, collective, root, bytes)};
    entries_[number_ % kKept] = {note, history_};
    const uint64_t hash = (history_ ^ note) * kMix + root + 1;
    history_ = hash ^ hash >> 29;
    return word;
}

void CallLog::withdraw() {
    TUTTI_ASSERT(number_ > 0, "there is a last call");
    history_ = entries_[number_-- % kKept].before;
}

bool CallLog::is_of_last(const transport::CallWord& word) const {
    return number_ > 0 && word.before == entries_[number_ % kKept].before &&
           node::CallNote::unpack(word.call).number == last().number;
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

LastCalls CallLog::tell(uint32_t number) const {
    TUTTI_ASSERT(has(number), "a call that is not forgotten");
    const Entry& entry = entries_[number % kKept];
    LastCalls calls{number, 1, entry.before, {}};
    calls.notes[0] = entry.note;
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
