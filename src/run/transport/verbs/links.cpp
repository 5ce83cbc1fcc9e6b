// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/verbs/links.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

#include "base/assert.h"
#include "run/transport/verbs/rc.h"

namespace tutti::transport::verbs {
namespace {

// The clock costs as much as a look into the queue.
constexpr uint32_t kPollsPerClock = 256;

}  // namespace

Need need_of(uint32_t links, uint32_t mtu_bytes) {
    return {links, kSends, kRecvs, size_t{2} * kSlots * kSlotBytes, kWords, mtu_bytes};
}

Links::Links(std::unique_ptr<Endpoint> endpoint, Clock& clock, uint32_t mtu_bytes, uint32_t links,
             bool polls_tails)
    : endpoint_(std::move(endpoint)),
      clock_(clock),
      packet_bytes_(mtu_bytes),
      count_(links),
      polls_tails_(polls_tails),
      links_(std::make_unique<Link[]>(links)),
      looked_ns_(clock.now_ns()) {
    TUTTI_ASSERT(mtu_bytes >= kPacketBytesMin && mtu_bytes <= kSlotBytes,
                 "a sign is a packet, and a packet fits a slot");
    free_.set();
    if (polls_tails_) prepare_tails();
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
    TUTTI_ASSERT(free_[number] && !is_closing_, "nobody has the number");
    if (number >= teams_.size()) teams_.resize(number + 1);
    for (uint32_t link = 0; link < count_; ++link) links_[link].slots.reserve_teams(number + 1);
    teams_[number] = &team;
    free_.reset(number);
    ++open_;
}

void Links::leave(Rc& team) {
    TUTTI_ASSERT(open_ > 0 && teams_[team.number()] == &team, "it has joined");
    if (!team.has_given_up() && --open_ == 0) is_closing_ = true;
    advance_all();
}

void Links::advance_all() {
    for (uint32_t link = 0; link < count_; ++link) advance(link);
}

void Links::fail(Rc& team) {
    TUTTI_ASSERT(!team.has_closed(), "it has not left");
    if (--open_ > 0) advance_all();
}

// What it had there may be what others wait for.
void Links::forget(Rc& team) {
    teams_[team.number()] = nullptr;
    if (team.number() != 0 && team.has_parted()) free_.set(team.number());
    if (!team.has_closed() && !team.has_given_up()) --open_;
    if (open_ > 0) advance_all();
}

bool Links::has_others(const Rc& team) const {
    if (is_closing_) return !has_left();
    return std::ranges::any_of(teams_, [&](const Rc* one) {
        return one && one != &team && !one->has_given_up() &&
               !(one->has_closed() && one->has_gone());
    });
}

// A link's memory: the slots that the peer writes, then those from which this end sends.
std::byte* Links::header_memory(uint32_t link, uint32_t slot, bool is_own) const {
    const size_t number = (size_t{2} * link + (is_own ? 1 : 0)) * kSlots + slot;
    return endpoint_->memory().data() + (number + 1) * kSlotBytes - sizeof(SlotHeader);
}

const std::byte* Links::first_header(uint32_t link, uint32_t stream) const {
    const uint32_t slot = links_[link].slots.first(stream);
    if (slot != kUnexpectedSlot) return header_memory(link, slot, false);
    return teams_[team_of(stream)]->unexpected_memory(link, slot_of(stream)) + kSlotBytes -
           sizeof(SlotHeader);
}

// What lies there may look like later pieces' ends.
void Links::release(uint32_t link, uint32_t stream) {
    Slots& slots = links_[link].slots;
    const uint32_t slot = slots.first(stream);
    if (polls_tails_ && slot != kUnexpectedSlot && slots.first_count(stream) > 1) {
        uint64_t number = 0;
        std::memcpy(&number, header_memory(link, slot, false) + offsetof(SlotHeader, number),
                    sizeof number);
        hide_data(link, {slot, slots.first_count(stream)}, number);
    }
    slots.release(stream);
}

void Links::mark(uint32_t link, uint32_t team) {
    links_[link].marked[team / 64] |= uint64_t{1} << team % 64;
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
    std::byte* end = header_memory(link, range.slot, true);
    std::byte* memory = end - header.piece_bytes;
    std::memcpy(end, &header, sizeof header);
    if (header.piece_bytes > 0) std::memcpy(memory, data, header.piece_bytes);
    Write write;
    write.offset = static_cast<size_t>(memory - endpoint_->memory().data());
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
            Rc* team = number < teams_.size() ? teams_[number] : nullptr;
            if (team && team->advance_on(link)) continue;
            at.marked[word] &= ~(uint64_t{1} << number % 64);
        }
    }
}

// All have left, or the other end has, and no team here has anything to do there any more: none
// will (is_good()).
bool Links::is_done_with(uint32_t link) const {
    if (is_closing_) return true;
    const Link& at = links_[link];
    if (!at.is_left_by_peer || std::ranges::any_of(at.marked, std::identity{})) return false;
    return std::ranges::none_of(teams_, [link](const Rc* team) {
        return team && !team->has_closed() && !team->has_given_up() && team->has_pair(link);
    });
}

void Links::advance(uint32_t link) {
    Link& at = links_[link];
    if (at.has_failed || !at.is_connected) return;
    // Behind the last word nobody needs to know what lies here.
    if (!is_closing_) buffer_unexpected(link);
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
    const std::byte* end = slot < kSlots ? header_memory(link, slot, false) : nullptr;
    if (end) std::memcpy(&header, end, sizeof header);
    if (!end || !at.slots.arrive(slot, header)) {
        fail(link, "a piece of a message came out of turn");
        return;
    }
    at.slots.hear(header.freed);
    Rc* team = header.team < teams_.size() ? teams_[header.team] : nullptr;
    if (header.piece == Piece::kBye) {
        if (team && team->has_pair(link)) team->hear_bye(link);
        release(link, kSigns);
    } else if (header.piece == Piece::kUnexpected) {
        if (!take_notes(link, header, end))
            fail(link, "a note of buffered pieces came out of turn");
    } else if (team && team->has_pair(link)) {
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

void Links::poll() {
    take_completions();
    if (++polls_ % kPollsPerClock == 0) look_if_due();
}

// Nothing is under way to that end any more, or never was, or it is given up.
bool Links::is_over(const Link& at) {
    const bool is_sent = at.last_number != 0 && at.slots.writes().is_complete(at.last_number);
    return at.has_failed || !at.is_connected || is_sent;
}

// An end that has left wants nothing more, and may be gone, so that nothing sent to it completes.
bool Links::has_left() const {
    return std::all_of(links_.get(), links_.get() + count_,
                       [](const Link& at) { return is_over(at) || at.is_left_by_peer; });
}

// One that has left and is there still waits for this end's last word.
bool Links::is_closed() const {
    return std::all_of(links_.get(), links_.get() + count_, [](const Link& at) {
        return is_over(at) && (at.has_failed || !at.is_connected || at.is_left_by_peer);
    });
}

}  // namespace tutti::transport::verbs
