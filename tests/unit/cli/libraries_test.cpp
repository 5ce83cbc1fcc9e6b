// SPDX-License-Identifier: BSD-3-Clause
#include "cli/libraries.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tutti::cli {
namespace {

using Words = std::vector<std::string>;

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
