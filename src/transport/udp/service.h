// SPDX-License-Identifier: BSD-3-Clause
// The thread of a carrier: asleep in epoll until a packet comes, a timer runs out, or somebody
// writes into its pipe. All signals are blocked in it, so that handlers of the program run where
// the program expects them.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>

#include "base/fd.h"
#include "base/result.h"
#include "mcast/params.h"

namespace tutti::transport::udp {

class Service {
  public:
    // What is to follow upon a turn.
    struct Turn {
        bool has_more = false;       // another turn at once
        bool wants_to_send = false;  // also when the system takes packets again
        uint64_t deadline_ns = mcast::kNever;
    };
    class Work {
      public:
        virtual ~Work() = default;
        // Called under the lock.
        virtual Turn turn() = 0;
    };

    Service() = default;
    Service(const Service&) = delete;
    Service& operator=(const Service&) = delete;

    // Only what wake_fd() needs: there is no thread.
    Result<Done> open_pipe();
    // Both sockets are watched for packets, `own` also for room to send.
    Result<Done> start(Work& work, std::mutex& lock, int group, int own);
    // Not under the lock.
    void stop();
    // In a fork, where the thread is not: lets it be.
    void abandon();

    [[nodiscard]] int wake_fd() const { return pipe_writer_.get(); }
    void ring() const;
    // Under the lock: a turn was done by somebody else, and what follows from it is the thread's.
    void hand_over(const Turn& turn);
    [[nodiscard]] uint64_t wakeups() const { return wakeups_.load(std::memory_order_relaxed); }

    // CLOCK_MONOTONIC, by which the thread's timer goes.
    static uint64_t now_ns();
    // CLOCK_REALTIME, by which the system stamps packets.
    static uint64_t real_ns();

  private:
    Result<Done> watch(int fd, uint32_t events);
    void run(Work& work, std::mutex& lock);
    bool sleep();
    void prepare_sleep(const Turn& turn);
    void set_timer(uint64_t deadline_ns);

    Fd pipe_reader_;
    Fd pipe_writer_;
    Fd timer_;
    Fd epoll_;
    int own_ = -1;
    bool watches_room_ = false;
    uint64_t timer_ns_ = mcast::kNever;
    std::atomic<uint64_t> wakeups_{0};
    std::atomic<bool> is_stopping_{false};
    std::thread thread_;
};

}  // namespace tutti::transport::udp
