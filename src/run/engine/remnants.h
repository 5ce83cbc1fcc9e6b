// SPDX-License-Identifier: BSD-3-Clause
// What outlives its team, since others still need it.
#pragma once

#include <memory>
#include <mutex>

namespace tutti::engine {

// What may outlive its team; a list, so that keeping it takes no memory.
struct Retired {
    // Nobody needs it any more. Messages that still write into it may make that never.
    virtual bool is_over() { return false; }
    Retired() = default;
    Retired(const Retired&) = delete;
    Retired& operator=(const Retired&) = delete;
    virtual ~Retired() = default;
    std::unique_ptr<Retired> next;
};

class Remnants {
  public:
    // Until it is over, at the longest as long as this.
    void keep(std::unique_ptr<Retired> what);
    // Lets go of what is over.
    void tidy();

  private:
    std::mutex mutex_;
    std::unique_ptr<Retired> kept_;
};

}  // namespace tutti::engine
