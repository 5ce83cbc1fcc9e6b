// SPDX-License-Identifier: BSD-3-Clause
// All ranks' Programs run against each other in the abstract: what may begin, begins; a message
// passes when both its ends are posted, a multicast when all ranks have begun it; a node operation
// runs when all members have come, and those who meet go on when all of them have. What that means
// (values, steps) is an Interpreter's. Every run
// by the rules of program.h has the same messages and the same order at every rank: the Programs
// are a marked graph, so one run stands for all.
//
// That a multicast waits for all ranks is the strictest reading of its rules, as if no route had
// memory between its ends. What gets through here gets through with every route that completes a
// multicast, at the latest, when all ranks have posted it and all before it: in the order of this
// run, whatever an operation waits for there has happened before. kMulticastsInFlightMax adds no
// deadlock of its own, since the one whose place is needed waits for nothing that comes after it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/topo/placement.h"
#include "plan/sched/program.h"

namespace tutti::check {

using sched::Extent;
using sched::kMulticastsInFlightMax;
using sched::Operation;
using sched::Position;
using sched::Program;
using sched::Rank;
using sched::Round;

// An operation whose round has begun.
struct LiveOperation {
    enum class State : uint8_t { kWaiting, kReady, kPosted, kComplete };
    Operation op;
    Position position;
    Rank rank = 0;
    State state = State::kWaiting;
    // Node operations with a smaller `order` were complete before this one began.
    uint64_t node_before = 0;
    uint64_t before = 0;  // join of what the operations left that were complete before it began
    uint64_t behind = 0;  // what it leaves: set by the interpreter when it completes
};

// As that of its operation.
std::string label(const LiveOperation& live);
// What a node operation moves from or to these of its members, each of which has its own part.
uint64_t node_bytes(std::span<LiveOperation* const> members);

// One of those who meet: its kMeet, and its neighbours' kMeetWith in their order.
struct Meeter {
    LiveOperation* meet = nullptr;
    std::vector<LiveOperation*> with;
};

class Interpreter {
  public:
    virtual ~Interpreter() = default;
    // Called in an order in which, at every rank, an operation comes after all it depends on.
    virtual void match(LiveOperation& send, LiveOperation& recv) = 0;
    virtual void local(LiveOperation& live) = 0;
    // By index on node.
    virtual void node(std::span<LiveOperation* const> members) = 0;
    // By rank: the ends of the multicast of one order, whether or not one of them sends it.
    virtual void multicast(std::span<LiveOperation* const> ends) = 0;
    // All who meet, by rank.
    virtual void meet(std::span<const Meeter> all) = 0;
    // What a rank knows at its start, and how two such things are put together.
    virtual uint64_t initial(Rank rank) = 0;
    virtual uint64_t join(uint64_t a, uint64_t b) = 0;
};

class Run {
  public:
    // The form of the programs is right: see form.h.
    Run(const topo::Placement& placement, std::span<const std::unique_ptr<Program>> programs,
        Interpreter& interpreter);
    // As far as it goes. True if everything is complete.
    bool go();
    // Join of all that a rank's operations left.
    [[nodiscard]] uint64_t at_end(Rank rank);
    // Why it did not go on, a line each, at most `lines_max`: messages with one end only, else who
    // waits for whom.
    [[nodiscard]] std::vector<std::string> stuck(size_t lines_max) const;

  private:
    struct LiveRound {
        std::vector<LiveOperation> ops;
        uint64_t complete = 0;  // bits
        [[nodiscard]] bool is_complete() const;
    };
    // One lane at a time. Two rounds are under way at most, `older` and the one after it.
    struct Slot {
        uint64_t lane = 0;
        bool is_over = false;  // no lane is left
        bool has_newer = false;
        uint64_t older_round = 0;
        LiveRound older;
        LiveRound newer;
        uint64_t node_before = 0;  // of all complete rounds before `older`
        uint64_t before = 0;
    };
    struct OneRank {
        Extent extent;
        std::vector<Slot> slots;
        bool is_queued = false;
        uint64_t next_order = 0;
        uint64_t node_behind = 0;
        std::unordered_map<uint64_t, LiveOperation*> node_ready;  // by order
        uint64_t next_multicast = 0;                              // to begin
        uint64_t multicast_before = 0;  // LiveOperation::before of the last that began
        std::unordered_map<uint64_t, LiveOperation*> multicast_ready;         // by order
        std::array<uint64_t, kMulticastsInFlightMax> multicasts_behind = {};  // by place
    };
    // One multicast. Those under way at any rank have different places, order modulo
    // kMulticastsInFlightMax, since they complete at all ranks together and so in their order.
    struct Meeting {
        std::vector<LiveOperation*> begun;  // by rank; empty before the first
        uint32_t count = 0;
    };
    struct Node {
        std::vector<LiveOperation*> arrived;  // by index on node
        uint32_t count = 0;
    };
    struct Hall {
        std::vector<Meeter> meeters;   // by rank
        std::vector<bool> is_awaited;  // by rank: a neighbour has begun to meet, it has not
        uint32_t awaited_count = 0;
        void await(Rank rank, bool is_awaited);
    };
    struct Key {
        Rank sender;
        Rank receiver;
        uint64_t lane;
        uint32_t message;
        bool is_counted;
        bool is_bundled;
        bool operator==(const Key&) const = default;
    };
    struct KeyHash {
        size_t operator()(const Key& key) const;
    };
    struct Wait {
        const LiveOperation* live = nullptr;
        Rank other = 0;
        bool is_local = false;
    };

    static Key key_of(Rank rank, uint64_t lane, const Operation& op);
    void queue(Rank rank);
    void begin_lane(OneRank& one, Rank rank, Slot& slot);
    void load(Rank rank, uint64_t lane, uint64_t round, LiveRound& into);
    void advance(Rank rank);
    bool advance(Rank rank, Slot& slot);
    void make_ready(Slot& slot);
    void fold_older(Slot& slot);
    void post(LiveOperation& live);
    void post_node(Rank rank);
    void begin_multicasts(Rank rank);
    void meet(LiveOperation& live);
    void join_meeters(LiveOperation& live);
    void complete(LiveOperation& live);
    [[nodiscard]] bool is_over(Rank rank) const;
    [[nodiscard]] Wait waits_for(Rank rank) const;
    [[nodiscard]] Wait waits_for(const LiveOperation& live) const;
    [[nodiscard]] Wait waits_to_meet(const LiveOperation& live) const;
    [[nodiscard]] std::vector<std::string> one_ended(size_t lines_max) const;
    [[nodiscard]] std::string cycle(Rank from) const;

    const topo::Placement& placement_;
    std::span<const std::unique_ptr<Program>> programs_;
    Interpreter& interpreter_;
    Round round_;
    std::vector<OneRank> ranks_;
    std::vector<Node> nodes_;
    std::vector<Rank> queue_;
    std::unordered_map<Key, LiveOperation*, KeyHash> posted_;
    std::array<Meeting, kMulticastsInFlightMax> meetings_;  // by place
    uint64_t multicasts_complete_ = 0;                      // all before this one
    std::unordered_map<uint64_t, Hall> halls_;              // by lane: those who meet there
};

}  // namespace tutti::check
