// SPDX-License-Identifier: BSD-3-Clause
// How a group ends that is given up, as one member sees it: on the detour, flushed, over; what the
// others have said of that, and when this member says it.
//
// Source: ours; docs/protocol/multicast.md. All that this member wrote is at its place: it is
// flushed. All that all members wrote is: over. A member that is not heard on the detour ends it at
// once, and so does another one's word that it is over.
//
// Invariants (check()):
//   I1  the phase never goes back, and goes on only where a dead member is named;
//   I2  a member that is flushed writes no more, and has said so or is about to;
//   I3  a notice is due as long as any is left to send.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/assert.h"
#include "base/prng.h"
#include "run/mcast/packet.h"
#include "run/mcast/params.h"

namespace tutti::mcast {

class Detour {
  public:
    explicit Detour(const Params& params)
        : timing_(params.timing), heard_(params.members), flushes_left_(params.members - 1u) {}

    // The group is given up.
    [[nodiscard]] bool has_begun() const { return dead_ != kNobody; }
    [[nodiscard]] bool is_over() const { return phase_ == Failure::Phase::kOver; }
    [[nodiscard]] bool is_flushed() const { return phase_ == Failure::Phase::kFlushed; }
    // The member that was not heard.
    [[nodiscard]] std::optional<Member> dead() const {
        if (dead_ == kNobody) return {};
        return dead_;
    }
    // What this member says to others.
    [[nodiscard]] Failure notice() const { return {dead_, phase_}; }

    // Only the first one counts.
    void name(Member dead) {
        if (dead_ == kNobody) dead_ = dead;
    }
    // The client writes nothing more.
    void end_writing() { is_writing_ended_ = true; }
    [[nodiscard]] bool is_writing_ended() const { return is_writing_ended_; }

    // That member has said so. True: it is flushed, for the first time.
    bool hear(Member from, Failure::Phase phase) {
        Heard& heard = heard_[from];
        heard.notice = true;
        heard.is_over |= phase == Failure::Phase::kOver;
        if (phase != Failure::Phase::kFlushed || heard.is_flushed) return false;
        heard.is_flushed = true;
        TUTTI_ASSERT(flushes_left_ > 0, "each other member is flushed once");
        --flushes_left_;
        return true;
    }
    [[nodiscard]] bool has_heard_flushed(Member member) const { return heard_[member].is_flushed; }
    // is_placed: all that this member wrote is at its place. True: now all is, and it is over().
    bool advance(uint64_t now_ns, bool is_placed, Prng& prng) {
        if (!is_writing_ended_ || is_over()) return false;
        if (phase_ == Failure::Phase::kDetour && is_placed) {
            phase_ = Failure::Phase::kFlushed;
            tell(now_ns, 1, prng);  // a member that has not heard it asks
        }
        return are_all_flushed();
    }
    // Where all are flushed each finds out by itself, and one notice is enough.
    void end(uint64_t now_ns, Prng& prng) {
        TUTTI_ASSERT(has_begun(), "a group fails for a member's sake");
        const uint32_t notices = are_all_flushed() ? 1 : timing_.notices;
        phase_ = Failure::Phase::kOver;
        tell(now_ns, notices, prng);
    }
    // All hear of it, so many times.
    void begin_telling(uint64_t now_ns, Prng& prng) { tell(now_ns, timing_.notices, prng); }

    // When the next notice to everybody is due.
    [[nodiscard]] uint64_t next_ns() const { return notice_ns_; }
    // True: notice() goes to everybody now.
    bool take_notice(uint64_t now_ns) {
        if (notice_ns_ > now_ns) return false;
        --notices_left_;
        notice_ns_ = notices_left_ > 0 ? now_ns + interval_ns_ : kNever;
        interval_ns_ *= 2;
        check();
        return true;
    }
    // That member may not know what a notice says. What each member needs to hear of each other one
    // is that it is flushed; of the rest one voice is enough.
    [[nodiscard]] bool must_tell(Member member) const {
        if (is_flushed()) return true;
        return is_over() ? !heard_[member].is_over : !heard_[member].notice;
    }

  private:
    struct Heard {
        bool notice = false;  // it knows
        bool is_flushed = false;
        bool is_over = false;
    };

    [[nodiscard]] bool are_all_flushed() const { return is_flushed() && flushes_left_ == 0; }
    void tell(uint64_t now_ns, uint32_t count, Prng& prng) {
        notices_left_ = count;
        interval_ns_ = timing_.notice_ns;
        notice_ns_ = now_ns + prng.below(timing_.notice_ns);
        check();
    }
    void check() const {
        TUTTI_ASSERT(has_begun(), "nothing is told of a group that works");
        TUTTI_ASSERT(!is_flushed() || is_writing_ended_, "a member is flushed and may still write");
        TUTTI_ASSERT((notice_ns_ != kNever) == (notices_left_ > 0), "a notice is forgotten");
    }

    const Timing timing_;
    Member dead_ = kNobody;
    Failure::Phase phase_ = Failure::Phase::kDetour;
    bool is_writing_ended_ = false;
    std::vector<Heard> heard_;   // by member
    uint32_t flushes_left_ = 0;  // of the others
    uint64_t notice_ns_ = kNever;
    uint64_t interval_ns_ = 0;
    uint32_t notices_left_ = 0;
};

}  // namespace tutti::mcast
