// SPDX-License-Identifier: BSD-3-Clause
#include "run/site/fabric_search.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <vector>

namespace tutti::site {
namespace {

class FabricFile : public testing::Test {
  protected:
    void SetUp() override {
        std::string name =
            (std::filesystem::temp_directory_path() / "tutti-search-XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        root_ = name;
        search_.site_folder = name + "/site";
        search_.slurm_conf = name + "/slurm/slurm.conf";
        std::filesystem::create_directory(name + "/site");
        std::filesystem::create_directory(name + "/slurm");
    }
    void TearDown() override { std::filesystem::remove_all(root_); }

    void write(const std::string& name) const { std::ofstream(root_ + "/" + name) << "x"; }
    // "FILE (ORIGIN)", the file below the test's folder.
    [[nodiscard]] std::string found() const {
        const auto found = find_fabric(search_);
        if (!found) return found.error().message;
        const std::string& file = found.value().file;
        return (file.starts_with(root_) ? file.substr(root_.size() + 1) : file) + " (" +
               found.value().origin + ")";
    }

    std::string root_;
    FabricSearch search_;
};

TEST_F(FabricFile, InItsOrder) {
    EXPECT_EQ(found(), " ()");
    search_.tuned_file = "tuned.toml";
    EXPECT_EQ(found(), "tuned.toml (the tuned file)");
    write("slurm/topology.conf");
    EXPECT_EQ(found(), "slurm/topology.conf (beside SLURM_CONF)");
    write("slurm/topology.yaml");
    EXPECT_EQ(found(), "slurm/topology.yaml (beside SLURM_CONF)");
    for (const char* end : {"toml~", "toml.0123456789abcdef.tmp", "toml.bak", "yaml.dpkg-old"}) {
        write(std::string("site/fabric.") + end);
    }
    write("site/settings.toml");
    std::filesystem::create_directory(root_ + "/site/fabric.d");
    EXPECT_EQ(found(), "slurm/topology.yaml (beside SLURM_CONF)");
    write("site/fabric.toml");
    EXPECT_EQ(found(), "site/fabric.toml (the site's)");
    search_.setting = "a";
    EXPECT_EQ(found(), "a (TUTTI_FABRIC)");
    search_.setting = "off";
    EXPECT_EQ(found(), " ()");
}

// YAML is found where there is nothing else: whoever does not read it is to say so.
TEST_F(FabricFile, WhoReadsNoYamlTakesTheOther) {
    search_.reads_yaml = false;
    write("slurm/topology.yaml");
    EXPECT_EQ(found(), "slurm/topology.yaml (beside SLURM_CONF)");
    write("slurm/topology.conf");
    EXPECT_EQ(found(), "slurm/topology.conf (beside SLURM_CONF)");
    write("site/fabric.yaml");
    EXPECT_EQ(found(), "site/fabric.yaml (the site's)");
}

TEST_F(FabricFile, TwoOfTheSiteAreAnError) {
    write("site/fabric.toml");
    write("site/fabric.conf");
    EXPECT_EQ(found(), root_ + "/site/fabric.conf and " + root_ +
                           "/site/fabric.toml are both there; name one, or set TUTTI_FABRIC");
}

TEST(FabricSearchTest, SaysWhatIsWrongWithTheSite) {
    const std::vector<std::string> own{"TUTTI_FABRIC=a.toml"};
    const auto broken = fabric_search(Site::parse("off", "site.toml"), own, nullptr);
    ASSERT_FALSE(broken);
    EXPECT_EQ(broken.error().message.substr(0, 12), "site.toml:1:");
    const auto good = fabric_search(Site(), own, "/s/slurm.conf");
    ASSERT_TRUE(good) << good.error().message;
    EXPECT_EQ(good.value().setting, "a.toml");
    EXPECT_EQ(good.value().slurm_conf, "/s/slurm.conf");
    EXPECT_EQ(fabric_search(Site(), own, nullptr).value().slurm_conf, "");
}

TEST_F(FabricFile, NothingAnywhere) {
    search_.slurm_conf.clear();
    search_.site_folder = root_ + "/none";
    EXPECT_EQ(found(), " ()");
    search_.tuned_file = "tuned.toml";
    EXPECT_EQ(found(), "tuned.toml (the tuned file)");
}

}  // namespace
}  // namespace tutti::site
