// SPDX-License-Identifier: BSD-3-Clause
// The choice among all algorithms by what they will take.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "algo/registry.h"
#include "price/parameters.h"
#include "sched/shape.h"
#include "select/predict.h"
#include "topo/placement.h"

namespace tutti::select {

// Where the placement's nodes are, as far as it knows, with these parameters.
Cluster cluster_of(const topo::Placement& placement, const price::ClusterParameters& parameters);

struct Priced {
    const algo::Algorithm* algorithm = nullptr;
    algo::Tuning tuning;
    uint64_t ns = 0;
};

// Whether an algorithm can run the call so, as all ranks know it.
using CanRun = std::function<bool(const algo::Algorithm&, const algo::Tuning&)>;

// Of every algorithm of the collective that can run the call the tuning with the lowest price, the
// cheapest first; of those that cost the same the registry's first. Where nobody knows how fast
// multicasts are, those that need them are left out.
std::vector<Priced> by_price(const sched::Shape& shape, const topo::Placement& placement,
                             const Cluster& cluster, const CanRun& can_run);

// "97 us; then rabenseifner 132 us, chain 175 us"
std::string price_text(const std::vector<Priced>& priced);

}  // namespace tutti::select
