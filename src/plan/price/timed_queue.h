// SPDX-License-Identifier: BSD-3-Clause
// What is to happen, in time; at the same time in the order in which it was put in. Inside price/
// only.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "base/assert.h"

namespace tutti::price {

template <class T>
class TimedQueue {
  public:
    struct Event {
        uint64_t at_ns;
        uint64_t number;  // of those at the same time, as they came
        T what;
        bool operator>(const Event& other) const {
            return at_ns != other.at_ns ? at_ns > other.at_ns : number > other.number;
        }
    };

    void push(uint64_t at_ns, const T& what) { events_.push({at_ns, count_++, what}); }
    [[nodiscard]] bool empty() const { return events_.empty(); }
    Event pop() {
        TUTTI_ASSERT(!events_.empty(), "something is to happen");
        const Event next = events_.top();
        events_.pop();
        return next;
    }

  private:
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    uint64_t count_ = 0;
};

}  // namespace tutti::price
