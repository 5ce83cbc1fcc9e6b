// SPDX-License-Identifier: BSD-3-Clause
// Connections by RDMA of earlier teams, for a team whose members make their calls in turn: it takes
// them where all have the same ones.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/context.h"
#include "engine/process_links.h"
#include "transport/verbs/links.h"

namespace tutti::bootstrap {

// What a member says of those that would do for it. Plain data.
struct LinksOffer {
    static constexpr uint64_t kNone = 0;
    static constexpr uint64_t kAny = UINT64_MAX;  // it has no peers, and needs none
    uint64_t id = kNone;
    transport::verbs::Links::Teams free;  // numbers that the team may have on them
};

struct FoundLinks {
    LinksOffer offer;
    std::shared_ptr<engine::ProcessLinks> links;  // none where the offer is
    std::vector<uint32_t> link_of;                // by peer
};

// Of this member, whose peers are these (Context::member()): the oldest that go to all of them.
// None where two of them, or one and this one, are of one context, as they cannot be told apart.
// Throws std::bad_alloc.
FoundLinks find_links(engine::Context& context, std::span<const uint64_t> peers);
// Peers that can be told apart from each other and from this one.
bool are_apart(const engine::Context& context, std::span<const uint64_t> peers);

// The team's number on the links that all have offered; nothing where they have not.
std::optional<uint32_t> choose_number(std::span<const LinksOffer> offers);

}  // namespace tutti::bootstrap
