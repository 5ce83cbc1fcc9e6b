// SPDX-License-Identifier: BSD-3-Clause
#include "run/engine/control.h"

#include <cstdio>
#include <utility>

#include "base/assert.h"
#include "run/notes/notes.h"

namespace tutti::engine {
namespace {

enum GaveUp : uint32_t { kNobody, kWriting, kWritten };

}  // namespace

void Control::break_off(tutti_status status, const char* why) {
    TUTTI_ASSERT(!members_.is_broken(), "the first cause is the one that is told");
    char text[sizeof(notes::Note::text)];
    std::snprintf(text, sizeof text, "rank %u: %s", members_.rank, why);
    members_.break_down(status, text);
    has_told_ = true;
    const bool is_cause = tell(status, text);
    // Found out here, and perhaps by nobody else: those who hear of it say nothing.
    if (is_cause && status == TUTTI_ERR_MISMATCH) {
        members_.context.log(TUTTI_LOG_WARN, members_.message);
    }
}

void Control::pass_on() {
    if (!members_.is_broken() || std::exchange(has_told_, true)) return;
    tell(members_.broken, members_.message.c_str() + members_.name.size() + 2);  // behind ": "
}

bool Control::tell_node(tutti_status status, const char* text, uint32_t call) {
    if (node_.size == 1) return true;
    node::SliceHeader& header = node_.slice.header();
    uint32_t nobody = kNobody;
    if (!header.gave_up.compare_exchange_strong(nobody, kWriting)) return false;
    header.gave_up_status = static_cast<uint32_t>(status);
    header.gave_up_call = call;
    std::snprintf(header.gave_up_text, sizeof(header.gave_up_text), "%s", text);
    header.gave_up.store(kWritten, std::memory_order_release);
    header.bell.ring();
    return true;
}

bool Control::hear_node(const node::Call* call) {
    const node::SliceHeader& header = node_.slice.header();
    if (header.gave_up.load(std::memory_order_acquire) != kWritten) return false;
    if (!is_due(header.gave_up_call, call != nullptr)) return false;
    heard(static_cast<tutti_status>(static_cast<int32_t>(header.gave_up_status)),
          header.gave_up_text);
    return true;
}

// Whoever waits for a call to begin may wait for the one that gave up. In one that has begun only
// others can be late, or what was sent is still on its way.
bool Control::is_due(uint32_t call, bool is_in_call) {
    constexpr uint64_t kHeldNs = 1'000'000'000;
    const bool is_later = static_cast<int32_t>(call - calls_begun()) > 0;  // numbers go round
    if (call == 0 || !is_later || (is_in_call && !is_under_way())) return true;
    const uint64_t now_ns = members_.context.clock().now_ns();
    if (held_since_ns_ == 0) held_since_ns_ = now_ns;
    return now_ns - held_since_ns_ >= kHeldNs;
}

void Control::listen(const node::Call* call, node::Op* op) {
    // What this rank waits for may be a rank that needs this one to go on in another team.
    members_.context.process_multicast().attend_all();
    members_.context.remnants().tidy();
    if (members_.is_broken() || hear_node(call)) return;
    hear_far(call);
    if (op && op->is_lost) return lose_memory(*op);
    if (op && op->lacks_chunks) {
        return break_off(TUTTI_ERR_MEMORY,
                         "communicators in which members have failed hold this rank's chunks");
    }
    if (!members_.is_broken() && op) look_for_disagreement(*op);
}

// Of a call whose inputs are overwritten by now: nobody can finish it.
void Control::lose_memory(const node::Op& op) {
    char why[96];
    std::snprintf(why, sizeof(why), "cannot read the memory of rank %u of this host any more",
                  op.awaited);
    break_off(TUTTI_ERR_SYSTEM, why);
}

// For a rank that has waited long. Who finished this call while this rank waits for what it should
// have written runs something else: it is looked at twice, with steps between, since what it wrote
// may have come just before its word that it was done.
void Control::look_for_disagreement(node::Op& op) {
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

}  // namespace tutti::engine
