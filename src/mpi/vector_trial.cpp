// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/vector_trial.h"

#include <algorithm>

#include "base/collectives.h"

namespace tutti::mpi {

// A side that is not significant here has no blocks.
bool VectorTrial::make(Packed& side, const uint64_t* lengths, uint32_t blocks) {
    side.blocks = blocks;
    std::byte* const arrays = side.arrays.get((sizeof(uint64_t) + 2 * sizeof(int)) * blocks);
    if (arrays == nullptr) return false;
    side.offsets = reinterpret_cast<uint64_t*>(arrays);
    side.counts = reinterpret_cast<int*>(side.offsets + blocks);
    side.displacements = side.counts + blocks;
    for (uint32_t i = 0; i < blocks; ++i) {
        side.offsets[i] = side.bytes;
        side.counts[i] = static_cast<int>(lengths[i]);
        side.displacements[i] = static_cast<int>(side.bytes);
        side.bytes += lengths[i];
    }
    side.data = side.memory.get(side.bytes);
    return side.data != nullptr;
}

// In place, what this rank gives stands where it will receive: all of it, or its own block. So does
// the result of a scatterv at its root, where it was.
bool VectorTrial::prepare() {
    const RankBlocks *sent = subject_.sent, *received = subject_.received;
    const bool sends_all = is_dealt(call_.collective);
    const bool gets_all = facts(call_.collective).output.holds == Holds::kAll;
    const uint32_t own = state_.rank;
    bool has_room = false;
    if (sent != nullptr) {
        has_room = make(in_, sent->lengths(), sent->blocks());
    } else if (received != nullptr && gets_all) {
        has_room = make(in_, received->lengths() + (sends_all ? 0 : own),
                        sends_all ? received->blocks() : 1);
    } else if (received != nullptr) {
        has_room = make(in_, nullptr, 0);  // not the root
    }
    if (!has_room) return false;
    if (received != nullptr) {
        has_room = make(out_, received->lengths(), received->blocks());
    } else if (sends_all) {
        has_room = make(out_, sent->lengths() + own, 1);
    } else {
        has_room = make(out_, nullptr, 0);
    }
    by_tutti_ = tutti_.get(out_.bytes);
    surplus_ = static_cast<int64_t>(in_.bytes) - static_cast<int64_t>(out_.bytes);
    // An allgatherv gives its block to all.
    if (!has_private_lengths(call_.collective)) surplus_ = 0;
    return has_room && by_tutti_ != nullptr && take_input();
}

bool VectorTrial::take_input() {
    const RankBlocks *sent = subject_.sent, *received = subject_.received;
    if (in_.blocks == 0) return true;
    if (sent != nullptr) return sent->pack(in_.data, in_.offsets) == abi::kSuccess;
    if (in_.blocks > 1) return received->pack(in_.data, in_.offsets) == abi::kSuccess;
    return received->pack_block(state_.rank, in_.data) == abi::kSuccess;
}

bool VectorTrial::run_by_host() {
    const abi::Host& host = front.host;
    const abi::Datatype byte = front.host.handles.type[abi::kTypeByte];
    const int root = static_cast<int>(call_.root);
    const auto only = [](const Packed& side) { return side.blocks > 0 ? side.counts[0] : 0; };
    int status = abi::kSuccess;
    switch (call_.collective) {
        case TUTTI_GATHERV:
            status = host.gatherv(in_.data, only(in_), byte, out_.data, out_.counts,
                                  out_.displacements, byte, root, state_.comm);
            break;
        case TUTTI_SCATTERV:
            status = host.scatterv(in_.data, in_.counts, in_.displacements, byte, out_.data,
                                   only(out_), byte, root, state_.comm);
            break;
        case TUTTI_ALLGATHERV:
            status = host.allgatherv(in_.data, only(in_), byte, out_.data, out_.counts,
                                     out_.displacements, byte, state_.comm);
            break;
        default:
            status = host.alltoallv(in_.data, in_.counts, in_.displacements, byte, out_.data,
                                    out_.counts, out_.displacements, byte, state_.comm);
            break;
    }
    is_sound_ = status == abi::kSuccess;
    return true;
}

Comparison VectorTrial::compare() {
    Comparison found;
    const RankBlocks* const received = subject_.received;
    if (received != nullptr && is_sound_) {
        is_sound_ = received->pack(by_tutti_, out_.offsets) == abi::kSuccess;
        if (is_sound_) found = compare_bytes(by_tutti_, out_.data, out_.bytes, element_bytes());
    }
    if (!is_sound_) {
        found = {};
        found.uncertain = 1;
    }
    return found;
}

size_t VectorTrial::element_bytes() const {
    const RankBlocks* const side = subject_.received != nullptr ? subject_.received : subject_.sent;
    return side != nullptr ? side->element_bytes() : 1;
}

}  // namespace tutti::mpi
