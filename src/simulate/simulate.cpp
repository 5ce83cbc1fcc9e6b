// SPDX-License-Identifier: BSD-3-Clause
#include "simulate/simulate.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/prng.h"
#include "sched/shape.h"
#include "simulate/cluster_simulator.h"

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
        const size_t all = shape_.ranks * shape_.bytes;
        const tutti_collective kind = shape_.collective;
        const bool has_input = kind != TUTTI_BARRIER && kind != TUTTI_BCAST;
        if (has_input) input_bytes_ = kind == TUTTI_SCATTER ? all : shape_.bytes;
        const bool gathers = kind == TUTTI_GATHER || kind == TUTTI_ALLGATHER;
        if (kind != TUTTI_BARRIER) output_bytes_ = gathers ? all : shape_.bytes;
        const size_t copies = has_data_ ? shape_.ranks : 1;
        // A scatter has one input, a gather one output.
        inputs_.resize(kind == TUTTI_SCATTER ? all : copies * input_bytes_);
        outputs_.resize(kind == TUTTI_GATHER ? all : copies * output_bytes_);
        if (!has_data_) return;
        Prng prng(request.seed);
        for (std::byte& byte : inputs_) byte = static_cast<std::byte>(prng.next() >> 56);
        if (kind != TUTTI_BCAST) return;
        for (size_t i = 0; i < output_bytes_; ++i) {
            output(shape_.root)[i] = static_cast<std::byte>(prng.next() >> 56);
        }
        expected_.assign(output(shape_.root), output(shape_.root) + output_bytes_);
    }

    [[nodiscard]] exec::Arguments arguments(uint32_t rank) {
        exec::Arguments result;
        if (input_bytes_ > 0) result.input = input(rank);
        if (output_bytes_ > 0 && has_output(rank)) result.output = output(rank);
        result.reducer.kernel = shape_.is_commutative ? add_bytes : compose_bytes;
        return result;
    }

    // The first rank whose output is wrong, or the number of ranks.
    [[nodiscard]] uint32_t first_wrong() {
        if (!has_data_ || output_bytes_ == 0) return shape_.ranks;
        if (sched::is_reduction(shape_.collective)) fold();
        for (uint32_t rank = 0; rank < shape_.ranks; ++rank) {
            const std::byte* right = inputs_.data();
            if (!expected_.empty()) right = expected_.data();
            if (shape_.collective == TUTTI_SCATTER) right += rank * shape_.bytes;
            if (has_output(rank) && std::memcmp(output(rank), right, output_bytes_) != 0) {
                return rank;
            }
        }
        return shape_.ranks;
    }

  private:
    [[nodiscard]] bool has_output(uint32_t rank) const {
        return (shape_.collective != TUTTI_REDUCE && shape_.collective != TUTTI_GATHER) ||
               rank == shape_.root;
    }
    [[nodiscard]] const std::byte* input(uint32_t rank) const {
        const bool is_one = !has_data_ || shape_.collective == TUTTI_SCATTER;
        return inputs_.data() + (is_one ? 0 : rank * input_bytes_);
    }
    [[nodiscard]] std::byte* output(uint32_t rank) {
        const bool is_one = !has_data_ || shape_.collective == TUTTI_GATHER;
        return outputs_.data() + (is_one ? 0 : rank * output_bytes_);
    }
    void fold() {
        const auto kernel = shape_.is_commutative ? add_bytes : compose_bytes;
        expected_.assign(input(0), input(0) + shape_.bytes);
        for (uint32_t rank = 1; rank < shape_.ranks; ++rank) {
            kernel(expected_.data(), expected_.data(), input(rank), shape_.bytes);
        }
    }

    sched::Shape shape_;
    bool has_data_;
    size_t input_bytes_ = 0;
    size_t output_bytes_ = 0;
    std::vector<std::byte> inputs_;
    std::vector<std::byte> outputs_;
    std::vector<std::byte> expected_;  // of bcast and reductions
};

Result<Done> check_request(const SimulationRequest& request) {
    if (!request.network.is_valid()) {
        return Error{ErrorCode::kArgument, "the network has no hosts, no rate or no latency"};
    }
    if (request.network.hosts() < request.placement->nodes()) {
        return Error{ErrorCode::kArgument, std::to_string(request.placement->nodes()) +
                                               " nodes do not fit on " +
                                               std::to_string(request.network.hosts()) + " hosts"};
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
        result.rank_ns.push_back(simulator.done_ns(team, rank));
        result.time_ns = std::max(result.time_ns, result.rank_ns.back());
    }
    result.messages = world.network_traffic().messages;
    result.bytes = world.network_traffic().bytes;
    result.multicasts = world.multicast_traffic().messages;
    result.multicast_bytes = world.multicast_traffic().bytes;
    result.memory_messages = world.memory_traffic().messages;
    result.memory_bytes = world.memory_traffic().bytes;
    for (uint32_t link = 0; link < request.network.links(); ++link) {
        result.link_bytes.push_back(world.link_traffic(link).bytes);
    }
    return result;
}

}  // namespace

Result<SimulationResult> run(const SimulationRequest& request) {
    const auto checked = check_request(request);
    if (!checked) return checked.error();
    const topo::Placement& placement = *request.placement;
    ClusterParams params;
    params.network = request.network;
    params.costs = request.costs;
    params.weather.seed = request.seed;
    params.weather.has_data = request.has_data;
    std::vector<uint32_t> everybody;
    for (uint32_t rank = 0; rank < placement.ranks(); ++rank) {
        params.host_of_process.push_back(placement.node_of(rank));
        everybody.push_back(rank);
    }
    ClusterSimulator simulator(params);
    const uint32_t team = simulator.add_team(everybody);
    Buffers buffers(request);
    for (const uint32_t rank : everybody) {
        auto program =
            algo::make_plan(*request.algorithm, request.shape, placement, rank, request.tuning);
        const auto added =
            simulator.add_call(team, rank, std::move(program), buffers.arguments(rank), true);
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

}  // namespace tutti::simulate
