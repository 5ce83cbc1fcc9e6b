// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/fingerprint.h"

#include <gtest/gtest.h>

#include <vector>

namespace tutti::select {
namespace {

std::string hosts(const std::vector<std::string>& names) { return hosts_of(names); }

TEST(Fingerprint, NamesTheMpiAndItsVersion) {
    EXPECT_EQ(mpi_of("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4"), "Open MPI v4.1.4");
    EXPECT_EQ(mpi_of("MPICH Version:\t4.0.2\nMPICH Release date:\tThu\n"), "MPICH Version: 4.0.2");
    EXPECT_EQ(mpi_of("MPICH Version:      4.2.0\n"), "MPICH Version: 4.2.0");
    EXPECT_EQ(mpi_of("Intel(R) MPI Library 2021.13 for Linux* OS\n"),
              "Intel(R) MPI Library 2021.13 for Linux* OS");
    EXPECT_EQ(mpi_of(" a\xc3\xa4\x01 \r\n"), "a???");
    EXPECT_EQ(mpi_of(""), "");
}

TEST(Fingerprint, NamesTheKindsOfHosts) {
    EXPECT_EQ(hosts({"node07.cluster.example", "node12", "node3"}), "node#");
    EXPECT_EQ(hosts({"r12n7", "login", "r1n100", "fat2.b"}), "fat#, login, r#n#");
    EXPECT_EQ(hosts({"10"}), "#");
    EXPECT_EQ(hosts({"a,b"}), "a?b");
    EXPECT_EQ(hosts({}), "");
}

TEST(Fingerprint, ToldDifferencesAreThoseThatCount) {
    const Fingerprint tuned{"Open MPI v4.1.4", "fat#, node#", "AMD EPYC"};
    EXPECT_EQ(difference(tuned, tuned), "");
    EXPECT_EQ(difference(tuned, {"Open MPI v4.1.6", "node#", "AMD EPYC"}),
              "it is for Open MPI v4.1.4, this is Open MPI v4.1.6");
    EXPECT_EQ(difference(tuned, {"Open MPI v4.1.4", "node#", "AMD EPYC"}), "");
    EXPECT_EQ(difference(tuned, {"Open MPI v4.1.4", "login", "AMD EPYC"}),
              "it is for hosts named fat#, node#, here is login");
    EXPECT_EQ(difference(tuned, {"Open MPI v4.1.4", "node#, od#", "AMD EPYC"}),
              "it is for hosts named fat#, node#, here is od#");
    EXPECT_EQ(difference(tuned, {"Open MPI v4.1.4", "fat#", "Intel"}),
              "it is for AMD EPYC, this is Intel");
    EXPECT_EQ(difference(tuned, {"Open MPI v4.1.4", "fat#", ""}), "");
    EXPECT_EQ(difference({"a", "b", ""}, {"a", "b", "Intel"}), "");
}

}  // namespace
}  // namespace tutti::select
