// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/pack.h"

#include <algorithm>
#include <climits>
#include <cstring>

#include "mpi/front.h"

namespace tutti::mpi {

namespace {

// Elements whose packed form stays well below what an int counts.
size_t piece_elements(const TypeInfo& info) {
    constexpr size_t kPieceBytes = size_t{1} << 30;
    return std::clamp<size_t>(kPieceBytes / std::max<size_t>(info.size, 1), 1, INT_MAX);
}

// One element that is larger than an int can say needs the host's large-count functions.
bool too_large(const TypeInfo& info) { return info.size > INT_MAX; }

int pack_large(const void* from, std::byte* to, abi::Datatype type, const TypeInfo& info) {
    if (!front.host.pack_c) return front.host.abi.err_count;
    abi::Count position = 0;
    return front.host.pack_c(from, 1, type, to, static_cast<abi::Count>(info.size), &position,
                             front.own.quiet_comm);
}

int unpack_large(const std::byte* from, void* to, abi::Datatype type, const TypeInfo& info) {
    if (!front.host.unpack_c) return front.host.abi.err_count;
    abi::Count position = 0;
    return front.host.unpack_c(from, static_cast<abi::Count>(info.size), &position, to, 1, type,
                               front.own.quiet_comm);
}

// Elements at absolute addresses, seen from an address that is not MPI_BOTTOM: some hosts reject a
// null buffer in MPI_Pack and MPI_Unpack, absolute addresses or not.
class Shifted {
  public:
    Shifted(size_t count, abi::Datatype type) {
        const int elements = static_cast<int>(count);
        const abi::Aint displacement = -static_cast<abi::Aint>(reinterpret_cast<intptr_t>(this));
        status_ = front.host.type_create_hindexed(1, &elements, &displacement, type, &type_);
        if (status_ == abi::kSuccess) status_ = front.host.type_commit(&type_);
    }
    ~Shifted() {
        if (status_ == abi::kSuccess) front.host.type_free(&type_);
    }
    Shifted(const Shifted&) = delete;
    Shifted& operator=(const Shifted&) = delete;
    [[nodiscard]] int status() const { return status_; }
    [[nodiscard]] abi::Datatype type() const { return type_; }
    [[nodiscard]] void* address() { return this; }

  private:
    abi::Datatype type_{};
    int status_;
};

int pack_piece(intptr_t from, std::byte* to, size_t count, abi::Datatype type,
               const TypeInfo& info) {
    if (too_large(info)) return pack_large(reinterpret_cast<void*>(from), to, type, info);
    const int bytes = static_cast<int>(count * info.size);
    int position = 0;
    if (from != 0) {
        return front.host.pack(reinterpret_cast<void*>(from), static_cast<int>(count), type, to,
                               bytes, &position, front.own.quiet_comm);
    }
    Shifted shifted(count, type);
    if (shifted.status() != abi::kSuccess) return shifted.status();
    return front.host.pack(shifted.address(), 1, shifted.type(), to, bytes, &position,
                           front.own.quiet_comm);
}

int unpack_piece(const std::byte* from, intptr_t to, size_t count, abi::Datatype type,
                 const TypeInfo& info) {
    if (too_large(info)) return unpack_large(from, reinterpret_cast<void*>(to), type, info);
    const int bytes = static_cast<int>(count * info.size);
    int position = 0;
    if (to != 0) {
        return front.host.unpack(from, bytes, &position, reinterpret_cast<void*>(to),
                                 static_cast<int>(count), type, front.own.quiet_comm);
    }
    Shifted shifted(count, type);
    if (shifted.status() != abi::kSuccess) return shifted.status();
    return front.host.unpack(from, bytes, &position, shifted.address(), 1, shifted.type(),
                             front.own.quiet_comm);
}

}  // namespace

int pack(const void* from, std::byte* to, size_t count, abi::Datatype type, const TypeInfo& info) {
    if (info.size == 0) return abi::kSuccess;
    const size_t most = piece_elements(info);
    auto address = reinterpret_cast<intptr_t>(from);  // MPI_BOTTOM is null: no pointer arithmetic
    while (count > 0) {
        const size_t piece = std::min(count, most);
        const int status = pack_piece(address, to, piece, type, info);
        if (status != abi::kSuccess) return status;
        address += static_cast<intptr_t>(piece) * info.extent;
        to += piece * info.size;
        count -= piece;
    }
    return abi::kSuccess;
}

int unpack(const std::byte* from, void* to, size_t count, abi::Datatype type,
           const TypeInfo& info) {
    if (info.size == 0) return abi::kSuccess;
    const size_t most = piece_elements(info);
    auto address = reinterpret_cast<intptr_t>(to);
    while (count > 0) {
        const size_t piece = std::min(count, most);
        const int status = unpack_piece(from, address, piece, type, info);
        if (status != abi::kSuccess) return status;
        address += static_cast<intptr_t>(piece) * info.extent;
        from += piece * info.size;
        count -= piece;
    }
    return abi::kSuccess;
}

bool packs_without_header() {
    const int value = 0x01020304;
    std::byte packed[64] = {};
    int position = 0;
    return front.host.pack(&value, 1, front.host.handles.type[abi::kTypeInt], packed, sizeof packed,
                           &position, front.host.handles.comm_self) == abi::kSuccess &&
           position == sizeof value && memcmp(packed, &value, sizeof value) == 0;
}

}  // namespace tutti::mpi
