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

// Memory that a user's operator may touch, relative to where the first element begins.
struct Reach {
    ptrdiff_t low;  // a multiple of kReachAlign, so that the element is aligned as this memory is
    size_t bytes;
};
inline constexpr size_t kReachAlign = 64;

// Of `count` elements in a row. An operator may assign whole C structs of which the datatype names
// a part: the elements reach from bound to bound, and each at least as far as the MPICH family lets
// it, by an extent from its first byte of data.
Reach reach_of(const TypeInfo& info, uint64_t count);

// What tutti_call.reduce_user points to during one call with a user operator. Elements travel
// packed; where the datatype has gaps, both operands are unpacked into `laid_out` first.
struct UserReduction {
    abi::Op op;
    abi::Datatype type;       // as the program's operator is to see it
    abi::Datatype pack_type;  // the same, to unpack and pack with
    const TypeInfo* info;
    std::byte* laid_out;    // room for two batches; null where elements need no unpacking
    size_t batch_elements;  // at a time
    Reach batch;            // of so many

    // Bytes that laid_out needs; fills in the batch.
    size_t plan(const TypeInfo& type_info);
};

// A tutti_reduce_fn; `user` is a UserReduction.
void reduce_user(void* user, const void* left, void* inout, size_t count);

}  // namespace tutti::mpi
