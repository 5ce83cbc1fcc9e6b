// SPDX-License-Identifier: BSD-3-Clause
// Runs one rank's part of a barrier or allreduce whose tree follows who arrives
// (docs/protocol/arrival.md), released along the tree: the messages and the values of an
// adapt::Meeting. A state machine with the face of the Executor.
//
// Each edge of the tree carries one message each way, a part or the release, so this rank posts one
// receive for each neighbour when it arrives, and all are complete when the call is over. All
// messages of a call are of one size: a header, and room for two values. A part that goes up holds
// one, what its sender's stretch has; one that goes down two, what stands before and behind the
// receiver's stretch; a release holds the result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "adapt/meeting.h"
#include "base/step.h"
#include "exec/executor.h"
#include "transport/transport.h"

namespace tutti::exec {

// Longer vectors are not for trees: each member sends and folds the whole.
inline constexpr size_t kArrivalBytesMax = 16u << 10;

class ArrivalExecutor {
  public:
    // Member i is that rank of the network's team; outlives this. bytes_max: of a call's vector, at
    // most kArrivalBytesMax; memory for them is taken here.
    ArrivalExecutor(transport::Transport& network, std::span<const transport::Rank> rank_of_member,
                    uint32_t member, uint32_t fan_in, size_t bytes_max);
    ArrivalExecutor(const ArrivalExecutor&) = delete;
    ArrivalExecutor& operator=(const ArrivalExecutor&) = delete;

    // As the Executor's; bytes: of the vector, 0 for a barrier. Input and output may be the
    // same.
    void start(uint32_t call, const Arguments& arguments, size_t bytes,
               const transport::CallWord& word = {});
    Step step();
    void cancel();

    // Neighbours from which nothing has come, or which have not taken what was sent. Ascending.
    [[nodiscard]] std::vector<transport::Rank> waits_for() const;
    // After kFailed.
    [[nodiscard]] const std::string& error() const { return error_; }

  private:
    struct Neighbour {
        transport::Rank rank = 0;
        std::unique_ptr<std::byte[]> in;
        std::unique_ptr<std::byte[]> out;
        transport::Ticket received;
        transport::Ticket sent;
        bool is_receiving = false;
        bool is_sending = false;
    };
    struct Header {
        uint32_t kind = 0;    // adapt::Kind
        uint32_t values = 0;  // that follow: one stands where the first of two does
    };
    class Fold;

    [[nodiscard]] size_t message_bytes() const;
    [[nodiscard]] Header header_of(uint32_t number) const;
    [[nodiscard]] const std::byte* value(uint32_t number, uint32_t which) const;
    bool receive();
    bool finish_sends();
    void take(uint32_t number);
    void act(const adapt::Actions& actions);
    void send(const adapt::Action& action);
    uint32_t gather(std::optional<uint32_t> but, std::byte* values) const;
    void fail(const char* text);

    transport::Transport& network_;
    adapt::Meeting meeting_;
    std::vector<Neighbour> neighbours_;  // as adapt::Place numbers them
    const size_t bytes_max_;
    std::unique_ptr<std::byte[]> user_space_;
    std::unique_ptr<std::byte[]> result_;  // the own input may stand where it is to be
    uint32_t call_ = 0;
    transport::CallWord word_;
    Arguments arguments_;
    size_t bytes_ = 0;
    // The result has come from a neighbour.
    bool is_told_ = false;
    bool has_failed_ = false;
    std::string error_;
};

}  // namespace tutti::exec
