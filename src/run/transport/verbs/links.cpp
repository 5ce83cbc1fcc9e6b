// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/verbs/links.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "base/assert.h"
#include "run/transport/verbs/rc.h"

namespace tutti::transport::verbs {
namespace {

// The clock costs as much as a look into the queue.
constexpr uint32_t kPollsPerClock = 256;
constexpr int kFlushed = 5;  // IBV_WC_WR_FLUSH_ERR

}  // namespace

Need need_of(uint32_t links, uint32_t mtu_bytes) {
    return {links, kSends, kRecvs, size_t{2} * kSlots * kSlotBytes, kWords, mtu_bytes};
}

Links::Links(std::unique_ptr<Endpoint> endpoint, Clock& clock, uint32_t mtu_bytes, uint32_t links,
             bool polls_tails)
    : endpoint_(std::move(endpoint)),
      memory_(endpoint_->memory()),
      clock_(clock),
      packet_bytes_(mtu_bytes),
      count_(links),
      polls_tails_(polls_tails),
      links_(std::make_unique<Link[]>(links)),
      looked_ns_(clock.now_ns()) {
    TUTTI_ASSERT(mtu_bytes >= kPacketBytesMin && mtu_bytes <= kSlotBytes,
                 "a sign is a packet, and a packet fits a slot");
    for (uint32_t link = 0; link < count_ && polls_tails_; ++link) {
        links_[link].slots.await_ahead();
        memory_.prepare(link);
    }
}

Links::~Links() = default;

Result<Done> Links::connect(uint32_t link, const PortCard& port, const PairCard& other) {
    auto connected = endpoint_->connect(link, port, other);
    links_[link].is_connected = static_cast<bool>(connected);
    if (other.polls_tails != 0) links_[link].slots.choose_ahead();
    links_[link].is_counted = other.words != 0 && !endpoint_->words().empty();
    return connected;
}

PairCard Links::card(uint32_t link) const {
    PairCard card = endpoint_->card(link);
    card.polls_tails = polls_tails_ ? 1 : 0;
    return card;
}

void Links::join(Rc& team, uint32_t number) {
    for (uint32_t link = 0; link < count_; ++link) links_[link].slots.reserve_teams(number + 1);
    teams_.join(team, number);
}

void Links::leave(Rc& team) {
    teams_.leave(team);
    advance_all();
}

void Links::advance_all() {
    for (uint32_t link = 0; link < count_; ++link) advance(link);
}

void Links::fail(Rc& team) {
    if (teams_.fail(team)) advance_all();
}

// What it had there may be what others wait for.
void Links::forget(Rc& team) {
    if (teams_.forget(team)) advance_all();
}

const std::byte* Links::first_header(uint32_t link, uint32_t stream) const {
    const uint32_t slot = links_[link].slots.first(stream);
    if (slot != kUnexpectedSlot) return memory_.header(link, slot, false);
    return teams_.at(team_of(stream))->unexpected_memory(link, slot_of(stream)) + kSlotBytes -
           sizeof(SlotHeader);
}

// What lies there may look like later pieces' ends.
void Links::release(uint32_t link, uint32_t stream) {
    Slots& slots = links_[link].slots;
    const uint32_t slot = slots.first(stream);
    if (polls_tails_ && slot != kUnexpectedSlot && slots.first_count(stream) > 1) {
        memory_.hide_data(link, {slot, slots.first_count(stream)});
    }
    slots.release(stream);
}

bool Links::post(uint32_t link, const Write& write) {
    return is_posted(link, endpoint_->write(link, write));
}

bool Links::is_posted(uint32_t link, int outcome) {
    if (outcome == 0) return true;
    fail(link, "a write could not be posted: ", std::strerror(outcome));
    return false;
}

SlotRange Links::take_slots(uint32_t link, uint32_t stream, uint32_t wanted, bool tells) {
    Slots& slots = links_[link].slots;
    if (!slots.writes().may_begin()) return {};
    return slots.take(stream, wanted, tells);
}

// False where the link has failed. Who sleeps there is woken by the last piece of a message, and by
// one behind which the next has to wait, for slots that it may have to give back: so what is posted
// at once ends with one that wakes.
bool Links::write_piece(uint32_t link, const SlotRange& range, SlotHeader header, const void* data,
                        bool is_last) {
    Slots& slots = links_[link].slots;
    header.slots = static_cast<uint8_t>(range.count);
    slots.sign(header, range.tells);
    std::byte* end = memory_.header(link, range.slot, true);
    std::byte* memory = end - header.piece_bytes;
    std::memcpy(end, &header, sizeof header);
    if (header.piece_bytes > 0) std::memcpy(memory, data, header.piece_bytes);
    Write write;
    write.offset = memory_.offset_of(memory);
    write.bytes = sizeof header + header.piece_bytes;
    write.remote_offset = (range.slot + 1) * kSlotBytes - write.bytes;
    write.tells = range.tells;
    write.immediate = range.slot;
    write.number = slots.write(range);
    write.is_signaled = slots.must_signal(write.number, true) || header.piece == Piece::kBye;
    write.wakes = is_last || !slots.may_go_on(stream_of(header));
    return post(link, write);
}

// also: kIsLast, whose completion is waited for, or nothing.
void Links::tell(uint32_t link, uint32_t also) {
    Slots& slots = links_[link].slots;
    Write write;
    write.immediate = kIsWord | also | slots.freed();
    write.number = slots.write();
    write.is_signaled = also != 0 || slots.must_signal(write.number);
    if (also != 0) links_[link].last_number = write.number;
    slots.count_immediate();
    slots.told();
    post(link, write);
}

// Teams that have nothing left to do are taken off.
void Links::advance_teams(uint32_t link) {
    Link& at = links_[link];
    for (size_t word = 0; word < at.marked.size(); ++word) {
        for (uint64_t left = at.marked[word]; left != 0 && !at.has_failed; left &= left - 1) {
            const auto number =
                static_cast<uint32_t>(word * 64) + static_cast<uint32_t>(std::countr_zero(left));
            Rc* team = teams_.at(number);
            if (team && team->advance_on(link)) continue;
            at.unmark(number);
        }
    }
}

// All have left, or the other end has, and no team here has anything to do there any more: none
// will (is_good()).
bool Links::is_done_with(uint32_t link) const {
    if (teams_.is_closing()) return true;
    const Link& at = links_[link];
    if (!at.is_left_by_peer || at.is_marked()) return false;
    return !teams_.any_by(
        link, [](const Rc& team) { return !team.has_closed() && !team.has_given_up(); });
}

void Links::advance(uint32_t link) {
    Link& at = links_[link];
    if (!at.can_go()) return;
    // Behind the last word nobody needs to know what lies here.
    if (!teams_.is_closing()) buffer_unexpected(link);
    if (!at.has_failed) advance_teams(link);
    if (at.has_failed || at.last_number != 0 || !at.slots.writes().may_begin()) return;
    if (is_done_with(link)) {
        tell(link, kIsLast);
    } else if (at.slots.must_tell()) {
        tell(link, 0);
    }
}

// What was written before it is there, whatever a device does.
void Links::arrive(uint32_t link, uint32_t immediate) {
    Link& at = links_[link];
    if (const int outcome = endpoint_->recv(link); outcome != 0) {
        fail(link, "a receive could not be posted: ", std::strerror(outcome));
        return;
    }
    take_tails(link);
    if (at.has_failed) return;
    at.slots.hear_immediate();
    if ((immediate & kIsWord) != 0) {
        at.slots.hear(immediate);
        at.is_left_by_peer |= (immediate & kIsLast) != 0;
    } else {
        take_piece(link, immediate);
    }
}

void Links::take_piece(uint32_t link, uint32_t slot) {
    Link& at = links_[link];
    SlotHeader header;
    const std::byte* end = slot < kSlots ? memory_.header(link, slot, false) : nullptr;
    if (end) std::memcpy(&header, end, sizeof header);
    if (!end || !at.slots.arrive(slot, header)) {
        fail(link, "a piece of a message came out of turn");
        return;
    }
    at.slots.hear(header.freed);
    Rc* team = teams_.at(header.team);
    if (team && !team->has_pair(link)) team = nullptr;
    if (header.piece == Piece::kBye) {
        if (team) team->hear_bye(link);
        release(link, kSigns);
    } else if (header.piece == Piece::kUnexpected) {
        if (!take_notes(link, header, end))
            fail(link, "a note of buffered pieces came out of turn");
    } else if (team) {
        team->take_piece(link, header, end);
    } else {
        release(link, stream_of(header));
    }
}

void Links::complete(const Completion& completion) {
    const uint32_t link = completion.pair;
    if (completion.status != 0) {
        fail_by(completion);
        return;
    }
    if (links_[link].has_failed) return;
    if (completion.is_recv) {
        arrive(link, completion.immediate);
    } else {
        links_[link].slots.complete(completion.number);
    }
    advance(link);
}

// Once: a peer that sends on and on keeps nobody here. False where there was none.
bool Links::take_completions() {
    const int found = endpoint_->poll(completions_);
    if (found < 0) {
        for (uint32_t link = 0; link < count_; ++link)
            fail(link, "the completion queue was overrun");
        return true;
    }
    for (int i = 0; i < found; ++i) complete(completions_[i]);
    look_for_cause();
    return found > 0;
}

// ---------------------------------------------------------------- pieces without immediates

// Pieces that come without immediates: this end looks for them in memory, as in Kini 2003, Section
// 5.3. It rests on the promise that the last eight bytes of a write of a packet at most, the number
// of its piece, are placed last. What is read behind them, Endpoint::look() has read first.
//
// A link is looked at where the team that polls awaits something of it, if only a bye, at one word:
// the piece before has said in which slot the next one comes. What nobody waits for stays where it
// is, and the sender, short of slots that were chosen ahead, goes on by immediates.
//
// Pieces are taken in the order in which they were written, so that `freed` is heard in the order
// in which it was said. Before an immediate, all pieces that were written before it: they are there
// once its receive is complete, whatever is promised of ends. A piece behind an immediate that has
// not been polled yet, or with one, which its header says, waits for that.
//
// True where there was one. No more than there are slots: before an immediate that is all, and a
// peer that sends on and on keeps nobody here.
bool Links::take_tails(uint32_t link) {
    const Link& at = links_[link];
    const Slots& slots = at.slots;
    bool has_taken = false;
    for (uint32_t i = 0; i < kSlots && !at.has_failed; ++i) {
        const uint32_t slot = slots.awaited();
        if (slot == kNoSlot) break;
        const std::byte* end = memory_.header(link, slot, false);
        const uint64_t number = endpoint_->look(end + offsetof(SlotHeader, number));
        if (!has_come(number, slots.awaited_number())) break;
        const auto told = std::to_integer<uint8_t>(end[offsetof(SlotHeader, told)]);
        if (told != slots.immediates()) break;
        take_piece(link, slot);
        has_taken = true;
    }
    return has_taken;
}

// ---------------------------------------------------------------- unexpected pieces

// Unexpected pieces, for which no receive was posted, where own slots run short (slots.h): copied
// into the memory that their team has for them, and told to the other end, by which their stream
// waits until they are read there. What the other end needs to know goes in one piece: a slot is
// not told to be free without the note that its piece was buffered.
void Links::buffer_unexpected(uint32_t link) {
    Slots& slots = links_[link].slots;
    while (!links_[link].has_failed && slots.has_to_tell_unexpected()) {
        const SlotRange range = take_slots(link, kSigns);
        if (range.slot == kNoSlot) return;
        std::array<UnexpectedNote, kUnexpectedNotes> notes;
        size_t count = std::min(slots.read_unexpected().size(), notes.size());
        const auto first = slots.read_unexpected().end() - static_cast<std::ptrdiff_t>(count);
        std::transform(first, slots.read_unexpected().end(), notes.begin(), [](uint32_t stream) {
            return UnexpectedNote{stream, 1};
        });
        slots.told_unexpected(count);
        for (; count < notes.size(); ++count) {
            const uint32_t slot = slots.crowded();
            if (slot == kNoSlot) break;
            const uint32_t stream = slots.stream_in(slot);
            const std::byte* end = memory_.header(link, slot, false) + sizeof(SlotHeader);
            std::byte* unexpected =
                teams_.at(team_of(stream))->unexpected_memory(link, slot_of(stream));
            std::memcpy(unexpected, end - kSlotBytes, kSlotBytes);
            slots.buffer_unexpected(slot);
            notes[count] = {stream, 0};
        }
        const SlotHeader header{
            .piece_bytes = static_cast<uint16_t>(count * sizeof(UnexpectedNote)),
            .piece = Piece::kUnexpected};
        if (!write_piece(link, range, header, notes.data(), true)) return;
    }
}

// False where the other end is wrong.
bool Links::take_notes(uint32_t link, const SlotHeader& header, const std::byte* end) {
    Slots& slots = links_[link].slots;
    const size_t count = header.piece_bytes / sizeof(UnexpectedNote);
    if (count > kUnexpectedNotes || header.piece_bytes % sizeof(UnexpectedNote) != 0) return false;
    for (const std::byte* at = end - header.piece_bytes; at != end; at += sizeof(UnexpectedNote)) {
        UnexpectedNote note;
        std::memcpy(&note, at, sizeof note);
        if (!slots.hear(note)) return false;
    }
    release(link, kSigns);
    return true;
}

// ---------------------------------------------------------------- failure
//
// A link fails with all that is under way by it, in all teams; each of them says so by itself
// (first_failure.h).

// True where some team has not failed before.
bool Links::fail_teams(uint32_t link, const char* why, const char* more) {
    Link& at = links_[link];
    if (at.has_failed) return false;
    at.has_failed = true;
    bool is_told = false;
    for (uint32_t number = 0; number < teams_.count(); ++number) {
        if (Rc* team = teams_.at(number, link)) is_told |= team->fail(link, why, more);
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
        for (uint32_t number = 0; number < teams_.count(); ++number) {
            if (Rc* team = teams_.at(number, link)) team->tell_cause(link, why, status.data());
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

// ---------------------------------------------------------------- the end

void Links::poll() {
    take_completions();
    if (++polls_ % kPollsPerClock == 0) look_if_due();
}

// An end that has left wants nothing more, and may be gone, so that nothing sent to it completes.
bool Links::has_left() const {
    return std::all_of(links_.get(), links_.get() + count_,
                       [](const Link& at) { return at.is_over() || at.is_left_by_peer; });
}

// One that has left and is there still waits for this end's last word.
bool Links::is_closed() const {
    return std::all_of(links_.get(), links_.get() + count_,
                       [](const Link& at) { return at.is_over() && !at.is_good(); });
}

}  // namespace tutti::transport::verbs
