// SPDX-License-Identifier: BSD-3-Clause
#include "files/whole_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

namespace tutti::files {
namespace {

namespace fs = std::filesystem;

class WholeFile : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = (fs::temp_directory_path() / "tutti-files-XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        folder_ = name;
    }
    void TearDown() override { fs::remove_all(folder_); }
    [[nodiscard]] std::string file(const std::string& name) const { return folder_ / name; }
    [[nodiscard]] auto files() const {
        return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
    }
    static std::string text_of(const std::string& path) {
        std::ifstream stream(path);
        return {std::istreambuf_iterator<char>(stream), {}};
    }

    fs::path folder_;
};

TEST_F(WholeFile, ReplacesInOneStep) {
    EXPECT_EQ(obstacle(file("a")), "");
    EXPECT_EQ(write_whole(file("a"), "one"), "");
    std::ifstream reader(file("a"));  // keeps the old one
    EXPECT_EQ(write_whole(file("a"), "two!"), "");
    EXPECT_EQ(text_of(file("a")), "two!");
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(reader), {}), "one");
    EXPECT_EQ(files(), 1);
}

TEST_F(WholeFile, KeepsPermissionsAndLinks) {
    ASSERT_EQ(write_whole(file("a"), "one"), "");
    fs::permissions(file("a"), fs::perms::owner_read | fs::perms::owner_write);
    fs::create_symlink("a", file("link"));
    EXPECT_EQ(write_whole(file("link"), "two"), "");
    EXPECT_TRUE(fs::is_symlink(file("link")));
    EXPECT_EQ(text_of(file("a")), "two");
    EXPECT_EQ(fs::status(file("a")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
    EXPECT_EQ(files(), 2);
}

TEST_F(WholeFile, LeavesNothingWhereItCannot) {
    fs::create_directories(file("taken/x"));
    for (const char* name : {"taken", "taken/x/"}) {
        EXPECT_EQ(obstacle(file(name)), "Is a directory");
        EXPECT_NE(write_whole(file(name), "text"), "");
    }
    EXPECT_EQ(obstacle(file("none/a")), "no such directory");
    EXPECT_EQ(obstacle(file("none/")), "no such directory");
    EXPECT_EQ(write_whole(file("none/a"), "text"), "No such file or directory");
    EXPECT_EQ(files(), 1);
}

// What is no regular file stays what it is, even for root.
TEST_F(WholeFile, WritesIntoAPipe) {
    ASSERT_EQ(mkfifo(file("pipe").c_str(), 0600), 0);
    std::string heard;
    std::thread reader([&] { heard = text_of(file("pipe")); });
    EXPECT_EQ(obstacle(file("pipe")), "");
    EXPECT_EQ(write_whole(file("pipe"), "text"), "");
    reader.join();
    EXPECT_EQ(heard, "text");
    EXPECT_TRUE(fs::is_fifo(file("pipe")));
    EXPECT_EQ(files(), 1);
}

// A device of our own: the machine's would be lost if this failed as root.
TEST_F(WholeFile, WritesIntoADevice) {
    const dev_t full = makedev(1, 7);
    if (mknod(file("full").c_str(), S_IFCHR | 0600, full) != 0) {
        GTEST_SKIP() << "cannot make a device: " << strerror(errno);
    }
    const int descriptor = open(file("full").c_str(), O_WRONLY);
    if (descriptor < 0) GTEST_SKIP() << "cannot open a device: " << strerror(errno);
    close(descriptor);
    EXPECT_EQ(obstacle(file("full")), "");
    EXPECT_EQ(write_whole(file("full"), "text"), "No space left on device");
    EXPECT_TRUE(fs::is_character_file(file("full")));
    EXPECT_EQ(files(), 1);
}

// The name of an open file means that file where it stands, with its other writers.
TEST_F(WholeFile, GoesOnWithWhatIsOpen) {
    const int descriptor = open(file("out").c_str(), O_WRONLY | O_CREAT, 0600);
    ASSERT_GE(descriptor, 0);
    ASSERT_EQ(write(descriptor, "head ", 5), 5);
    EXPECT_EQ(write_whole("/proc/self/fd/" + std::to_string(descriptor), "text "), "");
    ASSERT_EQ(write(descriptor, "end", 3), 3);
    close(descriptor);
    EXPECT_EQ(text_of(file("out")), "head text end");
}

TEST_F(WholeFile, ADiskThatIsFull) {
    // A file of at most 4 bytes stands for it.
    const pid_t child = fork();
    if (child == 0) {
        signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{4, 4};
        setrlimit(RLIMIT_FSIZE, &limit);
        _exit(write_whole(file("a"), "12345") == "File too large" ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(files(), 0);
}

}  // namespace
}  // namespace tutti::files
