// SPDX-License-Identifier: BSD-3-Clause
#include "lab/bench/bench_skew.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/text.h"
#include "run/arena/process.h"

namespace tutti::bench {
namespace {

using std::chrono::nanoseconds;

// Of the messages between rank 0 and a host; between two ranks they come in order.
enum Number : uint32_t { kTurn = 0, kAsk = 1, kAnswer = 2 };
// The first wakes the other up; one in some finds both at work and nobody between them.
constexpr uint32_t kTrips = 64;
constexpr uint32_t kPollsBeforeYield = 200;
constexpr auto kNap = std::chrono::microseconds(100);
// A sleeper is woken so much too late at most, on a machine with nothing else to do.
constexpr uint64_t kSpinNs = 200'000;

void wait_done(BenchMpi& mpi, uint32_t number) {
    for (uint32_t polls = 0; !mpi.is_done(number);) {
        // The other one may be waiting for this processor.
        if (++polls > kPollsBeforeYield) sched_yield();
    }
}

// For those who have time, and leave the processors to those who have not.
void doze_until_done(BenchMpi& mpi, uint32_t number) {
    while (!mpi.is_done(number)) std::this_thread::sleep_for(kNap);
}

void send(BenchMpi& mpi, uint32_t number, uint64_t word, uint32_t to) {
    mpi.start_send(number, &word, sizeof word, to);
    wait_done(mpi, number);
}

uint64_t recv(BenchMpi& mpi, uint32_t number, uint32_t from) {
    uint64_t word = 0;
    mpi.start_recv(number, &word, sizeof word, from);
    wait_done(mpi, number);
    return word;
}

// Rank 0, for one host after the other; then all may go on.
void answer_all(BenchMpi& mpi, const RanksOfHosts& hosts) {
    for (uint32_t host = 1; host < hosts.count(); ++host) {
        const uint32_t rank = hosts.first_rank[host];
        send(mpi, kTurn, 0, rank);
        for (uint32_t trip = 0; trip < kTrips; ++trip) {
            recv(mpi, kAsk, rank);
            send(mpi, kAnswer, monotonic_ns(), rank);
        }
    }
    for (uint32_t rank = 1; rank < mpi.place().size; ++rank) send(mpi, kTurn, 0, rank);
}

void doze_until_told(BenchMpi& mpi) {
    uint64_t word = 0;
    mpi.start_recv(kTurn, &word, sizeof word, 0);
    doze_until_done(mpi, kTurn);
}

adapt::ClockReading ask(BenchMpi& mpi) {
    adapt::ClockOffset offset;
    doze_until_told(mpi);
    for (uint32_t trip = 0; trip < kTrips; ++trip) {
        const uint64_t sent_ns = monotonic_ns();
        send(mpi, kAsk, trip, 0);
        const uint64_t answered_ns = recv(mpi, kAnswer, 0);
        offset.add({sent_ns, answered_ns, monotonic_ns()});
    }
    return *offset.reading();
}

}  // namespace

std::string most_text(uint64_t most_ns) { return most_ns == 0 ? "0" : format_duration(most_ns); }

uint64_t monotonic_ns() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<uint64_t>(std::chrono::duration_cast<nanoseconds>(now).count());
}

RanksOfHosts hosts_of(BenchMpi& mpi) {
    const uint64_t own = arena::hash_text(mpi.host_name(), arena::node_hash());
    std::vector<uint64_t> all(mpi.place().size);
    mpi.gather_all(&own, sizeof own, all.data());
    RanksOfHosts hosts;
    for (uint32_t rank = 0; rank < all.size(); ++rank) {
        const auto same = [&](uint32_t first) { return all[first] == all[rank]; };
        const auto found = std::find_if(hosts.first_rank.begin(), hosts.first_rank.end(), same);
        hosts.host_of_rank.push_back(static_cast<uint32_t>(found - hosts.first_rank.begin()));
        if (found == hosts.first_rank.end()) hosts.first_rank.push_back(rank);
    }
    return hosts;
}

adapt::ClockReading read_clock(BenchMpi& mpi, const RanksOfHosts& hosts) {
    const RankOfSize place = mpi.place();
    adapt::ClockReading own{monotonic_ns(), 0, 0};
    if (place.rank == 0) {
        answer_all(mpi, hosts);
    } else {
        const uint32_t host = hosts.host_of_rank[place.rank];
        if (host > 0 && hosts.first_rank[host] == place.rank) own = ask(mpi);
        doze_until_told(mpi);
    }
    return own;
}

uint64_t clock_error_ns(std::span<const adapt::ClockLine> by_host) {
    uint64_t most = 0;
    uint64_t second = 0;
    for (const adapt::ClockLine& line : by_host) {
        second = std::max(second, std::min(most, line.error_ns()));
        most = std::max(most, line.error_ns());
    }
    return most + second;
}

SkewedCalls::SkewedCalls(BenchMpi& mpi, const RanksOfHosts& hosts, const adapt::Delays& delays,
                         bool crowded)
    : mpi_(mpi),
      hosts_(hosts),
      delays_(delays),
      crowded_(crowded),
      rank_(mpi.place().rank),
      host_(hosts.host_of_rank[rank_]),
      before_(read_clock(mpi, hosts)),
      origin_ns_(monotonic_ns()) {
    mpi_.bcast(&origin_ns_, sizeof origin_ns_, 0);
}

void SkewedCalls::end() {
    struct Readings {
        adapt::ClockReading before;
        adapt::ClockReading after;
    };
    const Readings own{before_, read_clock(mpi_, hosts_)};
    std::vector<Readings> all(mpi_.place().size);
    mpi_.gather_all(&own, sizeof own, all.data());
    for (const uint32_t rank : hosts_.first_rank) {
        clocks_.emplace_back(all[rank].before, all[rank].after);
    }
}

// Where ranks outnumber cores, whoever spins keeps others from entering in time.
void SkewedCalls::wait(uint64_t call, uint64_t ready_ns) const {
    const uint64_t delay_ns = delays_.delay_ns(call, rank_, host_);
    if (crowded_ && delay_ns > 0) {
        std::this_thread::sleep_for(nanoseconds(delay_ns));
    } else if (delay_ns > kSpinNs) {
        std::this_thread::sleep_for(nanoseconds(delay_ns - kSpinNs));
    }
    while (monotonic_ns() - ready_ns < delay_ns) {
    }
}

std::vector<double> SkewedCalls::late_s(std::span<const Stay> stays) const {
    std::vector<double> seconds;
    for (const Stay& stay : stays) {
        seconds.push_back(static_cast<double>(stay.entered_ns - stay.ready_ns) / 1e9);
    }
    mpi_.max_in_place(seconds.data(), seconds.size());
    return seconds;
}

std::vector<double> SkewedCalls::delays_s(std::span<const Stay> stays) const {
    std::vector<double> last_ns;  // arrivals, then exits
    for (const Stay& stay : stays) {
        last_ns.push_back(
            static_cast<double>(clocks_[host_].since_ns(stay.entered_ns, origin_ns_)));
    }
    for (const Stay& stay : stays) {
        last_ns.push_back(static_cast<double>(clocks_[host_].since_ns(stay.left_ns, origin_ns_)));
    }
    mpi_.max_in_place(last_ns.data(), last_ns.size());
    std::vector<double> seconds;
    for (size_t call = 0; call < stays.size(); ++call) {
        seconds.push_back((last_ns[stays.size() + call] - last_ns[call]) / 1e9);
    }
    return seconds;
}

}  // namespace tutti::bench
