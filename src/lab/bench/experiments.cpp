// SPDX-License-Identifier: BSD-3-Clause
#include "lab/bench/experiments.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "base/assert.h"

namespace tutti::bench {
namespace {

using survey::Experiment;

constexpr uint32_t kNobody = UINT32_MAX;
constexpr uint32_t kSend = 0;
constexpr uint32_t kReceive = 1;
// A transfer that was too slow, among those that max_in_place() gathers.
constexpr double kTooLong = 1e300;
// A message that has not left by then waits to be asked for: so long, and as long again as a round
// trip of the same bytes would take at 1 Gbit/s.
constexpr uint64_t kUnaskedNs = 20'000'000;

Error gave_up(uint32_t rank) {
    return {ErrorCode::kNetwork, fmt::format("rank {} gave up waiting for a message", rank)};
}

std::vector<uint64_t> as_times(const std::vector<double>& ns) {
    std::vector<uint64_t> times;
    for (const double time : ns) {
        times.push_back(time < kTooLong && time > 0 ? static_cast<uint64_t>(time)
                                                    : survey::kMissingNs);
    }
    return times;
}

}  // namespace

// What the first tells all before each experiment; no transfers: that was the last.
struct Experiments::Order {
    Experiment::Kind kind = Experiment::Kind::kTransfers;
    uint64_t bytes = 0;
    uint32_t times = 0;
    uint32_t transfers = 0;
};

// What this rank has to do, by ranks.
struct Experiments::Part {
    uint32_t to = kNobody;
    uint32_t from = kNobody;
    size_t sent = 0;  // which transfer that is
    size_t received = 0;
};

Experiments::Experiments(BenchMpi& mpi, std::span<const uint32_t> rank_of_host, uint64_t bytes_max,
                         const SurveyTimes& times, Clock& clock, SurveyBuffers& buffers,
                         std::function<void()> before_each)
    : mpi_(mpi),
      rank_of_host_(rank_of_host),
      times_(times),
      clock_(clock),
      send_(buffers.send),
      receive_(buffers.receive),
      before_each_(std::move(before_each)) {
    TUTTI_ASSERT(!rank_of_host.empty(), "a host has a rank");
    if (std::ranges::find(rank_of_host, mpi.place().rank) == rank_of_host.end()) return;
    // Written once, so that no page is first touched while time is taken.
    const size_t bytes = std::max<size_t>(bytes_max, sizeof(uint64_t));
    buffers.send.assign(bytes, std::byte{1});
    buffers.receive.assign(bytes, std::byte{0});
}

Result<std::vector<uint64_t>> Experiments::make(const Experiment& experiment) {
    Order order{experiment.kind, experiment.bytes, experiment.round_trips,
                static_cast<uint32_t>(experiment.transfers.size())};
    TUTTI_ASSERT(order.transfers > 0, "an experiment has transfers");
    mpi_.bcast(&order, sizeof(order), rank_of_host_.front());
    std::vector<survey::Transfer> list = experiment.transfers;
    mpi_.bcast(list.data(), list.size() * sizeof(survey::Transfer), rank_of_host_.front());
    const auto ns = play(order, list);
    if (!ns) return ns.error();
    return as_times(ns.value());
}

void Experiments::end() {
    Order order;
    mpi_.bcast(&order, sizeof(order), rank_of_host_.front());
}

Result<Done> Experiments::serve() {
    std::vector<survey::Transfer> list;
    for (;;) {
        Order order;
        mpi_.bcast(&order, sizeof(order), rank_of_host_.front());
        if (order.transfers == 0) return Done{};
        list.resize(order.transfers);
        mpi_.bcast(list.data(), list.size() * sizeof(survey::Transfer), rank_of_host_.front());
        const auto ns = play(order, list);
        if (!ns) return ns.error();
    }
}

Experiments::Part Experiments::part_of(std::span<const survey::Transfer> list) const {
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
    return part;
}

// Every rank: the times by transfer, the same on all; kTooLong: none came. An error on one is one
// on all.
Result<std::vector<double>> Experiments::play(const Order& order,
                                              std::span<const survey::Transfer> list) {
    before_each_();
    const Part part = part_of(list);
    if (part.to != kNobody || part.from != kNobody) {
        TUTTI_ASSERT(order.bytes <= send_.size(), "what is sent lies in the buffer");
        TUTTI_ASSERT(order.bytes <= receive_.size(), "what comes fits the buffer");
    }
    // The last one: who gave up, counted from 1; 0: nobody.
    std::vector<double> ns(list.size() + 1, 0);
    const auto run = [&]() -> Result<Done> {
        switch (order.kind) {
            case Experiment::Kind::kRoundTrips:
                return go_round(order, part, ns);
            case Experiment::Kind::kPosts:
                return post(order, part, ns);
            case Experiment::Kind::kUnasked:
                return send_unasked(order, part, ns);
            case Experiment::Kind::kStreams:
                return transfer(order, part, survey::kPieceBytes, ns);
            default:
                return transfer(order, part, order.bytes, ns);
        }
    };
    const Result<Done> done = run();
    if (!done) ns.back() = mpi_.place().rank + 1.0;
    mpi_.max_in_place(ns.data(), ns.size());
    if (!done) return done.error();
    if (ns.back() > 0) return gave_up(static_cast<uint32_t>(ns.back()) - 1);
    ns.pop_back();
    return ns;
}

Result<Done> Experiments::transfer(const Order& order, const Part& part, uint64_t piece,
                                   std::vector<double>& ns) {
    const auto pieces = static_cast<uint32_t>((order.bytes + piece - 1) / piece);
    TUTTI_ASSERT(2 * pieces <= BenchMpi::kMessagesMax, "each piece has a number");
    const auto length = [&](uint32_t i) { return std::min(piece, order.bytes - i * piece); };
    const uint32_t sends = part.to == kNobody ? 0 : pieces;
    const uint32_t receives = part.from == kNobody ? 0 : pieces;
    for (uint32_t i = 0; i < receives; ++i) {
        mpi_.start_recv(2 * i + kReceive, receive_.data() + i * piece, length(i), part.from);
    }
    mpi_.barrier();
    const uint64_t start_ns = clock_.now_ns();
    for (uint32_t i = 0; i < sends; ++i) {
        mpi_.start_send(2 * i + kSend, send_.data() + i * piece, length(i), part.to);
    }
    uint32_t sent = 0;
    uint32_t received = 0;
    while (sent < sends || received < receives) {
        if (received < receives && mpi_.is_done(2 * received + kReceive) &&
            ++received == receives) {
            ns[part.received] = counted(clock_.now_ns() - start_ns);
        }
        if (sent < sends && mpi_.is_done(2 * sent + kSend)) ++sent;
        if (gives_up(start_ns)) return late(received == receives ? part.to : part.from);
        std::this_thread::yield();
    }
    return Done{};
}

// The sender of the pair begins and takes the times; the other one answers.
Result<Done> Experiments::go_round(const Order& order, const Part& part, std::vector<double>& ns) {
    mpi_.barrier();
    const uint64_t start_ns = clock_.now_ns();
    std::vector<double> trips;
    for (uint32_t trip = 0; trip < order.times; ++trip) {
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

Result<Done> Experiments::post(const Order& order, const Part& part, std::vector<double>& ns) {
    mpi_.barrier();
    const uint64_t start_ns = clock_.now_ns();
    std::vector<double> posts;
    for (uint32_t message = 0; message < order.times; ++message) {
        if (part.from != kNobody) {
            mpi_.start_recv(kReceive, receive_.data(), order.bytes, part.from);
        }
        if (part.to != kNobody) {
            const uint64_t post_ns = clock_.now_ns();
            mpi_.start_send(kSend, send_.data(), order.bytes, part.to);
            if (!wait(kSend, start_ns)) return late(part.to);
            posts.push_back(counted(clock_.now_ns() - post_ns));
        }
        if (part.from != kNobody && !wait(kReceive, start_ns)) return late(part.from);
    }
    if (part.to != kNobody) ns[part.sent] = survey::median(std::move(posts));
    return Done{};
}

// While the sender looks, the receiver is in a barrier, in which its MPI takes in what comes
// unasked.
Result<Done> Experiments::send_unasked(const Order& order, const Part& part,
                                       std::vector<double>& ns) {
    mpi_.barrier();
    const uint64_t start_ns = clock_.now_ns();
    if (part.to != kNobody) {
        mpi_.start_send(kSend, send_.data(), order.bytes, part.to);
        const uint64_t patience_ns = kUnaskedNs + 16 * order.bytes;
        bool has_left = mpi_.is_done(kSend);
        while (!has_left && clock_.now_ns() - start_ns < patience_ns) {
            std::this_thread::yield();
            has_left = mpi_.is_done(kSend);
        }
        ns[part.sent] = has_left ? counted(clock_.now_ns() - start_ns) : kTooLong;
    }
    mpi_.barrier();
    if (part.from != kNobody) {
        mpi_.start_recv(kReceive, receive_.data(), order.bytes, part.from);
        if (!wait(kReceive, start_ns)) return late(part.from);
    }
    if (part.to != kNobody && !wait(kSend, start_ns)) return late(part.to);
    return Done{};
}

bool Experiments::wait(uint32_t number, uint64_t start_ns) {
    while (!mpi_.is_done(number)) {
        if (gives_up(start_ns)) return false;
        std::this_thread::yield();
    }
    return true;
}

double Experiments::counted(uint64_t ns) const {
    return ns > times_.transfer_ns_max ? kTooLong : std::max(1.0, static_cast<double>(ns));
}

bool Experiments::gives_up(uint64_t start_ns) const {
    return clock_.now_ns() - start_ns > times_.patience * times_.transfer_ns_max;
}

Error Experiments::late(uint32_t peer) const {
    return {ErrorCode::kNetwork,
            fmt::format("rank {}: nothing from or to rank {} for {} s", mpi_.place().rank, peer,
                        times_.patience * times_.transfer_ns_max / kNsPerSecond)};
}

Result<survey::Found> find_groups(Experiments& experiments, uint32_t hosts,
                                  const survey::Limits& limits, const SurveyTimes& times) {
    survey::Limits counted = limits;
    counted.missing_ns = std::max(limits.missing_ns, times.transfer_ns_max);
    survey::Survey survey(hosts, counted);
    while (const Experiment* next = survey.next()) {
        const auto ns = experiments.make(*next);
        if (!ns) return ns.error();
        survey.take(ns.value());
    }
    return survey.found();
}

}  // namespace tutti::bench
