// SPDX-License-Identifier: BSD-3-Clause
// A network is tried before a team has it: its way to a peer may be blocked though both ends stand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "run/networks/message_network.h"
#include "run/transport/transport.h"

namespace tutti::networks {

// A message to each peer of a new team, and one from each, at once.
class PairProbes {
  public:
    // All memory that they take here: so many bytes a message. Each peer takes two messages of the
    // transport, which is to have room for them.
    void prepare(transport::Rank own, std::span<const transport::Rank> peers, size_t bytes);
    // index: in the order of prepare(). There is no way to that peer; it counts as one that fails.
    void leave_out(size_t index) { probes_[index].is_left_out = true; }
    // Once all are ready to receive. It takes as long as the messages, and ns_max at most.
    void run(Process& process, transport::Transport& messages, uint64_t ns_max);

    // After that: messages have come and gone between the two.
    [[nodiscard]] bool is_good(size_t index) const { return probes_[index].is_good; }
    // Of the peers from that index on, the first one that is not good.
    [[nodiscard]] std::optional<transport::Rank> first_bad(size_t from = 0) const;

  private:
    struct Probe {
        transport::Rank peer = 0;
        bool is_left_out = false;
        bool is_good = false;
        std::vector<std::byte> out;
        std::vector<std::byte> in;
        transport::Ticket sent;
        transport::Ticket received;
    };

    std::vector<Probe> probes_;
};

}  // namespace tutti::networks
