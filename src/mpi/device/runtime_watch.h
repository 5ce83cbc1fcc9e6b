// SPDX-License-Identifier: BSD-3-Clause
// Which runtimes this process has, at any time: a program may load one long after MPI_Init, and in
// a private scope, as Python does.
//
// A process without one pays two loads and a branch a call. The loader keeps all objects of a
// process in one list (`link_map`, part of its protocol with debuggers), and appends: whatever is
// loaded later, in whatever way, comes behind the object that was last when Watch looked. So that
// object's `l_next` stays null for as long as there is nothing to look at. While it is watched
// Watch holds a reference to it, so that it is not unloaded; the reference moves on when something
// is loaded. Nothing is missed: a device pointer exists only after its runtime has been loaded, and
// the program handed the pointer to this thread after that.
#pragma once

#include <link.h>

#include <atomic>
#include <cstddef>
#include <mutex>

#include "mpi/device/runtime.h"

namespace tutti::mpi::device {

class Watch {
  public:
    void start();
    // Before the host's MPI_Finalize, so that what it unloads goes there and then. What is loaded
    // from now on is found by a count of the loader's, which takes longer.
    void let_go();

    // Whether a call may meet device memory.
    [[nodiscard]] bool may_meet() {
        link_map* const* next = next_.load(std::memory_order_acquire);
        if (__atomic_load_n(next, __ATOMIC_ACQUIRE) == nullptr) [[likely]]
            return false;
        return look();
    }

    // The runtime that says that this is its memory, and what it says; null for the processor's.
    Runtime* find(const void* address, Owner& owner);

    // How often the loaded objects were gone through; for tests.
    [[nodiscard]] size_t looks() const { return looks_; }

  private:
    static constexpr size_t kRuntimes = 3;

    bool look();
    [[nodiscard]] bool has_news() const;
    void follow();
    void search();
    bool hold_last();

    // Where to look for news: the last object's link, or one that always says so.
    std::atomic<link_map* const*> next_{&kNothing};
    std::atomic<size_t> count_{0};
    Runtime* found_[kRuntimes] = {};
    link_map* const* last_link_ = nullptr;  // null: the last object cannot be held
    void* held_ = nullptr;                  // the last object
    // The one before: another thread may just be reading its link. It goes with the next one.
    void* held_before_ = nullptr;
    uint64_t adds_ = 0;  // objects loaded so far, at the last look
    bool holds_ = false;
    size_t looks_ = 0;
    std::mutex mutex_;

    static link_map* const kNothing;
    static link_map* const kAlways;
};

}  // namespace tutti::mpi::device
