// SPDX-License-Identifier: BSD-3-Clause
// The common clock of a team across hosts is its first member's. All members are in one and the
// same call, which they have counted to alike, and meet in a barrier of messages; then
//
//   1  all: has everybody the memory?
//      In step k one rank of each host 2^k + m * 2^(k+1) reads the clock of host m * 2^(k+1): hosts
//      form a binomial tree, over each edge of which messages go there and back.
//   2  all: what each host has read. So each knows the way to the first.
//
// Ranks of one host have one clock.
#include "run/bootstrap/read_clocks.h"

#include <bit>
#include <memory>
#include <new>
#include <vector>

#include "run/adapt/clock_offset.h"
#include "run/bootstrap/peer_pair.h"
#include "run/bootstrap/rounds.h"
#include "run/engine/arrivals.h"
#include "run/engine/context.h"
#include "run/engine/inter_node.h"

namespace tutti::bootstrap {
namespace {

// The first finds the other end late or asleep; of the others the quickest counts.
constexpr uint32_t kExchanges = 12;

struct ClockFinding {
    Obstacle obstacle = Obstacle::kNone;
    uint32_t is_cut = 0;  // a message failed: nothing more comes by messages
    adapt::ClockReading reading;
};

// The other end sends its time when it has this end's last one: there and back.
// What this one reads of it; false where a message failed.
bool read_clock(PeerPair& pair, Clock& clock, adapt::ClockReading& reading) {
    adapt::ClockOffset offset;
    uint64_t sent_before_ns = 0;
    for (uint32_t i = 0; i < kExchanges; ++i) {
        const uint64_t sent_ns = clock.now_ns();
        const auto ends = pair.both().exchange(sent_ns);
        if (!ends) return false;
        const uint64_t answered_ns = ends.value()[1 - pair.place()];
        if (i > 0) offset.add({sent_before_ns, answered_ns, clock.now_ns()});
        sent_before_ns = sent_ns;
    }
    reading = *offset.reading();
    return true;
}

class ClockTrial {
  public:
    explicit ClockTrial(engine::Team& team)
        : members_(team.members()),
          inter_node_(*team.inter_node()),
          placement_(inter_node_.placement()),
          node_(placement_.node_of(members_.rank)),
          all_(members_.rank, members_.size, members_.allgather, members_.allgather_user) {}

    // The same error on all members; of kind kBootstrap: they cannot talk to each other any more.
    Result<adapt::ClockReading> find_out();

  private:
    [[nodiscard]] uint32_t steps() const {
        return static_cast<uint32_t>(std::bit_width(placement_.nodes() - 1));
    }
    Report prepare();
    void give_up(uint32_t step);
    ClockFinding read_own();
    [[nodiscard]] adapt::ClockReading to_first(std::span<const ClockFinding> findings) const;

    const engine::Members& members_;
    engine::InterNode& inter_node_;
    const topo::Placement& placement_;
    const uint32_t node_;
    Circle all_;
    std::vector<std::unique_ptr<PeerPair>> pairs_;  // by step; nullptr: none
};

// The partner of a host in step k is the one whose number has bit k otherwise, where neither has a
// lower one.
Report ClockTrial::prepare() {
    pairs_.resize(steps());
    if (placement_.members(node_)[0] != members_.rank) return {};
    for (uint32_t step = 0; step < steps(); ++step) {
        const uint32_t bit = 1u << step;
        const uint32_t partner = node_ ^ bit;
        if ((node_ & (bit - 1)) != 0 || partner >= placement_.nodes()) continue;
        pairs_[step] =
            std::make_unique<PeerPair>(inter_node_, members_.rank, placement_.members(partner)[0]);
    }
    return {};
}

// Whoever waits for this host in this step or a later one does so in vain.
void ClockTrial::give_up(uint32_t step) {
    const notes::Note failure = pairs_[step]->gather().failure();
    for (uint32_t i = step; i < steps(); ++i) {
        if (pairs_[i]) pairs_[i]->gather().pass_on(failure);
    }
    members_.context.remnants().keep(pairs_[step]->let_go());
}

ClockFinding ClockTrial::read_own() {
    ClockFinding mine;
    for (uint32_t step = 0; step < steps(); ++step) {
        if (!pairs_[step]) continue;
        adapt::ClockReading reading;
        if (!read_clock(*pairs_[step], members_.context.clock(), reading)) {
            give_up(step);
            mine.is_cut = 1;
            break;
        }
        if ((node_ >> step & 1u) != 0) mine.reading = reading;
    }
    return mine;
}

adapt::ClockReading ClockTrial::to_first(std::span<const ClockFinding> findings) const {
    adapt::ClockReading found{members_.context.clock().now_ns(), 0, 0};
    for (uint32_t node = node_; node != 0; node &= node - 1) {
        const adapt::ClockReading& next = findings[placement_.members(node)[0]].reading;
        found = node == node_ ? next : adapt::through(found, next);
    }
    return found;
}

Result<adapt::ClockReading> ClockTrial::find_out() {
    // Of the same size as the next one, for which there is room then.
    ClockFinding mine;
    mine.obstacle = guarded([&] { return prepare(); }).obstacle;
    const auto prepared = all_.exchange(mine);
    if (!prepared) return prepared.error();
    for (const ClockFinding& one : prepared.value()) {
        if (one.obstacle != Obstacle::kNone) return Error{ErrorCode::kMemory, "out of memory"};
    }
    const auto findings = all_.exchange(read_own());
    if (!findings) return findings.error();
    for (const ClockFinding& one : findings.value()) {
        if (one.is_cut != 0) return cut_off(inter_node_.first().transport());
    }
    return to_first(findings.value());
}

}  // namespace

bool ClockDuty::is_due() { return team_.sampler()->arrivals().is_reading_due(); }

tutti_status ClockDuty::run() {
    Clock& clock = team_.context().clock();
    engine::Arrivals& arrivals = team_.sampler()->arrivals();
    const uint64_t begin_ns = clock.now_ns();
    const tutti_status met = team_.own_calls().meet();
    if (met != TUTTI_OK) return met;
    ClockTrial trial(team_);
    const auto found = trial.find_out();
    team_.inter_node()->first().messages().forget_told();  // notes may have been lost meanwhile
    if (found) {
        arrivals.take_reading(found.value(), clock.now_ns() - begin_ns);
        return TUTTI_OK;
    }
    arrivals.do_without();
    if (found.error().code != ErrorCode::kBootstrap) return TUTTI_OK;
    team_.give_up(TUTTI_ERR_NETWORK, found.error().message.c_str());
    return team_.members().broken;
}

}  // namespace tutti::bootstrap
