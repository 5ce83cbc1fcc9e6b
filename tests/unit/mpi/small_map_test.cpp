// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/small_map.h"

#include <gtest/gtest.h>

namespace tutti::mpi {
namespace {

TEST(SmallMap, FindsWhatItHoldsEvenWhenNearlyFull) {
    SmallMap<int, 16> map;
    for (int i = 0; i < 15; ++i) map.add(i * 1000003, i);
    for (int i = 0; i < 15; ++i) EXPECT_EQ(map.find(i * 1000003), i);
    EXPECT_EQ(map.find(-1), (SmallMap<int, 16>::kAbsent));
}

TEST(SmallMap, TheFirstOfTwoNamesStays) {
    SmallMap<int, 16> map;
    map.add(7, 1);
    map.add(7, 2);
    EXPECT_EQ(map.find(7), 1);
    EXPECT_EQ(map.find(8), (SmallMap<int, 16>::kAbsent));
}

TEST(SmallMap, TakesPointersToo) {
    static int objects[100];
    SmallMap<int*, 256> map;
    for (int i = 0; i < 100; ++i) map.add(&objects[i], i);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(map.find(&objects[i]), i);
    EXPECT_EQ(map.find(nullptr), (SmallMap<int*, 256>::kAbsent));
}

}  // namespace
}  // namespace tutti::mpi
