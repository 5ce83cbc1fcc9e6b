// SPDX-License-Identifier: BSD-3-Clause
// What a team has of multicast, for every network that carries it, under seeds: teams get it and
// end, one after the other, in processes that may lack a device or memory, or cannot talk to each
// other. Members are threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <vector>

#include "base/multicast_networks.h"
#include "base/prng.h"
#include "conformance/lives.h"
#include "conformance/mailbox.h"
#include "run/agree/circle.h"
#include "run/multicast/multicast_maker.h"
#include "run/transport/p2p/p2p.h"
#include "sim/seeds.h"
#include "unit/failing_memory.h"
#include "unit/run/engine/crew.h"

namespace tutti::test {
namespace {

using transport::State;

// Of one team, by the seed: the same on all members.
struct Life : Trouble {
    uint64_t seed = 0;  // of its multicasts
};

struct Outcome {
    bool is_made = false;
    std::string why;  // not
    uint32_t rounds = 0;
    uint32_t group = 0;
    std::string address;
    std::string trouble;  // what the member has seen that must not be
};

constexpr const char* kOutOfMemory = "out of memory";

int talk(void* user, const void* in, void* out, size_t bytes) {
    const Plenty plenty;
    return Meeting::allgather(user, in, out, bytes);
}

// Nothing is to be measured.
class KnownSpeed final : public multicast::MessageSpeed {
  public:
    [[nodiscard]] sched::Speed known() const override { return {10'000, 1000}; }
    void prepare(uint32_t) override { ADD_FAILURE() << "it is known"; }
    Result<Done> measure(sched::Speed&) override { return Done{}; }
};

// The members that share a host.
struct Host {
    explicit Host(uint32_t members) : meeting(members) {}
    Meeting meeting;
    std::shared_ptr<arena::Arena> arena;
};

// What all members of a team see.
struct Place {
    const topo::Placement& placement;
    size_t network;
    Meeting& meeting;
    std::deque<Host>& hosts;
    Mailbox& mailbox;
    std::atomic<uint32_t>& through;  // members that nobody needs any more
};

class Member {
  public:
    Member(engine::Context& process, const Place& place, uint32_t rank)
        : process_(process),
          place_(place),
          rank_(rank),
          host_(place.hosts[place.placement.node_of(rank)]),
          messages_(place.mailbox.callbacks(rank), 900),
          life_(process.process_multicast(), place.placement, rank, process.settings().mcast.thread,
                [](uint32_t node) { return "host " + std::to_string(node); }) {}

    void live(const Life& life, Outcome& outcome);

  private:
    Result<multicast::MulticastOutcome> make(const Life& life, Outcome& outcome);
    std::string exchange(const Life& life);
    std::string end(const Life& life);
    void progress();

    engine::Context& process_;
    const Place& place_;
    const uint32_t rank_;
    Host& host_;
    transport::P2p messages_;
    KnownSpeed speed_;
    multicast::MulticastLife life_;
};

// A member whose memory runs out may lack the text of what all have found, and that alone
// (run/bootstrap/make_multicast.cpp).
Result<multicast::MulticastOutcome> Member::make(const Life& life, Outcome& outcome) {
    Meeting::Seat seat{&place_.meeting, rank_};
    Meeting::Seat own_seat{&host_.meeting, place_.placement.index_on_node(rank_)};
    agree::Circle all(rank_, place_.placement.ranks(), talk, &seat);
    agree::Circle own(own_seat.rank, host_.meeting.ranks(), talk, &own_seat);
    own.names = place_.placement.members(place_.placement.node_of(rank_));
    const multicast::HostMembers host{own, host_.arena.get(), 0};
    const multicast::MakingParams params{process_, process_.process(), rank_,
                                         life_,    messages_,          speed_};
    if (life.mishap == Mishap::kNoMemory && rank_ == life.victim) {
        fails_for_good = life.for_good;
        left_until_failure = life.at;
    }
    Result<multicast::MulticastOutcome> made = multicast::MulticastOutcome{};
    try {
        made = multicast::make_over(place_.network, params, all, host);
        left_until_failure = -1;
    } catch (const std::bad_alloc&) {
        left_until_failure = -1;
        made = multicast::MulticastOutcome{nullptr, kOutOfMemory};
    }
    outcome.rounds = seat.round;
    return made;
}

void Member::live(const Life& life, Outcome& outcome) {
    auto made = make(life, outcome);
    if (!made) {
        outcome.why = made.error().message;
        return;
    }
    outcome.why = made.value().obstacle;
    outcome.is_made = made.value().route != nullptr;
    life_.set(std::move(made.value()));
    if (!outcome.is_made) return;
    outcome.group = life_.team()->agreed().group;
    outcome.address = life_.team()->agreed().address;
    outcome.trouble = exchange(life);
    if (outcome.trouble.empty()) outcome.trouble = end(life);
}

// As waits do.
void Member::progress() {
    process_.process_multicast().attend_all();
    life_.attend();
    if (life_.polls()) life_.team()->poll();
}

// Multicasts of members by the seed, all posted at once.
std::string Member::exchange(const Life& life) {
    Prng prng(life.seed);
    const uint64_t count = 1 + prng.below(6);
    std::vector<std::vector<std::byte>> data(count);
    std::deque<transport::Ticket> tickets(count);
    std::vector<std::byte> marks;
    transport::carrier::Route& route = *life_.route();
    {
        const auto held = life_.hold();
        route.begin_call(1);
        for (uint64_t number = 0; number < count; ++number) {
            const auto sender = static_cast<uint32_t>(prng.below(place_.placement.ranks()));
            const size_t bytes = 1 + prng.below(transport::kMulticastBytesMax);
            marks.push_back(static_cast<std::byte>(1 + prng.below(255)));
            data[number].assign(bytes, sender == rank_ ? marks.back() : std::byte{0});
            std::byte* const memory = data[number].data();
            if (sender == rank_) {
                route.multicast(number, memory, bytes, tickets[number]);
            } else {
                route.recv_multicast(number, sender, memory, bytes, tickets[number]);
            }
        }
    }
    const bool have_come = eventually([&] {
        progress();
        const auto held = life_.hold();
        return std::ranges::all_of(
            tickets, [&](transport::Ticket& one) { return route.test(one) != State::kPending; });
    });
    if (!have_come) return "multicasts do not come";
    for (uint64_t number = 0; number < count; ++number) {
        if (tickets[number].state != State::kDone) return "a multicast fails: " + route.error();
        for (const std::byte one : data[number]) {
            if (one != marks[number]) return "a multicast is another";
        }
    }
    return {};
}

// Some at once, some later. The process goes on: without a thread, others need its looks at packets
// until they are through as well.
std::string Member::end(const Life& life) {
    Prng prng(life.seed * 100 + rank_);
    for (uint64_t i = prng.below(2000); i > 0; --i) progress();
    life_.leave(true);
    bool is_through = false;
    const bool are_through = eventually([&] {
        progress();
        if (!is_through && !life_.is_needed()) {
            is_through = true;
            ++place_.through;
        }
        return place_.through == place_.placement.ranks();
    });
    if (are_through) return {};
    return is_through ? "others are needed" : "it is needed, though all have left it";
}

Life life_of(Prng& prng, uint32_t ranks) {
    Life life;
    constexpr Mishap kMishaps[] = {Mishap::kNone, Mishap::kNoMemory, Mishap::kNoMemory,
                                   Mishap::kNoTalk};
    life.mishap = kMishaps[prng.below(std::size(kMishaps))];
    life.victim = static_cast<uint32_t>(prng.below(ranks));
    life.at = static_cast<long>(prng.below(life.mishap == Mishap::kNoTalk ? 6 : 60));
    life.for_good = prng.below(2) == 0;
    life.seed = prng.next();
    return life;
}

void expect_alike(const Life& life, const std::vector<Outcome>& all) {
    const bool is_short = life.mishap == Mishap::kNoMemory;
    const Outcome& other = all[is_short && life.victim == 0 ? 1 : 0];
    for (uint32_t rank = 0; rank < all.size(); ++rank) {
        const Outcome& one = all[rank];
        EXPECT_EQ(one.trouble, "") << "rank " << rank;
        EXPECT_EQ(one.is_made, other.is_made) << one.why << other.why;
        EXPECT_EQ(one.rounds, other.rounds);
        EXPECT_EQ(one.group, other.group);
        EXPECT_EQ(one.address, other.address);
        const bool lacks_text = is_short && rank == life.victim && one.why == kOutOfMemory;
        if (!lacks_text) {
            EXPECT_EQ(one.why, other.why);
        }
        EXPECT_EQ(one.is_made, one.why.empty());
    }
}

class MulticastLives : public testing::TestWithParam<NetworkMaker> {
  protected:
    void run(uint64_t seed);
};

void MulticastLives::run(uint64_t seed) {
    const NetworkMaker& network = GetParam();
    Prng prng(seed);
    const auto nodes = static_cast<uint32_t>(2 + prng.below(2));
    const auto ranks = static_cast<uint32_t>(nodes + prng.below(3));
    const auto placement = prng.below(2) == 0 ? topo::Placement::blocks(ranks, nodes)
                                              : topo::Placement::round_robin(ranks, nodes);
    // One that carries its host's packets.
    const uint32_t without =
        prng.below(5) == 0 ? placement.members(static_cast<uint32_t>(prng.below(nodes)))[0] : ranks;
    const char* const thread = prng.below(2) == 0 ? "TUTTI_MCAST_THREAD=0" : "TUTTI_MCAST_THREAD=1";
    const auto around = network.make(ranks, seed);
    std::vector<std::unique_ptr<engine::Context>> processes;
    for (uint32_t rank = 0; rank < ranks; ++rank) {
        std::vector<const char*> settings{"TUTTI_MCAST=on", thread, network.setting};
        if (rank == without && !network.has_devices) settings.push_back("TUTTI_MCAST_IF=nosuch0");
        tutti_context_params params{};
        params.struct_bytes = sizeof params;
        params.settings = settings.data();
        params.settings_count = settings.size();
        auto made = engine::Context::create(params);
        ASSERT_TRUE(made) << made.error().message;
        processes.push_back(std::move(made.value()));
        around->settle(*processes.back(), rank, rank != without);
    }
    for (uint64_t lives = 1 + prng.below(3); lives > 0; --lives) {
        Life life = life_of(prng, ranks);
        if (without < ranks && life.mishap == Mishap::kNone) life.mishap = Mishap::kNoDevice;
        SCOPED_TRACE(life.text(ranks) + " on " + std::to_string(nodes) + " hosts");
        Meeting meeting(ranks);
        if (life.mishap == Mishap::kNoTalk) meeting.fail_from(static_cast<uint32_t>(life.at));
        Mailbox mailbox(ranks);
        std::deque<Host> hosts;
        for (uint32_t node = 0; node < nodes; ++node) {
            Host& host = hosts.emplace_back(static_cast<uint32_t>(placement.members(node).size()));
            host.arena = arena::Arena::create(seed + node).value();
        }
        std::atomic<uint32_t> through = 0;
        const Place place{
            placement, multicast_network_number(network.name), meeting, hosts, mailbox, through};
        std::vector<Outcome> outcomes(ranks);
        run_threads(ranks, [&](uint32_t rank) {
            around->be(rank);
            Member(*processes[rank], place, rank).live(life, outcomes[rank]);
        });
        expect_alike(life, outcomes);
        EXPECT_FALSE(outcomes[0].is_made && without < ranks);
        // No process takes what befell a member before for what the network does.
        EXPECT_TRUE(outcomes[0].is_made || life.mishap != Mishap::kNone) << outcomes[0].why;
        if (HasFailure()) return;
    }
    processes.clear();
    EXPECT_EQ(around->fault(), "");
}

TEST_P(MulticastLives, AllMembersAlikeUnderSeeds) {
    for_each_seed(60, [&](uint64_t seed) { run(seed); });
}

INSTANTIATE_TEST_SUITE_P(Networks, MulticastLives, testing::ValuesIn(multicast_networks()),
                         [](const auto& network) { return network.param.name; });

// A new network is to be added here.
TEST(MulticastLivesSuite, EveryNetworkIsThere) {
    std::set<std::string> names;
    for (const NetworkMaker& one : multicast_networks()) names.insert(one.name);
    for (const MulticastNetworkName& one : kMulticastNetworks) {
        EXPECT_EQ(names.count(std::string(one.word)), 1u);
    }
}

}  // namespace
}  // namespace tutti::test
