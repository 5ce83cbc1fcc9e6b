// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "base/settings.h"
#include "base/topo/node_topology.h"
#include "base/topo/switch_tree.h"
#include "plan/select/rules.h"
#include "plan/select/select.h"
#include "run/arena/process.h"
#include "run/arena/xpmem.h"
#include "run/engine/active.h"
#include "run/engine/findings.h"
#include "run/engine/fund.h"
#include "run/engine/remnants.h"
#include "run/engine/segments.h"
#include "run/multicast/process_multicast.h"
#include "run/networks/all/all_networks.h"
#include "run/networks/message_network.h"
#include "run/node/fold_buffer.h"
#include "run/node/kernels/kernels.h"
#include "run/transport/p2p/tags.h"
#include "tutti/tutti.h"

namespace tutti::engine {

class RealClock final : public Clock {
  public:
    uint64_t now_ns() override;
};

// The machine as this process finds it.
struct Machine {
    uint64_t node = 0;  // equal for processes that may share memory
    uint64_t hash = 0;  // equal for processes of one machine, also in containers
    node::Isa isa = node::Isa::kBaseline;
    topo::CpuSet cpus;
    uint64_t scheduling_group = 0;
    // That the node lets the job use: affinity of the machine and quota.
    uint32_t usable_cpus = 1;
    // nullptr where it was not asked for, or is not there.
    std::shared_ptr<arena::XpmemLibrary> xpmem;
};

// One embedder in one process: settings, callbacks, and the segments it shares with others.
// Teams of one context may be made and used by several threads at once.
class Context final : public networks::Process {
  public:
    static Result<std::unique_ptr<Context>> create(const tutti_context_params& params);
    ~Context();

    const Settings& settings() const override { return settings_; }
    const tutti_context_params& params() const { return params_; }
    // Also right in a process that was forked after the context was made.
    arena::ProcessId process() const;
    // Equal for members of a team that may share memory; a pretended host's where hosts are
    // pretended.
    uint64_t node_of(const tutti_team_params& team) const;
    // What messages call that node.
    std::string host_of(const tutti_team_params& team) const;
    // And what a description of the cluster calls it, for any team.
    std::string fabric_host() const;
    // The switches that the job's hosts hang on, this process's own being number own_host of them,
    // topo::kNoNode if it is none of them; text: what all processes have made that of.
    void set_fabric(topo::SwitchTree tree, uint32_t own_host, const char* text);
    void forget_fabric() { fabric_.reset(); }
    struct OwnFabric {
        topo::SwitchTree tree;
        uint32_t own_host = 0;
        uint64_t hash = 0;  // of the text
        // That have hosts.
        [[nodiscard]] uint32_t switches() const;
    };
    // nullptr: not known.
    const OwnFabric* fabric() const { return fabric_.get(); }
    const Machine& machine() const { return machine_; }
    transport::TagBook& tags() { return tags_; }
    uint64_t member() const override { return token_ ^ hash_of(process()); }
    const networks::Networks& networks() const { return networks_; }
    multicast::ProcessMulticast& process_multicast() { return process_multicast_; }
    ActiveTeams& active() { return active_; }
    const select::Rules& rules() const { return rules_; }
    // What its calls are chosen by; as long as the context.
    select::Grounds grounds() const { return {settings_, rules_, params_.host_mpi}; }
    uint64_t settings_hash() const { return settings_hash_; }
    // For the single copies of its teams.
    const std::shared_ptr<node::FoldBuffer>& fold_buffer() const { return fold_buffer_; }
    Clock& clock() override { return clock_; }

    void progress() const override {
        if (params_.progress) params_.progress(params_.progress_user);
    }
    void log(tutti_log_level level, const std::string& line) const {
        if (params_.log) params_.log(params_.log_user, level, line.c_str());
    }
    // The value of a setting as text; nullptr for an unknown name. Valid as long as the context.
    // Takes no memory: where it is asked, want of it could not be told.
    const char* setting(std::string_view variable) const;

    Segments& segments() { return segments_; }
    // What the slices of a segment that nobody uses keep of its memory: one of the largest that
    // teams are given (choose_geometry). All that are held keep TUTTI_MEMORY at most.
    [[nodiscard]] size_t kept_bytes_max() const {
        return settings_.node.memory_bytes / Segments::kHeldArenasMax;
    }
    Findings& findings() { return findings_; }
    Remnants& remnants() { return remnants_; }
    // For steps that must not fail for want of a little memory.
    Fund& fund() { return fund_; }
    // Until when the end of a team waits for ranks that miss something of it after a failure, and
    // for what was sent by networks to arrive, or to be given up: all that end with the context
    // together.
    uint64_t settle_end_ns();

  private:
    Context() = default;
    void tell_of_settings(std::span<const std::string> entries) const;
    void fill_setting_texts();
    // The number of the pretended host.
    uint64_t pretended_host(uint32_t team_rank, uint32_t team_size) const;

    Settings settings_;
    tutti_context_params params_{};
    arena::ProcessId process_;
    Machine machine_;
    uint64_t settings_hash_ = 0;
    std::shared_ptr<node::FoldBuffer> fold_buffer_ = std::make_shared<node::FoldBuffer>();
    RealClock clock_;
    transport::TagBook tags_;
    networks::Networks networks_ = networks::make_networks(*this);
    uint64_t token_ = arena::random_token();
    multicast::ProcessMulticast process_multicast_{
        networks::make_multicast_networks(*this, networks_)};
    ActiveTeams active_;
    select::Rules rules_;
    std::map<std::string, std::string, std::less<>> setting_texts_;
    std::unique_ptr<const OwnFabric> fabric_;

    Segments segments_;
    Findings findings_;
    uint64_t settle_end_ns_ = 0;  // of the context's end; 0: not yet
    Remnants remnants_;           // their end may use all that stands above
    Fund fund_;
};

}  // namespace tutti::engine
