// SPDX-License-Identifier: BSD-3-Clause
// The teams that share a process's links (links.h), by their numbers on them.
//
// A team joins once, then leaves or fails, and is forgotten in the end. Its number is free again
// when nothing more comes of it. That of the first team, whose words are as it leaves them, is not
// given again.
#pragma once

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <vector>

#include "run/transport/verbs/slots.h"

namespace tutti::transport::verbs {

class Rc;

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
    // How many numbers have ever been given, from 0 on.
    [[nodiscard]] uint32_t count() const { return static_cast<uint32_t>(teams_.size()); }
    // nullptr: it is gone, or was never here.
    [[nodiscard]] Rc* at(uint32_t number) const {
        return number < teams_.size() ? teams_[number] : nullptr;
    }
    // The same, if it goes by that link.
    [[nodiscard]] Rc* at(uint32_t number, uint32_t link) const;
    // Those that go by the link: whether `is` holds of one.
    template <class Is>
    [[nodiscard]] bool any_by(uint32_t link, Is is) const {
        for (uint32_t number = 0; number < count(); ++number) {
            if (Rc* team = at(number, link); team && is(*team)) return true;
        }
        return false;
    }
    // Others than this one have messages under way or to come: they have not left, or what they
    // have sent is not there yet; nor have they failed.
    [[nodiscard]] bool has_others(const Rc& team) const;

    // Allocates.
    void join(Rc& team, uint32_t number);
    void leave(const Rc& team);
    // False: that was the last one.
    bool fail(const Rc& team);
    bool forget(const Rc& team);

  private:
    std::vector<Rc*> teams_;  // by number
    Numbers free_;
    uint32_t open_ = 0;  // that have not left, nor failed
    bool is_closing_ = false;
};

}  // namespace tutti::transport::verbs
