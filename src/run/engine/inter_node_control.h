// SPDX-License-Identifier: BSD-3-Clause
// The control of a track across nodes: words of the own node, and notes between ranks of several
// (notes.h). In a stall, notes also say which rank waits for which (inquiry.h), and what each takes
// the last calls to be. A short message carries the word of its call (transport/p2p); a long one
// arrives only at ranks that run a call of its kind. So a rank that waits in vain sends its last
// calls to the ranks that it waits for (call_log.h). One of these has run another call, or waits
// for a rank that has.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "run/engine/control.h"
#include "run/engine/inter_node.h"
#include "run/notes/inquiry.h"
#include "run/notes/notes.h"

namespace tutti::engine {

class InterNodeControl final : public Control {
  public:
    // These outlive this.
    InterNodeControl(Members& members, const node::Team& node, const InterNode& inter_node,
                     CallTrack& track)
        : Control(members, node), inter_node_(inter_node), track_(track) {}
    void notify_remaining() override { track_.messages().notice().go_on(); }
    void listen_beside(const node::Call* call) override;
    void report_stall(const node::Call& call, const node::Op* op, uint64_t waited_ns) override;

  protected:
    void disagree(const node::Op& op, const node::Disagreement& with) override;
    bool tell(tutti_status status, const char* text) override;
    void hear_far(const node::Call* call) override;
    [[nodiscard]] uint32_t calls_begun() const override { return track_.call(); }
    [[nodiscard]] bool is_under_way() const override { return track_.is_under_way(); }

  private:
    void hear_notes(bool is_in_call);
    void hear_all(bool is_in_call);
    void hear(const notes::Note& note, bool is_in_call);
    void answer(const notes::Note& question);
    void ask_on();
    void report_inquiry();
    void tell_calls();
    void hear_calls(const notes::Note& note);
    void hear_answer(const notes::Note& note);
    [[nodiscard]] bool goes_on(const notes::CallLog::Difference& found, uint32_t from);
    void disagree_on(const notes::CallLog::Difference& found, uint32_t from);
    void look_for_less();
    [[nodiscard]] std::vector<uint32_t> waits_for();

    const InterNode& inter_node_;
    CallTrack& track_;
    std::optional<notes::Note> gave_up_;  // the one of the earliest call
    notes::Inquiry inquiry_;
    uint64_t inquiry_waited_ns_ = 0;
    tutti_collective inquiry_collective_ = TUTTI_BARRIER;
    // When this rank tells the calls that it waits in: see tell_calls().
    uint32_t telling_call_ = 0;
    uint32_t tellings_ = 0;  // of that call
    uint64_t tell_at_ns_ = 0;
    uint64_t tell_after_ns_ = 0;
};

}  // namespace tutti::engine
