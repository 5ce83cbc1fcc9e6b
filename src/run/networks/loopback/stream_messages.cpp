// SPDX-License-Identifier: BSD-3-Clause
#include "run/networks/loopback/stream_messages.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "base/assert.h"

namespace tutti::networks::loopback {

using transport::State;

StreamMessages::StreamMessages(std::vector<Rank> peers, std::vector<Fd> sockets)
    : ranks_(std::move(peers)), peers_(ranks_.size()), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    for (size_t i = 0; i < peers_.size(); ++i) {
        peers_[i].socket = std::move(sockets[i]);
        // Peers wait for the first message once all have said that they are ready.
        peers_[i].out.reserve(1);
        peers_[i].posted.reserve(1);
        epoll_event event{};
        event.events = EPOLLIN;
        epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, peers_[i].socket.get(), &event);
    }
}

bool StreamMessages::Header::is_named_as(const Header& other) const {
    return call == other.call && lane == other.lane && slot == other.slot &&
           message == other.message && word_kind == other.word_kind;
}

StreamMessages::Header StreamMessages::header_of(const MessageId& id, size_t bytes) {
    return {id.call,      id.lane,        id.slot,      id.message,
            id.word.call, id.word.before, id.word.kind, bytes};
}

StreamMessages::Peer& StreamMessages::peer_of(Rank rank) {
    const auto at = std::ranges::lower_bound(ranks_, rank);
    TUTTI_ASSERT(at != ranks_.end() && *at == rank, "messages go to peers");
    return peers_[static_cast<size_t>(at - ranks_.begin())];
}

StreamMessages::Rank StreamMessages::rank_of(const Peer& peer) const {
    return ranks_[static_cast<size_t>(&peer - peers_.data())];
}

void StreamMessages::fail(Cause cause, const Peer& peer) {
    if (cause_ != Cause::kNone) return;
    cause_ = cause;
    failed_peer_ = rank_of(peer);
}

// ---- out ---------------------------------------------------------------------------------------

void StreamMessages::send(Rank rank, const MessageId& id, const std::byte* data, size_t bytes,
                          Ticket& ticket) {
    ticket.state = State::kFailed;
    Peer& peer = peer_of(rank);
    if (peer.is_gone) fail(Cause::kGone, peer);
    if (cause_ != Cause::kNone) return;
    try {
        peer.out.push_back({header_of(id, bytes), data, {}, 0, &ticket});
    } catch (const std::bad_alloc&) {
        return fail(Cause::kMemory, peer);
    }
    ticket.state = State::kPending;
    ++sent_;
    flush(peer);
}

void StreamMessages::flush(Peer& peer) {
    size_t done = 0;
    while (done < peer.out.size() && !peer.is_gone) {
        Outgoing& one = peer.out[done];
        const size_t all = sizeof(Header) + one.header.bytes;
        std::array<iovec, 2> parts{};
        msghdr message{};
        message.msg_iov = parts.data();
        if (one.sent < sizeof(Header)) {
            parts[message.msg_iovlen++] = {reinterpret_cast<std::byte*>(&one.header) + one.sent,
                                           sizeof(Header) - one.sent};
        }
        const size_t of_data = std::max(one.sent, sizeof(Header)) - sizeof(Header);
        if (of_data < one.header.bytes) {
            parts[message.msg_iovlen++] = {const_cast<std::byte*>(one.data) + of_data,
                                           one.header.bytes - of_data};
        }
        const ssize_t sent = sendmsg(peer.socket.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0 && errno != EAGAIN) {
            read(peer);  // what has come before its end
            lose(peer);
        }
        if (sent < 0) break;
        one.sent += static_cast<size_t>(sent);
        if (one.sent < all) continue;
        if (one.ticket) one.ticket->state = State::kDone;
        ++done;
    }
    peer.out.erase(peer.out.begin(), peer.out.begin() + static_cast<ptrdiff_t>(done));
    watch_room(peer, !peer.out.empty() && !peer.is_gone);
}

void StreamMessages::watch_room(Peer& peer, bool is_wanted) {
    if (peer.awaits_room == is_wanted) return;
    peer.awaits_room = is_wanted;
    epoll_event event{};
    event.events = EPOLLIN;
    if (is_wanted) event.events |= EPOLLOUT;
    epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, peer.socket.get(), &event);
}

// ---- in ----------------------------------------------------------------------------------------

void StreamMessages::recv(Rank rank, const MessageId& id, std::byte* data, size_t bytes,
                          Ticket& ticket) {
    ticket.state = State::kFailed;
    Peer& peer = peer_of(rank);
    if (cause_ != Cause::kNone) return;
    const Header wanted = header_of(id, bytes);
    for (size_t i = 0; i < peer.unexpected.size(); ++i) {
        Unexpected& one = peer.unexpected[i];
        if (one.is_free || !one.header.is_named_as(wanted)) continue;
        if (!compare(peer, one.header, wanted, id.may_be_short)) return;
        if (!one.is_whole) break;  // the rest goes to its memory, see end_body()
        if (one.header.bytes > 0) std::memcpy(data, one.bytes.data(), one.header.bytes);
        one.is_free = true;
        ticket.state = State::kDone;
        return;
    }
    if (peer.is_gone) return fail(Cause::kGone, peer);
    try {
        peer.posted.push_back({wanted, data, &ticket, id.may_be_short});
    } catch (const std::bad_alloc&) {
        return fail(Cause::kMemory, peer);
    }
    ticket.state = State::kPending;
}

// False where these are of ranks that disagree.
bool StreamMessages::compare(Peer& peer, const Header& came, const Header& wanted,
                             bool may_be_short) {
    const bool is_same =
        came.word_call == wanted.word_call && came.word_before == wanted.word_before;
    const bool fits = may_be_short ? came.bytes <= wanted.bytes : came.bytes == wanted.bytes;
    if (is_same && fits) return true;
    if (cause_ != Cause::kNone) return false;
    disagreement_.is_there = true;
    disagreement_.has_word = !is_same;
    disagreement_.peer = rank_of(peer);
    if (!is_same) disagreement_.word = {came.word_call, came.word_before, 0};
    disagreement_.is_short = is_same && came.bytes < wanted.bytes;
    fail(is_same ? Cause::kSize : Cause::kWord, peer);
    return false;
}

// Where the bytes behind a header go. False: nowhere, the peer is lost.
bool StreamMessages::begin_body(Peer& peer) {
    peer.posted_at = peer.unexpected_at = kNobody;
    if (peer.header.bytes > transport::kMessageBytesMax) return false;  // no message of ours
    if (is_closing_) return true;
    for (size_t i = 0; i < peer.posted.size(); ++i) {
        const Posted& one = peer.posted[i];
        if (!one.header.is_named_as(peer.header)) continue;
        if (compare(peer, peer.header, one.header, one.may_be_short)) peer.posted_at = i;
        return true;
    }
    size_t best = kNobody;
    for (size_t i = 0; i < peer.unexpected.size(); ++i) {
        const Unexpected& one = peer.unexpected[i];
        if (!one.is_free || one.bytes.capacity() < peer.header.bytes) continue;
        const bool is_better =
            best == kNobody || one.bytes.capacity() < peer.unexpected[best].bytes.capacity();
        if (is_better) best = i;
    }
    try {
        if (best == kNobody) {
            best = peer.unexpected.size();
            peer.unexpected.emplace_back().is_free = true;
        }
        Unexpected& one = peer.unexpected[best];
        one.bytes.resize(peer.header.bytes);
        one.header = peer.header;
        one.is_free = one.is_whole = false;
        peer.unexpected_at = best;
        return true;
    } catch (const std::bad_alloc&) {
        fail(Cause::kMemory, peer);
        return false;
    }
}

// A receive that was posted meanwhile takes what was kept.
void StreamMessages::end_body(Peer& peer) {
    peer.got = 0;
    if (peer.posted_at != kNobody) {
        peer.posted[peer.posted_at].ticket->state = State::kDone;
        peer.posted.erase(peer.posted.begin() + static_cast<ptrdiff_t>(peer.posted_at));
        return;
    }
    if (peer.unexpected_at == kNobody) return;
    Unexpected& one = peer.unexpected[peer.unexpected_at];
    one.is_whole = true;
    const auto posted = std::ranges::find_if(
        peer.posted, [&](const Posted& each) { return each.header.is_named_as(one.header); });
    if (posted == peer.posted.end()) return;
    if (!one.bytes.empty()) std::memcpy(posted->data, one.bytes.data(), one.bytes.size());
    one.is_free = true;
    posted->ticket->state = State::kDone;
    peer.posted.erase(posted);
}

// What recv(2) says; the end of a peer is 0.
ssize_t StreamMessages::read_into(Peer& peer, std::byte* data, size_t bytes) {
    for (;;) {
        const ssize_t got = ::recv(peer.socket.get(), data, bytes, MSG_DONTWAIT);
        if (got >= 0) return got;
        if (errno == EAGAIN) return -1;
        if (errno != EINTR) return 0;
    }
}

void StreamMessages::read(Peer& peer) {
    std::array<std::byte, 4096> thrown;
    while (!peer.is_gone) {
        std::byte* to = thrown.data();
        size_t bytes = thrown.size();
        if (peer.got < sizeof(Header)) {
            to = reinterpret_cast<std::byte*>(&peer.header) + peer.got;
            bytes = sizeof(Header) - peer.got;
        } else {
            const size_t at = peer.got - sizeof(Header);
            bytes = peer.header.bytes - at;
            if (peer.posted_at != kNobody) {
                to = peer.posted[peer.posted_at].data + at;
            } else if (peer.unexpected_at != kNobody) {
                to = peer.unexpected[peer.unexpected_at].bytes.data() + at;
            } else {
                bytes = std::min(bytes, thrown.size());
            }
        }
        const ssize_t got = read_into(peer, to, bytes);
        if (got < 0) return;
        if (got == 0) return lose(peer);
        peer.got += static_cast<size_t>(got);
        if (peer.got < sizeof(Header)) continue;
        if (peer.got == sizeof(Header) && !begin_body(peer)) return lose(peer);
        if (peer.got == sizeof(Header) + peer.header.bytes) end_body(peer);
    }
}

// Its end, or that of its process. What was posted for it stays as it is: it fails when it is
// tested.
void StreamMessages::lose(Peer& peer) {
    if (peer.is_gone) return;
    peer.is_gone = true;
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, peer.socket.get(), nullptr);
    if (!is_closing_ && (!peer.posted.empty() || !peer.out.empty())) fail(Cause::kGone, peer);
}

// ---- both --------------------------------------------------------------------------------------

void StreamMessages::poll() {
    for (Peer& peer : peers_) {
        if (peer.is_gone) continue;
        read(peer);
        if (!peer.out.empty()) flush(peer);
    }
}

State StreamMessages::test(Ticket& ticket) {
    if (ticket.state != State::kPending) return ticket.state;
    poll();
    if (ticket.state == State::kPending && cause_ != Cause::kNone) {
        cancel(ticket);
        ticket.state = State::kFailed;
    }
    return ticket.state;
}

// The rest of a message for a cancelled receive is read and thrown away. A send that has begun must
// be completed, so its data is copied. Where there is no memory for that, the peer is lost.
void StreamMessages::cancel(Ticket& ticket) {
    for (Peer& peer : peers_) {
        for (size_t i = 0; i < peer.posted.size(); ++i) {
            if (peer.posted[i].ticket != &ticket) continue;
            peer.posted.erase(peer.posted.begin() + static_cast<ptrdiff_t>(i));
            if (peer.posted_at == i) {
                peer.posted_at = kNobody;
            } else if (peer.posted_at != kNobody && peer.posted_at > i) {
                --peer.posted_at;
            }
            return;
        }
        for (size_t i = 0; i < peer.out.size(); ++i) {
            Outgoing& one = peer.out[i];
            if (one.ticket != &ticket) continue;
            one.ticket = nullptr;
            if (one.sent == 0) {
                peer.out.erase(peer.out.begin() + static_cast<ptrdiff_t>(i));
                watch_room(peer, !peer.out.empty());
                return;
            }
            try {
                one.kept.assign(one.data, one.data + one.header.bytes);
                one.data = one.kept.data();
            } catch (const std::bad_alloc&) {
                lose(peer);
            }
            return;
        }
    }
}

bool StreamMessages::has_flushed() const {
    return std::ranges::all_of(peers_,
                               [](const Peer& peer) { return peer.is_gone || peer.out.empty(); });
}

bool StreamMessages::close() {
    is_closing_ = true;
    poll();
    bool are_gone = true;
    for (Peer& peer : peers_) {
        // Also of one that is through already: it waits for that.
        if (!peer.has_shut && (peer.out.empty() || peer.is_gone)) {
            peer.has_shut = true;
            shutdown(peer.socket.get(), SHUT_WR);
        }
        are_gone &= peer.is_gone;
    }
    return are_gone;
}

std::string StreamMessages::error() const {
    const std::string peer = "rank " + std::to_string(failed_peer_);
    switch (cause_) {
        case Cause::kNone:
            return "";
        case Cause::kGone:
            return peer + " is gone";
        case Cause::kSize:
            return peer + " sent a message of another size";
        case Cause::kWord:
            return peer + " runs another call";
        case Cause::kMemory:
            return "no memory for a message of " + peer;
    }
    return "";
}

}  // namespace tutti::networks::loopback
