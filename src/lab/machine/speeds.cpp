// SPDX-License-Identifier: BSD-3-Clause
#include "lab/machine/speeds.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <latch>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/step.h"
#include "base/topo/node_topology.h"
#include "lab/explain/node_figures.h"
#include "lab/machine/sibling_memory.h"
#include "run/arena/arena.h"
#include "run/arena/process_memory.h"
#include "run/bootstrap/node_facts.h"
#include "run/bootstrap/node_shape.h"
#include "run/engine/context.h"
#include "run/engine/wait.h"
#include "run/node/meter.h"
#include "run/node/node_team.h"

namespace tutti::machine {
namespace {

constexpr uint32_t kPairRanks = 2;
// Other programs may disturb one, and the first finds pages cold and processors asleep.
constexpr uint32_t kRuns = 3;
// A pair takes 2 * kRuns ms where nobody else uses its processors.
constexpr uint64_t kPairNsMax = 100'000'000;
// All pairs together; whoever waits for the rest of what `tutti info` says should not notice.
constexpr uint64_t kPairsNsMax = 300'000'000;

// Keeps this thread on one processor, as long as it lives.
class OnProcessor {
  public:
    explicit OnProcessor(uint32_t cpu) {
        CPU_ZERO(&before_);
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        const bool is_known = sched_getaffinity(0, sizeof before_, &before_) == 0;
        is_moved_ = is_known && sched_setaffinity(0, sizeof one, &one) == 0;
        if (!is_moved_) failure_ = errno;
    }
    ~OnProcessor() {
        if (is_moved_) sched_setaffinity(0, sizeof before_, &before_);
    }
    OnProcessor(const OnProcessor&) = delete;
    OnProcessor& operator=(const OnProcessor&) = delete;
    // An errno; 0: it stands there.
    [[nodiscard]] int failure() const { return failure_; }

  private:
    cpu_set_t before_;
    bool is_moved_ = false;
    int failure_ = 0;
};

// A process may always read itself, unless the system call is denied altogether.
std::shared_ptr<arena::ProcessMemory> own_memory(const Settings& settings) {
    if (settings.node.single_copy == SingleCopyChoice::kOff) return nullptr;
    auto memory = std::make_shared<arena::ProcessMemory>(std::vector<pid_t>(kPairRanks, getpid()));
    const uint64_t there = 1;
    uint64_t here = 0;
    const bool can_read = memory->read(0, reinterpret_cast<std::byte*>(&here),
                                       reinterpret_cast<uint64_t>(&there), sizeof(there));
    return can_read && here == there ? memory : nullptr;
}

// Two threads as ranks of a team.
class Duet {
  public:
    Duet(const Settings& settings, const explain::CpuPair& cpus, arena::Mapping& mapping,
         const node::Geometry& geometry)
        : settings_(settings), cpus_{cpus.first, cpus.second}, slice_{mapping.base(), geometry} {}

    // Why nothing was measured; empty: `figures` are what was.
    std::string run(node::Figures& figures) {
        std::thread other;
        try {
            other = std::thread([this] { play(1); });
        } catch (const std::system_error& error) {
            return fmt::format("no second thread: {}", error.what());
        }
        play(0);
        other.join();
        for (node::Rank rank = 0; rank < kPairRanks; ++rank) {
            if (failures_[rank] == 0) continue;
            return fmt::format("no thread can be kept on processor {}: {}", cpus_[rank],
                               std::strerror(failures_[rank]));
        }
        figures = figures_;
        return figures.barrier_ns == 0 ? "other programs use the processors" : "";
    }

  private:
    void play(node::Rank rank) {
        const OnProcessor place(cpus_[rank]);
        failures_[rank] = place.failure();
        // Its pages lie near it, as a rank's do.
        std::memset(slice_.area(rank), 0, slice_.geometry.rank_bytes);
        both_are_there_.arrive_and_wait();
        if (failures_[0] != 0 || failures_[1] != 0) return;
        node::Team team;
        team.rank = rank;
        team.size = kPairRanks;
        team.slice = slice_;
        team.single_copy.peers = own_memory(settings_);
        node::prepare(team);
        engine::RealClock clock;
        node::Meter meter(clock, bootstrap::default_tuning(settings_, kPairRanks),
                          {.piece_bytes_max = bootstrap::piece_bytes_max(settings_),
                           .has_long_rings = has_long_rings(slice_.geometry)});
        const uint64_t end_ns = clock.now_ns() + kPairNsMax;
        for (uint32_t run = 0; run < kRuns; ++run) {
            meter.begin();
            if (!finish(meter, team, clock, end_ns)) return;
            if (rank == 0) figures_ = explain::least_of(figures_, meter.figures());
        }
    }

    // False: it takes too long, and both give up.
    bool finish(node::Meter& meter, node::Team& team, Clock& clock, uint64_t end_ns) {
        const engine::WaitPolicy policy;
        engine::Waiter waiter(policy, clock);
        for (Step step = meter.step(team); step != Step::kDone; step = meter.step(team)) {
            if (step == Step::kAdvanced) {
                waiter.reset();
            } else if (waiter.turn() != engine::Waiter::Advice::kPoll) {
                if (clock.now_ns() > end_ns) is_late_.store(true, std::memory_order_relaxed);
                if (is_late_.load(std::memory_order_relaxed)) return false;
            }
        }
        return true;
    }

    const Settings& settings_;
    std::array<uint32_t, kPairRanks> cpus_;
    node::Slice slice_;
    std::latch both_are_there_{kPairRanks};
    std::array<int, kPairRanks> failures_{};
    std::atomic<bool> is_late_{false};
    node::Figures figures_;
};

explain::PairSpeed measure(const Settings& settings, const explain::CpuPair& cpus, bool can_read) {
    explain::PairSpeed speed;
    speed.cpus = cpus;
    const auto geometry = bootstrap::choose_geometry(
        settings, kPairRanks, bootstrap::largest_tuning(settings, kPairRanks), 0);
    const auto mapping = arena::Mapping::anonymous(geometry.slice_bytes);
    if (!mapping) {
        speed.obstacle = mapping.error().message;
        return speed;
    }
    engine::NodeFacts facts;
    facts.can_read = can_read;
    speed.obstacle = Duet(settings, cpus, *mapping.value(), geometry).run(facts.figures);
    speed.figures = facts.figures;
    speed.tuning = bootstrap::tuning_of(facts, settings, kPairRanks);
    return speed;
}

// Without hwloc all processors are alike.
topo::NodeTopology machine_topology(const topo::CpuSet& allowed) {
    if (auto topology = topo::read_node_topology("")) return topology.value();
    topo::NodeTopology flat;
    flat.cpus = allowed;
    flat.place.resize(topo::CpuSet::kCpusMax);
    return flat;
}

// Why nothing can be measured between any two; empty: it can.
std::string obstacle_to_all(std::span<const explain::CpuPair> pairs) {
    if (pairs.empty()) return "there is one processor only";
    const auto quota = topo::cgroup_cpu_quota("/");
    return quota && *quota < kPairRanks ? "the cgroup's quota is one processor" : "";
}

std::vector<explain::PairSpeed> measure_all(const Settings& settings,
                                            std::span<const explain::CpuPair> pairs,
                                            bool can_read) {
    engine::RealClock clock;
    const uint64_t end_ns = clock.now_ns() + kPairsNsMax;
    std::vector<explain::PairSpeed> speeds;
    for (const explain::CpuPair& cpus : pairs) {
        if (clock.now_ns() < end_ns) {
            speeds.push_back(measure(settings, cpus, can_read));
        } else {
            speeds.push_back({cpus, "the pairs before took too long", {}, {}});
        }
    }
    return speeds;
}

}  // namespace

FactRow speed_facts(const Settings& settings) {
    const topo::CpuSet allowed = topo::affinity();
    const auto pairs = explain::pairs_by_distance(machine_topology(allowed), allowed);
    const std::string no_single_copy = sibling_memory_obstacle(settings);
    const std::string obstacle = obstacle_to_all(pairs);
    FactRow row;
    row.subject = "speed between two processors";
    std::vector<explain::PairSpeed> speeds;
    if (obstacle.empty()) {
        speeds = measure_all(settings, pairs, no_single_copy.empty());
    } else {
        row.add("none", "not measured: " + obstacle);
    }
    for (auto& [label, text] : explain::speed_lines(speeds, no_single_copy)) {
        row.add(std::move(label), std::move(text));
    }
    return row;
}

}  // namespace tutti::machine
