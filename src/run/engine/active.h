// SPDX-License-Identifier: BSD-3-Clause
// Teams whose requests are under way while their thread does something else. A thread that waits in
// one team of a context moves the others on meanwhile: what it waits for may be a rank that waits
// for this one in another team (Ibarrier(A), Barrier(B) against Ibarrier(A), Wait(A), Barrier(B)).
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

namespace tutti::engine {

class Team;

// Of each team. A listed team is touched by its holder: its own thread, in a call, or another one
// that waits meanwhile. is_listed is written by the holder, but for the first time by the team's
// thread, which may read it without holding the team: false (acquire) means that nobody else
// touches the team until it lists it again.
struct ActiveLink {
    std::atomic_flag is_held;
    std::atomic<bool> is_listed{false};
    Team* before = nullptr;  // under the list's mutex, as what follows
    Team* after = nullptr;
};

// For a call of the team's own thread: keeps others from a listed team, and takes it off the list
// where nothing is under way at the end.
class HeldTeam {
  public:
    explicit HeldTeam(Team& team);
    HeldTeam(const HeldTeam&) = delete;
    HeldTeam& operator=(const HeldTeam&) = delete;
    ~HeldTeam();

  private:
    Team* team_;  // nullptr: was not listed
};

class ActiveTeams {
  public:
    // Holder or, where it was not listed, the team's thread: the last thing that its call does.
    void enter(Team& team);
    // Holder.
    void leave(Team& team);
    // Any but so many of the caller's own?
    [[nodiscard]] bool has_more_than(uint32_t own) const {
        return count_.load(std::memory_order_relaxed) > own;
    }
    // Moves each team on that nobody holds.
    void advance();

  private:
    Team* take();

    std::mutex mutex_;
    Team* first_ = nullptr;  // the one that was moved on longest ago
    Team* last_ = nullptr;
    std::atomic<uint32_t> count_{0};
};

}  // namespace tutti::engine
