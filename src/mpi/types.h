// SPDX-License-Identifier: BSD-3-Clause
// Datatypes as Tutti needs them: how many bytes, and whether they already lie in one piece.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpi/abi/abi.h"
#include "mpi/small_map.h"
#include "tutti/tutti.h"

namespace tutti::mpi {

inline constexpr int kNoDtype = -1;

struct TypeInfo {
    size_t size = 0;        // bytes of data in one element
    ptrdiff_t extent = 0;   // from one element to the next
    ptrdiff_t lb = 0;       // where an element begins for MPI, data or not
    ptrdiff_t true_lb = 0;  // the first byte of data
    ptrdiff_t true_extent = 0;
    bool solid = false;    // one element's bytes lie in order, without gaps, from true_lb on
    bool dense = false;    // so do any number of elements
    int dtype = kNoDtype;  // tutti_dtype of a predefined reduction
    bool usable = false;   // otherwise every call that names the type goes to the host

    // For TUTTI_CHECK of calls that move data: that of real numbers or integers of one width, with
    // or without a sign. TUTTI_BYTE for all else: bytes and characters meet whatever programs put
    // into them, and a derived datatype may be a signature of many.
    [[nodiscard]] tutti_dtype told() const;

    [[nodiscard]] bool contiguous(uint64_t count) const { return dense || (solid && count <= 1); }
};

// Read-only after fill().
class PredefinedTypes {
  public:
    void fill(const abi::Host& host, const abi::Handles& handles);
    [[nodiscard]] const TypeInfo* find(abi::Datatype type) const {
        const int index = map_.find(type.bits);
        return index < 0 ? nullptr : &info_[index];
    }
    [[nodiscard]] bool hold(const TypeInfo* info) const {
        return info >= info_ && info < info_ + abi::kTypeNames;
    }

  private:
    SmallMap<256> map_;
    TypeInfo info_[abi::kTypeNames];
};

// Null where the handle cannot be a datatype or the host refused it: then the host shall report.
// Derived ones are looked at once and remembered as an attribute of the datatype.
const TypeInfo* type_info(abi::Datatype type);

// Creates the keyval; after the host's MPI_Init.
bool create_type_keyval();

}  // namespace tutti::mpi
