// SPDX-License-Identifier: BSD-3-Clause
// What a group sends, in its order, and to whom: notices first, then what others are owed, then its
// own packets; on the detour a copy for each.
#include <algorithm>

#include "base/assert.h"
#include "run/mcast/group.h"

namespace tutti::mcast {

// What is queued, the oldest first.
size_t Group::write_owed(uint64_t now_ns, std::span<std::byte> out, Member& to) {
    while (!work_.is_empty()) {
        const auto [work, member] = work_.pop();
        switch (work) {
            case Work::kAck:
                return streams_.write_ack(member, out, to);
            case Work::kAsk:
                return streams_.write_ask(member, out, to);
            case Work::kNak:
                if (const size_t bytes = streams_.write_nak(now_ns, member, out, to); bytes > 0) {
                    return bytes;
                }
                break;
            case Work::kTell:
                to = member;
                return mcast::write({params_.group, params_.member, detour_.notice()}, out);
            case Work::kBeat:
                to = member;
                const Heartbeat beat{sender_.sent_end(), 0, false};
                return mcast::write({params_.group, params_.member, beat}, out);
        }
    }
    return 0;
}

uint64_t Group::next_deadline() const {
    if (packets_ == params_.packets_max) return kNever;
    if (failure()) return detour_.next_ns();
    return std::min({streams_.next_ns(), watch_.next_ns(), sender_.next_ns(), prober_.next_ns(),
                     detour_.next_ns()});
}

size_t Group::next_packet(uint64_t now_ns, std::span<std::byte> out, Member& to) {
    TUTTI_ASSERT(out.size() >= params_.packet_bytes_max, "no room for a packet");
    if (packets_ == params_.packets_max) return 0;
    const size_t bytes = next_unnumbered(now_ns, out, to);
    if (bytes > 0) number(out, ++packets_, to);
    // The others notice that nothing comes any more.
    if (packets_ == params_.packets_max) abandon(now_ns, params_.member);
    check();
    return bytes;
}

size_t Group::next_unnumbered(uint64_t now_ns, std::span<std::byte> out, Member& to) {
    if (copies_.is_under_way()) {
        const auto must_tell = [this](Member member) { return detour_.must_tell(member); };
        if (const size_t bytes = copies_.next(out, to, must_tell); bytes > 0) return bytes;
    }
    const bool is_notice = detour_.take_notice(now_ns);
    size_t bytes = 0;
    if (is_notice) {
        to = kEverybody;
        bytes = mcast::write({params_.group, params_.member, detour_.notice()}, out);
    } else {
        bytes = write_owed(now_ns, out, to);
    }
    if (bytes == 0 && !failure()) bytes = prober_.next_packet(now_ns, out, to);
    if (bytes == 0 && !failure()) {
        bytes = sender_.next_packet(now_ns, out, to);
        streams_.on_sent(now_ns, sender_.sent_end());
    }
    // The one to everybody goes first: perhaps it is the ways to single members that are cut off.
    if (bytes > 0 && to == kEverybody && detour_.has_begun()) {
        copies_.begin(out.first(bytes), is_notice);
    }
    return bytes;
}

}  // namespace tutti::mcast
