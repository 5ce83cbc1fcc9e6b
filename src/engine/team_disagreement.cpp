// SPDX-License-Identifier: BSD-3-Clause
// Ranks of a team that do not run the same call: how they find out, and the line that they say.
//
// On one node they see each other's notes (node/word.h). Across nodes each message of few bytes has
// the word of its call (transport/p2p), and a long one comes only to those who run a call of its
// kind. So whoever waits for what never comes tells those that it waits for its last calls
// (call_log.h): one of them has run another one, or waits itself for somebody who has.
#include <cstdio>
#include <utility>

#include "engine/team.h"
#include "sched/shape.h"

namespace tutti::engine {
namespace {

// From the first look at a long wait to the first telling, and the longest from one to the next.
constexpr uint64_t kTellAfterNs = 10'000'000;
constexpr uint64_t kTellEveryNs = 1'000'000'000;
// After so many tellings of one call, a minute, those that were not answered are told again: notes
// may be lost where a member tries multicast meanwhile, or has no room for an answer.
constexpr uint32_t kTellingsMax = 64;

struct CallText {
    char text[48];
};

CallText text_of(const node::CallNote& note) {
    const auto collective = static_cast<tutti_collective>(note.collective);
    const char* name = tutti_collective_name(collective);
    const auto bytes = static_cast<unsigned long long>(note.bytes);
    CallText out;
    if (collective == node::kLeftToHost) {
        std::snprintf(out.text, sizeof out.text, "left to the host MPI");
    } else if (collective == TUTTI_BARRIER) {
        std::snprintf(out.text, sizeof out.text, "%s", name);
    } else if (has_root(collective)) {
        std::snprintf(out.text, sizeof out.text, "%s root %u of %llu bytes", name, note.root,
                      bytes);
    } else {
        std::snprintf(out.text, sizeof out.text, "%s of %llu bytes", name, bytes);
    }
    return out;
}

}  // namespace

// The call `number` of this rank, and what `rank` takes it to be; nullptr: something else.
void Team::disagree(uint64_t number, const node::CallNote& mine, uint32_t rank,
                    const node::CallNote* theirs) {
    const auto shown = static_cast<unsigned long long>(number);
    const CallText own = text_of(mine);
    char why[128];
    if (!theirs) {
        std::snprintf(why, sizeof why, "call %llu is %s, on rank %u another call", shown, own.text,
                      rank);
    } else if (*theirs == mine) {
        std::snprintf(why, sizeof why, "call %llu is %s, on rank %u too, but one before was not",
                      shown, own.text, rank);
    } else if (theirs->number == mine.number) {
        std::snprintf(why, sizeof why, "call %llu is %s, on rank %u %s", shown, own.text, rank,
                      text_of(*theirs).text);
    } else {
        const auto ahead = static_cast<int8_t>(theirs->number - mine.number);
        std::snprintf(why, sizeof why, "call %llu is %s, rank %u is in call %lld, %s", shown,
                      own.text, rank, static_cast<long long>(number) + ahead,
                      text_of(*theirs).text);
    }
    break_off(TUTTI_ERR_MISMATCH, why);
}

void Team::disagree(const node::Op& op, const node::Disagreement& with) {
    const node::CallNote mine = node::CallNote::unpack(op.note);
    if (!network_)
        return disagree(op.number, mine, with.rank, with.is_known ? &with.note : nullptr);
    // Parts have numbers of their own; what a person knows is the call.
    node::CallNote theirs = with.note;
    theirs.number = mine.number;
    const topo::Placement& placement = network_->placement();
    const uint32_t rank = placement.members(placement.node_of(rank_))[with.rank];
    disagree(network_->call(), mine, rank, with.is_known ? &theirs : nullptr);
}

// As a message across nodes shows.
void Team::disagree(const transport::Disagreement& with) {
    const node::CallNote mine = network_->log().last();
    if (with.has_word) {
        const node::CallNote theirs = node::CallNote::unpack(with.word.call);
        return disagree(network_->call(), mine, with.peer, &theirs);
    }
    char why[128];
    std::snprintf(why, sizeof why, "call %u is %s, but %s", network_->call(), text_of(mine).text,
                  network_->executor().error().c_str());
    break_off(TUTTI_ERR_MISMATCH, why);
}

// For a rank that has waited long. Who finished this call while this rank waits for what it should
// have written runs something else: it is looked at twice, with steps between, since what it wrote
// may have come just before its word that it was done.
void Team::look_for_disagreement(node::Op& op) {
    const node::Disagreement with = node::find_disagreement(node_, op);
    if (with.rank != node::kNoRank) return disagree(op, with);
    const node::Rank awaited = std::exchange(op.awaited, node::kNoRank);
    const bool is_suspect = awaited != node::kNoRank && node::has_finished(node_, op, awaited);
    if (is_suspect && suspected_ == op.number && suspect_ == awaited) {
        return disagree(op, {awaited, false, {}});
    }
    suspected_ = is_suspect ? op.number : 0;
    suspect_ = awaited;
}

// Across nodes, the same. At first soon, then less and less often.
void Team::tell_calls() {
    const uint64_t now = context_->clock().now_ns();
    const bool is_new = telling_call_ != network_->call();
    if (!is_new && now < tell_at_ns_) return;
    tellings_ = is_new ? 0 : tellings_ + 1;
    if (tellings_ % kTellingsMax == kTellingsMax - 1) network_->forget_told();
    if (!is_new) network_->tell_calls();
    telling_call_ = network_->call();
    tell_after_ns_ = is_new ? kTellAfterNs : std::min(2 * tell_after_ns_, kTellEveryNs);
    tell_at_ns_ = now + tell_after_ns_;
}

// Those of a rank that waits for this one.
void Team::hear_calls(const Note& note) {
    const CallLog::Difference found = network_->log().compare(note.calls);
    if (found.is_there) {
        const node::CallNote mine = network_->log().note(found.number);
        const node::CallNote& theirs = found.is_known ? found.theirs : mine;
        return disagree(found.number, mine, note.from, &theirs);
    }
    Note heard;
    heard.kind = Note::Kind::kHeard;
    heard.call = network_->call();
    network_->notes().send(note.from, heard);
}

}  // namespace tutti::engine
