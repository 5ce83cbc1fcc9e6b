// SPDX-License-Identifier: BSD-3-Clause
// The connections of a process with others (link.h), which its teams that take turns share, or the
// tracks of one team: one completion queue for all of them, and the teams by their numbers. A team
// has the same number on all of its members.
//
// Used by one thread at a time, whichever team it comes from.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "run/transport/verbs/device.h"
#include "run/transport/verbs/link.h"
#include "run/transport/verbs/link_teams.h"

namespace tutti::transport::verbs {

class LinkTeam;

// What links to so many others need.
Need need_of(uint32_t links, uint32_t mtu_bytes);

class Links {
  public:
    // polls_tails: pieces come without immediates, as their ends land last here
    // (Link::take_tails()); then nobody is woken by them.
    Links(std::unique_ptr<Endpoint> endpoint, Clock& clock, uint32_t mtu_bytes, uint32_t links,
          bool polls_tails = false);
    ~Links();
    Links(const Links&) = delete;
    Links& operator=(const Links&) = delete;

    [[nodiscard]] uint32_t size() const { return static_cast<uint32_t>(links_.size()); }
    [[nodiscard]] Link& at(uint32_t link) { return links_[link]; }
    [[nodiscard]] const Link& at(uint32_t link) const { return links_[link]; }
    [[nodiscard]] Endpoint& endpoint() { return *endpoint_; }
    [[nodiscard]] Clock& clock() { return clock_; }
    [[nodiscard]] uint32_t packet_bytes() const { return share_.packet_bytes; }
    [[nodiscard]] bool polls_tails() const { return share_.polls_tails; }
    [[nodiscard]] const LinkTeams& teams() const { return share_.teams; }
    [[nodiscard]] bool may_sleep() const { return wait_fd() >= 0; }

    // Allocates; from here on pieces of that number may come. leave(): none of its own are sent any
    // more. fail(): nobody waits for it. forget(): nor is there anybody to take any.
    void join(const LinkTeam& team);
    void leave(const LinkTeam& team);
    void fail(const LinkTeam& team);
    void forget(const LinkTeam& team);
    // As LinkTeams has it; of the last teams, until what was sent is at the others'.
    [[nodiscard]] bool has_others(const LinkTeam& team) const {
        return teams().is_closing() ? !has_left() : teams().has_others(team);
    }
    // What has been sent is at the others', as far as they are there and still want it.
    [[nodiscard]] bool has_left() const;
    // And they have said that they send nothing more.
    [[nodiscard]] bool is_closed() const;
    // One that nothing will use, behind which no other has failed.
    void give_up(Link& link);

    // Looks once at what has come, and from time to time whether the others are there.
    void poll();
    // See Transport.
    [[nodiscard]] int wait_fd() const { return polls_tails() ? -1 : endpoint_->wait_fd(); }
    [[nodiscard]] bool arm();

  private:
    void advance_all();
    bool take_completions();
    void complete(const Completion& completion);
    void fail_by(const Completion& completion);
    void look_for_cause();
    void look_if_due();

    std::unique_ptr<Endpoint> endpoint_;
    Clock& clock_;
    LinkShare share_;
    std::vector<Link> links_;
    std::array<Completion, 32> completions_;
    uint32_t polls_ = 0;
    uint64_t looked_ns_;
    const Link* without_cause_ = nullptr;  // teams know of it only that it was flushed
};

}  // namespace tutti::transport::verbs
