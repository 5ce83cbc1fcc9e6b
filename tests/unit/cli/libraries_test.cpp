// SPDX-License-Identifier: BSD-3-Clause
#include "cli/libraries.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tutti::cli {
namespace {

using Words = std::vector<std::string>;

TEST(MpiNeed, ByTheLibrarysName) {
    EXPECT_EQ(mpi_need(Words{"libm.so.6", "libmpi.so.40", "libc.so.6"}), MpiNeed::kOmpi);
    EXPECT_EQ(mpi_need(Words{"libmpi.so.12"}), MpiNeed::kMpich);
    EXPECT_EQ(mpi_need(Words{"libmpich.so.12"}), MpiNeed::kMpich);
    EXPECT_EQ(mpi_need(Words{"libmpi_abi.so.1", "libc.so.6"}), MpiNeed::kStandardAbi);
    EXPECT_EQ(mpi_need(Words{"libc.so.6"}), MpiNeed::kNone);
    EXPECT_EQ(mpi_need(Words{"libmpi.so.1", "libmpich.so.10"}), MpiNeed::kNone);
    EXPECT_EQ(mpi_need({}), MpiNeed::kNone);
}

TEST(ProgramMpiNeed, OfAnMpiProgram) {
    EXPECT_EQ(program_mpi_need(TUTTI_TEST_DIRECT), MpiNeed::kMpich);
    EXPECT_EQ(program_mpi_need(TUTTI_TEST_INDIRECT), MpiNeed::kMpich);
}

TEST(ProgramMpiNeed, OfAProgramWithoutMpi) {
    EXPECT_EQ(program_mpi_need(own_path()), MpiNeed::kNone);
    EXPECT_EQ(program_mpi_need("/nonexistent"), MpiNeed::kNone);
}

bool has(const Words& words, const std::string& word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

TEST(MpiLibraryCandidates, BesideTheLauncherAndWhatItPointsTo) {
    const Words chain{"/venv/bin/mpirun", "/opt/mpi/bin/orterun"};
    const auto files = mpi_library_candidates(chain, Flavour::kOmpi);
    EXPECT_EQ(files.front(), "/venv/lib/libmpi.so.40");
    EXPECT_TRUE(has(files, "/opt/mpi/lib/libmpi.so.40"));
    EXPECT_TRUE(has(files, "/opt/mpi/lib64/libmpi.so.40"));
    EXPECT_FALSE(has(files, "/venv/lib/libmpi.so.12"));
    const auto others = mpi_library_candidates(chain, Flavour::kMpich);
    EXPECT_TRUE(has(others, "/venv/lib/libmpi.so.12"));
    EXPECT_TRUE(has(others, "/venv/lib/libmpich.so.12"));
    EXPECT_TRUE(has(others, "/venv/lib/release/libmpi.so.12"));
}

TEST(FindMpiLibrary, NothingWhereThereIsNone) {
    EXPECT_EQ(find_mpi_library(Words{"/nonexistent/bin/mpirun"}, Flavour::kOmpi), std::nullopt);
}

TEST(FindTuttiLibrary, NamesWhatIsMissing) {
    // The tests lie in a directory of their own, so there is no ../lib with the libraries, or there
    // is: both answers must be right.
    const auto library = find_tutti_library();
    const std::string text = library ? library.value() : library.error().message;
    EXPECT_NE(text.find("libtutti-mpi.so"), std::string::npos) << text;
}

}  // namespace
}  // namespace tutti::cli
