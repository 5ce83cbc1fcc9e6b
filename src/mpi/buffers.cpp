// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/buffers.h"

namespace tutti::mpi {

bool TypedBuffer::set(const void* buffer, abi::Count elements, abi::Datatype datatype,
                      const TypeInfo* type_info) {
    if (elements < 0 || is_in_place(buffer)) return false;
    info = type_info;
    if (info == nullptr || !info->usable) return false;
    address = reinterpret_cast<intptr_t>(buffer);
    count = static_cast<uint64_t>(elements);
    type = datatype;
    return !__builtin_mul_overflow(count, info->size, &bytes);
}

}  // namespace tutti::mpi
