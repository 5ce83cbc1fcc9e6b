// SPDX-License-Identifier: BSD-3-Clause
#include "run/node/detail.h"

namespace tutti::node {
namespace {

template <class Word>
uint64_t minimum_of_others(const Team& team, Word word) {
    uint64_t low = UINT64_MAX;
    for (Rank rank = 0; rank < team.size; ++rank) {
        if (rank == team.rank) continue;
        low = std::min(low, word(team.slice.done(rank)).load(std::memory_order_acquire));
    }
    return low;
}

// accumulated op right -> the user's convention wants the result where the right operand stood, so
// the right operand is copied and the copy becomes the result.
const std::byte* fold_user(Team& team, const Reducer& reducer, const std::byte* accumulated,
                           const std::byte* right, size_t bytes) {
    std::byte* space = team.local.scratch.get();
    if (accumulated == space) space += kFoldBytes;
    std::memcpy(space, right, bytes);
    reducer.user_fn(reducer.user, accumulated, space, bytes / reducer.element_bytes);
    return space;
}

// From `at` on in all operands.
void fold_piece_predefined(Team& team, const Reducer& reducer, Rank operands, std::byte* out,
                           size_t at, size_t bytes) {
    const size_t count = bytes / reducer.element_bytes;
    const auto in = [&](Rank rank) { return team.local.operands[rank] + at; };
    // An operand beyond the second that is also the output would be overwritten before its turn.
    const std::byte* saved = nullptr;
    for (Rank rank = 2; rank < operands; ++rank) {
        if (in(rank) != out) continue;
        std::memcpy(team.local.scratch.get(), out, bytes);
        saved = team.local.scratch.get();
    }
    reducer.kernel(out, in(0), in(1), count);
    for (Rank rank = 2; rank < operands; ++rank) {
        reducer.kernel(out, out, in(rank) == out ? saved : in(rank), count);
    }
}

void fold_piece_user(Team& team, const Reducer& reducer, Rank operands, std::byte* out,
                     size_t bytes) {
    const std::byte* accumulated = team.local.operands[0];
    for (Rank rank = 1; rank < operands; ++rank) {
        accumulated = fold_user(team, reducer, accumulated, team.local.operands[rank], bytes);
    }
    std::memcpy(out, accumulated, bytes);
}

void look_who_is_done(Team& team) {
    team.known.done = minimum_of_others(
        team, [](DoneWords& words) -> std::atomic<uint64_t>& { return words.calls_done; });
}

// A rank that is found to run ahead looks who is done, and writes its SpareWord. In so many calls
// after that it does neither: others write the words that it would read, and read the one that it
// would write.
constexpr uint64_t kUnlooked = 8;

bool may_use_spare(const Team& team, const Op& op, size_t bytes) {
    const Geometry& geometry = team.slice.geometry;
    return bytes <= kLinePayloadBytes && geometry.spare_mask != 0 &&
           op.number <= team.known.done + geometry.spare_mask + 1;
}

}  // namespace

// A reader that looks at a spare line in vain finds that its flag is another.
bool may_write_look(Team& team, Op& op, size_t bytes) {
    const bool is_named = may_be_spare(team.slice.up_slot(team.rank, op.slot), op.flag);
    if (!is_named || !may_use_spare(team, op, bytes)) {
        look_who_is_done(team);
        if (op.number <= team.known.done + team.slice.geometry.slot_mask + 1) return true;
        if (!may_use_spare(team, op, bytes)) return false;
        const uint64_t last = op.flag + (kUnlooked << kNumberShift);
        team.slice.spare_word(team.rank).store(last, std::memory_order_relaxed);
    }
    op.is_spare = true;
    return true;
}

bool notes_free_look(Team& team, uint64_t call) {
    look_who_is_done(team);
    return call <= team.known.done + kChunkNotes;
}

bool consumed_look(Team& team, uint64_t target) {
    team.known.consumed = minimum_of_others(
        team, [](DoneWords& words) -> std::atomic<uint64_t>& { return words.chunks_consumed; });
    return target <= team.known.consumed;
}

bool place_chunk(Team& team, Op& op, uint64_t index, Rank reader) {
    const bool has_place =
        team.lean.pool->claim(*team.lean.part, index, reuse_target(team, index), reader);
    op.lacks_chunks = !has_place && team.lean.pool->is_lost();
    return has_place;
}

void fold_onto(Team& team, const Reducer& reducer, std::byte* out, const std::byte* accumulated,
               const std::byte* right, size_t bytes) {
    if (reducer.kernel) {
        reducer.kernel(out, accumulated, right, bytes / reducer.element_bytes);
        return;
    }
    std::memcpy(out, fold_user(team, reducer, accumulated, right, bytes), bytes);
}

namespace {

// Others have written them lately, all but one, and their lines are far: asked for ahead.
void prefetch_operands(const Team& team, Rank count, size_t from, size_t bytes) {
    for (Rank i = 0; i < count; ++i) {
        for (size_t at = from; at < from + bytes; at += kLineBytes) {
            __builtin_prefetch(team.local.operands[i] + at);
        }
    }
}

// behind: bytes that follow in all operands. Of few operands, so many lines are on their way while
// those before are folded.
void fold_predefined(Team& team, const Reducer& reducer, Rank count, std::byte* out, size_t bytes,
                     size_t behind) {
    constexpr size_t kAheadBytes = 2048;
    constexpr Rank kAheadMax = 4;
    if (count > kAheadMax) return fold_piece_predefined(team, reducer, count, out, 0, bytes);
    const size_t step = kAheadBytes / reducer.element_bytes * reducer.element_bytes;
    TUTTI_ASSERT(step > 0, "predefined elements are shorter");
    for (size_t at = 0; at < bytes; at += step) {
        const size_t now = std::min(step, bytes - at);
        const size_t next = std::min(step, bytes + behind - at - now);
        prefetch_operands(team, count, at + now, next);
        fold_piece_predefined(team, reducer, count, out + at, at, now);
    }
}

}  // namespace

void fold_first(Team& team, const Reducer& reducer, Rank count, std::byte* out, std::byte* shared,
                size_t bytes) {
    const size_t piece = fold_piece(reducer);
    std::byte* const space = fold_space(team);
    while (bytes > 0) {
        const size_t now = std::min(piece, bytes);
        std::byte* const result = out ? out : space;
        if (reducer.kernel) {
            fold_predefined(team, reducer, count, result, now, bytes - now);
        } else {
            fold_piece_user(team, reducer, count, result, now);
        }
        if (shared) {
            copy_to_shared(team.tuning.way, shared, result, now);
            shared += now;
        }
        for (Rank i = 0; i < count; ++i) team.local.operands[i] += now;
        if (out) out += now;
        bytes -= now;
    }
}

}  // namespace tutti::node
