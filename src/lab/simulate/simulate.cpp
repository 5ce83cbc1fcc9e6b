// SPDX-License-Identifier: BSD-3-Clause
#include "lab/simulate/simulate.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "base/prng.h"
#include "lab/simulate/alike_rounds.h"
#include "lab/simulate/cluster_simulator.h"
#include "plan/sched/shape.h"

namespace tutti::simulate {
namespace {

// Operators on single bytes, associative, so that vectors may be cut anywhere.
void add_bytes(void* out, const void* left, const void* right, size_t count) {
    const auto* a = static_cast<const uint8_t*>(left);
    const auto* b = static_cast<const uint8_t*>(right);
    auto* sum = static_cast<uint8_t*>(out);
    for (size_t i = 0; i < count; ++i) sum[i] = static_cast<uint8_t>(a[i] + b[i]);
}

// A byte is the map x -> high x + low modulo 16, the operator their composition: no commuting.
void compose_bytes(void* out, const void* left, const void* right, size_t count) {
    const auto* a = static_cast<const uint8_t*>(left);
    const auto* b = static_cast<const uint8_t*>(right);
    auto* both = static_cast<uint8_t*>(out);
    for (size_t i = 0; i < count; ++i) {
        const uint32_t factor = a[i] >> 4;
        const uint32_t high = factor * (b[i] >> 4) % 16;
        const uint32_t low = (factor * (b[i] % 16) + a[i] % 16) % 16;
        both[i] = static_cast<uint8_t>(high << 4 | low);
    }
}

// Buffers of all ranks. Where they hold no data, all ranks share those of rank 0.
class Buffers {
  public:
    explicit Buffers(const SimulationRequest& request)
        : shape_(request.shape), has_data_(request.has_data) {
        const Collective& what = facts(shape_.collective);
        // The root has whatever anybody has, and without a root the last rank.
        const uint32_t one = has_root(shape_.collective) ? shape_.root : shape_.ranks - 1;
        inputs_.one_bytes = shape_.input_bytes(one);
        outputs_.one_bytes = shape_.output_bytes(one);
        // A side that holds one block of a vector form has room for the longest.
        if (shape_.lengths.are_there()) {
            inputs_.one_bytes = std::max(inputs_.one_bytes, shape_.bytes);
            outputs_.one_bytes = std::max(outputs_.one_bytes, shape_.bytes);
        }
        inputs_.is_one = !has_data_ || what.input.on == On::kRoot;
        outputs_.is_one = !has_data_ || what.output.on == On::kRoot;
        inputs_.make(shape_.ranks);
        outputs_.make(shape_.ranks);
        if (!has_data_) return;
        Prng prng(request.seed);
        for (std::byte& byte : inputs_.memory) byte = static_cast<std::byte>(prng.next() >> 56);
        if (what.in_place != InPlace::kAlways) return;
        std::byte* source = outputs_.of(shape_.root);
        for (size_t i = 0; i < outputs_.one_bytes; ++i) {
            source[i] = static_cast<std::byte>(prng.next() >> 56);
        }
        expected_.assign(source, source + outputs_.one_bytes);
    }

    [[nodiscard]] exec::Arguments arguments(uint32_t rank) {
        exec::Arguments result;
        if (inputs_.one_bytes > 0) result.input = inputs_.of(rank);
        if (shape_.output_bytes(rank) > 0) result.output = outputs_.of(rank);
        result.reducer.kernel = kernel();
        return result;
    }

    // The first rank whose output is wrong, or the number of ranks.
    [[nodiscard]] uint32_t first_wrong() {
        if (!has_data_ || shape_.bytes == 0) return shape_.ranks;
        for (uint32_t rank = 0; rank < shape_.ranks; ++rank) {
            const uint32_t blocks =
                output_blocks(shape_.collective, rank, shape_.root, shape_.ranks);
            for (uint32_t block = 0; block < blocks; ++block) {
                const bool has_all = blocks > 1;
                const std::byte* is =
                    outputs_.of(rank) + (has_all ? shape_.block_offset(block) : 0);
                const uint64_t bytes = block_bytes(has_all ? block : rank);
                if (bytes > 0 && std::memcmp(is, expected(rank, block), bytes) != 0) return rank;
            }
        }
        return shape_.ranks;
    }

  private:
    struct Side {
        size_t one_bytes = 0;
        bool is_one = false;  // for all ranks
        std::vector<std::byte> memory;
        void make(uint32_t ranks) { memory.resize((is_one ? 1 : ranks) * one_bytes); }
        std::byte* of(uint32_t rank) { return memory.data() + (is_one ? 0 : rank * one_bytes); }
    };

    // Of a vector or of blocks.
    [[nodiscard]] uint64_t block_bytes(uint32_t block) const {
        return shape_.lengths.are_there() ? shape_.block_bytes(block) : shape_.bytes;
    }
    [[nodiscard]] node::Kernel kernel() const {
        return shape_.is_commutative ? add_bytes : compose_bytes;
    }
    const std::byte* expected(uint32_t rank, uint32_t block) {
        if (inputs_.one_bytes == 0) return expected_.data();
        const Origin from = origin(shape_.collective, rank, shape_.root, shape_.ranks, block);
        const auto source = [&](uint32_t of) {
            return inputs_.of(of) + (from.block == 0 ? 0 : shape_.block_offset(from.block));
        };
        if (!is_reduction(shape_.collective)) return source(from.first);
        if (!expected_.empty() && from == folded_) return expected_.data();
        folded_ = from;
        const uint64_t bytes = block_bytes(from.block);
        expected_.assign(source(from.first), source(from.first) + bytes);
        for (uint32_t of = from.first + 1; of <= from.last; ++of) {
            kernel()(expected_.data(), expected_.data(), source(of), bytes);
        }
        return expected_.data();
    }

    sched::Shape shape_;
    bool has_data_;
    Side inputs_;
    Side outputs_;
    std::vector<std::byte> expected_;  // of a bcast, or of the fold of `folded_`
    Origin folded_;
};

Result<Done> check_request(const SimulationRequest& request) {
    if (!request.cluster.is_valid()) {
        return Error{ErrorCode::kArgument, "the network has no hosts, no rate or no latency"};
    }
    if (request.cluster.fabric.hosts() < request.placement->nodes()) {
        return Error{ErrorCode::kArgument,
                     std::to_string(request.placement->nodes()) + " nodes do not fit on " +
                         std::to_string(request.cluster.fabric.hosts()) + " hosts"};
    }
    const BackgroundLoad& background = request.background;
    for (const uint32_t host : background.hosts) {
        if (host >= request.placement->nodes() && host < request.cluster.fabric.hosts()) continue;
        return Error{ErrorCode::kArgument, "host " + std::to_string(host) +
                                               " of the background is none of those behind the "
                                               "call's"};
    }
    if (!background.hosts.empty() && !crosses_switches(request.cluster.fabric, background)) {
        return Error{ErrorCode::kArgument, "the background's hosts are on one switch"};
    }
    if (background.bytes > kBackgroundBytesMax) {
        return Error{ErrorCode::kArgument, "the background's messages are too long"};
    }
    if (!request.late_ns.empty() && request.late_ns.size() != request.shape.ranks) {
        return Error{ErrorCode::kArgument, "a delay for each rank, or none"};
    }
    const std::string_view obstacle =
        algo::plan_obstacle(*request.algorithm, request.shape, *request.placement, request.tuning);
    if (obstacle.empty()) return Done{};
    return Error{ErrorCode::kArgument, std::string(request.algorithm->name) +
                                           " cannot run here: " + std::string(obstacle)};
}

SimulationResult result_of(const SimulationRequest& request, const ClusterSimulator& simulator,
                           uint32_t team) {
    SimulationResult result;
    const transport::sim::World& world = simulator.world();
    for (uint32_t rank = 0; rank < request.shape.ranks; ++rank) {
        result.rank_ns.push_back(simulator.done_ns(team, rank) - simulator.began_ns());
        result.time_ns = std::max(result.time_ns, result.rank_ns.back());
    }
    for (const uint64_t ns : result.rank_ns) result.inside_ns += ns;
    for (const uint64_t late_ns : request.late_ns) {
        result.last_arrival_ns = std::max(result.last_arrival_ns, late_ns);
        result.inside_ns -= late_ns;
    }
    result.inside_ns /= request.shape.ranks;
    // Foreign ranks send to other hosts only.
    const transport::sim::Traffic foreign = simulator.background_traffic();
    result.messages = world.network_traffic().messages - foreign.messages;
    result.bytes = world.network_traffic().bytes - foreign.bytes;
    result.multicasts = world.multicast_traffic().messages;
    result.multicast_bytes = world.multicast_traffic().bytes;
    result.memory_messages = world.memory_traffic().messages;
    result.memory_bytes = world.memory_traffic().bytes;
    for (uint32_t link = 0; link < request.cluster.fabric.links(); ++link) {
        result.link_bytes.push_back(world.link_traffic(link).bytes);
    }
    return result;
}

// programs: of all ranks.
Result<SimulationResult> run_events(const SimulationRequest& request, algo::Programs programs) {
    const topo::Placement& placement = *request.placement;
    ClusterParams params;
    params.cluster = request.cluster;
    params.costs = request.costs;
    params.weather.seed = request.seed;
    params.weather.has_data = request.has_data;
    params.background = request.background;
    std::vector<uint32_t> everybody;
    for (uint32_t rank = 0; rank < placement.ranks(); ++rank) {
        params.host_of_process.push_back(placement.node_of(rank));
        everybody.push_back(rank);
    }
    ClusterSimulator simulator(params);
    const uint32_t team = simulator.add_team(everybody);
    Buffers buffers(request);
    for (size_t rank = 0; rank < request.late_ns.size(); ++rank) {
        simulator.set_late(static_cast<uint32_t>(rank), request.late_ns[rank]);
    }
    for (const uint32_t rank : everybody) {
        const auto added = simulator.add_call(team, rank, std::move(programs[rank]),
                                              buffers.arguments(rank), true);
        if (!added) return added.error();
    }
    const auto done = simulator.run();
    if (!done) return done.error();
    const uint32_t wrong = buffers.first_wrong();
    if (wrong < placement.ranks()) {
        return Error{ErrorCode::kSystem, std::string(request.algorithm->name) +
                                             " leaves a wrong result on rank " +
                                             std::to_string(wrong)};
    }
    return result_of(request, simulator, team);
}

// Rounds of a stretch that are simulated: the first ones differ, until every rank waits for its
// neighbours' neighbours; and how many more tell what a further one takes.
constexpr uint64_t kKept = 32;
constexpr uint64_t kMore = 32;

// What rounds of one stretch add, each.
struct Slope {
    uint64_t rounds = 0;  // between the two results
    const SimulationResult& fewer;
    const SimulationResult& more;
    [[nodiscard]] uint64_t times(uint64_t count, uint64_t less, uint64_t greater) const {
        const uint64_t all = greater > less ? greater - less : 0;
        return all / rounds * count + all % rounds * count / rounds;
    }
    // Adds so many further ones.
    void add(uint64_t count, SimulationResult& to) const {
        const auto add_one = [&](uint64_t SimulationResult::*field) {
            to.*field += times(count, fewer.*field, more.*field);
        };
        for (const auto field :
             {&SimulationResult::time_ns, &SimulationResult::messages, &SimulationResult::bytes,
              &SimulationResult::memory_messages, &SimulationResult::memory_bytes}) {
            add_one(field);
        }
        for (size_t i = 0; i < to.link_bytes.size(); ++i) {
            to.link_bytes[i] += times(count, fewer.link_bytes[i], more.link_bytes[i]);
        }
    }
};

// Each further round of the three takes as long as the one before, or nearly.
bool is_steady(uint64_t one_ns, uint64_t two_ns, uint64_t three_ns) {
    const auto first = static_cast<int64_t>(two_ns - one_ns);
    const auto second = static_cast<int64_t>(three_ns - two_ns);
    return std::abs(second - first) <= first / 64;
}

// Nothing where there is no law.
Result<std::optional<SimulationResult>> run_by_law(const SimulationRequest& request,
                                                   const algo::Programs& programs) {
    if (!request.cluster.fabric.has_one_latency()) return std::optional<SimulationResult>();
    const std::vector<Stretch> stretches = alike_stretches(programs, 6 * kKept);
    if (stretches.empty()) return std::optional<SimulationResult>();
    const auto keep = [&](const std::vector<uint64_t>& kept) {
        algo::Programs some;
        for (const auto& program : programs) some.push_back(shortened(*program, stretches, kept));
        return run_events(request, std::move(some));
    };
    std::vector<uint64_t> kept(stretches.size(), kKept);
    const auto base = keep(kept);
    if (!base) return base.error();
    SimulationResult result = base.value();
    for (size_t i = 0; i < stretches.size(); ++i) {
        kept[i] = kKept + kMore;
        const auto two = keep(kept);
        kept[i] = kKept + 2 * kMore;
        const auto three = keep(kept);
        kept[i] = kKept;
        if (!two || !three) return two ? three.error() : two.error();
        if (!is_steady(base.value().time_ns, two.value().time_ns, three.value().time_ns)) {
            return std::optional<SimulationResult>();
        }
        Slope{kMore, two.value(), three.value()}.add(stretches[i].rounds - kKept, result);
    }
    result.is_by_law = true;
    result.rank_ns.clear();
    return std::optional(std::move(result));
}

}  // namespace

Result<SimulationResult> run(const SimulationRequest& request) {
    const auto checked = check_request(request);
    if (!checked) return checked.error();
    // What its messages say is more than their data.
    const bool is_led = request.algorithm->follows_arrival || request.algorithm->has_bundles();
    if (is_led && !request.has_data) {
        SimulationRequest with_data = request;
        with_data.has_data = true;
        return run(with_data);
    }
    auto programs =
        algo::make_plans(*request.algorithm, request.shape, *request.placement, request.tuning);
    uint64_t rounds = 0;
    for (const auto& program : programs) rounds += program->extent().rounds;
    const bool has_law =
        !request.has_data && request.background.hosts.empty() && request.late_ns.empty();
    if (rounds > request.rounds_max && has_law) {
        auto found = run_by_law(request, programs);
        if (!found) return found.error();
        if (found.value()) return std::move(*found.value());
    }
    if (request.only_by_law) return Error{ErrorCode::kOff, "it has no rounds that are alike"};
    return run_events(request, std::move(programs));
}

}  // namespace tutti::simulate
