// SPDX-License-Identifier: BSD-3-Clause
#include "cli/launcher.h"

#include <gtest/gtest.h>

namespace tutti::cli {
namespace {

using Words = std::vector<std::string>;

bool is_program(const std::string& word) {
    return word.starts_with("./") || is_launcher_name(base_name(word));
}

struct Recognised {
    const char* output;
    Flavour flavour;
    const char* text;
};

class RecogniseVersion : public testing::TestWithParam<Recognised> {};

TEST_P(RecogniseVersion, OfARealLauncher) {
    const auto version = recognise_version(GetParam().output);
    ASSERT_TRUE(version);
    EXPECT_EQ(version->flavour, GetParam().flavour);
    EXPECT_EQ(version->text, GetParam().text);
}

INSTANTIATE_TEST_SUITE_P(
    All, RecogniseVersion,
    testing::Values(
        Recognised{"mpirun (Open MPI) 5.0.11\n\nReport bugs to https://www.open-mpi.org/\n",
                   Flavour::kOmpi, "Open MPI 5.0.11"},
        Recognised{"mpiexec (OpenRTE) 4.1.4\n\nReport bugs to http://www.open-mpi.org/\n",
                   Flavour::kOmpi, "Open MPI 4.1.4"},
        Recognised{"prterun (PRRTE) 3.0.7\n", Flavour::kOmpi, "PRRTE 3.0.7"},
        Recognised{"HYDRA build details:\n    Version:                                 4.0.2\n"
                   "    Release Date:      Thu Apr  7 12:34:45 CDT 2022\n",
                   Flavour::kMpich, "MPICH 4.0.2"},
        Recognised{"Intel(R) MPI Library for Linux* OS, Version 2021.18.1 Build 20260626 (id: b4)\n"
                   "Copyright 2003-2026, Intel Corporation.\n",
                   Flavour::kMpich, "Intel MPI 2021.18.1"}));

TEST(RecogniseVersionOf, NothingElse) {
    EXPECT_FALSE(recognise_version(""));
    EXPECT_FALSE(recognise_version("GNU Make 4.3\n"));
    EXPECT_FALSE(recognise_version("Sorry! You were supposed to get help about:\n    version\n"));
}

TEST(RecogniseVersionOf, ATextThatEndsEarly) {
    ASSERT_TRUE(recognise_version("mpirun (Open MPI)"));
    EXPECT_EQ(recognise_version("mpirun (Open MPI)")->text, "Open MPI");
}

TEST(FlavourByName, KnowsTheNamesThatTell) {
    EXPECT_EQ(flavour_by_name("mpirun.openmpi"), Flavour::kOmpi);
    EXPECT_EQ(flavour_by_name("orterun"), Flavour::kOmpi);
    EXPECT_EQ(flavour_by_name("prterun"), Flavour::kOmpi);
    EXPECT_EQ(flavour_by_name("mpiexec.hydra"), Flavour::kMpich);
    EXPECT_EQ(flavour_by_name("mpirun.mpich"), Flavour::kMpich);
    EXPECT_EQ(flavour_by_name("mpirun"), std::nullopt);
}

TEST(FindLauncher, FirstWord) {
    EXPECT_EQ(find_launcher(Words{"mpirun", "./a"}, is_program), 0u);
    EXPECT_EQ(find_launcher(Words{"/opt/x/bin/mpiexec.hydra", "./a"}, is_program), 0u);
    EXPECT_EQ(find_launcher(Words{"srun", "./a"}, is_program), 0u);
}

TEST(FindLauncher, BehindAProgramThatStartsAnother) {
    EXPECT_EQ(find_launcher(Words{"env", "A=1", "mpirun", "./a"}, is_program), 2u);
    EXPECT_EQ(find_launcher(Words{"timeout", "-k", "1", "60", "/x/mpiexec", "./a"}, is_program),
              4u);
}

TEST(FindLauncher, NotInOtherPrograms) {
    EXPECT_EQ(find_launcher(Words{"./script", "mpirun"}, is_program), std::nullopt);
    EXPECT_EQ(find_launcher(Words{"bash", "-c", "mpirun ./a"}, is_program), std::nullopt);
    EXPECT_EQ(find_launcher(Words{}, is_program), std::nullopt);
    EXPECT_EQ(find_launcher(Words{"env", "./a"}, is_program), std::nullopt);
}

size_t application(const Words& command, Style style) {
    return split_contexts(command, 0, style, is_program).front().application;
}

TEST(SplitContexts, OptionsWithValuesAreSkipped) {
    EXPECT_EQ(application({"mpirun", "-n", "2", "./a"}, Style::kOpenMpi), 3u);
    EXPECT_EQ(application({"mpirun", "--mca", "a", "./b", "./a"}, Style::kOpenMpi), 4u);
    EXPECT_EQ(
        application({"mpirun", "--map-by", ":OVERSUBSCRIBE", "-x", "./x", "./a"}, Style::kOpenMpi),
        5u);
    EXPECT_EQ(application({"mpirun", "--output=./x", "./a"}, Style::kOpenMpi), 2u);
    EXPECT_EQ(application({"mpiexec", "-genv", "A", "./x", "./a"}, Style::kHydra), 4u);
    EXPECT_EQ(application({"mpiexec", "-genv", "A=./x", "./a"}, Style::kHydra), 3u);
    EXPECT_EQ(application({"mpiexec", "-wdir", "./x", "./a"}, Style::kHydra), 3u);
    EXPECT_EQ(application({"srun", "-n", "2", "--export", "./x", "./a"}, Style::kSlurm), 5u);
}

TEST(SplitContexts, AnUnknownOptionsValueIsNoProgram) {
    EXPECT_EQ(application({"mpirun", "--unknown", "7", "./a"}, Style::kOpenMpi), 3u);
}

TEST(SplitContexts, NoApplication) {
    EXPECT_EQ(application({"mpirun", "-n", "2"}, Style::kOpenMpi), 3u);
    EXPECT_EQ(application({"mpirun"}, Style::kOpenMpi), 1u);
}

TEST(SplitContexts, AtEveryColon) {
    const Words command{"mpirun", "-n", "1", "./a", ":", "-n", "1", "./b"};
    const auto contexts = split_contexts(command, 0, Style::kOpenMpi, is_program);
    ASSERT_EQ(contexts.size(), 2u);
    EXPECT_EQ(contexts[0].application, 3u);
    EXPECT_EQ(contexts[0].end, 4u);
    EXPECT_EQ(contexts[1].begin, 5u);
    EXPECT_EQ(contexts[1].application, 7u);
    EXPECT_EQ(contexts[1].end, 8u);
}

}  // namespace
}  // namespace tutti::cli
