// SPDX-License-Identifier: BSD-3-Clause
// The thread of a carrier: asleep in epoll until a packet comes, a timer runs out, or a byte comes
// through its pipe. All signals are blocked in it, so that handlers of the program run where the
// program expects them.
//
// A rank of the process that waits for packets attends instead: it sleeps in the same epoll and
// does the turn itself, which saves the way from the thread to the rank. Meanwhile, and a moment
// longer, the thread stays away: woken all the same it naps. A rank that attends may be kept from
// the processor for seconds (one that has yielded often comes last where many want to run), and the
// others would take its host for dead: what waits from one nap to the next, in which nobody has
// done a turn, the thread does after all.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "run/mcast/params.h"
#include "run/transport/carrier/datagrams.h"

namespace tutti::transport::carrier {

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
    // At most kWaitFdsMax to watch.
    Result<Done> start(Work& work, std::mutex& lock, std::span<const WaitFd> watched);
    // Not under the lock.
    void stop();
    // In a fork, where the thread is not: lets it be.
    void abandon();

    [[nodiscard]] int wake_fd() const { return pipe_writer_.get(); }
    void ring() const;
    // Under the lock: another thread has done a turn, and what follows from it is this thread's.
    void hand_over(const Turn& turn);

    // begin_attendance() and end_attendance(), after the turn, under the lock; one rank at a time.
    void begin_attendance() { is_attended_.store(true); }
    // Until that fd is readable: of who does not attend.
    static void wait_for(int fd, uint64_t end_ns);
    // Until there is a turn to do, or the other fd is readable (-1: there is none); at most until
    // then.
    void attend(uint64_t end_ns, int also);
    void end_attendance(const Turn& turn);
    [[nodiscard]] bool is_attended() const { return is_attended_.load(); }
    // Rung now, the thread does a turn: it does not stay away for a rank that attends, or has just
    // attended.
    [[nodiscard]] bool takes_turns() const {
        return !is_away() && !is_attended() &&
               now_ns() >= away_until_ns_.load(std::memory_order_relaxed);
    }
    // Ranks that wait in the library must do turns: the thread does none.
    [[nodiscard]] bool is_away() const { return is_away_.load(std::memory_order_relaxed); }

    [[nodiscard]] uint64_t wakeups() const { return wakeups_.load(std::memory_order_relaxed); }

    // CLOCK_MONOTONIC, by which the thread's timer goes.
    static uint64_t now_ns();

  private:
    Result<Done> watch(int fd, uint32_t events);
    void run(Work& work, std::mutex& lock);
    bool sleep();
    bool stays_away();
    bool must_help();
    [[nodiscard]] bool has_work() const;
    void wait(int ms_max);
    void prepare_sleep(const Turn& turn);
    void watch_room(bool is_wanted);
    void set_timer(uint64_t deadline_ns);

    Fd pipe_reader_;
    Fd pipe_writer_;
    Fd timer_;
    Fd epoll_;
    std::vector<WaitFd> watched_;            // as start() had them
    std::atomic<bool> watches_room_{false};  // written under the lock
    uint64_t timer_ns_ = mcast::kNever;
    // Written under the lock, read by the thread without.
    std::atomic<bool> is_attended_{false};
    std::atomic<uint64_t> away_until_ns_{0};
    std::atomic<uint64_t> turns_attended_{0};
    std::atomic<bool> is_away_{false};  // written by the thread
    std::atomic<uint64_t> wakeups_{0};
    std::atomic<bool> is_stopping_{false};
    // The thread's own: what it found at its last nap beside a rank that attends.
    uint64_t turns_seen_ = 0;
    bool has_seen_work_ = false;
    std::thread thread_;
};

}  // namespace tutti::transport::carrier
