// SPDX-License-Identifier: BSD-3-Clause
// Memory into which vectors of other ranks are read to be folded: one for all teams of a context.
// A step that needs it has it until it ends; no call keeps it.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>

namespace tutti::node {

class FoldBuffer {
  public:
    using Hold = std::unique_lock<std::mutex>;

    // Whether there are so many bytes from now on. Waits for a step of another thread, the first
    // time that a team wants so much.
    bool reserve(size_t bytes) {
        if (bytes <= bytes_.load(std::memory_order_acquire)) return true;
        const Hold hold(mutex_);
        if (bytes <= bytes_.load(std::memory_order_relaxed)) return true;
        std::unique_ptr<std::byte[]> more(new (std::nothrow) std::byte[bytes]);
        if (!more) return false;
        buffer_ = std::move(more);
        bytes_.store(bytes, std::memory_order_release);
        return true;
    }
    // Empty where a step of another thread has it.
    [[nodiscard]] Hold try_hold() { return {mutex_, std::try_to_lock}; }
    // For its holder.
    [[nodiscard]] std::byte* data() const { return buffer_.get(); }

  private:
    std::mutex mutex_;
    std::unique_ptr<std::byte[]> buffer_;
    std::atomic<size_t> bytes_{0};
};

}  // namespace tutti::node
