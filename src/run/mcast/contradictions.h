// SPDX-License-Identifier: BSD-3-Clause
// Finds that what came in members' names cannot all be their own.
//
// Source: ours; docs/protocol/multicast.md, "Contradictions". Where a code covers all of a packet
// no other process can make one, and nothing of this is ever found. Each piece of evidence is one
// that an honest member gives at most by chance, and then not so often.
//
// Invariant: what is found stays found.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "run/mcast/continuity.h"
#include "run/mcast/packet.h"
#include "run/mcast/params.h"

namespace tutti::mcast {

// NAKs in vain, of so many times one each. A member that never gets what it asks for asks each 20
// ms or so: found out after some 5 s. Those that were under way, or waited here while this process
// stood still, while the last of what they ask for came, are read at about one time.
inline constexpr uint32_t kVainNaksMax = 256;
inline constexpr uint64_t kVainNakNs = 10 * kMillisecond;
inline constexpr uint64_t kVainQuietNs = 1'000 * kMillisecond;  // behind which others begin anew
// Some 20 ms lie between two repairs of one packet.
inline constexpr uint32_t kRefusedMax = 64;

class Contradictions {
  public:
    explicit Contradictions(const Params& params) {
        members_.reserve(params.members);
        for (Member member = 0; member < params.members; ++member) members_.emplace_back(params);
    }

    // A packet that was taken; with it the stream is here up to `received_end`.
    void on_data(Member from, const Data& data, uint64_t received_end) {
        ByMember& member = members_[from];
        if (data.sequence < received_end) member.refused = 0;
        member.continuity.add(data);
        member.continuity.advance(received_end);
        if (!member.continuity.is_whole()) found_ = from;
    }
    // A packet that no member can have sent. If it is the sender's own after all, and nothing else
    // is missing before it, it comes again and again.
    void on_refused(Member from, bool is_first_missing) {
        uint32_t& refused = members_[from].refused;
        if (is_first_missing) ++refused;
        if (refused > kRefusedMax) found_ = from;
    }
    // Not an answer on the detour: those never ask.
    void on_heartbeat(Member from, const Heartbeat& beat) {
        Continuity& continuity = members_[from].continuity;
        continuity.on_heartbeat(beat);
        if (!continuity.is_whole()) found_ = from;
    }
    // For this member's own stream, of which nothing before `kept_from` is kept. A NAK for
    // older packets means that another process acknowledged them in the asker's name.
    void on_nak(uint64_t now_ns, Member from, const Nak& nak, uint64_t kept_from) {
        ByMember& member = members_[from];
        if (nak.range(0).first >= kept_from) {
            member.vain_naks = 0;
            return;
        }
        const uint64_t since_ns = now_ns - member.vain_ns;
        if (member.vain_naks > 0 && since_ns < kVainNakNs) return;
        member.vain_naks = since_ns < kVainQuietNs ? member.vain_naks + 1 : 1;
        member.vain_ns = now_ns;
        if (member.vain_naks > kVainNaksMax) found_ = from;
    }

    // A member in whose name, or of whose stream, something came that contradicts the rest.
    [[nodiscard]] std::optional<Member> found() const {
        if (found_ == kNobody) return {};
        return found_;
    }

  private:
    struct ByMember {
        explicit ByMember(const Params& params) : continuity(params) {}
        Continuity continuity;
        uint32_t refused = 0;    // each time the first packet that is missing
        uint32_t vain_naks = 0;  // in a row, by times
        uint64_t vain_ns = 0;    // the last time
    };

    std::vector<ByMember> members_;
    Member found_ = kNobody;
};

}  // namespace tutti::mcast
