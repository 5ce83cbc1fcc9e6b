// SPDX-License-Identifier: BSD-3-Clause
#include "run/networks/rdma/shared_links.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "conformance/fake_verbs.h"
#include "run/engine/context.h"
#include "run/networks/rdma/process_links.h"
#include "run/networks/rdma/rdma_network.h"
#include "run/transport/verbs/rc.h"

namespace tutti::networks::rdma {
namespace {

LinksOffers offers_of(const std::vector<LinksOffer>& some) {
    LinksOffers offers;
    std::ranges::copy(some, offers.of.begin());
    return offers;
}

std::optional<std::pair<uint64_t, uint32_t>> choose(const std::vector<LinksOffers>& members) {
    const auto choice = choose_links(members);
    if (!choice) return std::nullopt;
    return std::pair(choice->id, choice->number);
}

using Chosen = std::pair<uint64_t, uint32_t>;

// The lowest that is free at all.
TEST(VerbsLinks, ATeamHasTheNumberThatIsFreeAtAll) {
    EXPECT_EQ(choose({offers_of({{7, 0b11110}}), offers_of({{7, 0b11100}})}), Chosen(7, 2));
    EXPECT_EQ(choose({offers_of({{7, 0b0110}}), offers_of({{7, 0b1001}})}), std::nullopt);
}

TEST(VerbsLinks, AllMustHaveTheSameOnes) {
    EXPECT_EQ(choose({offers_of({{7, 2}}), offers_of({{8, 2}})}), std::nullopt);
    EXPECT_EQ(choose({offers_of({{7, 2}}), {}}), std::nullopt);
    EXPECT_EQ(choose({{}, offers_of({{7, 2}})}), std::nullopt);
}

// Where one has more than another, or numbers have run out, the next ones that all have.
TEST(VerbsLinks, TheOldestThatAllHaveAreTaken) {
    EXPECT_EQ(choose({offers_of({{9, 2}, {8, 2}, {7, 2}}), offers_of({{7, 2}, {8, 2}})}),
              Chosen(7, 1));
    EXPECT_EQ(choose({offers_of({{9, 2}, {7, 2}}), offers_of({{9, 2}, {7, 4}})}), Chosen(9, 1));
}

// Who has no peers takes any, but some must have them.
TEST(VerbsLinks, WhoNeedsNoneTakesAny) {
    LinksOffers any;
    any.needs_none = 1;
    EXPECT_EQ(choose({any, offers_of({{7, 2}}), any, offers_of({{7, 2}})}), Chosen(7, 1));
    EXPECT_EQ(choose({any, offers_of({{7, 2}}), any, offers_of({{8, 2}})}), std::nullopt);
    EXPECT_EQ(choose({any, any}), std::nullopt);
}

constexpr uint64_t kPeer = 42;
constexpr uint32_t kMtuBytes = 1024;

// A process whose earlier teams had connections with kPeer.
class Process {
  public:
    Process() {
        tutti_context_params params{};
        params.struct_bytes = sizeof params;
        auto made = engine::Context::create(params);
        EXPECT_TRUE(made) << made.error().message;
        context = std::move(made.value());
    }
    void keep(uint64_t id, bool sleeps = false) {
        auto kept = std::make_shared<ProcessLinks>();
        kept->id = id;
        kept->members = {kPeer};
        std::array<std::unique_ptr<transport::verbs::Links>, 2> ends;
        for (const uint32_t at : {0u, 1u}) {
            transport::verbs::Need need = transport::verbs::need_of(1, kMtuBytes);
            need.may_sleep = sleeps;
            ends[at] = std::make_unique<transport::verbs::Links>(
                std::move(verbs.device(at).make_endpoint(need).value()), verbs, kMtuBytes, 1,
                false);
        }
        ASSERT_TRUE(ends[0]->at(0).connect(verbs.device(1).port(), ends[1]->at(0).card()));
        kept->links = std::move(ends[0]);
        all.push_back(kept);
        network_of(context->networks()).keep_links(kept);
        add_teams(1);
    }
    // By the newest ones.
    void add_teams(uint32_t count) {
        for (uint32_t i = 0; i < count; ++i) {
            teams.push_back(std::make_unique<transport::verbs::Rc>(
                ProcessLinks::owned(all.back()), i + (count > 1 ? 1 : 0),
                std::vector<transport::Rank>{1}, std::vector<uint32_t>{0}, 0));
        }
    }
    std::vector<uint64_t> offered(const std::vector<uint64_t>& peers, bool sleeps = false) {
        std::vector<uint64_t> ids;
        for (const LinksOffer& offer :
             find_links(network_of(context->networks()), peers, sleeps).offers.of) {
            if (offer.id != 0) ids.push_back(offer.id);
        }
        return ids;
    }

    test::FakeVerbs verbs{2, {}};
    std::unique_ptr<engine::Context> context;
    std::vector<std::shared_ptr<ProcessLinks>> all;
    std::vector<std::unique_ptr<transport::verbs::Rc>> teams;
};

using Ids = std::vector<uint64_t>;

// Those without room for a team, and those that are being closed, take nobody's place.
TEST(VerbsLinks, OfferedAreTheNewestThatWouldDo) {
    Process process;
    for (uint64_t id = 1; id <= 6; ++id) process.keep(id);
    EXPECT_EQ(process.offered({kPeer}), (Ids{6, 5, 4, 3}));
    process.add_teams(transport::verbs::kTeamsMax - 1);  // 6 is full
    EXPECT_EQ(process.offered({kPeer}), (Ids{5, 4, 3, 2}));
    process.teams[3]->close();  // the only one of 4
    EXPECT_EQ(process.offered({kPeer}), (Ids{5, 3, 2, 1}));
    EXPECT_EQ(process.offered({kPeer, 43}), Ids{});
    EXPECT_EQ(process.offered({}), Ids{});
}

TEST(VerbsLinks, WhoSleepsTakesThoseThatWake) {
    Process process;
    process.keep(1);
    process.keep(2, true);
    EXPECT_EQ(process.offered({kPeer}, false), (Ids{2, 1}));
    EXPECT_EQ(process.offered({kPeer}, true), Ids{2});
}

// Members of one context cannot be told apart.
TEST(VerbsLinks, NoneAreOfferedToWhoStandsThereTwice) {
    Process process;
    process.keep(1);
    EXPECT_EQ(process.offered({kPeer, kPeer}), Ids{});
    EXPECT_EQ(process.offered({kPeer, process.context->member()}), Ids{});
}

}  // namespace
}  // namespace tutti::networks::rdma
