// SPDX-License-Identifier: BSD-3-Clause
#include "run/engine/request.h"

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
        return call.bytes % call.element_bytes == 0;
    }
    const node::Kernel kernel = node::find_kernel(call.dtype, call.op, isa);
    if (!kernel) return false;
    const size_t element = node::dtype_bytes(call.dtype);
    // Nothing of a user operator before it may stay: it would choose another algorithm.
    reducer = {kernel, nullptr, nullptr, static_cast<uint32_t>(element)};
    return call.bytes % element == 0;
}

const std::byte* sent(const void* buffer) {
    return buffer == TUTTI_IN_PLACE ? nullptr : static_cast<const std::byte*>(buffer);
}
std::byte* received(void* buffer) {
    return buffer == TUTTI_IN_PLACE ? nullptr : static_cast<std::byte*>(buffer);
}

}  // namespace

bool is_exact(tutti_op op, tutti_dtype dtype) { return op != TUTTI_OP_USER && dtype < TUTTI_FLOAT; }

tutti_status describe(const tutti_call& call, uint32_t ranks, node::Isa isa, Request& request) {
    if (call.collective < 0 || call.collective >= TUTTI_COLLECTIVE_COUNT) {
        return TUTTI_ERR_ARGUMENT;
    }
    node::Call& target = request.op.call;
    target.collective = call.collective;
    target.root = has_root(call.collective) ? call.root : 0;
    if (target.root >= ranks) return TUTTI_ERR_ARGUMENT;
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
        if (is_marked && facts(call.collective).in_place == InPlace::kCopied) {
            return TUTTI_ERR_ARGUMENT;
        }
    }
    request.commutes = call.op != TUTTI_OP_USER || call.commutes != 0;
    request.is_exact = !is_reduction(call.collective) || is_exact(call.op, call.dtype);
    request.buffers_later = call.buffers_later != 0;
    request.ran = nullptr;
    return TUTTI_OK;
}

void set_buffers(Request& request, const void* send, void* recv) {
    request.op.call.send = sent(send);
    request.op.call.recv = received(recv);
}

CallCard card_of(const tutti_call& call, const Request& request) {
    CallCard card;
    card.collective = call.collective;
    card.root = request.op.call.root;
    card.op = is_reduction(call.collective) ? call.op : 0;
    card.dtype = call.dtype;
    card.bytes = request.op.call.bytes;
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
    return shape;
}

}  // namespace tutti::engine
