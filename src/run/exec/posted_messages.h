// SPDX-License-Identifier: BSD-3-Clause
// The messages under way, in no order: those of sends and receives, which this class posts, and
// operations that others test like messages: those between neighbours, and the middle of a feeding.
#pragma once

#include <cstddef>
#include <vector>

#include "run/exec/call_context.h"

namespace tutti::exec {

class PostedMessages {
  public:
    explicit PostedMessages(CallContext& call) : call_(call) {}
    // Memory for so many under way.
    void reserve(size_t operations) { refs_.reserve(operations); }
    // The next call; or none of them is looked at any more.
    void clear() { refs_.clear(); }

    // Posts that of a send or receive. True: it is complete already, and not under way.
    [[nodiscard]] bool post(Ref ref);
    // One that another class tests.
    void add(Ref ref) { refs_.push_back(ref); }
    void remove(size_t i) {
        refs_[i] = refs_.back();
        refs_.pop_back();
    }
    // Of a call of which nothing has come: takes back its receives. kFailed: not all can be.
    transport::State withdraw();

    [[nodiscard]] bool is_empty() const { return refs_.empty(); }
    [[nodiscard]] size_t size() const { return refs_.size(); }
    [[nodiscard]] Ref operator[](size_t i) const { return refs_[i]; }
    [[nodiscard]] auto begin() const { return refs_.begin(); }
    [[nodiscard]] auto end() const { return refs_.end(); }

  private:
    CallContext& call_;
    std::vector<Ref> refs_;
};

}  // namespace tutti::exec
