// SPDX-License-Identifier: BSD-3-Clause
// Every malformed thing: exactly one line on standard error, status 2, nothing left behind.
#include <sys/stat.h>
#include <unistd.h>

#include "golden/transcript.h"

namespace tutti::golden {
namespace {

namespace fs = std::filesystem;

struct Wrong {
    const char* before;
    const char* arguments;
    const char* line;
};

class Malformed : public Transcript, public testing::WithParamInterface<Wrong> {};

TEST_P(Malformed, IsOneLine) {
    const Answer answer = tutti(GetParam().arguments, GetParam().before);
    EXPECT_EQ(answer.err, std::string("tutti: ") + GetParam().line + "\n");
    EXPECT_EQ(answer.status, 2);
    EXPECT_EQ(answer.out, "");
    EXPECT_TRUE(fs::is_empty(here()));
}

std::string case_name(const testing::TestParamInfo<Wrong>& wrong) {
    return "Case" + std::to_string(wrong.index);
}

INSTANTIATE_TEST_SUITE_P(
    CommandLines, Malformed,
    testing::Values(
        Wrong{"", "", "no command given; try tutti help"},
        Wrong{"", "rum", "unknown command rum; did you mean run?"},
        Wrong{"", "--versoin", "unknown option --versoin; did you mean --version?"},
        Wrong{"", "help runn", "unknown help page runn; did you mean run?"},
        Wrong{"", "help run now", "help: unexpected word now"},
        Wrong{"", "info --setings", "unknown option --setings; did you mean --settings?"},
        Wrong{"", "info --markdown", "info: --markdown needs --settings"},
        Wrong{"", "info here", "info: unexpected word here"},
        Wrong{"", "run", "run: no command; usage: tutti run [options] -- COMMAND..."},
        Wrong{"", "run --", "run: no command; usage: tutti run [options] -- COMMAND..."},
        Wrong{"", "run --check --report --",
              "run: no command; usage: tutti run [options] -- COMMAND..."},
        Wrong{"", "run --reprot -- touch x", "unknown option --reprot; did you mean --report?"},
        Wrong{"", "run -n 2 touch x", "unknown option -n"},
        Wrong{"", "run --stall -- touch x", "--stall: expected SECONDS"},
        Wrong{"", "run --stall never -- touch x",
              "--stall=never: expected SECONDS or a time, as in 100ms, 10s or 5min"},
        Wrong{"", "run --memory 1T5 -- touch x", "--memory=1T5: expected BYTES from 64K to 1024G"},
        Wrong{"", "run --mcast-ttl=0 -- touch x", "--mcast-ttl=0: expected HOPS from 1 to 255"},
        Wrong{"", "run --mcast-rate=0 -- touch x",
              "--mcast-rate=0: expected RATE|auto from 1mbit to 1000gbit"},
        Wrong{"", "--version extra", "--version: unexpected word extra"},
        Wrong{"", "run --check=perhaps -- touch x", "--check=perhaps: expected 0|1"},
        Wrong{"", "run --layout=ring -- touch x", "--layout=ring: expected auto|flat|tree"},
        Wrong{"", "run --help=1 -- touch x", "--help=1: expected no value"},
        Wrong{"", "run --allreduce rnig -- touch x",
              "--allreduce=rnig: unknown algorithm rnig of allreduce; did you mean ring?"},
        Wrong{"TUTTI_REPRODUCIBLE=1", "run --reduce=binomial -- touch x",
              "--reduce=binomial: under TUTTI_REPRODUCIBLE only chain may run"},
        Wrong{"", "run --topology pack:x -- touch x",
              "--topology: topology \"pack:x\": not a description that hwloc knows, such as "
              "\"pack:2 l3:4 core:8 pu:1\""},
        Wrong{"", "run --report= -- touch x", "--report=: expected 1|full|FILE.json"},
        Wrong{"", "run --report=no/r.json -- touch x", "report file no/r.json: no such directory"},
        Wrong{"", "run --report=/ -- touch x", "report file /: Is a directory"},
        Wrong{"", "run \"--stall=a\nb\" -- touch x",
              "--stall=a\\x0ab: expected SECONDS or a time, as in 100ms, 10s or 5min"}),
    case_name);

INSTANTIATE_TEST_SUITE_P(
    Variables, Malformed,
    testing::Values(
        Wrong{"TUTTI_STALL=soon", "run -- touch x",
              "TUTTI_STALL=soon: expected SECONDS or a time, as in 100ms, 10s or 5min"},
        Wrong{"TUTTI=maybe", "run --check -- touch x", "TUTTI=maybe: expected on|off"},
        Wrong{"TUTTI_ALLREDUCE=rnig", "run -- touch x",
              "TUTTI_ALLREDUCE=rnig: unknown algorithm rnig of allreduce; did you mean ring?"},
        Wrong{"", "run --rules none.toml -- touch x",
              "rules file none.toml: No such file or directory"},
        Wrong{"TUTTI_REPORT=no/r.json", "run -- touch x",
              "report file no/r.json: no such directory"},
        Wrong{"TUTTI_BCAST=rnig", "info", "TUTTI_BCAST=rnig: unknown algorithm rnig of bcast"}),
    case_name);

// The command in an installation of its own, whose libraries do nothing.
class Run : public Transcript {
  protected:
    void SetUp() override {
        Transcript::SetUp();
        for (const char* name : {"bin", "lib", "tmp"}) fs::create_directories(root_ / name);
        fs::copy_file(TUTTI_COMMAND, root_ / "bin/tutti");
        fs::copy_file(TUTTI_EMPTY_LIBRARY, library());
        make_launcher("mpirun", "mpirun (Open MPI) 5.0.11");
        make_launcher("mpiexec", "HYDRA build details:\n    Version:   5.0.2");
        make_launcher("srun", "slurm 23");
        make_launcher("mpirun.other", "my own launcher 1.0");
    }
    [[nodiscard]] std::string library() const { return (root_ / "lib/libtutti-mpi.so").string(); }
    [[nodiscard]] Answer run(const std::string& arguments, const std::string& before = "") const {
        return shell("export TMPDIR=$PWD/../tmp PATH=$PWD/bin:/usr/bin:/bin; " + before +
                     " ../bin/tutti run " + arguments);
    }
    [[nodiscard]] bool left_nothing() const { return fs::is_empty(root_ / "tmp"); }
};

// Modules set them for every package. They go their own way, and so does the command.
TEST_F(Run, VariablesOfModulesPass) {
    const Answer answer =
        run("-- mpirun -n 2 ./app", "TUTTI_ROOT=/opt/t TUTTI_VERSION=1 TUTTI_LIB_DIR=/opt/t/lib");
    EXPECT_EQ(answer.err, "");
    EXPECT_EQ(answer.out, "-x\nLD_PRELOAD=" + library() + "\n-n\n2\n./app\n");
    EXPECT_EQ(answer.status, 0);
}

// Rank 0 says that it means nothing, once for each program.
TEST_F(Run, AnUnknownVariableEndsNothing) {
    const Answer answer = run("-- mpirun -n 2 ./app", "TUTTI_CHEK=1");
    EXPECT_EQ(answer.err, "");
    EXPECT_EQ(answer.out, "-x\nLD_PRELOAD=" + library() + "\n-x\nTUTTI_CHEK=1\n-n\n2\n./app\n");
    EXPECT_EQ(answer.status, 0);
}

TEST_F(Run, AnEmptyVariableIsUnset) {
    const Answer answer =
        run("-- mpirun -n 2 ./app", "TUTTI= TUTTI_REPORT= TUTTI_CHECK= TUTTI_WARMUP=3");
    EXPECT_EQ(answer.err, "");
    EXPECT_EQ(answer.out, "-x\nLD_PRELOAD=" + library() + "\n-x\nTUTTI_WARMUP=3\n-n\n2\n./app\n");
}

// A closed standard output is still closed for the program that is run.
TEST_F(Run, HandsStandardOutputOnAsItIs) {
    const Answer answer = run("-- sh -c 'test -e /proc/self/fd/1 && echo open >&2; exit 3' >&-");
    EXPECT_EQ(answer.status, 3);
    EXPECT_EQ(answer.err.find("open\n"), std::string::npos) << answer.err;
    EXPECT_EQ(run("-- sh -c 'echo x >/dev/null' >/dev/full").status, 0);
}

TEST_F(Run, OpenMpi) {
    const Answer answer = run("--check -- mpirun -n 2 ./app");
    EXPECT_EQ(answer.out, "-x\nLD_PRELOAD=" + library() + "\n-x\nTUTTI_CHECK=1\n-n\n2\n./app\n");
    EXPECT_EQ(answer.err, "");
    EXPECT_EQ(answer.status, 0);
}

TEST_F(Run, Hydra) {
    const Answer answer = run("-- mpiexec -n 2 ./app", "TUTTI_STALL=9 LD_PRELOAD=");
    EXPECT_EQ(answer.out,
              "-genv\nLD_PRELOAD\n" + library() + "\n-genv\nTUTTI_STALL\n9\n-n\n2\n./app\n");
    EXPECT_EQ(answer.err, "");
}

// Without Tutti rather than not at all, and not in silence.
TEST_F(Run, OpenMpi4WithAFileThatSetsVariables) {
    make_launcher("mpirun", "mpirun (Open MPI) 4.1.4");
    (void)shell("echo '-x A=1 -n 2 ./app' >contexts");
    const Answer answer = run("-- mpirun --app contexts");
    EXPECT_EQ(answer.out, "--app\ncontexts\n");
    EXPECT_EQ(
        answer.err,
        "tutti: contexts sets variables by -x, beside which Open MPI 4 takes none of ours; it "
        "runs without Tutti\n");
    EXPECT_EQ(answer.status, 0);
}

TEST_F(Run, Slurm) {
    const Answer answer = run("-- srun -n 2 ./app");
    EXPECT_EQ(answer.out, "--export=ALL,LD_PRELOAD=" + library() + "\n-n\n2\n./app\n");
}

TEST_F(Run, AnotherProgramInheritsThePreload) {
    const Answer answer = run("--spin 3 sh -c 'echo $LD_PRELOAD $TUTTI_SPIN'");
    EXPECT_EQ(answer.out, library() + " 3\n");
    EXPECT_EQ(answer.err, "");
}

TEST_F(Run, TheCommandsStatusIsOurs) {
    EXPECT_EQ(run("-- mpirun", "STATUS=7").status, 7);
    EXPECT_EQ(run("-- sh -c 'kill -TERM $$'").status, 128 + 15);
}

TEST_F(Run, ALauncherOfAnotherMpi) {
    const Answer answer = run("-- mpirun.other ./app");
    EXPECT_EQ(answer.status, 2);
    EXPECT_EQ(lines(answer.err), 1u);
    EXPECT_NE(answer.err.find("not a launcher of Open MPI, MPICH or Intel MPI"), std::string::npos);
}

// The library finds out whose MPI the program's is, so no launcher need say it.
TEST_F(Run, WithoutALauncherNearby) {
    make_launcher("../app", "");
    const Answer answer = run("-- ./app", "PATH=/nonexistent");
    EXPECT_EQ(answer.status, 0);
    EXPECT_EQ(answer.err, "");
}

TEST_F(Run, AProgramThatIsNotThere) {
    const Answer answer = run("-- nosuch");
    EXPECT_EQ(answer.status, 127);
    EXPECT_EQ(answer.err, "tutti: nosuch: no such program\n");
    EXPECT_EQ(run("-- ./bin").status, 127);
    EXPECT_EQ(run("--check --report r.json -- mpirun").err,
              "tutti: r.json: no such program; for a value of --report write --report=r.json\n");
    EXPECT_EQ(run("--report -- r.json").err, "tutti: r.json: no such program\n");
}

TEST_F(Run, AMissingLibrary) {
    fs::remove(library());
    const Answer answer = run("-- mpirun ./app");
    EXPECT_EQ(answer.status, 2);
    EXPECT_EQ(answer.out, "");
    EXPECT_EQ(lines(answer.err), 1u);
    EXPECT_NE(answer.err.find("libtutti-mpi.so is not in "), std::string::npos);
}

TEST_F(Run, AReportThatNobodyGave) {
    const Answer answer = run("--report=r.json -- mpirun ./app");
    EXPECT_EQ(answer.status, 0);
    EXPECT_EQ(answer.err,
              "tutti: no collective was seen on this host: no MPI program called MPI_Finalize "
              "under Tutti (is mpirun an MPI program, and its MPI not linked into it "
              "statically?)\n");
    EXPECT_NE(answer.out.find("TUTTI_REPORT=" + (here() / "r.json").string() + "\n"),
              std::string::npos);
    EXPECT_FALSE(fs::exists(here() / "r.json"));
    EXPECT_TRUE(left_nothing());
}

TEST_F(Run, NoReportFromACommandThatFailed) {
    const Answer answer = run("--report -- sh -c 'exit 7'");
    EXPECT_EQ(answer.status, 7);
    EXPECT_EQ(answer.err, "tutti: no report: the command ended with status 7\n");
    EXPECT_TRUE(left_nothing());
}

TEST_F(Run, AReportThatWasGiven) {
    const Answer marked = run("--report -- sh -c ': > \"$TUTTI_REPORT_MARK\"'");
    EXPECT_EQ(marked.status, 0);
    EXPECT_EQ(marked.err, "");
    // From a rank on another host there is the file only.
    const Answer written = run("--report=r.json -- sh -c ': > \"$TUTTI_REPORT\"'");
    EXPECT_EQ(written.err, "");
    EXPECT_TRUE(left_nothing());
}

// The word for a table with all there is is no file.
TEST_F(Run, AFullReport) {
    const Answer answer = run("--report=full -- mpirun ./app");
    EXPECT_NE(answer.out.find("TUTTI_REPORT=full\n"), std::string::npos) << answer.out;
}

// From a rank on another host, under the name that it has made of the codes, or that it took
// because an earlier program of this run has written the first.
TEST_F(Run, AReportUnderAnotherName) {
    const std::string no_report =
        "tutti: no collective was seen on this host: no MPI program called MPI_Finalize";
    for (const std::string file : {"r-h2.99.json", "r-h2.99.2.json"}) {
        EXPECT_EQ(run("--report=r-%h.%p.json -- sh -c ': > " + file + "'").err, "") << file;
    }
    const Answer another = run("--report=r-%h.%p.json -- sh -c ': > q-h2.99.json'");
    EXPECT_TRUE(another.err.starts_with(no_report)) << another.err;
    fs::create_directory(here() / "9");
    EXPECT_EQ(run("--report=%j/r.json -- sh -c ': > 9/r.json'").err, "");
    EXPECT_TRUE(left_nothing());
}

// Its name is this process's number, for the codes.
TEST_F(Run, TheMarkNamesTheRun) {
    const Answer answer =
        run("--report -- sh -c 'echo $PPID ${TUTTI_REPORT_MARK##*/}; : > "
            "\"$TUTTI_REPORT_MARK\"'");
    const size_t blank = answer.out.find(' ');
    ASSERT_NE(blank, std::string::npos) << answer.out;
    EXPECT_EQ(answer.out.substr(0, blank) + "\n", answer.out.substr(blank + 1));
}

TEST_F(Run, SwitchedOffThereIsNoReport) {
    for (const char* off : {"TUTTI=off", "TUTTI=No", "TUTTI=0"}) {
        const Answer answer = run("--report -- mpirun ./app", off);
        EXPECT_EQ(answer.err, "tutti: no report: TUTTI=off\n");
        EXPECT_NE(answer.out.find("-x\nTUTTI_REPORT=0\n"), std::string::npos) << answer.out;
        EXPECT_EQ(answer.status, 0);
    }
    // One of those that a launcher has started says it.
    EXPECT_EQ(run("--report -- mpirun ./app", "TUTTI=off PMI_RANK=1").err, "");
}

// No file of such a name is written.
TEST_F(Run, AReportIsASwitchToo) {
    for (const char* word : {"0", "off", "No", "FALSE"}) {
        const std::string report = "--report=" + std::string(word);
        const Answer answer = run(report + " -- sh -c 'echo \"[$TUTTI_REPORT_MARK]\"'");
        EXPECT_EQ(answer.out, "[]\n") << word;
        EXPECT_EQ(answer.err, "") << word;
    }
    for (const char* word : {"1", "on", "Yes", "true"}) {
        const std::string report = "--report=" + std::string(word);
        const Answer answer = run(report + " -- sh -c ': > \"$TUTTI_REPORT_MARK\"'");
        EXPECT_EQ(answer.err, "") << word;
    }
    EXPECT_TRUE(fs::is_empty(root_ / "tmp"));
    EXPECT_EQ(run("--report=off.json -- mpirun").out.find("TUTTI_REPORT=off\n"), std::string::npos);
}

// As root, a report onto a link that somebody else had planted in /tmp replaced what it led to.
TEST_F(Run, AReportDoesNotFollowAPlantedLink) {
    if (geteuid() != 0) GTEST_SKIP() << "needs root, to be another user for a moment";
    std::ofstream(here() / "victim") << "precious";
    fs::permissions(root_, fs::perms::owner_all | fs::perms::group_exec);
    fs::create_directory(root_ / "open");
    ASSERT_EQ(chmod((root_ / "open").c_str(), 01777), 0);
    ASSERT_EQ(seteuid(65534), 0);
    fs::create_symlink(here() / "victim", root_ / "open/r.json");
    fs::create_symlink(here(), root_ / "open/way");
    ASSERT_EQ(seteuid(0), 0);
    const std::string open = (root_ / "open").string();
    const Answer answer = run("--report=../open/r.json -- mpirun -n 2 ./app");
    EXPECT_EQ(answer.status, 2);
    EXPECT_EQ(answer.err,
              "tutti: report file ../open/r.json: refused: the link r.json of user "
              "65534 in " +
                  open + ", where everybody may write\n");
    const Answer way = run("--report -- mpirun -n 2 ./app", "TMPDIR=../open/way");
    EXPECT_EQ(
        way.err,
        "tutti: no temporary directory (../open/way: refused: the link way of user 65534 in " +
            open + ", where everybody may write): if no report comes, nothing will be said\n");
    EXPECT_EQ(way.out.find("TUTTI_REPORT_MARK"), std::string::npos);
    EXPECT_EQ(text_of(here() / "victim"), "precious");
}

TEST_F(Run, ATemporaryDirectoryThatIsNotThere) {
    for (const char* folder : {"/nonexistent", "/dev/null", "/proc"}) {
        const Answer answer = run("--report -- mpirun ./app", "TMPDIR=" + std::string(folder));
        EXPECT_EQ(answer.status, 0);
        EXPECT_EQ(answer.out, "-x\nLD_PRELOAD=" + library() + "\n-x\nTUTTI_REPORT=1\n./app\n");
        EXPECT_EQ(answer.err.find("tutti: no temporary directory ("), 0u) << answer.err;
        EXPECT_EQ(lines(answer.err), 1u) << answer.err;
    }
    // A file is watched all the same.
    const std::string missing = "TMPDIR=/nonexistent";
    EXPECT_EQ(lines(run("--report=r.json -- sh -c ': > \"$TUTTI_REPORT\"'", missing).err), 1u);
    EXPECT_EQ(lines(run("--report -- sh -c 'exit 3'", missing).err), 2u);
}

// Started by a launcher, once for each rank: the first alone knows of a report.
TEST_F(Run, OtherRanksDoNotWonder) {
    for (const char* name : {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"}) {
        const std::string variable = name;
        EXPECT_EQ(run("--report -- sh -c :", variable + "=3").err, "") << name;
        EXPECT_EQ(run("--report -- sh -c 'exit 3'", variable + "=3").err, "") << name;
        EXPECT_EQ(lines(run("--report -- sh -c :", variable + "=0").err), 1u) << name;
    }
}

TEST_F(Run, OneOfNestedCommandsWonders) {
    const std::string inner = "-- ../bin/tutti run --report ";
    EXPECT_EQ(run("--report " + inner + "-- sh -c ': > \"$TUTTI_REPORT_MARK\"'").err, "");
    const Answer none = run("--report " + inner + "-- sh -c :");
    EXPECT_EQ(lines(none.err), 1u) << none.err;
    EXPECT_NE(none.err.find("(is sh an MPI program,"), std::string::npos) << none.err;
    EXPECT_EQ(lines(run("--report " + inner + "-- sh -c 'exit 3'").err), 1u);
    EXPECT_TRUE(left_nothing());
}

TEST_F(Run, OfAJobThatRunsElsewhereNothingIsSeen) {
    make_launcher("sbatch", "slurm 23");
    EXPECT_EQ(run("--report -- sbatch job.sh").err,
              "tutti: sbatch hands the job in and ends; the report comes when the job runs\n");
    EXPECT_EQ(run("--report -- srun ./app").err, "");
    EXPECT_EQ(run("-- sbatch job.sh").err, "");
}

// It would be run with Tutti's own words as arguments.
TEST_F(Run, TuneTakesNoProgram) {
    make_launcher("../app", "");
    const auto tune = [this](const std::string& launcher) {
        return shell("export PATH=$PWD/bin:/usr/bin:/bin; ../bin/tutti tune -o t.toml -- " +
                     launcher);
    };
    for (const char* launcher :
         {"mpirun -n 2 ./app", "mpirun -n 2 ./no_such_app", "mpirun --oversubscribe -n 2 ./gone x",
          "mpiexec -genv A 1 -n 2 ./app", "srun -n 2 ./gone", "mpirun -n 2 app"}) {
        const Answer answer = tune(launcher);
        EXPECT_EQ(answer.status, 2) << launcher;
        EXPECT_EQ(answer.out, "") << launcher;
        EXPECT_EQ(lines(answer.err), 1u) << answer.err;
        EXPECT_NE(answer.err.find(": it measures the cluster, not a program; leave it away: tutti "
                                  "tune -- mpirun -n 64\n"),
                  std::string::npos)
            << answer.err;
    }
    // These launchers run nothing.
    for (const char* launcher :
         {"mpirun -n 2 --hostfile hosts", "srun -n 2 -N 1", "mpirun",
          "mpirun --unknown value -np 2", "mpirun --oversubscribe -n 4", "./app -n 2"}) {
        const Answer answer = tune(launcher);
        EXPECT_EQ(answer.err.find("it measures the cluster"), std::string::npos) << answer.err;
        EXPECT_NE(answer.err.find("tutti tune: nothing was measured: is "), std::string::npos)
            << answer.err;
        EXPECT_EQ(answer.status, 2) << launcher;
    }
}

}  // namespace
}  // namespace tutti::golden
