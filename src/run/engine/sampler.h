// SPDX-License-Identifier: BSD-3-Clause
// Samples the blocking calls of a team: when its members come to them and leave them. Members
// compare that in a call of their own, and choose by it how the next calls run: live tuning tries
// other algorithms (plan/select/live.h), short calls may follow the last arriver
// (plan/select/follow.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/facts.h"
#include "base/result.h"
#include "plan/select/follow.h"
#include "plan/select/live.h"
#include "run/engine/agenda.h"
#include "run/engine/arrival_facts.h"
#include "run/engine/arrivals.h"
#include "run/engine/request.h"
#include "tutti/tutti.h"

namespace tutti::engine {

class Team;

class Sampler {
  public:
    // Of this team, which outlives this. Calls are tuned, or may follow where may_follow() says so;
    // not both.
    explicit Sampler(Team& team);
    // all: also reductions whose bits change with the algorithm. Before the first call. Allocates.
    void tune_live(bool all);
    // Across hosts.
    void may_follow() { follow_.emplace(); }
    // The members' hosts have clocks of their own, which this reads.
    void read_clocks_by(std::unique_ptr<Duty> duty);

    // ---- of each blocking call ----
    // Counts the call. True: it goes through the functions below.
    bool has_turn() { return arrivals_.has_turn(); }
    void compare_if_due();
    struct Look {
        select::CallKind kind;
        uint32_t way = 0;  // how it runs: Request::way
        bool is_tuned = false;
        bool is_timed = false;
        bool is_looked_at = false;
        uint64_t arrived_ns = 0;
    };
    Look begin(const Request& request);
    void end(const Look& look, tutti_status status);
    // Of a call that is chosen, until tutti_resume() ends it.
    void put_aside(const Look& look) { aside_ = look; }
    void end_put_aside(tutti_status status) {
        if (aside_) end(*std::exchange(aside_, std::nullopt), status);
    }

    // ---- of those that run by a plan ----
    void choose_following(Request& request) const;
    void ran(const Request& request);

    // How a call of this kind would run: Request::way.
    [[nodiscard]] uint32_t way_of(const select::CallKind& kind) const;
    // The embedder has left its own call of that way. True where live tuning chose it.
    bool host_left(uint32_t way);
    // What was sampled and is not compared yet.
    void compare();
    void add_facts(std::vector<FactRow>& rows, const HostOf& host_of) const;
    // What a clock reading has found, or that there is none.
    Arrivals& arrivals() { return arrivals_; }

  private:
    void add_arrivals(std::vector<FactRow>& rows, const HostOf& host_of) const;
    void compare_now();
    tutti_status exchange();
    void hear_of_trials();
    bool hear_of_late();
    Done price_following();

    Team& team_;
    Arrivals arrivals_;
    std::unique_ptr<Duty> read_clocks_;
    std::optional<select::Live> live_;
    std::optional<select::Follow> follow_;
    std::optional<Look> aside_;
    bool has_followed_ = false;  // some did: nothing that the user says kept them
    bool is_after_comparison_ = false;
};

}  // namespace tutti::engine
