// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/carrier/service.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <string>
#include <system_error>

#include "base/assert.h"
#include "base/clock.h"
#include "run/transport/carrier/failed.h"
#include "run/transport/carrier/waker.h"

namespace tutti::transport::carrier {
namespace {

// A rank that attends comes back from one call to the next in less. A program that leaves the
// library waits so long for its service at most; naps of this length cost the thread 0.5 % of a
// processor.
constexpr long kAwayNs = 1'000'000;

// The service's own fds: pipe and timer.
constexpr size_t kFdsMax = kWaitFdsMax + 2;

}  // namespace

uint64_t Service::now_ns() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<uint64_t>(time.tv_sec) * kNsPerSecond + static_cast<uint64_t>(time.tv_nsec);
}

Result<Done> Service::open_pipe() {
    std::array<int, 2> ends{-1, -1};
    if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return failed("pipe");
    pipe_reader_ = Fd(ends[0]);
    const Fd writer(ends[1]);
    // With a reading end of its own: who writes into a pipe that nobody reads is killed.
    const std::string path = "/proc/self/fd/" + std::to_string(writer.get());
    pipe_writer_ = Fd(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
    if (pipe_writer_.get() < 0) return failed(path);
    return Done{};
}

Result<Done> Service::watch(int fd, uint32_t events) {
    epoll_event event{};
    event.events = events;
    event.data.fd = fd;
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return failed("epoll_ctl");
    return Done{};
}

Result<Done> Service::start(Work& work, std::mutex& lock, std::span<const WaitFd> watched) {
    TUTTI_ASSERT(watched.size() <= kWaitFdsMax, "all fds have room where the thread sleeps");
    if (const auto opened = open_pipe(); !opened) return opened.error();
    timer_ = Fd(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    if (timer_.get() < 0) return failed("timerfd_create");
    epoll_ = Fd(epoll_create1(EPOLL_CLOEXEC));
    if (epoll_.get() < 0) return failed("epoll_create1");
    watched_.assign(watched.begin(), watched.end());
    std::vector<int> fds{pipe_reader_.get(), timer_.get()};
    for (const WaitFd& one : watched) fds.push_back(one.fd);
    for (const int fd : fds) {
        if (const auto added = watch(fd, EPOLLIN); !added) return added.error();
    }
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::string trouble;
    try {
        thread_ = std::thread([this, &work, &lock] { run(work, lock); });
        pthread_setname_np(thread_.native_handle(), "tutti-mcast");
    } catch (const std::system_error& error) {
        trouble = error.what();
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (!trouble.empty()) {
        return Error{ErrorCode::kSystem, "multicast: the service thread: " + trouble};
    }
    return Done{};
}

void Service::stop() {
    if (!thread_.joinable()) return;
    is_stopping_.store(true);
    ring();
    thread_.join();
}

void Service::abandon() {
    if (thread_.joinable()) thread_.detach();
}

void Service::ring() const { PipeWaker(pipe_writer_.get()).wake(); }

void Service::run(Work& work, std::mutex& lock) {
    while (sleep()) {
        while (!is_stopping_.load()) {
            is_away_.store(true, std::memory_order_relaxed);
            if (stays_away()) continue;
            is_away_.store(false, std::memory_order_relaxed);
            // Let go between turns: others want to join, leave and look.
            const std::lock_guard guard(lock);
            const bool is_attended = is_attended_.load();
            if (is_attended && !has_seen_work_) continue;
            const Turn turn = work.turn();
            // What it waits for may be there now.
            if (is_attended) ring();
            if (turn.has_more) continue;
            prepare_sleep(turn);
            break;
        }
    }
}

// Something has waited for a nap beside a rank that attends, and has done nothing.
bool Service::must_help() {
    const uint64_t turns = turns_attended_.load(std::memory_order_relaxed);
    const bool is_idle = turns == turns_seen_;
    const bool had_work = has_seen_work_;
    turns_seen_ = turns;
    has_seen_work_ = is_attended_.load() && has_work();
    return is_idle && had_work && has_seen_work_;
}

bool Service::has_work() const {
    const auto room = static_cast<short>(watches_room_ ? POLLOUT : 0);
    std::array<pollfd, kFdsMax> all{{{pipe_reader_.get(), POLLIN, 0}, {timer_.get(), POLLIN, 0}}};
    size_t count = 2;
    for (const WaitFd& one : watched_) {
        const auto events = static_cast<short>(POLLIN | (one.is_for_room ? room : 0));
        all[count++] = {one.fd, events, 0};
    }
    return ::poll(all.data(), count, 0) > 0;
}

// After a nap, if a rank attends, or did a moment ago: then it is likely to come again, and nobody
// rings.
bool Service::stays_away() {
    const bool is_attended = is_attended_.load();
    if (!is_attended && now_ns() >= away_until_ns_.load(std::memory_order_relaxed)) return false;
    pollfd pipe{pipe_reader_.get(), POLLIN, 0};
    const timespec nap{0, kAwayNs};
    const int rung = ppoll(&pipe, is_attended ? 0 : 1, &nap, nullptr);
    wakeups_.fetch_add(1, std::memory_order_relaxed);
    return rung == 0 && !must_help();
}

// Until something happens. False: it is over.
bool Service::sleep() {
    wait(-1);
    wakeups_.fetch_add(1, std::memory_order_relaxed);
    return !is_stopping_.load();
}

void Service::wait(int ms_max) {
    std::array<epoll_event, kFdsMax> events;
    const int count =
        epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), ms_max);
    TUTTI_ASSERT(count >= 0 || errno == EINTR, "epoll_wait waits");
    std::array<char, 64> bytes{};
    for (int i = 0; i < count; ++i) {
        if (events[static_cast<size_t>(i)].data.fd != pipe_reader_.get()) continue;
        while (read(pipe_reader_.get(), bytes.data(), bytes.size()) > 0) continue;
    }
}

namespace {
// Whole ones: finer times of epoll take a system call that older kernels do not have.
int ms_until(uint64_t end_ns) {
    constexpr uint64_t kNsPerMs = 1'000'000;
    const uint64_t begin_ns = Service::now_ns();
    if (begin_ns >= end_ns) return 0;
    return static_cast<int>((end_ns - begin_ns + kNsPerMs - 1) / kNsPerMs);
}
}  // namespace

void Service::wait_for(int fd, uint64_t end_ns) {
    pollfd one{fd, POLLIN, 0};
    ::poll(&one, 1, ms_until(end_ns));
}

void Service::attend(uint64_t end_ns, int also) {
    int ms_max = ms_until(end_ns);
    if (also >= 0) {
        std::array<pollfd, 2> both{{{epoll_.get(), POLLIN, 0}, {also, POLLIN, 0}}};
        ::poll(both.data(), both.size(), ms_max);
        ms_max = 0;
    }
    wait(ms_max);
}

void Service::end_attendance(const Turn& turn) {
    away_until_ns_.store(now_ns() + kAwayNs, std::memory_order_relaxed);
    turns_attended_.fetch_add(1, std::memory_order_relaxed);
    is_attended_.store(false);
    hand_over(turn);
}

void Service::prepare_sleep(const Turn& turn) {
    set_timer(turn.deadline_ns);
    watch_room(turn.wants_to_send);
}

void Service::watch_room(bool is_wanted) {
    if (is_wanted == watches_room_) return;
    watches_room_ = is_wanted;
    epoll_event event{};
    event.events = EPOLLIN | (watches_room_ ? static_cast<uint32_t>(EPOLLOUT) : 0);
    for (const WaitFd& one : watched_) {
        if (!one.is_for_room) continue;
        event.data.fd = one.fd;
        epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, one.fd, &event);
    }
}

// Setting it again makes it unreadable, so nobody need read it.
void Service::set_timer(uint64_t deadline_ns) {
    if (deadline_ns == timer_ns_) return;
    timer_ns_ = deadline_ns;
    itimerspec when{};
    if (deadline_ns != mcast::kNever) {
        when.it_value.tv_sec = static_cast<time_t>(deadline_ns / kNsPerSecond);
        when.it_value.tv_nsec = static_cast<long>(deadline_ns % kNsPerSecond);
    }
    timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
}

// A timer that is due too early is left alone: the thread will find out once, which is cheaper than
// to set it after each of many turns.
void Service::hand_over(const Turn& turn) {
    if (turn.has_more) return ring();
    if (turn.deadline_ns < timer_ns_ || timer_ns_ <= now_ns()) set_timer(turn.deadline_ns);
    watch_room(turn.wants_to_send);
}

}  // namespace tutti::transport::carrier
