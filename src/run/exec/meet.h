// SPDX-License-Identifier: BSD-3-Clause
// Rounds that meet: this class posts a receive for each neighbour, and sends what
// run/adapt/meeting.h says. Messages go by the network, and between ranks of one node as letters
// (meet_letters.h). Or a word of the team says which ranks have come (meet_roll_call.h).
//
// A release by multicast has a number, which each rank takes in its turn: the rank that has
// everything offers it, all others seek it (run/transport/multicast.h). Then the one neighbour
// that a rank has not heard sends nothing more, and its receive is withdrawn. If their parts
// crossed, as the multicast says, its part still comes and is awaited.
//
// If the group has failed before, nobody has the number, as all ranks find, and the release comes
// along the tree. It may reach a rank that has not found that yet, which knows it by the release.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "run/adapt/meeting.h"
#include "run/exec/meet_letters.h"
#include "run/exec/meet_memory.h"
#include "run/exec/meet_roll_call.h"
#include "run/exec/multicasts.h"
#include "run/exec/posted_messages.h"

namespace tutti::exec {

class Meetings {
  public:
    Meetings(CallContext& call, NodeOperations& node, Multicasts& multicasts)
        : call_(call), multicasts_(multicasts), letters_(call, node), roll_(call) {}
    // Memory for meetings in so many slots.
    void reserve(uint64_t lanes);
    // Of a kMeetWith.
    void begin_neighbour(Ref with);
    // Of the kMeet, behind its neighbours. It may be done at once.
    void begin(Ref ref);
    // A round of that slot is over, perhaps the one that met.
    void end_round(uint8_t slot, const sched::Round& round) { letters_.end_round(slot, round); }
    // The call is over: from here on this rank is away.
    void end_call();

    // Of a kMeetWith: whether nothing more is awaited from there. A step of it may write a letter,
    // and the kMeet may be done by it.
    transport::State hear(Ref with);
    // Behind that: whether nothing more is to be sent there.
    transport::State test_told(Ref with);
    // Of a kMeet whose number's turn it is. True if that is over; then is_over() says whether the
    // kMeet is, too. Else the release comes along the tree.
    [[nodiscard]] bool step_release(Ref ref);
    [[nodiscard]] bool is_over(Ref ref) const { return meet_of(ref).release == Release::kOver; }

    // Nothing that this rank is to do depends on what may come before the release.
    [[nodiscard]] bool seeks_only() const { return multicasts_.ready() > 0 && only_seeks(); }
    // All that this rank waits for, others of its node will do. messages: those under way.
    [[nodiscard]] bool waits_for_node(const PostedMessages& messages) const;
    // Ranks for which a kMeetWith waits; and the one that is to release this rank, if it is known.
    void add_waits(Ref with, std::vector<sched::Rank>& ranks) const;
    void add_releaser(std::vector<sched::Rank>& ranks) const;
    // Of a kMeetWith; and then of all.
    void cancel(Ref with);
    void call_off() { roll_.call_off(); }

  private:
    // Where this rank's release stands.
    enum class Release : uint8_t {
        kAwaited,  // of another rank
        kOwn,      // by multicast: to be sent by this rank
        kSettled,  // likewise: the result is here, by whatever way, and the number is not over
        kNobodys,  // likewise: it comes along the tree then
        kOver
    };
    // The meeting of a slot.
    struct Meet {
        adapt::Meeting machine{sched::kRoundOpsMax, false, adapt::Releases::kAlongTree};
        bool is_by_multicast = false;
        bool calls_roll = false;  // then neighbours tell each other nothing
        Release release = Release::kAwaited;
        uint32_t slot = 0;                // of the transport, with a release by multicast
        std::optional<uint32_t> crossed;  // it and this rank have each other's part
        uint64_t idle = 0;                // bits: nothing comes from there any more
    };

    [[nodiscard]] Meet& meet_of(Ref ref) { return meets_[ref.slot]; }
    [[nodiscard]] const Meet& meet_of(Ref ref) const { return meets_[ref.slot]; }
    [[nodiscard]] bool is_near(Ref with) const {
        return sched::is_near(call_.slots.operation_of(with));
    }
    [[nodiscard]] bool is_unanswered(Ref with) const {
        const Neighbours& neighbours = call_.slots.neighbours_of(with);
        return (neighbours.heard & ~neighbours.told & with.bit()) != 0;
    }
    [[nodiscard]] transport::MessageId id_of(Ref with) const {
        const Meet& meet = meet_of(with);
        return call_.id_of(with, meet.is_by_multicast ? meet.slot : with.slot);
    }
    void begin_meeting(Ref ref);
    void post_receive(Ref with);
    bool hears_all(Ref ref, uint32_t vain_tests);
    void look_for_parts(Ref ref);
    transport::State test_heard(Ref with);
    transport::State test_sent(Ref with);
    transport::State set_idle(Ref with);
    void take_message(Ref with);
    void follow(Ref ref, const adapt::Orders& orders, bool is_told);
    void tell(Ref with, adapt::Kind kind);
    void take_release(Ref ref);
    void release_along_tree(Ref ref);
    void meet_without_roll(Ref ref);
    [[nodiscard]] bool only_seeks() const;
    [[nodiscard]] bool holds_back() const;

    CallContext& call_;
    Multicasts& multicasts_;
    MeetLetters letters_;
    MeetRollCall roll_;
    std::vector<Meet> meets_;    // by slot
    uint64_t by_multicast_ = 0;  // meetings of the team since the beginning, on all ranks alike
    uint64_t left_ns_ = 0;       // by the clock, the last call
};

}  // namespace tutti::exec
