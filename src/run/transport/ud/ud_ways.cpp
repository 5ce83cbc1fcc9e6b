// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/ud/ud_ways.h"

#include <algorithm>
#include <new>

#include "base/assert.h"
#include "run/transport/ud/addresses.h"

namespace tutti::transport::ud {

using carrier::WayParams;
using verbs::UdGroup;
using verbs::UdRoute;

Result<std::unique_ptr<UdWay>> UdWays::join(const WayParams& params) {
    if (params.group.kind != carrier::Kind::kUd) {
        return Error{ErrorCode::kArgument, "multicast: the group's address is of another network"};
    }
    try {
        drop_retired();
        auto way = make(params);
        if (way) promised_ += way.value()->promised;
        return way;
    } catch (const std::bad_alloc&) {
        return Error{ErrorCode::kMemory, "multicast: no memory for a group"};
    }
}

Result<std::unique_ptr<UdWay>> UdWays::make(const WayParams& params) {
    const auto path = choose_path_of(params.members, params.own);
    if (!path) return path.error();
    const size_t members = params.members.size();
    auto way = std::make_unique<UdWay>();
    std::copy_n(params.group.bytes.begin(), way->group.size(), way->group.begin());
    way->packet_bytes = path.value().packet_bytes_max;
    way->promised = promise_of(path.value().window_packets_max, members,
                               said_by(params.members[params.own]).free_receives);
    if (free_receives() < way->promised) {
        return Error{ErrorCode::kMemory,
                     "multicast: another group has taken the receives that this one was to have"};
    }
    joined_.reserve(joined_.size() + 1);
    // A member that leaves needs no memory for it.
    retired_.reserve(retired_.size() + live_routes_ + members + 1);
    way->to_member.resize(members);
    if (const auto made = make_routes(*way, params); !made) return made.error();
    live_routes_ += members + 1;
    return way;
}

// All of them, or none.
Result<Done> UdWays::make_routes(UdWay& way, const WayParams& params) {
    Result<Done> outcome = Done{};
    for (size_t member = 0; member < way.to_member.size() && outcome; ++member) {
        if (member == params.own) continue;
        const auto route = end_.make_route(said_by(params.members[member]).card);
        if (route) way.to_member[member] = route.value();
        if (!route) outcome = route.error();
    }
    if (outcome) {
        const auto route = join(way.group);
        if (route) way.to_all = route.value();
        if (!route) outcome = route.error();
    }
    if (outcome) return outcome;
    for (const UdRoute& route : way.to_member) {
        if (route.handle) end_.drop(route);
    }
    return outcome;
}

// A queue pair is attached to a group once, whatever the number of teams that use it.
Result<UdRoute> UdWays::join(const UdGroup& group) {
    const auto found = std::ranges::find(joined_, group, &Joined::group);
    if (found != joined_.end()) {
        ++found->uses;
        return found->to_all;
    }
    const auto route = end_.join(group);
    if (route) joined_.push_back({group, route.value(), 1});
    return route;
}

void UdWays::leave(const UdGroup& group) {
    const auto found = std::ranges::find(joined_, group, &Joined::group);
    TUTTI_ASSERT(found != joined_.end(), "a group that is left was joined");
    if (--found->uses > 0) return;
    end_.leave(group);
    retire(found->to_all);
    joined_.erase(found);
}

// Routes go as soon as nothing goes by them any more.
void UdWays::leave(const UdWay& way) {
    TUTTI_ASSERT(promised_ >= way.promised, "what a way was promised is taken back once");
    promised_ -= way.promised;
    live_routes_ -= way.to_member.size() + 1;
    leave(way.group);
    for (const UdRoute& route : way.to_member) {
        if (route.handle) retire(route);
    }
    drop_retired();
}

// Those by which nothing goes any more. The others wait for the next one that joins or leaves.
void UdWays::drop_retired() {
    const uint64_t complete = sends_.complete();
    std::erase_if(retired_, [&](const Retired& one) {
        if (one.sends > complete) return false;
        end_.drop(one.route);
        return true;
    });
}

}  // namespace tutti::transport::ud
