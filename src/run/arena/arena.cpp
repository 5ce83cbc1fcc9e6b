// SPDX-License-Identifier: BSD-3-Clause
#include "run/arena/arena.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/assert.h"
#include "base/memory_file.h"
#include "base/text.h"
#include "base/topo/node_topology.h"

namespace tutti::arena {
namespace {

Error system_error(ErrorCode code, const std::string& what) {
    return {code, what + ": " + std::strerror(errno)};
}

// Writing past the limit raises SIGXFSZ, which ends the process.
Result<Done> check_file_limit(rlim_t end) {
    rlimit limit{};
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || end <= limit.rlim_cur) return Done{};
    return Error{ErrorCode::kMemory, format_bytes(end) +
                                         " of shared memory exceed the file size limit of " +
                                         format_bytes(limit.rlim_cur) + " (ulimit -f)"};
}

}  // namespace

Result<std::shared_ptr<Mapping>> Mapping::map(int fd, off_t offset, size_t bytes) {
    void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
    if (base == MAP_FAILED) return system_error(ErrorCode::kMemory, "mapping shared memory");
    return std::make_shared<Mapping>(static_cast<std::byte*>(base), bytes);
}

Result<std::shared_ptr<Mapping>> Mapping::anonymous(size_t bytes) {
    void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) return system_error(ErrorCode::kMemory, "mapping memory");
    return std::make_shared<Mapping>(static_cast<std::byte*>(base), bytes);
}

Mapping::~Mapping() { munmap(base_, bytes_); }

namespace {
FileId file_of(int fd) {
    struct stat info {};
    return fstat(fd, &info) == 0 ? FileId{info.st_dev, info.st_ino} : FileId{};
}
}  // namespace

Arena::Arena(uint64_t id, Fd fd)
    : id_(id), fd_(std::move(fd)), file_(file_of(fd_.get())), owner_(getpid()) {}

// Others may keep it open for a while.
Arena::~Arena() { trim(0); }

bool Arena::is_intact() const { return file_of(fd_.get()) == file_; }

Result<std::shared_ptr<Mapping>> Arena::map(off_t offset, size_t bytes) {
    const std::lock_guard lock(mutex_);
    for (const auto& [place, mapping] : mapped_) {
        if (mapping && place == offset && mapping->bytes() == bytes) return mapping;
    }
    auto mapping = Mapping::map(fd_.get(), offset, bytes);
    if (!mapping) return mapping;
    std::shift_right(mapped_.begin(), mapped_.end(), 1);
    mapped_[0] = {offset, mapping.value()};
    return mapping;
}

Result<std::shared_ptr<Arena>> Arena::create(uint64_t id) {
    Fd fd(make_memory_file("tutti"));
    if (fd.get() < 0) return system_error(ErrorCode::kMemory, "memfd_create");
    // A memory file is born readable by all; /proc lets its owner alone open it after this.
    if (fchmod(fd.get(), S_IRUSR | S_IWUSR) != 0) {
        return system_error(ErrorCode::kMemory, "permissions of shared memory");
    }
    return std::make_shared<Arena>(id, std::move(fd));
}

void Arena::collect_left() {
    for (auto record = taken_.begin(); record != taken_.end();) {
        auto next = std::next(record);
        const auto& header = *reinterpret_cast<node::SliceHeader*>(record->mapping->base());
        if (header.detached.load(std::memory_order_acquire) == record->members) {
            if (record->reserved_for == 0) record->mapping.reset();
            free_.splice(free_.end(), taken_, record);
        }
        record = next;
    }
}

size_t Arena::used_bytes() {
    const std::lock_guard lock(mutex_);
    collect_left();
    size_t bytes = 0;
    for (const SliceRecord& record : taken_) bytes += record.is_home ? 0 : record.bytes;
    return bytes;
}

Result<SliceRecord> Arena::take_homes(size_t bytes, size_t bytes_at_once, uint32_t members) {
    auto taken = take(bytes, bytes_at_once, members, 0);
    if (!taken) return taken;
    const std::lock_guard lock(mutex_);
    for (SliceRecord& record : taken_) {
        if (record.offset == taken.value().offset) record.is_home = true;
    }
    return taken;
}

Result<SliceRecord> Arena::take(size_t bytes, size_t bytes_at_once, uint32_t members,
                                uint64_t members_hash) {
    TUTTI_ASSERT(bytes % node::kPageBytes == 0, "slices are whole pages");
    const std::lock_guard lock(mutex_);
    collect_left();
    // The one that was left last is the likeliest to have its memory.
    const auto latest = std::find_if(free_.rbegin(), free_.rend(),
                                     [&](const SliceRecord& old) { return old.bytes == bytes; });
    auto place = latest == free_.rend() ? free_.end() : std::prev(latest.base());
    if (place == free_.end()) {
        release_free_pages(0);
        auto allowed = check_file_limit(static_cast<rlim_t>(end_) + bytes);
        if (!allowed) return allowed.error();
        if (ftruncate(fd_.get(), end_ + static_cast<off_t>(bytes)) != 0) {
            return system_error(ErrorCode::kMemory, "sizing shared memory");
        }
        place = free_.insert(free_.end(), SliceRecord{end_, bytes, 0, nullptr});
        end_ += static_cast<off_t>(bytes);
    }
    // Whatever fails from here on leaves the slice free. Pages that lie near other processes are
    // given back, to be reserved anew by those whose they become.
    if (place->reserved_for != members_hash && place->has_pages) release_pages(*place);
    place->has_pages = true;
    if (place->reserved_for == 0) {
        auto reserved = reserve(fd_.get(), place->offset, node::kPageBytes, bytes_at_once);
        if (!reserved) return reserved.error();
        auto mapping = Mapping::map(fd_.get(), place->offset, bytes);
        if (!mapping) return mapping.error();
        place->mapping = mapping.value();
    }
    place->members = members;
    place->is_home = false;
    // A slice that was used before still says that all have left.
    new (place->mapping->base()) node::SliceHeader{};
    taken_.splice(taken_.end(), free_, place);
    return *place;
}

void Arena::release_pages(SliceRecord& record) {
    fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, record.offset,
              static_cast<off_t>(record.bytes));
    record.reserved_for = 0;
    record.has_pages = false;
    record.mapping.reset();
}

// Free slices of other sizes keep their place in the file but not their memory, so that what is in
// use stays what used_bytes() says. Kept are those that were left last.
void Arena::release_free_pages(size_t kept_bytes_max) {
    size_t kept_bytes = 0;
    for (auto old = free_.rbegin(); old != free_.rend(); ++old) {
        const bool is_kept = old->reserved_for != 0 && kept_bytes + old->bytes <= kept_bytes_max;
        if (is_kept) {
            kept_bytes += old->bytes;
        } else if (old->has_pages) {
            release_pages(*old);
        }
    }
}

void Arena::trim(size_t kept_bytes_max) {
    // Of a descriptor that the program has put there itself, it would be the program's data.
    if (getpid() != owner_ || !is_intact()) return;
    const std::lock_guard lock(mutex_);
    collect_left();
    release_free_pages(kept_bytes_max);
}

void Arena::confirm(off_t offset, uint64_t members_hash) {
    const std::lock_guard lock(mutex_);
    for (SliceRecord& record : taken_) {
        if (record.offset == offset) record.reserved_for = members_hash;
    }
}

void Arena::give_back(off_t offset) {
    const std::lock_guard lock(mutex_);
    for (auto record = taken_.begin(); record != taken_.end(); ++record) {
        if (record->offset != offset) continue;
        record->mapping.reset();
        record->reserved_for = 0;
        free_.splice(free_.end(), taken_, record);
        return;
    }
}

Result<Done> check_page_size(size_t system_page_bytes) {
    if (system_page_bytes > 0 && node::kPageBytes % system_page_bytes == 0) return Done{};
    return Error{ErrorCode::kSystem, "this system's pages have " + format_bytes(system_page_bytes) +
                                         "; Tutti was built for pages of up to " +
                                         format_bytes(node::kPageBytes)};
}

Result<Done> reserve(int fd, off_t offset, size_t bytes, size_t all_members_bytes) {
    auto allowed = check_file_limit(static_cast<rlim_t>(offset) + bytes);
    if (!allowed) return allowed.error();
    std::optional<uint64_t> headroom;
    if (all_members_bytes > 0) headroom = topo::cgroup_memory_headroom("/");
    if (headroom && all_members_bytes > *headroom) {
        return Error{ErrorCode::kMemory,
                     format_bytes(all_members_bytes) + " of shared memory wanted, " +
                         format_bytes(*headroom) + " left under the memory limit of the cgroup"};
    }
    int error = 0;
    do {
        error = posix_fallocate(fd, offset, static_cast<off_t>(bytes));
    } while (error == EINTR);
    if (error == 0) return Done{};
    return Error{ErrorCode::kMemory,
                 "reserving " + format_bytes(bytes) + " of shared memory: " + std::strerror(error)};
}

void populate(std::byte* memory, size_t bytes) {
#if !defined(MADV_POPULATE_WRITE)
    constexpr int MADV_POPULATE_WRITE = 23;  // from Linux 5.14 on
#endif
    static_cast<void>(madvise(memory, bytes, MADV_POPULATE_WRITE));
}

Result<Fd> open_through_proc(const ProcessId& owner, int fd, mode_t type, int flags) {
    const std::string path = "/proc/" + std::to_string(owner.pid) + "/fd/" + std::to_string(fd);
    // /proc names another process by the same number where the pid namespaces differ; the token
    // would tell, but opening a stranger's file could block or have effects.
    if (this_process().pid_space != owner.pid_space) {
        return Error{ErrorCode::kSystem, path + ": another pid namespace"};
    }
    struct stat info {};
    if (stat(path.c_str(), &info) != 0 || (info.st_mode & S_IFMT) != type) {
        return system_error(ErrorCode::kSystem, path);
    }
    Fd opened(open(path.c_str(), flags | O_CLOEXEC));
    if (opened.get() < 0) return system_error(ErrorCode::kSystem, path);
    return opened;
}

}  // namespace tutti::arena
