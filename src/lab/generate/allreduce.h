// SPDX-License-Identifier: BSD-3-Clause
// The routine generator of Patarasuk, Yuan 2007, section 4: a ring becomes one C file that needs an
// MPI and nothing else. What is in it stands in allreduce.c.in.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lab/generate/ring_order.h"

namespace tutti::generate {

struct Labels {
    std::string name;                  // the function is tutti_allreduce_NAME
    std::string file;                  // what the text will be called
    std::vector<std::string> command;  // that makes it again: words, not quoted
    std::vector<std::string> origin;   // lines about the cluster
    std::vector<std::string> hosts;    // by number in the tree
    std::vector<std::string> nodes;    // the tree's: "leaf0", or "spine[0-1]" where it is several
};

// What is a part of a C identifier: other letters and digits become _.
std::string identifier_of(std::string_view text);

// `ring` is of this tree and has at least one rank.
std::string allreduce_source(const topo::SwitchTree& tree, std::span<const Stop> ring,
                             const Labels& labels);

}  // namespace tutti::generate
