// SPDX-License-Identifier: BSD-3-Clause
// What was measured between the ranks of a node, and what follows, for people.
#pragma once

#include <string>
#include <vector>

#include "run/node/tuning.h"

namespace tutti::node {

// "barrier 0.06 us; 64 KiB one way: plain 5.3, string 3.4, single copy 7.7 us", and where that was
// measured "64 KiB both ways: rings 9.4, single copy 7.5 us". Ways that were not are left out.
// Where fewer readers at a time were tried, the quickest: "single copy 31.0, by 2 at a time 18.5
// us".
std::vector<std::string> figures_text(const Figures& figures);
// "copies by string in pieces of up to 64 KiB; single copy never"; "...; single copy from 32 KiB
// on, 2 readers at a time"; of tune(figures). can_read: there is a single copy.
std::string consequence_text(const Figures& figures, const Tuning& tuning, bool can_read);

}  // namespace tutti::node
