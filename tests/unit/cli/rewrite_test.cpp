// SPDX-License-Identifier: BSD-3-Clause
#include "cli/rewrite.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace tutti::cli {
namespace {

using Words = std::vector<std::string>;

// Programs of these tests: what begins with "./", and the launchers.
bool is_program(const std::string& word) {
    return word.starts_with("./") || is_launcher_name(base_name(word)) || word == "numactl";
}

Passing passing(Style style) {
    Passing result;
    result.style = style;
    result.library = "/t/libtutti.so";
    result.settings = {{"TUTTI_CHECK", "1"}, {"TUTTI_TOPOLOGY", "pack:2 core:4"}};
    return result;
}

Words rewritten(const Words& command, const Passing& how) {
    return rewrite_command(command, how, is_program).command;
}

TEST(MergePreload, KeepsTheUsersInFront) {
    EXPECT_EQ(merge_preload("", "/t/ours.so"), "/t/ours.so");
    EXPECT_EQ(merge_preload("/a.so", "/t/ours.so"), "/a.so:/t/ours.so");
    EXPECT_EQ(merge_preload("/a.so /b.so", "/t/ours.so"), "/a.so /b.so:/t/ours.so");
}

TEST(MergePreload, DoesNotNameOursTwice) {
    EXPECT_EQ(merge_preload("/t/ours.so", "/t/ours.so"), "/t/ours.so");
    EXPECT_EQ(merge_preload("/a.so:/t/ours.so:/b.so", "/t/ours.so"), "/a.so:/t/ours.so:/b.so");
    EXPECT_EQ(merge_preload("/t/ours.so.bak", "/t/ours.so"), "/t/ours.so.bak:/t/ours.so");
}

TEST(Rewrite, OpenMpiGetsOptionsBehindTheLauncher) {
    EXPECT_EQ(rewritten({"mpirun", "-n", "2", "./app", "x"}, passing(Style::kOpenMpi)),
              (Words{"mpirun", "-x", "LD_PRELOAD=/t/libtutti.so", "-x", "TUTTI_CHECK=1", "-x",
                     "TUTTI_TOPOLOGY=pack:2 core:4", "-n", "2", "./app", "x"}));
}

TEST(Rewrite, OpenMpiGetsThemInEveryContext) {
    Passing how = passing(Style::kOpenMpi);
    how.settings.clear();
    EXPECT_EQ(rewritten({"mpirun", "-n", "1", "./a", ":", "-n", "1", "./b", ":", "./c"}, how),
              (Words{"mpirun", "-x", "LD_PRELOAD=/t/libtutti.so", "-n", "1", "./a", ":", "-x",
                     "LD_PRELOAD=/t/libtutti.so", "-n", "1", "./b", ":", "-x",
                     "LD_PRELOAD=/t/libtutti.so", "./c"}));
}

TEST(Rewrite, OpenMpiMergesTheUsersPreload) {
    Passing how = passing(Style::kOpenMpi);
    how.settings.clear();
    EXPECT_EQ(rewritten({"mpirun", "--mca", "btl", "self", "-x", "LD_PRELOAD=/u.so", "./app"}, how),
              (Words{"mpirun", "--mca", "btl", "self", "-x", "LD_PRELOAD=/u.so:/t/libtutti.so",
                     "./app"}));
    how.own_preload = "/env.so";
    EXPECT_EQ(rewritten({"mpirun", "-x", "LD_PRELOAD", "./app"}, how),
              (Words{"mpirun", "-x", "LD_PRELOAD=/env.so:/t/libtutti.so", "./app"}));
    EXPECT_EQ(rewritten({"mpirun", "./app"}, how),
              (Words{"mpirun", "-x", "LD_PRELOAD=/env.so:/t/libtutti.so", "./app"}));
}

// Open MPI 4: beside a list of the user's it refuses -x, and with --app it ignores it.
TEST(Rewrite, OpenMpiTakesAList) {
    Passing how = passing(Style::kOpenMpi);
    how.own_env_list = "";
    EXPECT_EQ(rewritten({"mpirun", "./app"}, how)[1], "-x");
    const Words file{"mpirun", "--app", "contexts"};
    const Rewritten by_file = rewrite_command(file, how, is_program);
    EXPECT_EQ(by_file.command, file);
    ASSERT_FALSE(by_file.environment.empty());
    EXPECT_EQ(by_file.environment.back(),
              (Variable{"OMPI_MCA_mca_base_env_list",
                        "LD_PRELOAD=/t/libtutti.so;TUTTI_CHECK=1;TUTTI_TOPOLOGY=pack:2 core:4"}));
    how.own_env_list = "A=b;TUTTI_CHECK=0;LD_PRELOAD=/u.so";
    const Words plain{"mpirun", "-n", "2", "./app"};
    const Rewritten by_list = rewrite_command(plain, how, is_program);
    EXPECT_EQ(by_list.command, plain);
    EXPECT_EQ(by_list.environment.back().value,
              "A=b;TUTTI_CHECK=0;LD_PRELOAD=/u.so:/t/libtutti.so;TUTTI_TOPOLOGY=pack:2 core:4");
    EXPECT_EQ(merge_env_list("LD_PRELOAD", std::vector<Variable>{{"LD_PRELOAD", "/t.so"}}, "/e.so"),
              "LD_PRELOAD=/e.so:/t.so");
    how.own_env_list = "";
    EXPECT_EQ(rewritten({"mpirun", "--mca", "mca_base_env_list", "TUTTI_TOPOLOGY=x", "./app"}, how),
              (Words{"mpirun", "--mca", "mca_base_env_list",
                     "TUTTI_TOPOLOGY=x;LD_PRELOAD=/t/libtutti.so;TUTTI_CHECK=1", "./app"}));
    // Open MPI 5 takes -x always.
    how.own_env_list.reset();
    EXPECT_EQ(rewritten(file, how)[1], "-x");
}

TEST(Rewrite, OpenMpiLeavesTheUsersSettingAlone) {
    EXPECT_EQ(rewritten({"mpirun", "-x", "TUTTI_CHECK=0", "./app"}, passing(Style::kOpenMpi)),
              (Words{"mpirun", "-x", "LD_PRELOAD=/t/libtutti.so", "-x",
                     "TUTTI_TOPOLOGY=pack:2 core:4", "-x", "TUTTI_CHECK=0", "./app"}));
}

TEST(Rewrite, ArgumentsOfTheApplicationAreNotTheLaunchers) {
    Passing how = passing(Style::kOpenMpi);
    how.settings.clear();
    EXPECT_EQ(rewritten({"mpirun", "-np", "2", "./app", "-x", "LD_PRELOAD=/u.so"}, how),
              (Words{"mpirun", "-x", "LD_PRELOAD=/t/libtutti.so", "-np", "2", "./app", "-x",
                     "LD_PRELOAD=/u.so"}));
    how.style = Style::kHydra;
    EXPECT_EQ(rewritten({"mpirun", "-np", "2", "./app", "-genv", "LD_PRELOAD", "/u.so"}, how),
              (Words{"mpirun", "-genv", "LD_PRELOAD", "/t/libtutti.so", "-np", "2", "./app",
                     "-genv", "LD_PRELOAD", "/u.so"}));
}

TEST(Rewrite, HydraGetsGlobalVariablesOnce) {
    EXPECT_EQ(
        rewritten({"mpiexec", "-n", "1", "./a", ":", "-n", "1", "./b"}, passing(Style::kHydra)),
        (Words{"mpiexec", "-genv", "LD_PRELOAD", "/t/libtutti.so", "-genv", "TUTTI_CHECK", "1",
               "-genv", "TUTTI_TOPOLOGY", "pack:2 core:4", "-n", "1", "./a", ":", "-n", "1",
               "./b"}));
}

TEST(Rewrite, HydraMergesTheUsersPreload) {
    Passing how = passing(Style::kHydra);
    how.settings.clear();
    EXPECT_EQ(rewritten({"mpiexec", "-genv", "LD_PRELOAD", "/u.so", "-n", "1", "./a"}, how),
              (Words{"mpiexec", "-genv", "LD_PRELOAD", "/u.so:/t/libtutti.so", "-n", "1", "./a"}));
    EXPECT_EQ(rewritten({"mpiexec", "-genv", "LD_PRELOAD=/u.so", "./a"}, how),
              (Words{"mpiexec", "-genv", "LD_PRELOAD=/u.so:/t/libtutti.so", "./a"}));
}

TEST(Rewrite, ANameWithoutItsValueIsNobodysPreload) {
    Passing how = passing(Style::kHydra);
    how.settings.clear();
    EXPECT_EQ(rewritten({"mpiexec", "-genv", "LD_PRELOAD"}, how),
              (Words{"mpiexec", "-genv", "LD_PRELOAD", "/t/libtutti.so", "-genv", "LD_PRELOAD"}));
    EXPECT_EQ(rewritten({"mpiexec", "-genv", "LD_PRELOAD", ":", "./b"}, how),
              (Words{"mpiexec", "-genv", "LD_PRELOAD", "/t/libtutti.so", "-genv", "LD_PRELOAD", ":",
                     "./b"}));
}

TEST(Rewrite, HydraMergesALocalPreloadOfOneContext) {
    Passing how = passing(Style::kHydra);
    how.settings.clear();
    EXPECT_EQ(
        rewritten({"mpiexec", "-n", "1", "./a", ":", "-env", "LD_PRELOAD", "/u.so", "./b"}, how),
        (Words{"mpiexec", "-genv", "LD_PRELOAD", "/t/libtutti.so", "-n", "1", "./a", ":", "-env",
               "LD_PRELOAD", "/u.so:/t/libtutti.so", "./b"}));
}

TEST(Rewrite, SlurmGetsOneExport) {
    EXPECT_EQ(rewritten({"srun", "-n", "2", "./app"}, passing(Style::kSlurm)),
              (Words{"srun",
                     "--export=ALL,LD_PRELOAD=/t/libtutti.so,TUTTI_CHECK=1,"
                     "TUTTI_TOPOLOGY=pack:2 core:4",
                     "-n", "2", "./app"}));
}

TEST(Rewrite, SlurmMergesTheUsersExport) {
    Passing how = passing(Style::kSlurm);
    how.settings = {{"TUTTI_CHECK", "1"}};
    const Words expected{
        "srun",  "--export=NONEX,A=1,LD_PRELOAD=/u.so:/t/libtutti.so,TUTTI_CHECK=1",
        "-n",    "2",
        "./app", "--export=mine"};
    EXPECT_EQ(rewritten({"srun", "-n", "2", "--export=NONEX,A=1,LD_PRELOAD=/u.so", "./app",
                         "--export=mine"},
                        how),
              expected);
    EXPECT_EQ(rewritten({"srun", "--export", "NONEX,A=1,LD_PRELOAD=/u.so", "-n", "2", "./app",
                         "--export=mine"},
                        how),
              expected);
}

TEST(Rewrite, SlurmTakesTheExportOfTheEnvironment) {
    Passing how = passing(Style::kSlurm);
    how.settings.clear();
    how.own_export = "PATH";
    EXPECT_EQ(rewritten({"srun", "./app"}, how),
              (Words{"srun", "--export=PATH,LD_PRELOAD=/t/libtutti.so", "./app"}));
}

TEST(Rewrite, SlurmLetsAColonBelongToTheCommand) {
    Passing how = passing(Style::kSlurm);
    how.settings.clear();
    EXPECT_EQ(rewritten({"srun", "./app", ":", "./b"}, how),
              (Words{"srun", "--export=ALL,LD_PRELOAD=/t/libtutti.so", "./app", ":", "./b"}));
}

TEST(MergeExport, NoneStandsAloneSoItGoes) {
    std::vector<Variable> by_name;
    const std::vector<Variable> ours{{"LD_PRELOAD", "/t.so"}};
    EXPECT_EQ(merge_export("NONE", ours, "", by_name), "LD_PRELOAD=/t.so");
    EXPECT_EQ(merge_export("NIL", ours, "", by_name), "LD_PRELOAD=/t.so");
    EXPECT_TRUE(by_name.empty());
}

TEST(MergeExport, ValuesWithCommasTravelByName) {
    std::vector<Variable> by_name;
    const std::vector<Variable> ours{{"LD_PRELOAD", "/t.so"}, {"TUTTI_REPORT", "/a,b.json"}};
    EXPECT_EQ(merge_export(std::nullopt, ours, "", by_name), "ALL,LD_PRELOAD=/t.so,TUTTI_REPORT");
    EXPECT_EQ(by_name, (std::vector<Variable>{{"TUTTI_REPORT", "/a,b.json"}}));
}

TEST(MergeExport, QuotedCommasOfTheUserStayTogether) {
    std::vector<Variable> by_name;
    const std::vector<Variable> ours{{"LD_PRELOAD", "/t.so"}};
    EXPECT_EQ(merge_export("A='1,2',LD_PRELOAD", ours, "/env.so", by_name),
              "A='1,2',LD_PRELOAD=/env.so:/t.so");
}

TEST(MergeExport, TheUsersSettingHolds) {
    std::vector<Variable> by_name;
    const std::vector<Variable> ours{{"LD_PRELOAD", "/t.so"}, {"TUTTI_CHECK", "1"}};
    EXPECT_EQ(merge_export("ALL,TUTTI_CHECK=0", ours, "", by_name),
              "ALL,TUTTI_CHECK=0,LD_PRELOAD=/t.so");
}

TEST(Rewrite, OtherProgramsInherit) {
    Passing how = passing(Style::kInherit);
    how.own_preload = "/env.so";
    const Words command{"./run.sh", ":", "-x"};
    const auto result = rewrite_command(command, how, is_program);
    EXPECT_EQ(result.command, command);
    EXPECT_EQ(result.environment, (std::vector<Variable>{{"LD_PRELOAD", "/env.so:/t/libtutti.so"},
                                                         {"TUTTI_CHECK", "1"},
                                                         {"TUTTI_TOPOLOGY", "pack:2 core:4"}}));
}

TEST(Rewrite, TheLauncherItselfIsNotPreloaded) {
    for (const Style style : {Style::kOpenMpi, Style::kHydra}) {
        const auto result = rewrite_command(Words{"mpirun", "./app"}, passing(style), is_program);
        for (const Variable& variable : result.environment) EXPECT_NE(variable.name, "LD_PRELOAD");
    }
}

TEST(Rewrite, ALauncherBehindAnotherProgram) {
    Passing how = passing(Style::kOpenMpi);
    how.settings.clear();
    how.launcher = 2;
    EXPECT_EQ(rewritten({"timeout", "60", "mpirun", "./app"}, how),
              (Words{"timeout", "60", "mpirun", "-x", "LD_PRELOAD=/t/libtutti.so", "./app"}));
}

TEST(Rewrite, CommandsThatEndEarlyAreHandedOn) {
    for (const Style style : {Style::kOpenMpi, Style::kHydra, Style::kSlurm}) {
        for (const Words& tail : std::initializer_list<Words>{{},
                                                              {"-x"},
                                                              {"-genv"},
                                                              {"-genv", "LD_PRELOAD"},
                                                              {"--export"},
                                                              {":"},
                                                              {"-n"},
                                                              {"--"}}) {
            Words command{"mpirun"};
            command.insert(command.end(), tail.begin(), tail.end());
            const Words result = rewritten(command, passing(style));
            EXPECT_EQ(result.front(), "mpirun");
            if (!tail.empty() && tail.back() != ":") {
                EXPECT_EQ(result.back().substr(0, tail.back().size()), tail.back());
            }
        }
    }
}

}  // namespace
}  // namespace tutti::cli
