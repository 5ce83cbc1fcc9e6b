// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/many_hosts.h"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "base/amounts.h"
#include "plan/price/growth.h"
#include "plan/price/share.h"
#include "plan/select/predict.h"

namespace tutti::select {
namespace {

using sched::Rank;

// Participants of the smallest cluster where the large one is larger in both directions, so that
// there are four; twice as many where there are two; three quarters of it where it has no power of
// two.
constexpr uint32_t kSmallest = 8;
// So many times as many of algorithms of which most participants have one message, or few; half as
// many where they have many, none of which are left out.
constexpr uint32_t kLargest = 4;
constexpr uint32_t kLarger = 2;
constexpr uint64_t kFewMessages = 4;
constexpr uint64_t kManyMessages = 12;
// Of the largest of them.
constexpr uint32_t kLargestMax = 128;
// So many leaves are taken as they are.
constexpr uint32_t kLeavesKept = 4;
// Participants on a circulant graph that are followed, in some ms.
constexpr uint32_t kCirculantFollowedMax = 512;
// A rate that no time is taken for: what base/amounts.h allows at most.
constexpr uint64_t kAtOnce = uint64_t{1} << 54;

// The smallest cluster, and in which directions the large one is larger.
struct Sizes {
    uint32_t hosts = 0;  // of a leaf
    uint32_t leaves = 0;
    bool more_hosts = false;
    bool more_leaves = false;
    [[nodiscard]] uint32_t hosts_of(size_t corner) const {
        return hosts << (more_hosts && (corner & 1) != 0 ? 1 : 0);
    }
    [[nodiscard]] uint32_t leaves_of(size_t corner) const {
        return leaves << (more_leaves && (corner & 2) != 0 ? 1 : 0);
    }
    // The corner of which it is another name, where one direction is left out.
    [[nodiscard]] size_t same_as(size_t corner) const {
        return corner & ((more_hosts ? 1u : 0u) | (more_leaves ? 2u : 0u));
    }
};

// The least number of 2^k, or of 3 * 2^k, from `least` on.
uint32_t from(uint32_t least, bool of_three) {
    if (!of_three) return std::bit_ceil(least);
    return 3 * std::bit_ceil((least + 2) / 3);
}

// Participants are a power of two where they are one in the large cluster, and else not.
Sizes sizes_for(const price::Outline& outline, uint32_t smallest, uint32_t hosts_min) {
    Sizes sizes;
    const bool of_three = !std::has_single_bit(outline.hosts);
    const uint32_t each = (outline.hosts + outline.leaves - 1) / outline.leaves;
    sizes.more_leaves = outline.leaves > kLeavesKept;
    sizes.leaves = sizes.more_leaves ? (of_three ? 3 : 2) : outline.leaves;
    const bool hosts_of_three = of_three && std::has_single_bit(sizes.leaves);
    const uint32_t participants = sizes.more_leaves ? smallest : 2 * smallest;
    const uint32_t wanted = std::max((participants + sizes.leaves - 1) / sizes.leaves, hosts_min);
    sizes.hosts = from(std::max(wanted, 1u), hosts_of_three);
    sizes.more_hosts = 2 * sizes.hosts <= each;
    if (sizes.more_hosts) return sizes;
    sizes.hosts = each;
    if (sizes.more_leaves && each * sizes.leaves < participants) {
        sizes.leaves = from((2 * smallest + each - 1) / each, of_three);
        sizes.more_leaves = 2 * sizes.leaves <= outline.leaves;
    }
    return sizes;
}

bool fit(const Sizes& sizes, const price::Outline& outline) {
    return sizes.hosts_of(3) * sizes.leaves_of(3) <= std::min(kLargestMax, outline.hosts);
}

// Participants of the large cluster that stand for all, in their order.
struct Picked {
    uint32_t leaf = 0;
    uint32_t host = 0;  // of its leaf
};

std::vector<Picked> pick(const algo::InnerLane& lane, const topo::Fabric& fabric,
                         const price::Outline& outline, const Sizes& sizes) {
    const uint32_t leaves = sizes.leaves_of(3);
    const uint32_t hosts = sizes.hosts_of(3);
    std::vector<uint32_t> taken(leaves);
    std::vector<Picked> picked;
    for (const uint32_t host : lane.node_of) {
        const uint32_t leaf = outline.leaf_of_switch[fabric.switch_of_host[host]];
        if (leaf >= leaves || taken[leaf] == hosts) continue;
        picked.push_back({leaf, taken[leaf]++});
        if (picked.size() == size_t{leaves} * hosts) break;
    }
    return picked;
}

// Of so many blocks among them, the longest in front: one is long, and all others are alike
// (length_class()).
sched::OwnLengths some_of(const sched::BlockLengths& lengths, uint32_t blocks) {
    if (!lengths.are_there()) return {};
    std::vector<uint64_t> some(lengths.bytes, lengths.bytes + lengths.ranks);
    std::iter_swap(some.begin(), std::ranges::max_element(some));
    some.resize(blocks, some.back());
    return sched::OwnLengths(some);
}

// One of the small clusters, and the lane there.
class Small {
  public:
    Small(const algo::InnerLane& large, const price::Outline& outline,
          const std::vector<Picked>& picked, uint32_t hosts, uint32_t leaves)
        : algorithm_(*large.algorithm),
          shape_(large.shape),
          tuning_(large.tuning),
          fabric_(price::small_fabric(outline, hosts, leaves)) {
        topo::SwitchTree tree;
        tree.nodes.resize(leaves + 1);
        for (uint32_t leaf = 1; leaf <= leaves; ++leaf) tree.nodes[leaf].parent = 0;
        for (const Picked& one : picked) {
            if (one.leaf >= leaves || one.host >= hosts) continue;
            host_of_.push_back(one.leaf * hosts + one.host);
            tree.place_of_host.push_back({1 + one.leaf, {}});
        }
        shape_.ranks = static_cast<Rank>(host_of_.size());
        shape_.root = 0;
        shape_.ranks_on = nullptr;  // one rank a host, as in the large one
        if (large.shape.switches) {
            order_.emplace(tree);
            shape_.switches = &*order_;
        }
        if (large.shape.nodes) {
            const uint32_t members = large.shape.nodes->members_max();
            nodes_.emplace(topo::Placement::blocks(shape_.ranks * members, shape_.ranks));
            shape_.nodes = &*nodes_;
        }
        lengths_ = some_of(large.shape.lengths, nodes_ ? nodes_->ranks() : shape_.ranks);
        shape_.lengths = lengths_.view();
        lanes_ = {.participants = shape_.ranks,
                  .program = [this](Rank i) { return algorithm_.make(shape_, i, tuning_); },
                  .host_of = host_of_,
                  .count = large.lanes,
                  .in_flight = large.lanes_in_flight,
                  .alike = algorithm_.alike(shape_)};
    }
    Small(const Small&) = delete;
    Small& operator=(const Small&) = delete;

    [[nodiscard]] const price::Lanes& lanes() const { return lanes_; }
    [[nodiscard]] const topo::Fabric& fabric() const { return fabric_; }
    [[nodiscard]] uint64_t steps() const { return algorithm_.steps(shape_, tuning_); }

  private:
    const algo::Algorithm& algorithm_;
    sched::Shape shape_;
    algo::Tuning tuning_;
    topo::Fabric fabric_;
    std::vector<uint32_t> host_of_;
    std::optional<topo::SwitchOrder> order_;
    std::optional<topo::Placement> nodes_;
    sched::OwnLengths lengths_;
    price::Lanes lanes_;
};

// What is counted of a cluster, small or large, as times.
struct Counted {
    uint64_t steps_ns = 0;   // latency and posting, if nothing asked
    uint64_t asking_ns = 0;  // with what asks
    uint64_t moving_ns = 0;
};

Counted counted(const price::Network& network, const price::NodeParameters& node,
                const price::Outline& outline, const price::Share& share, uint64_t steps) {
    const uint64_t way_ns =
        outline.host_up_ns + outline.host_down_ns + outline.trunk_up_ns + outline.trunk_down_ns;
    const uint64_t posting_ns = share.messages * network.message_ns;
    const uint64_t asking =
        price::scaled(2 * steps, {share.asking, std::max<uint64_t>(share.messages, 1)});
    // Of a row of participants that hand on what comes each has a message or two only.
    const uint64_t moving_ns =
        share.moving_ns(network, node, network.payload_bits_per_s(outline.host_bits_per_s));
    const uint64_t messages = std::max<uint64_t>({share.sent, share.messages - share.sent, 1});
    return {.steps_ns = steps * way_ns + posting_ns,
            .asking_ns = (steps + asking) * way_ns + posting_ns,
            .moving_ns = std::max(moving_ns, price::scaled(moving_ns, {steps, messages}))};
}

// A network in which bytes take no time.
price::Network weightless(const price::Network& network) {
    price::Network light = network;
    light.fabric.host_bits_per_s = light.fabric.trunk_bits_per_s = kAtOnce;
    light.fabric.set_switch_links(
        std::vector<topo::Trunk>(light.fabric.switches(), topo::Trunk{1, 0, 0}));
    light.payload_permille = light.foreign_permille = light.both_ways_permille = 1000;
    light.long_both_ways_permille = 0;
    light.burst_bytes = 0;
    light.multicast.mbit = kAtOnce / price::kBitsPerMbit;
    return light;
}

// Times of the small clusters, by corner: of one lane and of all, as they are and as if bytes took
// no time, this one as if nothing asked.
struct Followed {
    std::array<price::Corners, 2> light_ns{};
    std::array<price::Corners, 2> moving_ns{};
    uint64_t operations = 0;

    void repeat(size_t from, size_t to) {
        for (size_t i = 0; i < 2; ++i) {
            light_ns[i][to] = light_ns[i][from];
            moving_ns[i][to] = moving_ns[i][from];
        }
    }
};

std::optional<price::LaneTimes> follow_light(const Small& small, const Cluster& cluster,
                                             const price::Network& network) {
    price::NodeParameters node = cluster.node;
    node.copy_bytes_per_s = node.reduce_bytes_per_s = kAtOnce;
    return price::followed_lanes(weightless(network), node, small.lanes());
}

// `is_split`: what bytes take is told apart.
bool follow(const Small& small, const Cluster& cluster, const Counted& count, const Counted& large,
            bool is_split, size_t corner, Followed& into) {
    price::Network network = cluster.network;
    network.fabric = small.fabric();
    // As much of what it moves as there.
    if (large.moving_ns > 0) {
        network.burst_bytes =
            price::scaled(network.burst_bytes, {count.moving_ns, large.moving_ns});
    }
    const auto whole = price::followed_lanes(network, cluster.node, small.lanes());
    if (!whole) return false;
    const auto light = is_split ? follow_light(small, cluster, network) : whole;
    if (!light) return false;
    into.operations += whole->operations + (is_split ? light->operations : 0);
    const std::array<uint64_t, 2> wholes = {whole->first_ns, whole->all_ns};
    const std::array<uint64_t, 2> lights = {light->first_ns, light->all_ns};
    for (size_t i = 0; i < 2; ++i) {
        const uint64_t light_ns = std::min(lights[i], wholes[i]);
        into.moving_ns[i][corner] = wholes[i] - light_ns;
        into.light_ns[i][corner] = count.asking_ns == 0
                                       ? light_ns
                                       : price::scaled(light_ns, {count.steps_ns, count.asking_ns});
    }
    return true;
}

// How times grow that grow as what is counted, of the small clusters and of the large one.
class Law {
  public:
    Law(const price::Corners& counted, const price::Reach& reach, uint64_t large)
        : reach_(reach), growth_(price::growth_towards(counted, reach, large)) {
        // Where growth does not meet the count, which is exact.
        const uint64_t met = price::grown(counted, reach, growth_);
        if (met > 0 && large > 0) off_ = {std::clamp(large, met / 2, 2 * met), met};
    }
    [[nodiscard]] price::Growth growth() const { return growth_; }
    [[nodiscard]] uint64_t become(const price::Corners& followed) const {
        return price::scaled(price::grown(followed, reach_, growth_), off_);
    }

  private:
    price::Reach reach_;
    price::Growth growth_;
    price::Quotient off_;
};

// The part of the whole that is not told apart any more.
constexpr uint64_t kLittle = 64;

class Large {
  public:
    Large(const algo::InnerLane& lane, const Cluster& cluster, const price::Outline& outline)
        : lane_(lane), cluster_(cluster), outline_(outline) {
        share_ = price::share_of(cluster.network, priced_lanes(lane), lane.shape.root, false);
        steps_ = lane.algorithm->steps(lane.shape, lane.tuning);
        count_ = counted(cluster.network, cluster.node, outline, share_, steps_);
    }

    [[nodiscard]] uint64_t least_ns() const {
        const price::Network& network = cluster_.network;
        const uint64_t rate = network.payload_bits_per_s(outline_.host_bits_per_s);
        const uint64_t way_ns =
            share_.multicast_bytes > 0 ? 0 : outline_.host_up_ns + outline_.host_down_ns;
        const uint64_t most_bytes = std::max(share_.sent_bytes, share_.received_bytes);
        const uint64_t bytes_ns = lane_.lanes * bits_ns(most_bytes, rate);
        const uint64_t burst_ns = bits_ns(network.burst_bytes, outline_.host_bits_per_s);
        return std::max({steps_ * way_ns, share_.messages * network.message_ns,
                         bytes_ns - std::min(bytes_ns, burst_ns),
                         lane_.lanes * network.multicast_ns(share_.multicast_bytes)});
    }

    [[nodiscard]] std::optional<price::LaneTimes> extrapolated() const {
        const Sizes sizes = sizes_of();
        if (!fit(sizes, outline_)) return std::nullopt;
        const std::vector<Picked> participants = picked(sizes);
        std::array<std::optional<Small>, 4> small;
        std::array<Counted, 4> counts;
        for (size_t corner = 0; corner < 4; ++corner) {
            counts[corner] = counts[sizes.same_as(corner)];
            if (sizes.same_as(corner) != corner) continue;
            small[corner].emplace(lane_, outline_, participants, sizes.hosts_of(corner),
                                  sizes.leaves_of(corner));
            counts[corner] = count_of(*small[corner]);
        }
        const Laws laws = laws_of(counts, reach_to(sizes));
        Followed followed;
        for (size_t corner = 0; corner < 4; ++corner) {
            if (!small[corner]) {
                followed.repeat(sizes.same_as(corner), corner);
            } else if (!follow(*small[corner], cluster_, counts[corner], count_, laws.is_split,
                               corner, followed)) {
                return std::nullopt;
            }
        }
        std::array<uint64_t, 2> ns{};
        for (size_t i = 0; i < 2; ++i) {
            ns[i] = laws.steps.become(followed.light_ns[i]);
            if (count_.steps_ns > 0) {
                ns[i] = price::scaled(ns[i], {count_.asking_ns, count_.steps_ns});
            }
            if (laws.is_split) ns[i] += laws.moving.become(followed.moving_ns[i]);
        }
        return price::LaneTimes{ns[0], std::max(ns[0], ns[1]), followed.operations};
    }

  private:
    struct Laws {
        Law steps;
        Law moving;
        bool is_split = true;
    };

    [[nodiscard]] Sizes sizes_of() const {
        const bool leaves_out = lane_.algorithm->alike(lane_.shape)[0].rounds > 0;
        const Sizes first = sizes_for(outline_, kSmallest, 1);
        const Small small(lane_, outline_, picked(first), first.hosts, first.leaves);
        const uint64_t messages =
            price::share_of(cluster_.network, small.lanes(), 1, false).messages;
        uint32_t smallest = kSmallest;
        if (messages <= kFewMessages) smallest *= messages == 1 ? kLargest : kLarger;
        if (messages >= kManyMessages && !leaves_out) smallest /= 2;
        // One message alone between leaves is as fast as it is there; where all send at once, none
        // is alone.
        const bool is_alone = leaves_out || messages <= kFewMessages;
        const uint32_t hosts_min = is_alone ? outline_.hosts_of_leaf_min() : 1;
        for (; smallest >= kSmallest / 2; smallest /= 2) {
            const Sizes sizes = sizes_for(outline_, smallest, hosts_min);
            if (fit(sizes, outline_)) return sizes;
        }
        return first;
    }
    [[nodiscard]] std::vector<Picked> picked(const Sizes& sizes) const {
        return pick(lane_, cluster_.network.fabric, outline_, sizes);
    }
    [[nodiscard]] Counted count_of(const Small& small) const {
        price::Network network = cluster_.network;
        network.fabric = small.fabric();
        return counted(network, cluster_.node, outline_,
                       price::share_of(network, small.lanes(), 0, false), small.steps());
    }
    // Where the hosts of a leaf, or the leaves, are taken as they are, they are as many.
    [[nodiscard]] price::Reach reach_to(const Sizes& sizes) const {
        price::Reach reach;
        const uint64_t small_hosts = uint64_t{sizes.hosts} * outline_.leaves;
        if (sizes.more_hosts) reach.hosts = {outline_.hosts, small_hosts};
        if (sizes.more_leaves) reach.switches = {outline_.leaves, sizes.leaves};
        return reach;
    }
    [[nodiscard]] Laws laws_of(const std::array<Counted, 4>& counts,
                               const price::Reach& reach) const {
        price::Corners steps_ns{};
        price::Corners moving_ns{};
        bool asks_alike = true;
        for (size_t corner = 0; corner < 4; ++corner) {
            const Counted& one = counts[corner];
            steps_ns[corner] = one.steps_ns;
            moving_ns[corner] = one.moving_ns;
            asks_alike &= (one.asking_ns > one.steps_ns) == (count_.asking_ns > count_.steps_ns);
        }
        Laws laws{.steps = Law(steps_ns, reach, count_.steps_ns),
                  .moving = Law(moving_ns, reach, count_.moving_ns)};
        const bool is_one = asks_alike && laws.steps.growth() == laws.moving.growth();
        laws.is_split = !is_one && count_.moving_ns > count_.steps_ns / kLittle;
        return laws;
    }

    const algo::InnerLane& lane_;
    const Cluster& cluster_;
    const price::Outline& outline_;
    price::Share share_;
    uint64_t steps_ = 0;
    Counted count_;
};

// Where halves, or pairs, are not those of the switches, how many of them meet on a link depends on
// the number itself. Each of these has a sibling that is priced. On a circulant graph it is so for
// any number. But among more than are followed an extrapolated price is better than none: its
// siblings may take several times as long.
bool meets_unevenly(const algo::InnerLane& lane, const price::Outline& outline) {
    const algo::Algorithm& one = *lane.algorithm;
    if (one.name == "circulant") return lane.shape.ranks <= kCirculantFollowedMax;
    if (outline.leaves == 1 || std::has_single_bit(outline.hosts)) return false;
    return (one.collective == TUTTI_ALLGATHER && one.name == "recursive_doubling") ||
           (one.collective == TUTTI_BARRIER && one.name == "pairwise");
}

}  // namespace

price::Lanes priced_lanes(const algo::InnerLane& lane) {
    return {.participants = lane.shape.ranks,
            .program = [&lane](Rank i) { return lane.program(i); },
            .host_of = lane.node_of,
            .count = lane.lanes,
            .in_flight = lane.lanes_in_flight,
            .alike = lane.algorithm->alike(lane.shape)};
}

std::optional<price::LaneTimes> extrapolated_lanes(const algo::InnerLane& lane,
                                                   const Cluster& cluster,
                                                   const price::Outline& outline) {
    if (lane.shape.ranks != outline.hosts || meets_unevenly(lane, outline)) return std::nullopt;
    return Large(lane, cluster, outline).extrapolated();
}

uint64_t least_lanes_ns(const algo::InnerLane& lane, const Cluster& cluster,
                        const price::Outline& outline) {
    if (lane.shape.ranks != outline.hosts) return 0;
    return Large(lane, cluster, outline).least_ns();
}

}  // namespace tutti::select
