// SPDX-License-Identifier: BSD-3-Clause
#include "run/node/vector_offers.h"

#include "run/node/offer.h"
#include "run/node/tuner.h"

namespace tutti::node {

// Each cell has an address of its own, so the offer has none.
void offer_blocks(Team& team, const Op& op, uint64_t bytes) {
    const bool tuned = bytes / op.served >= single_from(team.tuning, op.call.collective);
    const bool stands = team.tuner ? team.tuner->enter_blocks(team, op.call, bytes, tuned) : tuned;
    open_offer(team, op, nullptr, nullptr, stands ? 0 : kRefused | kWithdrawn);
}

OfferState tend_blocks(Team& team, const Op& op) {
    const uint64_t word = own_offer(team);
    const bool is_refused = (word & kRefused) != 0;
    const bool is_withdrawn = (word & kWithdrawn) != 0;
    if (!is_refused)
        return readers_done(word) == op.served ? OfferState::kOver : OfferState::kStands;
    if (!is_withdrawn) {
        withdraw_offer(team);
        return OfferState::kWithdraws;
    }
    return readers_now(word) == 0 ? OfferState::kUnread : OfferState::kReadStill;
}

// A taker that goes on says that it has read all rounds, but only after it has read what it is
// offered. So the offer is looked at last: then it counts all who have gone on and have read.
PassedOver passed_over(const Team& team, const Op& op) {
    const bool has_offered = op.served > 0 && offer_number(own_offer(team)) == op.number;
    if (!moves_blocks(op) || !has_offered) return {};
    PassedOver passed;
    uint32_t gone = 0;
    for_others(team, op, [&](Rank taker) {
        if (!is_offered(team.blocks.cells, team.blocks.given.of(taker).bytes)) return;
        if (!consumed_by(team, taker, op.chunks + op.chunks_used)) return;
        if (gone++ == 0) passed.rank = taker;
    });
    const uint64_t word = own_offer(team);
    const bool stands = (word & (kRefused | kWithdrawn)) == 0;
    // Who reads now has no use for an error, and is soon done.
    if (!stands || readers_now(word) > 0 || gone <= readers_done(word)) return {};
    passed.is_known = readers_done(word) == 0;
    return passed;
}

OfferedRead read_offered(Team& team, Op& op, Rank giver, const LongBlock& offered,
                         const TakenBlock& block, bool& is_claimed) {
    if (!is_claimed) {
        uint64_t note = 0;
        switch (claim(team, op, giver, note)) {
            case Offered::kNotYet:
            case Offered::kFull:
                op.awaited = giver;
                return OfferedRead::kNotYet;
            case Offered::kGone:
                return OfferedRead::kInRing;
            case Offered::kDisagrees:
                disagrees(op, giver, note);
                return OfferedRead::kNotYet;
            case Offered::kOpen:
                is_claimed = true;
                break;
        }
    }
    const size_t bytes = std::min<size_t>(kReadBytesMax, block.bytes - op.line);
    if (!team.single_copy.peers->read(giver, block.data + op.line, offered.data + op.line, bytes)) {
        give_back(team, giver);
        is_claimed = false;
        op.line = 0;
        return OfferedRead::kInRing;
    }
    op.line += bytes;
    if (op.line < block.bytes) return OfferedRead::kAdvanced;
    release_claim(team, giver);
    is_claimed = false;
    op.line = 0;
    return OfferedRead::kDone;
}

}  // namespace tutti::node
