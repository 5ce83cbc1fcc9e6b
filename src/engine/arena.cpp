// SPDX-License-Identifier: BSD-3-Clause
#include "engine/arena.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/memory_file.h"
#include "base/text.h"
#include "topo/node_topology.h"

namespace tutti::engine {
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
            record->mapping.reset();
            free_.splice(free_.end(), taken_, record);
        }
        record = next;
    }
}

size_t Arena::used_bytes() {
    const std::lock_guard lock(mutex_);
    collect_left();
    size_t bytes = 0;
    for (const SliceRecord& record : taken_) bytes += record.bytes;
    return bytes;
}

Result<SliceRecord> Arena::take(size_t bytes, uint32_t members) {
    const std::lock_guard lock(mutex_);
    collect_left();
    auto place = std::find_if(free_.begin(), free_.end(),
                              [&](const SliceRecord& old) { return old.bytes == bytes; });
    if (place == free_.end()) {
        release_free_pages();
        auto allowed = check_file_limit(static_cast<rlim_t>(end_) + bytes);
        if (!allowed) return allowed.error();
        if (ftruncate(fd_.get(), end_ + static_cast<off_t>(bytes)) != 0) {
            return system_error(ErrorCode::kMemory, "sizing shared memory");
        }
        place = free_.insert(free_.end(), SliceRecord{end_, bytes, 0, nullptr});
        end_ += static_cast<off_t>(bytes);
    }
    // Whatever fails from here on leaves the slice free.
    auto reserved = reserve(fd_.get(), place->offset, node::kPageBytes, bytes);
    if (!reserved) return reserved.error();
    auto mapping = Mapping::map(fd_.get(), place->offset, bytes);
    if (!mapping) return mapping.error();
    place->members = members;
    place->mapping = mapping.value();
    // A slice that was used before still says that all have left.
    new (place->mapping->base()) node::SliceHeader{};
    taken_.splice(taken_.end(), free_, place);
    return *place;
}

// Free slices of other sizes keep their place in the file but not their memory, so that what is in
// use stays what used_bytes() says.
void Arena::release_free_pages() {
    for (const SliceRecord& old : free_) {
        fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, old.offset,
                  static_cast<off_t>(old.bytes));
    }
}

void Arena::give_back(off_t offset) {
    const std::lock_guard lock(mutex_);
    for (auto record = taken_.begin(); record != taken_.end(); ++record) {
        if (record->offset != offset) continue;
        record->mapping.reset();
        free_.splice(free_.end(), taken_, record);
        return;
    }
}

Result<Done> reserve(int fd, off_t offset, size_t bytes, size_t all_members_bytes) {
    auto allowed = check_file_limit(static_cast<rlim_t>(offset) + bytes);
    if (!allowed) return allowed.error();
    const std::optional<uint64_t> headroom = topo::cgroup_memory_headroom("/");
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

}  // namespace tutti::engine
