// SPDX-License-Identifier: BSD-3-Clause
// Messages by RDMA writes on reliable connections (seed 001): each piece of a message, with its
// header up to an MTU, is one write with immediate into a slot at the peer; its completion there
// says that it has come. Longer messages are pipelined over slots, several a piece where they lie
// next to each other: one copy in, one out; no tags, no call of the system. Still longer ones go
// straight from memory to memory (rc_direct.cpp).
//
// Messages of which only their number counts are additions to a word at the peer (rc_count.cpp),
// and all of a team can add to one at rank 0, each told what it was (rc_arrive.cpp).
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
#include "transport/transport.h"
#include "transport/verbs/device.h"
#include "transport/verbs/slots.h"

namespace tutti::transport::verbs {

// A message of so many packets takes four writes where it goes straight, and five at the least by
// slots, besides words.
inline constexpr size_t kExposedPackets = 16;

// What an Rc of so many peers needs.
Need need_of(uint32_t peers, uint32_t mtu_bytes);

class Rc final : public Transport {
  public:
    // peers: by the number of their pair, ascending; the own rank may be one. Messages from
    // direct_bytes on go straight, 0: none; the sender's counts. polls_tails: pieces come without
    // immediates, as their ends land last here (rc_tails.cpp); then nobody is woken by them.
    Rc(std::unique_ptr<Endpoint> endpoint, Clock& clock, uint32_t mtu_bytes,
       std::vector<Rank> peers, size_t direct_bytes, bool polls_tails = false);
    ~Rc() override;
    Rc(const Rc&) = delete;
    Rc& operator=(const Rc&) = delete;

    [[nodiscard]] std::span<const Rank> peers() const { return peers_; }
    [[nodiscard]] PairCard card(uint32_t pair) const;
    Result<Done> connect(uint32_t pair, const PortCard& port, const PairCard& other);
    // From how many bytes of exposed memory it pays to register it for a call, by trying what that
    // takes here; UINT64_MAX: never. 0: it takes nothing.
    [[nodiscard]] uint64_t exposure_pays_from();
    [[nodiscard]] static uint64_t pays_from(uint64_t page_ns, uint64_t all_ns, uint64_t copy_ns);
    // Messages from message_bytes on go straight, too, where both ends' memory is exposed and, of a
    // call, has at least memory_bytes. Before anything is exposed; not at all where this is not
    // called.
    void use_exposed(size_t message_bytes, uint64_t memory_bytes);

    void send(Rank peer, const MessageId& id, const std::byte* data, size_t bytes,
              Ticket& ticket) override;
    void recv(Rank peer, const MessageId& id, std::byte* data, size_t bytes,
              Ticket& ticket) override;
    State test(Ticket& ticket) override { return ticket.state; }
    void poll() override;
    // What is added here wakes nobody.
    [[nodiscard]] int wait_fd() override {
        return polls_tails_ || counted_.first ? -1 : endpoint_->wait_fd();
    }
    [[nodiscard]] bool arm() override;
    // On all ranks alike: all of them, so many, can add at rank 0, which is a peer of each, its own
    // too (is_counted_at). Not while anything is under way.
    void use_adders(Rank ranks);
    // A pair that nothing will use, behind which no other has failed: what becomes of it is no
    // error, and nobody waits for it at the end.
    void give_up_pair(uint32_t pair);
    // The devices of both ends can add, and the pair is there.
    [[nodiscard]] bool is_counted_at(Rank peer) const;
    [[nodiscard]] Rank adders() const override { return adders_; }
    void fetch_add(uint64_t amount, Ticket& ticket) override;
    void expose(std::span<std::byte> memory, Memory kind) override;
    void conceal(std::span<std::byte> memory) override;
    void cancel(Ticket& ticket) override;
    [[nodiscard]] bool can_set_aside() const override { return true; }
    [[nodiscard]] State set_aside(Rank peer, const MessageId& id, const std::byte* data,
                                  size_t bytes, Ticket& ticket) override;
    void make_up() override;
    [[nodiscard]] std::string error() const override;
    [[nodiscard]] Disagreement disagreement() const override { return disagreement_; }

    [[nodiscard]] bool polls_tails() const { return polls_tails_; }
    // Long messages that went straight from memory to memory, and those for which an end could not
    // register its own.
    [[nodiscard]] uint64_t sent_straight() const { return sent_straight_; }
    [[nodiscard]] uint64_t sent_copied() const { return sent_copied_; }
    // Additions: messages that were counted at others, those that were awaited here, and to the
    // word of all, but those that only look at it.
    [[nodiscard]] uint64_t additions() const { return additions_; }

    // Nothing is sent or received any more. What was sent, to its last piece, is still on its way,
    // and the other ends may still give slots back: this must stay until is_closed(), and at the
    // least until has_left().
    void close();
    // What this end has sent is at the others', as far as they are there and still want it.
    [[nodiscard]] bool has_left();
    // All of it is, and the others have said the same.
    [[nodiscard]] bool is_closed();
    // Memory of what was called off, and is being sent from still, is the program's again. What is
    // on its way from there fails, and its pair: only where nothing else is waited for.
    void give_up_memory();

  private:
    // So many writes of a message at a time, 16 MiB: more than is on its way on any network, and
    // less than would keep other messages to that peer waiting for long.
    static constexpr size_t kWritesAtOnce = 4;
    // Scratch, input and output of a call; and some that a failed one still sends from.
    static constexpr size_t kExposedMax = 8;
    // How far a message is that goes straight into the receiver's memory.
    enum class Direct : uint8_t {
        kNo,         // it goes by slots
        kWanted,     // of a send: nobody knows yet
        kAnnounced,  // a send waits for an offer, a receive has one to make or has made it
        kOffered,    // of a send: it is being written
        kTold,       // of a send: its end has been told; writes may be under way still
    };
    struct Offer {
        uint64_t address = 0;
        uint64_t bytes = 0;  // of the message
        uint32_t stream = 0;
        uint32_t key = 0;
        uint32_t is_there = 0;  // else by slots
        uint32_t pad = 0;
    };
    struct Exposed {
        std::span<std::byte> memory;
        Memory kind = Memory::kScratch;
        Region source{};  // as a whole, once a message wanted it
        Region target{};
        bool is_source_refused = false;
        bool is_target_refused = false;
        bool is_read = false;  // a message went from there
        bool is_over = false;  // concealed
        uint32_t reading = 0;  // sends that have `source`
    };
    // A message from send() or recv() on, in its stream's list until it is complete.
    struct Operation {
        Operation* next = nullptr;
        Ticket* ticket = nullptr;
        const std::byte* source = nullptr;
        std::byte* target = nullptr;  // neither: it was cancelled when it had begun, or is empty
        size_t bytes = 0;
        size_t done = 0;
        CallWord word;
        bool is_begun = false;
        bool is_given_up = false;
        bool is_counted = false;
        Direct direct = Direct::kNo;
        Region region;                                 // its memory, while it is registered
        bool is_lent = false;                          // that of exposed memory
        Exposed* reads = nullptr;                      // which has it, of a send
        Offer offer;                                   // that a send has got
        std::array<uint64_t, kWritesAtOnce> writes{};  // their numbers
    };
    struct Line {
        Operation* first = nullptr;
        Operation* last = nullptr;
    };
    // A message that came for a receive which was set aside.
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
        Slots slots;
        std::array<Stream, kSlotsMax> streams;
        uint32_t sending = 0;     // streams that have something to send, by bits
        uint32_t recving = 0;     // or to receive
        uint32_t offering = 0;    // whose receive has an offer to make
        uint32_t counting = 0;    // receives of messages that are counted
        bool is_counted = false;  // both ends can add
        uint64_t declined = 0;    // which exposures_, when its end had no memory for a message
        uint64_t look_number = 0;
        uint64_t last_number = 0;  // 0: not sent yet
        bool is_connected = false;
        bool has_failed = false;
        bool is_left_by_peer = false;
    };
    enum class Failure : uint8_t { kNone, kSize, kWord, kPair, kCount };

    [[nodiscard]] uint32_t pair_of(Rank peer) const;
    bool refuses(uint32_t pair, bool is_send);
    Operation* begin(uint32_t pair, bool is_send, const MessageId& id, size_t bytes,
                     Ticket& ticket);
    void release(Operation* operation);
    static void append(Line& line, Operation* operation);
    static void remove(Line& line, Operation* operation);
    static Operation* find(const Line& line, const Ticket& ticket);

    [[nodiscard]] std::byte* header_memory(uint32_t pair, uint32_t slot, bool is_own) const;
    void advance(uint32_t pair);
    void advance_sends(uint32_t pair);
    Room take_room(uint32_t pair, uint32_t stream, uint32_t wanted, Piece piece);
    bool write_piece(uint32_t pair, const Room& room, SlotHeader header, const void* data,
                     bool is_last);
    bool send_piece(uint32_t pair, uint32_t stream, Operation& operation, Piece piece);
    bool send_direct(uint32_t pair, uint32_t stream, Operation& operation);
    bool write_direct(uint32_t pair, Operation& operation);
    void take_offer(uint32_t pair, const SlotHeader& header, const std::byte* end);
    bool take_sign(uint32_t pair, uint32_t stream, Operation& operation, Piece piece,
                   bool is_first);
    void make_offers(uint32_t pair);
    void give_back(Operation& operation);
    [[nodiscard]] Exposed* exposed_with(const std::byte* memory, size_t bytes, bool is_target);
    [[nodiscard]] bool goes_straight(uint32_t pair, const std::byte* data, size_t bytes);
    void register_source(Operation& operation);
    void register_target(Operation& operation);
    void forget_unread(Exposed& one);
    void conceal_all();
    void advance_recvs(uint32_t pair, uint32_t stream);
    bool take_kept(uint32_t pair, uint32_t stream, Operation& operation);
    bool agrees(uint32_t pair, uint32_t stream, Operation& operation, const CallWord& word,
                size_t bytes);
    // order: of a message that is received.
    void end_recv(uint32_t pair, uint32_t stream, State state, uint64_t order = 0);
    void tell(uint32_t pair, uint32_t also);
    bool take_completions();
    [[nodiscard]] bool awaits_completion(const Pair& at) const;
    void look_if_due();
    void look(uint32_t pair);
    bool post(uint32_t pair, const Write& write);
    bool is_posted(uint32_t pair, int outcome);
    void complete(const Completion& completion);
    void fail_by(const Completion& completion);
    void look_for_cause();
    void arrive(uint32_t pair, uint32_t immediate);
    void take_piece(uint32_t pair, uint32_t slot);
    void prepare_tails();
    bool take_tails(uint32_t pair);
    void hide_data(uint32_t pair, const Room& room, uint64_t number);
    void look_for_tails();
    void note(uint32_t pair, const char* why, const char* more = "");
    void write_error(uint32_t pair, const char* why, const char* more);
    void fail_pair(uint32_t pair, const char* why, const char* more = "");
    void drop(Line& line);
    bool send_count(uint32_t pair, const Operation& operation);
    void recv_count(uint32_t pair, Operation* operation);
    void take_counts();
    void end_count(Operation* operation, State state);
    void drop_counts(uint32_t pair);
    State set_count_aside(Ticket& ticket);
    void post_addition();
    void complete_addition(uint64_t number);
    void end_addition(State state);
    bool cancel_addition(Ticket& ticket);
    static Line all_but_writing(Line& line);
    [[nodiscard]] static bool is_over(const Pair& at);

    std::unique_ptr<Endpoint> endpoint_;
    Clock& clock_;
    size_t slot_bytes_;
    std::vector<Rank> peers_;
    size_t direct_bytes_;
    size_t exposed_message_bytes_ = SIZE_MAX;
    uint64_t exposed_memory_bytes_ = UINT64_MAX;
    std::array<Exposed, kExposedMax> exposed_;
    uint64_t exposures_ = 1;
    bool polls_tails_;
    uint64_t sent_straight_ = 0;
    uint64_t sent_copied_ = 0;
    uint64_t additions_ = 0;
    std::unique_ptr<Pair[]> pairs_;
    static constexpr size_t kOperationsAtOnce = 64;
    std::vector<std::unique_ptr<Operation[]>> operations_;
    Operation* free_ = nullptr;
    Line counted_;              // receives that wait for the own counter
    uint64_t counted_sum_ = 0;  // what it has when all have come
    // That to the word of all which is under way.
    struct Addition {
        Ticket* ticket = nullptr;  // nullptr: nobody waits for it
        uint64_t amount = 0;
        uint64_t number = 0;  // 0: not posted yet
        bool is_under_way = false;
    };
    static constexpr uint32_t kAdderPair = 0;  // that with rank 0
    Addition adding_;
    Rank adders_ = 0;
    std::array<Completion, 32> completions_;
    uint32_t polls_ = 0;
    uint64_t looked_ns_ = 0;
    bool is_closing_ = false;
    // The first failure.
    Failure failure_ = Failure::kNone;
    Disagreement disagreement_;
    size_t sent_bytes_ = 0;  // kSize
    size_t wanted_bytes_ = 0;
    std::array<char, 160> pair_error_{};
    static constexpr uint32_t kNoPair = UINT32_MAX;
    uint32_t without_cause_ = kNoPair;  // of which pair_error_ knows only that it was flushed
};

}  // namespace tutti::transport::verbs
