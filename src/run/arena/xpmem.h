// SPDX-License-Identifier: BSD-3-Clause
// Other processes' private memory through XPMEM, a kernel module (github.com/hpc/xpmem): a process
// gives its address space a number, others attach windows of it and read there as in their own.
//
// Why: process_vm_readv takes the owner's memory lock for each read, so that many readers of one
// owner stand in each other's way. A window's pages are found once, by page faults of the reader;
// later reads of them take no lock of the owner. That pays only if windows are kept. What keeping
// them rests on, as the module was read (commit 3bcab55):
//
//   P1  What the owner itself unmaps, moves, discards or forks is taken out of all attachments
//       before its system call returns, by an mmu notifier (xpmem_invalidate_range); the next
//       access faults and finds what is mapped there then. So a window may be kept while the owner
//       maps other things at its addresses.
//   P2  The notifier heeds only calls of the owner's own process. Against all others the pages are
//       held by a reference, which makes migration, merging and collapsing give up; swapping out it
//       does not prevent: the owner may then find a copy (Linux 5.9 to 5.18; with zram also later)
//       and readers keep the former page. So XPMEM is not used where there is swap space.
//   P3  Attaching looks at no page: it succeeds for addresses where nothing is mapped, so it proves
//       nothing. A user's access there is SIGBUS, and so it is once the owner has gone. The
//       kernel's own access to the same address, for a system call, just fails. So before a piece
//       is copied, one byte of each of its pages is read by a system call (process_vm_writev to
//       this process; no descriptor that the program might close). Where that fails, so does the
//       read.
//   P4  Between that and the end of the copy, 128 pages at most, nothing but the owner's death can
//       unmap them: a giver keeps its data in place until its readers have counted themselves out
//       (run/node/offer.h). A process that dies just then takes its reader with it;
//       so does one whose team has broken down, if it unmaps its data at that moment.
//   P5  Attaching asks for write permission, even to read (xpmem_validate_access), so the number
//       is made for the same user, 0600, and windows can be written. Nothing here writes there.
//   P6  The module forgets all of a process when that closes any descriptor of /dev/xpmem, and what
//       is mapped at a window's address later would be read. libxpmem never closes its own; a
//       program that closes descriptors it has not opened must not use XPMEM.
//   P7  Pages of a mapped file that another process truncates or punches, or that a network file
//       system takes back, are changed by others than the owner (P2): a reader may see what stood
//       there.
//   P8  Memory of devices, and what the owner itself has attached, cannot be read: that is P3.
//
// What P3 costs, for 256 KiB in pages of 4 KiB, without the module (its pages are found in the same
// way once they have been read), on one 2-core machine: copied from the cache 6 us, 10 us with the
// look before, 25 us by process_vm_readv; from memory 34, 40 and 45 us. Not measured with XPMEM.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "run/node/peer_memory.h"

namespace tutti::arena {

// As in xpmem.h, which need not be there to build this.
struct XpmemAddress {
    int64_t permit;
    off_t offset;
};
struct XpmemCalls {
    int64_t (*make)(void* address, size_t bytes, int permit_type, void* permit_value);
    int (*remove)(int64_t segment);
    int64_t (*get)(int64_t segment, int flags, int permit_type, void* permit_value);
    int (*release)(int64_t permit);
    void* (*attach)(XpmemAddress from, size_t bytes, void* at);
    int (*detach)(void* at);
};

// Where things are; others in tests.
struct XpmemPaths {
    std::vector<std::string> libraries{"libxpmem.so.0", "libxpmem.so"};  // the first that opens
    std::string device = "/dev/xpmem";
    std::string swaps = "/proc/swaps";
};

class XpmemPeer;

// One a process. The library stays loaded, since its descriptor must stay open (P6).
class XpmemLibrary : public std::enable_shared_from_this<XpmemLibrary> {
  public:
    // Gives this process's memory its number as well. The error is one line that says what is
    // missing.
    static Result<std::shared_ptr<XpmemLibrary>> open(const XpmemPaths& paths = {});
    explicit XpmemLibrary(const XpmemCalls& calls, int64_t own_segment);
    XpmemLibrary(const XpmemLibrary&) = delete;
    XpmemLibrary& operator=(const XpmemLibrary&) = delete;
    // Others must not read this process's memory any more.
    ~XpmemLibrary();

    // What this process tells the others; never 0.
    [[nodiscard]] uint64_t own_segment() const { return static_cast<uint64_t>(own_segment_); }
    [[nodiscard]] const XpmemCalls& calls() const { return calls_; }
    [[nodiscard]] size_t page_bytes() const { return page_bytes_; }
    // A child has inherited no window, and what is its parent's is not its to give back.
    [[nodiscard]] bool is_own_process() const;
    // The same for all teams: their windows on one process are shared.
    std::shared_ptr<XpmemPeer> peer(uint64_t segment);

  private:
    XpmemCalls calls_;
    int64_t own_segment_;
    size_t page_bytes_;
    pid_t owner_;
    std::mutex mutex_;
    std::map<uint64_t, std::weak_ptr<XpmemPeer>> peers_;
};

// Windows on one process. Several threads may read.
class XpmemPeer {
  public:
    // A window costs its owner nothing and its reader a mapping, and page tables where it has read:
    // 1/512 of that. Large, since attaching and detaching cost a system call each; not larger,
    // since the pages that were read of it stay where they are until it is detached.
    static constexpr size_t kWindowBytes = size_t{32} * 1024 * 1024;
    // 512 MiB of a process: more, read in turn, is attached anew each time. With the 2047 readers
    // that an offer has at most, half of the 65530 mappings that Linux lets a process have.
    static constexpr size_t kWindowsMax = 16;

    XpmemPeer(std::shared_ptr<const XpmemLibrary> library, uint64_t segment);
    XpmemPeer(const XpmemPeer&) = delete;
    XpmemPeer& operator=(const XpmemPeer&) = delete;
    ~XpmemPeer();

    bool read(std::byte* out, uint64_t address, size_t bytes);

  private:
    struct Window {
        uint64_t first = 0;  // the owner's address
        uint64_t bytes = 0;  // 0: none is attached
        std::byte* base = nullptr;
        uint64_t used_at = 0;
        uint32_t readers = 0;
        bool is_lost = false;  // something could not be read there: nobody new reads
    };

    // The window around an address, which stays until it is let go; null where there is none.
    Window* hold(uint64_t address, size_t bytes);
    void let_go(Window& window, bool was_read);
    [[nodiscard]] Window* find(uint64_t address);
    Window* free_place();
    bool attach(Window& window, uint64_t address, size_t bytes);
    bool attach_range(Window& window, uint64_t first, size_t bytes);
    void detach(Window& window);
    void drop_all();

    const std::shared_ptr<const XpmemLibrary> library_;
    const int64_t segment_;
    std::mutex mutex_;
    int64_t permit_ = -1;
    uint64_t uses_ = 0;
    std::array<Window, kWindowsMax> windows_;
};

// A team's memory through XPMEM.
class XpmemMemory final : public node::PeerMemory {
  public:
    // segments: by rank, what its process has told; 0 where it has none. otherwise: reads what
    // cannot be read so; may be null.
    XpmemMemory(std::shared_ptr<XpmemLibrary> library, const std::vector<uint64_t>& segments,
                std::shared_ptr<node::PeerMemory> otherwise = nullptr);
    bool read(node::Rank rank, std::byte* out, uint64_t address, size_t bytes) override;
    // Of processes with no windows: to others the next window may lead again.
    [[nodiscard]] node::Denial denial() const override;

  private:
    std::shared_ptr<XpmemLibrary> library_;
    std::vector<uint64_t> segments_;
    std::vector<std::shared_ptr<XpmemPeer>> peers_;  // null: this process, or no number
    std::shared_ptr<node::PeerMemory> otherwise_;
};

}  // namespace tutti::arena
