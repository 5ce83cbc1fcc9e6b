// SPDX-License-Identifier: BSD-3-Clause
// Of a vector form: long blocks that are read in place. A giver offers all of them at once
// (offer.h), and tells each taker by its cell where its block stands. It never withdraws because a
// taker is late: such blocks are longer than MPIs send ahead. If one cannot read, the giver
// withdraws, and all that have not read take their blocks from its ring, behind all other rounds.
// So they do where the giver's own calls have found its ring faster (contest.h). A taker that goes
// on and has not read waits for another length (passed_over()). Inside node/ only.
#pragma once

#include "run/node/vector_layout.h"

namespace tutti::node {

// ---- the giver ----------------------------------------------------------------------------------

// Before its cells are written. Op.served: takers of offered blocks, some. bytes: of these blocks
// together. The others learn from the offer whether it stands, or is withdrawn from the beginning.
void offer_blocks(Team& team, const Op& op, uint64_t bytes);
enum class OfferState {
    kOver,       // all takers have read
    kStands,     // some are to read, or do
    kWithdraws,  // it is withdrawn now
    kReadStill,  // it was; some read on
    kUnread      // it was, and nobody reads
};
// Looks at the own offer, and withdraws it where a taker cannot read.
OfferState tend_blocks(Team& team, const Op& op);

// For a giver that has waited long: a taker that has gone on, and has not read what it is offered.
struct PassedOver {
    Rank rank = kNoRank;   // kNoRank: none has, as far as can be seen
    bool is_known = true;  // false: it may be another taker that has gone on
};
PassedOver passed_over(const Team& team, const Op& op);

// ---- takers -------------------------------------------------------------------------------------

enum class OfferedRead {
    kNotYet,    // this rank cannot read now
    kAdvanced,  // a part is read
    kDone,      // all is
    kInRing     // it cannot be read: it is in the giver's ring, or will be
};
// Reads on in an offered block. Op.line: bytes read. is_claimed: this rank reads there.
OfferedRead read_offered(Team& team, Op& op, Rank giver, const LongBlock& offered,
                         const TakenBlock& block, bool& is_claimed);

}  // namespace tutti::node
