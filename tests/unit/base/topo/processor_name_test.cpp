// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "base/topo/node_topology.h"

namespace tutti::topo {
namespace {

namespace fs = std::filesystem;

TEST(ProcessorName, IsThatOfTheFirstOne) {
    std::string root = (fs::temp_directory_path() / "tutti-processor-XXXXXX").string();
    ASSERT_NE(mkdtemp(root.data()), nullptr);
    EXPECT_EQ(processor_name(root), "");
    fs::create_directory(root + "/proc");
    const auto name_in = [&](const std::string& text) {
        std::ofstream(root + "/proc/cpuinfo") << text;
        return processor_name(root);
    };
    EXPECT_EQ(name_in("processor\t: 0\nmodel\t\t: 17\nmodel name\t: AMD EPYC 7763\n\n"
                      "processor\t: 1\nmodel name\t: another\n"),
              "AMD EPYC 7763");
    EXPECT_EQ(name_in("processor\t: 0\ncpu\t\t: POWER9, altivec supported\n"),
              "POWER9, altivec supported");
    EXPECT_EQ(name_in("processor\t: 0\nBogoMIPS\t: 50.00\n"), "");
    EXPECT_EQ(name_in(""), "");
    fs::remove_all(root);
}

}  // namespace
}  // namespace tutti::topo
