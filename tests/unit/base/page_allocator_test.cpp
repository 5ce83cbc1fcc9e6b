// SPDX-License-Identifier: BSD-3-Clause
#include "base/page_allocator.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <vector>

namespace tutti {
namespace {

constexpr size_t kBytes = size_t{8} << 20;

// Of the memory at a place: pages that are there; -1: nothing is mapped there.
long resident_pages(void* memory) {
    std::vector<unsigned char> pages(kBytes / static_cast<size_t>(sysconf(_SC_PAGESIZE)));
    if (mincore(memory, kBytes, pages.data()) != 0) return errno == ENOMEM ? -1 : -2;
    return std::count_if(pages.begin(), pages.end(), [](unsigned char is) { return is & 1; });
}

TEST(PageAllocator, TakesMemoryWhenItIsWrittenAndGivesAllOfItBack) {
    void* place = nullptr;
    {
        std::vector<std::byte, PageAllocator<std::byte>> bytes(kBytes);
        place = bytes.data();
        EXPECT_EQ(resident_pages(place), 0);
        bytes[kBytes / 2] = std::byte{1};
        EXPECT_GT(resident_pages(place), 0);
        EXPECT_EQ(std::count(bytes.begin(), bytes.end(), std::byte{0}),
                  static_cast<ptrdiff_t>(kBytes - 1));
    }
    EXPECT_EQ(resident_pages(place), -1);
}

}  // namespace
}  // namespace tutti
