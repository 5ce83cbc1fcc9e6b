// SPDX-License-Identifier: BSD-3-Clause
// Memory of the process's own that a port may use, in a protection domain of its own.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "run/transport/verbs/opened.h"

namespace tutti::transport::verbs {

class Registered {
  public:
    explicit Registered(const Calls& calls) : calls_(calls) {}
    ~Registered();  // when whatever was made in the domain is gone
    Registered(const Registered&) = delete;
    Registered& operator=(const Registered&) = delete;
    // Zero at first. A child of the program has nothing of it, so that no page of it is ever
    // copied. what: it is for; told_bytes: that an error speaks of.
    Result<Done> make(const Opened& opened, size_t bytes, int access, const std::string& what,
                      size_t told_bytes);

    [[nodiscard]] std::byte* base() const { return memory_.data(); }
    [[nodiscard]] std::span<std::byte> memory() const { return memory_; }
    [[nodiscard]] ibv_pd* domain() const { return domain_; }
    [[nodiscard]] const ibv_mr& region() const { return *region_; }

  private:
    const Calls& calls_;
    std::span<std::byte> memory_;
    ibv_pd* domain_ = nullptr;
    ibv_mr* region_ = nullptr;
};

}  // namespace tutti::transport::verbs
