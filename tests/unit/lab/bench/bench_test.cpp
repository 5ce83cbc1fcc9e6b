// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/collectives.h"
#include "base/text.h"
#include "lab/bench/bench_buffers.h"
#include "lab/bench/bench_cell.h"
#include "lab/bench/bench_method.h"
#include "lab/bench/bench_pattern.h"
#include "lab/bench/bench_regime.h"
#include "lab/bench/bench_report.h"
#include "lab/bench/bench_statistics.h"

namespace tutti::bench {
namespace {

// The table of Abramowitz and Stegun, 26.10.
TEST(BenchStatistics, StudentsQuantiles) {
    const std::pair<size_t, double> known[] = {
        {1, 12.706}, {2, 4.303},  {5, 2.571},   {9, 2.262},  {10, 2.228},  {11, 2.201},
        {20, 2.086}, {30, 2.042}, {31, 2.0395}, {60, 2.000}, {120, 1.980}, {100'000, 1.960}};
    for (const auto& [degrees, value] : known) {
        EXPECT_NEAR(student_t_975(degrees), value, 0.0006) << degrees;
    }
}

TEST(BenchStatistics, TheIntervalOfAMean) {
    // 32 samples that are 2 off each.
    std::vector<double> samples;
    for (int i = 0; i < 32; ++i) samples.push_back(i % 2 == 0 ? 8 : 12);
    const Estimate found = estimate(samples);
    EXPECT_DOUBLE_EQ(found.mean, 10);
    EXPECT_NEAR(found.half_width, 2.0395 * std::sqrt(32 * 4.0 / 31) / std::sqrt(32), 1e-3);
    EXPECT_EQ(estimate(std::vector<double>{3, 3, 3}).half_width, 0);
    EXPECT_EQ(estimate(std::vector<double>{3}).mean, 3);
    EXPECT_EQ(estimate(std::vector<double>{3}).half_width, 0);
}

TEST(BenchCell, QuantilesAreValuesThatOccurred) {
    const std::vector<double> one{3};
    EXPECT_EQ(quantile(one, 0.5), 3);
    EXPECT_EQ(quantile(one, 0.99), 3);
    std::vector<double> hundred(100);
    for (size_t i = 0; i < hundred.size(); ++i) hundred[i] = static_cast<double>(i + 1);
    EXPECT_EQ(quantile(hundred, 0.5), 50);
    EXPECT_EQ(quantile(hundred, 0.99), 99);
    EXPECT_EQ(quantile(hundred, 1.0), 100);
}

TEST(BenchBuffers, FreshOnesAreEnoughForABatchAndNotTooMuchMemory) {
    EXPECT_EQ(fresh_buffer_count({8, 8}), 512u);
    EXPECT_EQ(fresh_buffer_count({16 << 20, 16 << 20}), kFreshBuffersMin);
    const uint32_t some = fresh_buffer_count({64 << 10, 64 << 10});
    EXPECT_GT(some, kFreshBuffersMin);
    EXPECT_LT(some, 512u);
    EXPECT_LE(Buffers::bytes_of_all({64 << 10, 64 << 10}, some, true), 16u << 20);
    EXPECT_EQ(fresh_buffer_count({0, 0}), kFreshBuffersMin);  // a barrier
}

// Where each buffer lies, in the order of their use.
std::vector<uintptr_t> places(const BatchBuffers& view) {
    std::vector<uintptr_t> all;
    for (uint32_t k = 0; k < view.count(); ++k) {
        all.push_back(reinterpret_cast<uintptr_t>(view.send[k]));
        all.push_back(reinterpret_cast<uintptr_t>(view.recv[k]));
    }
    return all;
}

TEST(BenchBuffers, FreshOnesShareNoPageAndComeInNoOrder) {
    constexpr uint32_t kCount = 64;
    Buffers buffers;
    ASSERT_TRUE(buffers.allocate({8, 136}, kCount, true));
    ASSERT_EQ(buffers.view().count(), kCount);
    std::vector<uintptr_t> in_use = places(buffers.view());
    std::vector<uintptr_t> sorted = in_use;
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 1; i < sorted.size(); ++i) EXPECT_GE(sorted[i] - sorted[i - 1], 4096u + 64);
    // A processor that has seen a distance twice fetches ahead.
    size_t repeated = 0;
    for (uint32_t k = 2; k < kCount; ++k) {
        const auto& send = buffers.view().send;
        repeated += send[k] - send[k - 1] == send[k - 1] - send[k - 2] ? 1 : 0;
    }
    EXPECT_LT(repeated, 4u);
}

TEST(BenchBuffers, AFlushKeepsWhatTheOwnerWrote) {
    for (const bool fresh : {false, true}) {
        Buffers buffers;
        ASSERT_TRUE(buffers.allocate({1000 * sizeof(double), 8}, 6, fresh));
        const Batch batch{TUTTI_REDUCE, 1000, 3, 5, 4};
        fill(batch, {1, 2}, buffers.view());
        const std::vector<double> before(buffers.view().send[5], buffers.view().send[5] + 1000);
        EXPECT_EQ(before[0], stamp(5, 1));
        buffers.flush(batch);
        EXPECT_TRUE(std::equal(before.begin(), before.end(), buffers.view().send[5]));
        EXPECT_EQ(buffers.view().send[3][0], -1.0);  // the batch does not come so far
        EXPECT_EQ(buffers.view().recv[5][0], -1.0);
    }
}

// All ranks of a job in one process, with the collectives done in the plainest way.
class Job {
  public:
    Job(tutti_collective collective, uint64_t elements, uint32_t size,
        uint32_t buffers = kFreshBuffersMin)
        : collective_(collective),
          elements_(elements),
          size_(size),
          buffers_(buffers),
          ranks_(size, Rank(buffers)) {
        for (Rank& rank : ranks_) {
            for (uint32_t k = 0; k < buffers; ++k) {
                rank.send[k].assign(send_elements(collective, elements, size), -1);
                rank.recv[k].assign(recv_elements(collective, elements, size), -1);
                rank.view.send[k] = rank.send[k].data();
                rank.view.recv[k] = rank.recv[k].data();
            }
        }
    }

    void run(const Batch& batch) {
        batch_ = batch;
        for (uint32_t r = 0; r < size_; ++r) fill(batch, {r, size_}, ranks_[r].view);
        stamps_ = !uses_each_once(batch, ranks_[0].view);
        for (uint64_t i = 0; i < batch.calls; ++i) call(batch.first_call + i);
    }

    std::optional<Mismatch> look(const Batch& batch, uint32_t rank) {
        return verify(batch, {rank, size_}, ranks_[rank].view);
    }

    std::vector<double>& recv(uint32_t rank, uint64_t buffer) { return ranks_[rank].recv[buffer]; }

  private:
    struct Rank {
        explicit Rank(uint32_t buffers) : send(buffers), recv(buffers), view(buffers) {}
        std::vector<std::vector<double>> send;
        std::vector<std::vector<double>> recv;
        BatchBuffers view;
    };

    // What the benchmark writes between two calls of a batch, where it must.
    void put_stamp(double& element, uint64_t call, uint32_t rank, uint32_t block = 0) const {
        if (stamps_) element = stamp(call, number_of(collective_, rank, block, size_));
    }

    void call(uint64_t number) {
        const auto root = static_cast<uint32_t>(number % size_);
        const uint64_t k = number % buffers_;
        if (collective_ == TUTTI_BCAST) {
            auto& source = ranks_[root].recv[k];
            put_stamp(source[0], number, root);
            for (Rank& rank : ranks_) rank.recv[k] = source;
            return;
        }
        if (collective_ == TUTTI_SCATTER || collective_ == TUTTI_SCATTERV) {
            auto& source = ranks_[root].send[k];
            for (uint32_t r = 0; r < size_; ++r) {
                put_stamp(source[r * elements_], number, root, r);
                std::copy_n(source.begin() + static_cast<long>(r * elements_),
                            block_elements(batch_, root, r), ranks_[r].recv[k].begin());
            }
            return;
        }
        if (is_reduction(collective_) && has_blocks(collective_)) return reduce_scatter(number);
        if (is_between_all(collective_)) return alltoall(number);
        if (collective_ == TUTTI_SCAN || collective_ == TUTTI_EXSCAN) return scan(number);
        std::vector<double> sum(elements_, 0);
        std::vector<double> blocks;
        for (uint32_t r = 0; r < size_; ++r) {
            auto& send = ranks_[r].send[k];
            put_stamp(send[0], number, r);
            for (uint64_t j = 0; j < elements_; ++j) sum[j] += send[j];
            blocks.insert(blocks.end(), send.begin(), send.end());
        }
        const bool reduces = collective_ == TUTTI_REDUCE || collective_ == TUTTI_ALLREDUCE;
        const bool rooted = has_root(collective_);
        for (uint32_t r = 0; r < size_; ++r) {
            if (!rooted || r == root) ranks_[r].recv[k] = reduces ? sum : blocks;
        }
    }

    void reduce_scatter(uint64_t number) {
        const uint64_t k = number % buffers_;
        std::vector<double> sum(size_ * elements_, 0);
        for (uint32_t from = 0; from < size_; ++from) {
            auto& send = ranks_[from].send[k];
            for (uint32_t r = 0; r < size_; ++r) {
                put_stamp(send[input_offset(batch_, r)], number, from, r);
            }
            for (uint64_t j = 0; j < sum.size(); ++j) sum[j] += send[j];
        }
        for (uint32_t r = 0; r < size_; ++r) {
            std::copy_n(sum.begin() + static_cast<long>(input_offset(batch_, r)),
                        block_elements(batch_, 0, r), ranks_[r].recv[k].begin());
        }
    }

    void alltoall(uint64_t number) {
        const uint64_t k = number % buffers_;
        for (uint32_t from = 0; from < size_; ++from) {
            auto& send = ranks_[from].send[k];
            for (uint32_t to = 0; to < size_; ++to) {
                put_stamp(send[to * elements_], number, from, to);
                std::copy_n(send.begin() + static_cast<long>(to * elements_),
                            block_elements(batch_, from, to),
                            ranks_[to].recv[k].begin() + static_cast<long>(from * elements_));
            }
        }
    }

    // Rank 0 has no result of an exscan.
    void scan(uint64_t number) {
        const uint64_t k = number % buffers_;
        std::vector<double> sum(elements_, 0);
        for (uint32_t r = 0; r < size_; ++r) {
            auto& send = ranks_[r].send[k];
            put_stamp(send[0], number, r);
            if (collective_ == TUTTI_EXSCAN && r > 0) ranks_[r].recv[k] = sum;
            for (uint64_t j = 0; j < elements_; ++j) sum[j] += send[j];
            if (collective_ == TUTTI_SCAN) ranks_[r].recv[k] = sum;
        }
    }

    tutti_collective collective_;
    uint64_t elements_;
    uint32_t size_;
    uint32_t buffers_;
    bool stamps_ = false;
    Batch batch_{};
    std::vector<Rank> ranks_;
};

constexpr tutti_collective kWithData[] = {TUTTI_BCAST,
                                          TUTTI_REDUCE,
                                          TUTTI_ALLREDUCE,
                                          TUTTI_GATHER,
                                          TUTTI_SCATTER,
                                          TUTTI_ALLGATHER,
                                          TUTTI_REDUCE_SCATTER_BLOCK,
                                          TUTTI_ALLTOALL,
                                          TUTTI_SCAN,
                                          TUTTI_EXSCAN,
                                          TUTTI_GATHERV,
                                          TUTTI_SCATTERV,
                                          TUTTI_ALLGATHERV,
                                          TUTTI_ALLTOALLV,
                                          TUTTI_ALLTOALLW,
                                          TUTTI_REDUCE_SCATTER};

// Batches that use some buffers once, all of them, and some again.
void expect_right(tutti_collective collective, uint64_t elements, uint32_t size, uint32_t buffers) {
    Job job(collective, elements, size, buffers);
    uint64_t number = 0;
    for (const uint64_t calls : {1u, 2u, 3u, 4u, 5u, 7u, 17u, 1u}) {
        const Batch batch{collective, elements, number, number, calls};
        number += calls;
        job.run(batch);
        for (uint32_t r = 0; r < size; ++r) {
            EXPECT_FALSE(job.look(batch, r)) << collective_name(collective) << ' ' << size << ' '
                                             << elements << ' ' << buffers << ' ' << calls;
        }
    }
}

TEST(BenchPattern, AcceptsRightResults) {
    for (const tutti_collective collective : kWithData) {
        for (const uint32_t size : {1u, 2u, 3u, 5u, 8u}) {
            for (const uint64_t elements : {1u, 2u, 33u}) {
                for (const uint32_t buffers : {kReusedBuffers, kFreshBuffersMin, 7u}) {
                    expect_right(collective, elements, size, buffers);
                }
            }
        }
    }
}

// Of a block in a place for the longest only its own elements are looked at.
TEST(BenchPattern, RaggedBlocksHaveFourLengths) {
    constexpr uint32_t kSize = 5;
    constexpr uint64_t kElements = 33;
    for (const tutti_collective collective : kWithData) {
        SCOPED_TRACE(collective_name(collective));
        Job job(collective, kElements, kSize);
        Batch batch{collective, kElements, 11, 7, 1};  // root 2, buffer 3
        batch.is_ragged = true;
        job.run(batch);
        for (uint32_t rank = 0; rank < kSize; ++rank) {
            if (collective == TUTTI_EXSCAN && rank == 0) continue;
            EXPECT_FALSE(job.look(batch, rank)) << rank;
            job.recv(rank, 3)[1] += 1;
            const bool has_result = !has_root(collective) || rank == 2 || !has_blocks(collective) ||
                                    collective == TUTTI_SCATTER || collective == TUTTI_SCATTERV;
            if (collective == TUTTI_REDUCE && rank != 2) continue;
            EXPECT_EQ(job.look(batch, rank).has_value(), has_result) << rank;
        }
    }
    Batch batch{TUTTI_ALLTOALLV, 8, 0, 0, 1};
    EXPECT_EQ(block_elements(batch, 1, 2), 8u);
    batch.is_ragged = true;
    EXPECT_EQ(block_elements(batch, 0, 0), 2u);
    EXPECT_EQ(block_elements(batch, 1, 2), 8u);
    batch.elements = 1;
    EXPECT_EQ(block_elements(batch, 0, 0), 1u);
    batch.collective = TUTTI_REDUCE_SCATTER;
    batch.elements = 8;
    EXPECT_EQ(input_offset(batch, 4), 20u);
    batch.collective = TUTTI_ALLTOALL;
    EXPECT_EQ(block_elements(batch, 0, 0), 8u);
}

TEST(BenchPattern, SeesEveryWrongElement) {
    constexpr uint32_t kSize = 3;
    constexpr uint64_t kElements = 5;
    for (const tutti_collective collective : kWithData) {
        Job job(collective, kElements, kSize);
        const Batch batch{collective, kElements, 11, 7, 1};  // root 1, buffer 3
        job.run(batch);
        auto& recv = job.recv(1, 3);
        for (size_t j = 0; j < recv.size(); ++j) {
            const double right = recv[j];
            recv[j] += 1;
            const auto mismatch = job.look(batch, 1);
            ASSERT_TRUE(mismatch) << collective_name(collective) << ' ' << j;
            EXPECT_EQ(mismatch->element, j);
            EXPECT_EQ(mismatch->root, 1u);
            EXPECT_EQ(mismatch->expected, right);
            recv[j] = right;
        }
    }
}

// Also of one element, which is the stamp.
TEST(BenchPattern, SeesBlocksOfTheWrongRank) {
    for (const tutti_collective collective : {TUTTI_GATHER, TUTTI_ALLGATHER, TUTTI_ALLTOALL}) {
        Job job(collective, 1, 3);
        const Batch batch{collective, 1, 11, 7, 1};  // root 1, buffer 3
        job.run(batch);
        auto& recv = job.recv(1, 3);
        std::swap(recv[0], recv[2]);
        EXPECT_TRUE(job.look(batch, 1)) << collective_name(collective);
    }
}

TEST(BenchPattern, SeesACallThatDoesNothing) {
    constexpr uint32_t kSize = 2;
    for (const tutti_collective collective : kWithData) {
        Job job(collective, 4, kSize);
        const Batch first{collective, 4, 0, 0, 4};
        job.run(first);
        // Another batch is filled, but nothing is called.
        const Batch second{collective, 4, 4, 4, 1};  // root 0
        const std::vector<double> before = job.recv(0, 0);
        const Batch nothing{collective, 4, 4, 4, 0};
        job.run(nothing);
        EXPECT_EQ(job.recv(0, 0), before);
        // At the root of a broadcast the stamp is missing, elsewhere the data. Rank 0 has no result
        // of an exscan.
        const uint32_t rank = collective == TUTTI_EXSCAN ? 1 : 0;
        EXPECT_TRUE(job.look(second, rank)) << collective_name(collective);
    }
}

BenchRun some_run() {
    BenchRun run;
    run.library = "An MPI \"1.0\"";
    run.ranks = 2;
    run.cores = 2;
    run.has_tutti = true;
    Cell cell;
    cell.collective = TUTTI_BCAST;
    cell.bytes = 1024;
    cell.host = {1.25, 1.5, 3.0, 9, 100};
    cell.tutti = Times{0.25, 0.5, 0.75, 9, 300};
    cell.flag = {0.1, 0.12};
    cell.copy_us = 0.05;
    run.cells.push_back(cell);
    Cell skipped;
    skipped.collective = TUTTI_GATHER;
    skipped.bytes = 1 << 20;
    skipped.skipped = "too large";
    run.cells.push_back(skipped);
    return run;
}

TEST(BenchReport, SaysWhatWasMeasured) {
    const auto json = nlohmann::json::parse(to_json(some_run()));
    EXPECT_EQ(json["mpi"], "An MPI \"1.0\"");
    EXPECT_EQ(json["buffers"], "reused");
    ASSERT_EQ(json["cells"].size(), 2u);
    EXPECT_EQ(json["cells"][0]["collective"], "bcast");
    EXPECT_EQ(json["cells"][0]["ratio"], 3.0);
    EXPECT_EQ(json["cells"][0]["tutti"]["calls_per_batch"], 300);
    EXPECT_EQ(json["cells"][0]["flag_before_us"], 0.1);
    EXPECT_EQ(json["cells"][0]["flag_after_us"], 0.12);
    EXPECT_EQ(json["cells"][0]["moved"], false);
    EXPECT_EQ(json["cells"][1]["skipped"], "too large");
    // Ranks on hosts of their own have no flag between them.
    EXPECT_FALSE(json.contains("flag_before_us"));
    EXPECT_FALSE(json["cells"][1].contains("moved"));
    EXPECT_FALSE(json["cells"][1].contains("host"));
}

TEST(BenchReport, ByThePapersMethodMeansWithTheirIntervals) {
    BenchRun run = some_run();
    run.paper_runs = 32;
    Cell& cell = run.cells[0];
    cell.host.mean_us = Estimate{50, 1.5};
    cell.tutti->mean_us = Estimate{20, 0.25};
    EXPECT_NE(table_head(run).find("\n32 runs of 20 calls (10 from 64 KiB on), your MPI's barrier "
                                   "after each and counted in; mean, 95 % confidence interval\n"),
              std::string::npos)
        << table_head(run);
    EXPECT_TRUE(table_head(run).ends_with("    mean us      +- us    ratio\n")) << table_head(run);
    const std::string rows = table_row(run, cell);
    EXPECT_NE(rows.find("       50.0       1.50     1.00\n"), std::string::npos) << rows;
    EXPECT_NE(rows.find("       20.0      0.250     2.50\n"), std::string::npos) << rows;
    const auto json = nlohmann::json::parse(to_json(run));
    EXPECT_EQ(json["method"], "paper");
    EXPECT_EQ(json["cells"][0]["host"]["half_width_us"], 1.5);
    EXPECT_EQ(json["cells"][0]["tutti"]["mean_us"], 20);
    EXPECT_EQ(json["cells"][0]["ratio"], 2.5);
}

TEST(BenchReport, SaysWhichBuffers) {
    BenchRun run = some_run();
    EXPECT_TRUE(table_head(run).starts_with("An MPI \"1.0\"; 2 ranks, 2 cores\n"));
    run.fresh_buffers = true;
    EXPECT_TRUE(table_head(run).starts_with("An MPI \"1.0\"; 2 ranks, 2 cores; fresh buffers\n"));
    EXPECT_EQ(nlohmann::json::parse(to_json(run))["buffers"], "fresh");
}

TEST(BenchReport, RowsAlign) {
    const BenchRun run = some_run();
    const std::string head = table_head(run);
    const std::string names = head.substr(head.find('\n') + 1);
    const std::string row = table_row(run, run.cells[0]);
    EXPECT_EQ(row.size(), names.size());
    EXPECT_NE(row.find("3.00"), std::string::npos) << row;
    EXPECT_NE(table_row(run, run.cells[1]).find("not measured: too large"), std::string::npos);
}

TEST(BenchRegime, CoresMovedWhereTheFlagChangedBeyondNoise) {
    EXPECT_FALSE(cores_moved({0.07, 0.07}));
    EXPECT_FALSE(cores_moved({0.06, 0.08}));
    EXPECT_FALSE(cores_moved({0.28, 0.25}));
    EXPECT_TRUE(cores_moved({0.08, 0.25}));
    EXPECT_TRUE(cores_moved({0.25, 0.08}));
    EXPECT_FALSE(cores_moved({0.1, 0.1 * node::kMovedFactor}));
}

TEST(BenchReport, TheFlagStandsBeforeAndAfterTheTable) {
    BenchRun run = some_run();
    EXPECT_EQ(table_head(run).find("flag latency"), std::string::npos);
    EXPECT_EQ(table_foot(run), "");
    run.flag = {0.25, 0.28};
    EXPECT_NE(table_head(run).find("\nflag latency 0.250 us before the table\n"),
              std::string::npos);
    EXPECT_EQ(table_foot(run), "flag latency 0.250 us before the table, 0.280 us after it\n");
    run.flag->after_us = 0.07;
    EXPECT_EQ(table_foot(run),
              "flag latency 0.250 us before the table, 0.070 us after it: the cores moved\n");
    EXPECT_EQ(nlohmann::json::parse(to_json(run))["moved"], true);
}

TEST(BenchReport, MarksTheRowsInWhichTheCoresMoved) {
    BenchRun run = some_run();
    run.flag = {0.07, 0.07};
    const std::string still = table_row(run, run.cells[0]);
    EXPECT_EQ(still.find('~'), std::string::npos);
    EXPECT_EQ(table_foot(run).find('~'), std::string::npos);
    Cell& cell = run.cells[0];
    cell.flag->after_us = 0.26;
    EXPECT_EQ(table_row(run, cell), still.substr(0, still.size() - 1) + " ~\n");
    EXPECT_NE(table_foot(run).find("\n~ the cores moved in these lines"), std::string::npos);
    EXPECT_EQ(nlohmann::json::parse(to_json(run))["cells"][0]["moved"], true);
    // Each way of running the call was measured meanwhile.
    run.has_algorithms = true;
    cell.algorithms = {{"chain", "", cell.host, {}}, {"tree", "needs wings", {}, {}}};
    const std::string rows = table_row(run, cell);
    EXPECT_EQ(std::count(rows.begin(), rows.end(), '~'), 3) << rows;
    // Without Tutti there is a mark as well.
    run.has_algorithms = false;
    cell.tutti.reset();
    EXPECT_TRUE(table_row(run, cell).ends_with(" ~\n"));
}

// On one host that is a dozen of them at each size.
TEST(BenchReport, OneLineForAllThatCannotRun) {
    BenchRun run = some_run();
    run.has_algorithms = true;
    run.cells.resize(1);
    Cell cell = run.cells[0];
    cell.algorithms = {{"chain", "needs legs", {}, {}},
                       {"tree", "needs wings", {}, {}},
                       {"ring", "needs legs", {}, {}},
                       {"binomial", "", cell.host, {}}};
    run.cells.clear();
    std::string all;
    for (const uint64_t bytes : {1024, 2048, 4096}) {
        cell.bytes = bytes;
        // In the third size a reason is another one.
        if (bytes == 4096) cell.algorithms[1].refused = "needs feathers";
        all += table_row(run, cell);
        run.cells.push_back(cell);
    }
    std::string refused;
    for (const std::string_view line : split(all, '\n')) {
        if (line.find("cannot") != line.npos) refused += std::string(line) + "\n";
    }
    EXPECT_EQ(refused,
              "bcast         1 KiB  cannot: chain, ring: needs legs\n"
              "bcast         1 KiB  cannot: tree: needs wings\n"
              "bcast         4 KiB  cannot: tree: needs feathers\n");
    EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 3 * 3 + 3) << all;
    cell.collective = TUTTI_REDUCE;
    EXPECT_NE(table_row(run, cell).find("cannot: chain, ring: needs legs"), std::string::npos);
}

TEST(BenchReport, ARowForEachWay) {
    BenchRun run = some_run();
    run.has_algorithms = true;
    run.late = LateRank{1, 50};
    Cell& cell = run.cells[0];
    cell.host_late = cell.tutti_late = cell.host;
    cell.algorithms = {{"chain", "", cell.host, cell.host}, {"tree", "needs wings", {}, {}}};
    const std::string head = table_head(run);
    EXPECT_NE(head.find("rank 1 enters each call 50 ms late"), std::string::npos) << head;
    EXPECT_NE(head.find("late us\n"), std::string::npos) << head;
    const std::string rows = table_row(run, cell);
    EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'), 4) << rows;
    EXPECT_NE(rows.find("\nbcast         1 KiB  cannot: tree: needs wings\n"), std::string::npos)
        << rows;
    const auto json = nlohmann::json::parse(to_json(run));
    EXPECT_EQ(json["late"]["rank"], 1);
    EXPECT_EQ(json["cells"][0]["algorithms"][0]["algorithm"], "chain");
    EXPECT_EQ(json["cells"][0]["algorithms"][0]["ratio"], 1.0);
    EXPECT_EQ(json["cells"][0]["algorithms"][1]["refused"], "needs wings");
    EXPECT_TRUE(json["cells"][0].contains("tutti_late"));
}

}  // namespace
}  // namespace tutti::bench
