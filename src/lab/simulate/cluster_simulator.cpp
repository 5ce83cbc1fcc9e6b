// SPDX-License-Identifier: BSD-3-Clause
#include "lab/simulate/cluster_simulator.h"

#include <algorithm>
#include <utility>

#include "base/amounts.h"
#include "base/assert.h"
#include "run/engine/messages.h"
#include "run/node/progress_snapshot.h"

namespace tutti::simulate {
namespace {

// While so much happens to foreign ranks and nothing to the others, these stand still.
constexpr uint64_t kFruitlessMax = 50'000'000;

// The processes of the teams, then the foreign ones.
std::vector<uint32_t> all_hosts(const ClusterParams& params) {
    std::vector<uint32_t> hosts = params.host_of_process;
    hosts.insert(hosts.end(), params.background.hosts.begin(), params.background.hosts.end());
    return hosts;
}

}  // namespace

// A rank's end of the network: what was done before a message is posted takes its time before.
class ClusterSimulator::Meter final : public transport::Transport {
  public:
    Meter(ClusterSimulator& owner, Member& member, Transport& inner)
        : owner_(owner), member_(member), inner_(inner) {}
    void send(transport::Rank peer, const transport::MessageId& id, const std::byte* data,
              size_t bytes, transport::Ticket& ticket) override {
        owner_.charge(member_);
        inner_.send(peer, id, data, bytes, ticket);
    }
    void recv(transport::Rank peer, const transport::MessageId& id, std::byte* data, size_t bytes,
              transport::Ticket& ticket) override {
        owner_.charge(member_);
        inner_.recv(peer, id, data, bytes, ticket);
    }
    transport::State test(transport::Ticket& ticket) override { return inner_.test(ticket); }
    void cancel(transport::Ticket& ticket) override { inner_.cancel(ticket); }
    [[nodiscard]] bool can_withdraw_receives() const override {
        return inner_.can_withdraw_receives();
    }
    [[nodiscard]] transport::State withdraw_receive(transport::Rank peer,
                                                    const transport::MessageId& id,
                                                    const std::byte* data, size_t bytes,
                                                    transport::Ticket& ticket) override {
        return inner_.withdraw_receive(peer, id, data, bytes, ticket);
    }
    void poll() override { inner_.poll(); }
    void expose(std::span<std::byte> memory, transport::Memory kind) override {
        inner_.expose(memory, kind);
    }
    void conceal(std::span<std::byte> memory) override { inner_.conceal(memory); }
    [[nodiscard]] transport::Disagreement disagreement() const override {
        return inner_.disagreement();
    }
    [[nodiscard]] std::string error() const override { return inner_.error(); }

  private:
    ClusterSimulator& owner_;
    Member& member_;
    Transport& inner_;
};

// And its end of the team's multicast, which the world makes when it is first used.
class ClusterSimulator::CastMeter final : public transport::Multicast {
  public:
    CastMeter(ClusterSimulator& owner, Member& member, uint32_t team)
        : owner_(owner), member_(member), team_(team) {}
    void multicast(uint64_t number, const std::byte* data, size_t bytes,
                   transport::Ticket& ticket) override {
        owner_.charge(member_);
        inner().multicast(number, data, bytes, ticket);
    }
    void recv_multicast(uint64_t number, transport::Rank sender, std::byte* data, size_t bytes,
                        transport::Ticket& ticket) override {
        owner_.charge(member_);
        inner().recv_multicast(number, sender, data, bytes, ticket);
    }
    Sought seek(uint64_t number, std::byte* data, size_t bytes) override {
        owner_.charge(member_);
        return inner().seek(number, data, bytes);
    }
    Sought offer(uint64_t number, const std::byte* data, size_t bytes) override {
        owner_.charge(member_);
        return inner().offer(number, data, bytes);
    }
    transport::State test(transport::Ticket& ticket) override { return inner().test(ticket); }
    void call_off() override { inner().call_off(); }
    [[nodiscard]] std::string error() const override { return inner().error(); }

  private:
    [[nodiscard]] Multicast& inner() const;

    ClusterSimulator& owner_;
    Member& member_;
    uint32_t team_;
};

// A rank of a team.
struct ClusterSimulator::Member {
    struct Pending {
        std::unique_ptr<sched::Program> program;
        exec::Arguments arguments;
        bool waits = false;
    };
    Team* team = nullptr;
    uint32_t rank = 0;
    uint32_t process = 0;
    std::unique_ptr<node::Team> node;  // none where the rank is alone on its host
    std::unique_ptr<Meter> network;
    std::unique_ptr<CastMeter> route;
    std::unique_ptr<exec::Executor> executor;
    std::vector<Pending> calls;
    size_t next_call = 0;
    bool is_running = false;
    uint64_t done_ns = 0;
    exec::Work charged;
};

transport::Multicast& ClusterSimulator::CastMeter::inner() const {
    return owner_.world_.multicast_endpoint(team_, member_.rank);
}

struct ClusterSimulator::Team {
    std::unique_ptr<topo::Placement> placement;
    std::vector<std::unique_ptr<SimSlice>> slices;  // by node
    std::vector<std::unique_ptr<Member>> members;
};

struct ClusterSimulator::Process {
    std::vector<Member*> calls;  // whose turn it is, in the order in which they were added
    size_t next_call = 0;
    std::vector<Member*> running;
    uint32_t waits_for = 0;  // calls under way that must be complete before the next begins
    uint64_t look_ns = 0;
    uint64_t late_ns = 0;
};

ClusterSimulator::ClusterSimulator(const ClusterParams& params)
    : params_(params),
      prng_(params.weather.seed + 1),
      world_(params.cluster, all_hosts(params), params.weather),
      processes_(params.host_of_process.size()) {
    for (Process& process : processes_) {
        if (params.look_ns_max == 0) continue;
        process.look_ns = 1 + prng_.below(params.look_ns_max);
        if (prng_.below(8) == 0) process.look_ns <<= 1 + prng_.below(6);
    }
}

ClusterSimulator::~ClusterSimulator() = default;

uint32_t ClusterSimulator::add_team(std::span<const uint32_t> process_of_rank) {
    TUTTI_ASSERT(!background_, "teams are there before the first run beside a background");
    const uint32_t number = world_.add_team(process_of_rank);
    std::vector<uint64_t> host_of_rank;
    for (const uint32_t process : process_of_rank) {
        host_of_rank.push_back(params_.host_of_process[process]);
    }
    Team& team = *teams_.emplace_back(std::make_unique<Team>());
    team.placement = std::make_unique<topo::Placement>(host_of_rank);
    for (uint32_t at = 0; at < team.placement->nodes(); ++at) {
        const auto ranks = static_cast<uint32_t>(team.placement->members(at).size());
        team.slices.push_back(
            ranks > 1 ? std::make_unique<SimSlice>(
                            ranks, std::max(params_.chunk_bytes, node::kLineBytes * ranks))
                      : nullptr);
    }
    for (uint32_t rank = 0; rank < process_of_rank.size(); ++rank) {
        Member& member = *team.members.emplace_back(std::make_unique<Member>());
        member.team = &team;
        member.rank = rank;
        member.process = process_of_rank[rank];
        const uint32_t at = team.placement->node_of(rank);
        if (team.slices[at]) {
            const auto ranks = static_cast<uint32_t>(team.placement->members(at).size());
            const SimTeam part{ranks, params_.chunk_bytes, {}, params_.rank_order};
            member.node = std::make_unique<node::Team>(
                sim_rank(part, *team.slices[at], team.placement->index_on_node(rank)));
        }
        member.network = std::make_unique<Meter>(*this, member, world_.endpoint(number, rank));
        member.route = std::make_unique<CastMeter>(*this, member, number);
        member.executor = std::make_unique<exec::Executor>(member.node.get(), *member.network,
                                                           member.route.get());
    }
    return number;
}

const topo::Placement& ClusterSimulator::placement(uint32_t team) const {
    return *teams_[team]->placement;
}

uint64_t ClusterSimulator::done_ns(uint32_t team, uint32_t rank) const {
    return teams_[team]->members[rank]->done_ns;
}

Result<Done> ClusterSimulator::add_call(uint32_t team, uint32_t rank,
                                        std::unique_ptr<sched::Program> program,
                                        const exec::Arguments& arguments, bool waits) {
    Member& member = *teams_[team]->members[rank];
    // Memory is made for the longest at once: it may not be moved under a call.
    const auto reserved = member.executor->reserve(program->extent(), params_.scratch_bytes_max);
    if (!reserved) return reserved.error();
    member.calls.push_back({std::move(program), arguments, waits});
    processes_[member.process].calls.push_back(&member);
    ++calls_left_;
    return Done{};
}

void ClusterSimulator::set_late(uint32_t process, uint64_t late_ns) {
    processes_[process].late_ns = late_ns;
}

// What the rank has done since the last look.
void ClusterSimulator::charge(Member& member) {
    const exec::Work work = member.executor->work();
    const uint64_t copied = work.copied_bytes - member.charged.copied_bytes;
    const uint64_t reduced = work.reduced_bytes - member.charged.reduced_bytes;
    member.charged = work;
    if (copied + reduced == 0) return;
    world_.work(member.process, bytes_ns(copied, params_.costs.copy_bytes_per_s) +
                                    bytes_ns(reduced, params_.costs.reduce_bytes_per_s));
}

bool ClusterSimulator::start_calls(uint32_t number) {
    Process& process = processes_[number];
    bool has_started = false;
    while (process.next_call < process.calls.size() && process.waits_for == 0) {
        Member& member = *process.calls[process.next_call];
        if (member.is_running) break;
        ++process.next_call;
        const auto call = static_cast<uint32_t>(member.next_call);
        const Member::Pending& next = member.calls[member.next_call++];
        member.is_running = true;
        process.running.push_back(&member);
        process.waits_for += next.waits ? 1 : 0;
        member.executor->start(*next.program, call, next.arguments);
        has_started = true;
    }
    return has_started;
}

// Those that wait inside a node operation, perhaps for this rank, look again when the change has
// come to them.
void ClusterSimulator::wake_node(Member& member) {
    const uint64_t seen_ns = world_.time_of(member.process) + params_.costs.flag_ns;
    const Team& team = *member.team;
    for (const uint32_t rank : team.placement->members(team.placement->node_of(member.rank))) {
        const Member& other = *team.members[rank];
        if (&other == &member || !other.is_running) continue;
        const node::Op* op = other.executor->node_op();
        if (op && node::may_await(*other.node, *op, member.node->rank)) {
            world_.wake(other.process, seen_ns);
        }
    }
}

void ClusterSimulator::finish_call(Process& process, Member& member) {
    Member::Pending& call = member.calls[member.next_call - 1];
    process.waits_for -= call.waits ? 1 : 0;
    call.program.reset();
    member.is_running = false;
    member.done_ns = world_.time_of(member.process);
    --calls_left_;
}

// True if the rank got further.
bool ClusterSimulator::step_once(Process& process, Member& member, std::string& error) {
    ++steps_;
    Step result = Step::kBlocked;
    bool is_seen = false;
    if (member.node) {
        const exec::Executor& executor = *member.executor;
        const node::ProgressSnapshot before(*member.node, executor.node_op());
        result = member.executor->step();
        is_seen = node::ProgressSnapshot(*member.node, executor.node_op()) != before;
    } else {
        result = member.executor->step();
    }
    charge(member);
    if (is_seen) wake_node(member);
    if (result == Step::kFailed) error = member.executor->error();
    if (result == Step::kDone) finish_call(process, member);
    const bool has_moved = is_seen || result != Step::kBlocked;
    moves_ += has_moved ? 1 : 0;
    return has_moved;
}

// True if any of the process's calls got further.
Result<bool> ClusterSimulator::step_members(uint32_t number) {
    Process& process = processes_[number];
    bool has_moved = false;
    std::string error;
    for (size_t i = 0; i < process.running.size();) {
        Member& member = *process.running[i];
        has_moved |= step_once(process, member, error);
        if (!error.empty()) {
            return Error{ErrorCode::kSystem, "seed " + std::to_string(params_.weather.seed) +
                                                 ": rank " + std::to_string(member.rank) + ": " +
                                                 error};
        }
        if (member.is_running) {
            ++i;
        } else {
            process.running.erase(process.running.begin() + static_cast<std::ptrdiff_t>(i));
        }
    }
    return has_moved;
}

// A process goes on while it gets further and no time passes by that.
Result<Done> ClusterSimulator::step(uint32_t number) {
    Process& process = processes_[number];
    // What others send it may wake it sooner.
    if (process.next_call == 0 && world_.now_ns() < began_ns_ + process.late_ns) {
        world_.wake(number, began_ns_ + process.late_ns);
        return Done{};
    }
    if (process.look_ns > 0) {
        world_.work(number, prng_.below(256) == 0 ? 100 * process.look_ns
                                                  : prng_.below(2 * process.look_ns));
    }
    while (true) {
        bool has_moved = start_calls(number);
        const auto moved = step_members(number);
        if (!moved) return moved.error();
        has_moved = has_moved || moved.value();
        if (!has_moved) return Done{};
        if (world_.time_of(number) > world_.now_ns()) {
            world_.wake(number, world_.time_of(number));
            return Done{};
        }
    }
}

Error ClusterSimulator::stuck_error() const {
    std::string where;
    for (size_t number = 0; number < teams_.size(); ++number) {
        for (const auto& member : teams_[number]->members) {
            if (!member->is_running) continue;
            where += (where.empty() ? " team " : "; team ") + std::to_string(number) + " rank " +
                     std::to_string(member->rank) + " in call " +
                     std::to_string(member->next_call - 1);
            const std::vector<uint32_t> awaited = member->executor->waits_for();
            if (!awaited.empty()) where += " waits for " + engine::rank_list(awaited);
            if (member->executor->node_op()) where += " waits on its node";
        }
    }
    return {ErrorCode::kSystem,
            "seed " + std::to_string(params_.weather.seed) + ": deadlock of" + where};
}

void ClusterSimulator::wake_all() {
    ++sweeps_;
    for (uint32_t number = 0; number < processes_.size(); ++number) {
        const Process& process = processes_[number];
        const bool is_idle = process.running.empty() && process.next_call == process.calls.size();
        const uint64_t due_ns = began_ns_ + (process.next_call == 0 ? process.late_ns : 0);
        if (!is_idle) world_.wake(number, std::max(world_.now_ns(), due_ns));
    }
}

// Calls begin at a time that the seed draws, so that they do not always meet the same exchange.
// Foreign ranks are the world's last team, so that all others have the same number here and there.
Result<Done> ClusterSimulator::fill_network() {
    background_ = std::make_unique<Background>(world_, params_.cluster.fabric, params_.background,
                                               static_cast<uint32_t>(processes_.size()));
    background_->start();
    while (!background_->has_filled_network()) {
        const auto number = world_.next();
        if (!number) return Error{ErrorCode::kSystem, "the background stands still"};
        background_->step(*number);
    }
    began_ns_ = world_.now_ns() + prng_.below(world_.now_ns() + 1);
    return Done{};
}

// fruitless: what has happened to foreign processes since the others last got further.
Result<Done> ClusterSimulator::step_any(uint32_t process, uint64_t& fruitless) {
    if (!background_ || !background_->owns(process)) {
        fruitless = 0;
        return step(process);
    }
    background_->step(process);
    if (++fruitless < kFruitlessMax) return Done{};
    return Error{ErrorCode::kSystem, "the call stands still while the background has exchanged " +
                                         std::to_string(fruitless) +
                                         " messages, which are too short for it"};
}

// A rank that changed what others see without changing where it stands itself would leave them
// asleep, so before a deadlock is believed, all look once more.
Result<Done> ClusterSimulator::run() {
    if (!background_ && !params_.background.hosts.empty()) {
        if (const auto filled = fill_network(); !filled) return filled.error();
    }
    uint64_t moves_before = ~uint64_t{0};
    while (calls_left_ > 0) {
        if (moves_ == moves_before) return stuck_error();
        moves_before = moves_;
        wake_all();
        uint64_t fruitless = 0;
        while (const auto number = world_.next()) {
            const auto done = step_any(*number, fruitless);
            if (!done) return done.error();
            // Foreign ranks never end.
            if (background_ && calls_left_ == 0) return Done{};
        }
    }
    return Done{};
}

}  // namespace tutti::simulate
