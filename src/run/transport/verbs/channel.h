// SPDX-License-Identifier: BSD-3-Clause
// Wakes a sleeper of a completion queue: a completion channel, whose file descriptor becomes
// readable once a completion has come that arm() asked for.
#pragma once

#include <atomic>
#include <cstdint>

#include "run/transport/verbs/calls.h"

namespace tutti::transport::verbs {

class Channel {
  public:
    // At most so many of a process, each of which is an open file: programs have a thousand
    // communicators, and may have no more files than that. Who has none polls.
    static constexpr uint32_t kChannelsMax = 64;

    // count: of the process's, outlives this.
    Channel(const Calls& calls, std::atomic<uint32_t>& count) : calls_(calls), count_(count) {}
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;
    // When its queue is gone.
    ~Channel();
    // Where it cannot be had there is none.
    void open(ibv_context* context);
    // For the queue that is made; nullptr: none.
    [[nodiscard]] ibv_comp_channel* handle() const { return channel_; }
    // -1: there is none, or none any more.
    [[nodiscard]] int fd() const { return channel_ && !has_failed_ ? channel_->fd : -1; }
    bool arm(ibv_cq* queue, Events of);
    // Takes off what it has told; true: something.
    bool take();
    // Before the queue goes, which waits for events that were taken off and not acknowledged.
    void acknowledge(ibv_cq* queue);

  private:
    const Calls& calls_;
    std::atomic<uint32_t>& count_;
    ibv_comp_channel* channel_ = nullptr;
    unsigned unacknowledged_ = 0;
    bool has_failed_ = false;
};

}  // namespace tutti::transport::verbs
