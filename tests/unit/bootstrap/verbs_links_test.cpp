// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/verbs_links.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace tutti::bootstrap {
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
TEST(VerbsLinks, TheFirstThatAllHaveAreTaken) {
    EXPECT_EQ(choose({offers_of({{9, 2}, {8, 2}, {7, 2}}), offers_of({{7, 2}, {8, 2}})}),
              Chosen(8, 1));
    EXPECT_EQ(choose({offers_of({{9, 2}, {7, 2}}), offers_of({{9, 4}, {7, 2}})}), Chosen(7, 1));
}

// Who has no peers takes any, but some must have them.
TEST(VerbsLinks, WhoNeedsNoneTakesAny) {
    LinksOffers any;
    any.needs_none = 1;
    EXPECT_EQ(choose({any, offers_of({{7, 2}}), any, offers_of({{7, 2}})}), Chosen(7, 1));
    EXPECT_EQ(choose({any, offers_of({{7, 2}}), any, offers_of({{8, 2}})}), std::nullopt);
    EXPECT_EQ(choose({any, any}), std::nullopt);
}

}  // namespace
}  // namespace tutti::bootstrap
