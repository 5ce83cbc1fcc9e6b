// SPDX-License-Identifier: BSD-3-Clause
// Files that `tutti explain` writes: all that were asked for, or none.
#include "golden/transcript.h"

namespace tutti::golden {
namespace {

class Exports : public Transcript {
  protected:
    // Refused in this line, and nothing stays behind.
    void expect_nothing(const std::string& options, const std::string& line) const {
        const Answer answer = tutti("explain allreduce --bytes 1K --ranks 4 " + options);
        EXPECT_EQ(answer.status, 2) << options;
        EXPECT_EQ(answer.out, "") << options;
        EXPECT_EQ(answer.err, "tutti: " + line + "\n");
        EXPECT_EQ(shell("ls").out, "there\n") << options;
        std::filesystem::remove_all(here());
        std::filesystem::create_directories(here() / "there");
    }
    void SetUp() override {
        Transcript::SetUp();
        std::filesystem::create_directories(here() / "there");
    }
};

TEST_F(Exports, NothingStaysBehindACommandThatFails) {
    expect_nothing("--goal g --free-copies", "--free-copies: needs --smpi");
    expect_nothing("--goal g --svg s.svg --smpi there", "--smpi: there: is there already");
    expect_nothing("--svg s.svg --smpi t --goal no/g", "--goal: no/g: no such directory");
    expect_nothing("--svg there --smpi t --goal g", "--svg: there: Is a directory");
    expect_nothing("--goal g --svg s.svg --smpi t/ --against nofile",
                   "--against: nofile: is no file");
    expect_nothing("--goal t --smpi ./t/", "--smpi: ./t/: --goal names it, too");
    expect_nothing("--goal g --svg g", "--svg: g: --goal names it, too");
    // Found while a text is made: the node's operations.
    expect_nothing("--hosts 2 --svg s.svg --smpi t --goal g --algorithm ring",
                   "--goal: rank 0, lane 0, round 0: node_reduce root 0 output[0+1024] = "
                   "input[0+1024] order 0: GOAL has no node operations; see the option flat");
}

TEST_F(Exports, AllAreWritten) {
    const std::string call = "explain allreduce --bytes 1K --ranks 4 --algorithm ring ";
    EXPECT_EQ(tutti(call + "--goal g --svg s.svg --smpi t").err, "");
    EXPECT_EQ(shell("ls . t").out,
              ".:\ng\ns.svg\nt\nthere\n\nt:\nhostfile\nplatform.xml\nrank-0.trace\nrank-1.trace\n"
              "rank-2.trace\nrank-3.trace\nranks.txt\n");
    // To what is no file, several may go.
    EXPECT_EQ(tutti(call + "--goal /dev/null --svg /dev/null").err, "");
}

TEST_F(Exports, ANameIsOneLine) {
    expect_nothing("--goal \"$(printf 'no/a\\nb')\"", "--goal: no/a\\x0ab: no such directory");
}

}  // namespace
}  // namespace tutti::golden
