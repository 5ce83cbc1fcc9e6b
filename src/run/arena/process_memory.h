// SPDX-License-Identifier: BSD-3-Clause
// The memory of other processes, by process_vm_readv(2): a copy by the kernel, for processes that
// may trace the others (ptrace(2), "Ptrace access mode checking").
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "run/node/peer_memory.h"

namespace tutti::arena {

class ProcessMemory final : public node::PeerMemory {
  public:
    // pids: by rank, as this process's pid namespace numbers them.
    explicit ProcessMemory(std::vector<pid_t> pids)
        : pids_(std::move(pids)), denied_(pids_.size()) {}

    bool read(node::Rank rank, std::byte* out, uint64_t address, size_t bytes) override;
    [[nodiscard]] node::Denial denial() const override;
    // errno of the last read that failed.
    [[nodiscard]] int failure() const { return failure_; }

  private:
    std::vector<pid_t> pids_;
    int failure_ = 0;
    // By rank, an errno: why this process may not read there, nor tries again; 0: it may.
    std::vector<int> denied_;
};

// Where the kernel's Yama module lets only its ancestors read a process's memory (ptrace_scope 1):
// lets every process of this user. Replaces what the program itself may have set so. False where
// there is nothing to allow, or it cannot be.
bool allow_readers();

// For people: this read, why it was denied, and where Yama does so, what can be done. Cut off where
// it does not fit. Allocates nothing.
void tell_denial(std::span<char> text, const char* read, int failure, bool has_allowed);

}  // namespace tutti::arena
