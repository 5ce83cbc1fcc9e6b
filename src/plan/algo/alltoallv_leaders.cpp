// SPDX-License-Identifier: BSD-3-Clause
// Alltoallv in which short blocks between two nodes go as one message, and long ones straight to
// their ranks.
//
// Source: Träff and Rougier 2014, "MPI Collectives and Datatypes for Hierarchical All-to-all
// Communication", doi:10.1145/2642769.2642770, an alltoall in which one process a node sends and
// receives for all. Letters: p ranks, r own rank, N nodes, m ranks of a node, f messages a round
// each way, i the distance between two ranks.
//
// Differs from the paper: blocks may have any lengths, which only the two ranks of a block know. So
// their lengths travel with them, and the sender decides. Each rank of a node leads for some of the
// other nodes, and long blocks have no leader.
//
// A block of at most bundled_bytes_max() bytes for another node is a bundled message, and so is
// each for a rank of the same node (plan/sched/bundle_rules.h). How these travel,
// docs/protocol/bundles.md says. All other blocks go as in a linear alltoallv (alltoall_linear.h),
// in a lane of their own: neither waits for the other.
//
// Example, p = 6 on 3 nodes, all blocks short, what rank 2 of node 1 does in lane 0:
//   round 0: copy own; recv and send by distance, all bundled;  round 1: node_bundles
//   Rank 2 leads for node 2, and rank 3 for node 0: so rank 2 sends one message and receives one.
//
// Where each rank has a node of its own, or with Tuning::flat, all blocks go as in the linear one.
// Tuning::fan_in is f of the long blocks, Tuning::segment_bytes cuts these.
//
// Invariants (checked in lab/check and the property test):
//   I1  a bundled message waits for nothing, and node_bundles for these alone
//   I2  at both ends a message is bundled or not, since both know its length; that there is one
//       both know even if the receiver has room for more
//   I3  as I3 of alltoall_linear.h, in each lane
#include "plan/algo/alltoall_linear.h"
#include "plan/sched/bundle_rules.h"

namespace tutti::algo {
namespace {

class AlltoallvLeaders final : public Program {
  public:
    AlltoallvLeaders(const Shape& shape, Rank rank, const Tuning& tuning)
        : p_(shape.ranks),
          r_(rank),
          f_(AlltoallLinear::at_once(tuning)),
          on_(shape.ranks_on),
          short_max_(on_ ? sched::bundled_bytes_max(*on_) : 0),
          whole_(shape, rank, 0),
          pieces_(shape, rank, tuning.segment_bytes) {}

    static constexpr std::string_view kName = "leaders";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override {
        const uint64_t straight = rounds_of(pieces_, f_);
        if (on_ == nullptr) return {1, 1, std::max<uint64_t>(straight, has_own() ? 1 : 0), 0};
        const uint64_t bundled = rounds_of(whole_, AlltoallLinear::kAtOnce) + 1;
        return {.lanes = 2,
                .lanes_in_flight = 2,
                .rounds = std::max(bundled, straight),
                .scratch_bytes = sched::bundle_room_bytes(*on_),
                .bundled_ranks = on_->ranks(),
                .bundled_nodes = on_->nodes()};
    }
    [[nodiscard]] sched::BundledOn bundled_on() const override { return {on_, r_}; }
    void set_blocks(const sched::CallBlocks& blocks) override {
        whole_.set_blocks(blocks);
        pieces_.set_blocks(blocks);
    }
    void read(uint64_t lane, uint64_t round, sched::Round& out) const override {
        out.clear();
        if (lane == 0 && round == 0 && has_own()) out.add(pieces_.copy_own());
        if (on_ == nullptr || lane == 1) return add(pieces_, round, f_, false, out);
        const uint64_t end = rounds_of(whole_, AlltoallLinear::kAtOnce);
        if (round < end) add(whole_, round, AlltoallLinear::kAtOnce, true, out);
        if (round != end) return;
        sched::Operation bundles =
            sched::node_operation(sched::OperationKind::kNodeBundles, 0, sched::kAfterAll, 0);
        bundles.to = sched::scratch(0, sched::bundle_room_bytes(*on_));
        out.add(bundles);
    }

  private:
    [[nodiscard]] bool has_own() const { return pieces_.has_own(); }
    [[nodiscard]] uint64_t rounds_of_piece(uint64_t f) const { return (p_ - 1 + f - 1) / f; }
    [[nodiscard]] uint64_t rounds_of(const BlockPieces& pieces, uint64_t f) const {
        return pieces.count() * rounds_of_piece(f);
    }
    // first: its first piece. Bundled blocks for other nodes have no second one.
    [[nodiscard]] bool is_bundled(Rank q, const sched::Block& first) const {
        if (on_ == nullptr) return false;
        return first.bytes <= short_max_ || on_->node_of(q) == on_->node_of(r_);
    }
    // The blocks of some distances, or pieces of them, that are bundled, or those that are not. One
    // that goes by itself has a bundled message of no bytes, which tells that it is there.
    void add(const BlockPieces& pieces, uint64_t round, uint64_t f, bool bundled,
             sched::Round& out) const {
        if (round >= rounds_of(pieces, f)) return;
        const uint64_t piece = round / rounds_of_piece(f);
        const uint64_t first = 1 + round % rounds_of_piece(f) * f;
        const uint64_t end = std::min<uint64_t>(first + f, p_);
        const auto message = static_cast<uint32_t>(piece);
        const auto add_one = [&](Rank q, const sched::Block& begin, sched::Block part,
                                 auto make_operation) {
            const bool is_elsewhere = is_bundled(q, begin) != bundled;
            if (part.bytes == 0 || (is_elsewhere && (!bundled || piece > 0))) return;
            if (is_elsewhere) part = {};
            out.add(make_operation(q, message, part, sched::kAfterNone)).is_bundled = bundled;
        };
        for (uint64_t i = first; i < end; ++i) {
            const auto q = static_cast<Rank>((r_ + p_ - i) % p_);
            add_one(q, whole_.received(q, 0), pieces.received(q, piece), sched::recv);
        }
        for (uint64_t i = first; i < end; ++i) {
            const auto q = static_cast<Rank>((r_ + i) % p_);
            add_one(q, whole_.sent(q, 0), pieces.sent(q, piece), sched::send);
        }
    }

    uint64_t p_;
    Rank r_;
    uint32_t f_;
    const topo::Placement* on_;
    uint64_t short_max_;  // bytes between nodes
    BlockPieces whole_;
    BlockPieces pieces_;
};

// What a price takes for it, all blocks being alike: a leader's bundles as messages, and what each
// rank copies in front and behind.
class PricedLeaders final : public Program {
  public:
    PricedLeaders(const Shape& shape, Rank rank)
        : on_(*shape.ranks_on),
          node_(on_.node_of(rank)),
          index_(on_.index_on_node(rank)),
          members_(static_cast<uint32_t>(on_.members(node_).size())),
          n_(shape.bytes),
          copied_(shape.ranks * (n_ + sched::kBundledLengthBytes)) {}

    [[nodiscard]] std::string_view name() const override { return AlltoallvLeaders::kName; }
    [[nodiscard]] sched::Extent extent() const override {
        return {1, 1, 2 + exchange_rounds(), sched::bundle_room_bytes(on_)};
    }
    void read(uint64_t, uint64_t round, sched::Round& out) const override {
        out.clear();
        if (round == 0 || round > exchange_rounds()) {
            const sched::Block copied = sched::scratch(0, copied_);
            out.add(sched::copy(copied, copied, round == 0 ? sched::kAfterNone : sched::kAfterAll));
            return;
        }
        const uint32_t nodes = on_.nodes();
        const uint32_t led = sched::led_nodes(nodes, members_, index_);
        const auto first = static_cast<uint32_t>((round - 1) * AlltoallLinear::kAtOnce);
        const uint32_t end = std::min(first + AlltoallLinear::kAtOnce, led);
        for (const bool sends : {false, true}) {
            for (uint32_t k = first; k < end; ++k) {
                const uint32_t other = (node_ + 1 + index_ + k * members_) % nodes;
                const Rank peer = sched::bundle_leader(on_, other, node_);
                const sched::Block bundle = sched::scratch(0, bundle_bytes(other, sends));
                out.add(sends ? sched::send(peer, 0, bundle) : sched::recv(peer, 0, bundle));
            }
        }
    }

  private:
    // The most of any leader.
    [[nodiscard]] uint64_t exchange_rounds() const {
        const uint64_t led = sched::led_nodes(on_.nodes(), members_, 0);
        return (led + AlltoallLinear::kAtOnce - 1) / AlltoallLinear::kAtOnce;
    }
    [[nodiscard]] uint64_t bundle_bytes(uint32_t other, bool sends) const {
        const uint64_t others = on_.members(other).size();
        const uint64_t from = sends ? members_ : others;
        const uint64_t to = sends ? others : members_;
        return from * (sched::kBundleRowBytes + to * (sched::kBundledLengthBytes + n_));
    }

    const topo::Placement& on_;
    uint32_t node_;
    uint32_t index_;
    uint32_t members_;
    uint64_t n_;
    uint64_t copied_;
};

std::unique_ptr<Program> make_priced(const Shape& shape, Rank rank, const Tuning& tuning) {
    const uint64_t most = shape.ranks_on ? sched::bundled_bytes_max(*shape.ranks_on) : 0;
    if (shape.bytes > 0 && shape.bytes <= most) return std::make_unique<PricedLeaders>(shape, rank);
    return std::make_unique<AlltoallLinear>(shape, rank, tuning);
}

}  // namespace

Algorithm alltoallv_leaders() {
    return {.name = AlltoallvLeaders::kName,
            .collective = TUTTI_ALLTOALLV,
            .summary = "short blocks of two hosts as one message, long ones straight",
            .obstacle = [](const Shape& shape) -> std::string_view {
                if (!shape.ranks_on) return {};
                const uint64_t most = shape.ranks_on->members_max();
                return sched::bundle_bytes_max(most, most, sched::kBundledBytesMax) >
                               sched::kBlockBytesMax
                           ? kTooLong
                           : std::string_view();
            },
            .make = make<AlltoallvLeaders>,
            .make_priced = make_priced,
            // Each of two lanes has a slot of as much.
            .scratch_bytes = [](const Shape& shape, const Tuning&) -> uint64_t {
                return shape.ranks_on ? 2 * align_up(sched::bundle_room_bytes(*shape.ranks_on)) : 0;
            },
            .steps = AlltoallLinear::steps,
            .has_single_blocks = true,
            .has_fan_in = true,
            .has_pieces = true,
            .fan_in_max = AlltoallLinear::kAtOnce};
}

}  // namespace tutti::algo
