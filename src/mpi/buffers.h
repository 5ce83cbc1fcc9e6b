// SPDX-License-Identifier: BSD-3-Clause
// One side of a call, send or receive: how many bytes, and where they lie in one piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "mpi/abi/abi.h"
#include "mpi/front.h"
#include "mpi/pack.h"
#include "mpi/types.h"

namespace tutti::mpi {

struct TypedBuffer {
    intptr_t address = 0;   // as the caller gave it: MPI_BOTTOM is 0
    uint64_t count = 0;     // elements of one block
    abi::Datatype given{};  // the program's
    abi::Datatype type{};   // to pack and unpack with
    const TypeInfo* info = nullptr;
    size_t bytes = 0;  // of one block

    TypedBuffer() = default;
    ~TypedBuffer() {
        if (is_kept_) [[unlikely]]
            let_go();
    }
    // The other one owns nothing afterwards.
    TypedBuffer(TypedBuffer&& other) noexcept { take(other); }
    TypedBuffer(const TypedBuffer&) = delete;
    TypedBuffer& operator=(const TypedBuffer&) = delete;

    // False where the host shall judge: no such datatype, a negative count, more bytes than memory.
    bool set(const void* buffer, abi::Count elements, abi::Datatype datatype) {
        return set(buffer, elements, datatype, type_info(datatype));
    }
    // The same where the datatype has been looked at, for the other side.
    bool set(const void* buffer, abi::Count elements, abi::Datatype datatype,
             const TypeInfo* type_info);
    // `blocks` of them lie in one piece.
    [[nodiscard]] bool contiguous(uint64_t blocks) const {
        return info->contiguous(count * blocks);
    }
    [[nodiscard]] std::byte* data() const {
        return reinterpret_cast<std::byte*>(address + info->true_lb);
    }
    // False for a null pointer that is no MPI_BOTTOM with absolute addresses, where the host says
    // so. Open MPI does not look and runs into it; so does Tutti there, rather than leave others
    // waiting.
    [[nodiscard]] bool has_memory() const {
        return address + info->true_lb != 0 || bytes == 0 ||
               !front.host.brand->rejects_null_buffers;
    }
    [[nodiscard]] void* block(uint64_t index) const {
        return reinterpret_cast<void*>(address +
                                       static_cast<intptr_t>(index * count) * info->extent);
    }

  private:
    // Another thread may free the datatype as soon as the call has begun, as MPI allows: a call has
    // its own copy of what is known about it, and packs with a datatype of its own.
    void keep();
    void let_go();
    void take(TypedBuffer& other);

    std::optional<TypeInfo> own_info_;
    bool is_kept_ = false;  // `type` is one of Tutti's own
};

// MPI_IN_PLACE.
inline bool is_in_place(const void* buffer) {
    return reinterpret_cast<intptr_t>(buffer) == front.host.abi.in_place;
}

}  // namespace tutti::mpi
