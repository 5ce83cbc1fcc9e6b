// SPDX-License-Identifier: BSD-3-Clause
#include "cli/tune_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <thread>
#include <vector>

#include "base/assert.h"

namespace tutti::cli {
namespace {

using survey::Experiment;

constexpr uint32_t kNobody = UINT32_MAX;
constexpr uint32_t kSend = 0;
constexpr uint32_t kReceive = 1;
// A transfer that was too slow, among those that max_in_place() gathers.
constexpr double kTooLong = 1e300;

// What the first tells all before each experiment; no transfers: that was the last.
struct Order {
    uint64_t bytes = 0;
    uint32_t round_trips = 0;
    uint32_t transfers = 0;
};

// What this rank has to do, by ranks.
struct Part {
    uint32_t to = kNobody;
    uint32_t from = kNobody;
    size_t sent = 0;  // which transfer that is
    size_t received = 0;
};

class Player {
  public:
    Player(BenchMpi& mpi, std::span<const uint32_t> rank_of_host, const SurveyTimes& times,
           Clock& clock, SurveyBuffers& buffers)
        : mpi_(mpi),
          rank_of_host_(rank_of_host),
          times_(times),
          clock_(clock),
          send_(buffers.send),
          receive_(buffers.receive) {}

    // Every rank: the order's times, the same on all; by transfer. kTooLong: none came. An error on
    // one is one on all.
    Result<std::vector<double>> play(const Order& order, std::span<const survey::Transfer> list) {
        Part part;
        const uint32_t own = mpi_.place().rank;
        for (size_t i = 0; i < list.size(); ++i) {
            if (rank_of_host_[list[i].from] == own) {
                part.to = rank_of_host_[list[i].to];
                part.sent = i;
            }
            if (rank_of_host_[list[i].to] == own) {
                part.from = rank_of_host_[list[i].from];
                part.received = i;
            }
        }
        if (part.to != kNobody || part.from != kNobody) {
            TUTTI_ASSERT(order.bytes <= send_.size(), "what is sent lies in the buffer");
            TUTTI_ASSERT(order.bytes <= receive_.size(), "what comes fits the buffer");
        }
        // The last one: who gave up, counted from 1; 0: nobody.
        std::vector<double> ns(list.size() + 1, 0);
        const Result<Done> done =
            order.round_trips > 0 ? go_round(order, part, ns) : transfer(order.bytes, part, ns);
        if (!done) ns.back() = own + 1.0;
        mpi_.max_in_place(ns.data(), ns.size());
        if (!done) return done.error();
        if (ns.back() > 0) return gave_up(static_cast<uint32_t>(ns.back()) - 1);
        ns.pop_back();
        return ns;
    }

  private:
    Result<Done> transfer(uint64_t bytes, const Part& part, std::vector<double>& ns) {
        if (part.from != kNobody) mpi_.start_recv(kReceive, receive_.data(), bytes, part.from);
        mpi_.barrier();
        const uint64_t start_ns = clock_.now_ns();
        if (part.to != kNobody) mpi_.start_send(kSend, send_.data(), bytes, part.to);
        bool is_sent = part.to == kNobody;
        bool is_received = part.from == kNobody;
        while (!is_sent || !is_received) {
            if (!is_received && mpi_.is_done(kReceive)) {
                is_received = true;
                ns[part.received] = counted(clock_.now_ns() - start_ns);
            }
            if (!is_sent) is_sent = mpi_.is_done(kSend);
            if (gives_up(start_ns)) return late(is_received ? part.to : part.from);
            std::this_thread::yield();
        }
        return Done{};
    }

    // The sender of the pair begins and takes the times; the other one answers.
    Result<Done> go_round(const Order& order, const Part& part, std::vector<double>& ns) {
        mpi_.barrier();
        const uint64_t start_ns = clock_.now_ns();
        std::vector<double> trips;
        for (uint32_t trip = 0; trip < order.round_trips; ++trip) {
            const uint64_t trip_ns = clock_.now_ns();
            if (part.to != kNobody) {
                mpi_.start_send(kSend, send_.data(), order.bytes, part.to);
                mpi_.start_recv(kReceive, receive_.data(), order.bytes, part.to);
                if (!wait(kReceive, start_ns) || !wait(kSend, start_ns)) return late(part.to);
                trips.push_back(counted(clock_.now_ns() - trip_ns));
            } else if (part.from != kNobody) {
                mpi_.start_recv(kReceive, receive_.data(), order.bytes, part.from);
                if (!wait(kReceive, start_ns)) return late(part.from);
                mpi_.start_send(kSend, send_.data(), order.bytes, part.from);
                if (!wait(kSend, start_ns)) return late(part.from);
            }
        }
        if (part.to != kNobody) ns[part.sent] = survey::median(std::move(trips));
        return Done{};
    }

    bool wait(uint32_t number, uint64_t start_ns) {
        while (!mpi_.is_done(number)) {
            if (gives_up(start_ns)) return false;
            std::this_thread::yield();
        }
        return true;
    }

    [[nodiscard]] double counted(uint64_t ns) const {
        return ns > times_.transfer_ns_max ? kTooLong : std::max(1.0, static_cast<double>(ns));
    }
    [[nodiscard]] bool gives_up(uint64_t start_ns) const {
        return clock_.now_ns() - start_ns > times_.patience * times_.transfer_ns_max;
    }
    [[nodiscard]] static Error gave_up(uint32_t rank) {
        return {ErrorCode::kNetwork, fmt::format("rank {} gave up waiting for a message", rank)};
    }
    [[nodiscard]] Error late(uint32_t peer) const {
        return {ErrorCode::kNetwork,
                fmt::format("rank {}: nothing from or to rank {} for {} s", mpi_.place().rank, peer,
                            times_.patience * times_.transfer_ns_max / 1'000'000'000)};
    }

    BenchMpi& mpi_;
    std::span<const uint32_t> rank_of_host_;
    const SurveyTimes& times_;
    Clock& clock_;
    std::vector<std::byte>& send_;
    std::vector<std::byte>& receive_;
};

std::vector<uint64_t> as_times(const std::vector<double>& ns) {
    std::vector<uint64_t> times;
    for (const double time : ns) {
        times.push_back(time < kTooLong && time > 0 ? static_cast<uint64_t>(time)
                                                    : survey::kMissingNs);
    }
    return times;
}

}  // namespace

Result<survey::Found> tune_groups(BenchMpi& mpi, std::span<const uint32_t> rank_of_host,
                                  const survey::Limits& limits, const SurveyTimes& times,
                                  Clock& clock, SurveyBuffers& buffers) {
    TUTTI_ASSERT(!rank_of_host.empty(), "a host has a rank");
    const uint32_t own = mpi.place().rank;
    const uint32_t first = rank_of_host.front();
    std::optional<survey::Survey> survey;  // of the one that decides
    if (own == first) {
        survey::Limits counted = limits;
        counted.missing_ns = std::max(limits.missing_ns, times.transfer_ns_max);
        survey.emplace(static_cast<uint32_t>(rank_of_host.size()), counted);
    }
    if (std::ranges::find(rank_of_host, own) != rank_of_host.end()) {
        // Written once, so that no page is first touched while time is taken.
        const size_t bytes = std::max<size_t>(limits.bytes_max, sizeof(uint64_t));
        buffers.send.assign(bytes, std::byte{1});
        buffers.receive.assign(bytes, std::byte{0});
    }
    Player player(mpi, rank_of_host, times, clock, buffers);
    std::vector<survey::Transfer> list;
    for (;;) {
        Order order;
        if (survey) {
            if (const Experiment* next = survey->next()) {
                list = next->transfers;
                order = {next->bytes, next->round_trips, static_cast<uint32_t>(list.size())};
            }
        }
        mpi.bcast(&order, sizeof(order), first);
        if (order.transfers == 0) break;
        list.resize(order.transfers);
        mpi.bcast(list.data(), list.size() * sizeof(survey::Transfer), first);
        const Result<std::vector<double>> ns = player.play(order, list);
        if (!ns) return ns.error();
        if (survey) survey->take(as_times(ns.value()));
    }
    return survey ? survey->found() : survey::Found();
}

}  // namespace tutti::cli
