// SPDX-License-Identifier: BSD-3-Clause
// A stream of Tutti's own for each context or device that it has copied in.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti::mpi::device {

// `id` tells a context from a later one at the same address; 0 where the runtime has no such
// number.
struct QueueKey {
    void* context = nullptr;
    uint64_t id = 0;
    int device = 0;
    bool operator==(const QueueKey&) const = default;
};

class Queues {
  public:
    // Null where there is none yet.
    [[nodiscard]] void* find(const QueueKey& key) const {
        for (size_t i = 0; i < count_; ++i) {
            if (slots_[i].key == key) return slots_[i].queue;
        }
        return nullptr;
    }
    // Returns the queue that had to make room, or null: the caller destroys it.
    void* add(const QueueKey& key, void* queue) {
        void* dropped = nullptr;
        size_t place = count_;
        if (count_ == kQueues) {
            place = next_++ % kQueues;
            dropped = slots_[place].queue;
        } else {
            ++count_;
        }
        slots_[place] = {key, queue};
        return dropped;
    }
    // After a failure, so that the next call starts with a new one.
    void forget(const QueueKey& key) {
        for (size_t i = 0; i < count_; ++i) {
            if (slots_[i].key == key) slots_[i] = slots_[--count_];
        }
    }

  private:
    struct Slot {
        QueueKey key;
        void* queue;
    };
    // A process uses one device, seldom all of its node, of which there are 16 at most today.
    static constexpr size_t kQueues = 32;
    Slot slots_[kQueues] = {};
    size_t count_ = 0;
    size_t next_ = 0;
};

}  // namespace tutti::mpi::device
