// SPDX-License-Identifier: BSD-3-Clause
// hwloc inside a preloaded library: it loads, reads, needs nothing but libc, shows nothing, and
// loads no plug-in.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace {

class Closed : public testing::Test {
  protected:
    void SetUp() override {
        module_ = dlopen(TUTTI_TEST_MODULE, RTLD_NOW | RTLD_LOCAL);
        ASSERT_NE(module_, nullptr) << dlerror();
    }
    void TearDown() override {
        if (module_ != nullptr) dlclose(module_);
    }
    void* module_ = nullptr;
};

// Addresses in the dynamic section are already relocated for a loaded object (glibc on x86-64).
std::vector<std::string> needed(void* module) {
    link_map* map = nullptr;
    if (dlinfo(module, RTLD_DI_LINKMAP, &map) != 0) return {};
    const char* strings = nullptr;
    for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
        if (entry->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(entry->d_un.d_ptr);
    }
    std::vector<std::string> names;
    for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
        if (entry->d_tag == DT_NEEDED) names.emplace_back(strings + entry->d_un.d_val);
    }
    return names;
}

TEST_F(Closed, NeedsNothingButLibc) {
    const std::vector<std::string> names = needed(module_);
    ASSERT_FALSE(names.empty());
    for (const std::string& name : names) {
        const bool libc =
            name == "libc.so.6" || name == "libm.so.6" || name.starts_with("ld-linux");
        EXPECT_TRUE(libc) << name;
    }
}

TEST_F(Closed, ReadsMachineAndDescription) {
    const auto read =
        reinterpret_cast<unsigned (*)(const char*)>(dlsym(module_, "topo_closed_read"));
    ASSERT_NE(read, nullptr);
    EXPECT_GE(read(""), static_cast<unsigned>(sysconf(_SC_NPROCESSORS_ONLN)));
    EXPECT_EQ(read("pack:2 l3:4 core:8 pu:1"), 64u);
    EXPECT_EQ(read("nonsense"), 0u);
}

TEST_F(Closed, LoadsNoPlugin) {
    const auto read =
        reinterpret_cast<unsigned (*)(const char*)>(dlsym(module_, "topo_closed_read"));
    ASSERT_NE(read, nullptr);
    ASSERT_EQ(access(TUTTI_TEST_PLUGINS "/hwloc_intruder.so", R_OK), 0);
    setenv("HWLOC_PLUGINS_PATH", TUTTI_TEST_PLUGINS, 1);
    EXPECT_GT(read(""), 0u);
    unsetenv("HWLOC_PLUGINS_PATH");
    EXPECT_EQ(getenv("TUTTI_TEST_INTRUDER"), nullptr) << "hwloc loaded a plug-in";
}

TEST_F(Closed, ShowsNothingElse) {
    EXPECT_EQ(dlsym(module_, "tutti_hwloc_topology_init"), nullptr);
    EXPECT_EQ(dlsym(module_, "hwloc_topology_init"), nullptr);
    EXPECT_EQ(dlsym(module_, "tutti_absent_dlopen"), nullptr);
}

}  // namespace
