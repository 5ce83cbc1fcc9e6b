// SPDX-License-Identifier: BSD-3-Clause
// Messages between the members of a team beside the calls of one track: a member gives up, or runs
// another call. On one node by words in its memory (node_control.h), across nodes by notes, too
// (inter_node_control.h).
//
// A rank that cannot begin a call of which the others know (its memory has run out, a message has
// failed) must not just return: they would wait for ever. It gives up instead. No other member can
// then finish what needs it, and every one ends the call that it is in, or its next, with an error.
#pragma once

#include <cstdint>

#include "run/engine/members.h"
#include "run/node/node_team.h"
#include "tutti/tutti.h"

namespace tutti::engine {

class Control {
  public:
    // node: the own node's part of the track. Both outlive this.
    Control(Members& members, const node::Team& node) : members_(members), node_(node) {}
    Control(const Control&) = delete;
    Control& operator=(const Control&) = delete;
    virtual ~Control() = default;

    // ---- the team breaks down ----
    // This member takes part in no further call, and all others hear of it. Allocates nothing.
    void break_off(tutti_status status, const char* why);
    // The team has broken down, perhaps by a call of another track: members that wait on this one
    // hear of that, too.
    void pass_on();
    // Goes on with what could not be told at once.
    virtual void notify_remaining() {}

    // ---- in a wait that lasts long ----
    // Looks for news, by which the team may have broken down afterwards. call: of this rank, in
    // front; nullptr: none. op: what of it is under way on the node, or nullptr.
    void listen(const node::Call* call, node::Op* op);
    // While this rank waits on another track: answers what others ask about the calls of this one.
    // An end of the team is not heard so: each track ends by the numbers of its own calls.
    virtual void listen_beside(const node::Call* call) { static_cast<void>(call); }
    // Reports the ranks that have not arrived in the call in front, of which `op` is under way on
    // the node.
    virtual void report_stall(const node::Call& call, const node::Op* op, uint64_t waited_ns) = 0;

  protected:
    // What `rank` of the node takes this rank's call to be, op of which is under way.
    virtual void disagree(const node::Op& op, const node::Disagreement& with) = 0;
    // Tells other members of an end. True if no other of the node was faster.
    virtual bool tell(tutti_status status, const char* text) = 0;
    // News that came by messages.
    virtual void hear_far(const node::Call* call) { static_cast<void>(call); }
    [[nodiscard]] virtual uint32_t calls_begun() const = 0;

    // To the members on this node, and from them: by words in the slice's header. The first to give
    // up is the cause. call: the first that it takes no part in; 0: none is to go on.
    bool tell_node(tutti_status status, const char* text, uint32_t call = 0);
    bool hear_node(const node::Call* call);
    // Whether a member that takes no part from `call` on ends this rank's: those before end well
    // here as they have there, unless that takes long.
    bool is_due(uint32_t call, bool is_in_call);
    // Whether what is under way has its number, calls_begun().
    [[nodiscard]] virtual bool is_under_way() const { return false; }

    // Others have told that the team has broken down.
    void heard(tutti_status status, const char* text) {
        members_.break_down(status, text);
        has_told_ = true;
    }

    Members& members_;
    const node::Team& node_;

  private:
    void look_for_disagreement(node::Op& op);
    void lose_memory(const node::Op& op);

    bool has_told_ = false;  // that the team has broken down, or has heard it from others
    // The number of a node's operation in which this rank has been seen to wait for one that has
    // finished it; 0: none.
    uint64_t suspected_ = 0;
    uint64_t held_since_ns_ = 0;  // an end that was not due; 0: none
    node::Rank suspect_ = node::kNoRank;
};

}  // namespace tutti::engine
