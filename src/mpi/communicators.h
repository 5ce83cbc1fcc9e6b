// SPDX-License-Identifier: BSD-3-Clause
// The communicators of this process that Tutti knows, and what their teams have told.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "mpi/abi/abi.h"

namespace tutti::mpi {

struct CommState;
class FactLog;

// The states of all communicators, from the first call on one until no call uses it any more. Any
// thread may call these.
class Communicators {
  public:
    void add(CommState& state);
    // The host has taken it as an attribute.
    void set_attached(CommState& state);
    // nullptr: there is none that the host has not taken.
    [[nodiscard]] CommState* find_unattached(abi::Comm comm);
    // Without a call of the host, which would complain of a handle that is no communicator. Those
    // that were made last are freed first, as a rule, and stand first.
    [[nodiscard]] CommState* find(abi::Comm comm);

    // Of a communicator that is freed: it is kept until a call may destroy it, see comm_state.h.
    void defer_destruction(CommState& state);
    [[nodiscard]] bool has_freed() const {
        return freed_.load(std::memory_order_relaxed) != nullptr;
    }
    // One that was freed and that no call uses any more; nullptr where there is none.
    CommState* take_freed() { return has_freed() ? take_unused() : nullptr; }
    // One that was never freed; nullptr where there is none.
    CommState* take_leftover();

    // For the report, of a communicator that is about to go.
    void keep_facts(const CommState& state);
    // Of those that are gone and those still there.
    [[nodiscard]] FactLog facts();

  private:
    CommState* take_unused();
    void unlink(CommState& state);

    std::atomic<CommState*> freed_{nullptr};  // written under the mutex
    // Of those the host has not taken as attributes; written under the mutex.
    std::atomic<uint32_t> unattached_{0};
    std::mutex mutex_;
    CommState* first_ = nullptr;  // of those that were not freed
    FactLog* facts_ = nullptr;    // of those that are gone; made for the first of them
};

}  // namespace tutti::mpi
