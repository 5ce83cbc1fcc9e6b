// SPDX-License-Identifier: BSD-3-Clause
// What makes a node's part of a team, a slice of memory for each of its tracks: the rounds are in
// make_node.cpp, the memory that they are about in node_memory.cpp. Inside bootstrap only.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "run/bootstrap/make_node.h"
#include "run/bootstrap/node_facts.h"
#include "run/bootstrap/node_home.h"
#include "run/bootstrap/peer_gather.h"

namespace tutti::bootstrap {

struct NodeOffer {
    Report report;
    uint64_t arena = 0;
    int64_t fd = -1;
    int64_t offset = 0;
    uint64_t chunk_bytes = 0;
    uint64_t chunk_count = 0;
    engine::NodeFacts facts;  // known from an earlier team of the same processes
    uint64_t socket_name = 0;
    uint64_t mapping = 0;  // address of the leader's shared_ptr, for threads of its process
    uint32_t is_tree = 0;
    uint32_t is_crowded = 0;
    uint32_t is_reserved = 0;  // by these members, for an earlier team
    uint32_t is_lean = 0;
    uint32_t header_member = 0;  // of a lean team: whose home has the header
    uint64_t counted_bytes = 0;  // of the slice, in the homes' account
    HomeOffer homes;             // new ones
};

// Not zero. Tells apart who has which place among them. Allocates nothing.
uint64_t hash_of(const std::vector<NodeMember>& members);

static_assert(sizeof(NodeOffer) <= PeerGather::kBytesMax);

class NodeMaker {
  public:
    NodeMaker(engine::Context& context, Circle& circle, std::span<const NodeMember> members,
              uint32_t tracks, bool may_be_lean)
        : context_(context),
          circle_(circle),
          introduced_(members),
          tracks_(tracks),
          may_be_lean_(may_be_lean),
          home_(context) {}
    ~NodeMaker();
    NodeMaker(const NodeMaker&) = delete;
    NodeMaker& operator=(const NodeMaker&) = delete;

    Result<NodePart> make();

  private:
    // Between two rounds: nothing more once this member cannot go on.
    Result<Done> meet();
    NodeOffer make_offer();
    Report find_own_arena();
    Report offer_slice(NodeOffer& offer);
    Report make_headers(const node::Geometry& geometry, bool is_reserved);
    void offer_entries(NodeOffer& offer);
    [[nodiscard]] bool admits_slice(size_t bytes, size_t used, bool may_be_lean) const;
    std::vector<topo::CpuSet> cpus() const;
    void write_places();
    Result<Done> take_offer();
    Report attach();
    Report attach_lean();
    Report attach_by_socket(bool i_need_it, std::vector<uint64_t> receivers);
    Report claim(const std::shared_ptr<arena::Mapping>& mapping);
    Result<Done> attach_all();
    [[nodiscard]] uint32_t is_proved() const;
    Result<Done> verify();
    Result<Done> learn();
    // Whether the members of a team with this offer are to find out facts.
    [[nodiscard]] bool learns(const NodeOffer& offer) const {
        return !offer.is_lean && !offer.facts.is_known &&
               wants_facts(context_.settings(), offer.is_crowded != 0);
    }
    void clear_area(const node::Slice& slice) const;
    // As the team's tuning wants it; before its first call.
    void recut(node::Team& node) const {
        node.slice.geometry = geometry_.recut(node.tuning.pieces.bytes_max, node.tuning.ring_bytes);
    }
    // Of a track. Those of all tracks stand one behind the other.
    [[nodiscard]] node::Slice slice(uint32_t track) const;
    [[nodiscard]] std::byte* tree_space() const;
    void read_layout();
    void prepare();
    void prepare(node::Team& node, uint32_t track);
    void hold_memory();
    NodePart finish();
    bool is_leader() const { return circle_.rank == leader_; }
    bool shares_process() const { return members_[leader_].process == context_.process(); }
    // Of all tracks.
    size_t slices_bytes() const { return tracks_ * geometry_.slice_bytes; }

    engine::Context& context_;
    Circle& circle_;
    Report mine_;  // the first that kept this member from going on
    NodePart part_;
    std::span<const NodeMember> introduced_;
    uint32_t tracks_;
    bool may_be_lean_;
    NodeHome home_;
    std::vector<NodeMember> members_;
    uint32_t leader_ = 0;
    NodeOffer offer_;
    std::shared_ptr<arena::Arena> arena_;
    std::shared_ptr<arena::Mapping> own_mapping_;  // the leader's, whose address it offers
    off_t offset_ = 0;                             // of the slice that the leader took
    std::shared_ptr<arena::Mapping> mapping_;
    node::Geometry geometry_;
    bool skips_proof_ = false;
    bool all_have_homes_ = false;  // new ones
    // Of a lean team: by member, and the header's; the own ones.
    struct Entries {
        std::vector<uint32_t> of_members;
        uint32_t header_at = 0;
        std::optional<uint32_t> own;
        std::optional<uint32_t> own_header;
    } entries_;
    size_t counted_bytes_ = 0;  // the leader's, of a slice
    std::optional<FactFinder> finder_;
};

}  // namespace tutti::bootstrap
