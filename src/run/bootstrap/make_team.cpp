// SPDX-License-Identifier: BSD-3-Clause
// Making a team: all or nothing. Every round is one allgather over all members, or over those of a
// node.
//
//   1  all: settings, and which node each is on: the placement; of few, who they are, too
//   2  node: its part of the shared memory (make_node.cpp)
// and where there are several nodes,
//   before 2  all: the tags of the team, and has everybody the way to the others? The rounds of a
//             node then go over it
//   after 2   all: has everybody got it? (make_node.cpp, too)
//   3         all: the names of the hosts, for messages, where there are not too many
//   and       networks that carry messages, where they are wanted (make_networks.cpp)
//   4 to 7    multicast, where it is wanted at once (make_multicast.cpp; try_multicast.cpp)
//   8         all: has everybody what runs plans?
//
// A member whose memory runs out says so in the next round (circle.h). What needs memory is done
// before the last round in which that can be said.
#include "run/bootstrap/make_team.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "run/bootstrap/make_multicast.h"
#include "run/bootstrap/make_networks.h"
#include "run/bootstrap/make_node.h"
#include "run/bootstrap/make_tags.h"
#include "run/bootstrap/measure_messages.h"
#include "run/bootstrap/node_talk.h"
#include "run/bootstrap/read_clocks.h"
#include "run/bootstrap/rounds.h"
#include "run/bootstrap/try_multicast.h"
#include "run/engine/inter_node.h"
#include "run/engine/inter_node_control.h"
#include "run/engine/node_control.h"
#include "run/engine/node_runner.h"
#include "run/engine/program_runner.h"

namespace tutti::bootstrap {
namespace {

struct Machine {
    uint64_t node = 0;
    uint64_t settings = 0;
    uint64_t machine = 0;
    uint64_t has_memory = 0;        // this far
    uint64_t requests = 1;          // that may be under way at once
    uint64_t is_in_turn = 0;        // see tutti_team_params
    uint64_t host = topo::kNoNode;  // of the context's fabric
    uint64_t fabric = 0;            // its hash
};

// Of so many, all hear of each what only those of its node need: 200 bytes each, and a round less.
constexpr uint32_t kIntroducedRanksMax = 64;
struct Introduction {
    Machine machine;  // first
    NodeMember member;
};

// Names beyond so many ranks would take more memory than they are worth.
constexpr uint32_t kNamedRanksMax = 4096;
struct HostName {
    char text[40] = {};
};

class TeamMaker {
  public:
    TeamMaker(engine::Context& context, const tutti_team_params& params)
        : context_(context),
          params_(params),
          all_(params.rank, params.size, params.allgather, params.allgather_user) {}
    TeamMaker(const TeamMaker&) = delete;
    TeamMaker& operator=(const TeamMaker&) = delete;
    ~TeamMaker();

    // A team of so many tracks as all members ask for.
    Result<std::unique_ptr<engine::Team>> make();

  private:
    Report prepare();
    void prepare_one_node(uint32_t tracks);
    Result<Done> meet();
    template <class Hello>
    Result<Done> meet(const Hello& mine);
    void keep_tracks();
    Result<Done> make_alone();
    [[nodiscard]] topo::SwitchTree switches_of(const topo::Placement& placement) const;
    Result<Done> make_inter_node(const tutti_p2p& p2p);
    void run_tracks_across();
    [[nodiscard]] uint32_t tracks() const { return static_cast<uint32_t>(requests_); }
    Result<Done> make_across();
    [[nodiscard]] Report explain(const Error& error) const;
    Result<Done> name_hosts();
    void await_speed();
    Report make_multicast();
    Report attach();
    Result<Done> prepare_arrivals();
    void take(NodePart& part);
    void finish();

    engine::Context& context_;
    const tutti_team_params& params_;
    Circle all_;
    Machine mine_;
    std::optional<NodeTalk> node_;     // across hosts
    bool is_cut_ = false;              // messages have failed: some may still be under way
    std::vector<NodeMember> members_;  // of the own node; none in large teams
    std::unique_ptr<engine::Team> team_;
    engine::NodeRunner* node_runner_ = nullptr;  // of the first track, on one node
    engine::InterNode* inter_node_ = nullptr;    // the team's, across nodes
    std::vector<uint64_t> nodes_;                // by rank
    std::vector<uint32_t> hosts_;                // by rank, where the fabric is known
    uint64_t requests_ = 1;                      // that all members ask for, at least: the tracks
    bool is_in_turn_ = false;                    // by the word of all members
    // Ranks of one machine that outnumber its processors, whatever hosts they pretend to be on; and
    // whether yielding helps those of one node (process.h).
    bool is_crowded_ = false;
    bool has_many_sessions_ = false;
};

// All that a team of any kind takes beside its node's part and its way to other nodes.
Report TeamMaker::prepare() {
    if (params_.cannot) return report_of_no_memory();
    nodes_.reserve(params_.size);
    const uint32_t requests = std::max(params_.requests, 1u);
    team_ = std::make_unique<engine::Team>(context_, params_, requests,
                                           context_.settings().watch.check && params_.size > 1);
    const Settings& settings = context_.settings();
    if (settings.watches_arrivals() && params_.size > 1) {
        engine::Sampler& sampler = team_->sample();
        if (settings.tunes_live()) sampler.tune_live(settings.tune == TuneChoice::kLiveAll);
    }
    prepare_one_node(requests);
    if (params_.size <= kIntroducedRanksMax) members_.reserve(params_.size);
    const engine::Context::OwnFabric* fabric = context_.fabric();
    if (fabric) hosts_.reserve(params_.size);
    mine_ = {context_.node_of(params_),
             context_.settings_hash(),
             context_.machine().hash,
             1,
             requests,
             params_.in_turn != 0 && requests == 1 ? 1u : 0u,
             fabric ? fabric->own_host : topo::kNoNode,
             fabric ? fabric->hash : 0};
    return {};
}

// What runs it on one node, as it may be.
void TeamMaker::prepare_one_node(uint32_t tracks) {
    engine::Members& members = team_->members();
    members.later_nodes.resize(tracks - 1);
    for (uint32_t number = 0; number < tracks; ++number) {
        node::Team& node = members.node_of(number);
        auto runner = std::make_unique<engine::NodeRunner>(
            members, node, select::NodeChoice::create(context_.grounds(), params_.size));
        if (number == 0) node_runner_ = runner.get();
        team_->tracks().at(number).run_by(std::move(runner),
                                          std::make_unique<engine::NodeControl>(members, node));
    }
}

namespace {
const Machine& machine_of(const Machine& one) { return one; }
const Machine& machine_of(const Introduction& one) { return one.machine; }
}  // namespace

Result<Done> TeamMaker::meet() {
    if (params_.size > kIntroducedRanksMax) return meet(mine_);
    return meet(Introduction{mine_, mine_.has_memory ? introduce(context_) : NodeMember{}});
}

template <class Hello>
Result<Done> TeamMaker::meet(const Hello& mine) {
    auto all = all_.exchange(mine);
    if (!all) return all.error();
    for (uint32_t rank = 0; rank < params_.size; ++rank) {
        if (machine_of(all.value()[rank]).has_memory) continue;
        return Error{ErrorCode::kMemory, "rank " + std::to_string(rank) + ": out of memory"};
    }
    uint32_t on_machine = 0;
    requests_ = mine_.requests;
    is_in_turn_ = true;
    for (uint32_t rank = 0; rank < params_.size; ++rank) {
        const Machine& one = machine_of(all.value()[rank]);
        if (one.settings != machine_of(all.value()[0]).settings) {
            return Error{ErrorCode::kArgument, "settings of rank " + std::to_string(rank) +
                                                   " differ from those of rank 0"};
        }
        if (one.fabric != machine_of(all.value()[0]).fabric) {
            return Error{ErrorCode::kArgument, "what rank " + std::to_string(rank) +
                                                   " knows of the switches differs from rank 0's"};
        }
        nodes_.push_back(one.node);
        if (context_.fabric()) hosts_.push_back(static_cast<uint32_t>(one.host));
        requests_ = std::min(requests_, one.requests);
        is_in_turn_ &= one.is_in_turn != 0;
        if constexpr (std::is_same_v<Hello, Introduction>) {
            if (one.node == mine_.node) members_.push_back(all.value()[rank].member);
        }
        if (one.machine != mine_.machine) continue;
        ++on_machine;
    }
    keep_tracks();
    is_crowded_ = on_machine > context_.machine().usable_cpus ||
                  context_.params().ranks_on_node > context_.machine().usable_cpus;
    return Done{};
}

// As all members know by now. Allocates nothing.
void TeamMaker::keep_tracks() {
    team_->tracks().keep(requests_);
    team_->members().later_nodes.resize(requests_ - 1);
    if (requests_ > 1) team_->leave_sampling();  // of calls at once nobody is the last to come
}

void TeamMaker::take(NodePart& part) {
    engine::Members& members = team_->members();
    members.arena = std::move(part.arena);
    members.memory = std::move(part.memory);
    members.node = std::move(part.nodes.front());
    for (size_t i = 1; i < part.nodes.size(); ++i) {
        members.later_nodes[i - 1] = std::move(part.nodes[i]);
    }
    members.node_leader = part.leader;
    members.node_source = part.source;
    is_crowded_ |= part.is_crowded;
    has_many_sessions_ |= part.has_many_sessions;
}

// The team is on one node.
Result<Done> TeamMaker::make_alone() {
    is_crowded_ = has_many_sessions_ = false;  // the node's own members know better
    auto part = make_node(context_, all_, members_, tracks(), is_in_turn_);
    if (!part) return part.error();
    take(part.value());
    if (requests_ == 1) team_->run_short_by(*node_runner_);
    return Done{};
}

// Where the nodes are: a node is on the host that its lowest rank says.
topo::SwitchTree TeamMaker::switches_of(const topo::Placement& placement) const {
    std::vector<uint32_t> host_of_node;
    for (uint32_t node = 0; node < placement.nodes(); ++node) {
        host_of_node.push_back(hosts_[placement.members(node)[0]]);
    }
    return topo::restrict_tree(context_.fabric()->tree, host_of_node);
}

Result<Done> TeamMaker::make_inter_node(const tutti_p2p& p2p) {
    auto tags = agree_on_tags(context_.tags(), p2p, all_, tracks());
    if (!tags) return tags.error();
    const auto make = [&] {
        topo::Placement placement(nodes_);
        if (context_.fabric()) placement.set_switches(switches_of(placement));
        std::vector<uint32_t> peers;
        if (params_.peers) peers.assign(params_.peers, params_.peers + params_.size);
        auto way =
            std::make_unique<engine::InterNode>(context_, std::move(placement), params_.rank, p2p,
                                                std::move(peers), std::move(tags.value()));
        inter_node_ = way.get();
        team_->connect(std::move(way));
        run_tracks_across();
        node_.emplace(*inter_node_, params_.rank);
        return Report{};
    };
    return all_.agree_briefly(guarded(make));
}

void TeamMaker::run_tracks_across() {
    engine::Members& members = team_->members();
    for (uint32_t number = 0; number < tracks(); ++number) {
        node::Team& node = members.node_of(number);
        engine::CallTrack& track = inter_node_->track(number);
        team_->tracks().at(number).run_by(
            std::make_unique<engine::ProgramRunner>(members, node, *inter_node_, track),
            std::make_unique<engine::InterNodeControl>(members, node, *inter_node_, track));
    }
}

// Why this node has no part: the same text on its members, which says whom it is about.
Report TeamMaker::explain(const Error& error) const {
    Report report = node_->gather->has_failed()
                        ? report_of(Obstacle::kNetwork, node_->gather->error())
                        : report_of(error);
    report.is_named = 1;
    return report;
}

Result<Done> TeamMaker::name_hosts() {
    if (params_.size > kNamedRanksMax) return Done{};
    HostName mine;
    static_cast<void>(guarded([&] {
        const std::string host = context_.host_of(params_);
        std::strncpy(mine.text, host.c_str(), sizeof(mine.text) - 1);
        return Report{};
    }));
    const auto all = all_.exchange(mine);
    if (!all) return all.error();
    // Numbers do where names are missing.
    static_cast<void>(guarded([&] {
        const topo::Placement& placement = inter_node_->placement();
        std::vector<std::string> names;
        for (uint32_t node = 0; node < placement.nodes(); ++node) {
            names.emplace_back(all.value()[placement.members(node)[0]].text);
        }
        inter_node_->set_host_names(std::move(names));
        return Report{};
    }));
    return Done{};
}

void TeamMaker::await_speed() {
    if (!params_.multicast_later || !may_measure(context_.settings(), context_.rules())) return;
    team_->agenda().add(std::make_unique<SpeedDuty>(*team_, nodes_));
    inter_node_->first().planner().await_speed();
}

// A report of trouble is about the team as a whole: whoever has no multicast goes without.
Report TeamMaker::make_multicast() {
    engine::InterNode& inter_node = *inter_node_;
    const Settings& settings = context_.settings();
    const bool may_try = wants_multicast(settings) && !settings.watch.watches_calls();
    if (params_.multicast_later && may_try) {
        team_->agenda().add(std::make_unique<MulticastDuty>(*team_));
    }
    if (params_.multicast_later && may_wait_for_multicast(settings, context_.rules())) {
        if (wants_multicast(settings)) inter_node.multicast().await();
        return {};
    }
    const multicast::HostMembers host{node_->circle, team_->members().arena.get(),
                                      team_->members().node_leader};
    auto made = bootstrap::make_multicast(context_, all_, host, inter_node);
    if (!made) {
        is_cut_ = true;
        return report_of(made.error());
    }
    tell_obstacle(context_, team_->members().name, params_.rank, made.value());
    inter_node.multicast().set(std::move(made.value()));
    return {};
}

Report TeamMaker::attach() {
    engine::InterNode& inter_node = *inter_node_;
    const bool has_nodes = inter_node.placement().members_max() > 1;
    std::vector<node::Team*> nodes;
    for (uint32_t number = 0; number < tracks(); ++number) {
        node::Team& node = team_->members().node_of(number);
        node.tolerates = false;  // what the other nodes do, this one cannot see
        nodes.push_back(has_nodes ? &node : nullptr);
    }
    inter_node.attach(nodes);
    const size_t card_bytes = context_.settings().watch.check ? sizeof(engine::CallCard) : 0;
    Result<Done> planned = Done{};
    for (uint32_t number = 0; planned && number < tracks(); ++number) {
        planned = inter_node.track(number).plan_helpers(card_bytes);
    }
    if (planned) planned = prepare_arrivals();
    return planned ? Report{} : report_of(planned.error());
}

// Clocks are read by the embedder's allgather, where that stays. Where there may be multicast, by
// default arrivals are looked at for the choice that follows from them.
Result<Done> TeamMaker::prepare_arrivals() {
    const Settings& settings = context_.settings();
    const bool may_multicast =
        inter_node_->multicast().is_awaited() || inter_node_->multicast().takes_ns() > 0;
    const bool may_follow = may_multicast && settings.may_follow_arrivals();
    const bool may_sample = params_.multicast_later && tracks() == 1;
    if (!may_sample || !(may_follow || team_->sampler())) {
        team_->leave_sampling();
        return Done{};
    }
    engine::Sampler& sampler = team_->sampler() ? *team_->sampler() : team_->sample();
    if (may_follow) sampler.may_follow();
    sampler.read_clocks_by(std::make_unique<ClockDuty>(*team_));
    return inter_node_->first().plan_comparison(sizeof(adapt::ArrivalBlock));
}

Result<Done> TeamMaker::make_across() {
    if (!params_.p2p) {
        return Error{ErrorCode::kNode,
                     "its ranks are on several hosts, and there is no way "
                     "between them"};
    }
    // What an embedder of an older version does not know stays null.
    tutti_p2p p2p{};
    std::memcpy(&p2p, params_.p2p, std::min(params_.p2p->struct_bytes, sizeof(p2p)));
    if (auto made = make_inter_node(p2p); !made) return made;
    auto part = make_nodes(context_, node_->circle, all_, members_, tracks(),
                           [this](const Error& error) { return explain(error); });
    if (!part) return part.error();
    take(part.value());
    if (auto named = name_hosts(); !named) return named;
    if (is_crowded_) inter_node_->multicast().set_crowded();
    const std::string& name = team_->members().name;
    auto networks = make_networks(context_, all_, inter_node_->networks(),
                                  {is_crowded_, is_in_turn_, tracks()}, name);
    if (!networks) return networks;
    Report report = guarded([&] {
        await_speed();
        return make_multicast();
    });
    // Without multicast there would be a team, but without messages there is none.
    if (node_->gather->has_failed()) report = guarded([&] { return explain({}); });
    if (report.obstacle == Obstacle::kNone) report = guarded([&] { return attach(); });
    return all_.agree_briefly(report);
}

void TeamMaker::finish() {
    engine::WaitPolicy& policy = team_->members().policy;
    policy.spin_ns = context_.settings().node.spin_us * 1000;
    policy.is_crowded = is_crowded_;
    for (uint32_t number = 0; is_crowded_ && number < tracks(); ++number) {
        team_->members().node_of(number).single_copy.patience_polls = 0;
    }
    const bool is_alone = inter_node_ == nullptr;
    policy.sleeps = is_crowded_ && has_many_sessions_ && is_alone;
    policy.naps = is_crowded_ && !is_alone;
    // More than thirty years would not fit.
    policy.stall_ns = static_cast<uint64_t>(std::min(context_.settings().watch.stall_s, 1e9) * 1e9);
}

// Of a team that comes to nothing since messages failed, some may still be under way.
TeamMaker::~TeamMaker() {
    if (node_ && node_->gather->has_failed()) {
        is_cut_ = true;
        context_.remnants().keep(std::move(node_->gather));
    }
    if (is_cut_ && team_) team_->members().broken = TUTTI_ERR_NETWORK;
}

Result<std::unique_ptr<engine::Team>> TeamMaker::make() {
    const Report prepared = guarded([&] { return prepare(); });
    if (params_.size > 1) {
        if (auto met = meet(); !met) return met.error();
    } else if (prepared.obstacle != Obstacle::kNone) {
        return Error{ErrorCode::kMemory, prepared.detail};
    } else {
        keep_tracks();  // one: nobody else asks for more
    }
    const bool is_one_node =
        std::all_of(nodes_.begin(), nodes_.end(), [&](uint64_t node) { return node == nodes_[0]; });
    auto made = is_one_node ? make_alone() : make_across();
    if (!made) return made.error();
    finish();
    return std::move(team_);
}

}  // namespace

Result<std::unique_ptr<engine::Team>> make_team(engine::Context& context,
                                                const tutti_team_params& params) {
    return TeamMaker(context, params).make();
}

}  // namespace tutti::bootstrap
