// SPDX-License-Identifier: BSD-3-Clause
// Bundled messages: those of the ranks of a node for the ranks of another one go as one message
// between two leaders, those within a node by its memory. docs/protocol/bundles.md says how;
// plan/sched/bundle_rules.h, who leads; bundle_rows.h, what stands where.
//
// While a kNodeBundles is under way, no other operation of the node is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "run/exec/bundle_flights.h"
#include "run/exec/bundle_rows.h"
#include "run/exec/node_operations.h"

namespace tutti::exec {

class Bundles {
  public:
    Bundles(CallContext& call, NodeOperations& node) : call_(call), node_(node), flights_(call) {}
    // Memory for a team of so many ranks and nodes, between calls. May throw std::bad_alloc; then
    // it may be tried again.
    void reserve(uint32_t ranks, uint32_t nodes);
    // The next call.
    void start(const sched::Program& program);

    // A bundled message, which from now on is the kNodeBundles's.
    void add(Ref ref);
    // The kNodeBundles behind all of them.
    void begin(Ref ref);
    [[nodiscard]] bool is_under_way() const { return phase_ != Phase::kIdle; }
    // Goes on as far as it can; true where something was done. No longer under way: the operation
    // is complete, or the call has failed.
    bool step();
    [[nodiscard]] Ref last() const { return ref_; }
    [[nodiscard]] bool has_messages() const {
        return !flights_.have_all_come() || !flights_.have_all_left();
    }

    // A sender may have less than its receiver has room for. So a message may come in a bundle,
    // while its receiver waits for one that goes by itself.
    [[nodiscard]] bool is_stray(sched::Rank peer) const {
        return strays_ > 0 && received_[peer].stray != nullptr;
    }
    [[nodiscard]] bool has_strays() const { return strays_ > 0; }
    // The next part of it, as much as that receive has room for.
    void take_stray(Ref recv);

    void add_waits(std::vector<sched::Rank>& ranks) const { flights_.add_waits(ranks); }
    void cancel();

  private:
    // What is under way: calls of the node, and bundles.
    enum class Phase : uint8_t {
        kIdle,
        kBegun,
        kLengthsOut,  // of what ranks have for leaders
        kOut,         // that
        kNear,        // messages within the node
        kFar,         // bundles that come
        kLengthsIn,   // of what leaders have for ranks
        kIn,          // that
        kLeaving      // bundles that leave
    };
    // The room's parts, of which each is used in turn.
    struct Room {
        std::byte* given = nullptr;  // rows for leaders; then bundles that leave
        std::byte* taken = nullptr;  // what ranks have for the leader; then what it has for them
        std::byte* come = nullptr;   // bundles that come; then what leaders have for this rank
        uint64_t bytes = 0;          // of each
    };

    void pack();
    void begin_lengths(Phase phase);
    void begin_exchange(Phase phase, const std::byte* from, std::byte* to);
    void begin_near();
    void begin_call(Phase phase, const node::Call& call, uint64_t bytes);
    [[nodiscard]] bool is_phase_over(bool& has_moved);
    void go_on();
    void make_bundles();
    void open_bundles();
    void take_in();
    void take(sched::Rank from, const std::byte* data, uint64_t bytes);
    void misfit(sched::Rank from, const std::string& or_else);
    void end();

    CallContext& call_;
    NodeOperations& node_;
    BundleFlights flights_;
    Phase phase_ = Phase::kIdle;
    Ref ref_;
    // Of the call.
    BundlePlace place_;
    Room room_;
    const std::byte* input_ = nullptr;
    std::byte* output_ = nullptr;
    std::vector<BundledPart> sent_;      // by rank
    std::vector<BundledPart> received_;  // likewise
    MemberExchange exchange_;
    tutti_blocks blocks_{};                  // of the node's call under way
    std::vector<const std::byte*> cursors_;  // by member
    std::vector<std::byte*> ends_;           // likewise
    uint32_t missing_ = 0;                   // messages in bundles that have not come
    uint32_t strays_ = 0;
};

}  // namespace tutti::exec
