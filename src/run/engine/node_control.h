// SPDX-License-Identifier: BSD-3-Clause
// The control of a track on one node: its members exchange everything through shared memory.
#pragma once

#include "run/engine/control.h"

namespace tutti::engine {

class NodeControl final : public Control {
  public:
    using Control::Control;
    void report_stall(const node::Call& call, const node::Op* op, uint64_t waited_ns) override;

  protected:
    void disagree(const node::Op& op, const node::Disagreement& with) override;
    bool tell(tutti_status status, const char* text) override { return tell_node(status, text); }
    [[nodiscard]] uint32_t calls_begun() const override {
        return static_cast<uint32_t>(node_.bases.call);
    }
};

}  // namespace tutti::engine
