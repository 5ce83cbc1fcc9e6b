// SPDX-License-Identifier: BSD-3-Clause
// The teams that go by a link, by their numbers: what each has there, and which have something to
// do when the link goes on.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "run/transport/verbs/slots.h"

namespace tutti::transport::verbs {

class TeamPeer;

class LinkPeers {
  public:
    // For so many teams; allocates.
    void reserve(uint32_t teams) {
        if (teams > of_team_.size()) of_team_.resize(teams);
    }
    void join(uint32_t team, TeamPeer& peer) { of_team_[team] = &peer; }
    void forget(uint32_t team) { of_team_[team] = nullptr; }
    // nullptr: the team is gone, or was never here.
    [[nodiscard]] TeamPeer* at(uint32_t team) const {
        return team < of_team_.size() ? of_team_[team] : nullptr;
    }
    template <class Use>
    void for_all(Use use) const {
        for (TeamPeer* peer : of_team_) {
            if (peer) use(*peer);
        }
    }
    // Whether `is` holds of one.
    template <class Is>
    [[nodiscard]] bool any(Is is) const {
        return std::ranges::any_of(of_team_, [&](TeamPeer* peer) { return peer && is(*peer); });
    }

    void mark(uint32_t team) { marked_[team / 64] |= uint64_t{1} << team % 64; }
    [[nodiscard]] bool is_marked() const {
        return std::ranges::any_of(marked_, [](uint64_t teams) { return teams != 0; });
    }
    // Those that have something to do; false of one that has nothing left: it is taken off.
    template <class GoesOn>
    void advance(GoesOn goes_on) {
        for (size_t word = 0; word < marked_.size(); ++word) {
            for (uint64_t left = marked_[word]; left != 0; left &= left - 1) {
                const auto bit = static_cast<uint32_t>(std::countr_zero(left));
                TeamPeer* peer = at(static_cast<uint32_t>(word * 64) + bit);
                if (!peer || !goes_on(*peer)) marked_[word] &= ~(uint64_t{1} << bit);
            }
        }
    }

  private:
    std::vector<TeamPeer*> of_team_;
    std::array<uint64_t, kTeamsMax / 64> marked_{};
};

}  // namespace tutti::transport::verbs
