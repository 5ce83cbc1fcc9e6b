// SPDX-License-Identifier: BSD-3-Clause
#include "unit/run/adapt/arrivals.h"

#include <algorithm>

namespace tutti::adapt::test {
namespace {

std::string at(uint32_t member, uint64_t call) {
    return "member " + std::to_string(member) + ", call " + std::to_string(call) + ": ";
}

bool is_whole(const Holds& holds) {
    return !holds.empty() && std::ranges::find(holds, false) == holds.end();
}

}  // namespace

Arrivals::Arrivals(const World& setup)
    : setup_(setup), arrived_(setup.members), multicasts_of_call_(setup.calls) {
    for (uint32_t member = 0; member < setup.members; ++member) {
        const Place& place =
            places_.emplace_back(place_in_tree(setup.members, setup.fan_in, member));
        members_.emplace_back(place.neighbours(), place.parent.has_value(), setup.releases);
        for (auto& parts : parts_) parts.emplace_back(place.neighbours());
    }
}

bool Arrivals::can_arrive(uint32_t member) const {
    const Meeting& one = members_[member];
    return !one.is_in_call() && one.call() < setup_.calls;
}

Happened Arrivals::arrive(uint32_t member) {
    ++arrived_[member];
    return act(member, members_[member].arrive(), false);
}

Happened Arrivals::deliver(const Mail& mail) {
    Meeting& one = members_[mail.to];
    if (mail.is_multicast) return act(mail.to, one.take_multicast(mail.call), true);
    const uint32_t neighbour = places_[mail.to].number_of(mail.from);
    // A part that comes when the call is over is not of the one that has its parity now.
    if (mail.kind == Kind::kPart && mail.call >= one.call()) {
        parts_[mail.call % 2][mail.to][neighbour] = mail.holds;
    }
    return act(mail.to, one.take(mail.call, mail.kind, neighbour), mail.kind == Kind::kRelease);
}

Holds Arrivals::gathered(uint32_t member, std::optional<uint32_t> but) const {
    const auto& parts = parts_[(arrived_[member] - 1) % 2][member];
    Holds all(setup_.members, false);
    const bool forgets = setup_.fault == Fault::kForgetsItself && setup_.faulty == member;
    all[member] = !forgets;
    for (uint32_t neighbour = 0; neighbour < parts.size(); ++neighbour) {
        if (neighbour == but) continue;
        for (size_t i = 0; i < parts[neighbour].size(); ++i) {
            if (!parts[neighbour][i]) continue;
            if (all[i]) return {};
            all[i] = true;
        }
    }
    return all;
}

// Whoever leaves without having been told has everything itself.
Happened Arrivals::act(uint32_t member, const std::optional<Orders>& orders, bool is_told) {
    const uint64_t call = arrived_[member] == 0 ? 0 : arrived_[member] - 1;
    if (!orders) return {at(member, call) + "an unexpected message", {}};
    if (orders->leaves && !is_told && !is_whole(gathered(member, {}))) {
        return {at(member, call) + "a release without everything", {}};
    }
    Happened happened;
    const auto send_to = [&](Kind kind, uint32_t neighbour) {
        if (happened.wrong.empty()) happened.wrong = send(member, kind, neighbour, happened.posted);
    };
    const bool is_faulty = setup_.fault == Fault::kBothMulticast && setup_.faulty == member;
    switch (orders->what) {
        case Orders::What::kSendPart:
            send_to(Kind::kPart, *orders->neighbour);
            break;
        case Orders::What::kRelease:
            for (uint32_t other = 0; other < places_[member].neighbours(); ++other) {
                if (other != orders->neighbour) send_to(Kind::kRelease, other);
            }
            break;
        case Orders::What::kMulticast:
            happened.wrong = release(member, happened.posted);
            break;
        case Orders::What::kNothing:
            if (is_faulty && orders->leaves && !is_told) {
                happened.wrong = release(member, happened.posted);
            }
            break;
    }
    if (orders->leaves && happened.wrong.empty()) happened.wrong = leave(member);
    return happened;
}

std::string Arrivals::send(uint32_t member, Kind kind, uint32_t neighbour,
                           std::vector<Mail>& posted) {
    const bool is_faulty = setup_.faulty == member;
    const uint64_t call = arrived_[member] - 1;
    const uint32_t to = places_[member].neighbour(neighbour);
    const bool is_part = kind == Kind::kPart;
    if (is_part && is_faulty && setup_.fault == Fault::kIsSilent) return {};
    if (!is_part && is_faulty && setup_.fault == Fault::kForgetsANeighbour) return {};
    if (!sent_.emplace(call, member, to).second) return at(member, call) + "two messages";
    const std::optional<uint32_t> but = is_part ? std::optional(neighbour) : std::nullopt;
    Holds holds = is_part ? gathered(member, but) : Holds(setup_.members, true);
    if (holds.empty()) return at(member, call) + "a contribution twice";
    ++messages;
    posted.push_back({call, member, to, kind, false, std::move(holds)});
    if (is_part && is_faulty && setup_.fault == Fault::kLeavesWithItsPart) return leave(member);
    return {};
}

std::string Arrivals::release(uint32_t member, std::vector<Mail>& posted) {
    const uint64_t call = arrived_[member] - 1;
    if (++multicasts_of_call_[call] > 1) return at(member, call) + "two multicasts";
    for (uint32_t to = 0; to < setup_.members; ++to) {
        if (to != member) posted.push_back({call, member, to, Kind::kRelease, true, {}});
    }
    return {};
}

std::string Arrivals::leave(uint32_t member) {
    const uint64_t call = arrived_[member] - 1;
    for (uint32_t other = 0; other < setup_.members; ++other) {
        if (arrived_[other] <= call) return at(member, call) + "released before all have arrived";
    }
    for (Holds& part : parts_[call % 2][member]) part.clear();
    return {};
}

std::string Arrivals::end() const {
    for (uint32_t member = 0; member < setup_.members; ++member) {
        const Meeting& one = members_[member];
        if (one.call() < setup_.calls) return at(member, one.call()) + "is never released";
    }
    for (uint64_t call = 0; call < setup_.calls; ++call) {
        const bool has_any = setup_.releases == Releases::kByMulticast && setup_.members > 1;
        if (multicasts_of_call_[call] != (has_any ? 1 : 0)) {
            return "call " + std::to_string(call) + ": multicasts";
        }
    }
    return {};
}

std::string Arrivals::state() const {
    std::string state;
    const auto put = [&](uint64_t value) { state += static_cast<char>(value + 1); };
    for (uint32_t member = 0; member < setup_.members; ++member) {
        const Meeting& one = members_[member];
        put(one.call());
        put(one.is_in_call() ? 1 : 0);
        for (const uint64_t call : {one.call(), one.call() + 1}) {
            const Saturation& known = one.saturation(call);
            put(known.sent_to() ? *known.sent_to() + 1 : 0);
            for (uint32_t i = 0; i < places_[member].neighbours(); ++i)
                put(known.has_heard(i) ? 1 : 0);
        }
    }
    return state;
}

}  // namespace tutti::adapt::test
