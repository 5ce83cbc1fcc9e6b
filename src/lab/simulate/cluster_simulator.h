// SPDX-License-Identifier: BSD-3-Clause
// Teams across hosts in virtual time: every rank runs its Program with the real executor, over the
// simulated network with its multicast and the real state machines of its node, all in one thread.
// Only ranks to which something happened are stepped, so that thousands of them are no trouble.
//
// Within a node a change of what others can see wakes those who wait there, NodeParameters::flag_ns
// later (who looks for another reason sees it at once); copying and folding take their time at the
// rank that does them. A process does one thing after the other, also for several teams.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/prng.h"
#include "base/result.h"
#include "base/topo/placement.h"
#include "lab/simulate/background.h"
#include "lab/simulate/node_simulator.h"
#include "lab/simulate/simulate.h"
#include "plan/price/cluster_parameters.h"
#include "run/exec/executor.h"
#include "run/transport/sim/world.h"

namespace tutti::simulate {

struct ClusterParams {
    transport::sim::Cluster cluster;
    std::vector<uint32_t> host_of_process;
    transport::sim::Weather weather;
    price::NodeParameters costs;
    size_t chunk_bytes = 4096;  // of the rings inside a node, at least 64 a rank
    bool rank_order = false;    // as in node::Team
    // Every process draws how long it takes to look at its messages once, up to this; one in eight
    // is up to 64 times as slow, and now and then each is away for 100 looks.
    uint64_t look_ns_max = 0;
    uint64_t scratch_bytes_max = uint64_t{1} << 40;
    // On the network beside the processes, from before their calls begin.
    BackgroundLoad background = {};
};

class ClusterSimulator {
  public:
    explicit ClusterSimulator(const ClusterParams& params);
    ~ClusterSimulator();

    // A team of distinct processes in the order of its ranks; returns its number.
    uint32_t add_team(std::span<const uint32_t> process_of_rank);
    [[nodiscard]] const topo::Placement& placement(uint32_t team) const;
    // The next call of a rank. Its process starts its calls in the order in which they were added:
    // those of one team one after the other, those of several teams beside each other, but nothing
    // before a call for which it waits is complete. An error if the Program wants too much memory.
    Result<Done> add_call(uint32_t team, uint32_t rank, std::unique_ptr<sched::Program> program,
                          const exec::Arguments& arguments, bool waits);
    // The process begins its first call so long after the others. Before run().
    void set_late(uint32_t process, uint64_t late_ns);
    // Runs all calls to their end. An error names the seed and the ranks that are stuck.
    Result<Done> run();

    // When the first calls began: at 0, or when the background had filled the network.
    [[nodiscard]] uint64_t began_ns() const { return began_ns_; }
    // When the rank's last call was complete.
    [[nodiscard]] uint64_t done_ns(uint32_t team, uint32_t rank) const;
    [[nodiscard]] const transport::sim::World& world() const { return world_; }
    // What of the world's traffic is the background's.
    [[nodiscard]] transport::sim::Traffic background_traffic() const {
        return background_ ? background_->sent() : transport::sim::Traffic{};
    }
    [[nodiscard]] uint64_t steps() const { return steps_; }
    // How often all had to be woken: once a run() where every change has woken whom it concerns.
    [[nodiscard]] uint64_t sweeps() const { return sweeps_; }

  private:
    class Meter;
    class CastMeter;
    struct Member;
    struct Team;
    struct Process;

    void charge(Member& member);
    bool start_calls(uint32_t process);
    Result<bool> step_members(uint32_t process);
    bool step_once(Process& process, Member& member, std::string& error);
    void finish_call(Process& process, Member& member);
    void wake_node(Member& member);
    Result<Done> step(uint32_t process);
    Result<Done> fill_network();
    Result<Done> step_any(uint32_t process, uint64_t& fruitless);
    void wake_all();
    [[nodiscard]] Error stuck_error() const;

    ClusterParams params_;
    Prng prng_;
    transport::sim::World world_;
    std::unique_ptr<Background> background_;
    uint64_t began_ns_ = 0;
    std::vector<std::unique_ptr<Team>> teams_;
    std::vector<Process> processes_;
    uint64_t calls_left_ = 0;
    uint64_t steps_ = 0;
    uint64_t sweeps_ = 0;
    uint64_t moves_ = 0;  // steps that let a rank progress
};

}  // namespace tutti::simulate
