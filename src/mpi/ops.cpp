// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/ops.h"

#include <algorithm>
#include <climits>

#include "mpi/front.h"
#include "mpi/pack.h"

namespace tutti::mpi {

namespace {

constexpr int kOpOf[] = {
#define TUTTI_MPI_OP(identifier, NAME, number) number,
#include "mpi/abi/types.inc"
};

// Elements without gaps: straight through, in pieces that an int can count.
void reduce_in_place(const UserReduction& user, const std::byte* left, std::byte* inout,
                     size_t count) {
    const ptrdiff_t lb = user.info->true_lb;
    while (count > 0) {
        const size_t piece = std::min<size_t>(count, INT_MAX);
        front.host.reduce_local(left - lb, inout - lb, static_cast<int>(piece), user.type, user.op);
        left += piece * user.info->size;
        inout += piece * user.info->size;
        count -= piece;
    }
}

}  // namespace

void PredefinedOps::fill(const abi::Handles& handles) {
    for (int i = 0; i < abi::kOpNames; ++i) {
        // kHostOp is stored as the number after all operators, since the map holds no negative
        // ones.
        if (handles.op[i] != handles.op_null) {
            map_.add(handles.op[i].bits, kOpOf[i] == kHostOp ? TUTTI_OP_COUNT : kOpOf[i]);
        }
    }
    for (int dtype = 0; dtype < TUTTI_DTYPE_COUNT; ++dtype) {
        for (int op = 0; op < TUTTI_OP_COUNT; ++op) {
            reducible_[dtype][op] =
                tutti_reducible(static_cast<tutti_dtype>(dtype), static_cast<tutti_op>(op)) != 0;
        }
    }
}

int PredefinedOps::find_other(abi::Op op) {
    if (!front.host.abi.may_be(abi::Named::kOp, op.bits, front.host.handles)) return kNoOp;
    return front.host.abi.may_be(abi::Named::kUserOp, op.bits, front.host.handles) ? kUserOp
                                                                                   : kHostOp;
}

Reach reach_of(const TypeInfo& info, uint64_t count) {
    // The bounds of absolute addresses may be anywhere.
    const bool is_bounded =
        info.lb <= info.true_lb && info.true_lb + info.true_extent <= info.lb + info.extent;
    const ptrdiff_t low = is_bounded ? info.lb : info.true_lb;
    const ptrdiff_t high = info.true_lb + std::max(info.extent, info.true_extent);
    const ptrdiff_t steps = static_cast<ptrdiff_t>(count - 1) * info.extent;
    constexpr auto kAlign = static_cast<ptrdiff_t>(kReachAlign);
    const ptrdiff_t first = (low + std::min<ptrdiff_t>(steps, 0)) & -kAlign;
    const ptrdiff_t end = high + std::max<ptrdiff_t>(steps, 0);
    return {first, static_cast<size_t>((end - first + kAlign - 1) & -kAlign)};
}

size_t UserReduction::plan(const TypeInfo& type_info) {
    info = &type_info;
    if (type_info.dense) return 0;
    // A batch keeps the calls of the operator few and the memory small.
    constexpr ptrdiff_t kBatchBytes = 16384;
    const ptrdiff_t extent = type_info.extent;
    batch_elements =
        extent > 0 ? static_cast<size_t>(std::max(kBatchBytes / extent, ptrdiff_t{1})) : 1;
    batch = reach_of(type_info, batch_elements);
    return 2 * batch.bytes;
}

void reduce_user(void* user_data, const void* left_data, void* inout_data, size_t count) {
    const auto& user = *static_cast<const UserReduction*>(user_data);
    const auto* left = static_cast<const std::byte*>(left_data);
    auto* inout = static_cast<std::byte*>(inout_data);
    if (user.laid_out == nullptr) return reduce_in_place(user, left, inout, count);
    const TypeInfo& info = *user.info;
    std::byte* left_laid = user.laid_out - user.batch.low;
    std::byte* inout_laid = left_laid + user.batch.bytes;
    while (count > 0) {
        const size_t piece = std::min(count, user.batch_elements);
        unpack(left, left_laid, piece, user.pack_type, info);
        unpack(inout, inout_laid, piece, user.pack_type, info);
        front.host.reduce_local(left_laid, inout_laid, static_cast<int>(piece), user.type, user.op);
        pack(inout_laid, inout, piece, user.pack_type, info);
        left += piece * info.size;
        inout += piece * info.size;
        count -= piece;
    }
}

}  // namespace tutti::mpi
