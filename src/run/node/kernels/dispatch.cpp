// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <complex>

#include "run/node/kernels/kernels.h"
#include "run/node/kernels/table.h"

namespace tutti::node {

namespace {

// The C structs that the pair types describe.
template <class Value, class Index>
struct PairLayout {
    Value value;
    Index index;
};

#if defined(__x86_64__)
Isa isa_of_processor() {
    // The constructor of a preloaded library may come before the one that fills these in.
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2")) return Isa::kBaseline;
    if (!__builtin_cpu_supports("avx512f")) return Isa::kAvx2;
    if (!__builtin_cpu_supports("avx512bw")) return Isa::kAvx2;
    if (!__builtin_cpu_supports("avx512dq")) return Isa::kAvx2;
    if (!__builtin_cpu_supports("avx512vl")) return Isa::kAvx2;
    return Isa::kAvx512;
}

const KernelTable& table_of(Isa isa) {
    if (isa == Isa::kAvx512) return kAvx512Kernels;
    if (isa == Isa::kAvx2) return kAvx2Kernels;
    return kBaselineKernels;
}
#else
Isa isa_of_processor() { return Isa::kBaseline; }
const KernelTable& table_of(Isa /*isa*/) { return kBaselineKernels; }
#endif

}  // namespace

Isa best_isa(IsaChoice limit) {
    const Isa best = isa_of_processor();
    switch (limit) {
        case IsaChoice::kBaseline:
            return Isa::kBaseline;
        case IsaChoice::kAvx2:
            return std::min(best, Isa::kAvx2);
        case IsaChoice::kAvx512:
        case IsaChoice::kAuto:
            break;
    }
    return best;
}

const char* isa_name(Isa isa) {
    switch (isa) {
        case Isa::kBaseline:
            break;
        case Isa::kAvx2:
            return "avx2";
        case Isa::kAvx512:
            return "avx512";
    }
    return "baseline";
}

Kernel find_kernel(tutti_dtype dtype, tutti_op op, Isa isa) {
    // Through an integer type of known sign: what comes in through the C interface may be any
    // number.
    const auto row = static_cast<uint32_t>(dtype);
    const auto column = static_cast<uint32_t>(op);
    if (row >= TUTTI_DTYPE_COUNT) return nullptr;
    if (column >= TUTTI_OP_COUNT) return nullptr;
    return table_of(isa).at[row][column];
}

CopyAhead find_copy_ahead(Isa isa) { return table_of(isa).copy_ahead; }

size_t dtype_bytes(tutti_dtype dtype) {
    switch (dtype) {
        case TUTTI_BYTE:
        case TUTTI_INT8:
        case TUTTI_UINT8:
        case TUTTI_LOGICAL8:
            return 1;
        case TUTTI_BOOL:
            return sizeof(bool);
        case TUTTI_INT16:
        case TUTTI_UINT16:
        case TUTTI_LOGICAL16:
            return 2;
        case TUTTI_INT32:
        case TUTTI_UINT32:
        case TUTTI_LOGICAL32:
            return 4;
        case TUTTI_INT64:
        case TUTTI_UINT64:
        case TUTTI_LOGICAL64:
            return 8;
        case TUTTI_FLOAT:
            return sizeof(float);
        case TUTTI_DOUBLE:
            return sizeof(double);
        case TUTTI_LONG_DOUBLE:
            return sizeof(long double);
        case TUTTI_COMPLEX_FLOAT:
            return sizeof(std::complex<float>);
        case TUTTI_COMPLEX_DOUBLE:
            return sizeof(std::complex<double>);
        case TUTTI_COMPLEX_LONG_DOUBLE:
            return sizeof(std::complex<long double>);
        case TUTTI_FLOAT_INT:
            return sizeof(PairLayout<float, int>);
        case TUTTI_DOUBLE_INT:
            return sizeof(PairLayout<double, int>);
        case TUTTI_LONG_INT:
            return sizeof(PairLayout<long, int>);
        case TUTTI_INT_INT:
            return sizeof(PairLayout<int, int>);
        case TUTTI_SHORT_INT:
            return sizeof(PairLayout<short, int>);
        case TUTTI_LONG_DOUBLE_INT:
            return sizeof(PairLayout<long double, int>);
        case TUTTI_FLOAT_FLOAT:
            return sizeof(PairLayout<float, float>);
        case TUTTI_DOUBLE_DOUBLE:
            return sizeof(PairLayout<double, double>);
        case TUTTI_DTYPE_COUNT:
            break;
    }
    return 0;
}

}  // namespace tutti::node
