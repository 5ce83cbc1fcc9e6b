// SPDX-License-Identifier: BSD-3-Clause
// System calls of one thread that move less than they are asked for, or are interrupted. A binary
// is linked with short_transfers.cpp, and its linker told to --wrap those calls that it wants.
// recv() and sendmsg() are meant where they do not wait.
#pragma once

#include "base/prng.h"

namespace tutti::test {

// Of this thread; nullptr: all is moved that can be.
extern thread_local Prng* shortness;

// For the time of its life.
class ShortTransfers {
  public:
    explicit ShortTransfers(uint64_t seed) : prng_(seed) { shortness = &prng_; }
    ~ShortTransfers() { shortness = nullptr; }
    ShortTransfers(const ShortTransfers&) = delete;
    ShortTransfers& operator=(const ShortTransfers&) = delete;

  private:
    Prng prng_;
};

}  // namespace tutti::test
