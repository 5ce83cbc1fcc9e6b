// SPDX-License-Identifier: BSD-3-Clause
#include "run/engine/disagreement.h"

#include <cstdio>

#include "base/collectives.h"

namespace tutti::engine {
namespace {

struct CallText {
    char text[48];
};

CallText text_of(const node::CallNote& note) {
    const auto collective = static_cast<tutti_collective>(note.collective);
    const auto bytes = static_cast<unsigned long long>(note.bytes);
    CallText out;
    if (collective == node::kLeftToHost) {
        std::snprintf(out.text, sizeof out.text, "left to your MPI");
        return out;
    }
    if (note.collective >= TUTTI_COLLECTIVE_COUNT) {  // it came from another rank
        std::snprintf(out.text, sizeof out.text, "no collective");
        return out;
    }
    const char* name = collective_name(collective).data();  // a literal
    // Blocks of a vector form have no common size.
    const bool has_size = collective != TUTTI_BARRIER && !has_lengths(collective);
    if (!has_size && has_root(collective)) {
        std::snprintf(out.text, sizeof out.text, "%s root %u", name, note.root);
    } else if (!has_size) {
        std::snprintf(out.text, sizeof out.text, "%s", name);
    } else if (has_root(collective)) {
        std::snprintf(out.text, sizeof out.text, "%s root %u of %llu bytes", name, note.root,
                      bytes);
    } else {
        std::snprintf(out.text, sizeof out.text, "%s of %llu bytes", name, bytes);
    }
    return out;
}

// A vector form, in which `from` sends `to` another length than that waits for. to: node::kNoRank
// where it is not known.
Why why_lengths_differ(uint64_t number, const node::CallNote& mine, uint32_t from, uint32_t to) {
    char taker[24] = "a rank";
    if (to != node::kNoRank) std::snprintf(taker, sizeof taker, "rank %u", to);
    Why why;
    std::snprintf(why.text, sizeof why.text,
                  "call %llu is %s: rank %u sends another length than %s waits for",
                  static_cast<unsigned long long>(number), text_of(mine).text, from, taker);
    return why;
}

}  // namespace

Why why_disagreed(uint64_t number, const node::CallNote& mine, uint32_t rank,
                  const node::CallNote* theirs) {
    const auto shown = static_cast<unsigned long long>(number);
    const CallText own = text_of(mine);
    Why why;
    if (!theirs) {
        std::snprintf(why.text, sizeof why.text, "call %llu is %s, on rank %u another call", shown,
                      own.text, rank);
    } else if (*theirs == mine) {
        std::snprintf(why.text, sizeof why.text,
                      "call %llu is %s, on rank %u too, but one before was not", shown, own.text,
                      rank);
    } else if (theirs->number == mine.number) {
        std::snprintf(why.text, sizeof why.text, "call %llu is %s, on rank %u %s", shown, own.text,
                      rank, text_of(*theirs).text);
    } else {
        const auto ahead = static_cast<int8_t>(theirs->number - mine.number);
        std::snprintf(why.text, sizeof why.text, "call %llu is %s, rank %u is in call %lld, %s",
                      shown, own.text, rank, static_cast<long long>(number) + ahead,
                      text_of(*theirs).text);
    }
    return why;
}

Why why_disagreed(uint64_t number, const node::CallNote& mine, const node::Disagreement& with,
                  uint32_t own) {
    switch (with.in_length) {
        using enum node::Disagreement::InLength;
        case kSent:
            return why_lengths_differ(number, mine, with.rank, own);
        case kTaken:
            return why_lengths_differ(number, mine, own, with.rank);
        case kTakenByOne:
            return why_lengths_differ(number, mine, own, node::kNoRank);
        case kNo:
            break;
    }
    return why_disagreed(number, mine, with.rank, with.is_known ? &with.note : nullptr);
}

Why why_disagreed(CallTrack& track, const transport::Disagreement& with) {
    const node::CallNote mine = track.messages().log().last();
    if (with.has_word) {
        const node::CallNote theirs = node::CallNote::unpack(with.word.call);
        return why_disagreed(track.call(), mine, with.peer, &theirs);
    }
    Why why;
    std::snprintf(why.text, sizeof why.text, "call %u is %s, but %s", track.call(),
                  text_of(mine).text, track.executor().error().c_str());
    return why;
}

}  // namespace tutti::engine
