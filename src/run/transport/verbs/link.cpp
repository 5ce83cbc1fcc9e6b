// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/verbs/link.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "run/transport/verbs/team_peer.h"

namespace tutti::transport::verbs {

Link::Link(const LinkShare& share, uint32_t number) : share_(share), number_(number) {
    if (!share_.polls_tails) return;
    slots_.await_ahead();
    share_.memory.prepare(number_);
}

Result<Done> Link::connect(const PortCard& port, const PairCard& other) {
    auto connected = share_.endpoint.connect(number_, port, other);
    is_connected_ = static_cast<bool>(connected);
    if (other.polls_tails != 0) slots_.choose_ahead();
    is_counted_ = other.words != 0 && !share_.endpoint.words().empty();
    return connected;
}

PairCard Link::card() const {
    PairCard card = share_.endpoint.card(number_);
    card.polls_tails = share_.polls_tails ? 1 : 0;
    return card;
}

const std::byte* Link::first_header(uint32_t stream) const {
    const uint32_t slot = slots_.first(stream);
    if (slot != kUnexpectedSlot) return share_.memory.header(number_, slot, false);
    return peers_.at(team_of(stream))->unexpected_memory(slot_of(stream)) + kSlotBytes -
           sizeof(SlotHeader);
}

// What lies there may look like later pieces' ends.
void Link::release(uint32_t stream) {
    const uint32_t slot = slots_.first(stream);
    if (share_.polls_tails && slot != kUnexpectedSlot && slots_.first_count(stream) > 1) {
        share_.memory.hide_data(number_, {slot, slots_.first_count(stream)});
    }
    slots_.release(stream);
}

// ---------------------------------------------------------------- writes

bool Link::post(const Write& write) { return is_posted(share_.endpoint.write(number_, write)); }

bool Link::is_posted(int outcome) {
    if (outcome == 0) return true;
    fail("a write could not be posted: ", std::strerror(outcome));
    return false;
}

SlotRange Link::take_slots(uint32_t stream, uint32_t wanted, bool tells) {
    if (!slots_.writes().may_begin()) return {};
    return slots_.take(stream, wanted, tells);
}

// False where the link has failed. Who sleeps there is woken by the last piece of a message, and by
// one behind which the next has to wait, for slots that it may have to give back: so what is posted
// at once ends with one that wakes.
bool Link::write_piece(const SlotRange& range, SlotHeader header, const void* data, bool is_last) {
    header.slots = static_cast<uint8_t>(range.count);
    slots_.sign(header, range.tells);
    std::byte* end = share_.memory.header(number_, range.slot, true);
    std::byte* memory = end - header.piece_bytes;
    std::memcpy(end, &header, sizeof header);
    if (header.piece_bytes > 0) std::memcpy(memory, data, header.piece_bytes);
    Write write;
    write.offset = share_.memory.offset_of(memory);
    write.bytes = sizeof header + header.piece_bytes;
    write.remote_offset = (range.slot + 1) * kSlotBytes - write.bytes;
    write.tells = range.tells;
    write.immediate = range.slot;
    write.number = slots_.write(range);
    write.is_signaled = slots_.must_signal(write.number, true) || header.piece == Piece::kBye;
    write.wakes = is_last || !slots_.may_go_on(stream_of(header));
    return post(write);
}

// also: kIsLast, whose completion is waited for, or nothing.
void Link::tell(uint32_t also) {
    Write write;
    write.immediate = kIsWord | also | slots_.freed();
    write.number = slots_.write();
    write.is_signaled = also != 0 || slots_.must_signal(write.number);
    if (also != 0) last_number_ = write.number;
    slots_.count_immediate();
    slots_.told();
    post(write);
}

// ---------------------------------------------------------------- what goes on

// All have left, or the other end has, and no team here has anything to do there any more: none
// will (is_good()).
bool Link::is_done_with() const {
    if (share_.teams.is_closing()) return true;
    if (!is_left_by_peer_ || peers_.is_marked()) return false;
    return !peers_.any([](const TeamPeer& peer) { return peer.is_open(); });
}

void Link::advance() {
    if (!can_go()) return;
    // Behind the last word nobody needs to know what lies here.
    if (!share_.teams.is_closing()) buffer_unexpected();
    peers_.advance([this](TeamPeer& peer) { return has_failed_ || peer.advance(); });
    if (has_failed_ || last_number_ != 0 || !slots_.writes().may_begin()) return;
    if (is_done_with()) {
        tell(kIsLast);
    } else if (slots_.must_tell()) {
        tell(0);
    }
}

void Link::complete(const Completion& completion) {
    if (has_failed_) return;
    if (completion.is_recv) {
        arrive(completion.immediate);
    } else {
        slots_.complete(completion.number);
    }
    advance();
}

// ---------------------------------------------------------------- pieces that come

// What was written before it is there, whatever a device does.
void Link::arrive(uint32_t immediate) {
    if (const int outcome = share_.endpoint.recv(number_); outcome != 0) {
        fail("a receive could not be posted: ", std::strerror(outcome));
        return;
    }
    take_tails();
    if (has_failed_) return;
    slots_.hear_immediate();
    if ((immediate & kIsWord) != 0) {
        slots_.hear(immediate);
        is_left_by_peer_ |= (immediate & kIsLast) != 0;
    } else {
        take_piece(immediate);
    }
}

void Link::take_piece(uint32_t slot) {
    SlotHeader header;
    const std::byte* end = slot < kSlots ? share_.memory.header(number_, slot, false) : nullptr;
    if (end) std::memcpy(&header, end, sizeof header);
    if (!end || !slots_.arrive(slot, header)) {
        fail("a piece of a message came out of turn");
        return;
    }
    slots_.hear(header.freed);
    TeamPeer* peer = peers_.at(header.team);
    if (header.piece == Piece::kBye) {
        if (peer) peer->hear_bye();
        release(kSigns);
    } else if (header.piece == Piece::kUnexpected) {
        if (!take_notes(header, end)) fail("a note of buffered pieces came out of turn");
    } else if (peer) {
        peer->take_piece(header, end);
    } else {
        release(stream_of(header));
    }
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
bool Link::take_tails() {
    bool has_taken = false;
    for (uint32_t i = 0; i < kSlots && !has_failed_; ++i) {
        const uint32_t slot = slots_.awaited();
        if (slot == kNoSlot) break;
        const std::byte* end = share_.memory.header(number_, slot, false);
        const uint64_t number = share_.endpoint.look(end + offsetof(SlotHeader, number));
        if (!has_come(number, slots_.awaited_number())) break;
        const auto told = std::to_integer<uint8_t>(end[offsetof(SlotHeader, told)]);
        if (told != slots_.immediates()) break;
        take_piece(slot);
        has_taken = true;
    }
    return has_taken;
}

// ---------------------------------------------------------------- unexpected pieces

// Unexpected pieces, for which no receive was posted, where own slots run short (slots.h): copied
// into the memory that their team has for them, and told to the other end, by which their stream
// waits until they are read there. What the other end needs to know goes in one piece: a slot is
// not told to be free without the note that its piece was buffered.
void Link::buffer_unexpected() {
    while (!has_failed_ && slots_.has_to_tell_unexpected()) {
        const SlotRange range = take_slots(kSigns);
        if (range.slot == kNoSlot) return;
        std::array<UnexpectedNote, kUnexpectedNotes> notes;
        size_t count = std::min(slots_.read_unexpected().size(), notes.size());
        const auto first = slots_.read_unexpected().end() - static_cast<std::ptrdiff_t>(count);
        std::transform(first, slots_.read_unexpected().end(), notes.begin(), [](uint32_t stream) {
            return UnexpectedNote{stream, 1};
        });
        slots_.told_unexpected(count);
        for (; count < notes.size(); ++count) {
            const uint32_t slot = slots_.crowded();
            if (slot == kNoSlot) break;
            const uint32_t stream = slots_.stream_in(slot);
            const std::byte* end = share_.memory.header(number_, slot, false) + sizeof(SlotHeader);
            std::byte* unexpected = peers_.at(team_of(stream))->unexpected_memory(slot_of(stream));
            std::memcpy(unexpected, end - kSlotBytes, kSlotBytes);
            slots_.buffer_unexpected(slot);
            notes[count] = {stream, 0};
        }
        const SlotHeader header{
            .piece_bytes = static_cast<uint16_t>(count * sizeof(UnexpectedNote)),
            .piece = Piece::kUnexpected};
        if (!write_piece(range, header, notes.data(), true)) return;
    }
}

// False where the other end is wrong.
bool Link::take_notes(const SlotHeader& header, const std::byte* end) {
    const size_t count = header.piece_bytes / sizeof(UnexpectedNote);
    if (count > kUnexpectedNotes || header.piece_bytes % sizeof(UnexpectedNote) != 0) return false;
    for (const std::byte* at = end - header.piece_bytes; at != end; at += sizeof(UnexpectedNote)) {
        UnexpectedNote note;
        std::memcpy(&note, at, sizeof note);
        if (!slots_.hear(note)) return false;
    }
    release(kSigns);
    return true;
}

// ---------------------------------------------------------------- failure

bool Link::fail(const char* why, const char* more) {
    if (has_failed_) return false;
    has_failed_ = true;
    bool is_told = false;
    peers_.for_all([&](TeamPeer& peer) { is_told |= peer.fail(why, more); });
    return is_told;
}

void Link::tell_cause(const char* why, const char* more) {
    peers_.for_all([&](TeamPeer& peer) { peer.tell_cause(why, more); });
}

// ---------------------------------------------------------------- before a sleep, and now and then

bool Link::awaits_completion() const {
    if (!can_go()) return false;
    if (share_.teams.is_closing() || !slots_.writes().may_begin()) return true;
    if (slots_.has_to_tell_unexpected() && slots_.awaits_completion(kSigns)) return true;
    return peers_.any([](const TeamPeer& peer) { return peer.awaits_completion(); });
}

// By a write of no bytes, which needs nobody's attention there, and fails where its queue pair or
// host is gone. One at a time: more are not needed to learn that.
void Link::look() {
    if (has_failed_ || !slots_.writes().is_complete(look_number_)) return;
    const bool is_awaited = peers_.any([](const TeamPeer& peer) { return peer.is_awaiting(); });
    if (!is_awaited || !slots_.writes().may_begin()) return;
    Write write;
    write.tells = false;
    write.is_signaled = true;
    write.number = look_number_ = slots_.write();
    post(write);
}

}  // namespace tutti::transport::verbs
