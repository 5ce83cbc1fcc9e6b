// SPDX-License-Identifier: BSD-3-Clause
// The homes of a node's processes (run/arena/home.h): which one the members of a team have in
// common, and making one where they are the most that have met so far.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "run/arena/home.h"
#include "run/bootstrap/rounds.h"
#include "run/engine/context.h"

namespace tutti::bootstrap {

struct NodeMember;

// Of a member; plain data.
struct HomeCard {
    uint64_t owner = 0;  // the context: of two members of one, a process has no two homes
    uint64_t home = 0;   // 0: none
    uint32_t ranks = 0;
    uint32_t rank = 0;
};
HomeCard home_card(engine::Context& context);

// What the leader has made; plain data.
struct HomeOffer {
    uint64_t home = 0;  // 0: nothing
    int64_t offset = 0;
    arena::HomeShape shape;
    uint64_t mapping = 0;  // address of the leader's shared_ptr, for threads of its process
};

class NodeHome {
  public:
    explicit NodeHome(engine::Context& context) : context_(context) {}
    NodeHome(const NodeHome&) = delete;
    NodeHome& operator=(const NodeHome&) = delete;
    ~NodeHome();

    // Allocates. All members alike: whether they have a home in common, or are to make one.
    void meet(std::span<const NodeMember> members);
    // That they have, or have made; nullptr: none.
    [[nodiscard]] const std::shared_ptr<arena::Home>& home() const { return home_; }
    // By member, its number there; of a home in common.
    [[nodiscard]] std::span<const uint32_t> ranks() const { return ranks_; }

    // The leader's, on the segment of these members: homes for them, where they are to have some
    // and the system lets them.
    HomeOffer offer(const std::shared_ptr<arena::Arena>& arena, uint32_t rank);
    // Each member's: takes part in them. False where it cannot.
    bool attach(const HomeOffer& offer, const std::shared_ptr<arena::Arena>& arena, uint32_t rank,
                bool shares_process);
    // The leader's: where they stand.
    void write_groups(const topo::Groups& groups) { home_->write_groups(groups); }
    // All have taken part in new homes, or not all could, and there are none. Allocates nothing.
    void settle(bool have_all);

  private:
    engine::Context& context_;
    uint64_t set_hash_ = 0;
    uint32_t members_ = 0;
    bool makes_ = false;
    bool is_new_ = false;
    std::shared_ptr<arena::Home> home_;
    std::vector<uint32_t> ranks_;
    // The leader's, until all have taken part.
    std::shared_ptr<arena::Arena> arena_;
    std::shared_ptr<arena::Mapping> mapping_;
    int64_t offset_ = -1;
};

}  // namespace tutti::bootstrap
