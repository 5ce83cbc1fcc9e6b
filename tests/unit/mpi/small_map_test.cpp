// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/small_map.h"

#include <gtest/gtest.h>

namespace tutti::mpi {
namespace {

TEST(SmallMap, FindsWhatItHoldsEvenWhenNearlyFull) {
    SmallMap<16> map;
    for (int i = 0; i < 15; ++i) map.add(static_cast<uintptr_t>(i) * 1000003, i);
    for (int i = 0; i < 15; ++i) EXPECT_EQ(map.find(static_cast<uintptr_t>(i) * 1000003), i);
    EXPECT_EQ(map.find(UINTPTR_MAX), (SmallMap<16>::kAbsent));
}

TEST(SmallMap, TheFirstOfTwoNamesStays) {
    SmallMap<16> map;
    map.add(7, 1);
    map.add(7, 2);
    EXPECT_EQ(map.find(7), 1);
    EXPECT_EQ(map.find(8), (SmallMap<16>::kAbsent));
}

TEST(SmallMap, TellsAddressesApart) {
    static int objects[100];
    const auto bits = [](const int* object) { return reinterpret_cast<uintptr_t>(object); };
    SmallMap<256> map;
    for (int i = 0; i < 100; ++i) map.add(bits(&objects[i]), i);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(map.find(bits(&objects[i])), i);
    EXPECT_EQ(map.find(0), SmallMap<256>::kAbsent);
}

}  // namespace
}  // namespace tutti::mpi
