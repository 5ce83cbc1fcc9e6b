// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "base/topo/node_topology.h"

namespace tutti::topo {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMountV2 =
    "25 1 0:22 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr const char* kMountV1Memory =
    "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n";
constexpr const char* kMountV1Cpu =
    "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:7 - cgroup cgroup rw,cpu,cpuacct\n";

// A made-up root directory with the files that a test writes.
class Cgroup : public testing::Test {
  protected:
    void SetUp() override {
        std::string pattern = (fs::temp_directory_path() / "tutti-cgroup-XXXXXX").string();
        ASSERT_NE(mkdtemp(pattern.data()), nullptr);
        root_ = pattern;
    }
    void TearDown() override { fs::remove_all(root_); }

    void write(const std::string& path, const std::string& text) {
        fs::create_directories(fs::path(root_ + path).parent_path());
        std::ofstream(root_ + path) << text;
    }
    void write_self(const std::string& cgroup, const std::string& mountinfo) {
        write("/proc/self/cgroup", cgroup);
        write("/proc/self/mountinfo",
              "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n" + mountinfo);
    }

    std::string root_;
};

TEST_F(Cgroup, NothingMountedIsNoLimit) {
    EXPECT_EQ(cgroup_cpu_quota(root_), std::nullopt);
    EXPECT_EQ(cgroup_memory_headroom(root_), std::nullopt);
    write_self("0::/job\n", "");
    EXPECT_EQ(cgroup_cpu_quota(root_), std::nullopt);
    EXPECT_EQ(cgroup_memory_headroom(root_), std::nullopt);
}

TEST_F(Cgroup, V2OwnGroup) {
    write_self("0::/job/step\n", kMountV2);
    write("/sys/fs/cgroup/job/step/cpu.max", "200000 100000\n");
    write("/sys/fs/cgroup/job/step/memory.max", "1000000\n");
    write("/sys/fs/cgroup/job/step/memory.current", "400000\n");
    EXPECT_EQ(cgroup_cpu_quota(root_), 2u);
    EXPECT_EQ(cgroup_memory_headroom(root_), 600000u);
}

TEST_F(Cgroup, V2QuotaIsRoundedUp) {
    write_self("0::/\n", kMountV2);
    const std::vector<std::pair<std::string, uint32_t>> cases = {
        {"100001 100000", 2},
        {"100000 100000", 1},
        {"1000 100000", 1},
        {"250000 100000", 3},
        {"18446744073709551615 1", UINT32_MAX}};
    for (const auto& [text, cpus] : cases) {
        write("/sys/fs/cgroup/cpu.max", text + "\n");
        EXPECT_EQ(cgroup_cpu_quota(root_), cpus) << text;
    }
}

TEST_F(Cgroup, V2TightestAncestorCounts) {
    write_self("0::/a/b/c\n", kMountV2);
    write("/sys/fs/cgroup/a/b/c/cpu.max", "max 100000\n");
    write("/sys/fs/cgroup/a/b/cpu.max", "300000 100000\n");
    write("/sys/fs/cgroup/a/cpu.max", "800000 100000\n");
    write("/sys/fs/cgroup/a/b/c/memory.max", "max\n");
    write("/sys/fs/cgroup/a/b/c/memory.current", "5\n");
    write("/sys/fs/cgroup/a/b/memory.max", "9000\n");
    write("/sys/fs/cgroup/a/b/memory.current", "1000\n");
    write("/sys/fs/cgroup/a/memory.max", "50000\n");
    write("/sys/fs/cgroup/a/memory.current", "45000\n");
    EXPECT_EQ(cgroup_cpu_quota(root_), 3u);
    EXPECT_EQ(cgroup_memory_headroom(root_), 5000u);
}

TEST_F(Cgroup, UnusedFilePagesCountAsFree) {
    write_self("0::/job\n", kMountV2);
    write("/sys/fs/cgroup/job/memory.max", "1000\n");
    write("/sys/fs/cgroup/job/memory.current", "900\n");
    write("/sys/fs/cgroup/job/memory.stat", "anon 1\nfile 700\ninactive_file 300\nactive_file 9\n");
    EXPECT_EQ(cgroup_memory_headroom(root_), 400u);
    // Numbers read at different moments may contradict each other: never more than the limit.
    write("/sys/fs/cgroup/job/memory.stat", "inactive_file 5000\n");
    EXPECT_EQ(cgroup_memory_headroom(root_), 1000u);
}

TEST_F(Cgroup, MoreUsedThanAllowedIsNoHeadroom) {
    write_self("0::/job\n", kMountV2);
    write("/sys/fs/cgroup/job/memory.max", "1000\n");
    write("/sys/fs/cgroup/job/memory.current", "1100\n");
    EXPECT_EQ(cgroup_memory_headroom(root_), 0u);
}

TEST_F(Cgroup, PathFromOutsideTheContainerMeansTheTop) {
    for (const char* path : {"/system.slice/docker-12ab.scope", "/../../other", "/.."}) {
        write_self(std::string("0::") + path + "\n", kMountV2);
        write("/sys/fs/cgroup/cpu.max", "400000 100000\n");
        write("/sys/fs/cgroup/memory.max", "4096\n");
        write("/sys/fs/cgroup/memory.current", "96\n");
        EXPECT_EQ(cgroup_cpu_quota(root_), 4u) << path;
        EXPECT_EQ(cgroup_memory_headroom(root_), 4000u) << path;
    }
}

TEST_F(Cgroup, BindMountedPartOfTheHierarchy) {
    write_self("0::/docker/12ab/inner\n",
               "25 1 0:22 /docker/12ab /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
    write("/sys/fs/cgroup/inner/cpu.max", "500000 100000\n");
    EXPECT_EQ(cgroup_cpu_quota(root_), 5u);
    // "/docker/12" is a prefix of the text only, not of the path.
    write_self("0::/docker/12ab/inner\n",
               "25 1 0:22 /docker/12 /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
    write("/sys/fs/cgroup/ab/inner/cpu.max", "600000 100000\n");
    EXPECT_EQ(cgroup_cpu_quota(root_), std::nullopt);
}

TEST_F(Cgroup, MountPointWithASpace) {
    write_self("0::/job\n", "25 1 0:22 / /my\\040groups rw - cgroup2 cgroup2 rw\n");
    write("/my groups/job/cpu.max", "700000 100000\n");
    EXPECT_EQ(cgroup_cpu_quota(root_), 7u);
}

TEST_F(Cgroup, V1) {
    write_self("5:memory:/job\n4:cpu,cpuacct:/batch/job\n",
               std::string(kMountV1Memory) + kMountV1Cpu);
    const std::string cpu = "/sys/fs/cgroup/cpu,cpuacct/batch";
    write(cpu + "/job/cpu.cfs_quota_us", "-1\n");
    write(cpu + "/job/cpu.cfs_period_us", "100000\n");
    write(cpu + "/cpu.cfs_quota_us", "150000\n");
    write(cpu + "/cpu.cfs_period_us", "50000\n");
    const std::string memory = "/sys/fs/cgroup/memory";
    write(memory + "/memory.limit_in_bytes", "9223372036854771712\n");
    write(memory + "/memory.usage_in_bytes", "123\n");
    write(memory + "/job/memory.limit_in_bytes", "8000\n");
    write(memory + "/job/memory.usage_in_bytes", "5000\n");
    write(memory + "/job/memory.stat", "inactive_file 1\ntotal_inactive_file 2000\n");
    EXPECT_EQ(cgroup_cpu_quota(root_), 3u);
    EXPECT_EQ(cgroup_memory_headroom(root_), 5000u);
    fs::remove_all(root_ + memory + "/job");
    fs::create_directories(root_ + memory + "/job");
    EXPECT_EQ(cgroup_memory_headroom(root_), std::nullopt) << "the largest page count is no limit";
}

TEST_F(Cgroup, HybridTakesBoth) {
    write_self("4:memory:/job\n1:cpu,cpuacct:/\n0::/job\n",
               "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n" +
                   std::string(kMountV1Memory) + kMountV1Cpu);
    write("/sys/fs/cgroup/unified/job/cpu.max", "200000 100000\n");
    write("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "3000\n");
    write("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "1000\n");
    EXPECT_EQ(cgroup_cpu_quota(root_), 2u);
    EXPECT_EQ(cgroup_memory_headroom(root_), 2000u);
}

TEST_F(Cgroup, MalformedFilesAreNoLimit) {
    write_self("0::/job\n", kMountV2);
    write("/sys/fs/cgroup/job/memory.current", "100\n");
    for (const char* text : {"", "\n", "x", "max", "100000", "0 100000", "100000 0", "-1 100000",
                             "1 2 3", "99999999999999999999999 1", "1e3 10", "100000 100000x"}) {
        write("/sys/fs/cgroup/job/cpu.max", text);
        EXPECT_EQ(cgroup_cpu_quota(root_), std::nullopt) << text;
    }
    for (const char* text :
         {"", "\n", "x", "max", "-5", "12 13", "99999999999999999999999", "1K"}) {
        write("/sys/fs/cgroup/job/memory.max", text);
        EXPECT_EQ(cgroup_memory_headroom(root_), std::nullopt) << text;
    }
    write("/sys/fs/cgroup/job/memory.max", "1000\n");
    write("/sys/fs/cgroup/job/memory.current", "many\n");
    EXPECT_EQ(cgroup_memory_headroom(root_), std::nullopt);
}

TEST_F(Cgroup, MalformedProcIsNoLimit) {
    write("/sys/fs/cgroup/cpu.max", "100000 100000\n");
    for (const char* mountinfo :
         {"", "\n\n", "- cgroup2 cgroup2 rw\n", "1 2 3 / /sys/fs/cgroup rw -\n",
          "1 2 3 / /sys/fs/cgroup - cgroup2 cgroup2 rw", "-\n- - - -\n"}) {
        write("/proc/self/mountinfo", mountinfo);
        write("/proc/self/cgroup", "0::/\n");
        EXPECT_EQ(cgroup_cpu_quota(root_), std::nullopt) << mountinfo;
    }
    // A broken /proc/self/cgroup leaves the top, which holds for everybody below.
    for (const char* cgroup : {"", "nonsense", "0:", "0::", "::::\n", "12\n:\n"}) {
        write_self(cgroup, kMountV2);
        EXPECT_EQ(cgroup_cpu_quota(root_), 1u) << cgroup;
    }
}

}  // namespace
}  // namespace tutti::topo
