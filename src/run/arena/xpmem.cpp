// SPDX-License-Identifier: BSD-3-Clause
#include "run/arena/xpmem.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "base/assert.h"

namespace tutti::arena {
namespace {

constexpr int kPermitMode = 1;     // XPMEM_PERMIT_MODE: permissions as of a file
constexpr int kReadWrite = 2;      // XPMEM_RDWR; see P5
constexpr uintptr_t kMode = 0600;  // our own user's processes
constexpr int64_t kFailed = -1;

// A read of node::kReadBytesMax, 256 KiB, touches 65 pages of 4 KiB at most. The list is 2 KiB.
constexpr size_t kPagesPerLook = 128;

Error no_xpmem(const std::string& why) { return {ErrorCode::kSystem, "no XPMEM: " + why}; }

Error no_xpmem(const std::string& what, int error) {
    return no_xpmem(what + ": " + std::strerror(error));
}

// Its first line is a heading. No file: a kernel without swapping.
bool has_swap(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return std::getline(file, line) && !line.empty();
}

Result<Done> check_device(const std::string& path) {
    struct stat info {};
    if (stat(path.c_str(), &info) != 0) return no_xpmem(path, errno);
    if (!S_ISCHR(info.st_mode)) return no_xpmem(path + " is no device");
    if (access(path.c_str(), R_OK | W_OK) != 0) return no_xpmem(path, errno);
    return Done{};
}

Result<void*> open_first(const std::vector<std::string>& names) {
    std::string why = "no library is named";
    for (const std::string& name : names) {
        // It has opened a descriptor that nobody closes; whoever loads it again finds that.
        void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        if (library != nullptr) return library;
        if (const char* text = dlerror()) why = text;
    }
    return no_xpmem(why);
}

template <class Call>
bool find_call(void* library, const char* name, Call& call, const char*& missing) {
    call = reinterpret_cast<Call>(dlsym(library, name));
    if (call == nullptr) missing = name;
    return call != nullptr;
}

Result<XpmemCalls> find_calls(void* library) {
    XpmemCalls calls{};
    const char* missing = nullptr;
    if (find_call(library, "xpmem_make", calls.make, missing) &&
        find_call(library, "xpmem_remove", calls.remove, missing) &&
        find_call(library, "xpmem_get", calls.get, missing) &&
        find_call(library, "xpmem_release", calls.release, missing) &&
        find_call(library, "xpmem_attach", calls.attach, missing) &&
        find_call(library, "xpmem_detach", calls.detach, missing)) {
        return calls;
    }
    return no_xpmem(std::string("the library has no ") + missing);
}

// Whether one byte of each page of the range can be read now; see P3. At most kPagesPerLook pages.
bool can_be_read(std::byte* first, size_t bytes, size_t page_bytes) {
    std::array<iovec, kPagesPerLook> looks;
    std::array<std::byte, kPagesPerLook> seen;
    size_t count = 0;
    size_t offset = 0;
    while (offset < bytes) {
        TUTTI_ASSERT(count < kPagesPerLook, "a look at more pages than there is room for");
        looks[count++] = {first + offset, 1};
        offset += page_bytes - (reinterpret_cast<uintptr_t>(first) + offset) % page_bytes;
    }
    const iovec into{seen.data(), count};
    return process_vm_writev(getpid(), looks.data(), count, &into, 1, 0) ==
           static_cast<ssize_t>(count);
}

// False where a part cannot be read; then a part may have been copied.
bool copy_from_window(std::byte* out, std::byte* from, size_t bytes, size_t page_bytes) {
    while (bytes > 0) {
        const size_t skipped = reinterpret_cast<uintptr_t>(from) % page_bytes;
        const size_t piece = std::min(bytes, kPagesPerLook * page_bytes - skipped);
        if (!can_be_read(from, piece, page_bytes)) return false;
        std::memcpy(out, from, piece);
        out += piece;
        from += piece;
        bytes -= piece;
    }
    return true;
}

}  // namespace

// ---- the library --------------------------------------------------------------------------------

Result<std::shared_ptr<XpmemLibrary>> XpmemLibrary::open(const XpmemPaths& paths) {
    if (auto device = check_device(paths.device); !device) return device.error();
    if (has_swap(paths.swaps)) {
        return no_xpmem(paths.swaps +
                        " names swap space, from which pages may come back as copies");
    }
    auto library = open_first(paths.libraries);
    if (!library) return library.error();
    auto calls = find_calls(library.value());
    if (!calls) return calls.error();
    std::byte probe{};
    if (!can_be_read(&probe, 1, static_cast<size_t>(sysconf(_SC_PAGESIZE)))) {
        return no_xpmem("process_vm_writev to this process", errno);
    }
    // All of the address space, XPMEM_MAXADDR_SIZE.
    const int64_t segment =
        calls.value().make(nullptr, SIZE_MAX, kPermitMode, reinterpret_cast<void*>(kMode));
    if (segment == kFailed || segment == 0) return no_xpmem("xpmem_make", errno);
    return std::make_shared<XpmemLibrary>(calls.value(), segment);
}

XpmemLibrary::XpmemLibrary(const XpmemCalls& calls, int64_t own_segment)
    : calls_(calls),
      own_segment_(own_segment),
      page_bytes_(static_cast<size_t>(sysconf(_SC_PAGESIZE))),
      owner_(getpid()) {}

XpmemLibrary::~XpmemLibrary() {
    if (is_own_process()) calls_.remove(own_segment_);
}

bool XpmemLibrary::is_own_process() const { return getpid() == owner_; }

std::shared_ptr<XpmemPeer> XpmemLibrary::peer(uint64_t segment) {
    const std::lock_guard lock(mutex_);
    std::erase_if(peers_, [](const auto& item) { return item.second.expired(); });
    std::weak_ptr<XpmemPeer>& known = peers_[segment];
    std::shared_ptr<XpmemPeer> found = known.lock();
    if (!found) known = found = std::make_shared<XpmemPeer>(shared_from_this(), segment);
    return found;
}

// ---- windows on one process ---------------------------------------------------------------------

XpmemPeer::XpmemPeer(std::shared_ptr<const XpmemLibrary> library, uint64_t segment)
    : library_(std::move(library)), segment_(static_cast<int64_t>(segment)) {}

XpmemPeer::~XpmemPeer() {
    if (library_->is_own_process()) drop_all();
}

bool XpmemPeer::read(std::byte* out, uint64_t address, size_t bytes) {
    while (bytes > 0) {
        Window* window = hold(address, bytes);
        if (window == nullptr) return false;
        const uint64_t offset = address - window->first;
        const size_t piece = std::min<uint64_t>(bytes, window->bytes - offset);
        const bool was_read =
            copy_from_window(out, window->base + offset, piece, library_->page_bytes());
        let_go(*window, was_read);
        if (!was_read) return false;
        out += piece;
        address += piece;
        bytes -= piece;
    }
    return true;
}

XpmemPeer::Window* XpmemPeer::hold(uint64_t address, size_t bytes) {
    const std::lock_guard lock(mutex_);
    Window* window = find(address);
    if (window == nullptr) {
        window = free_place();
        if (window == nullptr) return nullptr;
        if (!attach(*window, address, bytes)) {
            // The permit may be of a process that has gone, or there are too many mappings: begin
            // anew next time.
            drop_all();
            return nullptr;
        }
    }
    window->used_at = ++uses_;
    ++window->readers;
    return window;
}

// A window where something could not be read is given up, since its process may have gone and
// another may have its number.
void XpmemPeer::let_go(Window& window, bool was_read) {
    const std::lock_guard lock(mutex_);
    TUTTI_ASSERT(window.readers > 0, "a window is let go that nobody holds");
    --window.readers;
    window.is_lost = window.is_lost || !was_read;
    if (window.is_lost && window.readers == 0) detach(window);
}

XpmemPeer::Window* XpmemPeer::find(uint64_t address) {
    for (Window& window : windows_) {
        const bool is_inside = address >= window.first && address - window.first < window.bytes;
        if (is_inside && !window.is_lost) return &window;
    }
    return nullptr;
}

// Nothing is attached there any more: the place that was used least recently, if not now.
XpmemPeer::Window* XpmemPeer::free_place() {
    Window* oldest = nullptr;
    for (Window& window : windows_) {
        if (window.bytes == 0) return &window;
        if (window.readers > 0) continue;
        if (oldest == nullptr || window.used_at < oldest->used_at) oldest = &window;
    }
    if (oldest != nullptr) detach(*oldest);
    return oldest;
}

// The aligned window around the address; where that reaches beyond the address space, only the
// pages that are asked for.
bool XpmemPeer::attach(Window& window, uint64_t address, size_t bytes) {
    if (permit_ == kFailed) {
        permit_ = library_->calls().get(segment_, kReadWrite, kPermitMode, nullptr);
        if (permit_ == kFailed) return false;
    }
    const uint64_t aligned = address - address % kWindowBytes;
    if (attach_range(window, aligned, kWindowBytes)) return true;
    const size_t page_bytes = library_->page_bytes();
    const uint64_t first = address - address % page_bytes;
    const uint64_t in_window = std::min<uint64_t>(bytes, kWindowBytes - (address - aligned));
    const uint64_t pages = (address + in_window - 1 - first) / page_bytes + 1;
    return attach_range(window, first, pages * page_bytes);
}

bool XpmemPeer::attach_range(Window& window, uint64_t first, size_t bytes) {
    if (first > static_cast<uint64_t>(INT64_MAX)) return false;  // nobody has such addresses
    const XpmemAddress from{permit_, static_cast<off_t>(first)};
    void* at = library_->calls().attach(from, bytes, nullptr);
    if (reinterpret_cast<intptr_t>(at) == kFailed) return false;
    window = {};
    window.first = first;
    window.bytes = bytes;
    window.base = static_cast<std::byte*>(at);
    return true;
}

void XpmemPeer::detach(Window& window) {
    library_->calls().detach(window.base);
    window = {};
}

// Unless somebody reads.
void XpmemPeer::drop_all() {
    for (const Window& window : windows_) {
        if (window.readers > 0) return;
    }
    for (Window& window : windows_) {
        if (window.bytes > 0) detach(window);
    }
    if (permit_ != kFailed) library_->calls().release(permit_);
    permit_ = kFailed;
}

// ---- a team's memory ----------------------------------------------------------------------------

XpmemMemory::XpmemMemory(std::shared_ptr<XpmemLibrary> library,
                         const std::vector<uint64_t>& segments,
                         std::shared_ptr<node::PeerMemory> otherwise)
    : library_(std::move(library)), segments_(segments), otherwise_(std::move(otherwise)) {
    for (const uint64_t segment : segments_) {
        const bool is_other = segment != 0 && segment != library_->own_segment();
        peers_.push_back(is_other ? library_->peer(segment) : nullptr);
    }
}

bool XpmemMemory::read(node::Rank rank, std::byte* out, uint64_t address, size_t bytes) {
    TUTTI_ASSERT(rank < peers_.size(), "a rank outside the team");
    if (segments_[rank] == library_->own_segment()) {
        std::memcpy(out, reinterpret_cast<const std::byte*>(address), bytes);
        return true;
    }
    if (peers_[rank] && peers_[rank]->read(out, address, bytes)) return true;
    return otherwise_ && otherwise_->read(rank, out, address, bytes);
}

node::Denial XpmemMemory::denial() const {
    const node::Denial found = otherwise_ ? otherwise_->denial() : node::Denial{};
    return found.failure != 0 && !peers_[found.of] ? found : node::Denial{};
}

}  // namespace tutti::arena
