// SPDX-License-Identifier: BSD-3-Clause
// What members of a team tell each other beside its calls: that one gives up, by a word in the
// node's memory and by notes to other nodes, and, in a stall across nodes, who waits for whom.
//
// A rank that cannot begin a call of which the others know (its memory has run out, a message has
// failed) must not just return: they would wait for ever. It gives up instead. No other member can
// then finish what needs it, and every one ends the call that it is in, or its next, with an error.
#include <algorithm>
#include <cstdio>
#include <new>

#include "base/bell.h"
#include "engine/messages.h"
#include "engine/team.h"
#include "sched/shape.h"

namespace tutti::engine {
namespace {

enum GaveUp : uint32_t { kNobody, kWriting, kWritten };

// An answer comes when the other one has its next turn: soon, unless processors are few.
constexpr uint64_t kAnswerNsMin = 100'000'000;
constexpr uint64_t kAnswerNsMax = 1'000'000'000;

// Each test lets the embedder progress, which costs more than a look.
constexpr uint32_t kTestsPerLook = 64;

// From when on a wait may have to do with a failure of another team's group. Long beside what calls
// take, so that idle groups stay idle; short beside the time in which a silent member is given up.
constexpr uint64_t kWatchOthersAfterNs = 1'000'000'000;

}  // namespace

void Team::fall_silent(tutti_status status, const char* text) {
    broken_ = status;
    message_.assign(name_);  // there is room for all of it
    message_.append(": ").append(text);
}

// To the members on this node. The first to give up is the cause.
bool Team::pass_on(tutti_status status, const char* text) {
    if (node_.size == 1) return true;
    node::SliceHeader& header = node_.slice.header();
    uint32_t nobody = kNobody;
    if (!header.gave_up.compare_exchange_strong(nobody, kWriting)) return false;
    header.gave_up_status = static_cast<uint32_t>(status);
    std::snprintf(header.gave_up_text, sizeof(header.gave_up_text), "%s", text);
    header.gave_up.store(kWritten, std::memory_order_release);
    header.bell.ring();
    return true;
}

void Team::give_up(tutti_status status, const char* why) {
    if (broken_ == TUTTI_OK) break_off(status, why);
    if (head_) finish(*head_, broken_);
}

// This rank falls silent, and all others hear of it. True if nobody of its node was faster.
bool Team::tell_others(tutti_status status, const char* text) {
    fall_silent(status, text);
    const bool is_cause = pass_on(status, text);
    if (!network_) return is_cause;
    Note note;
    note.kind = Note::Kind::kGaveUp;
    note.status = static_cast<uint32_t>(status);
    std::snprintf(note.text.data(), note.text.size(), "%s", text);
    note.call = network_->call();
    network_->tell_others(note);
    return is_cause;
}

void Team::break_off(tutti_status status, const char* why) {
    char text[sizeof(Note::text)];
    std::snprintf(text, sizeof text, "rank %u: %s", rank_, why);
    const bool is_cause = tell_others(status, text);
    // Found out here, and perhaps by nobody else: those who hear of it say nothing.
    if (is_cause && status == TUTTI_ERR_MISMATCH) context_->log(TUTTI_LOG_WARN, message_);
}

void Team::follow(const Team& broken) {
    if (broken.broken_ == TUTTI_OK || broken_ != TUTTI_OK) return;
    tell_others(broken.broken_, broken.message_.c_str() + name_.size() + 2);  // behind ": "
    if (head_) finish(*head_, broken_);
}

void Team::watch_others(uint64_t waited_ns) {
    if (watches_others_ || waited_ns < kWatchOthersAfterNs) return;
    watches_others_ = true;
    context_->multicast_desk().watch_all_for_others(true);
}

// What this rank's call has under way on its node, or nullptr.
node::Op* Team::node_op() {
    if (network_) return network_->node_op();
    return head_ && head_->stage != Request::Stage::kAgreeing ? &front_op() : nullptr;
}

void Team::listen(node::Op* op) {
    // What this rank waits for may be a rank that needs this one to go on in another team.
    context_->multicast_desk().attend_all();
    if (broken_ != TUTTI_OK) return;
    const node::SliceHeader& header = node_.slice.header();
    if (header.gave_up.load(std::memory_order_acquire) == kWritten) {
        fall_silent(static_cast<tutti_status>(static_cast<int32_t>(header.gave_up_status)),
                    header.gave_up_text);
        return;
    }
    if (network_) {
        try {
            hear_all();
            if (broken_ == TUTTI_OK && head_) tell_calls();
        } catch (const std::bad_alloc&) {
            // A line for people is left away, or an answer.
        }
    }
    if (broken_ == TUTTI_OK) look_for_rejections();
    if (broken_ == TUTTI_OK && op) look_for_disagreement(*op);
}

void Team::hear_all() {
    for (Note note; broken_ == TUTTI_OK && network_->notes().receive(note);) hear(note);
    if (inquiry_.is_over(context_->clock().now_ns())) report_inquiry();
}

void Team::look_around() {
    if (++looks_ % kTestsPerLook != 0) return;
    listen(node_op());
    // What completes the call came before the news, if at all.
    if (broken_ != TUTTI_OK && !advance() && head_) finish(*head_, broken_);
}

void Team::hear(const Note& note) {
    switch (note.kind) {
        case Note::Kind::kGaveUp: {
            const auto status = static_cast<tutti_status>(static_cast<int32_t>(note.status));
            fall_silent(status, note.text.data());
            pass_on(status, note.text.data());
            break;
        }
        case Note::Kind::kQuestion:
            if (head_) answer(note);
            break;
        case Note::Kind::kAnswer:
            inquiry_.answered(note.from, note.asked, note.call);
            inquiry_.add({note.waits_for.data(), note.count}, rank_);
            ask_on();
            break;
        case Note::Kind::kCalls:
            hear_calls(note);
            break;
        case Note::Kind::kHeard:
            network_->calls_heard(note.from);
            break;
        case Note::Kind::kRejections:
            rejections_.heard(note.from, note.count, Mark::unpack(note.mark));
            break;
    }
}

// ---- stalls ------------------------------------------------------------------------------------

// Members that this rank waits for: those that a node operation lacks, and those at the other end
// of messages.
std::vector<uint32_t> Team::waits_for() {
    std::vector<uint32_t> ranks = network_->executor().waits_for();
    if (const node::Op* op = network_->executor().node_op()) {
        const topo::Placement& placement = network_->placement();
        const auto members = placement.members(placement.node_of(rank_));
        for (const node::Rank i : node::not_arrived(node_, *op)) ranks.push_back(members[i]);
    }
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return ranks;
}

void Team::answer(const Note& question) {
    const std::vector<uint32_t> ranks = waits_for();
    Note note;
    note.kind = Note::Kind::kAnswer;
    note.call = network_->call();
    note.asked = question.call;
    note.count = static_cast<uint32_t>(std::min<size_t>(ranks.size(), Note::kNamesMax));
    std::copy_n(ranks.begin(), note.count, note.waits_for.begin());
    network_->notes().send(question.from, note);
}

void Team::ask_on() {
    Note question;
    question.call = network_->call();
    for (uint32_t rank = 0; inquiry_.next(rank);) network_->notes().send(rank, question);
}

void Team::begin_inquiry(uint64_t waited_ns) {
    inquiry_waited_ns_ = waited_ns;
    const uint64_t patience = std::clamp(policy_.stall_ns / 2, kAnswerNsMin, kAnswerNsMax);
    inquiry_.begin(network_->call(), context_->clock().now_ns() + patience);
    inquiry_.add(waits_for(), rank_);
    ask_on();
    if (!network_->notes().is_on()) report_inquiry();
}

void Team::report_inquiry() {
    inquiry_.stop();
    if (!head_ || network_->call() != inquiry_.call()) return;  // it went on
    const auto names = [&](const std::vector<uint32_t>& ranks) {
        std::vector<std::string> texts;
        for (const uint32_t rank : ranks) texts.push_back(network_->rank_text(rank));
        return texts;
    };
    const Stall stall{name_, rank_, inquiry_waited_ns_, head_->op.call.collective,
                      network_->call()};
    StallAcross across{names(inquiry_.silent()), names(inquiry_.waiting()),
                       names(inquiry_.elsewhere()), network_->notes().is_on()};
    context_->log(TUTTI_LOG_WARN, stall_message(stall, across));
}

}  // namespace tutti::engine
