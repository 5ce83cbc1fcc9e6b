// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/types.h"

#include <memory>
#include <new>
#include <vector>

#include "mpi/front.h"

namespace tutti::mpi {

using abi::Aint;
using abi::Count;
using abi::Datatype;

namespace {

enum class Class {
    kNone,  // moved, never reduced by Tutti
    kByte,
    kSigned,
    kUnsigned,
    kBool,
    kLogical,
    kReal,
    kLongDouble,
    kComplex,
    kLongDoubleComplex,
    kPair,  // a C struct { value; int }: MPI counts its members, C its padding too
    kTwo,   // two equal values, MINLOC and MAXLOC of Fortran
};

struct Row {
    abi::TypeName name;
    Class type_class;
    int pair_dtype;
};

constexpr Row kRows[] = {
#define TUTTI_MPI_TYPE(identifier, NAME, type_class, dtype) \
    {abi::identifier, Class::type_class, dtype},
#include "mpi/abi/types.inc"
};

// By width: what a Fortran INTEGER is depends on how the host was built.
int dtype_of(const Row& row, size_t size) {
    const auto by_width = [size](int one, int two, int four, int eight) {
        return size == 1 ? one : size == 2 ? two : size == 4 ? four : size == 8 ? eight : kNoDtype;
    };
    switch (row.type_class) {
        case Class::kNone:
            return kNoDtype;
        case Class::kByte:
            return TUTTI_BYTE;
        case Class::kSigned:
            return by_width(TUTTI_INT8, TUTTI_INT16, TUTTI_INT32, TUTTI_INT64);
        case Class::kUnsigned:
            return by_width(TUTTI_UINT8, TUTTI_UINT16, TUTTI_UINT32, TUTTI_UINT64);
        case Class::kBool:
            return size == 1 ? TUTTI_BOOL : kNoDtype;
        case Class::kLogical:
            return by_width(TUTTI_LOGICAL8, TUTTI_LOGICAL16, TUTTI_LOGICAL32, TUTTI_LOGICAL64);
        case Class::kReal:
            return by_width(kNoDtype, kNoDtype, TUTTI_FLOAT, TUTTI_DOUBLE);
        case Class::kLongDouble:
            return size == sizeof(long double) ? TUTTI_LONG_DOUBLE : kNoDtype;
        case Class::kComplex:
            return size == 8 ? TUTTI_COMPLEX_FLOAT : size == 16 ? TUTTI_COMPLEX_DOUBLE : kNoDtype;
        case Class::kLongDoubleComplex:
            return size == 2 * sizeof(long double) ? TUTTI_COMPLEX_LONG_DOUBLE : kNoDtype;
        case Class::kPair:
            return row.pair_dtype;
        case Class::kTwo:
            return size == tutti_dtype_bytes(static_cast<tutti_dtype>(row.pair_dtype))
                       ? row.pair_dtype
                       : kNoDtype;
    }
    return kNoDtype;
}

struct Measured {
    Count size = 0, lb = 0, extent = 0, true_lb = 0, true_extent = 0;
};

bool measure(const abi::Host& host, Datatype type, Measured& out) {
    return host.type_size_x(type, &out.size) == abi::kSuccess &&
           host.type_get_extent_x(type, &out.lb, &out.extent) == abi::kSuccess &&
           host.type_get_true_extent_x(type, &out.true_lb, &out.true_extent) == abi::kSuccess;
}

}  // namespace

tutti_dtype TypeInfo::told() const {
    switch (dtype) {
        case TUTTI_INT16:
        case TUTTI_UINT16:
            return TUTTI_INT16;
        case TUTTI_INT32:
        case TUTTI_UINT32:
            return TUTTI_INT32;
        case TUTTI_INT64:
        case TUTTI_UINT64:
            return TUTTI_INT64;
        case TUTTI_FLOAT:
        case TUTTI_COMPLEX_FLOAT:
            return TUTTI_FLOAT;
        case TUTTI_DOUBLE:
        case TUTTI_COMPLEX_DOUBLE:
            return TUTTI_DOUBLE;
        case TUTTI_LONG_DOUBLE:
        case TUTTI_COMPLEX_LONG_DOUBLE:
            return TUTTI_LONG_DOUBLE;
        default:
            return TUTTI_BYTE;
    }
}

void PredefinedTypes::fill(const abi::Host& host, const abi::Handles& handles) {
    for (const Row& row : kRows) {
        const Datatype type = handles.type[row.name];
        const size_t size = front.host.abi.predefined_size(type, host, handles);
        if (size == 0) continue;
        TypeInfo& info = info_[row.name];
        info.size = size;
        info.dtype = dtype_of(row, info.size);
        info.solid = row.type_class != Class::kPair || row.pair_dtype == TUTTI_FLOAT_INT;
        info.dense = info.solid;
        const size_t extent = row.type_class == Class::kPair
                                  ? tutti_dtype_bytes(static_cast<tutti_dtype>(row.pair_dtype))
                                  : info.size;
        info.extent = static_cast<ptrdiff_t>(extent);
        info.true_extent = static_cast<ptrdiff_t>(extent);
        info.usable = true;
        map_.add(type.bits, row.name);
    }
}

namespace {

constexpr int kDepthMax = 16;
constexpr int kContentsMax = 4096;

bool in_order(Datatype type, int depth);

// A datatype that type_get_contents handed out must be given back, a predefined one must not.
void give_back(Datatype type) {
    int integers = 0, addresses = 0, types = 0, combiner = 0;
    if (front.host.type_get_envelope(type, &integers, &addresses, &types, &combiner) !=
        abi::kSuccess) {
        return;
    }
    if (combiner == front.host.abi.combiners.named ||
        combiner == front.host.abi.combiners.f90_real ||
        combiner == front.host.abi.combiners.f90_complex ||
        combiner == front.host.abi.combiners.f90_integer) {
        return;
    }
    front.host.type_free(&type);
}

// Whether blocks of the child follow each other without a gap.
bool blocks_touch(int combiner, const std::vector<int>& integers,
                  const std::vector<Aint>& addresses, Datatype child) {
    if (combiner == front.host.abi.combiners.vector) {
        return integers[0] <= 1 || integers[1] == integers[2];
    }
    if (combiner == front.host.abi.combiners.hvector) {
        Measured inner;
        if (!measure(front.host, child, inner)) return false;
        return integers[0] <= 1 || addresses[0] == integers[1] * inner.extent;
    }
    return true;
}

// Constructors that keep the order of their child's data. The others are treated as having gaps,
// which costs a copy and is never wrong.
bool keeps_order(int combiner) {
    return combiner == front.host.abi.combiners.dup ||
           combiner == front.host.abi.combiners.contiguous ||
           combiner == front.host.abi.combiners.vector ||
           combiner == front.host.abi.combiners.hvector ||
           combiner == front.host.abi.combiners.resized;
}

bool in_order(Datatype type, int depth) {
    if (const TypeInfo* known = front.host.types.find(type)) return known->dense;
    int integer_count = 0, address_count = 0, type_count = 0, combiner = 0;
    if (front.host.type_get_envelope(type, &integer_count, &address_count, &type_count,
                                     &combiner) != abi::kSuccess) {
        return false;
    }
    if (combiner == front.host.abi.combiners.named ||
        combiner == front.host.abi.combiners.f90_real ||
        combiner == front.host.abi.combiners.f90_complex ||
        combiner == front.host.abi.combiners.f90_integer) {
        return true;  // one basic element; the caller compares size and extent
    }
    if (!keeps_order(combiner) || depth >= kDepthMax || type_count != 1) return false;
    if (integer_count > kContentsMax || address_count > kContentsMax) return false;
    std::vector<int> integers(static_cast<size_t>(integer_count) + 1);
    std::vector<Aint> addresses(static_cast<size_t>(address_count) + 1);
    Datatype child = front.host.handles.type_null;
    if (front.host.type_get_contents(type, integer_count, address_count, 1, integers.data(),
                                     addresses.data(), &child) != abi::kSuccess) {
        return false;
    }
    bool result = in_order(child, depth + 1) && blocks_touch(combiner, integers, addresses, child);
    if (result && combiner != front.host.abi.combiners.dup &&
        combiner != front.host.abi.combiners.resized) {
        // Several children in a row: their extent must leave no gap.
        Measured inner;
        result = measure(front.host, child, inner) && inner.extent == inner.size;
    }
    give_back(child);
    return result;
}

// Whether the datatype may be used for communication: not if it is not committed. Nobody's error
// handler is called; the host will report it in the collective itself.
bool may_communicate(Datatype type) {
    char nothing[16] = {};
    int position = 0;
    return front.host.pack(nothing, 0, type, nothing, sizeof nothing, &position,
                           front.own.quiet_comm) == abi::kSuccess;
}

std::unique_ptr<TypeInfo> look_into(Datatype type) {
    Measured m;
    if (!may_communicate(type) || !measure(front.host, type, m)) return nullptr;
    auto info = std::make_unique<TypeInfo>();
    info->size = static_cast<size_t>(m.size);
    info->extent = static_cast<ptrdiff_t>(m.extent);
    info->lb = static_cast<ptrdiff_t>(m.lb);
    info->true_lb = static_cast<ptrdiff_t>(m.true_lb);
    info->true_extent = static_cast<ptrdiff_t>(m.true_extent);
    info->usable = m.size >= 0;
    info->solid = m.true_extent == m.size && in_order(type, 0);
    info->dense = info->solid && m.extent == m.size;
    return info;
}

int never_copy_info(uintptr_t, int, void*, void*, void*, int* flag) {
    *flag = 0;
    return abi::kSuccess;
}

int delete_info(uintptr_t, int, void* value, void*) {
    front.generation.fetch_add(1, std::memory_order_release);
    delete static_cast<TypeInfo*>(value);
    return abi::kSuccess;
}

const TypeInfo* cached_attribute(Datatype type) {
    void* value = nullptr;
    int found = 0;
    if (front.host.type_get_attr(type, front.own.type_key, &value, &found) != abi::kSuccess) {
        return nullptr;
    }
    return found != 0 ? static_cast<const TypeInfo*>(value) : nullptr;
}

const TypeInfo* attach_info(Datatype type) {
    const std::lock_guard lock(front.mutex);
    if (const TypeInfo* info = cached_attribute(type)) return info;
    std::unique_ptr<TypeInfo> info = look_into(type);
    if (info == nullptr) return nullptr;
    if (front.host.type_set_attr(type, front.own.type_key, info.get()) != abi::kSuccess)
        return nullptr;
    return info.release();
}

}  // namespace

const TypeInfo* type_info(Datatype type) {
    if (const TypeInfo* info = front.host.types.find(type)) [[likely]]
        return info;
    if (!front.host.abi.may_be(abi::Named::kType, type.bits, front.host.handles)) return nullptr;
    ThreadState& thread = thread_state;
    const uint64_t generation = front.generation.load(std::memory_order_acquire);
    if (thread.type == type && thread.type_generation == generation) return thread.info;
    const TypeInfo* info = cached_attribute(type);
    if (info == nullptr) info = attach_info(type);
    if (info == nullptr) return nullptr;
    thread.type = type;
    thread.type_generation = generation;
    thread.info = info;
    return info;
}

bool create_type_keyval() {
    return front.host.type_create_keyval(never_copy_info, delete_info, &front.own.type_key,
                                         nullptr) == abi::kSuccess;
}

}  // namespace tutti::mpi
