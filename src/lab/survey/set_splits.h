// SPDX-License-Identifier: BSD-3-Clause
// The third stage of a survey: sets within sets, by narrow links. All hosts are split
// (splitter.h), then each group so found, all at once, until none can be split.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/prng.h"
#include "lab/survey/sets.h"
#include "lab/survey/splitter.h"

namespace tutti::survey {

class SetSplits {
  public:
    // Two hosts at least.
    SetSplits(std::vector<uint32_t> hosts, Prng& random);
    // The next transfers of all sets that are being split; none: it is done.
    std::vector<Transfer> ask(Prng& random);
    // How often they are to be made.
    [[nodiscard]] uint32_t trials() const;
    // As Splitter::take() has them.
    void take(std::span<const double> speeds, double spread);

    // Some transfers are slow together, but not by groups.
    [[nodiscard]] bool is_doubtful() const { return is_doubtful_; }
    [[nodiscard]] const HostSets& sets() const { return sets_; }

  private:
    struct Split {
        uint32_t set;
        Splitter splitter;
        size_t asked = 0;  // transfers of the experiment under way
    };

    void begin_split(uint32_t set, Prng& random);
    void end_split(const Split& split, Prng& random);

    HostSets sets_;
    std::vector<Split> splits_;
    bool is_doubtful_ = false;
};

}  // namespace tutti::survey
