// SPDX-License-Identifier: BSD-3-Clause
// simulate, check and explain on a cluster that a file describes: what is expected stands here as
// the formula that it follows from.
#include "golden/transcript.h"

namespace tutti::golden {
namespace {

class OnFabric : public Transcript {
  protected:
    void write(const std::string& name, const std::string& text) const {
        std::ofstream(here() / name) << text;
    }
    // Two leaves of two hosts, `links` to the spine from each.
    void write_leaves(const std::string& name, int links) const {
        write(name, R"(rate = "8192kbit"
latency = "500us"
[[switch]]
name = "leaf0"
hosts = "n[0-1]"
[[switch]]
name = "leaf1"
hosts = "n[2-3]"
[[switch]]
name = "spine"
switches = "leaf[0-1]"
links = )" + std::to_string(links) +
                        "\n");
    }
};

// Over four links of 500 us and the slowest of them: 1 KiB at 2048 kbit/s takes 4 ms.
TEST_F(OnFabric, SimulateTakesRatesOfTheirOwn) {
    write("f.toml", R"(rate = "8192kbit"
latency = "500us"
[[switch]]
name = "leaf0"
hosts = "n0"
[[switch]]
name = "leaf1"
hosts = "n[1-2]"
[[switch]]
name = "spine"
switches = "leaf0"
[[link]]
from = "spine"
to = "leaf1"
rate = "2048kbit"
)");
    const Answer far =
        tutti("simulate bcast --ranks 2 --bytes 1K --algorithm chain --fabric f.toml");
    EXPECT_EQ(far.err, "");
    EXPECT_EQ(far.out, R"(bcast of 1 KiB, 2 ranks on 2 hosts, root 0, f.toml, 3 switches
                           time  x bound  rounds  messages        bytes
* chain                    6 ms     1.00       1         1        1 KiB
  lower bound              6 ms
)");
    // Both on one leaf: two links and 1 ms.
    const Answer near = tutti(
        "simulate bcast --ranks 2 --bytes 1K --algorithm chain --fabric f.toml --hosts n[1-2]");
    EXPECT_EQ(near.out, R"(bcast of 1 KiB, 2 ranks on 2 hosts, root 0, f.toml, 1 switch
                           time  x bound  rounds  messages        bytes
* chain                    2 ms     1.00       1         1        1 KiB
  lower bound              2 ms
)");
}

// Partners exchange first within a leaf, then between the two: over one link each way both share it
// and take twice as long, over two links each has its own.
TEST_F(OnFabric, ParallelLinksCarryOneMessageEach) {
    write_leaves("one.toml", 1);
    write_leaves("two.toml", 2);
    const std::string call = "allreduce --ranks 4 --bytes 1K --algorithm pairwise --fabric ";
    // (2 + 4) links of 500 us, and 1 ms for each of two exchanges; one more where they share.
    // Folding takes a microsecond.
    EXPECT_NE(tutti("simulate " + call + "two.toml").out.find("* pairwise             5.001 ms"),
              std::string::npos);
    EXPECT_NE(tutti("simulate " + call + "one.toml").out.find("* pairwise             6.001 ms"),
              std::string::npos);
    const Answer shared = tutti("check rpe allreduce --bytes 1K --fabric one.toml");
    EXPECT_EQ(shared.err, "");
    EXPECT_EQ(shared.status, 0);
    // Two ways of two links that carry one message beyond the first. A host sends its KiB twice,
    // where (lemma 1 of Patarasuk, Yuan 2007) 2 * 3 / 4 would do.
    EXPECT_EQ(shared.out, R"(allreduce of 1 KiB, 4 ranks on 4 hosts, one.toml, 3 switches
                      shared     extra          bytes       at least    ratio  busiest link
  pairwise                 2         4           2048           1536     1.33  from n0

shared: the most pairs of ranks with messages on one link in a step; 1: free of contention. extra: of all
steps and links, the pairs beyond the first. bytes: on the link that takes longest for its own. at least: so
many pass some link in any schedule. ratio: of the times that both take.
)");
    const Answer apart = tutti("check pairwise allreduce --bytes 1K --fabric two.toml");
    EXPECT_NE(apart.out.find("  pairwise                 1         0           2048"),
              std::string::npos)
        << apart.out;
    // The ring is what the bound asks for, in the order of the leaves.
    EXPECT_NE(tutti("check allreduce --bytes 1K --fabric one.toml")
                  .out.find("  ring                     1         0           1536           1536 "
                            "    1.00  from n0\n"),
              std::string::npos);
    // Ranks are as many as are placed.
    EXPECT_NE(
        tutti("check ring allreduce --fabric one.toml --hosts n[0-1] --placement n0,n0,n1,n1")
            .out.find("allreduce of 1 MiB, 4 ranks on 2 hosts, as listed, one.toml, 1 switch"),
        std::string::npos);
    // However ranks are dealt to hosts: it goes along the switches (lemma 5).
    for (const char* dealt : {"n0,n2,n1,n3", "random:5", "round-robin"}) {
        const Answer across = tutti(
            std::string("check ring allreduce --bytes 1K --fabric one.toml --placement ") + dealt);
        EXPECT_NE(across.out.find("  ring                     1         0           1536"),
                  std::string::npos)
            << across.out << across.err;
    }
}

TEST_F(OnFabric, CheckTellsTheLoadOfAFile) {
    write_leaves("one.toml", 1);
    (void)shell("\"$T\" explain allreduce --bytes 1K --ranks 4 --algorithm ring --schedule >s.txt");
    EXPECT_EQ(tutti("check --file s.txt --fabric one.toml").out,
              R"(proved: 4 ranks on 4 hosts
links: no two pairs of ranks share one in a step
extra: 0 pairs beyond the first, of all steps and links
bytes: 1536 on the busiest link (from n0); 1536 pass some link in any schedule
)");
    const Answer across = tutti("check --file s.txt --fabric one.toml --placement n0,n2,n1,n3");
    EXPECT_EQ(across.out, R"(proved: 4 ranks on 4 hosts
links: up to 2 pairs of ranks share one in a step (step 0, up from leaf0)
extra: 24 pairs beyond the first, of all steps and links
bytes: 3072 on the busiest link (up from leaf0); 1536 pass some link in any schedule
)");
}

// 2 (4 - 1) steps of the ring, each with its tree.
TEST_F(OnFabric, ExplainDrawsEachStepOnTheTree) {
    write_leaves("one.toml", 1);
    const std::string call = "explain allreduce --bytes 1K --ranks 4 --algorithm ring ";
    const Answer answer = tutti(call + "--fabric one.toml --svg a.svg");
    EXPECT_EQ(answer.status, 0) << answer.err;
    EXPECT_EQ(answer.out.substr(0, answer.out.find("\n\n")),
              R"(allreduce of 1 KiB, 4 ranks on 4 hosts
runs:  ring
why:   forced by --algorithm
on:    one.toml, 3 switches
links: no two pairs of ranks share one in a step
extra: 0 pairs beyond the first, of all steps and links
bytes: 1536 on the busiest link (from n0); 1536 pass some link in any schedule)");
    const std::string text = text_of(here() / "a.svg");
    const std::string title =
        "<title>ring allreduce of 1 KiB, 4 ranks on 4 hosts, one.toml, 3 switches: 6 steps, no two "
        "pairs of ranks share a link in a step</title>";
    EXPECT_NE(text.find(title), std::string::npos) << text.substr(0, 500);
    EXPECT_NE(text.find(">step 5</text>"), std::string::npos);
    EXPECT_EQ(text.find(">step 6</text>"), std::string::npos);
    EXPECT_NE(text.find("up from leaf0: 1 message, 256 B"), std::string::npos);
    EXPECT_EQ(tutti("explain allreduce --bytes 1M --ranks 64 --algorithm ring --fabric one.toml "
                    "--svg b.svg")
                  .status,
              0);
    EXPECT_EQ(tutti("explain allreduce --bytes 1M --ranks 4 --algorithm chain:segment=4K "
                    "--fabric one.toml --svg c.svg")
                  .err,
              "tutti: --svg: 96 steps; a drawing on a tree of switches holds at most 64\n");
    EXPECT_FALSE(std::filesystem::exists(here() / "c.svg"));
}

// Hosts n0 and n2 are the call's, n1 and n3 another job's: nothing is faster for that.
TEST_F(OnFabric, SimulateKnowsAnotherJob) {
    write_leaves("one.toml", 1);
    const std::string call =
        "simulate bcast --ranks 2 --bytes 1K --algorithm chain --fabric one.toml --hosts n0,n2 ";
    const Answer quiet = tutti(call);
    EXPECT_NE(quiet.out.find("* chain                    3 ms     1.00"), std::string::npos)
        << quiet.out;
    const Answer busy = tutti(call + "--background alltoall:64K");
    EXPECT_EQ(busy.err, "");
    EXPECT_EQ(busy.out.substr(0, busy.out.find("  time")),
              R"(bcast of 1 KiB, 2 ranks on 2 hosts, root 0, one.toml, 3 switches
background: alltoall of 64 KiB between n[1,3], from switch to switch
                         )");
    EXPECT_EQ(busy.out.find("* chain                    3 ms     1.00"), std::string::npos)
        << busy.out;
    EXPECT_EQ(tutti(call + "--background alltoall:64K").out, busy.out);
    EXPECT_NE(tutti(call + "--background alltoall:64K --seed 2").out, busy.out);
    const auto error = [&](const std::string& words) { return tutti(call + words).err; };
    EXPECT_EQ(error("--background-hosts n1"), "tutti: --background-hosts: needs --background\n");
    EXPECT_EQ(error("--background alltoall:0"),
              "tutti: --background=alltoall:0: expected alltoall:N of 1 byte to 64 MiB: "
              "alltoall:64K\n");
    const std::string some = "--background alltoall:8 --background-hosts ";
    EXPECT_EQ(tutti(call + "--background alltoall:64K --background-hosts 2").out, busy.out);
    EXPECT_EQ(error("--background alltoall:8 --background-hosts 3"),
              "tutti: --background-hosts=3: expected a number from 1 to 2\n");
    EXPECT_EQ(error(some + "n1,x1"), "tutti: --background-hosts: x1 is not in one.toml\n");
    EXPECT_EQ(error(some + "n[1-2]"), "tutti: --background-hosts: n2 is one of the call's\n");
    EXPECT_EQ(error(some + "n1"),
              "tutti: --background: its hosts are not on two switches; see --background-hosts\n");
    EXPECT_EQ(tutti("simulate barrier --ranks 2 --background alltoall:8").err,
              "tutti: --background: needs --fabric\n");
}

TEST_F(OnFabric, HostsThatTheFileDoesNotHaveAreOneLine) {
    write_leaves("one.toml", 1);
    const Answer answer = tutti(
        "simulate barrier --ranks 4 --fabric one.toml --hosts n0,x1,x2 --algorithm dissemination");
    EXPECT_EQ(answer.status, 0);
    EXPECT_EQ(answer.err, "tutti: one.toml: hosts are not there; on a leaf of their own: x[1-2]\n");
    EXPECT_EQ(answer.out.substr(0, answer.out.find('\n')),
              "barrier, 4 ranks on 3 hosts, one.toml, 4 switches");
}

TEST_F(OnFabric, OneLineSaysWhatIsWrong) {
    write_leaves("one.toml", 1);
    const auto error = [&](const std::string& words) {
        const Answer answer = tutti(words);
        EXPECT_EQ(answer.status, 2) << words;
        EXPECT_EQ(answer.out, "") << words;
        return answer.err;
    };
    const std::string simulate = "simulate barrier --ranks 4 --fabric one.toml ";
    EXPECT_EQ(error(simulate + "--leaves 2,2"), "tutti: --leaves: not with --fabric\n");
    EXPECT_EQ(error(simulate + "--trunk 1Gbit"), "tutti: --trunk: not with --fabric\n");
    EXPECT_EQ(error(simulate + "--rate 1Gbit"),
              "tutti: --rate: one.toml says the rate of every link here\n");
    EXPECT_EQ(error(simulate + "--latency 1us"),
              "tutti: --latency: one.toml says the latency of every link here\n");
    EXPECT_EQ(error("simulate barrier --ranks 4 --fabric none"), "tutti: none: cannot be read\n");
    write("bad.toml", "[[switch]]\nname = 1\n");
    EXPECT_EQ(error("simulate barrier --ranks 4 --fabric bad.toml").substr(0, 18),
              "tutti: bad.toml:2:");
    EXPECT_EQ(error("check --fabric one.toml --leaves 2,2"),
              "tutti: --leaves: not with --fabric\n");
    EXPECT_EQ(error("check --fabric one.toml --placement round"),
              "tutti: --placement=round: expected block, round-robin, random:SEED or the host of "
              "each rank\n");
    EXPECT_EQ(error("check --fabric one.toml --hosts 5"),
              "tutti: --hosts=5: expected a number from 1 to 4\n");
    EXPECT_EQ(error("check --fabric one.toml --ranks 2..4"),
              "tutti: --ranks=2..4: expected a number from 1 to 4096\n");
    EXPECT_EQ(error("check --bytes 8"), "tutti: --bytes needs --fabric\n");
    EXPECT_EQ(error("check --fabric one.toml --hosts n0"),
              "tutti: check: on one host no message is sent; see --hosts\n");
    std::string chain = "[[switch]]\nname = \"s0\"\nhosts = \"a\"\n";
    for (int i = 1; i < 40; ++i) {
        chain += "[[switch]]\nname = \"s" + std::to_string(i) + "\"\nswitches = \"s" +
                 std::to_string(i - 1) + "\"\n" + (i == 39 ? "hosts = \"b\"\n" : "");
    }
    write("chain.toml", chain);
    EXPECT_EQ(error("simulate barrier --ranks 2 --fabric chain.toml"),
              "tutti: chain.toml: more than 16 levels of switches, one above the other\n");
}

}  // namespace
}  // namespace tutti::golden
