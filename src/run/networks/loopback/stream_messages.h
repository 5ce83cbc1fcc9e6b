// SPDX-License-Identifier: BSD-3-Clause
// Messages over stream sockets, one to each peer: a header that names the message, then its bytes.
// Receives are matched by name. What nobody has asked for yet is kept, without a limit: a program
// of the tests sends no more ahead than its calls do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/fd.h"
#include "run/transport/transport.h"

namespace tutti::networks::loopback {

class StreamMessages final : public transport::Transport {
  public:
    using Rank = transport::Rank;
    using MessageId = transport::MessageId;
    using Ticket = transport::Ticket;
    using State = transport::State;

    // peers: ascending; sockets: theirs, connected and non-blocking. Throws std::bad_alloc.
    StreamMessages(std::vector<Rank> peers, std::vector<Fd> sockets);

    void send(Rank peer, const MessageId& id, const std::byte* data, size_t bytes,
              Ticket& ticket) override;
    void recv(Rank peer, const MessageId& id, std::byte* data, size_t bytes,
              Ticket& ticket) override;
    State test(Ticket& ticket) override;
    void poll() override;
    [[nodiscard]] int wait_fd() override { return epoll_.get(); }
    [[nodiscard]] bool arm() override { return true; }  // the fd tells of what is there already
    void cancel(Ticket& ticket) override;
    [[nodiscard]] std::string error() const override;
    [[nodiscard]] transport::Disagreement disagreement() const override { return disagreement_; }

    [[nodiscard]] std::span<const Rank> peers() const { return ranks_; }
    [[nodiscard]] uint64_t sent() const { return sent_; }
    // All that was sent is with the system.
    [[nodiscard]] bool has_flushed() const;
    // No message comes any more from here; what still comes is thrown away. True when all peers
    // have said the same, or are gone.
    bool close();

  private:
    struct Header {
        uint32_t call = 0;
        uint32_t lane = 0;
        uint32_t slot = 0;
        uint32_t message = 0;
        uint64_t word_call = 0;
        uint64_t word_before = 0;
        uint64_t word_kind = 0;
        uint64_t bytes = 0;
        [[nodiscard]] bool is_named_as(const Header& other) const;
    };
    struct Outgoing {
        Header header;
        const std::byte* data = nullptr;
        std::vector<std::byte> kept;  // the data, of one that was cancelled
        size_t sent = 0;              // with the header
        Ticket* ticket = nullptr;
    };
    struct Posted {
        Header header;
        std::byte* data = nullptr;
        Ticket* ticket = nullptr;
        bool may_be_short = false;  // see MessageId
    };
    // Of a message that nobody has asked for: kept for the next one when it is free.
    struct Unexpected {
        Header header;
        std::vector<std::byte> bytes;
        bool is_free = false;
        bool is_whole = false;
    };
    static constexpr size_t kNobody = SIZE_MAX;
    struct Peer {
        Fd socket;
        bool is_gone = false;
        bool has_shut = false;
        bool awaits_room = false;
        std::vector<Outgoing> out;
        std::vector<Posted> posted;
        std::vector<Unexpected> unexpected;
        // What is coming.
        Header header;
        size_t got = 0;                  // with the header
        size_t posted_at = kNobody;      // whose data it is,
        size_t unexpected_at = kNobody;  // or this; else nobody's
    };
    enum class Cause : uint8_t { kNone, kGone, kSize, kWord, kMemory };

    static Header header_of(const MessageId& id, size_t bytes);
    Peer& peer_of(Rank rank);
    [[nodiscard]] Rank rank_of(const Peer& peer) const;
    void flush(Peer& peer);
    void watch_room(Peer& peer, bool is_wanted);
    void read(Peer& peer);
    ssize_t read_into(Peer& peer, std::byte* data, size_t bytes);
    bool begin_body(Peer& peer);
    void end_body(Peer& peer);
    bool compare(Peer& peer, const Header& came, const Header& wanted, bool may_be_short);
    void fail(Cause cause, const Peer& peer);
    void lose(Peer& peer);

    std::vector<Rank> ranks_;
    std::vector<Peer> peers_;
    Fd epoll_;
    bool is_closing_ = false;
    uint64_t sent_ = 0;
    Cause cause_ = Cause::kNone;
    Rank failed_peer_ = 0;
    transport::Disagreement disagreement_;
};

}  // namespace tutti::networks::loopback
