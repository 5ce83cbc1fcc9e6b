// SPDX-License-Identifier: BSD-3-Clause
// What message_network.h promises, for every network, under seeds: teams are made and end, one
// after the other, in processes that may lack a device or memory, cannot talk to each other, or
// whose sockets move less than they are asked for. Members are threads.
#include "conformance/lives.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/networks.h"
#include "base/prng.h"
#include "run/agree/circle.h"
#include "run/networks/team_networks.h"
#include "sim/seeds.h"
#include "unit/failing_memory.h"
#include "unit/run/engine/crew.h"
#include "unit/short_transfers.h"

namespace tutti::test {
namespace {

using networks::Network;
using networks::TeamNetwork;
using transport::MessageId;
using transport::State;
using transport::Ticket;

// Of one life, by the seed: the same on all members.
struct Life : Trouble {
    bool is_crowded = false;
    bool is_in_turn = false;
    uint32_t tracks = 1;
    bool is_short = false;  // sockets take and give less than they could
    uint64_t seed = 0;      // of its messages
};

struct Outcome {
    bool is_made = false;
    std::string why;  // not
    uint32_t rounds = 0;
    std::vector<uint32_t> peers;
    FactRow row;
    std::string trouble;  // what the member has seen that must not be
};

int talk(void* user, const void* in, void* out, size_t bytes) {
    const Plenty plenty;
    return Meeting::allgather(user, in, out, bytes);
}

// Messages of a pair, both of whose ends know them: from the lower rank and back.
std::vector<size_t> sizes_of(const Life& life, uint32_t one, uint32_t other) {
    Prng prng(life.seed * 1000 + std::min(one, other) * 50 + std::max(one, other));
    std::vector<size_t> sizes;
    for (uint64_t i = prng.below(6); i > 0; --i) {
        sizes.push_back(prng.below(3) == 0 ? prng.below(200'000) : prng.below(64));
    }
    return sizes;
}

std::byte said_by(uint32_t rank, uint32_t track, uint32_t number, size_t at) {
    return static_cast<std::byte>(rank * 31 + track * 101 + number * 7 + at);
}

class Member {
  public:
    Member(engine::Context& context, Network& network, const topo::Placement& placement,
           uint32_t rank)
        : context_(context), network_(network), placement_(placement), rank_(rank) {}

    void live(const Life& life, Meeting& meeting, Outcome& outcome);

  private:
    Result<Done> make(const Life& life, Meeting::Seat& seat);
    std::string exchange(const Life& life);
    std::string end(const Life& life);

    engine::Context& context_;
    Network& network_;
    const topo::Placement& placement_;
    const uint32_t rank_;
    std::unique_ptr<TeamNetwork> team_;
};

// Memory runs out within make() alone: what comes before it has an agreed round of its own
// (make_team.cpp).
Result<Done> Member::make(const Life& life, Meeting::Seat& seat) {
    agree::Circle all(rank_, placement_.ranks(), talk, &seat);
    if (life.mishap == Mishap::kNoMemory && rank_ == life.victim) {
        fails_for_good = life.for_good;
        left_until_failure = life.at;
    }
    auto made = team_->make(all, {life.is_crowded, life.is_in_turn, life.tracks});
    left_until_failure = -1;
    return made;
}

void Member::live(const Life& life, Meeting& meeting, Outcome& outcome) {
    Meeting::Seat seat{&meeting, rank_};
    std::optional<ShortTransfers> transfers;
    if (life.is_short) transfers.emplace(life.seed + rank_);
    team_ = network_.make_team(placement_, rank_);
    const auto made = make(life, seat);
    outcome.is_made = static_cast<bool>(made);
    outcome.rounds = seat.round;
    const Whose whose{"the team", rank_, placement_.ranks(), placement_.nodes()};
    if (!made) {
        outcome.why = made.error().message;
        outcome.row = network_.facts_without(whose, outcome.why);
        team_.reset();
        return;
    }
    for (const uint32_t peer : team_->peers()) outcome.peers.push_back(peer);
    if (team_->messages(0)) {
        outcome.trouble = exchange(life);
        outcome.row = team_->facts(whose);
        if (outcome.trouble.empty()) outcome.trouble = end(life);
    } else {
        outcome.row = team_->facts(whose);
    }
    team_.reset();
}

// With each peer what the seed says, in both directions, all at once: on each track messages of the
// same names, and of other contents.
std::string Member::exchange(const Life& life) {
    struct Letter {
        uint32_t peer = 0;
        uint32_t track = 0;
        uint32_t number = 0;
        std::vector<std::byte> out;
        std::vector<std::byte> in;
        Ticket sent;
        Ticket received;
    };
    std::deque<Letter> letters;
    const auto add = [&](uint32_t track, uint32_t peer) {
        uint32_t number = 0;
        for (const size_t bytes : sizes_of(life, rank_, peer)) {
            Letter& letter = letters.emplace_back();
            letter.peer = peer;
            letter.track = track;
            letter.number = number++;
            letter.in.resize(bytes);
            letter.out.resize(bytes);
            for (size_t i = 0; i < bytes; ++i)
                letter.out[i] = said_by(rank_, track, letter.number, i);
        }
    };
    for (const uint32_t peer : team_->peers()) {
        for (uint32_t track = 0; peer != rank_ && track < life.tracks; ++track) add(track, peer);
    }
    for (Letter& one : letters) {
        const MessageId id{7, 0, one.number % 4, one.number, {7, 1, 0}, false};
        transport::Transport& messages = *team_->messages(one.track);
        messages.send(one.peer, id, one.out.data(), one.out.size(), one.sent);
        messages.recv(one.peer, id, one.in.data(), one.in.size(), one.received);
    }
    const bool have_come = eventually([&] {
        bool is_over = true;
        for (uint32_t track = 0; track < life.tracks; ++track) team_->messages(track)->poll();
        for (Letter& one : letters) {
            transport::Transport& messages = *team_->messages(one.track);
            is_over &= messages.test(one.sent) != State::kPending;
            is_over &= messages.test(one.received) != State::kPending;
        }
        return is_over;
    });
    if (!have_come) return "messages do not come";
    for (Letter& one : letters) {
        if (one.sent.state != State::kDone || one.received.state != State::kDone) {
            return "a message fails: " + team_->messages(one.track)->error();
        }
        for (size_t i = 0; i < one.in.size(); ++i) {
            if (one.in[i] != said_by(one.peer, one.track, one.number, i))
                return "a message is another";
        }
    }
    return {};
}

// Some at once, some later. After a call that has failed on one member, that one takes back what it
// waits for, and gives up.
std::string Member::end(const Life& life) {
    Prng prng(life.seed * 100 + rank_);
    for (uint64_t i = prng.below(2000); i > 0; --i) team_->messages(0)->poll();
    const bool has_failed = life.mishap == Mishap::kFailedCall && rank_ == life.victim;
    if (has_failed) {
        std::vector<std::byte> memory(64);
        std::deque<Ticket> tickets;
        for (const uint32_t peer : team_->peers()) {
            if (peer == rank_) continue;
            const MessageId id{8, 0, 0, 0, {8, 1, 0}, false};
            Ticket& ticket = tickets.emplace_back();
            team_->messages(0)->recv(peer, id, memory.data(), memory.size(), ticket);
        }
        for (Ticket& ticket : tickets) team_->messages(0)->cancel(ticket);
        team_->give_up();
    }
    if (life.mishap != Mishap::kFailedCall && !eventually([&] { return team_->close(); })) {
        return "it does not close, though all have closed it";
    }
    if (!eventually([&] { return team_->has_settled(!has_failed); })) return "it does not settle";
    return {};
}

Life life_of(Prng& prng, uint32_t ranks) {
    Life life;
    constexpr Mishap kMishaps[] = {Mishap::kNone, Mishap::kNone, Mishap::kNoMemory, Mishap::kNoTalk,
                                   Mishap::kFailedCall};
    life.mishap = kMishaps[prng.below(std::size(kMishaps))];
    life.victim = static_cast<uint32_t>(prng.below(ranks));
    life.at = static_cast<long>(prng.below(life.mishap == Mishap::kNoTalk ? 8 : 80));
    life.for_good = prng.below(2) == 0;
    life.is_crowded = prng.below(2) == 0;
    life.is_in_turn = prng.below(2) == 0;
    life.seed = prng.next();
    if (!life.is_in_turn) life.tracks = static_cast<uint32_t>(1 + Prng(life.seed).below(3));
    life.is_short = prng.below(4) == 0;
    return life;
}

void expect_alike(const Life& life, std::span<const Outcome> all,
                  const topo::Placement& placement) {
    for (uint32_t rank = 0; rank < all.size(); ++rank) {
        const Outcome& one = all[rank];
        EXPECT_EQ(one.trouble, "") << "rank " << rank;
        EXPECT_EQ(one.is_made, all[0].is_made) << one.why << all[0].why;
        EXPECT_EQ(one.rounds, all[0].rounds);
        const bool may_lack_text = life.mishap == Mishap::kNoMemory && rank == life.victim;
        if (!may_lack_text) {
            const uint32_t other = life.mishap == Mishap::kNoMemory && life.victim == 0 ? 1u : 0u;
            EXPECT_EQ(one.why, all[other].why);
        }
        // Of a member that cannot go on the others hear, and do not wait in vain.
        EXPECT_EQ(one.why.find("message of rank"), std::string::npos) << one.why;
        EXPECT_EQ(one.row.subject.empty(), false);
        EXPECT_TRUE(std::ranges::is_sorted(one.peers));
        for (const uint32_t peer : one.peers) {
            if (peer == rank) continue;
            EXPECT_NE(placement.node_of(peer), placement.node_of(rank));
            EXPECT_EQ(std::ranges::count(all[peer].peers, rank), 1) << rank << " and " << peer;
        }
    }
    EXPECT_TRUE(all[0].is_made || life.mishap != Mishap::kNone) << all[0].why;
}

class Lives : public testing::TestWithParam<NetworkMaker> {
  protected:
    void run(uint64_t seed);
};

void Lives::run(uint64_t seed) {
    Prng prng(seed);
    const auto nodes = static_cast<uint32_t>(2 + prng.below(3));
    const auto ranks = static_cast<uint32_t>(nodes + prng.below(3));
    const auto placement = prng.below(2) == 0 ? topo::Placement::blocks(ranks, nodes)
                                              : topo::Placement::round_robin(ranks, nodes);
    const auto without = GetParam().has_devices && prng.below(5) == 0
                             ? static_cast<uint32_t>(prng.below(ranks))
                             : ranks;
    const auto around = GetParam().make(ranks, seed);
    const std::vector<const char*> settings{GetParam().setting};
    std::vector<std::unique_ptr<engine::Context>> processes;
    for (uint32_t rank = 0; rank < ranks; ++rank) {
        tutti_context_params params{};
        params.struct_bytes = sizeof params;
        params.settings = settings.data();
        params.settings_count = settings.size();
        auto made = engine::Context::create(params);
        ASSERT_TRUE(made) << made.error().message;
        processes.push_back(std::move(made.value()));
        around->settle(*processes.back(), rank, rank != without);
    }
    const size_t number = network_number(GetParam().name);
    for (uint64_t lives = 1 + prng.below(3); lives > 0; --lives) {
        Life life = life_of(prng, ranks);
        if (without < ranks && life.mishap == Mishap::kNone) life.mishap = Mishap::kNoDevice;
        SCOPED_TRACE(life.text(ranks));
        Meeting meeting(ranks);
        if (life.mishap == Mishap::kNoTalk) meeting.fail_from(static_cast<uint32_t>(life.at));
        std::vector<Outcome> outcomes(ranks);
        run_threads(ranks, [&](uint32_t rank) {
            around->be(rank);
            engine::Context& process = *processes[rank];
            Member(process, *process.networks()[number], placement, rank)
                .live(life, meeting, outcomes[rank]);
        });
        expect_alike(life, outcomes, placement);
        EXPECT_FALSE(outcomes[0].is_made && without < ranks);
        if (HasFailure()) return;
    }
    processes.clear();
    EXPECT_EQ(around->fault(), "");
}

TEST_P(Lives, AllMembersAlikeUnderSeeds) {
    for_each_seed(60, [&](uint64_t seed) { run(seed); });
}

INSTANTIATE_TEST_SUITE_P(Networks, Lives, testing::ValuesIn(networks()),
                         [](const auto& network) { return network.param.name; });

// A new network is to be added here.
TEST(LivesSuite, EveryNetworkIsThere) {
    std::set<std::string> names;
    for (const NetworkMaker& one : networks()) names.insert(one.name);
    for (const NetworkName& one : kNetworks) EXPECT_EQ(names.count(std::string(one.name)), 1u);
}

}  // namespace
}  // namespace tutti::test
