// SPDX-License-Identifier: BSD-3-Clause
// A team's messages by RDMA writes on the reliable connections of its processes (links.h), which
// other teams may use as well. Each piece of a message, with its header, is one write with
// immediate into slots at the peer; its completion there says that it has come. Longer messages are
// pipelined over slots, several a piece where they lie next to each other: one copy in, one out; no
// tags, no call of the system. Still longer ones go straight from memory to memory (rc_direct.cpp).
//
// Messages of which only their number counts are additions to a word at the peer
// (counted_receives.h), and all of a team can add to one at rank 0, each told what it was
// (adder.h).
//
// Every message has the CallWord of its sender, which is compared with the receive's (but for those
// of kRecoverySlot), so ranks that do not run the same call are found out whatever the size.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "run/transport/transport.h"
#include "run/transport/verbs/adder.h"
#include "run/transport/verbs/counted_receives.h"
#include "run/transport/verbs/exposures.h"
#include "run/transport/verbs/first_failure.h"
#include "run/transport/verbs/links.h"
#include "run/transport/verbs/operations.h"

namespace tutti::transport::verbs {

// A message of so many takes four writes where it goes straight, and five at the least by slots,
// besides words.
inline constexpr size_t kExposedBytes = 16 * kSlotBytes;

class Rc final : public Transport {
  public:
    // peers: ascending; the own rank may be one. link_of: by peer. number: of the team on the
    // links, as all of its members have it. Messages from direct_bytes on go straight, 0: none; the
    // sender's counts.
    Rc(std::shared_ptr<Links> links, uint32_t number, std::vector<Rank> peers,
       std::vector<uint32_t> link_of, size_t direct_bytes);
    ~Rc() override;
    Rc(const Rc&) = delete;
    Rc& operator=(const Rc&) = delete;

    [[nodiscard]] std::span<const Rank> peers() const { return peers_; }
    // Another team of these processes may have them too.
    [[nodiscard]] const std::shared_ptr<Links>& links() const { return links_; }
    // From how many bytes of exposed memory it pays to register it for a call, by trying what that
    // takes here; UINT64_MAX: never. 0: it takes nothing.
    [[nodiscard]] uint64_t exposure_pays_from() const {
        return exposures_.pays_from(links_->clock());
    }
    // Messages from message_bytes on go straight, too, where both ends' memory is exposed and, of a
    // call, has at least memory_bytes. Before anything is exposed; not at all where this is not
    // called.
    void use_exposed(size_t message_bytes, uint64_t memory_bytes) {
        exposures_.use(message_bytes, memory_bytes);
    }

    void send(Rank peer, const MessageId& id, const std::byte* data, size_t bytes,
              Ticket& ticket) override;
    void recv(Rank peer, const MessageId& id, std::byte* data, size_t bytes,
              Ticket& ticket) override;
    State test(Ticket& ticket) override { return ticket.state; }
    void poll() override;
    // What is added here wakes nobody.
    [[nodiscard]] int wait_fd() override { return counted_.is_waiting() ? -1 : links_->wait_fd(); }
    [[nodiscard]] bool arm() override { return links_->arm(); }
    // On all ranks alike: all of them, so many, can add at rank 0, which is a peer of each, its own
    // too (is_counted_at). Not while anything is under way.
    void use_adders(Rank ranks);
    // A pair that nothing will use, behind which no other has failed: what becomes of it is no
    // error, and nobody waits for it at the end.
    void give_up_pair(uint32_t pair);
    // The devices of both ends can add, the pair is there, and the team was the first on its links,
    // whose words the others leave alone.
    [[nodiscard]] bool is_counted_at(Rank peer) const;
    [[nodiscard]] Rank adders() const override { return adder_.ranks(); }
    void fetch_add(uint64_t amount, Ticket& ticket) override;
    void expose(std::span<std::byte> memory, Memory kind) override {
        exposures_.expose(memory, kind);
    }
    void conceal(std::span<std::byte> memory) override { exposures_.conceal(memory); }
    void cancel(Ticket& ticket) override;
    [[nodiscard]] bool can_withdraw_receives() const override { return true; }
    [[nodiscard]] State withdraw_receive(Rank peer, const MessageId& id, const std::byte* data,
                                         size_t bytes, Ticket& ticket) override;
    void clear_disagreement() override { failure_.clear_disagreement(); }
    [[nodiscard]] std::string error() const override;
    [[nodiscard]] Disagreement disagreement() const override { return failure_.disagreement(); }

    [[nodiscard]] bool polls_tails() const { return links_->polls_tails(); }
    // Long messages that went straight from memory to memory, and those for which an end could not
    // register its own.
    [[nodiscard]] uint64_t sent_straight() const { return sent_straight_; }
    [[nodiscard]] uint64_t sent_copied() const { return sent_copied_; }
    // Additions: messages that were counted at others, those that were awaited here, and to the
    // word of all, but those that only look at it.
    [[nodiscard]] uint64_t additions() const {
        return counts_sent_ + counted_.count() + adder_.count();
    }

    // Nothing is sent or received any more. What was sent, to its last piece, is still on its way,
    // and the other ends may still give slots back: this must stay until is_closed(), and at the
    // least until has_left().
    void close();
    // What this end has sent is at the others', as far as they are there and still want it.
    [[nodiscard]] bool has_left();
    // It has, and the others have said the same.
    [[nodiscard]] bool is_closed();
    // Of a team that has failed, and will not close: what comes for it nobody wants. Where it is
    // the only one on its links, memory of what was called off, and is being sent from still, is
    // the program's again; what is on its way from there fails, and its pair. Else it is as soon as
    // that has gone.
    void give_up();
    // Of a team that was given up: the device may still read what was called off.
    [[nodiscard]] bool is_read_from() const;

    // ---- for Links ----
    [[nodiscard]] uint32_t number() const { return number_; }
    [[nodiscard]] bool has_closed() const { return is_closing_; }
    [[nodiscard]] bool has_given_up() const { return is_given_up_; }
    [[nodiscard]] bool has_pair(uint32_t link) const { return pair_of_link_[link] != kNoPair; }
    // Room for a piece of that stream.
    [[nodiscard]] std::byte* unexpected_memory(uint32_t link, uint32_t slot) const {
        const size_t at = size_t{pair_of_link_[link]} * kSlotsMax + slot;
        return unexpected_.get() + at * kSlotBytes;
    }
    // What was sent is there.
    [[nodiscard]] bool has_gone() const;
    // Nothing more comes, nor goes.
    [[nodiscard]] bool has_parted() const;
    void hear_bye(uint32_t link) { pairs_[pair_of_link_[link]].has_heard_bye = true; }
    // A piece is there.
    void take_piece(uint32_t link, const SlotHeader& header, const std::byte* end);
    // Slots or completions have come; false where nothing waits for them any more.
    bool advance_on(uint32_t link);
    // The link has failed; true where that is the team's first failure.
    bool fail(uint32_t link, const char* why, const char* more);
    // Why, of which the team knew only that it was flushed.
    void tell_cause(uint32_t link, const char* why, const char* more);
    // Messages are under way there; and something goes on when own writes are complete.
    [[nodiscard]] bool is_awaiting(uint32_t link) const;
    [[nodiscard]] bool awaits_completion(uint32_t link) const;

  private:
    // A message that came for a receive that was withdrawn.
    struct Kept {
        uint64_t order = 0;  // in its stream
        CallWord word;
        std::vector<std::byte> bytes;
    };
    struct Stream {
        Line sends;
        Line recvs;
        std::vector<Kept> kept;  // in order, before what lies in slots
        uint64_t received = 0;   // messages, of which some were kept
    };
    struct Pair {
        Link* link = nullptr;
        std::array<Stream, kSlotsMax> streams;
        uint32_t sending = 0;     // streams that have something to send, by bits
        uint32_t recving = 0;     // or to receive
        uint32_t offering = 0;    // whose receive has an offer to make
        uint64_t bye_number = 0;  // 0: not said
        bool has_heard_bye = false;
        uint64_t declined = 0;  // count() of exposures_ when its end had no memory for a message
    };
    [[nodiscard]] uint32_t pair_of(Rank peer) const;
    [[nodiscard]] Slots& slots(uint32_t pair) { return pairs_[pair].link->slots(); }
    [[nodiscard]] const Slots& slots(uint32_t pair) const { return pairs_[pair].link->slots(); }
    [[nodiscard]] Endpoint& endpoint() { return links_->endpoint(); }
    [[nodiscard]] bool has_failed(uint32_t pair) const { return pairs_[pair].link->has_failed(); }
    [[nodiscard]] bool is_left_by_peer(uint32_t pair) const {
        return pairs_[pair].link->is_left_by_peer();
    }
    // What has come is all that comes of the team from there.
    [[nodiscard]] bool is_done_there(uint32_t pair) const {
        return is_left_by_peer(pair) || pairs_[pair].has_heard_bye;
    }
    [[nodiscard]] bool is_counted(uint32_t pair) const {
        return number_ == 0 && pairs_[pair].link->is_counted();
    }
    [[nodiscard]] uint32_t stream_at(uint32_t stream) const { return stream_of(number_, stream); }
    void mark(uint32_t pair) { pairs_[pair].link->mark(number_); }
    void advance(uint32_t pair) { pairs_[pair].link->advance(); }
    void release_piece(uint32_t pair, uint32_t stream) {
        pairs_[pair].link->release(stream_at(stream));
    }
    void drop_pieces(uint32_t pair, uint32_t stream);
    [[nodiscard]] bool is_unwanted(uint32_t pair, uint32_t stream) const;
    void drop_unwanted();
    bool refuses(uint32_t pair, bool is_send);
    Operation* begin(uint32_t pair, bool is_send, const MessageId& id, size_t bytes,
                     Ticket& ticket);

    void advance_sends(uint32_t pair);
    bool send_piece(uint32_t pair, uint32_t stream, Operation& operation, Piece piece);
    bool send_direct(uint32_t pair, uint32_t stream, Operation& operation);
    bool write_direct(uint32_t pair, Operation& operation);
    void take_offer(uint32_t pair, const SlotHeader& header, const std::byte* end);
    bool take_sign(uint32_t pair, uint32_t stream, Operation& operation, Piece piece,
                   bool is_first);
    void make_offers(uint32_t pair);
    void advance_recvs(uint32_t pair, uint32_t stream);
    bool take_kept(uint32_t pair, uint32_t stream, Operation& operation);
    bool agrees(uint32_t pair, uint32_t stream, Operation& operation, const CallWord& word,
                size_t bytes);
    // order: of a message that is received.
    void end_recv(uint32_t pair, uint32_t stream, State state, uint64_t order = 0);
    bool is_posted(uint32_t pair, int outcome) { return pairs_[pair].link->is_posted(outcome); }
    void fail_pair(uint32_t pair, const char* why) { pairs_[pair].link->fail(why); }
    void look_for_tails();
    void note(uint32_t pair, const char* why, const char* more = "") {
        failure_.note_pair(pair, peers_[pair], why, more);
    }
    void drop(Line& line);
    bool send_count(uint32_t pair, const Operation& operation);
    void recv_count(uint32_t pair, Operation* operation);
    void take_counts() {
        if (!counted_.take()) failure_.note_count();
    }
    [[nodiscard]] bool is_adding(uint32_t pair) const {
        return pair == kAdderPair && adder_.is_under_way();
    }
    bool awaits_end(const Operation& offered);
    static Line all_but_writing(Line& line);
    void send_bye(uint32_t pair);
    [[nodiscard]] bool must_send_bye(uint32_t pair) const {
        return is_closing_ && pairs_[pair].bye_number == 0 && !links_->teams().is_closing() &&
               !is_left_by_peer(pair);
    }
    // It waits for a bye, of either end.
    [[nodiscard]] bool is_parting(uint32_t pair) const;

    static constexpr uint32_t kNoPair = UINT32_MAX;
    std::shared_ptr<Links> links_;
    uint32_t number_;
    std::vector<Rank> peers_;
    std::vector<uint32_t> pair_of_link_;
    std::unique_ptr<std::byte[]>
        unexpected_;  // a slot for each stream of each pair; untouched at first
    Exposures exposures_;
    OperationPool pool_;
    std::unique_ptr<Pair[]> pairs_;
    CountedReceives counted_;
    static constexpr uint32_t kAdderPair = 0;  // that with rank 0
    Adder adder_;
    FirstFailure failure_;
    uint64_t called_off_ns_ = 0;  // when it first waited in awaits_end(); 0: never
    uint64_t sent_straight_ = 0;
    uint64_t sent_copied_ = 0;
    uint64_t counts_sent_ = 0;
    bool is_used_ = false;  // something was sent or received
    bool is_closing_ = false;
    bool is_given_up_ = false;
};

}  // namespace tutti::transport::verbs
