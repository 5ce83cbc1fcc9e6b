// SPDX-License-Identifier: BSD-3-Clause
#include "run/engine/request.h"

#include <algorithm>
#include <cstring>

#include "base/collectives.h"

namespace tutti::engine {
namespace {

// False where operator, type and bytes do not go together.
bool set_reducer(const tutti_call& call, node::Isa isa, node::Reducer& reducer) {
    if (call.op == TUTTI_OP_USER) {
        if (!call.reduce || call.element_bytes == 0) return false;
        if (call.element_bytes > TUTTI_ELEMENT_BYTES_MAX) return false;
        reducer = {nullptr, call.reduce, call.reduce_user,
                   static_cast<uint32_t>(call.element_bytes)};
        return call.bytes % call.element_bytes == 0 || has_lengths(call.collective);
    }
    const node::Kernel kernel = node::find_kernel(call.dtype, call.op, isa);
    if (!kernel) return false;
    const size_t element = node::dtype_bytes(call.dtype);
    // Nothing of a user operator before it may stay: it would choose another algorithm.
    reducer = {kernel, nullptr, nullptr, static_cast<uint32_t>(element)};
    return call.bytes % element == 0 || has_lengths(call.collective);
}

bool is_copied(tutti_collective collective) {
    return facts(collective).in_place == InPlace::kCopied;
}

// Which array has the lengths that all ranks know; nullptr where they do not.
const uint64_t* common_lengths(tutti_collective collective, const tutti_blocks* blocks) {
    if (facts(collective).lengths != Lengths::kKnownToAll || !blocks) return nullptr;
    const bool is_output = facts(collective).output.holds == Holds::kAll;
    return is_output ? blocks->recv_bytes : blocks->send_bytes;
}

// The lengths of a vector form. False where arrays are missing, or one is no multiple of the
// element.
bool set_lengths(const tutti_call& call, const Self& self, node::Call& target) {
    const Collective& what = facts(call.collective);
    const tutti_blocks* blocks = call.blocks;
    if (!blocks || (call.send == TUTTI_IN_PLACE && is_copied(call.collective))) return false;
    const auto is_there = [&](const CollectiveBuffer& side, const uint64_t* bytes,
                              const uint64_t* offsets) {
        const bool is_needed = side.holds == Holds::kAll && is_on(side.on, self.rank, target.root);
        return !is_needed || (bytes && offsets);
    };
    if (!is_there(what.input, blocks->send_bytes, blocks->send_offsets) ||
        !is_there(what.output, blocks->recv_bytes, blocks->recv_offsets)) {
        return false;
    }
    target.blocks = blocks;
    target.own_bytes = call.bytes;
    target.bytes = 0;
    const uint64_t* lengths = common_lengths(call.collective, call.blocks);
    if (!lengths) return true;
    uint64_t before = 0;  // of the blocks in front
    for (uint32_t i = 0; i < self.ranks; ++i) {
        target.bytes = std::max<size_t>(target.bytes, lengths[i]);
        if (is_reduction(what)) {
            if (lengths[i] % target.reducer.element_bytes != 0) return false;
            if (blocks->send_offsets[i] != before) return false;
        }
        before += lengths[i];
    }
    target.own_bytes = lengths[self.rank];
    if (target.bytes == 0) target.blocks = nullptr;
    return true;
}

uint64_t hash_of(const uint64_t* lengths, uint32_t ranks) {
    uint64_t hash = ranks;
    for (uint32_t i = 0; i < ranks; ++i) {
        hash = (hash ^ lengths[i]) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
    }
    return hash;
}

const std::byte* sent(const void* buffer) {
    return buffer == TUTTI_IN_PLACE ? nullptr : static_cast<const std::byte*>(buffer);
}
std::byte* received(void* buffer) {
    return buffer == TUTTI_IN_PLACE ? nullptr : static_cast<std::byte*>(buffer);
}

}  // namespace

bool is_exact(tutti_op op, tutti_dtype dtype) { return op != TUTTI_OP_USER && dtype < TUTTI_FLOAT; }

tutti_status describe(const tutti_call& call, const Self& self, node::Isa isa, Request& request) {
    if (call.collective < 0 || call.collective >= TUTTI_COLLECTIVE_COUNT) {
        return TUTTI_ERR_ARGUMENT;
    }
    node::Call& target = request.op.call;
    target.collective = call.collective;
    target.root = has_root(call.collective) ? call.root : 0;
    if (target.root >= self.ranks) return TUTTI_ERR_ARGUMENT;
    target.bytes = call.collective == TUTTI_BARRIER ? 0 : call.bytes;
    target.send = sent(call.send);
    target.recv = received(call.recv);
    if (is_reduction(call.collective)) {
        if (!set_reducer(call, isa, target.reducer)) return TUTTI_ERR_ARGUMENT;
    } else {
        target.reducer.user_fn = nullptr;
        target.is_whole = call.element_bytes > 0;
        // The embedder copies, as no schedule is right in place (base/collectives.h).
        const bool is_marked = call.send == TUTTI_IN_PLACE;
        if (is_marked && is_copied(call.collective)) return TUTTI_ERR_ARGUMENT;
    }
    target.blocks = nullptr;
    if (call.collective >= kFirstVectorForm && !set_lengths(call, self, target)) {
        return TUTTI_ERR_ARGUMENT;
    }
    request.commutes = call.op != TUTTI_OP_USER || call.commutes != 0;
    request.is_exact = !is_reduction(call.collective) || is_exact(call.op, call.dtype);
    request.buffers_later = call.buffers_later != 0;
    request.ran = nullptr;
    return TUTTI_OK;
}

bool may_have(const Request& request, const void* send) {
    return send != TUTTI_IN_PLACE || !is_copied(request.op.call.collective);
}

void set_buffers(Request& request, const void* send, void* recv) {
    request.op.call.send = sent(send);
    request.op.call.recv = received(recv);
}

CallCard card_of(const tutti_call& call, uint32_t ranks, const Request& request) {
    CallCard card;
    card.collective = call.collective;
    card.root = request.op.call.root;
    card.op = is_reduction(call.collective) ? call.op : 0;
    card.dtype = call.dtype;
    card.bytes = request.op.call.bytes;
    if (const uint64_t* lengths = common_lengths(call.collective, call.blocks))
        card.lengths = hash_of(lengths, ranks);
    return card;
}

CallCard foreign_card(const char* label) {
    CallCard card;
    card.collective = TUTTI_COLLECTIVE_COUNT;
    std::strncpy(card.label, label, sizeof(card.label) - 1);
    return card;
}

select::CallKind kind_of(const Request& request) {
    const node::Call& target = request.op.call;
    if (!is_reduction(target.collective)) return {target.collective, target.bytes};
    return {target.collective, target.bytes, target.reducer.element_bytes, request.commutes,
            request.is_exact};
}

sched::Shape shape_of(const Request& request, uint32_t ranks) {
    const node::Call& call = request.op.call;
    sched::Shape shape;
    shape.collective = call.collective;
    shape.ranks = ranks;
    shape.root = call.root;
    shape.bytes = call.bytes;
    if (is_reduction(call.collective)) {
        shape.element_bytes = call.reducer.element_bytes;
        shape.is_commutative = request.commutes;
        shape.is_exact = request.is_exact;
    }
    const uint64_t* lengths = common_lengths(call.collective, call.blocks);
    const auto is_longest = [&](uint64_t bytes) { return bytes == call.bytes; };
    // As if they could not differ: calls of either kind have one plan.
    if (lengths && !std::all_of(lengths, lengths + ranks, is_longest)) {
        shape.lengths = {.bytes = lengths, .ranks = ranks};
    }
    return shape;
}

}  // namespace tutti::engine
