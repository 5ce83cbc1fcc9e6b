// SPDX-License-Identifier: BSD-3-Clause
// How a rank's Program of a scan is put together where nodes take part. Inside algo/ only.
//
// A node's ranks scan their vectors among themselves, so that the last of them, the leader, has the
// fold of the node. The leaders run an exclusive scan of these folds. What a leader gets of it is
// the fold of all ranks before its node. Its node's ranks get that from it, and each folds it to
// the left of what it has. So the order of ranks is kept: nodes are consecutive ranks, in order.
//
// Letters: P the fold of the ranks before the node, S a rank's part of the node's own scan, which
// in an exscan leaves out its own vector X, T the fold of the node.
//
//                first node   other ones: first rank   inner ranks   leader
//   scan         S            P S                      P S           P S, T = S
//   exscan       S            P                        P S           P S, T = S X
//
// S stands in output, where in place the own vector is, and P in scratch. The first rank of a node
// gets the P of an exscan as its result. A leader of an exscan has T in output, once its own vector
// is folded, and S behind P in scratch. A node of one rank has X for T.
#pragma once

#include <memory>
#include <string_view>

#include "plan/algo/plan_layout.h"

namespace tutti::algo {

// name: of the algorithm that was chosen. The layout is not flat.
std::unique_ptr<Program> make_prefix_plan(std::string_view name, const Layout& layout, Rank rank);

}  // namespace tutti::algo
