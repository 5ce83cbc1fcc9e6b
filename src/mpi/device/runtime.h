// SPDX-License-Identifier: BSD-3-Clause
// What Tutti asks of the runtime of a GPU: whose memory an address is, and copies. One file a
// runtime implements it; all that it needs of the runtime it finds by name in the library that the
// program brought, so that no SDK is needed to build Tutti and nothing is loaded that was not
// there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>

#include "mpi/device/blocks.h"

namespace tutti::mpi::device {

enum class MemoryKind : uint8_t {
    kHost,     // the processor's own, pinned or not: used as it is
    kManaged,  // moves between processor and device; not always the processor's to touch
    kDevice,   // the processor cannot read it
};

// Whose memory an address is, in words of the runtime.
struct Owner {
    MemoryKind kind = MemoryKind::kHost;
    int device = 0;
    void* context = nullptr;  // where copies have to be made; null where the device says it all
};

using FindSymbol = void* (*)(void* library, const char* name);

class Runtime {
  public:
    Runtime() = default;
    virtual ~Runtime() = default;
    Runtime(const Runtime&) = delete;
    Runtime& operator=(const Runtime&) = delete;

    [[nodiscard]] virtual const char* name() const = 0;
    // Its library's file name up to ".so".
    [[nodiscard]] virtual const char* library() const = 0;
    // False where the library lacks what is needed: then it is as if it were not there.
    virtual bool load(void* handle, FindSymbol find) = 0;

    // Asked anew in every call and never remembered: addresses are used again, and no runtime tells
    // when memory is freed.
    virtual Owner owner(const void* address) = 0;

    // Between begin() and end(), under `mutex`: copies on a stream of Tutti's own where the owner's
    // memory can be reached. What they do is there after end() and not before. Each is false where
    // the runtime failed, and then problem() says what; end() follows every begin().
    virtual bool begin(const Owner& owner) = 0;
    virtual bool copy(void* to, const void* from, size_t bytes) = 0;
    // `rows` pieces of `width` bytes, from each to the next `pitch` bytes on both sides; from the
    // processor's memory to the owner's.
    virtual bool copy_rows(void* to, const void* from, size_t pitch, size_t width, size_t rows);
    virtual bool end() = 0;
    [[nodiscard]] const char* problem() const { return problem_; }

    // Between begin() and end(), too. Makes copies to and from a block fast, where the runtime can:
    // else it is used as it is.
    void pin(Block& block);
    // Gives blocks beyond what is kept back to the system.
    void drop_excess(const Owner& owner);

    std::mutex mutex;
    Blocks blocks;  // under the mutex

  protected:
    // Keeps the first problem of a begin() to end(). Always false.
    bool failed(const char* function, int64_t code, const char* text = nullptr);
    void forget_problem() { problem_[0] = '\0'; }
    [[nodiscard]] bool has_problem() const { return problem_[0] != '\0'; }

  private:
    // False where it cannot be: no problem of the call's.
    virtual bool pin_memory(void* /*memory*/, size_t /*bytes*/) { return false; }
    // True where it is not pinned any more.
    virtual bool unpin_memory(void* /*memory*/) { return false; }

    char problem_[160] = {};
};

// One of each, never destroyed: streams live as long as their contexts, which end with the process.
Runtime& cuda();
Runtime& hip();
Runtime& level_zero();

// Fills in a function by its name; false where the library has none such.
template <class F>
bool find_function(void* handle, FindSymbol find, const char* name, F*& slot) {
    slot = reinterpret_cast<F*>(find(handle, name));
    return slot != nullptr;
}

}  // namespace tutti::mpi::device
