// SPDX-License-Identifier: BSD-3-Clause
// A team's messages by RDMA writes on the reliable connections of its processes (links.h), which
// other teams may use as well. Each piece of a message, with its header, is one write with
// immediate into slots at the peer; its completion there says that it has come. Longer messages are
// pipelined over slots, several a piece where they lie next to each other: one copy in, one out; no
// tags, no call of the system. Still longer ones go straight from memory to memory (operations.h).
//
// Messages of which only their number counts are additions to a word at the peer
// (counted_receives.h), and all of a team can add to one at rank 0, each told what it was
// (adder.h).
//
// The engine calls Rc, which finds the peer. The messages with each peer are a TeamPeer
// (team_peer.h), and a LinkTeam (link_team.h) has all of these, from its joining to its end.
//
// Every message has the CallWord of its sender, which is compared with the receive's (but for those
// of kRecoverySlot), so ranks that do not run the same call are found out whatever the size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "run/transport/transport.h"
#include "run/transport/verbs/adder.h"
#include "run/transport/verbs/link_team.h"
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

    [[nodiscard]] std::span<const Rank> peers() const { return team_.ranks(); }
    // Another team of these processes may have them too.
    [[nodiscard]] const std::shared_ptr<Links>& links() const { return links_; }
    // As the links have it.
    [[nodiscard]] const LinkTeam& team() const { return team_; }
    // From how many bytes of exposed memory it pays to register it for a call, by trying what that
    // takes here; UINT64_MAX: never. 0: it takes nothing.
    [[nodiscard]] uint64_t exposure_pays_from() const {
        return team_.share().exposures.pays_from(links_->clock());
    }
    // Messages from message_bytes on go straight, too, where both ends' memory is exposed and, of a
    // call, has at least memory_bytes. Before anything is exposed; not at all where this is not
    // called.
    void use_exposed(size_t message_bytes, uint64_t memory_bytes) {
        team_.share().exposures.use(message_bytes, memory_bytes);
    }

    // So many messages may be under way without memory being taken. False: there is none.
    [[nodiscard]] bool reserve(size_t messages) { return team_.share().pool.reserve(messages); }
    void send(Rank peer, const MessageId& id, const std::byte* data, size_t bytes,
              Ticket& ticket) override;
    void recv(Rank peer, const MessageId& id, std::byte* data, size_t bytes,
              Ticket& ticket) override;
    State test(Ticket& ticket) override { return ticket.state; }
    void poll() override;
    // What is added here wakes nobody.
    [[nodiscard]] int wait_fd() override {
        return team_.share().counted.is_waiting() ? -1 : links_->wait_fd();
    }
    [[nodiscard]] bool arm() override { return links_->arm(); }
    // On all ranks alike: all of them, so many, can add at rank 0, which is a peer of each, its own
    // too (is_counted_at). Not while anything is under way.
    void use_adders(Rank ranks);
    // A pair that nothing will use, behind which no other has failed: what becomes of it is no
    // error, and nobody waits for it at the end.
    void give_up_pair(uint32_t pair);
    // Additions to that rank's words are possible (TeamPeer::is_counted()).
    [[nodiscard]] bool is_counted_at(Rank peer) const {
        const TeamPeer* found = team_.find(peer);
        return found && found->is_counted();
    }
    [[nodiscard]] Rank adders() const override { return adder_.ranks(); }
    void fetch_add(uint64_t amount, Ticket& ticket) override;
    void expose(std::span<std::byte> memory, Memory kind) override {
        team_.share().exposures.expose(memory, kind);
    }
    void conceal(std::span<std::byte> memory) override { team_.share().exposures.conceal(memory); }
    void cancel(Ticket& ticket) override;
    [[nodiscard]] bool can_withdraw_receives() const override { return true; }
    [[nodiscard]] State withdraw_receive(Rank peer, const MessageId& id, const std::byte* data,
                                         size_t bytes, Ticket& ticket) override;
    void clear_disagreement() override { team_.share().failure.clear_disagreement(); }
    [[nodiscard]] std::string error() const override;
    [[nodiscard]] Disagreement disagreement() const override {
        return team_.share().failure.disagreement();
    }

    [[nodiscard]] bool polls_tails() const { return links_->polls_tails(); }
    // Long messages that went straight from memory to memory, and those for which an end could not
    // register its own.
    [[nodiscard]] uint64_t sent_straight() const { return team_.share().sent_straight; }
    [[nodiscard]] uint64_t sent_copied() const { return team_.share().sent_copied; }
    // Additions: messages that were counted at others, those that were awaited here, and to the
    // word of all, but those that only look at it.
    [[nodiscard]] uint64_t additions() const {
        return team_.share().sent_counted + team_.share().counted.count() + adder_.count();
    }

    // Nothing is sent or received any more. What was sent, to its last piece, is still on its way,
    // and the other ends may still give slots back: this must stay until is_closed(), and at the
    // least until has_left().
    void close() { team_.close(); }
    // What this end has sent is at the others', as far as they are there and still want it.
    [[nodiscard]] bool has_left();
    // It has, and the others have said the same.
    [[nodiscard]] bool is_closed();
    // Of a team that has failed, and will not close: what comes for it nobody wants. Where it is
    // the only one on its links, memory of what was called off, and is being sent from still, is
    // the program's again; what is on its way from there fails, and its pair. Else it is as soon as
    // that has gone.
    void give_up() { team_.give_up(); }
    // Of a team that was given up: the device may still read what was called off.
    [[nodiscard]] bool is_read_from() const { return team_.is_read_from(); }

  private:
    bool awaits_end(const Operation& offered);

    std::shared_ptr<Links> links_;
    Adder adder_;
    LinkTeam team_;
    uint64_t called_off_ns_ = 0;  // when it first waited in awaits_end(); 0: never
};

}  // namespace tutti::transport::verbs
