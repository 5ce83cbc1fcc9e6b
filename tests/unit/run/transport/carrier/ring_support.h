// SPDX-License-Identifier: BSD-3-Clause
// What tests of the multicast ring share.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

#include "run/transport/carrier/ring.h"
#include "run/transport/carrier/waker.h"

namespace tutti::test {

// A node's shared memory, with what another team may have left there.
class RingMemory {
  public:
    explicit RingMemory(const transport::carrier::RingParams& params)
        : memory_(static_cast<std::byte*>(
              ::operator new (transport::carrier::ring_bytes(params), std::align_val_t{kPage}))) {
        std::fill_n(memory_.get(), transport::carrier::ring_bytes(params), std::byte{0xa5});
        transport::carrier::Ring::format(memory_.get(), params);
    }
    [[nodiscard]] transport::carrier::Ring ring() const {
        return transport::carrier::Ring(memory_.get());
    }

  private:
    static constexpr size_t kPage = 4096;
    struct Free {
        void operator()(std::byte* memory) const {
            ::operator delete (memory, std::align_val_t{kPage});
        }
    };
    std::unique_ptr<std::byte, Free> memory_;
};

struct CountingWaker final : transport::carrier::Waker {
    void wake() override { ++wakes; }
    void wake_thread() override { ++thread_wakes; }
    int wakes = 0;
    int thread_wakes = 0;
};

inline std::vector<std::byte> ring_bytes_of(uint64_t number, size_t bytes) {
    std::vector<std::byte> data(bytes);
    for (size_t i = 0; i < bytes; ++i) {
        data[i] = static_cast<std::byte>((i * 2654435761u + number * 40503u) >> 7);
    }
    return data;
}

}  // namespace tutti::test
