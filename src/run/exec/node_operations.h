// SPDX-License-Identifier: BSD-3-Clause
// The node's collectives, one after the other in the order of their numbers; or the calls of the
// node of which another operation is made (meet_letters.h, bundles.h). The node's team runs one
// call at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/step.h"
#include "run/exec/call_context.h"

namespace tutti::exec {

// The parts of the root's block that the node's members give or have, where these differ in length:
// Program::node_lengths(), as the node level takes it.
class MemberParts {
  public:
    // Memory for those of so many members.
    void reserve(size_t members) { offsets_.reserve(members); }
    // Of the next call. The lengths stay until it is over.
    void start(std::span<const uint64_t> lengths);
    // Of all members together; those of no bytes move nothing.
    [[nodiscard]] uint64_t all_bytes() const { return all_bytes_; }
    [[nodiscard]] uint64_t offset(uint32_t member) const { return offsets_[member]; }
    // Of a gatherv or scatterv alike.
    [[nodiscard]] const tutti_blocks& blocks() const { return blocks_; }

  private:
    std::vector<uint64_t> offsets_;
    uint64_t all_bytes_ = 0;
    tutti_blocks blocks_{};
};

class NodeOperations {
  public:
    // team: nullptr where every node has one rank.
    NodeOperations(CallContext& call, node::Team* team) : call_(call), team_(team) {}
    // Memory for so many operations that wait for their turn.
    void reserve(size_t operations) {
        ready_.reserve(operations);
        parts_.reserve(team_ ? team_->size : 0);
    }
    // The next call.
    void start(const sched::Program& program);

    // It waits for its turn.
    void begin(Ref ref) { ready_.push_back(ref); }
    // Starts the operation whose turn it is, if that is ready and none is under way. Empty ones are
    // over at once, on all members alike: such a one is returned.
    [[nodiscard]] std::optional<Ref> start_next() {
        if (ready_.empty() || is_busy()) return {};
        return start_ready();
    }
    [[nodiscard]] bool is_busy() const { return doing_ == Doing::kOperation; }
    [[nodiscard]] bool has_call() const { return doing_ == Doing::kCall; }
    // Of the operation under way: last(), which is done when this says so.
    Step step();
    [[nodiscard]] Ref last() const { return last_; }
    // The call is withdrawn.
    void retract();

    // A call of which bundles are made. moved_bytes: what this rank copies in it.
    void begin_call(const node::Call& call, uint64_t moved_bytes);
    Step step_call();

    // No operation is under way beside letters. bytes: of the vector that they carry.
    void begin_letters(size_t bytes);
    void end_letters();
    [[nodiscard]] bool has_letters() const { return doing_ == Doing::kLetters; }

    [[nodiscard]] node::Team& team() { return *team_; }
    [[nodiscard]] node::Op& op() { return op_; }
    // nullptr: nothing is.
    [[nodiscard]] node::Op* under_way() { return doing_ == Doing::kNothing ? nullptr : &op_; }

  private:
    enum class Doing : uint8_t { kNothing, kOperation, kCall, kLetters };
    [[nodiscard]] node::Call call_of(Ref ref) const;
    void put_in_place(node::Call& call) const;
    std::optional<Ref> start_ready();
    Step step_any();
    void count(const node::Call& next);

    CallContext& call_;
    node::Team* team_;
    std::vector<Ref> ready_;  // in no order
    MemberParts parts_;       // of the call
    uint64_t next_ = 0;       // the number whose turn it is
    Doing doing_ = Doing::kNothing;
    Ref last_;
    node::Op op_;
};

}  // namespace tutti::exec
