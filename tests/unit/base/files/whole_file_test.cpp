// SPDX-License-Identifier: BSD-3-Clause
#include "base/files/whole_file.h"

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

#include "base/prng.h"
#include "base/read_whole.h"
#include "sim/seeds.h"
#include "unit/short_transfers.h"

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

// What another user has planted in a directory that everybody may write to, as /tmp.
class Planted : public WholeFile {
  protected:
    static constexpr uid_t kOther = 65534;
    void SetUp() override {
        if (geteuid() != 0) GTEST_SKIP() << "needs root, to be another user for a moment";
        WholeFile::SetUp();
        ASSERT_EQ(chmod(folder_.c_str(), 01777), 0);
        ASSERT_EQ(mkdir(file("mine").c_str(), 0755), 0);
        ASSERT_EQ(write_whole(file("mine/victim"), "precious"), "");
        ASSERT_EQ(chmod(file("mine/victim").c_str(), 0600), 0);
    }
    void TearDown() override {
        if (geteuid() == 0 && !folder_.empty()) WholeFile::TearDown();
    }
    template <class Act>
    static void as_other(Act act) {
        ASSERT_EQ(seteuid(kOther), 0);
        act();
        ASSERT_EQ(seteuid(0), 0);
    }
    void plant_link(const std::string& name, const std::string& target) {
        as_other([&] { ASSERT_EQ(symlink(target.c_str(), file(name).c_str()), 0); });
    }
    void expect_refused(const std::string& name, const std::string& what) {
        const std::string said = write_whole(file(name), "planted");
        EXPECT_EQ(said.substr(0, what.size()), what) << name;
        EXPECT_EQ(obstacle(file(name)), said) << name;
        EXPECT_EQ(text_of(file("mine/victim")), "precious") << name;
        EXPECT_FALSE(fs::exists(file("mine/new"))) << name;
    }
};

TEST_F(Planted, ALinkIsNotFollowed) {
    plant_link("r.json", file("mine/victim"));
    plant_link("n.json", "mine/new");
    expect_refused("r.json", "refused: the link r.json of user 65534 in " + folder_.string() +
                                 ", where everybody may write");
    expect_refused("n.json", "refused: the link n.json of user 65534 in ");
    // Nor where a link of one's own leads there.
    fs::create_symlink(file("r.json"), file("mine/own"));
    expect_refused("mine/own", "refused: the link r.json of user 65534 in ");
}

TEST_F(Planted, ALinkOnTheWayIsNotFollowed) {
    plant_link("results", "mine");
    expect_refused("results/victim", "refused: the link results of user 65534 in ");
    expect_refused("results/../mine/victim", "refused: the link results of user 65534 in ");
    std::string path;
    EXPECT_NE(make_private_folder(file("results"), path), "");
}

TEST_F(Planted, ADirectoryWithLinksIsNoWay) {
    as_other([&] {
        ASSERT_EQ(mkdir(file("theirs").c_str(), 0777), 0);
        ASSERT_EQ(symlink(file("mine/victim").c_str(), file("theirs/r.json").c_str()), 0);
        ASSERT_EQ(symlink(file("mine").c_str(), file("theirs/sub").c_str()), 0);
    });
    expect_refused("theirs/r.json", "refused: the link r.json of user 65534 in " + file("theirs") +
                                        ", which another user made where everybody may write");
    expect_refused("theirs/sub/new", "refused: the link sub of user 65534 in ");
    std::string path;
    EXPECT_EQ(make_private_folder(file("theirs"), path),
              file("theirs") + " belongs to another user");
    // A file of one's own in there, as groups do, harms nobody.
    EXPECT_EQ(write_whole(file("theirs/plain"), "text"), "");
}

TEST_F(Planted, APipeIsNotWrittenTo) {
    as_other([&] { ASSERT_EQ(mkfifo(file("pipe").c_str(), 0666), 0); });
    // Without the refusal this would wait for a reader.
    expect_refused("pipe", "refused: the pipe or device pipe of user 65534 in ");
}

TEST_F(Planted, LinksOfRootAndOnesOwnAreUsable) {
    fs::create_symlink("mine", file("way"));
    as_other([&] {
        ASSERT_EQ(mkdir(file("other").c_str(), 0700), 0);
        ASSERT_EQ(symlink("other", file("own").c_str()), 0);
        EXPECT_EQ(write_whole(file("own/a"), "text"), "");
        EXPECT_EQ(text_of(file("other/a")), "text");
        EXPECT_EQ(write_whole(file("way/../b"), "text"), "");
    });
    EXPECT_EQ(write_whole(file("way/victim"), "mine"), "");
    EXPECT_EQ(text_of(file("mine/victim")), "mine");
}

// Whoever runs as root must not hand its rights out with the mode of the file that it replaces.
TEST_F(Planted, TheModeOfAnothersFileIsNotTrusted) {
    as_other([&] {
        ASSERT_EQ(write_whole(file("a"), "theirs"), "");
        ASSERT_EQ(chmod(file("a").c_str(), 04777), 0);
    });
    EXPECT_EQ(write_whole(file("a"), "text"), "");
    struct stat info {};
    ASSERT_EQ(stat(file("a").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0755u);
}

TEST_F(Planted, AMarkIsMadeInAPrivateDirectoryOnly) {
    as_other([&] {
        ASSERT_EQ(mkdir(file("tutti-x").c_str(), 0777), 0);
        ASSERT_EQ(symlink(file("mine/victim").c_str(), file("tutti-x/mark").c_str()), 0);
    });
    EXPECT_NE(make_mark(file("tutti-x/mark")), "");
    EXPECT_NE(make_mark(file("tutti-x/other")), "");
    EXPECT_FALSE(fs::exists(file("tutti-x/other")));
    EXPECT_EQ(text_of(file("mine/victim")), "precious");
    std::string path;
    ASSERT_EQ(make_private_folder(folder_, path), "");
    EXPECT_EQ(make_mark(path + "/mark"), "");
    EXPECT_EQ(make_mark(path + "/mark"), "");  // several programs of one run
    EXPECT_TRUE(fs::exists(path + "/mark"));
    EXPECT_EQ(make_mark(path + "/none/mark"), "No such file or directory");
}

TEST_F(WholeFile, PathsThatEndInKernelLinks) {
    const std::string own = "/proc/" + std::to_string(getpid());
    EXPECT_EQ(
        write_whole(own + "/cwd/../" + fs::current_path().filename().string() + "/tutti-files-test",
                    "text"),
        "");
    EXPECT_TRUE(fs::remove("tutti-files-test"));
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    fs::create_symlink(own + "/fd/" + std::to_string(ends[1]), file("to-pipe"));
    EXPECT_EQ(obstacle(file("to-pipe")), "");
    EXPECT_EQ(write_whole(file("to-pipe"), "text"), "");
    char heard[8] = {};
    EXPECT_EQ(read(ends[0], heard, sizeof heard), 4);
    close(ends[0]);
    close(ends[1]);
    EXPECT_EQ(write_whole("/dev/null", "text"), "");
    EXPECT_EQ(write_whole("/dev/full", "text"), "No space left on device");
}

TEST_F(WholeFile, OddPaths) {
    fs::create_symlink("loop", file("loop"));
    EXPECT_EQ(write_whole(file("loop"), "text"), "Too many levels of symbolic links");
    EXPECT_EQ(obstacle(file("loop")), "Too many levels of symbolic links");
    EXPECT_EQ(write_whole("", "text"), "No such file or directory");
    EXPECT_EQ(write_whole(file("."), "text"), "Is a directory");
    EXPECT_EQ(write_whole(file("./a"), "text"), "");
    EXPECT_EQ(write_whole(file(".//./a/b"), "text"), "Not a directory");
    fs::create_symlink("new", file("dangling"));
    EXPECT_EQ(obstacle(file("dangling")), "");
    EXPECT_EQ(write_whole(file("dangling"), "text"), "");
    EXPECT_EQ(text_of(file("new")), "text");
    const std::string longest(255, 'n');
    EXPECT_EQ(write_whole(file(longest), "text"), "");
    fs::remove(file(longest));
}

TEST_F(WholeFile, AFolderIsWrittenWholeOrNotAtAll) {
    const std::vector<NamedText> texts{{"a", "one"}, {"b", "two"}};
    EXPECT_EQ(folder_obstacle(file("new/")), "");
    EXPECT_EQ(write_whole_folder(file("new/"), texts), "");
    EXPECT_EQ(text_of(file("new/b")), "two");
    EXPECT_EQ(files(), 1);
    EXPECT_EQ(write_whole_folder(file("new"), texts), "is there already");
    EXPECT_EQ(folder_obstacle(file("new")), "is there already");
    EXPECT_EQ(folder_obstacle(file("no/new")), "no such directory");
    // As files are: where a link of one's own leads, though that is not there yet.
    fs::create_symlink("behind", file("link"));
    EXPECT_EQ(folder_obstacle(file("link")), "");
    EXPECT_EQ(write_whole_folder(file("link"), texts), "");
    EXPECT_EQ(text_of(file("behind/a")), "one");
    EXPECT_EQ(folder_obstacle(file("link")), "is there already");
    // The second of two files of one name cannot be made; nothing of the first one stays.
    const std::vector<NamedText> twice{{"a", "one"}, {"a", "two"}};
    EXPECT_EQ(write_whole_folder(file("other"), twice), std::strerror(EEXIST));
    EXPECT_EQ(files(), 3);
}

// The system may write and read less than it is asked for, or be interrupted by a signal.
TEST_F(WholeFile, IsWholeThoughSystemCallsMoveLess) {
    test::for_each_seed(100, [&](uint64_t seed) {
        Prng prng(seed);
        std::string text(prng.below(200'000), '\0');
        for (char& letter : text) letter = static_cast<char>('a' + prng.below(26));
        const test::ShortTransfers transfers(seed);
        ASSERT_EQ(write_whole(file("short"), text), "");
        EXPECT_EQ(read_whole(file("short"), text.size()), text);
        EXPECT_EQ(files(), 1);
    });
}

}  // namespace
}  // namespace tutti::files
