// SPDX-License-Identifier: BSD-3-Clause
// A packet to everybody, on its way to each member by itself: on the detour, where switches may no
// longer replicate.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/assert.h"
#include "run/mcast/packet.h"
#include "run/mcast/params.h"

namespace tutti::mcast {

class DetourCopies {
  public:
    explicit DetourCopies(const Params& params)
        : own_(params.member), members_(params.members), packet_(params.packet_bytes_max) {}

    [[nodiscard]] bool is_under_way() const { return next_ != kNobody; }
    [[nodiscard]] bool is_notice() const { return is_notice_; }
    void begin(std::span<const std::byte> packet, bool is_notice) {
        TUTTI_ASSERT(!is_under_way(), "one packet at a time");
        std::copy(packet.begin(), packet.end(), packet_.begin());
        bytes_ = packet.size();
        is_notice_ = is_notice;
        next_ = 0;
    }
    void call_off() { next_ = kNobody; }
    // The next copy, and to whom; 0: nobody needs one any more. must_tell: of notices, who does.
    template <class MustTell>
    size_t next(std::span<std::byte> out, Member& to, MustTell must_tell) {
        const auto needs_none = [&](Member member) {
            return member == own_ || (is_notice_ && !must_tell(member));
        };
        while (next_ < members_ && needs_none(next_)) ++next_;
        if (next_ >= members_) {
            next_ = kNobody;
            return 0;
        }
        to = next_++;
        std::copy_n(packet_.begin(), bytes_, out.begin());
        return bytes_;
    }

  private:
    const Member own_;
    const uint32_t members_;
    std::vector<std::byte> packet_;
    size_t bytes_ = 0;
    bool is_notice_ = false;
    Member next_ = kNobody;  // that is next to get it, if it needs it
};

}  // namespace tutti::mcast
