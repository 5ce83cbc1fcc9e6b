// SPDX-License-Identifier: BSD-3-Clause
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "mpi/device/blocks.h"
#include "mpi/device/gaps.h"
#include "mpi/device/queues.h"
#include "mpi/device/runtime_watch.h"
#include "mpi/standin_gpu.h"

namespace tutti::mpi::device {
namespace {

TEST(Span, CoversElementsWhateverTheirExtent) {
    const auto expect_span = [](Span span, ptrdiff_t low, size_t bytes) {
        EXPECT_EQ(span.low, low);
        EXPECT_EQ(span.bytes, bytes);
    };
    expect_span(span_of(8, 0, 8, 0, 4), 0, 32);
    expect_span(span_of(16, 4, 8, 0, 3), 4, 40);     // gaps, and none behind the last
    expect_span(span_of(16, 4, 8, 2, 1), 36, 8);     // from the third on
    expect_span(span_of(-16, 4, 8, 0, 3), -28, 40);  // backwards
    expect_span(span_of(8, -8, 32, 0, 2), -8, 40);   // interleaved, below the address
    expect_span(span_of(8, 0, 8, 5, 0), 0, 0);
}

TEST(Runs, AreTheDataOfAMask) {
    const auto runs = [](std::string text, size_t most = 100) {
        std::vector<unsigned char> mask;
        for (const char c : text) mask.push_back(c == 'x' ? kData : 0);
        std::string found;
        for_each_run(mask.data(), mask.size(), [&](size_t offset, size_t bytes) {
            found += std::to_string(offset) + "+" + std::to_string(bytes) + " ";
            return --most > 0;
        });
        return found;
    };
    EXPECT_EQ(runs(""), "");
    EXPECT_EQ(runs("..."), "");
    EXPECT_EQ(runs("xxx"), "0+3 ");
    EXPECT_EQ(runs(".x.xx"), "1+1 3+2 ");
    EXPECT_EQ(runs("xx.x."), "0+2 3+1 ");
    EXPECT_EQ(runs("x.x.x", 2), "0+1 2+1 ");
}

TEST(Rows, JoinRunsThatAreAlike) {
    const auto rows = [](std::string text, size_t most = 100) {
        std::vector<unsigned char> mask;
        for (const char c : text) mask.push_back(c == 'x' ? kData : 0);
        std::string found;
        for_each_rows(mask.data(), mask.size(), [&](const Rows& one) {
            found += std::to_string(one.offset) + ":" + std::to_string(one.count) + "x" +
                     std::to_string(one.width) + "/" + std::to_string(one.pitch) + " ";
            return --most > 0;
        });
        return found;
    };
    EXPECT_EQ(rows(""), "");
    EXPECT_EQ(rows(".."), "");
    EXPECT_EQ(rows(".xx."), "1:1x2/0 ");
    EXPECT_EQ(rows("xx.xx.xx."), "0:3x2/3 ");
    EXPECT_EQ(rows(".xx..xx..xx.x"), "1:3x2/4 12:1x1/0 ");
    EXPECT_EQ(rows("x.x...x.x"), "0:2x1/2 6:2x1/2 ");
    EXPECT_EQ(rows("x.x.xx.x", 2), "0:2x1/2 4:1x2/0 ");
}

TEST(Queues, TellContextsAtOneAddressApart) {
    Queues queues;
    int context = 0, first = 0, second = 0;
    EXPECT_EQ(queues.find({&context, 1, 0}), nullptr);
    EXPECT_EQ(queues.add({&context, 1, 0}, &first), nullptr);
    EXPECT_EQ(queues.find({&context, 1, 0}), &first);
    EXPECT_EQ(queues.find({&context, 2, 0}), nullptr);  // the context ended, and another began
    EXPECT_EQ(queues.add({&context, 2, 0}, &second), nullptr);
    EXPECT_EQ(queues.find({&context, 2, 0}), &second);
    queues.forget({&context, 1, 0});
    EXPECT_EQ(queues.find({&context, 1, 0}), nullptr);
    EXPECT_EQ(queues.find({&context, 2, 0}), &second);
}

TEST(Queues, GiveTheOldestBackWhereThereAreTooMany) {
    Queues queues;
    std::vector<int> streams(100);
    size_t dropped = 0;
    for (int i = 0; i < 100; ++i) {
        const void* old = queues.add({nullptr, 0, i}, &streams[static_cast<size_t>(i)]);
        if (old == nullptr) continue;
        EXPECT_EQ(old, &streams[dropped++]);
    }
    EXPECT_GT(dropped, 0u);
    EXPECT_EQ(queues.find({nullptr, 0, 99}), &streams[99]);
}

constexpr size_t kMiB = size_t{1} << 20;

// Each taken and given back at once.
std::byte* use(Blocks& blocks, size_t bytes) {
    const Block block = blocks.take(bytes);
    EXPECT_GE(block.bytes, bytes);
    block.memory[0] = block.memory[bytes - 1] = std::byte{1};
    blocks.give_back(block);
    while (blocks.has_excess()) Blocks::unmap(blocks.take_excess());
    return block.memory;
}

TEST(Blocks, AreUsedAgainByWhatTheyHaveRoomFor) {
    Blocks blocks(size_t{1} << 40);
    std::byte* small = use(blocks, 1);
    EXPECT_EQ(use(blocks, 50000), small);
    std::byte* middle = use(blocks, 3 * kMiB);
    EXPECT_NE(middle, small);
    EXPECT_EQ(use(blocks, 1), small);
    EXPECT_EQ(use(blocks, 4 * kMiB), middle);
    const Block first = blocks.take(1), second = blocks.take(1);
    EXPECT_EQ(first.memory, small);
    EXPECT_EQ(second.memory, middle);
    EXPECT_EQ(blocks.bytes(), 0u);
    blocks.give_back(first);
    blocks.give_back(second);
}

TEST(Blocks, LargeOnesStayAsLongAsCallsHaveUseForThem) {
    Blocks blocks(size_t{1} << 40);
    std::byte* large = use(blocks, 200 * kMiB);
    std::byte* small = use(blocks, 1);
    EXPECT_NE(small, large);
    for (uint64_t i = 0; i < 2 * Blocks::kIdleTakes; ++i)
        EXPECT_EQ(use(blocks, i % 2 == 0 ? 1 : 200 * kMiB), i % 2 == 0 ? small : large);
    for (uint64_t i = 0; i < Blocks::kIdleTakes + 1; ++i) {
        EXPECT_GT(blocks.bytes(), 200 * kMiB) << i;
        EXPECT_EQ(use(blocks, 1), small);
    }
    EXPECT_LT(blocks.bytes(), kMiB);
}

TEST(Blocks, NoMoreStaysThanIsAllowed) {
    Blocks blocks(256 * kMiB);
    use(blocks, 300 * kMiB);
    EXPECT_EQ(blocks.bytes(), 0u);
    use(blocks, 200 * kMiB);
    EXPECT_EQ(blocks.bytes(), 200 * kMiB);
    use(blocks, 250 * kMiB);  // the older one goes
    EXPECT_EQ(blocks.bytes(), 250 * kMiB);
}

struct Opened {
    explicit Opened(const char* path) : handle(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {}
    ~Opened() {
        if (handle != nullptr) dlclose(handle);
    }
    Opened(const Opened&) = delete;
    Opened& operator=(const Opened&) = delete;
    void* handle;
};

Standin open_standin(void* handle) {
    Standin standin{};
    reinterpret_cast<void (*)(Standin*)>(dlsym(handle, "standin_open"))(&standin);
    return standin;
}

// One after the other in one process, since a runtime stays once it was found.
TEST(Watch, SeesARuntimeAsSoonAsItIsLoadedAndLooksNoOftener) {
    Watch watch;
    EXPECT_FALSE(watch.may_meet());
    EXPECT_EQ(watch.looks(), 0u);
    watch.start();
    for (int call = 0; call < 1000; ++call) EXPECT_FALSE(watch.may_meet());
    EXPECT_EQ(watch.looks(), 1u);
    {
        const Opened other(OTHER_LIBRARY);
        ASSERT_NE(other.handle, nullptr) << dlerror();
        for (int call = 0; call < 1000; ++call) EXPECT_FALSE(watch.may_meet());
        EXPECT_EQ(watch.looks(), 2u);
    }
    for (int call = 0; call < 1000; ++call) EXPECT_FALSE(watch.may_meet());
    EXPECT_EQ(watch.looks(), 2u);
    const Opened runtime(STANDIN_LIBRARY);
    ASSERT_NE(runtime.handle, nullptr) << dlerror();
    EXPECT_TRUE(watch.may_meet());
    for (int call = 0; call < 1000; ++call) EXPECT_TRUE(watch.may_meet());
    EXPECT_EQ(watch.looks(), 3u);
    watch.let_go();
    EXPECT_TRUE(watch.may_meet());
}

TEST(Watch, FindsNothingAfterItLetGoUnlessSomethingIsLoaded) {
    Watch watch;
    watch.start();
    watch.let_go();
    const size_t looks = watch.looks();
    const bool is_there = watch.may_meet();  // another test may have found it
    for (int call = 0; call < 100; ++call) EXPECT_EQ(watch.may_meet(), is_there);
    EXPECT_EQ(watch.looks(), looks);
    const Opened other(OTHER_LIBRARY);
    EXPECT_EQ(watch.may_meet(), is_there);
    EXPECT_EQ(watch.looks(), looks + 1);
}

// Addresses are used again: nothing that was said of one is remembered.
TEST(Watch, AsksAnewWhoseMemoryAnAddressIs) {
    const Opened runtime(STANDIN_LIBRARY);
    ASSERT_NE(runtime.handle, nullptr) << dlerror();
    const Standin gpu = open_standin(runtime.handle);
    Watch watch;
    watch.start();
    ASSERT_TRUE(watch.may_meet());
    auto* memory = static_cast<char*>(gpu.alloc(nullptr, 5000, kStandinDevice, 1));
    Owner owner;
    EXPECT_EQ(watch.find(memory + 4999, owner), &cuda());
    EXPECT_EQ(owner.kind, MemoryKind::kDevice);
    gpu.release(memory);
    EXPECT_EQ(watch.find(memory, owner), nullptr);
    EXPECT_EQ(owner.kind, MemoryKind::kHost);
    EXPECT_EQ(gpu.alloc(memory, 5000, kStandinManaged, 0), memory);
    EXPECT_EQ(watch.find(memory, owner), &cuda());
    EXPECT_EQ(owner.kind, MemoryKind::kManaged);
    gpu.release(memory);
    EXPECT_EQ(gpu.alloc(memory, 5000, kStandinPinned, 0), memory);
    EXPECT_EQ(watch.find(memory, owner), nullptr);
    gpu.release(memory);
    watch.let_go();
}

TEST(Cuda, CopiesInTheMemorysContextAndLeavesTheProgramsAlone) {
    const Opened runtime(STANDIN_LIBRARY);
    ASSERT_NE(runtime.handle, nullptr) << dlerror();
    const Standin gpu = open_standin(runtime.handle);
    Watch watch;
    watch.start();
    ASSERT_TRUE(watch.may_meet());
    for (const int kind : {kStandinDevice, kStandinPool}) {
        gpu.make_current(0);
        void* memory = gpu.alloc(nullptr, 64, kind, 1);
        const int sent = 4711 + kind;
        int found = 0;
        Owner owner;
        Runtime* owned_by = watch.find(memory, owner);
        ASSERT_EQ(owned_by, &cuda());
        EXPECT_TRUE(cuda().begin(owner));
        EXPECT_TRUE(cuda().copy(memory, &sent, sizeof sent));
        gpu.read(memory, &found, sizeof found);
        EXPECT_EQ(found, 0);  // nothing before end()
        EXPECT_TRUE(cuda().end());
        gpu.read(memory, &found, sizeof found);
        EXPECT_EQ(found, sent);
        EXPECT_EQ(gpu.current(), 0);
        gpu.fail("cuMemcpyAsync");
        EXPECT_TRUE(cuda().begin(owner));
        EXPECT_FALSE(cuda().copy(memory, &sent, sizeof sent));
        EXPECT_FALSE(cuda().end());
        EXPECT_NE(std::string(cuda().problem()).find("cuMemcpyAsync"), std::string::npos);
        EXPECT_EQ(gpu.current(), 0);
        gpu.release(memory);
    }
    EXPECT_EQ(gpu.count("pushed"), 0);
    watch.let_go();
}

}  // namespace
}  // namespace tutti::mpi::device
