// SPDX-License-Identifier: BSD-3-Clause
// A survey over messages between threads, in virtual time: each rank has its own, which a barrier
// sets to the latest of all, and a message to when it comes. So times do not depend on the machine.
#include "lab/bench/experiments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace tutti::bench {
namespace {

constexpr uint32_t kRanks = 8;
constexpr uint32_t kNobody = UINT32_MAX;
constexpr uint32_t kHosts = 6;
// Ranks 1 and 6 share a host with another.
const std::vector<uint32_t> kRankOfHost{0, 2, 3, 4, 5, 7};

// How long a message is under way, behind those before it; nullopt: it never comes.
using Way = std::function<std::optional<uint64_t>(uint32_t from, uint32_t to, size_t bytes)>;

struct Message {
    uint64_t arrives_ns = 0;
    std::vector<std::byte> bytes;
};

// What the threads have in common.
struct Room {
    Way way;
    std::mutex mutex;  // over all that follows, but for the board and the maxima between barriers
    std::condition_variable changed;
    std::map<std::pair<uint32_t, uint32_t>, std::deque<Message>> mail;  // from, to
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> busy_until_ns;
    uint64_t messages = 0;
    size_t longest = 0;
    std::vector<uint32_t> waits_for = std::vector<uint32_t>(kRanks, kNobody);
    std::vector<uint8_t> meets = std::vector<uint8_t>(kRanks);
    uint64_t meetings = 0;
    uint64_t latest_ns = 0;
    uint64_t met_ns = 0;
    std::vector<std::byte> board;
    std::vector<double> most;

    // All ranks are in the barrier or wait for a message that was not sent: then only time goes on.
    [[nodiscard]] bool is_stuck() const {
        for (uint32_t rank = 0; rank < kRanks; ++rank) {
            if (meets[rank]) continue;
            if (waits_for[rank] == kNobody) return false;
            const auto waiting = mail.find({waits_for[rank], rank});
            if (waiting != mail.end() && !waiting->second.empty()) return false;
        }
        return true;
    }
};

class ThreadMpi final : public BenchMpi, public Clock {
  public:
    ThreadMpi(Room& room, uint32_t rank) : room_(room), rank_(rank) {}
    uint64_t now_ns() override { return now_ns_; }
    RankOfSize place() const override { return {rank_, kRanks}; }
    bool has_tutti() const override { return false; }
    std::string library_version() override { return "threads"; }
    double run(Side, bool, const Batch&, const BatchBuffers&) override { return 0; }
    std::string force(tutti_collective, uint64_t, const std::string&) override { return {}; }
    void finalize() override {}
    std::string host_name() override { return {}; }
    void gather_all(const void*, size_t, void*) override {}

    void barrier() override {
        std::unique_lock lock(room_.mutex);
        room_.latest_ns = std::max(room_.latest_ns, now_ns_);
        room_.meets[rank_] = 1;
        const uint64_t meeting = room_.meetings;
        if (std::ranges::count(room_.meets, 1) == kRanks) {
            ++room_.meetings;
            room_.meets.assign(kRanks, 0);
            room_.met_ns = room_.latest_ns;
        }
        room_.changed.notify_all();
        room_.changed.wait(lock, [&] { return room_.meetings != meeting; });
        now_ns_ = room_.met_ns;
    }
    void bcast(void* data, size_t bytes, uint32_t root) override {
        const auto* own = static_cast<const std::byte*>(data);
        if (rank_ == root) room_.board.assign(own, own + bytes);
        barrier();
        std::memcpy(data, room_.board.data(), bytes);
        barrier();
    }
    void max_in_place(double* values, size_t count) override {
        {
            const std::lock_guard lock(room_.mutex);
            room_.most.resize(count, 0);
            for (size_t i = 0; i < count; ++i) {
                room_.most[i] = std::max(room_.most[i], values[i]);
            }
        }
        barrier();
        std::copy(room_.most.begin(), room_.most.end(), values);
        barrier();
        if (rank_ == 0) {
            const std::lock_guard lock(room_.mutex);
            room_.most.clear();
        }
        barrier();
    }
    void start_send(uint32_t number, const void* data, size_t bytes, uint32_t to) override {
        const std::lock_guard lock(room_.mutex);
        from_[number] = kNobody;
        ++room_.messages;
        room_.longest = std::max(room_.longest, bytes);
        const std::optional<uint64_t> way_ns = room_.way(rank_, to, bytes);
        if (!way_ns) return;
        const auto* own = static_cast<const std::byte*>(data);
        uint64_t& busy_until_ns = room_.busy_until_ns[{rank_, to}];
        busy_until_ns = std::max(now_ns_, busy_until_ns) + *way_ns;
        room_.mail[{rank_, to}].push_back({busy_until_ns, {own, own + bytes}});
        room_.changed.notify_all();
    }
    void start_recv(uint32_t number, void* data, size_t, uint32_t from) override {
        from_[number] = from;
        data_[number] = data;
    }
    bool is_done(uint32_t number) override {
        if (from_[number] == kNobody) return true;
        std::unique_lock lock(room_.mutex);
        std::deque<Message>& waiting = room_.mail[{from_[number], rank_}];
        room_.waits_for[rank_] = from_[number];
        room_.changed.notify_all();
        room_.changed.wait(lock, [&] { return !waiting.empty() || room_.is_stuck(); });
        room_.waits_for[rank_] = kNobody;
        if (waiting.empty()) {
            now_ns_ += kNsPerSecond;
            return false;
        }
        if (waiting.front().arrives_ns > now_ns_) {
            now_ns_ = waiting.front().arrives_ns;
            return false;
        }
        std::ranges::copy(waiting.front().bytes, static_cast<std::byte*>(data_[number]));
        waiting.pop_front();
        from_[number] = kNobody;
        return true;
    }

  private:
    Room& room_;
    const uint32_t rank_;
    uint64_t now_ns_ = 0;
    std::vector<uint32_t> from_ = std::vector<uint32_t>(kMessagesMax, kNobody);
    void* data_[kMessagesMax]{};
};

struct Outcome {
    std::vector<survey::Found> found = std::vector<survey::Found>(kRanks);
    std::vector<std::string> errors = std::vector<std::string>(kRanks);
    std::vector<SurveyBuffers> buffers = std::vector<SurveyBuffers>(kRanks);
    uint64_t messages = 0;
    size_t longest = 0;
    bool is_mail_left = false;
};

Outcome tune(const Way& way) {
    Room room;
    room.way = way;
    survey::Limits limits;
    limits.bytes_max = limits.bytes_min;
    Outcome outcome;
    std::vector<std::thread> threads;
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
        threads.emplace_back([&, rank] {
            ThreadMpi mpi(room, rank);
            Experiments experiments(mpi, kRankOfHost, limits.bytes_max, {}, mpi,
                                    outcome.buffers[rank]);
            if (!experiments.decides()) {
                const auto served = experiments.serve();
                if (!served) outcome.errors[rank] = served.error().message;
                return;
            }
            auto made = find_groups(experiments, kHosts, limits, {});
            if (!made) {
                outcome.errors[rank] = made.error().message;
                return;
            }
            experiments.end();
            outcome.found[rank] = made.value();
        });
    }
    for (std::thread& thread : threads) thread.join();
    outcome.messages = room.messages;
    outcome.longest = room.longest;
    for (const auto& [who, waiting] : room.mail) outcome.is_mail_left |= !waiting.empty();
    return outcome;
}

// Ranks 0, 3 and 7 are near each other, and 2, 4 and 5; no two pairs' times are the same.
uint64_t near_and_far(uint32_t from, uint32_t to, size_t bytes) {
    const auto is_here = [](uint32_t rank) { return rank == 0 || rank == 3 || rank == 7; };
    const uint64_t latency_ns = is_here(from) == is_here(to) ? 10'000 : 20'000;
    return latency_ns + 50 * from + 10 * to + 10 * bytes;
}

// Were times of one pair taken for another's, near and far would make no groups.
TEST(Experiments, FindsWhoIsNear) {
    const Outcome outcome = tune(near_and_far);
    EXPECT_EQ(outcome.errors, std::vector<std::string>(kRanks));
    const survey::Found& found = outcome.found[0];
    ASSERT_EQ(found.verdict, survey::Found::Verdict::kGroups) << found.reason;
    EXPECT_TRUE(found.is_by_latency);
    EXPECT_FALSE(found.is_by_load);
    const std::vector<uint32_t>& at = found.fabric.switch_of_host;
    ASSERT_EQ(at.size(), kRankOfHost.size());
    EXPECT_NE(at[0], at[1]);
    EXPECT_EQ(at, (std::vector<uint32_t>{at[0], at[1], at[0], at[1], at[1], at[0]}));
    EXPECT_EQ(found.is_placed, std::vector<bool>(6, true));
    EXPECT_EQ(found.is_lost, std::vector<bool>(6, false));
    EXPECT_EQ(found.transfer_bytes, survey::Limits().bytes_min);
    EXPECT_NEAR(static_cast<double>(found.fabric.latency_ns), 10'000, 500);
    EXPECT_NEAR(static_cast<double>(found.fabric.link_bits_per_s(0)), 0.8e9, 0.05e9);
    EXPECT_GT(outcome.messages, 1000u);
    EXPECT_EQ(outcome.longest, survey::kPieceBytes);
    EXPECT_FALSE(outcome.is_mail_left);
}

// Only those who send and receive need buffers, and only one a survey.
TEST(Experiments, RanksWithoutAPartHaveNoBuffers) {
    const Outcome outcome = tune(near_and_far);
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
        const bool has_part = std::ranges::find(kRankOfHost, rank) != kRankOfHost.end();
        EXPECT_EQ(outcome.buffers[rank].send.empty(), !has_part) << rank;
        EXPECT_EQ(outcome.buffers[rank].receive.empty(), !has_part) << rank;
        EXPECT_EQ(outcome.found[rank].experiments > 0, rank == 0) << rank;
    }
}

// Transfers of a host take 6 s: they are missing, and it is lost.
TEST(Experiments, SlowTransfersAreMissing) {
    const Outcome outcome = tune([](uint32_t from, uint32_t to, size_t bytes) {
        const bool is_slow = bytes > sizeof(uint64_t) && (from == 7 || to == 7);
        return near_and_far(from, to, bytes) + (is_slow ? 6 * kNsPerSecond : 0);
    });
    EXPECT_EQ(outcome.errors, std::vector<std::string>(kRanks));
    EXPECT_EQ(outcome.found[0].is_lost, (std::vector<bool>{0, 0, 0, 0, 0, 1}));
    EXPECT_GE(outcome.found[0].longest_ns, 15 * kNsPerSecond);
    EXPECT_LE(outcome.found[0].longest_ns, 65 * kNsPerSecond);
}

// A transfer that is lost: its receiver says whose it was, the others that it gave up.
TEST(Experiments, AllGiveUpWithOne) {
    const Outcome outcome =
        tune([](uint32_t from, uint32_t to, size_t bytes) -> std::optional<uint64_t> {
            if (from == 3 && bytes > sizeof(uint64_t)) return {};
            return near_and_far(from, to, bytes);
        });
    uint32_t late = kNobody;
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
        if (outcome.errors[rank].find("nothing from or to rank 3 for 30 s") == std::string::npos) {
            continue;
        }
        EXPECT_EQ(late, kNobody);
        late = rank;
        EXPECT_FALSE(outcome.buffers[rank].receive.empty());  // a message may still come
    }
    ASSERT_NE(late, kNobody) << outcome.errors[0];
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
        if (rank == late) continue;
        EXPECT_EQ(outcome.errors[rank],
                  "rank " + std::to_string(late) + " gave up waiting for a message");
    }
}

// Of a round trip both wait, for the message and for the answer.
TEST(Experiments, AllGiveUpWithTwo) {
    const Outcome outcome =
        tune([](uint32_t from, uint32_t to, size_t bytes) -> std::optional<uint64_t> {
            if (std::min(from, to) == 2 && std::max(from, to) == 5) return {};
            return near_and_far(from, to, bytes);
        });
    EXPECT_EQ(outcome.errors[2], "rank 2: nothing from or to rank 5 for 30 s");
    EXPECT_EQ(outcome.errors[5], "rank 5: nothing from or to rank 2 for 30 s");
    for (const uint32_t rank : {0, 1, 3, 4, 6, 7}) {
        EXPECT_EQ(outcome.errors[rank], "rank 5 gave up waiting for a message");
    }
}

// Each round trip takes 4 s, all of them a minute.
TEST(Experiments, PatienceIsForAllRoundTripsOfAnExperiment) {
    const Outcome outcome = tune([](uint32_t, uint32_t, size_t) { return 2 * kNsPerSecond; });
    for (const std::string& error : outcome.errors) EXPECT_NE(error, "");
}

}  // namespace
}  // namespace tutti::bench
