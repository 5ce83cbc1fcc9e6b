// SPDX-License-Identifier: BSD-3-Clause
// A call that no collective is: random multicasts, in lanes and rounds, each of what its sender
// brought or of what an earlier one has left there. All ranks end with the same blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/prng.h"
#include "plan/sched/program.h"
#include "run/exec/executor.h"

namespace tutti::test {

class MulticastMix {
  public:
    MulticastMix(Prng& prng, uint32_t ranks);

    // Draws what each rank may do as it likes: what waits for what.
    [[nodiscard]] std::unique_ptr<sched::Program> program(Prng& prng, uint32_t rank) const;
    [[nodiscard]] exec::Arguments arguments(uint32_t rank);
    [[nodiscard]] std::string text() const;
    // Empty, or what is wrong.
    [[nodiscard]] std::string check() const;

  private:
    struct Cast {
        uint64_t lane = 0;
        uint64_t round = 0;
        uint32_t sender = 0;
        sched::Block source;  // at the sender
        sched::Block place;   // everywhere, in the output
    };

    uint32_t ranks_;
    sched::Extent extent_;
    std::vector<Cast> casts_;  // by number
    std::vector<std::byte> input_;
    std::vector<std::byte> expected_;
    std::vector<std::vector<std::byte>> outputs_;  // by rank
};

}  // namespace tutti::test
