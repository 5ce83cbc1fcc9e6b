// SPDX-License-Identifier: BSD-3-Clause
#include "run/arena/arena.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <deque>
#include <set>
#include <thread>
#include <vector>

#include "run/arena/process.h"

namespace tutti::arena {
namespace {

constexpr size_t kBytes = 4 * node::kPageBytes;

class SystemClock final : public Clock {
  public:
    uint64_t now_ns() override {
        const auto now = std::chrono::steady_clock::now().time_since_epoch();
        return static_cast<uint64_t>(std::chrono::nanoseconds(now).count());
    }
} monotonic;

void leave(const SliceRecord& record, uint32_t members) {
    auto& header = *reinterpret_cast<node::SliceHeader*>(record.mapping->base());
    header.detached.fetch_add(members, std::memory_order_release);
}

TEST(Arena, SlicesAreUsedAgainWhenAllHaveLeft) {
    auto made = Arena::create(1);
    ASSERT_TRUE(made);
    Arena& arena = *made.value();
    auto first = arena.take(kBytes, 2);
    auto second = arena.take(kBytes, 2);
    ASSERT_TRUE(first && second);
    EXPECT_NE(first.value().offset, second.value().offset);
    EXPECT_EQ(arena.used_bytes(), 2 * kBytes);
    // One of two members has left: not yet.
    leave(first.value(), 1);
    EXPECT_EQ(arena.used_bytes(), 2 * kBytes);
    leave(first.value(), 1);
    EXPECT_EQ(arena.used_bytes(), kBytes);
    // Another size does not fit there; the same size does, and begins as new.
    auto other = arena.take(2 * kBytes, 2);
    ASSERT_TRUE(other);
    EXPECT_NE(other.value().offset, first.value().offset);
    auto again = arena.take(kBytes, 3);
    ASSERT_TRUE(again);
    EXPECT_EQ(again.value().offset, first.value().offset);
    EXPECT_EQ(arena.used_bytes(), 4 * kBytes);
    leave(again.value(), 2);
    EXPECT_EQ(arena.used_bytes(), 4 * kBytes);
}

// What is free gives its memory back before another size takes more.
TEST(Arena, FreeSlicesOfOtherSizesHoldNoMemory) {
    auto made = Arena::create(1);
    ASSERT_TRUE(made);
    Arena& arena = *made.value();
    auto first = arena.take(kBytes, 1);
    ASSERT_TRUE(first);
    ASSERT_TRUE(reserve(arena.fd(), first.value().offset, kBytes, 0));
    leave(first.value(), 1);
    auto other = arena.take(2 * kBytes, 1);
    ASSERT_TRUE(other);
    struct stat info {};
    ASSERT_EQ(fstat(arena.fd(), &info), 0);
    // Only the header page of the new slice is there.
    EXPECT_EQ(static_cast<size_t>(info.st_blocks) * 512, node::kPageBytes);
}

size_t held_bytes(const Arena& arena) {
    struct stat info {};
    EXPECT_EQ(fstat(arena.fd(), &info), 0);
    return static_cast<size_t>(info.st_blocks) * 512;
}

// A slice for these members that all of them reserved and left.
SliceRecord use_slice(Arena& arena, uint64_t members_hash) {
    auto taken = arena.take(kBytes, 1, members_hash);
    EXPECT_TRUE(taken);
    const SliceRecord record = taken.value();
    EXPECT_TRUE(reserve(arena.fd(), record.offset, kBytes, 0));
    arena.confirm(record.offset, members_hash);
    leave(record, 1);
    return record;
}

// The same members find it reserved and mapped, others reserve it anew.
TEST(Arena, TheSameMembersFindTheirMemory) {
    auto made = Arena::create(1);
    ASSERT_TRUE(made);
    Arena& arena = *made.value();
    const SliceRecord first = use_slice(arena, 7);
    EXPECT_EQ(first.reserved_for, 0u);
    auto again = arena.take(kBytes, 1, 7);
    ASSERT_TRUE(again);
    EXPECT_EQ(again.value().reserved_for, 7u);
    EXPECT_EQ(again.value().mapping, first.mapping);
    EXPECT_EQ(held_bytes(arena), kBytes);
    leave(again.value(), 1);
    auto other = arena.take(kBytes, 1, 8);
    ASSERT_TRUE(other);
    EXPECT_EQ(other.value().offset, first.offset);
    EXPECT_EQ(other.value().reserved_for, 0u);
    EXPECT_EQ(held_bytes(arena), node::kPageBytes);
}

TEST(Arena, WhatNobodyUsesKeepsNoMoreThanTheBound) {
    auto made = Arena::create(1);
    ASSERT_TRUE(made);
    Arena& arena = *made.value();
    std::vector<SliceRecord> taken;
    for (int i = 0; i < 4; ++i) {
        auto record = arena.take(kBytes, 1, 7);
        ASSERT_TRUE(record);
        ASSERT_TRUE(reserve(arena.fd(), record.value().offset, kBytes, 0));
        arena.confirm(record.value().offset, 7);
        taken.push_back(record.value());
    }
    for (int i = 0; i < 3; ++i) leave(taken[static_cast<size_t>(i)], 1);
    arena.trim(2 * kBytes + 1);
    EXPECT_EQ(held_bytes(arena), 3 * kBytes);
    EXPECT_EQ(arena.used_bytes(), kBytes);
    leave(taken[3], 1);
    arena.trim(0);
    EXPECT_EQ(held_bytes(arena), 0u);
}

// What a child has of its parent's is not its own to give back.
TEST(Arena, AChildGivesNothingBack) {
    auto made = Arena::create(1);
    ASSERT_TRUE(made);
    Arena& arena = *made.value();
    use_slice(arena, 7);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        arena.trim(0);
        made.value().reset();
        _exit(0);
    }
    waitpid(child, nullptr, 0);
    EXPECT_EQ(held_bytes(arena), kBytes);
}

TEST(Arena, AReplacedDescriptorIsNoticed) {
    auto made = Arena::create(1);
    ASSERT_TRUE(made);
    EXPECT_TRUE(made.value()->is_intact());
    const int other = memfd_create("other", MFD_CLOEXEC);
    ASSERT_GE(dup2(other, made.value()->fd()), 0);
    close(other);
    EXPECT_FALSE(made.value()->is_intact());
}

// Memory is given back to whom it was from, and no hole is made in a file of the program's.
TEST(Arena, AReplacedDescriptorKeepsItsData) {
    auto made = Arena::create(1);
    ASSERT_TRUE(made);
    Arena& arena = *made.value();
    use_slice(arena, 7);
    const int other = memfd_create("other", MFD_CLOEXEC);
    const std::vector<char> data(kBytes, 'x');
    ASSERT_EQ(write(other, data.data(), data.size()), static_cast<ssize_t>(data.size()));
    ASSERT_GE(dup2(other, arena.fd()), 0);
    arena.trim(0);
    std::vector<char> read(data.size());
    EXPECT_EQ(pread(other, read.data(), read.size(), 0), static_cast<ssize_t>(read.size()));
    EXPECT_EQ(read, data);
    close(other);
}

TEST(Arena, GivenBackIsFree) {
    auto made = Arena::create(1);
    ASSERT_TRUE(made);
    auto record = made.value()->take(kBytes, 2);
    ASSERT_TRUE(record);
    made.value()->give_back(record.value().offset + 1);  // No such slice.
    EXPECT_EQ(made.value()->used_bytes(), kBytes);
    made.value()->give_back(record.value().offset);
    EXPECT_EQ(made.value()->used_bytes(), 0u);
}

TEST(Arena, OnlyTheOwnerMayOpenIt) {
    auto made = Arena::create(1);
    ASSERT_TRUE(made);
    struct stat info {};
    ASSERT_EQ(fstat(made.value()->fd(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u);
    EXPECT_NE(fcntl(made.value()->fd(), F_GETFD) & FD_CLOEXEC, 0);
}

// In a child, since the limit cannot be raised again. A slice that could not be had leaves the
// arena as it was.
TEST(Arena, FailureLeavesItAsItWas) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        auto made = Arena::create(1);
        if (!made) _exit(2);
        Arena& arena = *made.value();
        auto kept = arena.take(kBytes, 1);
        if (!kept) _exit(3);
        const rlimit limit{2 * kBytes, 2 * kBytes};
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(4);
        const auto refused = arena.take(4 * kBytes, 1);
        if (refused) _exit(5);
        const std::string expected =
            "80 KiB of shared memory exceed the file size limit of 32 KiB "
            "(ulimit -f)";
        if (refused.error().message != expected) _exit(6);
        if (arena.used_bytes() != kBytes) _exit(7);
        _exit(arena.take(kBytes, 1) ? 0 : 8);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
}

// The same for a slice that was used before: it is there again when there is room.
TEST(Arena, FailureKeepsTheFreeSlice) {
    auto made = Arena::create(1);
    ASSERT_TRUE(made);
    Arena& arena = *made.value();
    auto first = arena.take(kBytes, 1);
    auto second = arena.take(kBytes, 1);
    ASSERT_TRUE(first && second);
    leave(second.value(), 1);
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    const rlimit low{kBytes, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
    const auto refused = arena.take(kBytes, 1);
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_FALSE(refused);
    auto again = arena.take(kBytes, 1);
    ASSERT_TRUE(again);
    EXPECT_EQ(again.value().offset, second.value().offset);
}

TEST(Arena, OpenedThroughProcItIsTheSameMemory) {
    auto made = Arena::create(1);
    ASSERT_TRUE(made);
    auto record = made.value()->take(kBytes, 1);
    ASSERT_TRUE(record);
    auto fd = open_through_proc(this_process(), made.value()->fd());
    ASSERT_TRUE(fd) << fd.error().message;
    auto mapping = Mapping::map(fd.value().get(), record.value().offset, kBytes);
    ASSERT_TRUE(mapping);
    record.value().mapping->base()[100] = std::byte{42};
    EXPECT_EQ(mapping.value()->base()[100], std::byte{42});
}

TEST(Arena, ProcIsNotTrusted) {
    // Not a regular file: opening it could block.
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    EXPECT_FALSE(open_through_proc(this_process(), ends[0]));
    close(ends[0]);
    close(ends[1]);
    ProcessId elsewhere = this_process();
    elsewhere.pid_space += 1;
    const auto refused = open_through_proc(elsewhere, 0);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("another pid namespace"), std::string::npos);
}

constexpr uint64_t kToken = 71;

TEST(FdOffer, HandsOverTheDescriptor) {
    const uint64_t name = random_token();
    auto offer = FdOffer::listen(name);
    ASSERT_TRUE(offer) << offer.error().message;
    EXPECT_FALSE(FdOffer::listen(name));  // The name is taken.
    auto made = Arena::create(1);
    ASSERT_TRUE(made);
    auto record = made.value()->take(kBytes, 1);
    ASSERT_TRUE(record);
    auto request = FdRequest::begin(name, kToken);
    ASSERT_TRUE(request) << request.error().message;
    std::thread server(
        [&] { EXPECT_TRUE(offer.value().serve(monotonic, made.value()->fd(), {kToken}, 10'000)); });
    auto fd = request.value().receive(monotonic, 10'000);
    server.join();
    ASSERT_TRUE(fd) << fd.error().message;
    auto mapping = Mapping::map(fd.value().get(), 0, kBytes);
    ASSERT_TRUE(mapping);
    record.value().mapping->base()[7] = std::byte{9};
    EXPECT_EQ(mapping.value()->base()[7], std::byte{9});
}

// Of this user, but without a token.
Fd connect_as_stranger(uint64_t name) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const int length = std::snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1,
                                     "tutti-%016llx", static_cast<unsigned long long>(name));
    const size_t bytes = offsetof(sockaddr_un, sun_path) + 1 + static_cast<size_t>(length);
    Fd stranger(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    static_cast<void>(connect(stranger.get(), reinterpret_cast<sockaddr*>(&address),
                              static_cast<socklen_t>(bytes)));
    return stranger;
}

TEST(FdOffer, StrangersGetNothingAndTakeNobodysTurn) {
    const uint64_t name = random_token();
    auto offer = FdOffer::listen(name);
    ASSERT_TRUE(offer) << offer.error().message;
    std::deque<Fd> strangers;
    for (int i = 0; i < 100; ++i) strangers.push_back(connect_as_stranger(name));
    auto request = FdRequest::begin(name, kToken);
    ASSERT_TRUE(request) << request.error().message;
    auto made = Arena::create(1);
    ASSERT_TRUE(made);
    std::thread server([&] {
        const auto served = offer.value().serve(monotonic, made.value()->fd(), {kToken}, 60'000);
        EXPECT_TRUE(served);
    });
    auto fd = request.value().receive(monotonic, 60'000);
    server.join();
    ASSERT_TRUE(fd) << fd.error().message;
    struct stat status {
    }, original{};
    EXPECT_EQ(fstat(fd.value().get(), &status), 0);
    EXPECT_EQ(fstat(made.value()->fd(), &original), 0);
    EXPECT_EQ(status.st_ino, original.st_ino);
}

// A member that has become another user will not come with another one's rights later.
TEST(FdOffer, AMemberThatIsAnotherUserEndsIt) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
    const uint64_t name = random_token();
    const uint64_t token = random_token();
    auto offer = FdOffer::listen(name);
    ASSERT_TRUE(offer) << offer.error().message;
    const pid_t child = fork();
    if (child == 0) {
        constexpr uid_t kNobody = 65534;
        if (setresuid(kNobody, kNobody, kNobody) != 0) _exit(2);
        auto request = FdRequest::begin(name, token);
        _exit(request && !request.value().receive(monotonic, 10'000) ? 0 : 1);
    }
    const auto served = offer.value().serve(monotonic, 0, {token, random_token()}, 60'000);
    ASSERT_FALSE(served);
    EXPECT_EQ(served.error().message, "a member runs as another user");
    { const FdOffer closed = std::move(offer.value()); }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

// The flood ends after the wait has: this test ends only if strangers do not prolong the wait.
TEST(FdOffer, StrangersDoNotProlongTheWait) {
    const uint64_t name = random_token();
    auto offer = FdOffer::listen(name);
    ASSERT_TRUE(offer) << offer.error().message;
    std::atomic<bool> is_over{false};
    std::thread flood([&] {
        while (!is_over.load()) connect_as_stranger(name);
    });
    EXPECT_FALSE(offer.value().serve(monotonic, 0, {kToken}, 300));
    is_over.store(true);
    flood.join();
}

// So many stand before the door that there is no room: the member comes again.
TEST(FdOffer, AMemberWaitsForRoom) {
    const uint64_t name = random_token();
    auto offer = FdOffer::listen(name);
    ASSERT_TRUE(offer) << offer.error().message;
    std::deque<Result<FdRequest>> others;
    do {
        others.push_back(FdRequest::begin(name, kToken + 1));
        if (!others.back()) GTEST_SKIP() << others.back().error().message;
    } while (others.back().value().is_connected() && others.size() < 10'000);
    ASSERT_FALSE(others.back().value().is_connected()) << "a queue without end";
    auto request = FdRequest::begin(name, kToken);
    ASSERT_TRUE(request) << request.error().message;
    auto made = Arena::create(1);
    ASSERT_TRUE(made);
    std::thread server(
        [&] { EXPECT_TRUE(offer.value().serve(monotonic, made.value()->fd(), {kToken}, 60'000)); });
    EXPECT_TRUE(request.value().receive(monotonic, 60'000));
    server.join();
}

TEST(FdOffer, NobodyThereIsSaidAtOnce) {
    const auto request = FdRequest::begin(random_token(), kToken);
    ASSERT_FALSE(request);
    EXPECT_NE(request.error().message.find("connecting to the leader"), std::string::npos);
    auto offer = FdOffer::listen(random_token());
    ASSERT_TRUE(offer);
    EXPECT_FALSE(offer.value().serve(monotonic, 0, {kToken}, 1));
}

TEST(Process, IdentityIsItsOwn) {
    EXPECT_EQ(this_process(), this_process());
    EXPECT_EQ(this_process().pid, getpid());
    EXPECT_NE(this_process().started, 0u);
    EXPECT_NE(this_process().pid_space, 0u);
    EXPECT_EQ(node_hash(), node_hash());
    std::set<uint64_t> tokens;
    for (int i = 0; i < 100; ++i) tokens.insert(random_token());
    EXPECT_EQ(tokens.size(), 100u);
    EXPECT_EQ(tokens.count(0), 0u);
}

TEST(Process, HashIsFnv1a) {
    // The published test values of FNV-1a, 64 bits.
    EXPECT_EQ(hash_text(""), 0xcbf29ce484222325u);
    EXPECT_EQ(hash_text("a"), 0xaf63dc4c8601ec8cu);
    EXPECT_EQ(hash_text("foobar"), 0x85944171f73967e8u);
}

}  // namespace
}  // namespace tutti::arena
