// SPDX-License-Identifier: BSD-3-Clause
// A Program is what one rank does in one collective call, as data: operations on blocks of named
// buffers, in lanes and rounds, read lazily. Every rank of the team has one; together they can be
// checked, counted, simulated, drawn and run.
//
// Lanes run beside each other (one lane a piece of the vector, mostly). At most `lanes_in_flight`
// are under way; lane n begins when lane n - lanes_in_flight is complete on this rank, and uses the
// same slot: slot = lane modulo lanes_in_flight. Within a lane an operation of round k may begin
// when
//   - all operations of the lane's rounds up to k - 2 are complete, and
//   - those operations i of round k - 1 are complete whose bit i is set in `after`.
// Node operations moreover run strictly in the order of their number `order`. Multicasts, sent and
// received, are counted alike on all ranks of the team: number k is one rank's kMulticast and every
// other rank's kRecvMulticast. On every rank they begin in the order of their numbers, k only when
// all up to k - kMulticastsInFlightMax are complete; they complete in any order.
// That is all that orders operations of a rank; check/prove proves that it is enough.
//
// Participants that meet are joined by kMeetWith to a tree, along which messages follow the
// arrivals (run/adapt/saturation.h). A round that meets holds one kMeetWith for each neighbour and
// then the kMeet, all with the same `after`: the parent in front (Incoming::kLeft), then the
// children (kRight) in ascending order. The participants below a child come behind the participant
// and the children before it, and no other comes in between: so operands keep their order. At most
// one round of a lane meets. The multicast of a kMeetMulticast has a number like all others, and
// its sender is the participant that has everything: all ranks of the team meet then, and one lane
// is in flight. A kMeet is complete when all who meet have begun theirs and their fold is there; a
// kMeetWith when each of the two has had the other's message.
//
// In a round that feeds, kFeed stands in the place of the kMeet, and the tree is a star whose
// middle has the block. The middle tells each participant that has announced itself which one feeds
// it, and which ones it feeds (docs/protocol/feeding.md). A kFeed is complete where the block has
// come, and in the middle when all others have been told and what it feeds itself has left. Another
// one's kMeetWith is complete when what that one feeds has left, too: until then no one writes
// there.
//
// Messages of no bytes may be counted, at both ends: where there are additions to a counter at the
// receiver they go so (run/transport/transport.h). Then a rank's receives of such messages are
// complete when all of them have come that it has begun to receive, from any rank: one alone says
// nothing, so a rank lets nothing depend on some of them but not on the rest.
//
// Messages may be bundled, at both ends, in one lane and before the rank's kNodeBundles
// (plan/sched/bundle_rules.h). Those between ranks of two nodes, one from each to each, go together
// as one message; those within a node by its memory. They are complete when the kNodeBundles is,
// which begins when its rank has begun all of them. So what another operation touches is no block
// of a bundled message.
//
// A kMeetMulticast about no vector may be counted, on all ranks alike: where there is a word to
// which all of the team can add (likewise), each rank adds to it when it has begun its own, the one
// that is told that all others have multicasts, and its kMeetWith bring nothing.
//
// A send is complete when its block may be changed again, which may be as late as when the receive
// was posted; a receive when the block is there. A multicast, sent or received, may be complete no
// sooner than all ranks have begun it: a rank that comes late may hold up all others.
//
// Buffers, by collective (base/collectives.h has all, tutti_call says the same):
//   bcast      output: the payload on every rank, at the root the source. No input.
//   reduce     input: the vector. output: at the root only.
//   allreduce  input, output: the vector.
//   gather     input: own block. output: all blocks, at the root only.
//   scatter    input: all blocks, at the root only. output: own block.
//   allgather  input: own block. output: all blocks.
//   alltoall   input: a block for each rank. output: a block from each rank.
//   gatherv, scatterv, alltoallv, alltoallw  as those without v, each block where CallBlocks says.
// Input is never written. In place, input stands inside output (scatter: output inside input) where
// the result of the call would put it, and the same Program must be right then too. An alltoall is
// never in place, whatever its blocks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/assert.h"
#include "plan/sched/shape.h"

namespace tutti::sched {

enum class OperationKind : uint8_t {
    kSend,           // left -> message to peer
    kRecv,           // message from peer -> to
    kRecvReduce,     // message from peer -> left or right (see incoming), then to = left op right
    kCopy,           // to = left; touches nothing where they are the same bytes (in place)
    kReduce,         // to = left op right
    kMulticast,      // left -> all other ranks of the team
    kRecvMulticast,  // multicast of the rank `peer` -> to
    kMeetWith,       // a neighbour in the kMeet of the same round; `to` is room for messages
    kMeet,           // to = fold of the `left` of all who meet; `right` is room for a message
    kMeetMulticast,  // the same; who has everything first tells all ranks by multicast
    kFeed,           // `left` of the middle -> `to` of all others; `right` is its first piece
    kNodeArrive,     // no blocks: the root waits until all members have come here
    kNodeRelease,    // no blocks: all members wait until the root has come here
    kNodeBcast,      // `to` of the root -> `to` of all members
    kNodeReduce,     // fold of all members' `left` in the order of ranks -> `to` at the root
    kNodeGather,     // all members' `left`, equally long, one after the other -> `to` at the root
    kNodeScatter,    // the reverse: `left` at the root, cut equally -> `to` of every member
    kNodeScan,       // fold of `left` of the members up to each, in the order of ranks -> its `to`
    kNodeExscan,     // the same without its own; the first member has no `to`
    kNodeGatherv,    // as kNodeGather, each as long as Program::node_lengths() says
    kNodeScatterv,   // as kNodeScatter, likewise
    kNodeBundles     // all members' bundled messages leave and come; `to` is room for bundles
};

enum class Buffer : uint8_t {
    kNone,
    kInput,
    kOutput,
    kScratch  // of the lane's slot: offsets begin at 0 in every lane; contents do not outlive it
};

struct Block {
    Buffer buffer = Buffer::kNone;
    uint64_t offset = 0;  // bytes
    uint64_t bytes = 0;
    bool operator==(const Block&) const = default;
};

// Which operand of kRecvReduce the message is received into.
enum class Incoming : uint8_t { kLeft, kRight };

inline constexpr uint32_t kRoundOpsMax = 64;
inline constexpr uint32_t kLanesInFlightMax = 16;  // slots of a transport
// Of a message; the blocks of other operations may be longer.
inline constexpr uint64_t kBlockBytesMax = uint64_t{1} << 30;  // transport::kMessageBytesMax
// Of a multicast; longer ones are cut (run/transport/multicast.h).
inline constexpr uint64_t kMulticastBytesMax = 16 * 1024;
inline constexpr uint32_t kMulticastsInFlightMax = 32;
inline constexpr uint64_t kAfterAll = ~uint64_t{0};
inline constexpr uint64_t kAfterNone = 0;
// Bit of operation i of the round before.
constexpr uint64_t after_op(uint32_t i) { return uint64_t{1} << i; }

struct Operation {
    OperationKind kind = OperationKind::kCopy;
    Incoming incoming = Incoming::kRight;
    // Messages, kMeetWith: the participant at the other end. kRecvMulticast: the rank that sends,
    // of the team. kMeetMulticast: the own rank. Node operations: the root's index on its node
    // (Placement::index_on_node); 0 where there is none.
    Rank peer = 0;
    bool is_counted = false;  // of a kSend, kRecv or kMeetMulticast, see above
    bool is_bundled = false;  // of a kSend or kRecv, likewise
    // Messages: the same number at both ends, different for all messages of a lane from one rank to
    // another, and ascending in the order in which both ends have them in their rounds.
    // kFeed: how many one feeds at most.
    uint32_t message = 0;
    uint64_t after = kAfterAll;
    uint64_t order = 0;  // node operations, and apart from them multicasts: 0, 1, 2 ... over the
                         // whole Program. kFeed: how many it feeds if all are there at once, the
                         // middle first and then its children in their order: a tree in preorder.
                         // kMeetWith: one more than the neighbour's index on the same node, where
                         // they tell each other what they have through its memory; else 0
    Block to;
    Block left;
    Block right;
    bool operator==(const Operation&) const = default;
};

// Where an operation stands in its rank's Program.
struct Position {
    uint64_t lane = 0;
    uint64_t round = 0;
    uint32_t index = 0;  // in the round
    bool operator==(const Position&) const = default;
};

// The operations of one round of one lane. Without memory of its own beyond this.
class Round {
  public:
    void clear() { count_ = 0; }
    Operation& add(const Operation& operation) {
        TUTTI_ASSERT(count_ < kRoundOpsMax, "a round has at most kRoundOpsMax operations");
        return operations_[count_++] = operation;
    }
    [[nodiscard]] uint32_t size() const { return count_; }
    Operation& operator[](uint32_t i) { return operations_[i]; }
    const Operation& operator[](uint32_t i) const { return operations_[i]; }
    [[nodiscard]] Operation* begin() { return operations_.data(); }
    [[nodiscard]] Operation* end() { return operations_.data() + count_; }
    [[nodiscard]] const Operation* begin() const { return operations_.data(); }
    [[nodiscard]] const Operation* end() const { return operations_.data() + count_; }

  private:
    std::array<Operation, kRoundOpsMax> operations_;
    uint32_t count_ = 0;
};

struct Extent {
    uint64_t lanes = 1;
    uint32_t lanes_in_flight = 1;
    uint64_t rounds = 0;         // of the longest lane, on this rank; rounds may be empty
    uint64_t scratch_bytes = 0;  // of one slot
    uint64_t multicasts = 0;     // sent and received; the same on all ranks
    // Where messages are bundled, of the team: its ranks, and its nodes.
    uint32_t bundled_ranks = 0;
    uint32_t bundled_nodes = 0;
};

// The blocks of one rank's call of a vector form, in bytes, by rank. nullptr: a side that holds one
// block, or that is not significant on this rank.
struct CallBlocks {
    const uint64_t* input_bytes = nullptr;
    const uint64_t* input_offsets = nullptr;
    const uint64_t* output_bytes = nullptr;
    const uint64_t* output_offsets = nullptr;
    uint64_t own_bytes = 0;  // where a side holds this rank's block alone
};

// A rank among the nodes of its team, where its messages are bundled; null: none are.
struct BundledOn {
    const topo::Placement* placement = nullptr;
    Rank rank = 0;
};

class Program {
  public:
    virtual ~Program() = default;
    // A few words that stay valid: "ring", "binomial".
    [[nodiscard]] virtual std::string_view name() const = 0;
    // Lanes, multicasts and scratch do not depend on the blocks of a call; rounds may.
    [[nodiscard]] virtual Extent extent() const = 0;
    // Of a vector form whose lengths not all ranks know (has_private_lengths): the blocks of the
    // call that comes next, which stay until it has ended. Until it is called, all blocks are as
    // long as Shape::bytes says, and one stands behind the other.
    virtual void set_blocks(const CallBlocks& blocks) { static_cast<void>(blocks); }
    // What each rank of the own node gives to a kNodeGatherv or has of a kNodeScatterv, by its
    // index there: the same in all of these. Empty where there are none.
    [[nodiscard]] virtual std::span<const uint64_t> node_lengths() const { return {}; }
    // The placement outlives the Program.
    [[nodiscard]] virtual BundledOn bundled_on() const { return {}; }
    // Clears `out` and puts the operations of a round there. Pure, allocates nothing.
    // lane < extent().lanes, round < extent().rounds.
    virtual void read(uint64_t lane, uint64_t round, Round& out) const = 0;
};

// Makers of operations, so that algorithms read like their papers. `after` as above.
Operation send(Rank peer, uint32_t message, Block what, uint64_t after = kAfterAll);
Operation recv(Rank peer, uint32_t message, Block to, uint64_t after = kAfterAll);
// to = incoming op own, the message landing in `landing`.
Operation recv_reduce_left(Rank peer, uint32_t message, Block to, Block landing, Block own,
                           uint64_t after = kAfterAll);
// to = own op incoming.
Operation recv_reduce_right(Rank peer, uint32_t message, Block to, Block own, Block landing,
                            uint64_t after = kAfterAll);
Operation multicast(uint64_t order, Block what, uint64_t after = kAfterAll);
Operation recv_multicast(Rank sender, uint64_t order, Block to, uint64_t after = kAfterAll);
Operation copy(Block to, Block from, uint64_t after = kAfterAll);
Operation reduce(Block to, Block left, Block right, uint64_t after = kAfterAll);
// Of the node's; its blocks are to be set. root: its index on the node; 0 where there is none.
Operation node_operation(OperationKind kind, Rank root, uint64_t after, uint64_t order);

// Of the message that passes each way between two who meet, about a vector of so many bytes: what
// the rest is (16 bytes), and the operands from before and behind the receiver. A kMeetWith has
// room for two of them, a kMeet for one.
constexpr uint64_t meet_message_bytes(uint64_t bytes) { return 16 + 2 * bytes; }
// Of the multicast, with the result.
constexpr uint64_t meet_multicast_bytes(uint64_t bytes) { return 16 + bytes; }
Operation meet_with(Rank peer, Incoming incoming, Block message_buffer, uint64_t after = kAfterAll);
// The same of a neighbour on the same node, by its index there. Messages of one lane at a time, of
// so many bytes at most, may go by the node's memory, and then no other node operations are there.
Operation meet_near(Rank peer, uint32_t index, Incoming incoming, Block message_buffer,
                    uint64_t after = kAfterAll);
inline constexpr uint64_t kLetterBytesMax = 1024;
constexpr bool is_near(const Operation& op) {
    return op.kind == OperationKind::kMeetWith && op.order != 0;
}
Operation meet(Block to, Block from, Block message_buffer, uint64_t after = kAfterAll);
Operation meet_multicast(Rank own, uint64_t order, Block to, Block from, Block message_buffer,
                         uint64_t after = kAfterAll);

// Of those who are fed: whom one feeds at most, and what tells it who.
inline constexpr uint32_t kFedMax = 14;
inline constexpr uint64_t kFeedMessageBytes = 64;
// Either `to` or `left` is nothing. piece_bytes: of all pieces but the last.
Operation feed(Block to, Block left, uint64_t piece_bytes, uint32_t fed, uint32_t fed_max,
               uint64_t after = kAfterAll);
// Of a kFeed: what it is about, and into how many messages it is cut.
constexpr const Block& fed_block(const Operation& op) { return op.to.bytes > 0 ? op.to : op.left; }
constexpr uint64_t fed_pieces(const Operation& op) {
    if (op.right.bytes == 0) return 1;
    return (fed_block(op).bytes + op.right.bytes - 1) / op.right.bytes;
}

constexpr bool is_message(OperationKind kind) { return kind <= OperationKind::kRecvReduce; }
constexpr bool is_multicast(OperationKind kind) {
    return kind == OperationKind::kMulticast || kind == OperationKind::kRecvMulticast;
}
constexpr bool is_meet(OperationKind kind) {
    return kind >= OperationKind::kMeetWith && kind <= OperationKind::kFeed;
}
constexpr bool is_node(OperationKind kind) { return kind >= OperationKind::kNodeArrive; }
// Node operations that move nothing and wait all the same.
constexpr bool has_no_blocks(OperationKind kind) {
    return kind >= OperationKind::kNodeArrive && kind <= OperationKind::kNodeRelease;
}
// Whether Operation::order means something.
constexpr bool has_order(OperationKind kind) {
    return is_node(kind) || is_multicast(kind) || kind == OperationKind::kMeetMulticast;
}

inline Block input(uint64_t offset, uint64_t bytes) { return {Buffer::kInput, offset, bytes}; }
inline Block output(uint64_t offset, uint64_t bytes) { return {Buffer::kOutput, offset, bytes}; }
inline Block scratch(uint64_t offset, uint64_t bytes) { return {Buffer::kScratch, offset, bytes}; }

}  // namespace tutti::sched
