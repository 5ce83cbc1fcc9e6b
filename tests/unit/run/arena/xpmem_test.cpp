// SPDX-License-Identifier: BSD-3-Clause
#include "run/arena/xpmem.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/fd.h"
#include "base/memory_file.h"
#include "fake_xpmem.h"
#include "unit/threads.h"

namespace tutti::arena {
namespace {

using test::fake_xpmem;
using test::FakeXpmem;

constexpr size_t kWindow = XpmemPeer::kWindowBytes;
constexpr uint64_t kBase = 0x200000000000;  // an owner's address, on the border of a window
constexpr int64_t kPeer = 7;                // its number
constexpr node::Rank kOther = 1;            // its rank
constexpr std::byte kUntouched{0xEE};

std::byte pattern(size_t offset, unsigned salt) {
    return static_cast<std::byte>((offset * 2654435761u + salt * 40503u) >> 11);
}

// Memory of an owner, with a byte at each offset that tells which one it is. Pages that are not
// written take none.
class OwnerMemory {
  public:
    explicit OwnerMemory(size_t bytes, unsigned salt = 0) : bytes_(bytes), salt_(salt) {
        fd_ = Fd(make_memory_file("tutti-test"));
        EXPECT_EQ(ftruncate(fd_.get(), static_cast<off_t>(bytes)), 0);
    }
    void write(size_t offset, size_t bytes) const {
        std::vector<std::byte> data(bytes);
        for (size_t i = 0; i < bytes; ++i) data[i] = pattern(offset + i, salt_);
        EXPECT_EQ(pwrite(fd_.get(), data.data(), bytes, static_cast<off_t>(offset)),
                  static_cast<ssize_t>(bytes));
    }
    [[nodiscard]] int fd() const { return fd_.get(); }
    [[nodiscard]] size_t bytes() const { return bytes_; }
    [[nodiscard]] unsigned salt() const { return salt_; }

  private:
    Fd fd_;
    size_t bytes_;
    unsigned salt_;
};

// Answers for what XPMEM could not read.
class Otherwise final : public node::PeerMemory {
  public:
    bool read(node::Rank rank, std::byte*, uint64_t, size_t) override {
        rank_last = rank;
        ++reads;
        return true;
    }
    [[nodiscard]] node::Denial denial() const override { return {EPERM, node::kNoRank, rank_last}; }
    size_t reads = 0;
    node::Rank rank_last = node::kNoRank;
};

class Xpmem : public testing::Test {
  protected:
    void SetUp() override {
        before_ = fake_xpmem();
        library_ = open();
        ASSERT_TRUE(library_);
        test::fake_xpmem_owner(kPeer);
    }
    void TearDown() override {
        unsetenv("FAKE_XPMEM_FAILS");
        library_.reset();
        const FakeXpmem left = fake_xpmem();
        EXPECT_EQ(left.attachments, 0u);
        EXPECT_EQ(left.permits, 0u);
        EXPECT_EQ(left.makes - before_.makes, left.removes - before_.removes);
    }
    static XpmemPaths paths() { return {{FAKE_XPMEM}, "/dev/null", "/nonexistent/swaps"}; }
    static std::shared_ptr<XpmemLibrary> open() {
        auto opened = XpmemLibrary::open(paths());
        return opened ? opened.value() : nullptr;
    }
    // Ranks: this process, the owner, one without a number.
    std::unique_ptr<XpmemMemory> team(std::shared_ptr<node::PeerMemory> otherwise = nullptr) {
        const std::vector<uint64_t> segments{library_->own_segment(), kPeer, 0};
        return std::make_unique<XpmemMemory>(library_, segments, std::move(otherwise));
    }
    static void map(const OwnerMemory& memory, uint64_t address = kBase) {
        test::fake_xpmem_map(kPeer, address, memory.fd(), memory.bytes());
    }
    // Counts of this test.
    FakeXpmem done() {
        FakeXpmem now = fake_xpmem();
        now.gets -= before_.gets;
        now.releases -= before_.releases;
        now.attaches -= before_.attaches;
        now.detaches -= before_.detaches;
        return now;
    }

    FakeXpmem before_;
    std::shared_ptr<XpmemLibrary> library_;
};

// Reads so many bytes at this offset of the memory, and sees that nothing else is written.
testing::AssertionResult reads(node::PeerMemory& peers, const OwnerMemory& memory, size_t offset,
                               size_t bytes, uint64_t base = kBase) {
    constexpr size_t kEdge = 64;
    std::vector<std::byte> out(bytes + 2 * kEdge, kUntouched);
    if (!peers.read(kOther, out.data() + kEdge, base + offset, bytes)) {
        return testing::AssertionFailure() << "not read: " << bytes << " at " << offset;
    }
    for (size_t i = 0; i < out.size(); ++i) {
        const bool is_inside = i >= kEdge && i < kEdge + bytes;
        const std::byte expected =
            is_inside ? pattern(offset + i - kEdge, memory.salt()) : kUntouched;
        if (out[i] == expected) continue;
        return testing::AssertionFailure()
               << "byte " << i << " of " << bytes << " at " << offset << " is wrong";
    }
    return testing::AssertionSuccess();
}

bool reads_nothing(node::PeerMemory& peers, uint64_t address, size_t bytes) {
    std::vector<std::byte> out(bytes);
    return !peers.read(kOther, out.data(), address, bytes);
}

// ---- what is missing is told in a line ----------------------------------------------------------

void expect_error(const XpmemPaths& paths, const std::string& what) {
    const auto opened = XpmemLibrary::open(paths);
    ASSERT_FALSE(opened);
    const std::string& text = opened.error().message;
    EXPECT_EQ(text.rfind("no XPMEM: ", 0), 0u) << text;
    EXPECT_NE(text.find(what), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
}

TEST_F(Xpmem, WhatIsMissingIsToldInALine) {
    const size_t makes = fake_xpmem().makes;
    XpmemPaths missing = paths();
    missing.device = "/nonexistent/xpmem";
    expect_error(missing, "/nonexistent/xpmem: No such file");
    missing.device = FAKE_XPMEM;
    expect_error(missing, "is no device");
    missing = paths();
    missing.libraries = {"libnonexistent-xpmem.so.0", "libnonexistent-xpmem.so"};
    expect_error(missing, "libnonexistent-xpmem.so");
    missing.libraries = {};
    expect_error(missing, "no library");
    missing.libraries = {"libc.so.6"};
    expect_error(missing, "the library has no xpmem_make");
    EXPECT_EQ(fake_xpmem().makes, makes);
}

TEST_F(Xpmem, TheFirstLibraryThatOpensIsTaken) {
    XpmemPaths second = paths();
    second.libraries = {"libnonexistent-xpmem.so.0", FAKE_XPMEM};
    EXPECT_TRUE(XpmemLibrary::open(second));
}

TEST_F(Xpmem, IsNotUsedWhereThereIsSwapSpace) {
    const std::string path = testing::TempDir() + "tutti-swaps-" + std::to_string(getpid());
    XpmemPaths swapping = paths();
    swapping.swaps = path;
    std::ofstream(path) << "Filename Type Size Used Priority\n";
    EXPECT_TRUE(XpmemLibrary::open(swapping));
    std::ofstream(path) << "Filename Type Size Used Priority\n/dev/sda2 partition 8 0 -2\n";
    expect_error(swapping, "swap space");
    unlink(path.c_str());
}

TEST_F(Xpmem, MakingANumberMayFail) {
    setenv("FAKE_XPMEM_FAILS", "make", 1);
    expect_error(paths(), "xpmem_make");
}

// ---- numbers, permits, windows ------------------------------------------------------------------

TEST_F(Xpmem, AProcessHasOneNumberForItsOwnUser) {
    const FakeXpmem made = fake_xpmem();
    EXPECT_EQ(made.makes - before_.makes, 1u);
    EXPECT_EQ(made.make_mode_last, 0600u);
    EXPECT_NE(library_->own_segment(), 0u);
    team();
    team();
    EXPECT_EQ(fake_xpmem().makes, made.makes);
    library_.reset();
    EXPECT_EQ(fake_xpmem().removes - before_.removes, 1u);
}

TEST_F(Xpmem, GetsOnceAttachesOnceAndGivesBack) {
    const OwnerMemory memory(kWindow);
    memory.write(0, 1 << 20);
    map(memory);
    auto peers = team();
    EXPECT_EQ(done().gets, 0u);
    for (const size_t bytes : {size_t{1}, size_t{4096}, size_t{300'000}}) {
        EXPECT_TRUE(reads(*peers, memory, 12'345, bytes));
        EXPECT_EQ(done().gets, 1u);
        EXPECT_EQ(done().attaches, 1u);
    }
    EXPECT_EQ(done().attached_bytes_last, kWindow);
    EXPECT_EQ(done().detaches, 0u);
    peers.reset();
    EXPECT_EQ(done().detaches, 1u);
    EXPECT_EQ(done().releases, 1u);
}

TEST_F(Xpmem, NothingIsReadOfNothing) {
    auto peers = team();
    EXPECT_TRUE(peers->read(kOther, nullptr, kBase, 0));
    EXPECT_EQ(done().gets, 0u);
}

TEST_F(Xpmem, TeamsShareWindows) {
    const OwnerMemory memory(kWindow);
    memory.write(0, 4096);
    map(memory);
    auto one = team();
    auto another = team();
    EXPECT_TRUE(reads(*one, memory, 0, 4096));
    EXPECT_TRUE(reads(*another, memory, 0, 4096));
    EXPECT_EQ(done().attaches, 1u);
    one.reset();
    EXPECT_EQ(done().attachments, 1u);
    EXPECT_TRUE(reads(*another, memory, 0, 4096));
    another.reset();
    EXPECT_EQ(done().attachments, 0u);
    EXPECT_TRUE(reads(*team(), memory, 0, 4096));
    EXPECT_EQ(done().gets, 2u);
}

TEST_F(Xpmem, ATeamOutlivesItsContext) {
    const OwnerMemory memory(kWindow);
    memory.write(0, 4096);
    map(memory);
    auto peers = team();
    library_.reset();
    EXPECT_TRUE(reads(*peers, memory, 0, 4096));
    EXPECT_EQ(fake_xpmem().removes, before_.removes);
}

TEST_F(Xpmem, OwnMemoryNeedsNoWindow) {
    auto peers = team();
    const std::vector<std::byte> data(1000, std::byte{5});
    std::vector<std::byte> out(1000);
    EXPECT_TRUE(peers->read(0, out.data(), reinterpret_cast<uint64_t>(data.data()), 1000));
    EXPECT_EQ(out, data);
    EXPECT_EQ(done().gets, 0u);
}

TEST_F(Xpmem, ARankWithoutANumberCannotBeRead) {
    std::byte out{};
    EXPECT_FALSE(team()->read(2, &out, kBase, 1));
    auto otherwise = std::make_shared<Otherwise>();
    EXPECT_TRUE(team(otherwise)->read(2, &out, kBase, 1));
    EXPECT_EQ(otherwise->rank_last, 2u);
    // Which is all there is of that rank; the owner's memory may have windows again.
    EXPECT_EQ(team(otherwise)->denial().of, 2u);
    otherwise->rank_last = 1;
    EXPECT_EQ(team(otherwise)->denial().failure, 0);
    EXPECT_EQ(done().gets, 0u);
}

// ---- borders ------------------------------------------------------------------------------------

TEST_F(Xpmem, ReadsAtBordersOfWindows) {
    constexpr size_t kSpan = 600'000;  // more than a look takes
    const OwnerMemory memory(2 * kWindow);
    memory.write(kWindow - kSpan, 2 * kSpan);
    map(memory);
    auto peers = team();
    for (const size_t border : {kWindow, kWindow - 4096, kWindow + 4096}) {
        for (const size_t before : {0u, 1u, 2u, 4095u, 4096u, 4097u}) {
            for (const size_t bytes : {1u, 2u, 3u, 4095u, 4096u, 4097u, 8193u}) {
                EXPECT_TRUE(reads(*peers, memory, border - before, bytes));
            }
        }
    }
    for (const size_t bytes : {524'287u, 524'288u, 524'289u, 532'480u}) {
        EXPECT_TRUE(reads(*peers, memory, kWindow - 524'288, bytes));
        EXPECT_TRUE(reads(*peers, memory, kWindow - 524'289, bytes));
        EXPECT_TRUE(reads(*peers, memory, kWindow + 1, bytes));
    }
    EXPECT_EQ(done().attaches, 2u);
}

TEST_F(Xpmem, ReadsAcrossWindows) {
    const OwnerMemory memory(3 * kWindow);
    memory.write(kWindow - 4096, kWindow + 8192);
    map(memory);
    auto peers = team();
    EXPECT_TRUE(reads(*peers, memory, kWindow - 1, kWindow + 2));
    EXPECT_EQ(done().attaches, 3u);
    EXPECT_TRUE(reads(*peers, memory, kWindow, kWindow));
    EXPECT_EQ(done().attaches, 3u);
}

// Where a window would reach beyond the address space.
TEST_F(Xpmem, ReadsAtTheEndOfTheAddressSpace) {
    constexpr size_t kBytes = 65'536;
    constexpr uint64_t kFirst = test::kFakeSpaceEnd - kBytes;
    const OwnerMemory memory(kBytes);
    memory.write(0, kBytes);
    map(memory, kFirst);
    auto peers = team();
    EXPECT_TRUE(reads(*peers, memory, 4097, 4096, kFirst));
    EXPECT_EQ(done().attached_bytes_last, 8192u);
    EXPECT_TRUE(reads(*peers, memory, 4097, 2 * 4096, kFirst));
    EXPECT_TRUE(reads(*peers, memory, kBytes - 1, 1, kFirst));
    EXPECT_FALSE(reads(*peers, memory, kBytes - 1, 2, kFirst));
    EXPECT_FALSE(reads(*peers, memory, kBytes, 1, kFirst));
    std::byte out{};
    EXPECT_FALSE(peers->read(kOther, &out, UINT64_MAX, 1));
    EXPECT_FALSE(peers->read(kOther, &out, UINT64_MAX - 1, 2));
}

TEST_F(Xpmem, TheWindowUsedLeastRecentlyGoes) {
    const size_t windows = XpmemPeer::kWindowsMax + 1;
    const OwnerMemory memory(windows * kWindow);
    for (size_t i = 0; i < windows; ++i) memory.write(i * kWindow, 64);
    map(memory);
    auto peers = team();
    for (size_t i = 0; i + 1 < windows; ++i) {
        EXPECT_TRUE(reads(*peers, memory, i * kWindow, 64));
    }
    EXPECT_EQ(done().detaches, 0u);
    EXPECT_TRUE(reads(*peers, memory, 0, 64));
    EXPECT_EQ(done().attaches, XpmemPeer::kWindowsMax);
    EXPECT_TRUE(reads(*peers, memory, (windows - 1) * kWindow, 64));
    EXPECT_EQ(done().detaches, 1u);
    EXPECT_EQ(done().attachments, XpmemPeer::kWindowsMax);
    EXPECT_TRUE(reads(*peers, memory, 0, 64));
    EXPECT_TRUE(reads(*peers, memory, 2 * kWindow, 64));
    EXPECT_EQ(done().attaches, windows);
    EXPECT_TRUE(reads(*peers, memory, kWindow, 64));
    EXPECT_EQ(done().attaches, windows + 1);
    EXPECT_EQ(done().gets, 1u);
}

// ---- what cannot be read ------------------------------------------------------------------------

TEST_F(Xpmem, WhatIsNotMappedIsNotReadAndKillsNobody) {
    constexpr size_t kBytes = 65'536;
    const OwnerMemory memory(kBytes);
    memory.write(0, kBytes);
    map(memory);
    auto peers = team();
    EXPECT_TRUE(reads(*peers, memory, 0, kBytes));
    EXPECT_TRUE(reads_nothing(*peers, kBase, kBytes + 1));
    EXPECT_TRUE(reads_nothing(*peers, kBase + kBytes, 1));
    EXPECT_TRUE(reads_nothing(*peers, kBase - 1, 2));
    EXPECT_TRUE(reads_nothing(*peers, kBase + kWindow - 1, 2));
    EXPECT_EQ(done().attachments, 0u);
    EXPECT_TRUE(reads(*peers, memory, 1, kBytes - 1));

    test::fake_xpmem_unmap(kPeer, kBase + 8192, 4096);
    EXPECT_TRUE(reads(*peers, memory, 0, 8192));
    EXPECT_TRUE(reads_nothing(*peers, kBase, kBytes));
    EXPECT_TRUE(reads_nothing(*peers, kBase + 8191, 2));
    EXPECT_TRUE(reads(*peers, memory, 12'288, kBytes - 12'288));
    EXPECT_EQ(done().gets, 1u);
}

// SIGBUS, as from the kernel module.
TEST_F(Xpmem, PagesBehindTheEndOfAFileAreNotRead) {
    const OwnerMemory memory(8192);
    memory.write(0, 8192);
    test::fake_xpmem_map(kPeer, kBase, memory.fd(), 16'384);
    auto peers = team();
    EXPECT_TRUE(reads(*peers, memory, 0, 8192));
    EXPECT_TRUE(reads_nothing(*peers, kBase, 8193));
}

TEST_F(Xpmem, AKeptWindowShowsWhatTheOwnerMapsLater) {
    const OwnerMemory memory(8192);
    const OwnerMemory later(8192, 1);
    memory.write(0, 8192);
    later.write(0, 8192);
    map(memory);
    auto peers = team();
    EXPECT_TRUE(reads(*peers, memory, 100, 5000));
    map(later);
    EXPECT_TRUE(reads(*peers, later, 100, 5000));
    EXPECT_EQ(done().attaches, 1u);
}

TEST_F(Xpmem, AnOwnerThatHasGoneIsNotRead) {
    const OwnerMemory memory(8192);
    const OwnerMemory later(8192, 1);
    memory.write(0, 8192);
    later.write(0, 8192);
    map(memory);
    auto peers = team();
    EXPECT_TRUE(reads(*peers, memory, 0, 8192));
    test::fake_xpmem_end(kPeer);
    EXPECT_TRUE(reads_nothing(*peers, kBase, 8192));
    EXPECT_TRUE(reads_nothing(*peers, kBase, 8192));
    EXPECT_EQ(done().attachments, 0u);
    EXPECT_EQ(done().permits, 0u);

    // Another has got its number.
    test::fake_xpmem_owner(kPeer);
    map(later);
    EXPECT_TRUE(reads(*peers, later, 0, 8192));
}

TEST_F(Xpmem, FailuresLeaveNothingBehind) {
    const OwnerMemory memory(8192);
    memory.write(0, 8192);
    map(memory);
    auto otherwise = std::make_shared<Otherwise>();
    auto peers = team();
    auto both = team(otherwise);
    for (const char* call : {"get", "attach"}) {
        setenv("FAKE_XPMEM_FAILS", call, 1);
        EXPECT_TRUE(reads_nothing(*peers, kBase, 8192)) << call;
        EXPECT_FALSE(reads_nothing(*both, kBase, 8192)) << call;
        EXPECT_EQ(done().permits, 0u) << call;
        EXPECT_EQ(done().attachments, 0u) << call;
    }
    EXPECT_EQ(otherwise->reads, 2u);
    EXPECT_EQ(otherwise->rank_last, kOther);
    unsetenv("FAKE_XPMEM_FAILS");
    EXPECT_TRUE(reads(*peers, memory, 0, 8192));
    EXPECT_TRUE(reads(*both, memory, 0, 8192));
    EXPECT_EQ(otherwise->reads, 2u);
}

// ---- threads and children -----------------------------------------------------------------------

TEST_F(Xpmem, ThreadsReadThroughTheSameWindows) {
    constexpr uint32_t kThreads = 4;
    constexpr size_t kWindows = XpmemPeer::kWindowsMax + 3;
    const OwnerMemory memory(kWindows * kWindow);
    for (size_t i = 0; i < kWindows; ++i) memory.write(i * kWindow, 10'000);
    map(memory);
    std::array<size_t, kThreads> wrong{};
    test::run_threads(kThreads, [&](uint32_t thread) {
        auto peers = team();
        for (size_t i = 0; i < 200; ++i) {
            const size_t window = (i * (2 * thread + 1) + thread) % kWindows;
            if (!reads(*peers, memory, window * kWindow + i, 9000)) ++wrong[thread];
        }
    });
    for (const size_t count : wrong) EXPECT_EQ(count, 0u);
}

TEST_F(Xpmem, AChildGivesNothingOfItsParentBack) {
    const OwnerMemory memory(8192);
    memory.write(0, 8192);
    map(memory);
    auto peers = team();
    EXPECT_TRUE(reads(*peers, memory, 0, 8192));
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        const FakeXpmem before = fake_xpmem();
        peers.reset();
        library_.reset();
        const FakeXpmem after = fake_xpmem();
        const bool is_kept = after.detaches == before.detaches &&
                             after.releases == before.releases && after.removes == before.removes;
        _exit(is_kept ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(reads(*peers, memory, 0, 8192));
}

}  // namespace
}  // namespace tutti::arena
