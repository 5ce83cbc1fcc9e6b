// SPDX-License-Identifier: BSD-3-Clause
// One shared segment for each set of processes of a node; teams get slices of it.
//
// The segment is an anonymous memory file: nothing is left behind when the processes die, whatever
// kills them, and only the owner's processes can open it. One member, the leader, makes it and
// hands out slices; the others map them. A slice is used again when all members have left it.
//
// Making a segment, reserving its memory and proving that it is one memory takes longer than a
// short-lived communicator is used. So a context keeps the last few segments, with some memory
// (trim()), for the next team of the same processes.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"
#include "run/arena/process.h"
#include "run/node/slice.h"

namespace tutti::arena {

// Which file a descriptor stands for.
struct FileId {
    dev_t device = 0;
    ino_t inode = 0;
    bool operator==(const FileId&) const = default;
};

// A mapped slice. Threads of one process share the mapping (so that a race detector sees one
// memory); it goes when the last of them lets go.
class Mapping {
  public:
    static Result<std::shared_ptr<Mapping>> map(int fd, off_t offset, size_t bytes);
    // Private memory, for a team of one.
    static Result<std::shared_ptr<Mapping>> anonymous(size_t bytes);
    Mapping(std::byte* base, size_t bytes) : base_(base), bytes_(bytes) {}
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    ~Mapping();
    [[nodiscard]] std::byte* base() const { return base_; }
    [[nodiscard]] size_t bytes() const { return bytes_; }

  private:
    std::byte* base_;
    size_t bytes_;
};

// What the leader knows of one slice.
struct SliceRecord {
    off_t offset = 0;
    size_t bytes = 0;
    uint32_t members = 0;
    std::shared_ptr<Mapping> mapping;  // kept with the memory
    // Which member has reserved which part of it, as a number; 0: not all have.
    uint64_t reserved_for = 0;
    bool has_pages = false;  // perhaps; not after they were given back
    bool is_home = false;    // see home.h
};

class Arena {
  public:
    Arena(uint64_t id, Fd fd);
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;
    ~Arena();
    // The leader's: an empty segment.
    static Result<std::shared_ptr<Arena>> create(uint64_t id);

    [[nodiscard]] uint64_t id() const { return id_; }
    [[nodiscard]] int fd() const { return fd_.get(); }
    // All of a team have seen that it is one memory.
    void set_proved() { is_proved_.store(true, std::memory_order_release); }
    [[nodiscard]] bool is_proved() const { return is_proved_.load(std::memory_order_acquire); }
    // False where the program has closed or replaced the descriptor.
    [[nodiscard]] bool is_intact() const;
    // A part of the segment, for members that do not lead: as mapped before, where it was of late.
    Result<std::shared_ptr<Mapping>> map(off_t offset, size_t bytes);
    // Bytes handed out and not yet left by all, but for homes, which have an account.
    [[nodiscard]] size_t used_bytes();
    // The leader's: room for one more slice. Does not reserve memory: each member reserves its own
    // part, so that pages come to lie near it; unless the record's reserved_for is `members_hash`,
    // since the same members in the same order have done so before.
    Result<SliceRecord> take(size_t bytes, uint32_t members, uint64_t members_hash = 0) {
        return take(bytes, bytes, members, members_hash);
    }
    // The same for homes, of whose bytes so many are reserved at once by all members together.
    Result<SliceRecord> take_homes(size_t bytes, size_t bytes_at_once, uint32_t members);
    // The leader's: all members have reserved their parts of it.
    void confirm(off_t offset, uint64_t members_hash);
    // The leader's, when the team could not be made: nobody uses the slice.
    void give_back(off_t offset);
    // The leader's: slices that all have left keep no more memory than this together.
    void trim(size_t kept_bytes_max);

  private:
    Result<SliceRecord> take(size_t bytes, size_t bytes_at_once, uint32_t members,
                             uint64_t members_hash);
    void collect_left();
    void release_free_pages(size_t kept_bytes_max);
    void release_pages(SliceRecord& record);

    // Slices of as many teams as a program uses in turn; they hold address space alone.
    static constexpr size_t kMappingsMax = 2;

    uint64_t id_;
    Fd fd_;
    FileId file_;
    pid_t owner_ = 0;  // a child must not give back what its parent uses
    std::atomic<bool> is_proved_{false};
    std::mutex mutex_;
    std::array<std::pair<off_t, std::shared_ptr<Mapping>>, kMappingsMax> mapped_;  // last one first
    std::list<SliceRecord> taken_;
    std::list<SliceRecord> free_;
    off_t end_ = 0;
};

// This member does not use the slice any more; when all have left, it is used again.
inline void leave_slice(node::SliceHeader& header) {
    header.detached.fetch_add(1, std::memory_order_release);
}

// Whether slices can be mapped where the system's pages have so many bytes.
Result<Done> check_page_size(size_t system_page_bytes);

// Reserves bytes [offset, offset + bytes) of the segment, so that no later write can fail. Compares
// with the file size limit and the cgroup's headroom first: exceeding either would kill the
// process. all_members_bytes: what the cgroup must have room for; 0: that was looked at before.
Result<Done> reserve(int fd, off_t offset, size_t bytes, size_t all_members_bytes);

// Maps all pages of reserved memory at once, for half the time that the first writes to each would
// take; where the kernel cannot, these do it.
void populate(std::byte* memory, size_t bytes);

// Another process's descriptor through /proc, if it is of this type (S_IFREG ...); opened with
// these flags.
Result<Fd> open_through_proc(const ProcessId& owner, int fd, mode_t type = S_IFREG,
                             int flags = O_RDWR);

// The same where /proc does not lead there (other pid namespaces, hidepid): the leader offers the
// descriptor on an abstract socket under an unpredictable name, to `receivers` processes.
class FdOffer {
  public:
    static Result<FdOffer> listen(uint64_t name);
    // Hands it to each of those who come with one of these tokens, within the time limit in all.
    // Any other process that connects is sent away, and changes neither.
    Result<Done> serve(Clock& clock, int fd, std::vector<uint64_t> tokens, int timeout_ms);

  private:
    explicit FdOffer(Fd socket) : socket_(std::move(socket)) {}
    Fd socket_;
};
// The receiver's side.
class FdRequest {
  public:
    // Fails at once where there is no way, so that no member waits for ones that will never come.
    static Result<FdRequest> begin(uint64_t name, uint64_t token);
    // Comes again where strangers kept it from its turn.
    Result<Fd> receive(Clock& clock, int timeout_ms);
    [[nodiscard]] bool is_connected() const { return socket_.get() >= 0; }

  private:
    FdRequest(uint64_t name, uint64_t token) : name_(name), token_(token) {}
    [[nodiscard]] Result<Done> connect();
    uint64_t name_;
    uint64_t token_;
    Fd socket_{-1};  // open: connected, and the token is sent
};

}  // namespace tutti::arena
