// SPDX-License-Identifier: BSD-3-Clause
// Lean teams: more communicators of a node's processes than would have slices of their own, within
// the memory allowed. Threads as ranks, each with a context of its own, as a process has.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <vector>

#include "sim/script.h"
#include "unit/run/engine/crew.h"

namespace tutti::test {
namespace {

// Tutti's memory files that this process has open.
std::vector<int> memory_files() {
    std::vector<int> files;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
        if (target.find("memfd:tutti") == std::string::npos) continue;
        files.push_back(std::stoi(entry.path().filename()));
    }
    return files;
}

// What they take; each once.
size_t shared_bytes() {
    std::set<ino_t> counted;
    size_t bytes = 0;
    for (const int file : memory_files()) {
        struct stat info {};
        if (fstat(file, &info) != 0 || !counted.insert(info.st_ino).second) continue;
        bytes += static_cast<size_t>(info.st_blocks) * 512;
    }
    return bytes;
}

class Ranks {
  public:
    Ranks(uint32_t ranks, const std::vector<const char*>& settings) {
        for (uint32_t rank = 0; rank < ranks; ++rank) {
            contexts_.push_back(make_context(settings));
            teams_.emplace_back();
        }
    }
    [[nodiscard]] uint32_t count() const { return static_cast<uint32_t>(contexts_.size()); }

    // A team of these; how many of all ranks' parts could not be made.
    uint32_t add(const std::vector<uint32_t>& members, bool in_turn = true) {
        Meeting meeting(static_cast<uint32_t>(members.size()));
        std::atomic<uint32_t> failed = 0;
        run_threads(meeting.ranks(), [&](uint32_t i) {
            Made made = make_team(contexts_[members[i]].get(), meeting, i, "one of many", nullptr,
                                  1, in_turn);
            if (made.status != TUTTI_OK) ++failed;
            if (made.status != TUTTI_OK && i == 0) message = made.message;  // the same on all
            teams_[members[i]].push_back(std::move(made.team));
        });
        for (uint32_t rank = 0; rank < count(); ++rank) {
            if (teams_[rank].size() < made_ + 1) teams_[rank].emplace_back();
        }
        members_.push_back(members);
        ++made_;
        return failed;
    }
    uint32_t add_all() {
        std::vector<uint32_t> all;
        for (uint32_t rank = 0; rank < count(); ++rank) all.push_back(rank);
        return add(all);
    }
    void remove(size_t team) {
        for (auto& mine : teams_) mine[team].reset();
    }
    [[nodiscard]] size_t teams() const { return made_; }

    // Calls of the teams with these numbers, one after the other; empty, or what went wrong.
    std::string run(const std::vector<std::pair<size_t, Spec>>& calls) {
        std::vector<std::unique_ptr<Exchange>> exchanges;
        for (const auto& [team, spec] : calls) {
            exchanges.push_back(
                std::make_unique<Exchange>(spec, static_cast<uint32_t>(members_[team].size())));
        }
        run_threads(count(), [&](uint32_t rank) {
            for (size_t i = 0; i < calls.size(); ++i) {
                const auto& members = members_[calls[i].first];
                const auto place = std::find(members.begin(), members.end(), rank);
                if (place == members.end()) continue;
                const tutti_call call =
                    exchanges[i]->call(static_cast<uint32_t>(place - members.begin()));
                EXPECT_EQ(tutti_run(teams_[rank][calls[i].first].get(), &call), TUTTI_OK);
            }
        });
        for (const auto& exchange : exchanges) {
            if (auto wrong = exchange->check(); !wrong.empty()) return wrong;
        }
        return "";
    }

    std::string message;  // of the last part that could not be made

  private:
    std::vector<ContextPtr> contexts_;
    std::vector<std::vector<TeamPtr>> teams_;  // by rank
    std::vector<std::vector<uint32_t>> members_;
    size_t made_ = 0;
};

// Calls of all teams in turn: short ones, some of a few hundred bytes, and some of many rounds.
std::vector<std::pair<size_t, Spec>> calls_of_all(const Ranks& ranks, uint64_t seed,
                                                  size_t bytes_max, uint32_t members) {
    Prng prng(seed);
    std::vector<std::pair<size_t, Spec>> calls;
    for (size_t team = 0; team < ranks.teams(); ++team) {
        Limits limits{.ranks = members, .chunk_bytes = 4096, .bytes_max = bytes_max};
        Spec spec = draw_spec(prng, limits);
        if (spec.bytes == 0) spec = Spec{};
        calls.emplace_back(team, spec);
    }
    return calls;
}

TEST(LeanTeams, ManyMoreThanSlicesFit) {
    constexpr size_t kMemory = 8u << 20;
    for (const char* layout : {"TUTTI_LAYOUT=flat", "TUTTI_LAYOUT=tree"}) {
        Ranks ranks(4, {"TUTTI_MEMORY=8M", layout});
        for (int i = 0; i < 400; ++i) ASSERT_EQ(ranks.add_all(), 0u) << i << ": " << ranks.message;
        EXPECT_LE(shared_bytes(), kMemory);
        EXPECT_GE(shared_bytes(), kMemory / 8);
        EXPECT_EQ(ranks.run(calls_of_all(ranks, 1, 40'000, 4)), "");
        EXPECT_EQ(ranks.run(calls_of_all(ranks, 2, 600, 4)), "");
    }
}

// Whoever does not promise that calls come in turn gets slices alone.
TEST(LeanTeams, OnlyForCallsInTurn) {
    Ranks ranks(4, {"TUTTI_MEMORY=8M"});
    uint32_t failed = 0;
    for (int i = 0; i < 100 && failed == 0; ++i) failed = ranks.add({0, 1, 2, 3}, false);
    EXPECT_EQ(failed, 4u);
    EXPECT_NE(ranks.message.find("TUTTI_MEMORY allows 8 MiB"), std::string::npos) << ranks.message;
    // What these leave, others may have.
    for (size_t team = 0; team < 10; ++team) ranks.remove(team);
    EXPECT_EQ(ranks.add_all(), 0u) << ranks.message;
}

// Of subsets too, in any order of their ranks.
TEST(LeanTeams, OfSubsets) {
    Ranks ranks(5, {"TUTTI_MEMORY=8M"});
    ASSERT_EQ(ranks.add_all(), 0u);
    Prng prng(3);
    std::vector<std::pair<size_t, Spec>> calls;
    for (size_t team = 1; team < 200; ++team) {
        std::vector<uint32_t> members = {0, 1, 2, 3, 4};
        for (size_t i = 4; i > 0; --i) std::swap(members[i], members[prng.below(i + 1)]);
        members.resize(2 + prng.below(3));
        ASSERT_EQ(ranks.add(members), 0u) << ranks.message;
        const Limits limits{.ranks = static_cast<uint32_t>(members.size()), .bytes_max = 20'000};
        Spec spec = draw_spec(prng, limits);
        if (spec.bytes == 0) spec = Spec{};
        calls.emplace_back(team, spec);
    }
    EXPECT_LE(shared_bytes(), 8u << 20);
    EXPECT_EQ(ranks.run(calls), "");
}

// A program that closes descriptors it does not know finds nothing of ours in files that come to
// have their numbers.
TEST(LeanTeams, AReplacedDescriptorIsLeftAlone) {
    Ranks ranks(3, {"TUTTI_MEMORY=4M"});
    for (int i = 0; i < 20; ++i) ASSERT_EQ(ranks.add_all(), 0u) << ranks.message;
    FILE* const file = std::tmpfile();
    ASSERT_NE(file, nullptr);
    for (const int ours : memory_files()) ASSERT_EQ(dup2(fileno(file), ours), ours);
    for (int i = 0; i < 100; ++i) ASSERT_EQ(ranks.add_all(), 0u) << ranks.message;
    struct stat info {};
    ASSERT_EQ(fstat(fileno(file), &info), 0);
    EXPECT_EQ(info.st_size, 0);
    EXPECT_EQ(ranks.run(calls_of_all(ranks, 4, 3000, 3)), "");
    std::fclose(file);
}

// A fat node: 256 ranks, 1,000 communicators of all and 100 of different halves, all at once,
// within TUTTI_MEMORY as it is set without a word. At length only; else an eighth of everything.
TEST(LeanTeams, FatNode) {
    const uint32_t scale = std::getenv("TESTS_LONG") ? 8 : 1;
    const uint32_t count = 32 * scale;
    Ranks ranks(count, {scale == 1 ? "TUTTI_MEMORY=7M" : "TUTTI_MEMORY=256M"});
    const size_t allowed = scale == 1 ? 7u << 20 : 256u << 20;
    for (uint32_t i = 0; i < 125 * scale; ++i) ASSERT_EQ(ranks.add_all(), 0u) << i << ranks.message;
    Prng prng(9);
    for (uint32_t i = 0; i < 50 * scale / 4; ++i) {
        std::vector<uint32_t> members;
        for (uint32_t rank = 0; rank < count; ++rank) members.push_back(rank);
        for (size_t k = count - 1; k > 0; --k) std::swap(members[k], members[prng.below(k + 1)]);
        members.resize(count / 2);
        ASSERT_EQ(ranks.add(members), 0u) << i << ranks.message;
    }
    EXPECT_LE(shared_bytes(), allowed);
    std::vector<std::pair<size_t, Spec>> calls;
    for (size_t team = 0; team < ranks.teams(); ++team) {
        const auto kind = team % 3 == 0   ? TUTTI_ALLREDUCE
                          : team % 3 == 1 ? TUTTI_BCAST
                                          : TUTTI_BARRIER;
        const size_t bytes = kind == TUTTI_BARRIER ? 0 : team % 5 == 0 ? 400 : 8;
        calls.emplace_back(team, Spec{kind, 0, bytes, Fold::kXorU64, team});
    }
    EXPECT_EQ(ranks.run(calls), "");
    EXPECT_LE(shared_bytes(), allowed);
}

// What all have left is used again, also where its data was never read by the node's next team.
TEST(LeanTeams, ComeAndGo) {
    Ranks ranks(3, {"TUTTI_MEMORY=4M"});
    for (int i = 0; i < 40; ++i) ASSERT_EQ(ranks.add_all(), 0u) << ranks.message;
    size_t bytes = 0;
    for (uint64_t round = 0; round < 60; ++round) {
        for (int i = 0; i < 10; ++i) ASSERT_EQ(ranks.add_all(), 0u) << ranks.message;
        const size_t first = ranks.teams() - 10;
        std::vector<std::pair<size_t, Spec>> calls;
        for (size_t team = first; team < ranks.teams(); ++team) {
            calls.emplace_back(team, Spec{TUTTI_BCAST, static_cast<uint32_t>(team % 3),
                                          300 + 700 * (team % 40), Fold::kXorU64, round});
        }
        ASSERT_EQ(ranks.run(calls), "");
        for (size_t team = first; team < ranks.teams(); ++team) ranks.remove(team);
        if (round == 5) bytes = shared_bytes();
    }
    EXPECT_LE(shared_bytes(), bytes + 64 * 1024);
}

}  // namespace
}  // namespace tutti::test
