// SPDX-License-Identifier: BSD-3-Clause
// Jobs in virtual time: ranks without the library, late ones, slow messages. Whatever is random
// comes from a seed, which a failure prints.
#include "mpi/presence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/prng.h"

namespace tutti::mpi {
namespace {

constexpr uint64_t kWait = 1000;
constexpr uint64_t kNever = UINT64_MAX;

struct Message {
    uint64_t at;
    PresenceWord word;
};

// One rank's side of MPI's matching: by sender, in order.
struct Box {
    std::map<int, std::deque<Message>> unexpected;
    std::map<int, std::deque<int>> posted;  // slots
};

class Job {
  public:
    Job(int size, uint64_t latency_max, uint64_t seed)
        : starts(static_cast<size_t>(size), 0),
          latency_max_(latency_max),
          prng_(seed),
          size_(size),
          boxes_(starts.size()),
          ranks_(starts.size()),
          over(starts.size(), false) {}

    void run() {
        for (uint64_t now = 0; now < 100 * kWait && !is_over(); now += 5) {
            for (int rank = 0; rank < size_; ++rank) {
                const auto index = static_cast<size_t>(rank);
                if (starts[index] > now || over[index]) continue;
                Mail mail(*this, rank, now);
                if (ranks_[index] == nullptr) {
                    ranks_[index] = std::make_unique<Presence>();
                    ranks_[index]->start(mail, rank, size_, now, kWait);
                }
                over[index] = ranks_[index]->step(mail, now);
            }
        }
    }

    [[nodiscard]] bool is_there(int rank) const {
        return starts[static_cast<size_t>(rank)] != kNever;
    }
    [[nodiscard]] bool is_over() const {
        for (int rank = 0; rank < size_; ++rank) {
            if (is_there(rank) && !over[static_cast<size_t>(rank)]) return false;
        }
        return true;
    }
    [[nodiscard]] const Presence& of(int rank) const { return *ranks_[static_cast<size_t>(rank)]; }
    // What the program there could receive.
    [[nodiscard]] size_t strays(int rank) const {
        size_t count = 0;
        for (const auto& [from, queue] : boxes_[static_cast<size_t>(rank)].unexpected) {
            count += queue.size();
        }
        return count;
    }
    [[nodiscard]] std::vector<int> speakers() const {
        std::vector<int> found;
        for (int rank = 0; rank < size_; ++rank) {
            if (is_there(rank) && of(rank).speaks()) found.push_back(rank);
        }
        return found;
    }

    std::vector<uint64_t> starts;  // kNever: without the library
    size_t bytes_unasked = 0;      // to ranks without the library, beyond empty messages
    size_t messages = 0;

  private:
    class Mail final : public PresenceMail {
      public:
        Mail(Job& job, int rank, uint64_t now) : job_(job), rank_(rank), now_(now) {}
        void send(int rank, const PresenceWord* word) override {
            if (word != nullptr && !job_.is_there(rank)) ++job_.bytes_unasked;
            ++job_.messages;
            PresenceWord sent{};
            sent.missing = PresenceWord::kEmpty;
            uint64_t& last = job_.last_[{rank_, rank}];
            last = std::max(last, now_ + 1 + job_.prng_.below(job_.latency_max_));
            job_.boxes_[static_cast<size_t>(rank)].unexpected[rank_].push_back(
                {last, word != nullptr ? *word : sent});
        }
        void expect(int slot, int rank) override {
            const auto& slots = job_.boxes_[static_cast<size_t>(rank_)].posted[rank];
            ASSERT_EQ(std::count(slots.begin(), slots.end(), slot), 0);
            job_.boxes_[static_cast<size_t>(rank_)].posted[rank].push_back(slot);
        }
        bool arrived(int slot, PresenceWord& word) override {
            Box& box = job_.boxes_[static_cast<size_t>(rank_)];
            for (auto& [rank, slots] : box.posted) {
                auto& queue = box.unexpected[rank];
                if (slots.empty() || slots.front() != slot) continue;
                if (queue.empty() || queue.front().at > now_) continue;
                word = queue.front().word;
                queue.pop_front();
                slots.pop_front();
                return true;
            }
            return false;
        }

      private:
        Job& job_;
        int rank_;
        uint64_t now_;
    };

    uint64_t latency_max_;
    Prng prng_;
    int size_;
    std::vector<Box> boxes_;
    std::vector<std::unique_ptr<Presence>> ranks_;
    std::map<std::pair<int, int>, uint64_t> last_;

  public:
    std::vector<bool> over;

    // Receives that are still posted take what has come since their rank left.
    void settle() {
        for (Box& box : boxes_) {
            for (auto& [from, slots] : box.posted) {
                auto& queue = box.unexpected[from];
                while (!slots.empty() && !queue.empty()) {
                    slots.pop_front();
                    queue.pop_front();
                }
            }
        }
    }
};

std::vector<int> listed(const PresenceWord& word) {
    return {word.listed().begin(), word.listed().end()};
}

// What holds whoever is missing or late.
void expect_one_verdict(Job& job, int size) {
    ASSERT_TRUE(job.is_over());
    job.settle();
    bool all = true, any_starts = false;
    for (int rank = 0; rank < size; ++rank) all &= job.is_there(rank);
    for (int rank = 0; rank < size; ++rank) {
        if (!job.is_there(rank)) continue;
        any_starts |= job.of(rank).all_there();
        EXPECT_EQ(job.strays(rank), 0u) << "at rank " << rank;
    }
    for (int rank = 0; rank < size; ++rank) {
        if (job.is_there(rank)) {
            EXPECT_EQ(job.of(rank).all_there(), any_starts) << rank;
        }
    }
    EXPECT_TRUE(all || !any_starts);
    EXPECT_EQ(job.bytes_unasked, 0u);
}

TEST(Presence, AllStartWhereAllAreThere) {
    for (const int size : {2, 3, 4, 8, 31, 32, 33, 34, 64, 65, 100, 1024, 1025, 1100}) {
        Job job(size, 10, 1);
        job.run();
        expect_one_verdict(job, size);
        EXPECT_TRUE(job.of(0).all_there()) << size;
        EXPECT_TRUE(job.speakers().empty());
        // Call, answer, report and verdict; and a confirmation of each that has children.
        const auto edges = static_cast<size_t>(size - 1);
        EXPECT_GE(job.messages, 4 * edges);
        EXPECT_LE(job.messages, 4 * edges + edges / 16);
    }
}

TEST(Presence, OneRankSaysWhichAreMissing) {
    for (int size = 2; size <= 8; ++size) {
        for (unsigned mask = 1; mask + 1 < 1u << size; ++mask) {
            Job job(size, 10, mask);
            std::vector<int> missing;
            for (int rank = 0; rank < size; ++rank) {
                if ((mask >> rank & 1) == 0) continue;
                job.starts[static_cast<size_t>(rank)] = kNever;
                missing.push_back(rank);
            }
            SCOPED_TRACE("size " + std::to_string(size) + ", mask " + std::to_string(mask));
            job.run();
            expect_one_verdict(job, size);
            const auto speakers = job.speakers();
            ASSERT_FALSE(speakers.empty());
            EXPECT_FALSE(job.of(speakers[0]).all_there());
            const auto named = listed(job.of(speakers[0]).missing());
            // The root and those that stand in for it. With all of them missing, nobody is left to
            // ask about others.
            const int children = size - 1;
            std::vector<int> asked{1};
            for (const int place : {(children - 1) / 2, (children - 1) / 4, children - 1}) {
                const int rank = (place + 2) % size;
                if (std::count(asked.begin(), asked.end(), rank) == 0) asked.push_back(rank);
            }
            std::sort(asked.begin(), asked.end());
            if (std::includes(missing.begin(), missing.end(), asked.begin(), asked.end())) {
                EXPECT_EQ(named, asked);
                EXPECT_EQ(speakers.size(), static_cast<size_t>(size) - missing.size());
            } else {
                EXPECT_EQ(named, missing);
                EXPECT_EQ(speakers.size(), 1u);
            }
        }
    }
}

TEST(Presence, ARankWithoutTheLibraryIsSentNothingWhereItIsALeaf) {
    // Of these the inner ranks are 1, 33, 65 and 97.
    for (int rank = 0; rank < 100; ++rank) {
        Job job(100, 10, 1);
        job.starts[static_cast<size_t>(rank)] = kNever;
        job.run();
        expect_one_verdict(job, 100);
        const std::map<int, size_t> calls{{1, 34}, {33, 31}, {65, 31}, {97, 3}};
        const auto found = calls.find(rank);
        EXPECT_EQ(job.strays(rank), found == calls.end() ? 0 : found->second) << rank;
        ASSERT_EQ(job.speakers().size(), 1u) << rank;
        EXPECT_EQ(listed(job.of(job.speakers()[0]).missing()), std::vector{rank});
    }
}

TEST(Presence, CountsAllAndNamesTheLowest) {
    Job job(90, 10, 1);
    for (size_t rank = 40; rank < 60; ++rank) job.starts[rank] = kNever;
    job.run();
    expect_one_verdict(job, 90);
    ASSERT_EQ(job.speakers(), std::vector{1});
    EXPECT_EQ(job.of(1).missing().missing, 20);
    EXPECT_EQ(listed(job.of(1).missing()), (std::vector{40, 41, 42, 43, 44, 45, 46, 47}));
    EXPECT_FALSE(job.of(0).all_there());
}

TEST(Presence, ALateRankIsWaitedFor) {
    for (int rank = 0; rank < 40; ++rank) {
        Job job(40, 10, 1);
        job.starts[static_cast<size_t>(rank)] = kWait * 9 / 10;
        job.run();
        expect_one_verdict(job, 40);
        EXPECT_TRUE(job.of(0).all_there()) << rank;
    }
}

// The bound ends on some ranks and not on others, at about the time when messages come.
TEST(Presence, OneVerdictWhoeverIsLate) {
    size_t starts = 0, stays = 0;
    for (uint64_t seed = 1; seed <= 1000; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Prng prng(seed);
        const int size = 2 + static_cast<int>(prng.below(seed % 20 == 0 ? 120 : 12));
        Job job(size, 1 + prng.below(kWait / 2), seed);
        const uint64_t spread = 1 + prng.below(2 * kWait);
        const bool some_missing = prng.below(3) == 0;
        for (uint64_t& start : job.starts) {
            start = prng.below(2) == 0 ? prng.below(spread) : 0;
            if (some_missing && prng.below(8) == 0) start = kNever;
        }
        job.run();
        expect_one_verdict(job, size);
        if (!job.is_there(0)) continue;
        (job.of(0).all_there() ? starts : stays) += 1;
    }
    EXPECT_GT(starts, 100u);
    EXPECT_GT(stays, 100u);
}

// A rank whose messages come when the test says so.
class Recorder final : public PresenceMail {
  public:
    void send(int rank, const PresenceWord* word) override {
        sent.emplace_back(rank, word != nullptr);
    }
    void expect(int slot, int rank) override { expected.emplace_back(slot, rank); }
    bool arrived(int, PresenceWord& word) override {
        word.missing = PresenceWord::kEmpty;
        return std::exchange(has_come, false);
    }

    std::vector<std::pair<int, bool>> sent;
    std::vector<std::pair<int, int>> expected;
    bool has_come = false;
};

TEST(Presence, AChildThatIsGivenUpMayStillConfirmAndReport) {
    using Pairs = std::vector<std::pair<int, int>>;
    Recorder mail;
    PresenceCallers callers;
    callers.begin(0);
    callers.add(5);
    callers.open(mail, kWait);
    mail.has_come = true;
    callers.step(mail, 1, kWait);
    EXPECT_FALSE(callers.settled());
    callers.step(mail, 1 + kWait, kWait);
    EXPECT_TRUE(callers.settled());
    EXPECT_EQ(mail.expected, (Pairs{{0, 5}, {0, 5}}));
    PresenceWord missing{};
    callers.collect(missing);
    EXPECT_EQ(listed(missing), std::vector{5});
    callers.dismiss(mail, missing);
    EXPECT_EQ(mail.sent, (std::vector<std::pair<int, bool>>{{5, false}, {5, true}}));
    EXPECT_EQ(mail.expected, (Pairs{{0, 5}, {0, 5}, {1, 5}}));
}

}  // namespace
}  // namespace tutti::mpi
