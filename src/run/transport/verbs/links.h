// SPDX-License-Identifier: BSD-3-Clause
// The connections of a process with others, which all of its teams that take turns share (rc.h): a
// queue pair each, its slots at both ends, one completion queue. A team has a number on them, on
// all of its members alike, which every piece bears.
//
// A piece that a team waits for goes there at once. An unexpected one stays in its slot, or is
// buffered before slots run short (slots.h).
//
// Used by one thread at a time, whichever team it comes from.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "base/clock.h"
#include "run/transport/verbs/device.h"
#include "run/transport/verbs/link_teams.h"
#include "run/transport/verbs/slot_memory.h"
#include "run/transport/verbs/slots.h"

namespace tutti::transport::verbs {

class Rc;

// What links to so many others need.
Need need_of(uint32_t links, uint32_t mtu_bytes);

// What is known of one of them.
struct Link {
    Slots slots;
    std::array<uint64_t, kTeamsMax / 64> marked{};  // teams, by bits
    uint64_t look_number = 0;
    uint64_t last_number = 0;  // 0: not sent yet
    bool is_connected = false;
    bool has_failed = false;
    bool is_left_by_peer = false;
    bool is_counted = false;  // the devices of both ends can add

    [[nodiscard]] bool can_go() const { return is_connected && !has_failed; }
    // Another team may go by it.
    [[nodiscard]] bool is_good() const { return can_go() && !is_left_by_peer; }
    // Nothing is under way to that end any more, or never was, or it is given up.
    [[nodiscard]] bool is_over() const {
        return !can_go() || (last_number != 0 && slots.writes().is_complete(last_number));
    }
    // The team has something to do there whenever the link goes on.
    void mark(uint32_t team) { marked[team / 64] |= uint64_t{1} << team % 64; }
    void unmark(uint32_t team) { marked[team / 64] &= ~(uint64_t{1} << team % 64); }
    [[nodiscard]] bool is_marked() const {
        for (const uint64_t teams : marked) {
            if (teams != 0) return true;
        }
        return false;
    }
};

class Links {
  public:
    // polls_tails: pieces come without immediates, as their ends land last here (take_tails());
    // then nobody is woken by them.
    Links(std::unique_ptr<Endpoint> endpoint, Clock& clock, uint32_t mtu_bytes, uint32_t links,
          bool polls_tails = false);
    ~Links();
    Links(const Links&) = delete;
    Links& operator=(const Links&) = delete;

    [[nodiscard]] uint32_t size() const { return count_; }
    [[nodiscard]] PairCard card(uint32_t link) const;
    Result<Done> connect(uint32_t link, const PortCard& port, const PairCard& other);
    [[nodiscard]] bool polls_tails() const { return polls_tails_; }
    [[nodiscard]] const LinkTeams& teams() const { return teams_; }
    [[nodiscard]] bool may_sleep() const { return !polls_tails_ && endpoint_->wait_fd() >= 0; }

    // ---- for teams ----
    // Allocates; from here on pieces of that number may come. leave(): none of its own are sent any
    // more. fail(): nobody waits for it. forget(): nor is there anybody to take any.
    void join(Rc& team, uint32_t number);
    void leave(Rc& team);
    void fail(Rc& team);
    void forget(Rc& team);
    // As LinkTeams has it; of the last teams, until what was sent is at the others'.
    [[nodiscard]] bool has_others(const Rc& team) const {
        return teams_.is_closing() ? !has_left() : teams_.has_others(team);
    }
    // What has been sent is at the others', as far as they are there and still want it.
    [[nodiscard]] bool has_left() const;
    // And they have said that they send nothing more.
    [[nodiscard]] bool is_closed() const;

    [[nodiscard]] Endpoint& endpoint() { return *endpoint_; }
    [[nodiscard]] Clock& clock() { return clock_; }
    [[nodiscard]] Slots& slots(uint32_t link) { return links_[link].slots; }
    [[nodiscard]] uint32_t packet_bytes() const { return packet_bytes_; }
    [[nodiscard]] const Link& at(uint32_t link) const { return links_[link]; }
    // Where the stream's first piece has its header.
    [[nodiscard]] const std::byte* first_header(uint32_t link, uint32_t stream) const;
    // That piece has been read.
    void release(uint32_t link, uint32_t stream);
    void mark(uint32_t link, uint32_t team) { links_[link].mark(team); }
    void advance(uint32_t link);
    // See Slots::take().
    SlotRange take_slots(uint32_t link, uint32_t stream, uint32_t wanted = 1, bool tells = false);
    // So many bytes a piece has at most.
    [[nodiscard]] size_t range_bytes(const SlotRange& range) const {
        const size_t all = range.is_ahead ? packet_bytes_ : range.count * kSlotBytes;
        return all - sizeof(SlotHeader);
    }
    bool write_piece(uint32_t link, const SlotRange& range, SlotHeader header, const void* data,
                     bool is_last);
    // 0, else the link has failed.
    bool is_posted(uint32_t link, int outcome);
    // What is under way by it fails, in all teams.
    void fail(uint32_t link, const char* why, const char* more = "");
    // One that nothing will use, behind which no other has failed.
    void give_up(uint32_t link);
    // Looks once at what has come, and from time to time whether the others are there.
    void poll();
    // True where there was a piece.
    bool take_tails(uint32_t link);
    // See Transport.
    [[nodiscard]] int wait_fd() const { return polls_tails_ ? -1 : endpoint_->wait_fd(); }
    [[nodiscard]] bool arm();

  private:
    static constexpr uint32_t kNoLink = UINT32_MAX;
    bool post(uint32_t link, const Write& write);
    void tell(uint32_t link, uint32_t also);
    void buffer_unexpected(uint32_t link);
    void advance_all();
    [[nodiscard]] bool is_done_with(uint32_t link) const;
    void advance_teams(uint32_t link);
    bool take_completions();
    void complete(const Completion& completion);
    void arrive(uint32_t link, uint32_t immediate);
    void take_piece(uint32_t link, uint32_t slot);
    bool take_notes(uint32_t link, const SlotHeader& header, const std::byte* end);
    void fail_by(const Completion& completion);
    bool fail_teams(uint32_t link, const char* why, const char* more);
    void look_for_cause();
    [[nodiscard]] bool awaits_completion(uint32_t link) const;
    void look_if_due();
    void look(uint32_t link);

    std::unique_ptr<Endpoint> endpoint_;
    SlotMemory memory_;
    Clock& clock_;
    uint32_t packet_bytes_;
    uint32_t count_;
    bool polls_tails_;
    std::unique_ptr<Link[]> links_;
    LinkTeams teams_;
    std::array<Completion, 32> completions_;
    uint32_t polls_ = 0;
    uint64_t looked_ns_;
    uint32_t without_cause_ = kNoLink;  // teams know of it only that it was flushed
};

}  // namespace tutti::transport::verbs
