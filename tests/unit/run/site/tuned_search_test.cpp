// SPDX-License-Identifier: BSD-3-Clause
#include "run/site/tuned_search.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace tutti::site {
namespace {

namespace fs = std::filesystem;

class TunedFile : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = (fs::temp_directory_path() / "tutti-tuned-XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        root_ = name + "/";
        search_.folders = {root_ + "user", root_ + "site"};
        for (const std::string& folder : search_.folders) fs::create_directory(folder);
    }
    void TearDown() override { fs::remove_all(root_); }

    void write(const std::string& name, const std::string& text) const {
        std::ofstream(root_ + name) << text;
    }
    void write_for(const std::string& name, const std::string& mpi) const {
        write(name, "[tuned]\nmpi = \"" + mpi + "\"\nhosts = \"n#\"\n");
    }
    // "FILE", or "FILE; REMARK"; the test's folder is left out.
    [[nodiscard]] std::string found() {
        asked_ = 0;
        const auto found = find_tuned(search_, [&] {
            ++asked_;
            return select::Fingerprint{"Good v1", "n#", ""};
        });
        if (!found) return without_root("error: " + found.error().message);
        EXPECT_EQ(found.value().file.empty(), found.value().text.empty());
        const std::string& remark = found.value().remark;
        return without_root(found.value().file + (remark.empty() ? "" : "; ") + remark);
    }
    [[nodiscard]] std::string without_root(std::string text) const {
        for (size_t at = 0; (at = text.find(root_)) != std::string::npos;) {
            text.erase(at, root_.size());
        }
        return text;
    }

    std::string root_;
    TunedSearch search_;
    int asked_ = 0;
};

TEST_F(TunedFile, TheFirstThatFits) {
    EXPECT_EQ(found(), "");
    EXPECT_EQ(asked_, 0) << "nothing is looked at where there is no file";
    write_for("site/tuned.toml", "Good v1");
    EXPECT_EQ(found(), "site/tuned.toml");
    write_for("user/tuned-b.toml", "Good v1");
    EXPECT_EQ(found(), "user/tuned-b.toml");
    write_for("user/tuned-a.toml", "Good v2");
    EXPECT_EQ(found(), "user/tuned-b.toml") << "of one that does not fit nothing is said then";
    EXPECT_EQ(asked_, 1);
    write_for("user/tuned-a.toml", "Good v1");
    EXPECT_EQ(found(), "user/tuned-a.toml");
    search_.setting = "off";
    EXPECT_EQ(found(), "");
    search_.setting = root_ + "site/tuned.toml";
    EXPECT_EQ(found(), "site/tuned.toml");
}

TEST_F(TunedFile, OtherNamesAreNotLookedAt) {
    for (const char* name : {"untuned.toml", "tuned.toml~", "tuned.toml.0123.tmp", "tuned.conf"}) {
        write_for(std::string("user/") + name, "Good v1");
    }
    fs::create_directory(root_ + "user/tuned.d.toml");
    EXPECT_EQ(found(), "");
    search_.folders[0] = root_ + "none";
    EXPECT_EQ(found(), "");
}

TEST_F(TunedFile, OneLineWhereNoneFits) {
    write_for("user/tuned-b.toml", "Good v3");
    write_for("user/tuned-a.toml", "Good v2");
    const std::string line =
        "tuned file user/tuned-a.toml is not used: it is for Good v2, this is Good v1; run tutti "
        "tune";
    EXPECT_EQ(found(), "; " + line);
    search_.setting = root_ + "user/tuned-a.toml";
    EXPECT_EQ(found(), "; " + line);
}

TEST_F(TunedFile, ABrokenOneIsToldAndPassedOver) {
    write("user/tuned-a.toml", "[tuned]\nmpi = 3\n");
    const std::string fault = "user/tuned-a.toml:2:7: mpi: expected a text, not 3";
    EXPECT_EQ(found(), "; tuned file is not used: " + fault);
    write_for("user/tuned-b.toml", "Good v2");
    EXPECT_EQ(found(), "; tuned file is not used: " + fault);
    write_for("site/tuned.toml", "Good v1");
    EXPECT_EQ(found(), "site/tuned.toml; tuned file is not used: " + fault);
    search_.setting = root_ + "user/tuned-a.toml";
    EXPECT_EQ(found(), "error: " + fault);
}

TEST_F(TunedFile, WhatANamedOneMayBeWrongIn) {
    search_.setting = root_ + "none.toml";
    EXPECT_EQ(found(), "error: tuned file none.toml: No such file or directory");
    write("rules.toml", "built_in = false\n");
    search_.setting = root_ + "rules.toml";
    EXPECT_EQ(found(), "error: rules.toml:1:1: no tuned file: it does not say [tuned]");
    write("zero.toml", std::string("#\0\n", 3));
    search_.setting = root_ + "zero.toml";
    EXPECT_EQ(found(), "error: tuned file zero.toml: a null character is in it");
}

TEST(TunedSearchTest, LooksIntoTheUsersAndTheSitesFolder) {
    Settings settings;
    settings.rules.tuned_file = "a.toml";
    const auto folders = [&](const char* xdg, const char* home) {
        const TunedSearch search = tuned_search(settings, xdg, home);
        EXPECT_EQ(search.setting, "a.toml");
        return search.folders;
    };
    using Folders = std::vector<std::string>;
    EXPECT_EQ(folders("/x", "/h"), (Folders{"/x/tutti", "/etc/tutti"}));
    EXPECT_EQ(folders("x", "/h"), (Folders{"/h/.config/tutti", "/etc/tutti"}));
    EXPECT_EQ(folders(nullptr, "/h"), (Folders{"/h/.config/tutti", "/etc/tutti"}));
    EXPECT_EQ(folders("", nullptr), Folders{"/etc/tutti"});
}

TEST_F(TunedFile, TravelsAsSettings) {
    const std::string file = root_ + "mine.toml";
    const std::vector<std::string> held{"TUTTI_TUNED=" + file};
    const select::Fingerprint own = own_fingerprint("Good v1, of somebody");
    EXPECT_EQ(own.mpi, "Good v1");
    const std::string text = "[tuned]\nmpi = \"Good v1\"\nhosts = \"" + own.hosts + "\"\n";
    write("mine.toml", text);
    const auto fits = tuned_entries(held, "Good v1, of somebody");
    ASSERT_TRUE(fits) << fits.error().message;
    EXPECT_EQ(fits.value().entries,
              (std::vector<std::string>{"TUTTI_TUNED_NAME=" + file, "TUTTI_TUNED_TEXT=" + text}));
    EXPECT_EQ(fits.value().remark, "");
    const auto unfit = tuned_entries(held, "Good v2");
    ASSERT_TRUE(unfit) << unfit.error().message;
    EXPECT_EQ(unfit.value().entries, std::vector<std::string>{"TUTTI_TUNED_NAME=off"});
    EXPECT_NE(unfit.value().remark, "");
    write("mine.toml", "x");
    EXPECT_FALSE(tuned_entries(held, "Good v1"));
    const std::vector<std::string> off{"TUTTI=off", held[0]};
    const auto nothing = tuned_entries(off, "Good v1");
    ASSERT_TRUE(nothing) << nothing.error().message;
    EXPECT_TRUE(nothing.value().entries.empty());
}

TEST_F(TunedFile, MayDescribeTheCluster) {
    Settings settings;
    const auto file = [&] {
        const auto found = tuned_fabric(settings);
        return found ? without_root(found.value()) : without_root(found.error().message);
    };
    EXPECT_EQ(file(), "");
    settings.rules.tuned_file = root_ + "mine.toml";
    write_for("mine.toml", "Good v1");
    EXPECT_EQ(file(), "");
    const std::string fabric = "[tuned]\nmpi = \"a\"\nhosts = \"n#\"\n[[switch]]\nname = \"s\"\n";
    write("mine.toml", fabric);
    EXPECT_EQ(file(), "mine.toml");
    settings.rules.tuned_name = "off";
    EXPECT_EQ(file(), "");
    settings.rules.tuned_name = "rank-0.toml";
    settings.rules.tuned_text = fabric;
    EXPECT_EQ(file(), "rank-0.toml");
}

}  // namespace
}  // namespace tutti::site
