// SPDX-License-Identifier: BSD-3-Clause
// What `tutti info` says of the machine, as pairs of a label and a text.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/settings.h"
#include "run/transport/verbs/device.h"

namespace tutti::machine {

struct Fact {
    std::string label;
    std::string text;
};

// Processors, caches, instruction set.
std::vector<Fact> processor_facts();
// Shared memory: how much, and whether the ways that Tutti uses to share it work here.
std::vector<Fact> memory_facts(SingleCopyChoice single_copy);

// How fast what protects multicast packets lets them through here, by these settings.
Fact code_fact(const McastSettings& settings);

// The port that messages by RDMA would take, whether it can be used by this user, and whether runs
// do.
std::vector<Fact> rdma_facts(const Settings& settings);
// Of one that is there.
std::vector<Fact> port_facts(const std::shared_ptr<transport::verbs::Device>& port,
                             const McastSettings& mcast);

}  // namespace tutti::machine
