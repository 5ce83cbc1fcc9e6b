// SPDX-License-Identifier: BSD-3-Clause
// All algorithms with their predicted times.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/topo/placement.h"
#include "plan/algo/registry.h"
#include "plan/price/cluster_parameters.h"
#include "plan/sched/shape.h"
#include "plan/select/predict.h"
#include "plan/select/skew_threshold.h"

namespace tutti::select {

// Where the placement's nodes are, as far as it knows, with these parameters.
Cluster cluster_of(const topo::Placement& placement, const price::ClusterParameters& parameters);

struct Priced {
    const algo::Algorithm* algorithm = nullptr;
    algo::Tuning tuning;
    uint64_t ns = 0;
};

// The algorithms of the collective that are right for the call, with a few tunings each, the
// cheapest first; of those that cost the same the registry's first. Among more than 64 participants
// each has its own tuning only, the cheapest the others too. Left out are those that can only be
// estimated (an estimate does not see what a rank waits for, so it cannot be compared), those that
// take at least twice the best price, and where nobody knows how fast multicasts are, those that
// need them.
std::vector<Priced> by_price(const sched::Shape& shape, const topo::Placement& placement,
                             const Cluster& cluster);

// Shapes whose sizes are near each other, and of whatever root, have one ranking: that of the next
// size 2^k or 3 * 2^k, from root 0. Of blocks that differ in length, the longest and the mean of
// the others count. So a program that never calls twice with one size prices some tens of them.
class Prices {
  public:
    // The placement outlives it. about: what the lowest of them is, for people.
    Prices(const topo::Placement& placement, Cluster cluster,
           std::string about = "the lowest price")
        : placement_(placement), cluster_(std::move(cluster)), about_(std::move(about)) {}

    [[nodiscard]] const Cluster& cluster() const { return cluster_; }
    [[nodiscard]] const std::string& about() const { return about_; }
    struct Ranking {
        sched::Shape shape;  // that was priced
        std::vector<Priced> priced;
        std::vector<Priced> others = {};  // that were asked about; 0 ns: without a price
        sched::OwnLengths lengths = {};   // of the shape
    };
    // Valid until one of another shape is asked for.
    const Ranking& of(const sched::Shape& shape) { return ranking(shape); }
    // Of this one too, in the shape's ranking or not. None where it cannot run a call of the size
    // that is priced, or would only be estimated.
    std::optional<uint64_t> price(const sched::Shape& shape, const algo::Algorithm& algorithm,
                                  const algo::Tuning& tuning);
    // From which skew on the follower is faster, among calls of the shape
    // (plan/select/skew_threshold.h). Only this is walked for it, and only once as long as nothing
    // else is asked.
    std::optional<uint64_t> faster_from(const sched::Shape& shape, const Contender& follower,
                                        const Contender& fixed);

  private:
    struct Contest {
        sched::Shape shape;
        Contender follower;
        Contender fixed;
        std::optional<uint64_t> from_ns = {};
    };
    Ranking& ranking(const sched::Shape& shape);
    [[nodiscard]] Cluster cluster_for(const sched::Shape& shape) const;

    const topo::Placement& placement_;
    Cluster cluster_;
    std::string about_;
    std::vector<Ranking> known_;
    size_t next_ = 0;  // to be forgotten
    std::vector<Contest> contests_;
};

// The shape whose ranking holds for this one, but for lengths of blocks, which it leaves away.
sched::Shape size_class(sched::Shape shape);
// Those lengths: one block is the longest, the others are all alike. None where the longest is at
// most twice the mean.
sched::OwnLengths length_class(const sched::Shape& shape);

// "97 us; then rabenseifner 132 us, chain 175 us": the one that runs, and the next algorithms.
std::string price_text(std::span<const Priced> priced, const Priced& chosen);

}  // namespace tutti::select
