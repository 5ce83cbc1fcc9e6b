// SPDX-License-Identifier: BSD-3-Clause
// `tutti fabric` on descriptions of clusters, those in tests/golden/fabrics being real tools'
// output.
#include "golden/transcript.h"

namespace tutti::golden {
namespace {

class FabricCommand : public Transcript {
  protected:
    void write(const std::string& name, const std::string& text) const {
        std::ofstream(here() / name) << text;
    }
};

constexpr const char* kOwn = R"(rate = "100Gbit"
[[switch]]
name = "leaf0"
rack = "r1"
hosts = "n[0-3]"
[[switch]]
name = "leaf1"
hosts = "n[4-7]"
[[switch]]
name = "spine0"
switches = "leaf[0-1]"
links = 2
[[switch]]
name = "spine1"
switches = "leaf[0-1]"
[[host]]
name = "n7"
adapters = 2
)";

TEST_F(FabricCommand, OurOwnFormat) {
    write("f.toml", kOwn);
    const Answer answer = tutti("fabric f.toml");
    EXPECT_EQ(answer.status, 0);
    EXPECT_EQ(answer.err, "");
    EXPECT_EQ(answer.out, R"(f.toml: 8 hosts, 4 switches, 14 links; as a tree: 3 nodes in 2 levels

spine[0-1] (2 switches)
  leaf1; up: 3 links of 100 Gbit/s
      1 host: n7 (2 adapters); 1 link of 100 Gbit/s
      3 hosts: n[4-6]; 1 link of 100 Gbit/s
  leaf0, rack r1; up: 3 links of 100 Gbit/s
      4 hosts: n[0-3]; 1 link of 100 Gbit/s
)");
}

TEST_F(FabricCommand, SlurmsTopologyConf) {
    write("topology.conf",
          "SwitchName=s1 Nodes=tux[0-3]\nSwitchName=s2 Nodes=tux[4-5,7]\n"
          "SwitchName=s3 Switches=s[1-2]\nSwitchName=s4 Switches=s[1-2]\n");
    const Answer answer = tutti("fabric topology.conf");
    EXPECT_EQ(answer.err, "");
    EXPECT_EQ(answer.out,
              R"(topology.conf: 7 hosts, 4 switches, 11 links; as a tree: 3 nodes in 2 levels

s[3-4] (2 switches)
  s1; up: 2 links
      4 hosts: tux[0-3]; 1 link
  s2; up: 2 links
      3 hosts: tux[4-5,7]; 1 link
)");
}

// Expectation: two hosts on each leaf, one link a leaf to each of two spine switches; 4xSDR is 8
// Gbit/s.
TEST_F(FabricCommand, WhatIbnetdiscoverSays) {
    for (const std::string kind : {"out", "cache"}) {
        const Answer answer = tutti("fabric " TUTTI_FABRICS "/ib_rails." + kind);
        EXPECT_EQ(answer.err, "");
        EXPECT_EQ(lines(answer.out), 9u);
        EXPECT_NE(
            answer.out.find(": 4 hosts, 4 switches, 10 links; as a tree: 3 nodes in 2 levels\n"),
            std::string::npos);
        EXPECT_NE(answer.out.find("\nspine[1-2] (2 switches)\n"), std::string::npos) << answer.out;
        EXPECT_NE(answer.out.find("  leaf1; up: 2 links of 8 Gbit/s\n"), std::string::npos);
        EXPECT_NE(answer.out.find("      1 host: big1 (2 adapters); 2 links of 8 Gbit/s\n"),
                  std::string::npos)
            << answer.out;
        EXPECT_NE(answer.out.find("      1 host: host2; 1 link of 8 Gbit/s\n"), std::string::npos);
    }
}

TEST_F(FabricCommand, WhatALabNotes) {
    write("lab.json", R"({"leaves":[2,1],"rate_bits":25000000,"uplink_bits":50000000,"hosts":[
        {"name":"h0","leaf":0},{"name":"h1","leaf":0},{"name":"h2","leaf":1}]})");
    EXPECT_EQ(tutti("fabric lab.json").out,
              R"(lab.json: 3 hosts, 3 switches, 5 links; as a tree: 3 nodes in 2 levels

root
  leaf0; up: 1 link of 0.05 Gbit/s
      2 hosts: h[0-1]; 1 link of 0.025 Gbit/s
  leaf1; up: 1 link of 0.05 Gbit/s
      1 host: h2; 1 link of 0.025 Gbit/s
)");
}

TEST_F(FabricCommand, OursSaysTheSame) {
    for (const std::string name : {"ib8.out", "ib64.out", "ib8_names.out", "ib_rails.cache"}) {
        const Answer first = tutti("fabric " TUTTI_FABRICS "/" + name);
        EXPECT_EQ(tutti("fabric " TUTTI_FABRICS "/" + name + " --toml >f.toml").status, 0);
        const Answer again = tutti("fabric f.toml");
        EXPECT_EQ(again.out.substr(again.out.find(':')), first.out.substr(first.out.find(':')));
    }
}

TEST_F(FabricCommand, SomeHosts) {
    write("f.toml", kOwn);
    const Answer answer = tutti("fabric f.toml --hosts n[1-2].site.org,x1,n5");
    EXPECT_EQ(answer.status, 0);
    EXPECT_EQ(answer.err, "tutti: f.toml: a host is not there; on a leaf of its own: x1\n");
    EXPECT_EQ(answer.out, R"(spine[0-1] (2 switches)
  leaf1; up: 3 links of 100 Gbit/s
      1 host: n5; 1 link of 100 Gbit/s
  leaf0, rack r1; up: 3 links of 100 Gbit/s
      2 hosts: n[1-2].site.org; 1 link of 100 Gbit/s
  (no switch)
      1 host: x1; not in the file
)");
}

TEST_F(FabricCommand, WithRanksOnIt) {
    write("f.toml", kOwn);
    EXPECT_EQ(tutti("fabric f.toml --hosts n[1-2],n5 --ranks 8 "
                    "--placement n1,n5,n5,n5,n1,n2,n1,n1")
                  .out,
              R"(spine[0-1] (2 switches)
  leaf1; up: 3 links of 100 Gbit/s
      1 host: n5 (ranks 1-3); 1 link of 100 Gbit/s
  leaf0, rack r1; up: 3 links of 100 Gbit/s
      2 hosts: n1 (ranks 0,4,6-7), n2 (rank 5); 1 link of 100 Gbit/s
)");
    EXPECT_EQ(tutti("fabric f.toml --hosts n[1-2] --ranks 4 --svg f.svg").status, 0);
    const std::string drawing = text_of(here() / "f.svg");
    EXPECT_NE(drawing.find(">n2 (ranks 2-3)<"), std::string::npos) << drawing;
    const Answer answer = tutti("fabric f.toml --hosts n[1-2] --placement round-robin");
    EXPECT_EQ(answer.err, "tutti: --placement needs --ranks\n");
}

TEST_F(FabricCommand, WhatIsWrongIsOneLine) {
    write("f.toml", kOwn);
    const auto complaint = [this](const std::string& arguments) {
        const Answer answer = tutti("fabric " + arguments);
        EXPECT_EQ(answer.status, 2) << arguments;
        EXPECT_EQ(answer.out, "") << arguments;
        EXPECT_EQ(lines(answer.err), 1u) << arguments;
        return answer.err;
    };
    EXPECT_EQ(complaint("f.toml g"), "tutti: fabric: unexpected word g\n");
    EXPECT_EQ(complaint("nowhere"), "tutti: nowhere: cannot be read\n");
    EXPECT_EQ(complaint("."), "tutti: .: is a directory\n");
    EXPECT_EQ(complaint("f.toml --hosts n[0-"), "tutti: --hosts: a ] is missing in n[0-\n");
    EXPECT_EQ(complaint("f.toml --ranks 1 --placement blok"),
              "tutti: --placement=blok: expected block, round-robin, random:SEED or the host of "
              "each rank; did you mean block?\n");
    EXPECT_EQ(complaint("f.toml --hosts 9"), "tutti: --hosts=9: expected a number from 1 to 8\n");
    EXPECT_EQ(complaint("f.toml --hosts a --toml"), "tutti: --hosts: not with --toml\n");
    write("g.toml", "[[switch]]\nname = \"s\"\nhosts = \"a\"\nrate = \"0bit\"\n");
    EXPECT_EQ(complaint("g.toml"),
              "tutti: g.toml:4:8: rate = \"0bit\": expected a rate such as \"100Gbit\"\n");
}

TEST_F(FabricCommand, WhereTheFileIsFound) {
    if (std::filesystem::exists("/etc/tutti")) GTEST_SKIP() << "this machine has a site";
    write("f.toml", kOwn);
    const std::string whole = tutti("fabric f.toml").out;
    EXPECT_EQ(tutti("fabric --fabric f.toml").out, whole);
    EXPECT_EQ(tutti("fabric", "TUTTI_FABRIC=f.toml").out, whole);
    EXPECT_EQ(tutti("fabric f.toml", "TUTTI_FABRIC=g.toml").out, whole);
    std::filesystem::create_directories(here() / "slurm");
    write("slurm/topology.conf", "SwitchName=s0 Nodes=n[0-1]\n");
    const std::string slurm = "SLURM_CONF=$PWD/slurm/slurm.conf";
    EXPECT_NE(tutti("fabric", slurm).out.find("/slurm/topology.conf: 2 hosts, 1 switch, 2 links"),
              std::string::npos);
    const Answer info = tutti("info", slurm);
    EXPECT_NE(info.out.find("/slurm/topology.conf (beside SLURM_CONF); tutti fabric shows it\n"),
              std::string::npos);
    EXPECT_EQ(info.out.find("YAML"), std::string::npos);
    write("slurm/topology.yaml", "- topology: x\n");
    const Answer both = tutti("info", slurm);
    EXPECT_NE(both.out.find("/slurm/topology.yaml (beside SLURM_CONF); tutti fabric shows it\n"),
              std::string::npos);
    EXPECT_NE(both.out.find("/slurm/topology.conf, and no YAML\n"), std::string::npos) << both.out;
    std::filesystem::remove(here() / "slurm/topology.conf");
    const Answer yaml = tutti("info", slurm);
    EXPECT_NE(yaml.out.find("  runs              read no YAML; tutti fabric --toml prints what "
                            "they do read\n"),
              std::string::npos)
        << yaml.out;
    EXPECT_NE(tutti("info", "TUTTI_FABRIC=f.toml").out.find("f.toml (environment)\n"),
              std::string::npos);
    const Answer none = tutti("fabric", "env -u SLURM_CONF -u TUTTI_FABRIC");
    EXPECT_EQ(none.status, 2);
    EXPECT_EQ(none.err,
              "tutti: fabric: no description of the cluster; name a file, set TUTTI_FABRIC, or see "
              "tutti fabric --discover\n");
    EXPECT_EQ(tutti("fabric f.toml --fabric f.toml").status, 2);
}

TEST_F(FabricCommand, Drawn) {
    write("f.toml", kOwn);
    const Answer answer = tutti("fabric f.toml --svg f.svg");
    EXPECT_EQ(answer.status, 0);
    EXPECT_EQ(answer.out + answer.err, "");
    const std::string drawing = text_of(here() / "f.svg");
    EXPECT_EQ(drawing.substr(0, 4), "<svg");
    EXPECT_EQ(drawing.substr(drawing.size() - 7), "</svg>\n");
    // A box for each node, a line for each link between them, each host by name.
    const auto count = [&](const std::string& word) {
        size_t found = 0;
        for (size_t at = 0; (at = drawing.find(word, at)) != std::string::npos; ++at) ++found;
        return found;
    };
    EXPECT_EQ(count("rx=\"5\""), 3u);
    EXPECT_EQ(count("<path "), 2u);
    for (int host = 0; host < 8; ++host) EXPECT_EQ(count(">n" + std::to_string(host) + "<"), 2u);
    EXPECT_EQ(tutti("fabric f.toml --svg nowhere/f.svg").status, 2);
}

// With ranks or without: the file's first (n7 is told of by itself, so before all others), or those
// that the list begins with.
TEST_F(FabricCommand, SoManyHosts) {
    write("f.toml", kOwn);
    const std::string first = tutti("fabric f.toml --hosts n7,n[0-1]").out;
    EXPECT_EQ(tutti("fabric f.toml --hosts 3").out, first);
    const std::string ranks = tutti("fabric f.toml --hosts n7,n[0-1] --ranks 3").out;
    EXPECT_EQ(tutti("fabric f.toml --hosts 3 --ranks 3").out, ranks);
    const Answer fewer = tutti("fabric f.toml --hosts n7,n[0-4] --ranks 3");
    EXPECT_EQ(fewer.out, ranks);
    EXPECT_EQ(fewer.err, "tutti: --hosts: left out, without a rank: n[2-4]\n");
}

// The tool is a script that prints what the real one printed.
TEST_F(FabricCommand, DiscoveredByIbnetdiscover) {
    std::filesystem::create_directories(here() / "bin");
    const auto make_tool = [&](const std::string& script) {
        write("bin/ibnetdiscover", "#!/bin/sh\n" + script);
        std::filesystem::permissions(here() / "bin/ibnetdiscover",
                                     std::filesystem::perms::owner_all);
    };
    make_tool("cat " TUTTI_FABRICS "/ib8.out\n");
    const std::string path = "PATH=$PWD/bin:$PATH TMPDIR=$PWD";
    const Answer answer = tutti("fabric --discover -o f.toml", path);
    EXPECT_EQ(answer.status, 0);
    EXPECT_EQ(answer.out + answer.err, "");
    EXPECT_EQ(tutti("fabric --discover", path).out, text_of(here() / "f.toml"));
    EXPECT_NE(tutti("fabric f.toml").out.find("f.toml: 8 hosts, 3 switches, 12 links"),
              std::string::npos);
    make_tool("echo first >&2; echo 'cannot open UMAD port' >&2; exit 3\n");
    const Answer failed = tutti("fabric --discover -o g.toml", path);
    EXPECT_EQ(failed.status, 2);
    EXPECT_EQ(lines(failed.err), 1u);
    EXPECT_NE(failed.err.find("/bin/ibnetdiscover ended with status 3: cannot open UMAD port\n"),
              std::string::npos)
        << failed.err;
    make_tool("head -c 1000 " TUTTI_FABRICS "/ib8.out\n");
    EXPECT_EQ(tutti("fabric --discover -o g.toml", path).err.substr(0, 21),
              "tutti: ibnetdiscover:");
    EXPECT_FALSE(std::filesystem::exists(here() / "g.toml"));
    EXPECT_EQ(tutti("fabric -o g.toml f.toml").err, "tutti: -o: only with --discover\n");
    // Nothing is left in the folder for temporary files.
    for (const auto& entry : std::filesystem::directory_iterator(here())) {
        const std::string name = entry.path().filename().string();
        EXPECT_TRUE(name == "bin" || name == "f.toml") << name;
    }
}

}  // namespace
}  // namespace tutti::golden
