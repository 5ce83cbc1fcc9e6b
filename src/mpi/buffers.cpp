// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/buffers.h"

#include <utility>

namespace tutti::mpi {

bool TypedBuffer::set(const void* buffer, abi::Count elements, abi::Datatype datatype,
                      const TypeInfo* type_info) {
    if (elements < 0 || is_in_place(buffer)) return false;
    info = type_info;
    if (info == nullptr || !info->usable) return false;
    address = reinterpret_cast<intptr_t>(buffer);
    count = static_cast<uint64_t>(elements);
    if (is_kept_) let_go();
    given = type = datatype;
    if (!front.is_serial && !front.host.types.hold(info)) keep();
    return !__builtin_mul_overflow(count, info->size, &bytes);
}

void TypedBuffer::keep() {
    info = &own_info_.emplace(*info);
    if (info->dense) return;
    abi::Datatype own{};
    if (front.host.type_contiguous(1, type, &own) != abi::kSuccess) return;
    is_kept_ = true;
    type = own;
    front.host.type_commit(&type);
}

void TypedBuffer::take(TypedBuffer& other) {
    address = other.address;
    count = other.count;
    given = other.given;
    type = other.type;
    info = other.info;
    bytes = other.bytes;
    if (other.own_info_ && other.info == &*other.own_info_) info = &own_info_.emplace(*other.info);
    is_kept_ = std::exchange(other.is_kept_, false);
}

void TypedBuffer::let_go() {
    front.host.type_free(&type);
    is_kept_ = false;
}

}  // namespace tutti::mpi
