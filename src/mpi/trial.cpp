// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/trial.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <utility>

namespace tutti::mpi {

namespace {

// Bounds are reckoned for so many elements at a time, since a magnitude is larger than an element.
constexpr size_t kSlice = 65536;

// Of a failing call of the host its error handler has been called.
bool held(int status) { return status == abi::kSuccess; }

}  // namespace

int agree(const CommState& state, int mine, abi::OpName op) {
    int all = mine;
    const abi::Datatype type = front.host.handles.type[abi::kTypeInt];
    front.host.allreduce(&mine, &all, 1, type, front.host.handles.op[op], state.comm);
    return all;
}

size_t AlikeTrial::bytes() const {
    if (!has_shares()) return call_.bytes;
    const uint64_t* const blocks = call_.blocks->send_bytes;
    return std::accumulate(blocks, blocks + state_.size, size_t{0});
}

AlikeTrial::Share AlikeTrial::share() const {
    const size_t width = element_bytes();
    if (!has_shares()) return {0, bytes() / width};
    const uint64_t* const blocks = call_.blocks->send_bytes;
    const size_t before = std::accumulate(blocks, blocks + state_.rank, size_t{0});
    return {before / width, blocks[state_.rank] / width};
}

// Of a broadcast each rank has room for what one of them gives.
size_t AlikeTrial::blocks_in() const {
    if (call_.collective == TUTTI_BCAST) return 1;
    return input_blocks(call_.collective, state_.rank, call_.root, state_.size);
}

size_t AlikeTrial::blocks_out() const {
    return output_blocks(call_.collective, state_.rank, call_.root, state_.size);
}

size_t AlikeTrial::element_bytes() const {
    if (has_kernel()) return tutti_dtype_bytes(call_.dtype);
    const TypedBuffer* side = subject_.recv != nullptr ? subject_.recv : subject_.send;
    return side != nullptr ? std::max<size_t>(side->info->size, 1) : 1;
}

// So many of each block at a time, that all blocks of a slice have room.
size_t AlikeTrial::slice_elements() const { return std::max<size_t>(kSlice / reduced_blocks(), 1); }

// As the host will be given it: packed, but for elements of a kernel, which lie in one piece and
// keep their padding. first: a block.
bool AlikeTrial::take(const TypedBuffer& side, uint64_t first, uint64_t elements,
                      std::byte* to) const {
    if (!has_kernel()) {
        return held(pack(side.block(first), to, elements, side.type, *side.info));
    }
    memcpy(to, side.data(), elements * element_bytes());
    return true;
}

bool AlikeTrial::take_input() const {
    if (call_.collective == TUTTI_BCAST) {
        return !is_root() || take(*subject_.recv, 0, subject_.recv->count, input_);
    }
    // A reduction names all blocks that it gives as one.
    const uint64_t blocks = is_reduced() ? 1 : blocks_in();
    const TypedBuffer* send = subject_.send;
    if (send != nullptr) return take(*send, 0, send->count * blocks, input_);
    // In place: what this rank gives stands where it will receive.
    const bool is_among_others = facts(call_.collective).inner_at == InnerAt::kOwnBlock;
    return take(*subject_.recv, is_among_others ? state_.rank : 0, subject_.recv->count * blocks,
                input_);
}

bool AlikeTrial::prepare() {
    if (call_.bytes > 0 && subject_.send == nullptr && subject_.recv == nullptr) return false;
    const size_t in_bytes = (is_reduced() ? reduced_blocks() : blocks_in()) * bytes();
    out_bytes_ = blocks_out() * bytes();
    input_ = in_.get(in_bytes);
    // The MPICH family refuses a null pointer also on the rank of an exscan that has no result.
    by_host_ = host_.get(is_prefix(call_.collective) ? bytes() : out_bytes_);
    by_tutti_ = tutti_.get(out_bytes_);
    if (has_kernel()) {
        const size_t wide = std::max(
            sizeof(int64_t), magnitudes_per_element(call_.dtype, call_.op) * sizeof(double));
        const size_t slice = wide * std::min(slice_elements(), bytes() / element_bytes());
        const bool has_room = mine_.get(slice * reduced_blocks()) && all_.get(slice);
        if (!has_room) return false;
    }
    if (input_ == nullptr || by_host_ == nullptr || by_tutti_ == nullptr) return false;
    return in_bytes == 0 || take_input();
}

bool AlikeTrial::move_by_host() {
    const abi::Datatype byte = front.host.handles.type[abi::kTypeByte];
    const int length = static_cast<int>(call_.bytes), root = static_cast<int>(call_.root);
    switch (call_.collective) {
        case TUTTI_BCAST:
            if (is_root()) memcpy(by_host_, input_, call_.bytes);
            return held(front.host.bcast(by_host_, length, byte, root, state_.comm));
        case TUTTI_GATHER:
            return held(
                front.host.gather(input_, length, byte, by_host_, length, byte, root, state_.comm));
        case TUTTI_SCATTER:
            return held(front.host.scatter(input_, length, byte, by_host_, length, byte, root,
                                           state_.comm));
        case TUTTI_ALLTOALL:
            return held(
                front.host.alltoall(input_, length, byte, by_host_, length, byte, state_.comm));
        default:
            return held(
                front.host.allgather(input_, length, byte, by_host_, length, byte, state_.comm));
    }
}

// Never in place: some hosts fail there.
bool AlikeTrial::reduce_by_host(const void* in, void* out, int count, abi::Datatype type,
                                abi::Op op) const {
    const abi::Host& host = front.host;
    const int root = static_cast<int>(call_.root);
    switch (call_.collective) {
        case TUTTI_ALLREDUCE:
        case TUTTI_REDUCE_SCATTER:
            return held(host.allreduce(in, out, count, type, op, state_.comm));
        case TUTTI_REDUCE_SCATTER_BLOCK:
            return held(host.reduce_scatter_block(in, out, count, type, op, state_.comm));
        case TUTTI_SCAN:
            return held(host.scan(in, out, count, type, op, state_.comm));
        case TUTTI_EXSCAN:
            return held(host.exscan(in, out, count, type, op, state_.comm));
        default:
            return held(host.reduce(in, out, count, type, op, root, state_.comm));
    }
}

// fill(operands, to) for elements [first, first + count) of each block, one block behind the other;
// an element becomes so many words of `to`.
template <class Fill>
void AlikeTrial::fill_slices(size_t first, size_t count, size_t words, Fill fill) const {
    for (uint64_t block = 0; block < reduced_blocks(); ++block) {
        fill(input_ + block * call_.bytes + first * element_bytes(), block * count * words);
    }
}

// The operator wants elements as the datatype lays them out.
bool AlikeTrial::reduce_user_by_host() {
    const TypedBuffer& side = *(subject_.send != nullptr ? subject_.send : subject_.recv);
    const TypeInfo& info = *side.info;
    const auto [first, span] = reach_of(info, side.count);
    std::byte* in = span <= kVerifiedBytesMax ? mine_.get(span) : nullptr;
    std::byte* out = span <= kVerifiedBytesMax ? all_.get(span) : nullptr;
    // Others may be able to.
    const bool fits = in != nullptr && out != nullptr;
    if (agree(state_, fits ? 1 : 0, abi::kOpMin) == 0) return false;
    // Where element 0 would lie; absolute addresses put that far outside.
    auto* in_origin = reinterpret_cast<std::byte*>(reinterpret_cast<intptr_t>(in) - first);
    auto* out_origin = reinterpret_cast<std::byte*>(reinterpret_cast<intptr_t>(out) - first);
    memset(in, 0, span);
    memset(out, 0, span);
    is_sound_ = held(unpack(input_, in_origin, side.count, side.type, info));
    const auto all = static_cast<int>(side.count);
    is_sound_ = reduce_user(in_origin, out_origin, all) && is_sound_;
    if (is_sound_ && receives()) {
        const size_t width = element_bytes();
        const auto [before, count] = share();
        const uint64_t own = before + (reduced_blocks() > 1 ? state_.rank * count : 0);
        const std::byte* block = out_origin + static_cast<ptrdiff_t>(own) * info.extent;
        is_sound_ = held(pack(block, by_host_ + before * width, count, side.type, info));
    }
    return true;
}

// All blocks, of which this rank takes its own: MPICH's (to 5.0.2) reduce_scatter_block writes
// beyond its memory where an operator does not commute and elements have gaps.
bool AlikeTrial::reduce_user(const void* in, void* out, int count) const {
    if (call_.collective != TUTTI_REDUCE_SCATTER_BLOCK) {
        return reduce_by_host(in, out, count, subject_.type, subject_.op);
    }
    return held(front.host.allreduce(in, out, count, subject_.type, subject_.op, state_.comm));
}

bool AlikeTrial::reduce_narrow_by_host() {
    const size_t width = element_bytes(), count = bytes() / width;
    const abi::Datatype wide = front.host.handles.type[abi::kTypeInt64];
    auto* mine = reinterpret_cast<int64_t*>(mine_.get(0));
    auto* all = reinterpret_cast<int64_t*>(all_.get(0));
    for (size_t at = 0; at < count; at += slice_elements()) {
        const size_t slice = std::min(slice_elements(), count - at);
        fill_slices(at, slice, 1, [&](const std::byte* operands, size_t to) {
            widen(call_.dtype, operands, slice, mine + to);
        });
        is_sound_ =
            reduce_by_host(mine, all, static_cast<int>(slice), wide, subject_.op) && is_sound_;
        if (receives()) cut(call_.dtype, all, slice, by_host_ + at * width);
    }
    return true;
}

bool AlikeTrial::run_by_host() {
    if (!is_reduced()) {
        is_sound_ = move_by_host();
        return true;
    }
    if (call_.op == TUTTI_OP_USER) return reduce_user_by_host();
    if (is_narrow(call_.dtype)) return reduce_narrow_by_host();
    const auto count = static_cast<int>(bytes() / element_bytes());
    is_sound_ = reduce_by_host(input_, by_host_, count, subject_.type, subject_.op);
    return true;
}

// Every rank takes part, as long as anything is left; the sums come to those who receive.
bool AlikeTrial::add_magnitudes(size_t first, size_t count) {
    const size_t words = magnitudes_per_element(call_.dtype, call_.op);
    auto* mine = reinterpret_cast<double*>(mine_.get(0));
    magnitudes_ = reinterpret_cast<double*>(all_.get(0));
    fill_slices(first, count, words, [&](const std::byte* operands, size_t to) {
        fill_magnitudes(call_.dtype, call_.op, operands, count, mine + to);
    });
    return reduce_by_host(mine, magnitudes_, static_cast<int>(words * count),
                          front.host.handles.type[abi::kTypeDouble],
                          front.host.handles.op[abi::kOpSum]);
}

void AlikeTrial::compare_elements(Comparison& found) {
    const size_t width = element_bytes(), count = bytes() / width;
    const auto [own, share_count] = share();
    const bool bounded = needs_magnitudes(call_.dtype, call_.op);
    for (size_t at = 0; at < count; at += slice_elements()) {
        const size_t slice = std::min(slice_elements(), count - at);
        if (bounded && !add_magnitudes(at, slice)) is_sound_ = false;
        // Of this slice, what is this rank's.
        const size_t first = std::max(at, own), end = std::min(at + slice, own + share_count);
        if (!receives() || !is_sound_ || first >= end) continue;
        const size_t words = magnitudes_per_element(call_.dtype, call_.op);
        const Reduced what{call_.dtype,
                           call_.op,
                           state_.size,
                           by_tutti_ + first * width,
                           by_host_ + first * width,
                           bounded ? magnitudes_ + (first - at) * words : nullptr};
        compare_reduced(what, first - own, end - first, found);
    }
}

Comparison AlikeTrial::compare() {
    Comparison found;
    const size_t own_offset = has_shares() ? share().first * element_bytes() : 0;
    const size_t own_bytes = has_shares() ? share().count * element_bytes() : out_bytes_;
    if (receives()) {
        // In place there is room for all blocks.
        const uint64_t count = is_reduced() ? share().count : subject_.recv->count * blocks_out();
        is_sound_ = take(*subject_.recv, 0, count, by_tutti_ + own_offset) && is_sound_;
    }
    if (has_kernel()) {
        compare_elements(found);
    } else if (receives() && is_sound_) {
        found = compare_bytes(by_tutti_ + own_offset, by_host_ + own_offset, own_bytes,
                              element_bytes());
        // A user's operator may be over floating point, where the order of operands shows.
        if (is_reduced()) found.uncertain = std::exchange(found.different, 0);
    }
    if (!is_sound_) {
        found = {};
        found.uncertain = 1;
    }
    return found;
}

}  // namespace tutti::mpi
