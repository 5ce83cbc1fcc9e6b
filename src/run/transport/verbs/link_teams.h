// SPDX-License-Identifier: BSD-3-Clause
// The teams that share a process's links (links.h), by their numbers on them: which have left or
// failed, and which numbers are free.
//
// A team joins once, then leaves or fails, and is forgotten in the end. Its number is free again
// when nothing more comes of it. That of the first team, whose words are as it leaves them, is not
// given again.
#pragma once

#include <bitset>
#include <cstdint>
#include <vector>

#include "run/transport/verbs/slots.h"

namespace tutti::transport::verbs {

class LinkTeam;

class LinkTeams {
  public:
    // Numbers, by bits.
    using Numbers = std::bitset<kTeamsMax>;

    LinkTeams() { free_.set(); }
    // That no team has, and of which nothing more comes.
    [[nodiscard]] const Numbers& free() const { return free_; }
    // Some have neither left nor failed, and the links stay as long as these do.
    [[nodiscard]] bool are_open() const { return !is_closing_ && open_ > 0; }
    // All have left that have not failed.
    [[nodiscard]] bool is_closing() const { return is_closing_; }
    // Others than this one have messages under way or to come: they have not left, or what they
    // have sent is not there yet; nor have they failed.
    [[nodiscard]] bool has_others(const LinkTeam& team) const;

    // Allocates.
    void join(const LinkTeam& team);
    void leave(const LinkTeam& team);
    // False: that was the last one.
    bool fail(const LinkTeam& team);
    bool forget(const LinkTeam& team);

  private:
    std::vector<const LinkTeam*> teams_;  // by number
    Numbers free_;
    uint32_t open_ = 0;  // that have not left, nor failed
    bool is_closing_ = false;
};

}  // namespace tutti::transport::verbs
