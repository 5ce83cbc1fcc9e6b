// SPDX-License-Identifier: BSD-3-Clause
// The options of `tutti bench`, and which MPI it finds.
#include "cli/bench_options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "base/collectives.h"
#include "cli/bench_host.h"

namespace tutti::cli {
namespace {

Result<BenchOptions> parse(std::vector<std::string_view> words) {
    return parse_bench_options(words);
}

std::string problem(std::vector<std::string_view> words) {
    const auto options = parse_bench_options(words);
    return options ? "none" : options.error().message;
}

TEST(BenchOptions, ReadsCollectivesAndOptions) {
    const auto options = parse({"reduce", "--bytes", "8,1K", "barrier", "--json=x.json",
                                "--batches", "7", "--seconds=0.5"});
    ASSERT_TRUE(options);
    const BenchOptions& o = options.value();
    EXPECT_EQ(o.collectives, (std::vector<tutti_collective>{TUTTI_REDUCE, TUTTI_BARRIER}));
    EXPECT_EQ(o.bytes, (std::vector<uint64_t>{8, 1024}));
    EXPECT_EQ(o.json, "x.json");
    EXPECT_EQ(o.batches, 7u);
    EXPECT_EQ(o.seconds, 0.5);
    EXPECT_FALSE(o.fresh_buffers);
}

TEST(BenchOptions, HelpHasNoNamesOfCode) { EXPECT_EQ(bench_usage().find("::"), std::string::npos); }

TEST(BenchOptions, BuffersAreReusedOrFresh) {
    EXPECT_TRUE(parse({"bcast", "--buffers=fresh"}).value().fresh_buffers);
    EXPECT_FALSE(parse({"bcast", "--buffers=fresh", "--buffers", "reused"}).value().fresh_buffers);
    for (const char* bad : {"", "both", "Fresh", "fresh,reused"}) {
        EXPECT_EQ(problem({"bcast", "--buffers", bad}),
                  "--buffers '" + std::string(bad) + "': expected reused or fresh");
    }
}

TEST(BenchOptions, ReadsAlgorithmsAndTheLateRank) {
    const auto options = parse({"bcast", "--algorithm", "chain:segment=64K", "--late=3:50"});
    ASSERT_TRUE(options);
    EXPECT_EQ(options.value().algorithm, "chain:segment=64K");
    ASSERT_TRUE(options.value().late);
    EXPECT_EQ(options.value().late->rank, 3u);
    EXPECT_EQ(options.value().late->milliseconds, 50);
    EXPECT_EQ(parse({"all", "--algorithm", "all"}).value().algorithm, "all");
}

TEST(BenchOptions, ThePapersMethodHasRunsAndNoOtherLimit) {
    EXPECT_FALSE(parse({"allreduce"}).value().paper);
    const auto options = parse({"allreduce", "--paper", "--bytes", "8K"});
    ASSERT_TRUE(options);
    EXPECT_TRUE(options.value().paper);
    EXPECT_EQ(options.value().batches, 32u);
    EXPECT_EQ(parse({"allreduce", "--batches", "7", "--paper"}).value().batches, 7u);
    EXPECT_EQ(problem({"allreduce", "--paper=1"}), "--paper: expected no value");
    EXPECT_EQ(problem({"allreduce", "--paper", "--late", "1:1"}), "--paper: not with --late");
    EXPECT_EQ(problem({"allreduce", "--seconds", "1", "--paper"}),
              "--paper: not with --seconds; see --batches");
    EXPECT_EQ(problem({"allreduce", "--buffers", "fresh", "--paper"}),
              "--paper: not with --buffers fresh");
    EXPECT_EQ(bench::paper_calls(8 << 10), 20u);
    EXPECT_EQ(bench::paper_calls(64 << 10), 10u);
}

TEST(BenchOptions, BlocksAreEqualOrRagged) {
    EXPECT_FALSE(parse({"gatherv"}).value().ragged_blocks);
    EXPECT_TRUE(parse({"gatherv", "--blocks=ragged"}).value().ragged_blocks);
    EXPECT_FALSE(parse({"gatherv", "--blocks", "equal"}).value().ragged_blocks);
    EXPECT_EQ(problem({"gatherv", "--blocks", "odd"}), "--blocks 'odd': expected equal or ragged");
}

TEST(BenchOptions, AllIsEveryCollectiveInTenSizes) {
    const auto options = parse({"all"});
    ASSERT_TRUE(options);
    EXPECT_EQ(options.value().collectives.size(), size_t{TUTTI_COLLECTIVE_COUNT});
    EXPECT_EQ(options.value().bytes.size(), 10u);
}

TEST(BenchOptions, NamesWhatIsWrong) {
    EXPECT_NE(problem({}).find("which collective"), std::string::npos);
    EXPECT_EQ(problem({"alreduce"}), "unknown collective alreduce; did you mean allreduce?");
    EXPECT_EQ(problem({"al"}), "unknown collective al; did you mean all?");
    EXPECT_EQ(problem({"all", "--byts", "8"}), "unknown option --byts; did you mean --bytes?");
    EXPECT_EQ(problem({"all", "--bytes"}), "--bytes: a value is missing");
    EXPECT_EQ(problem({"all", "--json="}), "--json: expected a file name");
    for (const char* bad : {"", "7", "12", "0", "2G", "8,", "x", "-8", "8 K"}) {
        EXPECT_TRUE(problem({"all", "--bytes", bad}).starts_with("--bytes '")) << bad;
    }
    for (const char* bad :
         {"", "1", ":5", "1:", "x:5", "1:x", "1:-5", "-1:5", "1:60001", "1:2:3"}) {
        EXPECT_TRUE(problem({"all", "--late", bad}).starts_with("--late '")) << bad;
    }
    EXPECT_EQ(problem({"bcast", "--algorithm="}), "--algorithm: expected a name, or all");
    EXPECT_NE(problem({"bcast", "--algorithm", "chian"}).find("did you mean chain"),
              std::string::npos);
    // Every collective that is named must have it.
    EXPECT_NE(problem({"bcast", "barrier", "--algorithm", "chain"}), "none");
    for (const char* bad : {"", "4", "100001", "x", "-7"}) {
        EXPECT_TRUE(problem({"all", "--batches", bad}).starts_with("--batches '")) << bad;
    }
    for (const char* bad : {"", "x", "-1", "3601"}) {
        EXPECT_TRUE(problem({"all", "--seconds", bad}).starts_with("--seconds '")) << bad;
    }
}

TEST(BenchOptions, SkewGoesWithSomeOptionsAndNotWithOthers) {
    const std::vector<std::string_view> words{"barrier", "--skew=one:1ms,2ms", "--seed",
                                              "7",       "--svg=x.svg",        "--buffers=fresh"};
    const auto options = parse_bench_options(words);
    ASSERT_TRUE(options) << options.error().message;
    EXPECT_EQ(options.value().seed, 7u);
    EXPECT_EQ(options.value().svg, "x.svg");
    ASSERT_TRUE(options.value().skew);
    EXPECT_EQ(options.value().skew->most_ns.size(), 2u);
    EXPECT_EQ(problem({"barrier", "--skew=one:1ms", "--late=1:1"}), "--skew: not with --late");
    EXPECT_EQ(problem({"barrier", "--skew=one:1ms", "--paper"}), "--paper: not with --skew");
    EXPECT_EQ(problem({"barrier", "--seed=1"}), "--seed: only with --skew");
    EXPECT_EQ(problem({"barrier", "--skew=none", "--seed=x"}), "--seed 'x': expected a number");
    EXPECT_EQ(problem({"barrier", "--svg=x.svg"}), "--svg: only with --skew");
    EXPECT_EQ(problem({"barrier", "--skew=one:1ms", "--svg="}), "--svg: expected a file name");
    EXPECT_EQ(problem({"barrier", "--skew=one:1ms", "--svg=x.svg"}),
              "--svg: a curve has several points; give --skew several times MAX");
    EXPECT_EQ(problem({"barrier", "--skew=one:1ms,2ms", "--svg=x", "--json=x"}),
              "--svg: that is --json's file");
}

TEST(BenchHost, KnowsLaunchersByName) {
    for (const char* name : {"/usr/bin/orterun", "/opt/bin/prterun", "/usr/bin/hydra_pmi_proxy",
                             "/usr/bin/mpiexec.hydra", "mpirun", "/usr/bin/mpirun.mpich"}) {
        EXPECT_TRUE(is_launcher(name)) << name;
    }
    for (const char* name : {"/usr/bin/bash", "/usr/bin/timeout", "", "/mpirun/sh"}) {
        EXPECT_FALSE(is_launcher(name)) << name;
    }
}

TEST(BenchHost, LooksBesideTheLauncherFirst) {
    const std::vector<Ancestor> above{{"/usr/bin/dash", ""}, {"/opt/mpi/bin/prterun", ""}};
    const auto files = library_candidates("", above, true);
    ASSERT_FALSE(files.empty());
    EXPECT_EQ(files.front(), "/opt/mpi/lib/libmpi.so.40");
    EXPECT_EQ(files.back(), "libmpi.so.40");
    const std::vector<Ancestor> hydra{{"/usr/bin/hydra_pmi_proxy", ""}};
    const auto mpich = library_candidates("", hydra, false);
    EXPECT_EQ(mpich.front(), "/usr/lib/libmpi.so.12");
    EXPECT_EQ(mpich.back(), "libmpich.so.12");
    EXPECT_NE(std::find(mpich.begin(), mpich.end(), "/usr/lib/x86_64-linux-gnu/libmpich.so.12"),
              mpich.end());
    EXPECT_EQ(library_candidates("/x/libmpi.so", above, true),
              std::vector<std::string>{"/x/libmpi.so"});
}

// Slurm's daemon has started the rank: whose MPI it is, nobody says.
TEST(BenchHost, TriesEveryMpiWhereNoLauncherIsAbove) {
    using Files = std::vector<std::string>;
    const std::vector<Ancestor> above{{"/usr/sbin/slurmstepd", ""}};
    EXPECT_EQ(library_candidates("", above, false),
              (Files{"libmpi.so.12", "libmpich.so.12", "libmpi.so.40"}));
    EXPECT_EQ(library_candidates("", above, true, "/opt/lib/libmpi.so.40"),
              (Files{"/opt/lib/libmpi.so.40", "libmpi.so.40", "libmpi.so.12", "libmpich.so.12"}));
    EXPECT_EQ(library_candidates("/x/libmpi.so", above, true, "/opt/lib/libmpi.so.40"),
              Files{"/x/libmpi.so"});
}

}  // namespace
}  // namespace tutti::cli
