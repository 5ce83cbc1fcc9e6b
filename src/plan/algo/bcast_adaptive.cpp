// SPDX-License-Identifier: BSD-3-Clause
// Broadcast that feeds early participants first: a late participant delays only the root.
//
// Source: ours (docs/protocol/feeding.md); that trees follow arrivals is the idea of Mamidala, Liu,
// Panda 2004, for barrier and allreduce. Letters: p participants, f fed by one at most, S pieces.
//
// A participant that arrives tells the root. The root makes a tree of those that have arrived,
// itself at the top (run/adapt/fold_tree.h), and tells each which one feeds it and which it feeds.
// Pieces of the vector follow along that tree. A participant that comes while the root has pieces
// to send is added below one that can feed more; a later one begins the next tree. So only the root
// waits for late participants.
//
// Example, p = 8, f = 2, root 0, all there at once:  0-1, 0-5, 1-2, 1-4, 2-3, 5-6, 5-7; if 1 is
// late: 0-2, 0-5, 2-3, 2-4, 5-6, 5-7 and then 0-1.
//
// Tuning::fan_in is f, otherwise kFeedFanIn; Tuning::segment_bytes cuts pieces, otherwise
// kChainSegment.
#include "plan/algo/algorithms.h"
#include "run/adapt/fold_tree.h"

namespace tutti::algo {
namespace {

uint64_t piece_bytes(const Shape& shape, const Tuning& tuning) {
    return std::min(tuning.segment_bytes == 0 ? kChainSegment : tuning.segment_bytes, shape.bytes);
}

// A chain would take half as long where all are there in order, and where they come in another one
// its pieces cross switches to and fro: 256 KiB to 16 hosts on leaves of 4, all at once, 25 Gbit/s,
// took 413 us by a chain, 262 us by 2 and 341 us by 3 or 4 (tutti simulate).
constexpr uint32_t kFeedFanIn = 2;

uint32_t fed_max(const Tuning& tuning) {
    return std::min(tuning.fan_in == 0 ? kFeedFanIn : tuning.fan_in, sched::kFedMax);
}

class BcastAdaptive final : public Program {
  public:
    BcastAdaptive(const Shape& shape, Rank rank, const Tuning& tuning)
        : p_(shape.ranks),
          rank_(rank),
          root_(shape.root),
          n_(shape.bytes),
          piece_(piece_bytes(shape, tuning)),
          f_(fed_max(tuning)) {}

    static constexpr std::string_view kName = "adaptive";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override {
        if (n_ == 0) return {1, 1, 0, 0};
        return {1, 1, 1, neighbours() * kBufferBytes};
    }
    void read(uint64_t, uint64_t round, sched::Round& out) const override {
        out.clear();
        if (round > 0 || n_ == 0) return;
        for (Rank i = 0; i < neighbours(); ++i) {
            const Rank peer = is_root() ? (root_ + 1 + i) % p_ : root_;
            const auto place = is_root() ? sched::Incoming::kRight : sched::Incoming::kLeft;
            out.add(sched::meet_with(peer, place, sched::scratch(i * kBufferBytes, kBufferBytes),
                                     sched::kAfterNone));
        }
        const uint32_t fed = adapt::place_in_tree(p_, f_, (rank_ + p_ - root_) % p_).children;
        const sched::Block block = sched::output(0, n_);
        out.add(sched::feed(is_root() ? sched::Block{} : block, is_root() ? block : sched::Block{},
                            piece_, fed, f_, sched::kAfterNone));
    }

  private:
    // One message each way.
    static constexpr uint64_t kBufferBytes = 2 * sched::kFeedMessageBytes;
    [[nodiscard]] bool is_root() const { return rank_ == root_; }
    [[nodiscard]] Rank neighbours() const { return is_root() ? p_ - 1 : 1; }

    Rank p_;
    Rank rank_;
    Rank root_;
    uint64_t n_;
    uint64_t piece_;
    uint32_t f_;
};

uint64_t scratch_of_root(const Shape& shape, const Tuning& tuning) {
    return BcastAdaptive(shape, shape.root, tuning).extent().scratch_bytes;
}

// Its word to the root, the answer, and down the tree.
uint64_t feeding_steps(const Shape& shape, const Tuning& tuning) {
    const uint64_t f = fed_max(tuning);
    uint64_t level = 1;
    uint64_t depth = 0;
    for (uint64_t reached = 1; reached < shape.ranks; reached += level) {
        level *= f;
        ++depth;
    }
    return 2 + depth;
}

// The root's round has an operation for each other one.
std::string_view if_too_many(const Shape& shape) {
    static_assert(sched::kRoundOpsMax == 64);
    return shape.ranks > sched::kRoundOpsMax ? "more than 64 would be fed from one root" : "";
}

}  // namespace

Algorithm bcast_adaptive() {
    return {.name = BcastAdaptive::kName,
            .collective = TUTTI_BCAST,
            .summary = "feeds early ranks first: only the root waits for late ones",
            .obstacle = if_too_many,
            .make = make<BcastAdaptive>,
            .scratch_bytes = scratch_of_root,
            .steps = feeding_steps,
            .has_fan_in = true,
            .has_pieces = true,
            .segment_bytes_max = sched::kBlockBytesMax,
            .fan_in_max = sched::kFedMax,
            .follows_arrival = true};
}

}  // namespace tutti::algo
