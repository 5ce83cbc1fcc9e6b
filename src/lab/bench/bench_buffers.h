// SPDX-License-Identifier: BSD-3-Clause
// The send and receive buffers of one cell of `tutti bench`, and what the caches hold of them.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "lab/bench/bench_pattern.h"

namespace tutti::bench {

// What one rank needs for one call.
struct CallBytes {
    uint64_t send = 0;
    uint64_t recv = 0;
};

// How many calls find buffers that no call before them used, where buffers are to be fresh: enough
// for a batch that can be timed, and never fewer than those that are reused.
uint32_t fresh_buffer_count(const CallBytes& bytes);

// Whether this processor lets programs take lines out of its caches.
bool caches_can_be_flushed();

class Buffers {
  public:
    // Of one rank, with what keeps fresh buffers apart.
    static uint64_t bytes_of_all(const CallBytes& bytes, uint32_t count, bool fresh);
    [[nodiscard]] bool allocate(const CallBytes& bytes, uint32_t count, bool fresh);
    [[nodiscard]] const BatchBuffers& view() const { return view_; }
    // From now on no cache of any core holds a line of the buffers that the batch will use.
    void flush(const Batch& batch) const;

  private:
    struct Free {
        void operator()(double* memory) const { std::free(memory); }
    };
    double* allocate_one(uint64_t bytes, bool fresh);

    CallBytes bytes_;
    std::vector<std::unique_ptr<double, Free>> owned_;
    BatchBuffers view_;
};

}  // namespace tutti::bench
