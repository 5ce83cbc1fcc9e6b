// SPDX-License-Identifier: BSD-3-Clause
// Operators: the predefined ones by number, the user's through MPI_Reduce_local.
#pragma once

#include <cstddef>

#include "mpi/abi/abi.h"
#include "mpi/small_map.h"
#include "mpi/types.h"
#include "tutti/tutti.h"

namespace tutti::mpi {

inline constexpr int kUserOp = -1;
inline constexpr int kHostOp = -2;  // MPI_REPLACE and MPI_NO_OP: not for collectives
inline constexpr int kNoOp = -3;    // a handle that cannot be an operator

// Read-only after fill().
class PredefinedOps {
  public:
    void fill(const abi::Handles& handles);
    // A tutti_op, kUserOp, kHostOp or kNoOp.
    [[nodiscard]] int find(abi::Op op) const {
        const int index = map_.find(op.bits);
        if (index == SmallMap<64>::kAbsent) [[unlikely]]
            return find_other(op);
        return index == TUTTI_OP_COUNT ? kHostOp : index;
    }
    [[nodiscard]] bool reducible(int dtype, int op) const { return reducible_[dtype][op]; }

  private:
    static int find_other(abi::Op op);

    SmallMap<64> map_;
    bool reducible_[TUTTI_DTYPE_COUNT][TUTTI_OP_COUNT] = {};
};

// What tutti_call.reduce_user points to during one call with a user operator. Elements travel
// packed; where the datatype has gaps, both operands are unpacked into `laid_out` first.
struct UserReduction {
    abi::Op op;
    abi::Datatype type;
    const TypeInfo* info;
    std::byte* laid_out;    // room for two batches; null where elements need no unpacking
    size_t batch_elements;  // at a time
    size_t batch_span;      // bytes that a batch covers

    // Bytes that laid_out needs; fills in the batch.
    size_t plan(const TypeInfo& type_info);
};

// A tutti_reduce_fn; `user` is a UserReduction.
void reduce_user(void* user, const void* left, void* inout, size_t count);

}  // namespace tutti::mpi
