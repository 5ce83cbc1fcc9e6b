// SPDX-License-Identifier: BSD-3-Clause
// Chooses the network of a team's multicast: of those that the settings want, the first that
// reaches all its hosts, or the one on which broadcasts are predicted to be faster. It computes in
// integers, and only from results of trials that all members know, so all choose the same.
//
// Source: ours; docs/protocol/ud.md, "Which teams go by it". A broadcast takes what prices give it:
// one latency, and its bytes at the rate, which no processor's codes exceed (docs/price.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/multicast_networks.h"
#include "base/settings.h"
#include "run/multicast/team_multicast.h"

namespace tutti::multicast {

// Of how many bytes, one that the latency decides, one that the rate does.
inline constexpr uint64_t kShortBytes = 8;
inline constexpr uint64_t kLongBytes = 64u << 10;

// 0 where the trial could not tell a latency or a rate.
Predicted predict(const AgreedMulticast& measured);

// Else the one that was tried before stays: also where one of them is not known, and where the two
// are near each other.
bool is_next_faster(const Predicted& before, const Predicted& next);

class NetworkChoice {
  public:
    explicit NetworkChoice(const McastOver& wanted) : wanted_(wanted), next_(wanted.first) {}
    // Which one is to be tried, by number; none: it is chosen.
    [[nodiscard]] std::optional<size_t> next() const;
    // What became of that; alike on all members, but for the text of one whose memory has run out.
    // Nobody has used what is not kept, and it goes at once. Allocates nothing.
    void take(MulticastOutcome outcome);
    // nullptr: none carries it so far.
    [[nodiscard]] TeamMulticast* kept() const { return kept_.get(); }
    // At the end. Throws std::bad_alloc, where none carries it.
    MulticastOutcome finish();

  private:
    const McastOver wanted_;
    size_t next_;
    std::unique_ptr<TeamMulticast> kept_;
    // By number.
    std::array<std::string, kMulticastNetworks.size()> obstacles_;
    std::array<Predicted, kMulticastNetworks.size()> predicted_;
    std::array<bool, kMulticastNetworks.size()> lacks_prediction_{};
};

}  // namespace tutti::multicast
