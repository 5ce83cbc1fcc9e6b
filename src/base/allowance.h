// SPDX-License-Identifier: BSD-3-Clause
// What a process may have of something at most, and how much of it is taken. Threads may take and
// give back at once; one that comes too late for the rest gets nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>

namespace tutti {

class Allowance {
  public:
    // A part, given back at its end. Outlived by the allowance.
    class Part {
      public:
        Part() = default;
        Part(Part&& other) noexcept
            : of_(std::exchange(other.of_, nullptr)), amount_(std::exchange(other.amount_, 0)) {}
        Part& operator=(Part&& other) noexcept {
            std::swap(of_, other.of_);
            std::swap(amount_, other.amount_);
            return *this;
        }
        ~Part() {
            if (of_) of_->taken_.fetch_sub(amount_, std::memory_order_relaxed);
        }
        [[nodiscard]] uint64_t amount() const { return amount_; }

      private:
        friend class Allowance;
        Part(Allowance& of, uint64_t amount) : of_(&of), amount_(amount) {}
        Allowance* of_ = nullptr;
        uint64_t amount_ = 0;
    };

    // most: 0: no bound. None: less is left.
    std::optional<Part> take(uint64_t amount, uint64_t most) {
        uint64_t taken = taken_.load(std::memory_order_relaxed);
        do {
            if (most != 0 && (amount > most || taken > most - amount)) return std::nullopt;
        } while (!taken_.compare_exchange_weak(taken, taken + amount, std::memory_order_relaxed));
        return Part(*this, amount);
    }
    [[nodiscard]] uint64_t taken() const { return taken_.load(std::memory_order_relaxed); }

  private:
    std::atomic<uint64_t> taken_ = 0;
};

}  // namespace tutti
