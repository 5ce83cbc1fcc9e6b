// SPDX-License-Identifier: BSD-3-Clause
// A network that carries messages between hosts beside the embedder's: the two interfaces that it
// implements, one for a process and one for a team (docs/networks.md). Nothing above asks which one
// it is; the row of base/networks.inc names it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/clock.h"
#include "base/facts.h"
#include "base/result.h"
#include "base/settings.h"
#include "base/topo/placement.h"
#include "run/agree/circle.h"
#include "run/transport/transport.h"

namespace tutti::networks {

// What a network may know of the process that uses it.
class Process {
  public:
    [[nodiscard]] virtual const Settings& settings() const = 0;
    virtual Clock& clock() = 0;
    // The identity of this process for the other members of its teams.
    [[nodiscard]] virtual uint64_t member() const = 0;
    // Lets the embedder's own communication progress.
    virtual void progress() const = 0;

  protected:
    Process() = default;
    ~Process() = default;
};

// What it may know of a team that is made across hosts, beside its placement.
struct TeamTraits {
    bool is_crowded = false;  // this host's ranks outnumber its processors: they sleep for messages
    bool is_in_turn = false;  // all members make its calls one after the other (tutti_team_params)
    uint32_t tracks = 1;      // so many calls may be under way at once, each on a track of its own
};

// A team's part of a network.
class TeamNetwork {
  public:
    TeamNetwork() = default;
    TeamNetwork(const TeamNetwork&) = delete;
    TeamNetwork& operator=(const TeamNetwork&) = delete;
    virtual ~TeamNetwork() = default;

    // Collective over `all`, the members of the team: in rounds they say what they have, open it
    // and try it. Done: all members have it, alike. Else the same error on all of them, and this is
    // destroyed; of kind kBootstrap: they cannot talk to each other. No member may skip a round,
    // not even one without memory (agree/circle.h).
    virtual Result<Done> make(agree::Circle& all, const TeamTraits& traits) = 0;

    // ---- what make() has brought; alike at both ends of each pair ----
    // Those of a track; nullptr, for all tracks, where this member reaches no peer by it. Messages
    // of two tracks never meet, and one track's go on whatever nobody has asked for on another's.
    [[nodiscard]] virtual transport::Transport* messages(uint32_t track) = 0;
    // Whom it reaches, ascending. Perhaps the own rank as well, for the team's word alone
    // (Transport::fetch_add).
    [[nodiscard]] virtual std::span<const transport::Rank> peers() const = 0;

    // ---- the end of the team, where there are messages(); no call comes any more. By one thread
    // at a time ----
    // This end is through. True from when on no other end needs it: until then it is kept.
    virtual bool close() = 0;
    // Instead of that, where a call has failed: nothing is written to memory of the calls any more.
    virtual void give_up() = 0;
    // At the end of the process's use of the library. True from when on this may go: what was sent
    // has arrived, or will not. is_sound: no call has failed.
    virtual bool has_settled(bool is_sound) = 0;

    // What it tells in reports, from make() on.
    [[nodiscard]] virtual FactRow facts(const Whose& whose) const = 0;
};

// A network in one process. Several threads may make teams at once.
class Network {
  public:
    Network() = default;
    Network(const Network&) = delete;
    Network& operator=(const Network&) = delete;
    virtual ~Network() = default;

    // For a team that is to be made, of which this process has this rank; make() follows. The
    // placement outlives it. Throws std::bad_alloc.
    virtual std::unique_ptr<TeamNetwork> make_team(const topo::Placement& placement,
                                                   uint32_t rank) = 0;
    // What this process has of it, whether or not a team has asked: its device, or why there is
    // none. Looks for it. Throws std::bad_alloc.
    [[nodiscard]] virtual FactRow process_facts() = 0;
    // Of a team that has gone without: why, by the same text on all members.
    [[nodiscard]] virtual FactRow facts_without(const Whose& whose,
                                                const std::string& why) const = 0;
};

}  // namespace tutti::networks
