// SPDX-License-Identifier: BSD-3-Clause
// Runs one rank's Program: posts what is ready, folds what arrived, drives the node's collectives.
// A state machine like those of node/: start, then step until done; nothing waits inside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/step.h"
#include "plan/sched/program.h"
#include "run/node/node_team.h"
#include "run/transport/multicast.h"
#include "run/transport/transport.h"

namespace tutti::exec {

// What a call gives beside the Program. Buffers as plan/sched/program.h names them; nullptr where
// one is not significant on this rank.
struct Arguments {
    const std::byte* input = nullptr;
    std::byte* output = nullptr;
    node::Reducer reducer;
    // How long they are: the network may then register them for the call. 0: not known.
    uint64_t input_bytes = 0;
    uint64_t output_bytes = 0;
    // Of a vector form: the Program's blocks are those of this call, which only pairs of ranks
    // know. So a message may be shorter than its receive.
    bool has_private_lengths = false;
};

// What one rank has done beside sending and receiving, since its executor was made: the simulator
// turns it into time. Bytes of a node operation are counted when it begins.
struct Work {
    uint64_t node_operations = 0;
    uint64_t copied_bytes = 0;   // copies, and this rank's blocks of node operations
    uint64_t reduced_bytes = 0;  // folds, and this rank's vectors of node reductions
};

class Executor {
  public:
    // node: this rank's part of its node's team; may be nullptr where every node has one rank.
    // route: the team's multicast; may be nullptr where no Program has any. It is used by nobody
    // else, since the executor numbers multicasts over all calls.
    Executor(node::Team* node, transport::Transport& network,
             transport::Multicast* route = nullptr);
    ~Executor();
    Executor(const Executor&) = delete;
    Executor& operator=(const Executor&) = delete;

    // Another one from now on, or none: between calls. Its first multicast is number 0.
    void set_route(transport::Multicast* route);
    // By it ranks know that they were in no call of this for a while, and so may be the last to
    // come to a meeting: who was away looks for some 80 us before its part goes, in start() or
    // step(). Without one all look once. Outlives this.
    void set_clock(Clock& clock);

    // Makes memory for programs of this extent where it is not there yet: the only allocation.
    // An error names the bytes wanted when they are more than scratch_bytes_max. Throws
    // std::bad_alloc; then it may be tried again. Not during a call.
    Result<Done> reserve(const sched::Extent& extent, uint64_t scratch_bytes_max);

    // Begins a call; program and buffers stay until it is done. call: the team's number of the
    // call, the same on all ranks. word: goes with its messages. A failure is final: step() says so
    // for every later call too, and the executor stays while the network may still write into its
    // memory.
    void start(const sched::Program& program, uint32_t call, const Arguments& arguments,
               const transport::CallWord& word = {});
    Step step();
    // Nothing of the call has come from anybody yet, so that it may be withdrawn.
    [[nodiscard]] bool is_untouched() const;
    // The call has not begun, nor has a message shown that ranks disagree: what comes for it is for
    // the next start, which has the same number. kPending: ask again.
    transport::State withdraw();
    // The call under way has failed elsewhere: what has not come is not to be written to its
    // buffers, as far as the network can help it. Final, like a failure.
    void cancel();

    // Ranks that have not sent what this rank waits for, or not taken what it sent to them alone:
    // for messages to people. Ascending.
    [[nodiscard]] std::vector<sched::Rank> waits_for() const;
    // Multicasts are all that is under way: they come and go without this rank's doing. Or nothing
    // that this rank is to do depends on what else may come first.
    [[nodiscard]] bool waits_for_multicasts() const;
    // The node's operation is all that is under way.
    [[nodiscard]] bool waits_for_node() const;
    // Messages are, and no multicast is to come, unless that is counted in.
    [[nodiscard]] bool waits_for_messages(bool or_multicasts = false) const;
    // The node's operation that is under way, or nullptr.
    [[nodiscard]] const node::Op* node_op() const;
    [[nodiscard]] node::Op* node_op();
    [[nodiscard]] const Work& work() const;
    // After kFailed: by their arrivals it is that ranks do not run the same call, and nobody knows
    // which.
    [[nodiscard]] bool has_miscounted() const;
    // After kFailed: because another rank has sent more than this one has room for, as error()
    // says, in a message that the network did not compare.
    [[nodiscard]] bool has_misfit() const;
    // After kFailed.
    [[nodiscard]] const std::string& error() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace tutti::exec
