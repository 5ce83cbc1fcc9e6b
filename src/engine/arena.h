// SPDX-License-Identifier: BSD-3-Clause
// One shared segment for each set of processes of a node; teams get slices of it.
//
// The segment is an anonymous memory file: nothing is left behind when the processes die, whatever
// kills them, and only the owner's processes can open it. One member, the leader, makes it and
// hands out slices; the others map them. A slice is used again when all members have left it.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "engine/process.h"
#include "node/slice.h"

namespace tutti::engine {

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

  private:
    std::byte* base_;
    size_t bytes_;
};

// What the leader knows of one slice.
struct SliceRecord {
    off_t offset = 0;
    size_t bytes = 0;
    uint32_t members = 0;
    std::shared_ptr<Mapping> mapping;  // kept until all have left
};

class Arena {
  public:
    Arena(uint64_t id, Fd fd) : id_(id), fd_(std::move(fd)) {}
    // The leader's: an empty segment.
    static Result<std::shared_ptr<Arena>> create(uint64_t id);

    [[nodiscard]] uint64_t id() const { return id_; }
    [[nodiscard]] int fd() const { return fd_.get(); }
    // Bytes handed out and not yet left by all.
    [[nodiscard]] size_t used_bytes();
    // The leader's: room for one more slice. Does not reserve memory: each member reserves its own
    // part, so that pages come to lie near it.
    Result<SliceRecord> take(size_t bytes, uint32_t members);
    // The leader's, when the team could not be made: nobody uses the slice.
    void give_back(off_t offset);

  private:
    void collect_left();
    void release_free_pages();

    uint64_t id_;
    Fd fd_;
    std::mutex mutex_;
    std::list<SliceRecord> taken_;
    std::list<SliceRecord> free_;
    off_t end_ = 0;
};

// Reserves bytes [offset, offset + bytes) of the segment, so that no later write can fail. Compares
// with the file size limit and the cgroup's headroom first: exceeding either would kill the
// process.
Result<Done> reserve(int fd, off_t offset, size_t bytes, size_t all_members_bytes);

// Another process's descriptor through /proc, if it is of this type (S_IFREG ...); opened with
// these flags.
Result<Fd> open_through_proc(const ProcessId& owner, int fd, mode_t type = S_IFREG,
                             int flags = O_RDWR);

// The same where /proc does not lead there (other pid namespaces, hidepid): the leader offers the
// descriptor on an abstract socket under an unpredictable name, to `receivers` processes.
class FdOffer {
  public:
    static Result<FdOffer> listen(uint64_t name);
    // Serves up to `receivers` requests within the time limit.
    Result<Done> serve(int fd, uint32_t receivers, int timeout_ms);

  private:
    explicit FdOffer(Fd socket) : socket_(std::move(socket)) {}
    Fd socket_;
};
// The receiver's side. A connection fails at once where there is no way, so that nobody need wait
// for those who will never come.
Result<Fd> connect_to_offer(uint64_t name);
Result<Fd> receive_fd(const Fd& connection, int timeout_ms);

}  // namespace tutti::engine
