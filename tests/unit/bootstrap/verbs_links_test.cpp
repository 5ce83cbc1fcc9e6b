// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/verbs_links.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace tutti::bootstrap {
namespace {

LinksOffer offer_of(uint64_t id, uint64_t free) { return {id, free}; }

std::optional<uint32_t> choose(const std::vector<LinksOffer>& offers) {
    return choose_number(offers);
}

// The lowest that is free at all.
TEST(VerbsLinks, ATeamHasTheNumberThatIsFreeAtAll) {
    EXPECT_EQ(choose({offer_of(7, 0b11110), offer_of(7, 0b11100)}), 2u);
    EXPECT_EQ(choose({offer_of(7, 0b0110), offer_of(7, 0b1001)}), std::nullopt);
}

TEST(VerbsLinks, AllMustHaveTheSameOnes) {
    EXPECT_EQ(choose({offer_of(7, 2), offer_of(8, 2)}), std::nullopt);
    EXPECT_EQ(choose({offer_of(7, 2), {}}), std::nullopt);
    EXPECT_EQ(choose({{}, offer_of(7, 2)}), std::nullopt);
}

// Who has no peers takes any, but some must have them.
TEST(VerbsLinks, WhoNeedsNoneTakesAny) {
    const LinksOffer any = offer_of(LinksOffer::kAny, 0);
    EXPECT_EQ(choose({any, offer_of(7, 2), any, offer_of(7, 2)}), 1u);
    EXPECT_EQ(choose({any, offer_of(7, 2), any, offer_of(8, 2)}), std::nullopt);
    EXPECT_EQ(choose({any, any}), std::nullopt);
}

}  // namespace
}  // namespace tutti::bootstrap
