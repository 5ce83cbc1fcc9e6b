// SPDX-License-Identifier: BSD-3-Clause
#include <filesystem>
#include <string>

#include "base/settings.h"
#include "golden/transcript.h"
#include "tutti/tutti.h"

namespace tutti::golden {
namespace {

TEST_F(Transcript, Version) {
    const Answer answer = tutti("--version");
    EXPECT_EQ(answer.status, 0);
    EXPECT_EQ(answer.out, "tutti " TUTTI_VERSION_STRING "\n");
    EXPECT_EQ(answer.err, "");
}

TEST_F(Transcript, HelpNamesEverySubcommand) {
    for (const char* word : {"help", "--help", "-h"}) {
        const Answer answer = tutti(word);
        EXPECT_EQ(answer.status, 0);
        for (const char* command : {"tutti run", "tutti bench", "tutti info", "tutti explain",
                                    "tutti check", "tutti simulate", "tutti fabric"}) {
            EXPECT_NE(answer.out.find(command), std::string::npos) << command;
        }
    }
    for (const char* arguments : {"help run", "run --help", "help info", "info --help"}) {
        const Answer answer = tutti(arguments);
        EXPECT_EQ(answer.status, 0) << arguments;
        EXPECT_NE(answer.out.find("Usage: tutti "), std::string::npos) << arguments;
        EXPECT_EQ(answer.err, "") << arguments;
    }
}

// What a person reads first, whole. After a change: for `run --help`,
//   build/bin/tutti run --help >tests/golden/help/run--help.txt
TEST_F(Transcript, HelpIsAsKept) {
    for (const std::string words : {"help", "run --help", "info --help", "explain --help"}) {
        std::string name = words;
        std::erase(name, ' ');
        const std::string kept = text_of(std::filesystem::path(TUTTI_HELP) / (name + ".txt"));
        EXPECT_EQ(tutti(words).out, kept) << words;
    }
}

TEST_F(Transcript, InfoHasItsSections) {
    const Answer answer = tutti("info");
    EXPECT_EQ(answer.status, 0);
    EXPECT_EQ(answer.err, "");
    for (const char* title :
         {"build\n", "machine\n", "shared memory\n", "RDMA\n", "speed between two processors\n",
          "libraries\n", "MPI launchers on PATH\n", "fabric\n", "tuned\n", "settings\n",
          "left to your MPI\n"}) {
        EXPECT_NE(answer.out.find(title), std::string::npos) << title;
    }
}

TEST_F(Transcript, InfoSaysWhyThereIsNoXpmem) {
    if (std::filesystem::exists("/dev/xpmem")) GTEST_SKIP() << "this machine has it";
    const std::string line =
        "  XPMEM             off, no XPMEM: /dev/xpmem: No such file or directory\n";
    for (const char* setting : {"", "TUTTI_SINGLE_COPY=xpmem"}) {
        const Answer answer = tutti("info", setting);
        EXPECT_NE(answer.out.find(line), std::string::npos) << answer.out;
    }
}

TEST_F(Transcript, InfoSaysWhyThereIsNoRdma) {
    const Answer off = tutti("info");
    EXPECT_NE(off.out.find("  used              no, by TUTTI_VERBS\n"), std::string::npos);
    const Answer other = tutti("info", "TUTTI_VERBS=on TUTTI_VERBS_DEVICE=no_such_device:1");
    EXPECT_EQ(other.err, "");
    EXPECT_NE(other.out.find("  used              where all ranks can\n"), std::string::npos);
    EXPECT_NE(other.out.find("  port              none: "), std::string::npos) << other.out;
}

// What it does where there is one: tests/unit/lab/bench/verbs_ways_test.cpp and
// tests/system/test_vmlab.py.
TEST_F(Transcript, BenchSaysWhyThereIsNoRdma) {
    const Answer none = tutti("bench --verbs --device no_such_device:1,other");
    EXPECT_EQ(none.status, 2);
    EXPECT_EQ(none.out, "");
    EXPECT_EQ(lines(none.err), 1u);
    EXPECT_EQ(none.err.rfind("tutti bench: --verbs: ", 0), 0u) << none.err;
    const auto complaint = [this](const std::string& options) {
        const Answer answer = tutti("bench --verbs " + options);
        EXPECT_EQ(answer.status, 2);
        EXPECT_EQ(answer.out, "");
        return answer.err;
    };
    EXPECT_EQ(complaint("--device a,b,c"),
              "tutti bench: --device=a,b,c: expected one port or two, such as mlx5_0:1,mlx5_1:1\n");
    EXPECT_EQ(complaint("--bytes 8,0"),
              "tutti bench: --bytes=8,0: expected lengths from 1 to 64K, such as 1,64,4K\n");
    EXPECT_EQ(complaint("--multicast --bytes 4"),
              "tutti bench: --bytes=4: expected lengths from 8 to 4K, such as 8,64,1K\n");
    EXPECT_EQ(complaint("--multicast --device a,b,"),
              "tutti bench: --device=a,b,: expected up to 9 ports, such as mlx5_0:1,mlx5_1:1\n");
    EXPECT_EQ(complaint("--exchanges 9"),
              "tutti bench: --exchanges=9: expected a number from 10 to 1000000\n");
    EXPECT_EQ(complaint("barrier"), "tutti bench: --verbs: unexpected word barrier\n");
}

TEST_F(Transcript, InfoSaysWhatOneProcessorCannotMeasure) {
    const Answer answer = shell(
        "one=$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//'); exec taskset -c $one \"$T\" info");
    EXPECT_EQ(answer.status, 0) << answer.err;
    EXPECT_NE(answer.out.find("speed between two processors\n"
                              "  none              not measured: there is one processor only\n"),
              std::string::npos)
        << answer.out;
}

TEST_F(Transcript, InfoShowsTheSettingsInForce) {
    const Answer answer = tutti("info", "TUTTI=off TUTTI_CHUNK=8K");
    EXPECT_EQ(answer.status, 0);
    const size_t begin = answer.out.find("settings\n");
    ASSERT_NE(begin, std::string::npos) << answer.out;
    EXPECT_EQ(answer.out.substr(begin, answer.out.find("left to your MPI\n") - begin),
              "settings\n"
              "  TUTTI             off (environment)\n"
              "  TUTTI_CHUNK       8K (environment)\n"
              "  others            as by default: tutti info --settings\n");
    EXPECT_NE(tutti("info").out.find("\nsettings\n"
                                     "  all               as by default: tutti info --settings\n"),
              std::string::npos);
    EXPECT_NE(answer.out.find("by TUTTI=off\n"), std::string::npos);
}

TEST_F(Transcript, UnknownVariablesAreToldAndEndNothing) {
    for (const char* command : {"info --settings", "explain bcast --ranks 4 --bytes 8", "help"}) {
        const Answer answer = tutti(command, "TUTTI_CHEK=1 TUTTI_HOME=/opt/tutti");
        EXPECT_EQ(answer.status, 0) << command;
        EXPECT_EQ(answer.err,
                  "tutti: unknown variable TUTTI_CHEK is ignored; did you mean TUTTI_CHECK?\n")
            << command;
    }
}

TEST_F(Transcript, InfoFindsLaunchersAndSaysWhatIsNone) {
    make_launcher("mpirun", "mpirun (Open MPI) 9.8.7");
    make_launcher("mpiexec", "something else");
    const Answer answer = tutti("info", "PATH=$PWD/bin");
    EXPECT_EQ(answer.status, 0);
    EXPECT_NE(answer.out.find("Open MPI 9.8.7\n"), std::string::npos);
    EXPECT_NE(answer.out.find("off: not Open MPI, MPICH or Intel MPI"), std::string::npos);
}

TEST_F(Transcript, TheSettingsPageIsUpToDate) {
    const Answer answer = tutti("info --settings --markdown");
    EXPECT_EQ(answer.status, 0);
    EXPECT_EQ(answer.out, text_of(TUTTI_SETTINGS_PAGE))
        << "run: tutti info --settings --markdown > docs/settings.md";
}

TEST_F(Transcript, TheSettingsTableNamesAll) {
    const Answer answer = tutti("info --settings");
    for (const SettingDoc& doc : setting_docs()) {
        EXPECT_NE(answer.out.find(std::string(doc.variable) + "="), std::string::npos)
            << doc.variable;
    }
}

}  // namespace
}  // namespace tutti::golden
