// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/carrier/membership.h"

#include <algorithm>
#include <new>

#include "base/assert.h"
#include "run/transport/carrier/ring_feed.h"
#include "run/transport/multicast.h"

namespace tutti::transport::carrier {
namespace {

// In which it answers for others whose acknowledgements pass through it: ten of the slowest
// heartbeats, each of which asks again.
constexpr uint64_t kAnswerNs = 1'000 * mcast::kMillisecond;

mcast::Params group_params(const JoinParams& join, const Path& path) {
    mcast::Params params;
    params.group = join.group;
    params.member = join.member;
    params.members = static_cast<mcast::Member>(join.members.size());
    params.window_packets = std::min(join.window_packets, path.window_packets_max);
    params.packet_bytes_max = path.packet_bytes_max;
    params.bytes_per_s = join.bytes_per_s;
    // A second in all: members that share processors may get none of them for long, and who is not
    // heard goes without multicast. It passes only where packets do not reach everybody.
    params.timing.probes_max = 200;
    params.teams_max = 2;
    // The ring's slots, and one at a time for byes.
    params.posts_max = kRingSlotsMax + 1;
    params.seed = join.seed;
    return params;
}

}  // namespace

Result<std::unique_ptr<Membership>> Membership::create(const JoinParams& params, const Path& path,
                                                       const FaultPlan& faults) {
    if (const auto prepared = prepare(params.key); !prepared) return prepared.error();
    try {
        auto group = mcast::Group::create(group_params(params, path));
        if (!group) return group.error();
        std::unique_ptr<Membership> made(new Membership(params, path, std::move(group.value())));
        if (faults.is_any()) made->faults_.emplace(faults, params.member, path.packet_bytes_max);
        made->fail_after_ = faults.fail_after;
        return made;
    } catch (const std::bad_alloc&) {
        return Error{ErrorCode::kMemory, "multicast: no memory for a group"};
    }
}

Membership::Membership(const JoinParams& params, const Path& path,
                       std::unique_ptr<mcast::Group> group)
    : group_(std::move(group)),
      key_(params.key),
      shares_host_(path.shares_host),
      bytes_per_s_max_(path.bytes_per_s_max),
      farewell_(*group_) {
    sink_ = [this](std::span<const std::byte> packet) {
        group_->on_packet(now_ns_, packet, arrival_ns_);
    };
    const auto opened = group_->open_team(kRingTeam);
    TUTTI_ASSERT(opened, "a new group has room for its two teams");
    if (path.marks_urgent) urgency_.emplace(group_->params().window_packets);
    group_->set_gate([this](const mcast::Data& data) { return may_come(data); });
}

// No client has it any more: then the group drops it.
bool Membership::may_come(const mcast::Data& data) const {
    if (Farewell::is_bye(data)) return farewell_.may_come(data);
    return data.name.team == kRingTeam && (!client_ || client_->may_come(data));
}

uint64_t Membership::faults() const {
    return faults_ ? faults_->dropped() + faults_->doubled() + faults_->held_back() : 0;
}

void Membership::start_probe(uint64_t now_ns) { group_->start_probe(now_ns); }

ProbeState Membership::probe_state() const {
    const mcast::Prober& prober = group_->prober();
    const mcast::Member members = group_->params().members;
    const mcast::Member own = group_->params().member;
    ProbeState state;
    // A group that has failed sends no probes any more.
    state.is_done = prober.is_done() || group_->failure().has_value();
    state.all_hear_all = prober.all_hear_all();
    state.bytes_per_s = prober.own_bytes_per_s();
    // Where nothing says when a packet came, a row of them comes in lumps, or all at once.
    const bool is_measured = state.bytes_per_s > 0 && state.bytes_per_s < bytes_per_s_max_;
    if (bytes_per_s_max_ > 0 && !is_measured) state.bytes_per_s = bytes_per_s_max_;
    if (prober.round_trip_ns_max() > 0) {
        state.round_trip_ns_min = prober.round_trip_ns_min();
        state.round_trip_ns_max = prober.round_trip_ns_max();
    }
    for (mcast::Member member = 0; member < members; ++member) {
        state.heard += prober.hears(own, member) ? 1 : 0;
    }
    // What it hears itself it knows for certain; of the others, what they told.
    for (mcast::Member i = 0; i < members && state.deaf == mcast::kNobody; ++i) {
        const auto who = static_cast<mcast::Member>((own + i) % members);
        for (mcast::Member whom = 0; whom < members; ++whom) {
            if (prober.hears(who, whom)) continue;
            state.deaf = who;
            state.unheard = whom;
            break;
        }
    }
    return state;
}

void Membership::on_packet(uint64_t now_ns, uint64_t arrival_ns,
                           std::span<const std::byte> packet) {
    now_ns_ = now_ns;
    arrival_ns_ = arrival_ns;
    farewell_.expect();
    if (!faults_) return sink_(packet);
    const mcast::Params& params = group_->params();
    const bool is_last = params.member + 1 == params.members;
    if (is_last && ++packets_ == fail_after_ && !group_->given_up()) group_->give_up(now_ns, 0);
    faults_->pass(now_ns, packet, sink_);
}

void Membership::advance(uint64_t now_ns) {
    if (faults_ && faults_->next_ns() <= now_ns) {
        now_ns_ = now_ns;
        arrival_ns_ = now_ns;
        faults_->release(now_ns, sink_);
    }
    // Byes first: with the last of them no failure matters that came behind it.
    if (farewell_.look(now_ns)) try_end_client(now_ns);
    if (client_) client_->advance(now_ns);
    if (client_ && client_->has_left()) is_leaving_ = true;
    if (is_leaving_) advance_leaving(now_ns);
    group_->tick(now_ns);
}

uint64_t Membership::next_deadline() const {
    uint64_t next = group_->next_deadline();
    if (faults_) next = std::min(next, faults_->next_ns());
    // It goes with its last notice.
    if (is_leaving_ && group_->failure() && next == mcast::kNever) return 0;
    return std::min(next, over_ns_);
}

size_t Membership::next_packet(uint64_t now_ns, std::span<std::byte> out, mcast::Member& to,
                               bool& is_urgent) {
    const size_t bytes = group_->next_packet(now_ns, out, to);
    if (bytes == 0) return 0;
    // On the detour a packet's copies go one to each member.
    is_urgent = !urgency_ || urgency_->is_urgent(out.first(bytes)) || group_->given_up();
    seal(key_, out.first(bytes));
    return bytes;
}

// All members have left, and each can hear it: nobody is in a call of the team, nor will be. Where
// the group was given up before the own bye was written the others never hear that, and all take
// part in what follows, so this client must too.
void Membership::try_end_client(uint64_t now_ns) {
    if (!client_ || !farewell_.has_said() || !farewell_.has_heard_all()) return;
    client_->end();
    client_.reset();
    memory_.reset();
    group_->close_team(now_ns, kRingTeam);
}

void Membership::advance_leaving(uint64_t now_ns) {
    if (group_->failure()) {
        // The client may not know yet. Then what is left of the notices, and nothing more.
        if (client_) client_->advance(now_ns);
        if (group_->next_deadline() == mcast::kNever) over_ns_ = now_ns;
        return;
    }
    if (group_->given_up()) {
        // Others may still need this member until all is at its place.
        if (!client_) group_->end_writing(now_ns);
        return;
    }
    farewell_.say(now_ns);
    try_end_client(now_ns);
    is_done_ =
        farewell_.has_heard_all() && farewell_.has_said() && group_->sender().is_acknowledged();
    if (is_done_) over_ns_ = std::min(over_ns_, now_ns + kAnswerNs);
}

}  // namespace tutti::transport::carrier
