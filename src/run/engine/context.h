// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/allowance.h"
#include "base/clock.h"
#include "base/settings.h"
#include "base/topo/node_topology.h"
#include "base/topo/switch_tree.h"
#include "plan/sched/shape.h"
#include "plan/select/rules.h"
#include "plan/select/select.h"
#include "run/arena/arena.h"
#include "run/arena/home.h"
#include "run/arena/process.h"
#include "run/arena/xpmem.h"
#include "run/engine/active.h"
#include "run/engine/process_links.h"
#include "run/multicast/process_multicast.h"
#include "run/node/fold_buffer.h"
#include "run/node/kernels/kernels.h"
#include "run/node/tuning.h"
#include "run/transport/p2p/tags.h"
#include "run/transport/verbs/library.h"
#include "tutti/tutti.h"

namespace tutti::engine {

class RealClock final : public Clock {
  public:
    uint64_t now_ns() override;
};

// What the processes of a node have found out of each other (run/bootstrap/node_facts.h); plain
// data, which the leader hands to all.
struct NodeFacts {
    bool is_known = false;
    bool can_read = false;          // all in the memory of all
    char no_single_copy[126] = {};  // why not; empty: they can
    bool is_tried = false;          // measuring was; what came of it:
    node::Figures figures;          // empty: nothing
};

// What may outlive its team; a list, so that keeping it takes no memory.
struct Retired {
    // Nobody needs it any more. Messages that still write into it may make that never.
    virtual bool is_over() { return false; }
    Retired() = default;
    Retired(const Retired&) = delete;
    Retired& operator=(const Retired&) = delete;
    virtual ~Retired() = default;
    std::unique_ptr<Retired> next;
};

// One embedder in one process: settings, callbacks, and the segments it shares with others.
// Teams of one context may be made and used by several threads at once.
class Context {
  public:
    static Result<std::unique_ptr<Context>> create(const tutti_context_params& params);
    ~Context();

    const Settings& settings() const { return settings_; }
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
    uint64_t machine() const { return machine_; }
    transport::TagBook& tags() { return tags_; }
    // The port for messages and multicast by RDMA, looked for when first asked for, once. An error
    // says why there is none.
    Result<std::shared_ptr<transport::verbs::Device>> verbs_device();
    // Before that: another one than this machine's.
    void set_verbs_device(std::shared_ptr<transport::verbs::Device> device);
    // What teams have registered for messages by RDMA; at most settings().verbs.memory_bytes.
    Allowance& verbs_memory() { return verbs_memory_; }
    // The identity of this context's process, for other members of its teams.
    uint64_t member() const { return token_ ^ hash_of(process()); }
    // Connections that a team may share, the oldest ones first; and these are such from here on.
    std::vector<std::shared_ptr<ProcessLinks>> links();
    void keep_links(const std::shared_ptr<ProcessLinks>& links);
    // Whether the port was never found to reach itself in vain, which takes seconds to find out.
    std::atomic<bool>& reaches_itself() { return reaches_itself_; }
    multicast::ProcessMulticast& process_multicast() { return process_multicast_; }
    ActiveTeams& active() { return active_; }
    const select::Rules& rules() const { return rules_; }
    // What its calls are chosen by; as long as the context.
    select::Grounds grounds() const { return {settings_, rules_, params_.host_mpi}; }
    uint64_t settings_hash() const { return settings_hash_; }
    node::Isa isa() const { return isa_; }
    const topo::CpuSet& cpus() const { return cpus_; }
    uint64_t scheduling_group() const { return scheduling_group_; }
    // nullptr where it was not asked for, or is not there.
    const std::shared_ptr<arena::XpmemLibrary>& xpmem() const { return xpmem_; }
    // For the single copies of its teams.
    const std::shared_ptr<node::FoldBuffer>& fold_buffer() const { return fold_buffer_; }
    // Processors that this process's node lets the job use: affinity of the machine and quota.
    uint32_t usable_cpus() const { return usable_cpus_; }
    Clock& clock() { return clock_; }

    void progress() const {
        if (params_.progress) params_.progress(params_.progress_user);
    }
    void log(tutti_log_level level, const std::string& line) const {
        if (params_.log) params_.log(params_.log_user, level, line.c_str());
    }
    // The value of a setting as text; nullptr for an unknown name. Valid as long as the context.
    // Takes no memory: where it is asked, want of it could not be told.
    const char* setting(std::string_view variable) const;

    // The arena with this identity, if this process has it open.
    std::shared_ptr<arena::Arena> find_arena(uint64_t id);
    // The leader's: the arena of this set of processes, made where there is none.
    Result<std::shared_ptr<arena::Arena>> own_arena(const std::vector<arena::ProcessId>& members);
    void keep_arena(const std::shared_ptr<arena::Arena>& arena);
    // Holds a segment for the next team of its processes; forgets the one that was not used for
    // longest. Allocates nothing.
    void hold_arena(const std::shared_ptr<arena::Arena>& arena);
    // What the slices of a segment that nobody uses keep of its memory: one of the largest that
    // teams are given (choose_geometry). All that are held keep TUTTI_MEMORY at most.
    [[nodiscard]] size_t kept_bytes_max() const { return settings_.memory_bytes / kHeldArenasMax; }

    // This process's home, of the largest set of which it has one; nullptr: it has none.
    std::shared_ptr<arena::Home> home();
    // That one or the one before, which another thread's team has just replaced.
    std::shared_ptr<arena::Home> find_home(uint64_t id);
    void set_home(std::shared_ptr<arena::Home> home);

    // Of the processes with this hash, as they once found out; nothing where they have not.
    NodeFacts facts_of(uint64_t processes);
    void keep_facts(uint64_t processes, const NodeFacts& facts);
    // What is kept of them is no longer so. Allocates nothing.
    void change_facts(uint64_t processes, const NodeFacts& facts);
    // Why ranks of a node read nothing in each other's memory, of the last team that found it out;
    // empty: they do, or no team has tried. Valid until the next team is made.
    const char* no_single_copy() const { return no_single_copy_.data(); }
    void note_no_single_copy(const char* why);

    // How fast messages are between these hosts, or these among others, as an earlier team of this
    // process has measured; 0: none has. By ascending identities.
    sched::Speed speed_of(const std::vector<uint64_t>& hosts);
    void keep_speed(const std::vector<uint64_t>& hosts, const sched::Speed& speed);

    // Until it is over, at the longest as long as the context.
    void keep(std::unique_ptr<Retired> what);
    // Lets go of what is over.
    void tidy();
    // Until when the end of a team waits for ranks that miss something of it after a failure, and
    // for what was sent by RDMA to arrive, or to be given up: all that end with the context
    // together.
    uint64_t settle_end_ns();
    // Runs a step that returns a Result and may be run twice: the second time with a little memory
    // that was reserved for when there is none.
    template <class Step>
    auto with_fund(Step step) -> decltype(step()) {
        try {
            return step();
        } catch (const std::bad_alloc&) {
            spend_fund();
        }
        try {
            auto result = step();
            fill_fund();
            return result;
        } catch (const std::bad_alloc&) {
            fill_fund();
            return Error{ErrorCode::kMemory, "out of memory"};
        }
    }

  private:
    Context() = default;
    void tell_of_settings(std::span<const std::string> entries) const;
    void fill_setting_texts();
    void spend_fund();
    void fill_fund();
    // The number of the pretended host.
    uint64_t pretended_host(uint32_t team_rank, uint32_t team_size) const;

    Settings settings_;
    tutti_context_params params_{};
    arena::ProcessId process_;
    uint64_t node_ = 0;
    uint64_t machine_ = 0;
    uint64_t settings_hash_ = 0;
    node::Isa isa_ = node::Isa::kBaseline;
    topo::CpuSet cpus_;
    uint64_t scheduling_group_ = 0;
    std::shared_ptr<arena::XpmemLibrary> xpmem_;
    std::shared_ptr<node::FoldBuffer> fold_buffer_ = std::make_shared<node::FoldBuffer>();
    uint32_t usable_cpus_ = 1;
    RealClock clock_;
    transport::TagBook tags_;
    // A lock of its own, taken last: multicast opens its carrier under another, which who tells of
    // a failure takes while it holds its team's, which tidy() takes under mutex_.
    std::mutex verbs_mutex_;
    std::optional<Result<std::shared_ptr<transport::verbs::Device>>> verbs_;
    Allowance verbs_memory_;
    std::vector<std::weak_ptr<ProcessLinks>> links_;  // under verbs_mutex_
    uint64_t token_ = arena::random_token();
    std::atomic<bool> reaches_itself_ = true;
    multicast::ProcessMulticast process_multicast_;
    ActiveTeams active_;
    select::Rules rules_;
    std::map<std::string, std::string, std::less<>> setting_texts_;
    std::unique_ptr<const OwnFabric> fabric_;

    // A program that works with rows, columns, planes and their like has as many sets of processes.
    static constexpr size_t kHeldArenasMax = 8;

    // Sets of processes whose facts are kept; beyond, all are found out again.
    static constexpr size_t kFactsMax = 256;

    // Sets of hosts whose speed is kept; beyond, all are measured again.
    static constexpr size_t kSpeedsMax = 64;
    struct KnownSpeed {
        std::vector<uint64_t> hosts;
        sched::Speed speed;
    };

    // Teams own their arenas, and so does this for the last few; else here are only the ways to
    // find them again.
    std::mutex mutex_;
    std::map<uint64_t, std::weak_ptr<arena::Arena>> arenas_;
    std::map<std::vector<arena::ProcessId>, std::weak_ptr<arena::Arena>> led_;
    std::array<std::shared_ptr<arena::Arena>, kHeldArenasMax> held_;  // the last one used first
    std::array<std::shared_ptr<arena::Home>, 2> homes_;               // the present one first
    std::map<uint64_t, NodeFacts> facts_;
    std::vector<KnownSpeed> speeds_;
    std::array<char, sizeof(NodeFacts::no_single_copy)> no_single_copy_{};
    uint64_t settle_end_ns_ = 0;  // of the context's end; 0: not yet
    std::unique_ptr<Retired> kept_;
    std::unique_ptr<std::byte[]> fund_;
};

}  // namespace tutti::engine
