// SPDX-License-Identifier: BSD-3-Clause
#include "sim/script.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/collectives.h"
#include "run/node/kernels/kernels.h"

namespace tutti::test {
namespace {

constexpr size_t kGuardBytes = 64;
constexpr std::byte kGuard{0xA5};
// No memory has such an offset.
constexpr uint64_t kWild = uint64_t{1} << 44;

template <class T, class Combine>
void each(std::byte* out, const std::byte* right, size_t bytes, Combine combine) {
    for (size_t at = 0; at < bytes; at += sizeof(T)) {
        T a;
        T b;
        std::memcpy(&a, out + at, sizeof(T));
        std::memcpy(&b, right + at, sizeof(T));
        a = combine(a, b);
        std::memcpy(out + at, &a, sizeof(T));
    }
}

struct Affine {
    uint32_t a, b;
};
struct Triangle {
    uint8_t a, b, c;
};
struct Matrix {
    uint32_t v[4];
};
static_assert(sizeof(Triangle) == 3);

Matrix times(const Matrix& x, const Matrix& y) {
    return {{x.v[0] * y.v[0] + x.v[1] * y.v[2], x.v[0] * y.v[1] + x.v[1] * y.v[3],
             x.v[2] * y.v[0] + x.v[3] * y.v[2], x.v[2] * y.v[1] + x.v[3] * y.v[3]}};
}

Triangle times(const Triangle& x, const Triangle& y) {
    return {static_cast<uint8_t>(x.a * y.a), static_cast<uint8_t>(x.a * y.b + x.b * y.c),
            static_cast<uint8_t>(x.c * y.c)};
}

// MPI's convention: inout = left op inout.
template <Fold fold>
void user_function(void*, const void* left, void* inout, size_t count) {
    const size_t bytes = count * fold_bytes(fold);
    std::vector<std::byte> result(bytes);
    if (bytes == 0) return;
    std::memcpy(result.data(), left, bytes);
    fold_reference(fold, result.data(), static_cast<const std::byte*>(inout), bytes);
    std::memcpy(inout, result.data(), bytes);
}

struct FoldRow {
    size_t bytes;
    tutti_dtype dtype;
    tutti_op op;
    tutti_reduce_fn function;
};
constexpr FoldRow kFolds[] = {
    {4, TUTTI_UINT32, TUTTI_SUM, nullptr},
    {8, TUTTI_UINT64, TUTTI_BXOR, nullptr},
    {2, TUTTI_INT16, TUTTI_MAX, nullptr},
    {8, TUTTI_DOUBLE, TUTTI_SUM, nullptr},
    {8, TUTTI_DOUBLE, TUTTI_SUM, nullptr},
    {8, TUTTI_BYTE, TUTTI_OP_USER, user_function<Fold::kAffine>},
    {3, TUTTI_BYTE, TUTTI_OP_USER, user_function<Fold::kTriangle>},
    {1024, TUTTI_BYTE, TUTTI_OP_USER, user_function<Fold::kMatrices>},
};
static_assert(std::size(kFolds) == static_cast<size_t>(Fold::kCount));

const FoldRow& row(Fold fold) { return kFolds[static_cast<size_t>(fold)]; }

void fill(Prng& prng, Fold fold, bool numbers, std::byte* out, size_t bytes) {
    if (numbers && (fold == Fold::kSumF64 || fold == Fold::kSumF64Ordered)) {
        for (size_t at = 0; at + sizeof(double) <= bytes; at += sizeof(double)) {
            double value = static_cast<double>(prng.below(1u << 20));
            if (fold == Fold::kSumF64Ordered) value = (value - 5e5) / 3e3 * (1 + double(at % 7));
            std::memcpy(out + at, &value, sizeof(double));
        }
        return;
    }
    for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
        const uint64_t word = prng.next();
        std::memcpy(out + at, &word, std::min(sizeof(word), bytes - at));
    }
}

std::vector<std::byte> guarded(size_t at, size_t bytes) {
    return std::vector<std::byte>(at + bytes + kGuardBytes, kGuard);
}

}  // namespace

size_t fold_bytes(Fold fold) { return row(fold).bytes; }
bool is_user(Fold fold) { return row(fold).op == TUTTI_OP_USER; }

void fold_reference(Fold fold, std::byte* out, const std::byte* right, size_t bytes) {
    switch (fold) {
        case Fold::kSumU32:
            return each<uint32_t>(out, right, bytes, [](auto a, auto b) { return a + b; });
        case Fold::kXorU64:
            return each<uint64_t>(out, right, bytes, [](auto a, auto b) { return a ^ b; });
        case Fold::kMaxI16:
            return each<int16_t>(out, right, bytes, [](auto a, auto b) { return std::max(a, b); });
        case Fold::kSumF64:
        case Fold::kSumF64Ordered:
            return each<double>(out, right, bytes, [](auto a, auto b) { return a + b; });
        case Fold::kAffine:
            return each<Affine>(out, right, bytes, [](const Affine& x, const Affine& y) {
                return Affine{x.a * y.a, x.a * y.b + x.b};
            });
        case Fold::kTriangle:
            return each<Triangle>(out, right, bytes,
                                  [](const Triangle& x, const Triangle& y) { return times(x, y); });
        default:
            return each<Matrix>(out, right, bytes,
                                [](const Matrix& x, const Matrix& y) { return times(x, y); });
    }
}

std::string describe(const Spec& spec) {
    std::string text = tutti_collective_name(spec.collective);
    text += " root " + std::to_string(spec.root) + ", " + std::to_string(spec.bytes) + " bytes";
    if (has_lengths(spec.collective)) text += " at most";
    if (is_reduction(spec.collective)) {
        text += ", fold " + std::to_string(static_cast<int>(spec.fold));
    }
    return text + ", contents " + std::to_string(spec.seed);
}

size_t draw_bytes(Prng& prng, const Limits& limits) {
    const size_t chunk = limits.chunk_bytes;
    const size_t borders[] = {0,
                              1,
                              8,
                              node::kLinePayloadBytes,
                              2 * node::kLinePayloadBytes,
                              node::kInlineBytesMax,
                              chunk,
                              2 * chunk,
                              chunk / limits.ranks,
                              8 * chunk,
                              9 * chunk,
                              17 * chunk,
                              32 * 1024 / limits.ranks,
                              1 + prng.below(limits.bytes_max)};
    const size_t border = borders[prng.below(std::size(borders))];
    const size_t near = border + prng.below(3);
    return std::min(near > 0 ? near - 1 : 0, limits.bytes_max);
}

size_t block_bytes(const Spec& spec, uint32_t ranks, uint32_t from, uint32_t to) {
    const Collective& what = facts(spec.collective);
    if (!has_lengths(what)) return spec.bytes;
    const bool is_givers = what.input.holds == Holds::kOne;
    const bool is_takers = what.output.holds == Holds::kOne;
    const uint32_t block = is_givers ? from : is_takers ? to : from * ranks + to;
    const uint32_t blocks = is_givers || is_takers ? ranks : ranks * ranks;
    if (block == spec.seed % blocks) return spec.bytes;
    constexpr size_t kBorders[] = {1, 8, 55, 56, 57, 112, 1023, 1024, 1025, 4096, 4097};
    Prng prng((spec.seed + 1) * 0x9e3779b97f4a7c15u + block);
    size_t bytes = spec.bytes;
    switch (prng.below(4)) {
        case 0:
            return 0;
        case 1:
            bytes = prng.below(spec.bytes + 1);
            break;
        case 2:
            bytes = std::min(spec.bytes, kBorders[prng.below(std::size(kBorders))]);
            break;
        default:
            break;
    }
    const size_t element = is_reduction(what) ? fold_bytes(spec.fold) : 1;
    return bytes / element * element;
}

bool may_move(const Spec& spec) {
    return spec.collective != TUTTI_BARRIER &&
           (spec.bytes > 0 || has_private_lengths(spec.collective));
}

Spec draw_spec(Prng& prng, const Limits& limits) {
    Spec spec;
    spec.collective = static_cast<tutti_collective>(prng.below(TUTTI_COLLECTIVE_COUNT));
    if (has_root(spec.collective)) spec.root = static_cast<uint32_t>(prng.below(limits.ranks));
    if (spec.collective != TUTTI_BARRIER) spec.bytes = draw_bytes(prng, limits);
    spec.seed = prng.next() >> 32;
    if (!is_reduction(spec.collective)) return spec;
    do {
        spec.fold = static_cast<Fold>(prng.below(static_cast<uint64_t>(Fold::kCount)));
    } while (fold_bytes(spec.fold) > limits.chunk_bytes ||
             (spec.fold == Fold::kSumF64Ordered && !limits.keeps_order));
    const size_t element = fold_bytes(spec.fold);
    spec.bytes = (spec.bytes + element - 1) / element * element;
    return spec;
}

Exchange::Exchange(const Spec& spec, uint32_t ranks) : spec_(spec), ranks_(ranks), sides_(ranks) {
    if (spec.collective == TUTTI_BARRIER) spec_.bytes = 0;
    Prng prng(spec.seed);
    size_buffers(prng);
    fill_inputs(prng);
    expect();
    move_in_place();
}

// Equal blocks stand one after the other. Others may stand in any order, with gaps between them,
// but for the vector of a reduction; those that are only read may overlap. Where an empty one
// stands says nothing.
Exchange::Places Exchange::place_blocks(Prng& prng, uint32_t rank, bool is_input) const {
    const tutti_collective kind = spec_.collective;
    const CollectiveBuffer& side = is_input ? facts(kind).input : facts(kind).output;
    const uint32_t count = blocks_of(side, rank, spec_.root, ranks_);
    Places places;
    std::vector<uint32_t> order(count);
    for (uint32_t block = 0; block < count; ++block) {
        // Where a side has one block, it is the own one, or comes from anybody.
        const uint32_t other = side.holds == Holds::kAll ? block : is_input ? spec_.root : 0;
        const uint32_t from = is_input ? rank : side.holds == Holds::kAll ? other : spec_.root;
        const uint32_t to = is_input ? other : rank;
        places.bytes.push_back(block_bytes(spec_, ranks_, from, to));
        order[block] = block;
    }
    const bool is_free = has_lengths(kind) && !is_reduction(kind);
    if (is_free && prng.below(2) == 0) {
        for (uint32_t i = count; i > 1; --i) std::swap(order[i - 1], order[prng.below(i)]);
    }
    const uint64_t gap = is_free && prng.below(2) == 0 ? prng.below(80) : 0;
    const bool overlaps = is_free && is_input && prng.below(4) == 0;
    const bool is_wild = is_free && side.holds == Holds::kAll && prng.below(4) == 0;
    places.offsets.resize(count);
    for (const uint32_t block : order) {
        const uint64_t bytes = places.bytes[block];
        uint64_t& offset = places.offsets[block];
        offset = places.end + (places.end > 0 ? gap : 0);
        if (overlaps) offset = prng.below(places.end + 1);
        if (is_wild && bytes == 0) offset = kWild;
        if (offset < kWild) places.end = std::max<size_t>(places.end, offset + bytes);
    }
    return places;
}

void Exchange::size_buffers(Prng& prng) {
    const tutti_collective kind = spec_.collective;
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
        Side& side = sides_[rank];
        // A user's elements are whole objects, so they stay aligned; everything else may lie
        // anywhere.
        const bool is_aligned = is_reduction(kind) && is_user(spec_.fold);
        side.send_at = kGuardBytes + (is_aligned ? 0 : prng.below(16));
        side.recv_at = kGuardBytes + (is_aligned ? 0 : prng.below(16));
        side.sent = place_blocks(prng, rank, true);
        side.received = place_blocks(prng, rank, false);
        side.send_bytes = side.sent.end;
        side.recv_bytes = output_blocks(kind, rank, spec_.root, ranks_) > 0 ? side.received.end : 0;
        const bool may = spec_.may_be_in_place && may_be_in_place(kind, rank, spec_.root);
        side.is_in_place = may && prng.below(2) == 0;
        // One argument holds both then.
        if (side.is_in_place) side.recv_bytes = std::max(side.recv_bytes, side.send_bytes);
        side.send = guarded(side.send_at, side.send_bytes);
        side.recv = guarded(side.recv_at, side.recv_bytes);
        if (!has_lengths(kind)) continue;
        const auto is_needed = [&](const CollectiveBuffer& one) {
            return one.holds == Holds::kAll && is_on(one.on, rank, spec_.root);
        };
        if (is_needed(facts(kind).input)) {
            side.blocks.send_bytes = side.sent.bytes.data();
            side.blocks.send_offsets = side.sent.offsets.data();
        }
        if (is_needed(facts(kind).output)) {
            side.blocks.recv_bytes = side.received.bytes.data();
            side.blocks.recv_offsets = side.received.offsets.data();
        }
    }
}

void Exchange::fill_inputs(Prng& prng) {
    const bool numbers = is_reduction(spec_.collective);
    for (Side& side : sides_) {
        fill(prng, spec_.fold, numbers, side.send.data() + side.send_at, side.send_bytes);
        fill(prng, Fold::kSumU32, false, side.recv.data() + side.recv_at, side.recv_bytes);
    }
}

// What its origin says: blocks of inputs, folded from the left.
void Exchange::expect_block(uint32_t rank, uint32_t block) {
    const size_t bytes = sides_[rank].received.bytes[block];
    const Origin from = origin(spec_.collective, rank, spec_.root, ranks_, block);
    const auto operand = [&](uint32_t of) {
        return input(of) + sides_[of].sent.offsets[from.block];
    };
    std::byte* const out = expected(rank) + sides_[rank].received.offsets[block];
    std::memcpy(out, operand(from.first), bytes);
    for (uint32_t of = from.first + 1; of <= from.last; ++of) {
        fold_reference(spec_.fold, out, operand(of), bytes);
    }
}

void Exchange::expect() {
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
        Side& side = sides_[rank];
        side.recv_after = side.recv;
        if (spec_.bytes == 0) continue;
        // In place, the blocks of the others stay where they are.
        const uint32_t blocks = output_blocks(spec_.collective, rank, spec_.root, ranks_);
        if (side.is_in_place && side.send_bytes > side.received.end) {
            std::memcpy(expected(rank), input(rank), side.send_bytes);
        }
        for (uint32_t block = 0; block < blocks; ++block) expect_block(rank, block);
    }
}

// Puts the inputs of in-place ranks where an in-place call expects them.
void Exchange::move_in_place() {
    const Collective& what = facts(spec_.collective);
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
        Side& side = sides_[rank];
        std::byte* recv = side.recv.data() + side.recv_at;
        const bool is_source = what.in_place == InPlace::kAlways && is_root(rank);
        if (is_source && spec_.bytes > 0) std::memcpy(recv, input(rank), spec_.bytes);
        if (side.is_in_place && spec_.bytes > 0) {
            if (what.marked_by == MarkedBy::kRecv) {
                side.recv_after = side.recv;  // The root's own block stays where it is.
            } else {
                const bool is_inside =
                    what.in_place == InPlace::kInputInOutput && what.inner_at == InnerAt::kOwnBlock;
                std::memcpy(recv + (is_inside ? side.received.offsets[rank] : 0), input(rank),
                            side.send_bytes);
            }
        }
        side.recv_before = side.recv;
    }
}

// Of a gatherv or scatterv: what is sent to the root or received from it.
size_t Exchange::own_bytes(uint32_t rank) const {
    const bool is_input = facts(spec_.collective).input.holds == Holds::kOne;
    return is_input ? sides_[rank].sent.bytes[0] : sides_[rank].received.bytes[0];
}

tutti_call Exchange::call(uint32_t rank) const {
    const Side& side = sides_[rank];
    tutti_call call{};
    call.collective = spec_.collective;
    call.root = spec_.root;
    call.bytes = spec_.bytes;
    if (has_lengths(spec_.collective)) {
        call.bytes = has_root(spec_.collective) ? own_bytes(rank) : 0;
        call.blocks = &side.blocks;
    }
    call.send = side.send.data() + side.send_at;
    call.recv = const_cast<std::byte*>(side.recv.data()) + side.recv_at;
    if (side.is_in_place) {
        if (facts(spec_.collective).marked_by == MarkedBy::kRecv) {
            call.recv = TUTTI_IN_PLACE;
        } else {
            call.send = TUTTI_IN_PLACE;
        }
    }
    call.dtype = row(spec_.fold).dtype;
    call.op = row(spec_.fold).op;
    call.reduce = row(spec_.fold).function;
    call.element_bytes = fold_bytes(spec_.fold);
    return call;
}

node::Call Exchange::node_call(uint32_t rank) const {
    const tutti_call call = this->call(rank);
    node::Call result;
    result.collective = call.collective;
    result.root = call.root;
    result.bytes = call.bytes;
    if (has_lengths(spec_.collective)) {
        const bool is_private = has_private_lengths(spec_.collective);
        result.bytes = is_private ? 0 : spec_.bytes;
        result.own_bytes = is_between_all(spec_.collective) ? 0 : own_bytes(rank);
        result.blocks = is_private || spec_.bytes > 0 ? call.blocks : nullptr;
    }
    if (call.send != TUTTI_IN_PLACE) result.send = static_cast<const std::byte*>(call.send);
    if (call.recv != TUTTI_IN_PLACE) result.recv = static_cast<std::byte*>(call.recv);
    if (!is_reduction(spec_.collective)) return result;
    result.reducer.element_bytes = static_cast<uint32_t>(call.element_bytes);
    if (is_user(spec_.fold)) {
        result.reducer.user_fn = call.reduce;
    } else {
        result.reducer.kernel =
            node::find_kernel(call.dtype, call.op, node::best_isa(IsaChoice::kAuto));
    }
    return result;
}

std::string Exchange::check(uint32_t rank) const {
    const Side& side = sides_[rank];
    const auto [wrong, right] =
        std::mismatch(side.recv.begin(), side.recv.end(), side.recv_after.begin());
    if (wrong == side.recv.end()) return "";
    const auto at = static_cast<long>(wrong - side.recv.begin()) - static_cast<long>(side.recv_at);
    return describe(spec_) + ": rank " + std::to_string(rank) + " of " + std::to_string(ranks_) +
           " has a wrong byte at " + std::to_string(at) + " of " + std::to_string(side.recv_bytes) +
           (side.is_in_place ? " (in place)" : "");
}

std::string Exchange::check() const {
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
        std::string wrong = check(rank);
        if (!wrong.empty()) return wrong;
    }
    return "";
}

void Exchange::reset() {
    for (Side& side : sides_)
        std::copy(side.recv_before.begin(), side.recv_before.end(), side.recv.begin());
}

node::Layout random_tree(Prng& prng, uint32_t ranks) {
    std::vector<uint32_t> order(ranks);
    for (uint32_t i = 0; i < ranks; ++i) order[i] = i;
    for (uint32_t i = ranks; i > 1; --i) std::swap(order[i - 1], order[prng.below(i)]);
    std::vector<uint32_t> parents(ranks, node::kNoRank);
    // From chains to stars.
    const uint64_t reach = 1 + prng.below(ranks);
    for (uint32_t i = 1; i < ranks; ++i) {
        parents[order[i]] = order[i - 1 - prng.below(std::min<uint64_t>(i, reach))];
    }
    // Wherever they stand: who stands in for whom costs lines on a real node, nothing else.
    std::vector<uint32_t> groups(ranks);
    const uint64_t count = 1 + prng.below(ranks);
    for (uint32_t& group : groups) group = static_cast<uint32_t>(prng.below(count));
    node::Layout layout = node::make_tree(parents, groups);
    // Two halves of a machine, whichever.
    const uint32_t bridge = order[prng.below(ranks)];
    if (bridge != layout.root && prng.below(2) == 0) layout.bridge = bridge;
    // As flags may want it, whatever they are.
    if (prng.below(2) == 0) {
        std::vector<uint32_t> quick(ranks, node::kNoRank);
        for (uint32_t i = 1; i < ranks; ++i) quick[order[i]] = order[prng.below(i)];
        layout.quick = std::make_shared<const node::Tree>(node::tree_from(std::move(quick)));
    }
    return layout;
}

}  // namespace tutti::test
