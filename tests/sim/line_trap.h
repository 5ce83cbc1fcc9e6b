// SPDX-License-Identifier: BSD-3-Clause
// Closed memory: each instruction that touches it is told of before it runs, with the line and
// whether it writes. Exact, of the real code, by page protection and single steps of the processor.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "run/node/slice.h"

namespace tutti::test {

class LineTrap {
  public:
    // line: from the beginning of the memory. Of an instruction that touches several lines the one
    // that it faults on. May allocate, and may switch to another stack and come back.
    using OnAccess = std::function<void(size_t line, bool is_write)>;

    // Where it cannot be done, why; else nullptr.
    static const char* obstacle();

    // One at a time. memory: page-aligned; it is open until close() is called.
    LineTrap(std::span<std::byte> memory, OnAccess on_access);
    LineTrap(const LineTrap&) = delete;
    LineTrap& operator=(const LineTrap&) = delete;
    ~LineTrap();

    void close();
    void open() { open(memory_); }
    void open(std::span<std::byte> part);

  private:
    std::span<std::byte> memory_;
};

}  // namespace tutti::test
