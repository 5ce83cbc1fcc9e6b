// SPDX-License-Identifier: BSD-3-Clause
// The state of an executor: one class for each kind of work, and the loops that ask these to step.
// When an operation is done, what waits for it begins at once, before anything else is looked at:
// so messages are posted in an order that follows from the Program and from what has come.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "run/exec/bundles.h"
#include "run/exec/executor.h"
#include "run/exec/local_work.h"
#include "run/exec/meet.h"
#include "run/exec/meet_feed.h"

namespace tutti::exec {

struct Executor::State {
    State(node::Team* team, transport::Transport& network, transport::Multicast* route)
        : call(network),
          messages(call),
          work(call),
          node(call, team),
          bundles(call, node),
          multicasts(call, route),
          meetings(call, node, multicasts),
          feeds(call) {}
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    CallContext call;
    // An operation under way is with one of these; one that meets or feeds may be a message, too.
    PostedMessages messages;
    LocalWork work;
    NodeOperations node;
    Bundles bundles;
    Multicasts multicasts;
    Meetings meetings;
    Feeds feeds;

    Result<Done> reserve(const sched::Extent& wanted, uint64_t scratch_bytes_max);
    void start(const sched::Program& program, const Arguments& arguments);
    void end();
    transport::State withdraw();
    void cancel();
    [[nodiscard]] std::vector<sched::Rank> waits_for() const;

    void advance(uint8_t slot);
    void begin_all(Ref any, uint64_t operations);
    void begin(Ref ref);
    void complete(Ref ref);

    bool step_messages();
    transport::State test_message(Ref ref);
    transport::State test_neighbour(Ref ref);
    [[nodiscard]] bool take(Ref ref);
    bool step_multicasts();
    bool post_multicasts();
    bool test_multicasts();
    bool step_node();
    bool step_bundles();
    bool settle_strays();
    [[nodiscard]] bool is_stray(Ref ref) const;
    [[nodiscard]] std::optional<size_t> find_stray() const;
    bool step_work();

    [[nodiscard]] sched::OperationKind kind_of(Ref ref) const {
        return call.slots.operation_of(ref).kind;
    }
};

}  // namespace tutti::exec
