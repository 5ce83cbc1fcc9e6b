// SPDX-License-Identifier: BSD-3-Clause
// Messages by the embedder's point-to-point callbacks (tutti_p2p), so that Tutti runs wherever an
// MPI does. Order per pair and tag is all that it asks of them: each slot has tags of its own.
//
// Messages show whether their ranks run the same call. A short one goes through memory of this
// transport, with the call's word behind it. All short ones of a slot have one tag, so that words
// of different calls meet and are compared. A long one is sent without a copy, with a tag by the
// kind of its call. It meets its own kind only, and then lengths are compared. So does one that may
// be shorter than its receive, however short it is.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "run/transport/transport.h"
#include "tutti/tutti.h"

namespace tutti::transport {

class P2p final : public Transport {
  public:
    // Up to so many bytes go with the word, but for those of kRecoverySlot. Copied in and out in
    // some 10 ns; the embedder's own machinery takes hundreds for a message.
    static constexpr size_t kWordedBytesMax = 256;
    // Tags that messages of each lane's slot have beside the slot's own; at least one.
    static constexpr uint32_t tags_of(uint32_t kinds) {
        return kSlotsMax + kMeetSlots + kinds * kRecoverySlot;
    }

    // The team owns the tags first_tag to first_tag + tags_of(kinds) - 1. peers[r]: the embedder's
    // number of rank r, must outlive this; empty: the rank itself.
    P2p(const tutti_p2p& callbacks, uint32_t first_tag, std::span<const uint32_t> peers = {},
        uint32_t kinds = 1);
    ~P2p() override;
    P2p(const P2p&) = delete;
    P2p& operator=(const P2p&) = delete;

    void send(Rank peer, const MessageId& id, const std::byte* data, size_t bytes,
              Ticket& ticket) override;
    void recv(Rank peer, const MessageId& id, std::byte* data, size_t bytes,
              Ticket& ticket) override;
    State test(Ticket& ticket) override;
    void cancel(Ticket& ticket) override;
    [[nodiscard]] bool can_withdraw_receives() const override {
        return callbacks_.cancel != nullptr;
    }
    [[nodiscard]] State withdraw_receive(Rank peer, const MessageId& id, const std::byte* data,
                                         size_t bytes, Ticket& ticket) override;
    void clear_disagreement() override;
    // A short message of `slot` that has come and for which no receive was posted is kept: its
    // word says of which call it is. Nothing is there where there is none.
    Disagreement find_unexpected(uint32_t slot);
    // Whether a long one of this slot and kind has come that nobody has asked for; from `peer`. Not
    // where that cannot be told from those of the kind `other`.
    bool find_long_unexpected(uint32_t slot, uint32_t kind, uint32_t other, Rank& peer);
    [[nodiscard]] std::string error() const override;
    [[nodiscard]] Disagreement disagreement() const override { return disagreement_; }

  private:
    enum class Failure : uint8_t { kNone, kSend, kRecv, kTest, kSize, kWord, kMemory };
    // What is on its way with its word.
    struct Parcel {
        static constexpr size_t kWordBytes = 2 * sizeof(uint64_t);
        CallWord word;
        std::byte* target = nullptr;  // of a receive
        std::array<std::byte, kWordedBytesMax + kWordBytes> bytes;
    };
    // A receive that was withdrawn, or posted for an unexpected message; what has come for it.
    struct Unexpected {
        Rank peer = 0;
        uint32_t tag = 0;
        Parcel* parcel = nullptr;  // of a short one
        void* handle = nullptr;    // while it has not come
        bool has_come = false;
        bool is_known = true;  // how much
        size_t bytes = 0;
        std::vector<std::byte> data{};  // of a long one
    };
    // Of a ticket's bytes: a send.
    static constexpr size_t kNoBytes = SIZE_MAX;

    [[nodiscard]] uint32_t number_of(Rank peer) const {
        return peers_.empty() ? peer : peers_[peer];
    }
    // nullptr, and failed, where there is no memory.
    Parcel* take_parcel(Ticket& ticket, const CallWord& word);
    void make_parcels();
    [[nodiscard]] static bool is_worded(const MessageId& id, size_t bytes);
    [[nodiscard]] uint32_t tag_of(const MessageId& id, size_t bytes) const;
    [[nodiscard]] uint32_t long_tag(uint32_t slot, uint32_t kind) const {
        // Of those who meet, some receives find nothing before a later call: one tag each.
        if (slot >= kMeetSlot) return first_tag_ + kSlotsMax + slot - kMeetSlot;
        return first_tag_ + kSlotsMax + kMeetSlots + kind % kinds_ * kRecoverySlot + slot;
    }
    [[nodiscard]] Rank rank_of(uint32_t number) const;
    bool take_unexpected(Rank peer, uint32_t tag, const CallWord& word, std::byte* data,
                         size_t bytes, Ticket& ticket);
    void complete(Ticket& ticket, bool is_known, size_t bytes);
    bool stop(Unexpected& unexpected);
    State received(Ticket& ticket, bool is_known, size_t bytes);
    State wrong_size(const Ticket& ticket, size_t bytes);
    State receive_parcel(Ticket& ticket, bool is_known, size_t bytes);
    void begin(Ticket& ticket, int outcome, Failure what, Rank peer, size_t bytes);
    State fail(Failure what, int outcome, Rank peer, size_t bytes);

    tutti_p2p callbacks_;
    uint32_t first_tag_;
    std::span<const uint32_t> peers_;
    uint32_t kinds_;
    // As many as were under way at a time, some from the beginning.
    static constexpr size_t kParcelsAtOnce = 64;
    std::vector<std::unique_ptr<Parcel[]>> parcels_;
    std::vector<Parcel*> free_;
    Disagreement disagreement_;
    // The first failure, which is the cause of all others.
    Failure failure_ = Failure::kNone;
    int outcome_ = 0;
    Rank failed_peer_ = 0;
    size_t failed_bytes_ = 0;
    size_t received_bytes_ = 0;           // kSize and kWord
    std::vector<Unexpected> unexpected_;  // of one name, in the order in which they were posted
};

}  // namespace tutti::transport
