// SPDX-License-Identifier: BSD-3-Clause
// The load of a fabric's links: how many ranks' messages of one step share each of them. Where that
// is one pair of a sender and a receiver everywhere, the schedule is free of contention (Patarasuk,
// Yuan 2007, lemmas 4 and 5: a ring in the order of a walk through the tree of switches is). Two
// segments from one rank to another do not contend: they come one after the other, as one message
// of both lengths would.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/topo/fabric.h"
#include "base/topo/placement.h"
#include "lab/check/count.h"
#include "plan/sched/program.h"

namespace tutti::check {

struct LinkLoad {
    uint64_t pairs = 0;  // the most that share a link in a step; a multicaster counts as one
    size_t step = 0;     // the first step in which so many do, and the lowest such link
    uint32_t link = 0;   // in Fabric's numbers
    uint64_t extra = 0;  // of all steps and links: pairs beyond the first one
    std::vector<uint64_t> bytes;  // by link, of all steps
};

// Steps as in count.h; node n of the placement is host n. Messages within a host load no link.
LinkLoad link_load(const topo::Fabric& fabric, const topo::Placement& placement,
                   std::span<const std::unique_ptr<sched::Program>> programs);
LinkLoad link_load(const topo::Fabric& fabric, const topo::Placement& placement,
                   std::span<const std::vector<Passage>> steps);

// What one link carries.
struct Load {
    uint64_t pairs = 0;  // of sender and receiver
    uint64_t messages = 0;
    uint64_t bytes = 0;
};
// By link: what it carries in one step.
std::vector<Load> step_load(const topo::Fabric& fabric, const topo::Placement& placement,
                            std::span<const Passage> step);

// Of the links that carry anything the one that takes the longest for it; the lowest of several.
uint32_t busiest_link(const topo::Fabric& fabric, std::span<const uint64_t> bytes);

// "from host 3", "to host 3", "up from switch 0", "down to switch 0", "up from switch 0, link 2 of
// 4". Names by number, where they are given: "up from leaf1".
std::string link_text(const topo::Fabric& fabric, uint32_t link,
                      std::span<const std::string> host_names = {},
                      std::span<const std::string> switch_names = {});

}  // namespace tutti::check
