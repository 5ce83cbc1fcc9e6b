// SPDX-License-Identifier: BSD-3-Clause
// A link fails with all that is under way by it, in all teams; each of them says so by itself
// (first_failure.h).
#include <array>
#include <cstdio>

#include "run/transport/verbs/links.h"
#include "run/transport/verbs/rc.h"

namespace tutti::transport::verbs {
namespace {

constexpr int kFlushed = 5;  // IBV_WC_WR_FLUSH_ERR

}  // namespace

// True where some team has not failed before.
bool Links::fail_teams(uint32_t link, const char* why, const char* more) {
    Link& at = links_[link];
    if (at.has_failed) return false;
    at.has_failed = true;
    bool is_told = false;
    for (Rc* team : teams_) {
        if (team && team->has_pair(link)) is_told |= team->fail(link, why, more);
    }
    return is_told;
}

void Links::fail(uint32_t link, const char* why, const char* more) { fail_teams(link, why, more); }

void Links::give_up(uint32_t link) {
    fail(link, "it was given up");
    without_cause_ = kNoLink;
}

// All that the link had posted is flushed: receives perhaps before the write that was the cause.
void Links::fail_by(const Completion& completion) {
    const uint32_t link = completion.pair;
    const bool is_cause = completion.status != kFlushed;
    const char* why = endpoint_->status_text(completion.status);
    std::array<char, 32> status;
    std::snprintf(status.data(), status.size(), " (status %d)", completion.status);
    if (!links_[link].has_failed) {
        if (fail_teams(link, why, status.data()) && !is_cause) without_cause_ = link;
    } else if (link == without_cause_ && is_cause) {
        for (Rc* team : teams_) {
            if (team && team->has_pair(link)) team->tell_cause(link, why, status.data());
        }
        without_cause_ = kNoLink;
    }
}

// As far as the link's own queues may have it behind what was flushed.
void Links::look_for_cause() {
    for (uint32_t seen = 0; without_cause_ != kNoLink && seen < kSends + kRecvs;) {
        const int found = endpoint_->poll(completions_);
        if (found <= 0) return;
        for (int i = 0; i < found; ++i) complete(completions_[i]);
        seen += static_cast<uint32_t>(found);
    }
}

}  // namespace tutti::transport::verbs
