// SPDX-License-Identifier: BSD-3-Clause
#include "node/copy.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tutti::node {

CopyWay best_copy_way() {
#if defined(__x86_64__)
    // The constructor of a preloaded library may come before the one that fills these in.
    __builtin_cpu_init();
    // "Enhanced REP MOVSB", leaf 7: the string instruction moves whole lines.
    constexpr unsigned kFeatureLeaf = 7;
    constexpr unsigned kEnhancedStrings = 1u << 9;
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    if (__builtin_cpu_is("amd") && __get_cpuid_count(kFeatureLeaf, 0, &a, &b, &c, &d) != 0 &&
        (b & kEnhancedStrings) != 0) {
        return CopyWay::kString;
    }
#endif
    return CopyWay::kPrefetch;
}

}  // namespace tutti::node
