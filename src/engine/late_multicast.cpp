// SPDX-License-Identifier: BSD-3-Clause
// Multicast for a team that has made calls already: for the first time, or again after it has
// failed. All members are in one and the same call, which they have counted to alike, so that they
// can agree as they do while a team is made; none has a message of a call under way.
#include <memory>
#include <new>
#include <optional>

#include "engine/make_multicast.h"
#include "engine/peer_gather.h"
#include "engine/team.h"

namespace tutti::engine {
namespace {

// How the members of a node talk to each other meanwhile.
struct NodeTalk {
    std::unique_ptr<PeerGather> gather;
    std::optional<Circle> circle;
};

Report begin_talk(Network& network, uint32_t rank, NodeTalk& talk) {
    const topo::Placement& placement = network.placement();
    const auto members = placement.members(placement.node_of(rank));
    const uint32_t index = placement.index_on_node(rank);
    talk.gather =
        std::make_unique<PeerGather>(network.transport(), network.notes(), members, index);
    talk.circle.emplace(index, static_cast<uint32_t>(members.size()), PeerGather::allgather,
                        talk.gather.get());
    talk.circle->names = members;
    return {};
}

}  // namespace

bool Team::multicast_is_due(const tutti_call& call) {
    if (!network_) return false;
    const HeldTeam held_team(*this);
    if (!network_->may_try_multicast() || broken_ != TUTTI_OK) return false;
    // A member that has rejected a call has not counted it; the next call says so.
    if (rejections_.is_open()) return false;
    if (describe(call, ask_) != TUTTI_OK || ask_.op.call.is_empty()) return false;
    const auto is_due = context_->with_fund([&]() -> Result<bool> {
        const auto held = network_->hold();
        return network_->multicast_is_due(shape_of(ask_.op.call, ask_.commutes, size_));
    });
    if (is_due) return is_due.value();
    give_up(TUTTI_ERR_MEMORY, "out of memory");
    return false;
}

tutti_status Team::meet() {
    tutti_call barrier{};
    barrier.collective = TUTTI_BARRIER;
    return run(barrier);
}

// In the try all members let it go on, so it ends; and who is over it has no message of it under
// way: those of the next group's failure cannot meet with them.
tutti_status Team::settle_multicast() {
    run_.stage = Request::Stage::kSettling;
    run_.status = TUTTI_PENDING;
    run_.next = nullptr;
    head_ = tail_ = &run_;
    return wait_for(run_);
}

bool Team::advance_settling() {
    switch (network_->settle_multicast()) {
        case transport::State::kPending:
            return false;
        case transport::State::kDone:
            network_->announce(false);
            finish(*head_, TUTTI_OK);
            return true;
        case transport::State::kFailed:
            break;
    }
    give_up(TUTTI_ERR_NETWORK, "no way on after multicast failed");
    return true;
}

void Team::tell_return() {
    try {
        const std::string line = network_->tell_return();
        if (!line.empty()) context_->log(TUTTI_LOG_WARN, name_ + ": " + line);
    } catch (const std::bad_alloc&) {
        // A line for people.
    }
}

// Whatever goes wrong here leaves the team without multicast; only where the members cannot talk to
// each other any more, there is no team.
tutti_status Team::try_multicast(Circle::Allgather allgather, void* user) {
    static_cast<void>(HeldTeam(*this));  // where nothing is under way, nobody else touches it now
    if (!is_idle()) return TUTTI_ERR_ARGUMENT;
    if (broken_ != TUTTI_OK) return broken_;
    if (!network_ || !network_->may_try_multicast()) return TUTTI_OK;
    // First they meet in a call of their own. Who makes another call, has given up or has had an
    // error ends that one, while nothing ends a wait in the embedder's allgather. Where the rules
    // leave barriers to a host, they do so on all members.
    const tutti_status met = meet();
    if (met != TUTTI_OK && met != TUTTI_ERR_ALGORITHM) return met;
    if (network_->has_lost_multicast()) {
        const tutti_status settled = settle_multicast();
        if (settled != TUTTI_OK) return settled;
        network_->retire_multicast();
    }
    Circle all(rank_, size_, allgather, user);
    NodeTalk talk;
    bool are_apart = false;
    auto agreed = all.agree_briefly(guarded([&] { return begin_talk(*network_, rank_, talk); }));
    if (agreed) {
        const Report report = guarded([&] {
            const NodeMembers node{*talk.circle, arena_.get(), node_leader_};
            auto made = make_multicast(*context_, all, node, *network_);
            are_apart = !made;
            if (!made) return report_of(made.error());
            tell_obstacle(*context_, name_, rank_, made.value());
            const auto adopted = network_->adopt_multicast(std::move(made.value()));
            return adopted ? Report{} : report_of(adopted.error());
        });
        agreed = all.agree_briefly(report);
    }
    network_->forget_told();  // whoever waited in the try heard nothing else
    if (agreed) {
        tell_return();
        return TUTTI_OK;
    }
    network_->drop_multicast(agreed.error().message);
    are_apart |= agreed.error().code == ErrorCode::kBootstrap;
    const bool is_cut = talk.gather && talk.gather->has_failed();
    if (is_cut) context_->keep(std::move(talk.gather));
    if (!are_apart && !is_cut) return TUTTI_OK;
    give_up(TUTTI_ERR_NETWORK, agreed.error().message.c_str());
    return broken_;
}

}  // namespace tutti::engine
