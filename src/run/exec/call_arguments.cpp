// SPDX-License-Identifier: BSD-3-Clause
#include "run/exec/call_arguments.h"

#include "base/assert.h"
#include "base/collectives.h"

namespace tutti::exec {

Arguments arguments_of(const node::Call& call, uint32_t rank) {
    const BufferPair pair =
        buffers_of(call.collective, call.send, call.recv, rank, call.root, call.own_offset(rank));
    Arguments arguments{pair.input, pair.output, call.reducer};
    arguments.has_private_lengths = has_private_lengths(call.collective) && call.blocks;
    return arguments;
}

sched::CallBlocks blocks_of(const node::Call& call, uint32_t rank) {
    TUTTI_ASSERT(call.blocks, "a vector form has blocks");
    sched::CallBlocks blocks;
    blocks.own_bytes = call.own_bytes;
    const auto is_given = [&](const CollectiveBuffer& side) {
        return side.holds == Holds::kAll && is_on(side.on, rank, call.root);
    };
    if (is_given(facts(call.collective).input)) {
        blocks.input_bytes = call.blocks->send_bytes;
        blocks.input_offsets = call.blocks->send_offsets;
    }
    if (is_given(facts(call.collective).output)) {
        blocks.output_bytes = call.blocks->recv_bytes;
        blocks.output_offsets = call.blocks->recv_offsets;
    }
    return blocks;
}

}  // namespace tutti::exec
