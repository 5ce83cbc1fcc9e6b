// SPDX-License-Identifier: BSD-3-Clause
// Memory that runs out on one thread: linked with failing_memory.cpp, a binary has an operator new
// of its own.
#pragma once

#include <cstdint>

namespace tutti::test {

// Of this thread: allocations until one fails; none does below zero.
extern thread_local long left_until_failure;
extern thread_local bool fails_for_good;  // all that follow fail, too
extern thread_local bool has_failed;
// Allocations of this thread so far, and those of them that were not freed, if no other thread
// frees any.
extern thread_local uint64_t allocations;
extern thread_local int64_t living_allocations;

// Memory is short for the library alone, not for the embedder of this test.
class Plenty {
  public:
    Plenty() { left_until_failure = -1; }
    ~Plenty() { left_until_failure = kept_; }
    Plenty(const Plenty&) = delete;
    Plenty& operator=(const Plenty&) = delete;

  private:
    long kept_ = left_until_failure;
};

}  // namespace tutti::test
