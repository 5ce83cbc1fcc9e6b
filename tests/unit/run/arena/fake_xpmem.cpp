// SPDX-License-Identifier: BSD-3-Clause
#include "fake_xpmem.h"

#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

namespace tutti::test {
namespace {

constexpr int kReadWrite = 2;
constexpr int kPermitMode = 1;

struct Piece {
    uint64_t first;
    size_t bytes;
    int fd;
    off_t offset;
};

struct Owner {
    int64_t life = 0;  // a permit is of one life
    bool is_alive = true;
    std::vector<Piece> pieces;
};

struct Permit {
    int64_t segment;
    int64_t life;
    bool may_write;
};

struct Attachment {
    int64_t permit;
    uint64_t first;
    size_t bytes;
};

struct State {
    std::mutex mutex;
    FakeXpmem counts;
    int64_t last = 1000;  // apart from the numbers that tests choose
    std::map<int64_t, Owner> owners;
    std::map<int64_t, Permit> permits;
    std::map<std::byte*, Attachment> attachments;
};

State& state() {
    static State one;
    return one;
}

bool is_to_fail(const char* call) {
    const char* names = std::getenv("FAKE_XPMEM_FAILS");
    return names != nullptr && std::strstr(names, call) != nullptr;
}

Owner* owner_of(State& all, int64_t permit) {
    const auto found = all.permits.find(permit);
    if (found == all.permits.end()) return nullptr;
    const auto owner = all.owners.find(found->second.segment);
    if (owner == all.owners.end() || !owner->second.is_alive) return nullptr;
    return owner->second.life == found->second.life ? &owner->second : nullptr;
}

// Shows in the attachment what its owner has there.
void show(std::byte* at, const Attachment& attachment, const Owner* owner) {
    mmap(at, attachment.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE,
         -1, 0);
    if (owner == nullptr) return;
    for (const Piece& piece : owner->pieces) {
        const uint64_t first = std::max(piece.first, attachment.first);
        const uint64_t end =
            std::min(piece.first + piece.bytes, attachment.first + attachment.bytes);
        if (first >= end) continue;
        mmap(at + (first - attachment.first), end - first, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_FIXED, piece.fd,
             piece.offset + static_cast<off_t>(first - piece.first));
    }
}

void show_all(State& all) {
    for (const auto& [at, attachment] : all.attachments) {
        show(at, attachment, owner_of(all, attachment.permit));
    }
}

void unmap(Owner& owner, uint64_t address, size_t bytes) {
    std::vector<Piece> left;
    const uint64_t end = address + bytes;
    for (const Piece& piece : owner.pieces) {
        const uint64_t piece_end = piece.first + piece.bytes;
        if (piece.first < address) {
            left.push_back(
                {piece.first, std::min(piece_end, address) - piece.first, piece.fd, piece.offset});
        }
        if (piece_end > end) {
            const uint64_t first = std::max(piece.first, end);
            left.push_back({first, piece_end - first, piece.fd,
                            piece.offset + static_cast<off_t>(first - piece.first)});
        }
    }
    owner.pieces = left;
}

}  // namespace

FakeXpmem fake_xpmem() {
    State& all = state();
    const std::lock_guard lock(all.mutex);
    FakeXpmem counts = all.counts;
    for (const auto& [segment, owner] : all.owners) counts.segments += owner.is_alive ? 1 : 0;
    counts.permits = all.permits.size();
    counts.attachments = all.attachments.size();
    return counts;
}

void fake_xpmem_owner(int64_t segment) {
    State& all = state();
    const std::lock_guard lock(all.mutex);
    all.owners[segment] = {++all.last, true, {}};
}

void fake_xpmem_map(int64_t segment, uint64_t address, int fd, size_t bytes) {
    State& all = state();
    const std::lock_guard lock(all.mutex);
    unmap(all.owners[segment], address, bytes);
    all.owners[segment].pieces.push_back({address, bytes, fd, 0});
    show_all(all);
}

void fake_xpmem_unmap(int64_t segment, uint64_t address, size_t bytes) {
    State& all = state();
    const std::lock_guard lock(all.mutex);
    unmap(all.owners[segment], address, bytes);
    show_all(all);
}

void fake_xpmem_end(int64_t segment) {
    State& all = state();
    const std::lock_guard lock(all.mutex);
    all.owners[segment].is_alive = false;
    show_all(all);
}

}  // namespace tutti::test

using tutti::test::Attachment;
using tutti::test::is_to_fail;
using tutti::test::kReadWrite;
using tutti::test::state;

struct xpmem_addr {
    int64_t apid;
    off_t offset;
};

extern "C" {

int64_t xpmem_make(void* address, size_t bytes, int permit_type, void* permit_value) {
    auto& all = state();
    const std::lock_guard lock(all.mutex);
    const bool is_whole = address == nullptr && bytes == SIZE_MAX;
    if (is_to_fail("make") || !is_whole || permit_type != tutti::test::kPermitMode) return -1;
    all.counts.make_mode_last = reinterpret_cast<uintptr_t>(permit_value);
    ++all.counts.makes;
    const int64_t segment = ++all.last;
    all.owners[segment].life = segment;
    return segment;
}

int xpmem_remove(int64_t segment) {
    auto& all = state();
    const std::lock_guard lock(all.mutex);
    if (all.owners.erase(segment) == 0) return -1;
    ++all.counts.removes;
    tutti::test::show_all(all);
    return 0;
}

int64_t xpmem_get(int64_t segment, int flags, int permit_type, void* permit_value) {
    auto& all = state();
    const std::lock_guard lock(all.mutex);
    const auto owner = all.owners.find(segment);
    if (is_to_fail("get") || owner == all.owners.end() || !owner->second.is_alive) return -1;
    if (permit_type != tutti::test::kPermitMode || permit_value != nullptr) return -1;
    ++all.counts.gets;
    const int64_t permit = ++all.last;
    all.permits[permit] = {segment, owner->second.life, flags == kReadWrite};
    return permit;
}

int xpmem_release(int64_t permit) {
    auto& all = state();
    const std::lock_guard lock(all.mutex);
    if (all.permits.erase(permit) == 0) return -1;
    ++all.counts.releases;
    return 0;
}

void* xpmem_attach(xpmem_addr from, size_t bytes, void* at) {
    auto& all = state();
    const std::lock_guard lock(all.mutex);
    void* const failed = MAP_FAILED;
    const tutti::test::Owner* owner = tutti::test::owner_of(all, from.apid);
    if (is_to_fail("attach") || owner == nullptr || at != nullptr) return failed;
    if (!all.permits[from.apid].may_write || bytes == 0 || from.offset < 0) return failed;
    const auto page_bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    const auto first = static_cast<uint64_t>(from.offset);
    if (first % page_bytes != 0 || bytes % page_bytes != 0) return failed;
    if (first + bytes > tutti::test::kFakeSpaceEnd) return failed;
    void* place =
        mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (place == MAP_FAILED) return failed;
    const Attachment attachment{from.apid, first, bytes};
    tutti::test::show(static_cast<std::byte*>(place), attachment, owner);
    all.attachments[static_cast<std::byte*>(place)] = attachment;
    all.counts.attached_bytes_last = bytes;
    ++all.counts.attaches;
    return place;
}

int xpmem_detach(void* at) {
    auto& all = state();
    const std::lock_guard lock(all.mutex);
    const auto found = all.attachments.find(static_cast<std::byte*>(at));
    if (found == all.attachments.end()) return -1;
    munmap(at, found->second.bytes);
    all.attachments.erase(found);
    ++all.counts.detaches;
    return 0;
}

}  // extern "C"
