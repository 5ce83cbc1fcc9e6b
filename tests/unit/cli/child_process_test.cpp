// SPDX-License-Identifier: BSD-3-Clause
#include "cli/child_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace tutti::cli {
namespace {

namespace fs = std::filesystem;

class Directory : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = (fs::temp_directory_path() / "tutti-test-XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        root_ = name;
    }
    void TearDown() override { fs::remove_all(root_); }

    std::string make(const std::string& name, fs::perms permissions) {
        const fs::path file = root_ / name;
        fs::create_directories(file.parent_path());
        std::ofstream(file) << "#!/bin/sh\n";
        fs::permissions(file, permissions);
        return file.string();
    }

    fs::path root_;
};

TEST_F(Directory, FindsTheFirstProgramOnPath) {
    make("a/tool", fs::perms::owner_read);
    const auto second = make("b/tool", fs::perms::owner_all);
    make("c/tool", fs::perms::owner_all);
    const std::string root = root_.string();
    const std::string path = root + "/none:" + root + "/a:" + root + "/b:" + root + "/c";
    EXPECT_EQ(find_program("tool", path), second);
    EXPECT_EQ(find_program("other", path), std::nullopt);
    EXPECT_EQ(find_program("", path), std::nullopt);
    EXPECT_EQ(find_program("b", root), std::nullopt);  // A directory.
    EXPECT_EQ(find_program(second, ""), second);
    EXPECT_EQ(find_program(root + "/a/tool", path), std::nullopt);
}

TEST_F(Directory, FollowsLinks) {
    const auto tool = make("x/tool", fs::perms::owner_all);
    fs::create_symlink("x/tool", root_ / "near");
    fs::create_symlink(root_ / "near", root_ / "far");
    const auto chain = link_chain((root_ / "far").string());
    ASSERT_EQ(chain.size(), 3u);
    EXPECT_EQ(chain[1], (root_ / "near").string());
    EXPECT_EQ(chain[2], tool);
    EXPECT_EQ(link_chain(tool), std::vector<std::string>{tool});
}

TEST_F(Directory, ALoopOfLinksEnds) {
    fs::create_symlink(root_ / "b", root_ / "a");
    fs::create_symlink(root_ / "a", root_ / "b");
    EXPECT_GE(link_chain((root_ / "a").string()).size(), 2u);
}

TEST(CapturedOutput, IsStandardOutputOnly) {
    EXPECT_EQ(captured_output({"/bin/sh", "-c", "echo out; echo err >&2"}, 60'000), "out\n");
    EXPECT_EQ(captured_output({"/nonexistent"}, 60'000), "");
}

TEST(CapturedOutput, EndsAProgramThatDoesNot) {
    EXPECT_EQ(captured_output({"/bin/sh", "-c", "echo a; exec sleep 1000"}, 200), "a\n");
    EXPECT_LE(captured_output({"/bin/sh", "-c", "exec yes"}, 60'000).size(), 72u << 10);
}

TEST(RunAndWait, PassesTheStatusOn) {
    for (const int status : {0, 1, 77, 255}) {
        const auto result = run_and_wait({"/bin/sh", "-c", "exit " + std::to_string(status)});
        ASSERT_TRUE(result);
        EXPECT_EQ(result.value(), status);
    }
}

TEST(RunAndWait, DeathBySignal) {
    const auto result = run_and_wait({"/bin/sh", "-c", "kill -9 $$"});
    ASSERT_TRUE(result);
    EXPECT_EQ(result.value(), 128 + SIGKILL);
}

TEST(RunAndWait, SignalsReachTheCommand) {
    // A shell cannot trap what its parents ignore, as those of a job in the background do.
    signal(SIGINT, SIG_DFL);
    for (const char* name : {"TERM", "INT", "USR1"}) {
        const std::string script = "trap 'exit 42' " + std::string(name) + "; kill -" + name +
                                   " $PPID; " + "while :; do sleep 0.05; done";
        const auto result = run_and_wait({"/bin/sh", "-c", script});
        ASSERT_TRUE(result);
        EXPECT_EQ(result.value(), 42) << name;
    }
}

TEST(RunAndWait, NamesAProgramThatCannotStart) {
    const auto result = run_and_wait({"/nonexistent"});
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().message, "/nonexistent: No such file or directory");
}

}  // namespace
}  // namespace tutti::cli
