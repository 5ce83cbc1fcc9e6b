// SPDX-License-Identifier: BSD-3-Clause
// Every algorithm as time-independent traces: they say no more and no less than the schedules, and
// a replay ends.
#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <tuple>

#include "lab/check/count.h"
#include "plan/algo/plan.h"
#include "plan/sched/smpi.h"
#include "property/shapes.h"

namespace tutti::algo {
namespace {

constexpr sched::TraceCosts kCosts{.reduce_ns_per_byte = 0.25, .copy_ns_per_byte = 0.125};

struct Line {
    std::string word;
    std::vector<uint64_t> numbers;
};

std::vector<Line> lines_of(const std::string& trace, Rank rank) {
    std::vector<Line> lines;
    std::istringstream text(trace);
    for (std::string one; std::getline(text, one);) {
        std::istringstream words(one);
        Rank own = 0;
        Line line;
        words >> own >> line.word;
        EXPECT_EQ(own, rank);
        for (uint64_t number = 0; words >> number;) line.numbers.push_back(number);
        lines.push_back(std::move(line));
    }
    return lines;
}

// Replays them as smpirun does with messages so long that a send ends when its receive has begun.
class Replay {
  public:
    explicit Replay(const std::vector<std::string>& traces) : at_(traces.size()) {
        for (Rank rank = 0; rank < traces.size(); ++rank) {
            lines_.push_back(lines_of(traces[rank], rank));
        }
    }
    // Of all ranks together.
    uint64_t messages = 0;
    uint64_t bytes = 0;

    void run() {
        for (bool has_moved = true; has_moved;) {
            has_moved = false;
            for (Rank rank = 0; rank < lines_.size(); ++rank) {
                while (at_[rank] < lines_[rank].size() && step(rank, lines_[rank][at_[rank]])) {
                    ++at_[rank];
                    has_moved = true;
                }
            }
        }
        for (Rank rank = 0; rank < lines_.size(); ++rank) {
            ASSERT_EQ(at_[rank], lines_[rank].size()) << "rank " << rank << " waits for ever";
            EXPECT_EQ(lines_[rank].front().word, "init");
            EXPECT_EQ(lines_[rank].back().word, "finalize");
        }
        for (const auto& [key, ends] : messages_) {
            EXPECT_TRUE(ends.is_sent && ends.is_received);
            EXPECT_EQ(ends.waits, 2);
        }
    }

  private:
    using Key = std::tuple<uint64_t, uint64_t, uint64_t>;  // from, to, tag
    struct Ends {
        bool is_sent = false;
        bool is_received = false;
        int waits = 0;
        uint64_t bytes = 0;
    };

    bool step(Rank rank, const Line& line) {
        const std::vector<uint64_t>& n = line.numbers;
        if (line.word == "wait") {
            EXPECT_TRUE(n[0] == rank || n[1] == rank);
            Ends& ends = messages_[{n[0], n[1], n[2]}];
            EXPECT_TRUE(n[0] == rank ? ends.is_sent : ends.is_received) << "waits before it begins";
            if (!ends.is_sent || !ends.is_received) return false;
            ++ends.waits;
        } else if (line.word == "isend" || line.word == "irecv") {
            const bool is_send = line.word == "isend";
            Ends& ends = messages_[is_send ? Key{rank, n[0], n[1]} : Key{n[0], rank, n[1]}];
            bool& is_begun = is_send ? ends.is_sent : ends.is_received;
            EXPECT_FALSE(is_begun) << "the same tag again";
            is_begun = true;
            EXPECT_TRUE(ends.bytes == 0 || ends.bytes == n[2]);
            ends.bytes = n[2];
            messages += is_send ? 1 : 0;
            bytes += is_send ? n[2] : 0;
        }
        return true;
    }

    std::vector<std::vector<Line>> lines_;
    std::vector<size_t> at_;
    std::map<Key, Ends> messages_;
};

class Traces : public testing::TestWithParam<const Algorithm*> {};

// Messages and bytes, an empty message being one of one byte.
void count(const std::vector<std::unique_ptr<Program>>& programs, uint64_t& messages,
           uint64_t& bytes) {
    sched::Round round;
    uint64_t empty = 0;
    for (const auto& program : programs) {
        const check::Count one = check::count(*program);
        messages += one.messages_sent;
        bytes += one.bytes_sent;
        const sched::Extent extent = program->extent();
        for (uint64_t lane = 0; lane < extent.lanes; ++lane) {
            for (uint64_t k = 0; k < extent.rounds; ++k) {
                program->read(lane, k, round);
                for (const sched::Operation& op : round) {
                    empty += op.kind == sched::OperationKind::kSend && op.left.bytes == 0 ? 1 : 0;
                }
            }
        }
    }
    bytes += empty;
}

bool has_multicasts(const std::vector<std::unique_ptr<Program>>& programs) {
    return std::any_of(programs.begin(), programs.end(),
                       [](const auto& one) { return one->extent().multicasts > 0; });
}

TEST_P(Traces, SayWhatTheScheduleSays) {
    const Algorithm& algorithm = *GetParam();
    for (const Rank p : {1U, 2U, 3U, 4U, 5U, 7U, 8U, 12U, 16U, 17U, 33U}) {
        for (const Rank root : roots(algorithm.collective, p)) {
            for (const Shape& shape : shapes(algorithm.collective, p, root)) {
                if (!algorithm.obstacle(shape).empty()) continue;
                const auto programs = make_all(algorithm, shape);
                const auto traces = sched::print_smpi(
                    programs, topo::Placement::blocks(shape.ranks, shape.ranks), kCosts);
                SCOPED_TRACE(testing::Message()
                             << p << " ranks, root " << root << ", " << shape.bytes << " bytes");
                const bool meets = algorithm.follows_arrival && programs[0]->extent().rounds > 0;
                EXPECT_EQ(bool(traces), !has_multicasts(programs) && !meets);
                if (!traces) continue;
                Replay replay(traces.value());
                ASSERT_NO_FATAL_FAILURE(replay.run());
                uint64_t messages = 0;
                uint64_t bytes = 0;
                count(programs, messages, bytes);
                ASSERT_EQ(replay.messages, messages);
                ASSERT_EQ(replay.bytes, bytes);
            }
        }
    }
}

// With the node level around it, in several lanes, wherever the ranks are.
TEST_P(Traces, OfWholePlansEnd) {
    const Algorithm& algorithm = *GetParam();
    for (const uint32_t nodes : {2U, 3U, 5U}) {
        const uint32_t p = 3 * nodes + 1;
        const topo::Placement placements[] = {
            topo::Placement::blocks(p, nodes), topo::Placement::round_robin(p, nodes),
            topo::Placement(topo::hosts_at_random(p, nodes, 7)), unequal_nodes(nodes)};
        for (const topo::Placement& placement : placements) {
            Shape shape = {.collective = algorithm.collective, .ranks = placement.ranks()};
            shape.root = has_root(algorithm.collective) ? shape.ranks - 1 : 0;
            shape.element_bytes = algorithm.collective == TUTTI_BARRIER ? 1 : 8;
            for (const uint64_t bytes : {uint64_t{8}, uint64_t{40'000} * 8}) {
                shape.bytes = algorithm.collective == TUTTI_BARRIER ? 0 : bytes;
                Tuning tuning;
                tuning.segment_bytes = 64 * 1024;
                if (!plan_obstacle(algorithm, shape, placement, tuning).empty()) continue;
                const auto plans = make_plans(algorithm, shape, placement, tuning);
                const auto traces = sched::print_smpi(plans, placement, kCosts);
                if (algorithm.follows_arrival || algorithm.has_bundles()) {
                    EXPECT_FALSE(traces);
                    continue;
                }
                ASSERT_TRUE(traces) << traces.error().message;
                Replay replay(traces.value());
                ASSERT_NO_FATAL_FAILURE(replay.run()) << nodes << " nodes, " << bytes << " bytes";
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, Traces, testing::ValuesIn(pointers()), test_name);

}  // namespace
}  // namespace tutti::algo
