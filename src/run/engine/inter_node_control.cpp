// SPDX-License-Identifier: BSD-3-Clause
#include "run/engine/inter_node_control.h"

#include <algorithm>
#include <cstdio>
#include <new>
#include <string>

#include "run/engine/disagreement.h"
#include "run/engine/messages.h"

namespace tutti::engine {
namespace {

// An answer comes when the other one has its next turn: soon, unless processors are few.
constexpr uint64_t kAnswerNsMin = 100'000'000;
constexpr uint64_t kAnswerNsMax = 1'000'000'000;

// From the first look at a long wait to the first telling, and the longest from one to the next.
constexpr uint64_t kTellAfterNs = 10'000'000;
constexpr uint64_t kTellEveryNs = 1'000'000'000;
// After so many tellings of one call, a minute, those that were not answered are told again: notes
// may be lost where a member tries multicast meanwhile, or has no room for an answer.
constexpr uint32_t kTellingsMax = 64;

}  // namespace

bool InterNodeControl::tell(tutti_status status, const char* text) {
    // A call that is not under way here has not begun, or is over.
    const uint32_t call = track_.call() + (track_.is_under_way() ? 0 : 1);
    const bool is_cause = tell_node(status, text, call);
    notes::Note note;
    note.kind = notes::Note::Kind::kGaveUp;
    note.status = static_cast<uint32_t>(status);
    std::snprintf(note.text.data(), note.text.size(), "%s", text);
    note.call = call;
    track_.messages().notice().begin(note);
    return is_cause;
}

void InterNodeControl::hear_far(const node::Call* call) {
    try {
        hear_all(call != nullptr);
        if (!members_.is_broken() && call) tell_calls();
        if (!members_.is_broken() && call) look_for_less();
    } catch (const std::bad_alloc&) {
        // A line for people is left away, or an answer.
    }
}

void InterNodeControl::listen_beside(const node::Call* call) {
    try {
        hear_notes(call != nullptr);
    } catch (const std::bad_alloc&) {
        // An answer is left away.
    }
}

void InterNodeControl::hear_notes(bool is_in_call) {
    for (notes::Note note; !members_.is_broken() && track_.messages().notes().receive(note);) {
        hear(note, is_in_call);
    }
}

void InterNodeControl::hear_all(bool is_in_call) {
    hear_notes(is_in_call);
    if (gave_up_ && !members_.is_broken() && is_due(gave_up_->call, is_in_call)) {
        heard(static_cast<tutti_status>(static_cast<int32_t>(gave_up_->status)),
              gave_up_->text.data());
    }
    if (!inquiry_.is_over(members_.context.clock().now_ns())) return;
    // Unless the call went on.
    const bool is_over = !is_in_call || track_.call() != inquiry_.call();
    is_over ? inquiry_.stop() : report_inquiry();
}

void InterNodeControl::hear(const notes::Note& note, bool is_in_call) {
    switch (note.kind) {
        case notes::Note::Kind::kGaveUp:
            tell_node(static_cast<tutti_status>(static_cast<int32_t>(note.status)),
                      note.text.data(), note.call);
            if (!gave_up_ || static_cast<int32_t>(gave_up_->call - note.call) > 0) gave_up_ = note;
            break;
        case notes::Note::Kind::kQuestion:
            if (is_in_call) answer(note);
            break;
        case notes::Note::Kind::kAnswer:
            inquiry_.answered(note.from, note.asked, note.call);
            inquiry_.add({note.waits_for.data(), note.count}, members_.rank);
            ask_on();
            break;
        case notes::Note::Kind::kCalls:
            hear_calls(note);
            break;
        case notes::Note::Kind::kHeard:
            track_.messages().calls_heard(note.from);
            hear_answer(note);
            break;
    }
}

// ---- stalls ------------------------------------------------------------------------------------

// Members that this rank waits for: those that a node operation lacks, and those at the other end
// of messages.
std::vector<uint32_t> InterNodeControl::waits_for() {
    std::vector<uint32_t> ranks = track_.executor().waits_for();
    if (const node::Op* op = track_.executor().node_op()) {
        const topo::Placement& placement = inter_node_.placement();
        const auto members = placement.members(placement.node_of(members_.rank));
        for (const node::Rank i : node::not_arrived(node_, *op)) {
            ranks.push_back(members[i]);
        }
    }
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return ranks;
}

void InterNodeControl::answer(const notes::Note& question) {
    const std::vector<uint32_t> ranks = waits_for();
    notes::Note note;
    note.kind = notes::Note::Kind::kAnswer;
    note.call = track_.call();
    note.asked = question.call;
    note.count = static_cast<uint32_t>(std::min<size_t>(ranks.size(), notes::Note::kNamesMax));
    std::copy_n(ranks.begin(), note.count, note.waits_for.begin());
    track_.messages().notes().send(question.from, note);
}

void InterNodeControl::ask_on() {
    notes::Note question;
    question.call = track_.call();
    for (uint32_t rank = 0; inquiry_.next(rank);) track_.messages().notes().send(rank, question);
}

void InterNodeControl::report_stall(const node::Call& call, const node::Op*, uint64_t waited_ns) {
    inquiry_waited_ns_ = waited_ns;
    inquiry_collective_ = call.collective;
    const uint64_t patience = std::clamp(members_.policy.stall_ns / 2, kAnswerNsMin, kAnswerNsMax);
    inquiry_.begin(track_.call(), members_.context.clock().now_ns() + patience);
    inquiry_.add(waits_for(), members_.rank);
    ask_on();
    if (!track_.messages().notes().is_on()) report_inquiry();
}

void InterNodeControl::report_inquiry() {
    inquiry_.stop();
    const auto names = [&](const std::vector<uint32_t>& ranks) {
        std::vector<std::string> texts;
        for (const uint32_t rank : ranks) texts.push_back(inter_node_.rank_text(rank));
        return texts;
    };
    const Stall stall{members_.name, members_.rank, inquiry_waited_ns_, inquiry_collective_,
                      track_.call()};
    StallAcross across{names(inquiry_.silent()), names(inquiry_.waiting()),
                       names(inquiry_.elsewhere()), track_.messages().notes().is_on()};
    members_.context.log(TUTTI_LOG_WARN, stall_message(stall, across));
}

// ---- ranks that disagree -----------------------------------------------------------------------

void InterNodeControl::disagree(const node::Op& op, const node::Disagreement& with) {
    const node::CallNote mine = node::CallNote::unpack(op.note);
    // Parts have numbers and members of their own; what a person knows is the call and the team.
    node::Disagreement across = with;
    across.note.number = mine.number;
    if (with.is_known && track_.capacity().take_less(across.note)) return;
    const topo::Placement& placement = inter_node_.placement();
    across.rank = placement.members(placement.node_of(members_.rank))[with.rank];
    const Why why = why_disagreed(track_.call(), mine, across, members_.rank);
    break_off(TUTTI_ERR_MISMATCH, why.text);
}

// At first soon, then less and less often.
void InterNodeControl::tell_calls() {
    const uint64_t now = members_.context.clock().now_ns();
    const bool is_new = telling_call_ != track_.call();
    if (!is_new && now < tell_at_ns_) return;
    tellings_ = is_new ? 0 : tellings_ + 1;
    if (tellings_ % kTellingsMax == kTellingsMax - 1) track_.messages().forget_told();
    if (!is_new) track_.tell_calls();
    telling_call_ = track_.call();
    tell_after_ns_ = is_new ? kTellAfterNs : std::min(2 * tell_after_ns_, kTellEveryNs);
    tell_at_ns_ = now + tell_after_ns_;
}

// Those of a rank that waits for this one. Where the two may differ in their bytes, one of them
// hears of it what it will get.
void InterNodeControl::hear_calls(const notes::Note& note) {
    const notes::CallLog::Difference found = track_.messages().log().compare(note.calls);
    notes::Note heard;
    heard.kind = notes::Note::Kind::kHeard;
    heard.call = track_.call();
    if (found.is_there) {
        if (!goes_on(found, note.from)) return disagree_on(found, note.from);
        heard.calls = track_.messages().log().tell(found.number);
    }
    track_.messages().notes().send(note.from, heard);
}

void InterNodeControl::hear_answer(const notes::Note& note) {
    if (note.calls.count != 1 || note.calls.number != track_.call()) return;
    const notes::CallLog::Difference found = track_.messages().log().compare(note.calls);
    if (found.is_there && found.is_known && !goes_on(found, note.from)) {
        disagree_on(found, note.from);
    }
}

void InterNodeControl::disagree_on(const notes::CallLog::Difference& found, uint32_t from) {
    const node::CallNote mine = track_.messages().log().note(found.number);
    const node::CallNote& theirs = found.is_known ? found.theirs : mine;
    const Why why = why_disagreed(found.number, mine, from, &theirs);
    break_off(TUTTI_ERR_MISMATCH, why.text);
}

// Of a gather all senders know what comes, of a scatter its root.
bool InterNodeControl::goes_on(const notes::CallLog::Difference& found, uint32_t from) {
    const node::CallNote mine = track_.messages().log().note(found.number);
    if (!found.is_known || !notes::goes_together(mine, members_.rank, found.theirs, from)) {
        return false;
    }
    const bool is_source = mine.collective == TUTTI_GATHER || from == track_.shape().root;
    const bool gets_less = is_source && found.theirs.bytes < mine.bytes;
    return !gets_less ||
           (found.number == track_.call() && track_.capacity().take_less(found.theirs));
}

void InterNodeControl::look_for_less() {
    const transport::Disagreement with = track_.capacity().look_for_unexpected();
    if (!with.is_there) return;
    break_off(TUTTI_ERR_MISMATCH, why_disagreed(track_, with).text);
}

}  // namespace tutti::engine
