// SPDX-License-Identifier: BSD-3-Clause
// A survey over messages between threads, whose times are what each experiment's clock says.
#include "cli/tune_groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

namespace tutti::cli {
namespace {

constexpr uint32_t kRanks = 4;

// What the threads have in common.
struct Room {
    std::barrier<> barrier{kRanks};
    std::mutex mutex;
    std::vector<std::byte> board;
    std::vector<double> most;
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> mail;  // from, to: messages under way
    uint64_t messages = 0;
};

class ThreadMpi final : public BenchMpi {
  public:
    ThreadMpi(Room& room, uint32_t rank) : room_(room), rank_(rank) {}
    RankOfSize place() const override { return {rank_, kRanks}; }
    bool has_tutti() const override { return false; }
    std::string library_version() override { return "threads"; }
    double run(Side, bool, const Batch&, const BatchBuffers&) override { return 0; }
    std::string force(tutti_collective, uint64_t, const std::string&) override { return {}; }
    void finalize() override {}

    void barrier() override { room_.barrier.arrive_and_wait(); }
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
        room_.most.clear();
        barrier();
    }
    void start_send(uint32_t number, const void*, size_t, uint32_t to) override {
        const std::lock_guard lock(room_.mutex);
        ++room_.mail[{rank_, to}];
        ++room_.messages;
        from_[number] = UINT32_MAX;
    }
    void start_recv(uint32_t number, void*, size_t, uint32_t from) override {
        from_[number] = from;
    }
    bool is_done(uint32_t number) override {
        if (from_[number] == UINT32_MAX) return true;
        const std::lock_guard lock(room_.mutex);
        uint32_t& waiting = room_.mail[{from_[number], rank_}];
        if (waiting == 0) return false;
        --waiting;
        return true;
    }

  private:
    Room& room_;
    const uint32_t rank_;
    uint32_t from_[kMessagesMax]{};
};

// Every look takes a microsecond of this rank's.
class StepClock final : public Clock {
  public:
    uint64_t now_ns() override { return now_ns_ += 1000; }

  private:
    uint64_t now_ns_ = 0;
};

// Two ranks share the first host; the last three hosts have one each.
TEST(TuneGroups, AsksAllHostsAndEnds) {
    Room room;
    survey::Limits limits;
    limits.bytes_max = limits.bytes_min;
    limits.experiments_max = 40;
    const std::vector<uint32_t> rank_of_host{0, 2, 3};
    std::vector<survey::Found> found(kRanks);
    std::vector<std::thread> threads;
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
        threads.emplace_back([&, rank] {
            ThreadMpi mpi(room, rank);
            StepClock clock;
            // No time is too long: threads wait for their turn.
            const SurveyTimes times{.transfer_ns_max = UINT64_MAX / 8, .patience = 2};
            auto made = tune_groups(mpi, rank_of_host, limits, times, clock);
            ASSERT_TRUE(made) << made.error().message;
            found[rank] = made.value();
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_GT(found[0].experiments, 10u);
    EXPECT_EQ(found[0].fabric.hosts(), 3u);
    EXPECT_EQ(found[0].transfer_bytes, limits.bytes_min);
    EXPECT_EQ(found[0].is_lost, std::vector<bool>(3, false));
    EXPECT_GT(room.messages, 100u);
    for (const auto& [who, waiting] : room.mail) EXPECT_EQ(waiting, 0u);
}

}  // namespace
}  // namespace tutti::cli
