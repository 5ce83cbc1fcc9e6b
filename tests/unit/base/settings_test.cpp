// SPDX-License-Identifier: BSD-3-Clause
#include "base/settings.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace tutti {
namespace {

Result<Settings> parse(const std::vector<std::string>& entries) { return parse_settings(entries); }

std::string complaint(const std::string& entry) {
    const auto parsed = parse({entry});
    if (parsed) return "(accepted)";
    EXPECT_EQ(parsed.error().code, ErrorCode::kArgument);
    return parsed.error().message;
}

TEST(Settings, DefaultsAreThoseOfTheStruct) {
    const auto parsed = parse({"PATH=/bin", "TUTTIFRUTTI=1", "XTUTTI_CHECK=1", ""});
    ASSERT_TRUE(parsed);
    EXPECT_TRUE(parsed.value().on);
    EXPECT_FALSE(parsed.value().watch.check);
    EXPECT_EQ(parsed.value().node.memory_bytes, 256u << 20);
    EXPECT_EQ(parsed.value().node.layout, LayoutChoice::kAuto);
    EXPECT_EQ(parsed.value().networks[network_number("rdma")], NetworkChoice::kOff);
}

const std::vector<std::string> kEveryOne = {"TUTTI=off",
                                            "TUTTI_REPORT=r.json",
                                            "TUTTI_CHECK=1",
                                            "TUTTI_VERIFY=0.25:7",
                                            "TUTTI_STALL=0.25",
                                            "TUTTI_REPRODUCIBLE=on",
                                            "TUTTI_HETEROGENEOUS=1",
                                            "TUTTI_WARMUP=0",
                                            "TUTTI_MEMORY=1G",
                                            "TUTTI_CHUNK=4K",
                                            "TUTTI_LAYOUT=tree",
                                            "TUTTI_TOPOLOGY=pack:2 core:4",
                                            "TUTTI_ISA=avx2",
                                            "TUTTI_SPIN=0",
                                            "TUTTI_MPI_LIBRARY=/l/libmpi.so",
                                            "TUTTI_FABRIC=/f.toml",
                                            "TUTTI_REPORT_MARK=/tmp/m",
                                            "TUTTI_RULES=r.toml",
                                            "TUTTI_RULES_TEXT=[[rule]]",
                                            "TUTTI_TUNED=t.toml",
                                            "TUTTI_TUNED_NAME=/t.toml",
                                            "TUTTI_TUNED_TEXT=[tuned]",
                                            "TUTTI_SCRATCH=1M",
                                            "TUTTI_BARRIER=b",
                                            "TUTTI_BCAST=c",
                                            "TUTTI_REDUCE=d",
                                            "TUTTI_ALLREDUCE=e:flat",
                                            "TUTTI_GATHER=f",
                                            "TUTTI_SCATTER=g",
                                            "TUTTI_ALLGATHER=h",
                                            "TUTTI_REDUCE_SCATTER_BLOCK=i",
                                            "TUTTI_ALLTOALL=j",
                                            "TUTTI_SCAN=k",
                                            "TUTTI_EXSCAN=l",
                                            "TUTTI_GATHERV=m",
                                            "TUTTI_SCATTERV=n",
                                            "TUTTI_ALLGATHERV=o",
                                            "TUTTI_ALLTOALLV=p",
                                            "TUTTI_ALLTOALLW=q",
                                            "TUTTI_REDUCE_SCATTER=r",
                                            "TUTTI_MCAST=on",
                                            "TUTTI_MCAST_OVER=auto",
                                            "TUTTI_MCAST_IF=eth1",
                                            "TUTTI_MCAST_ADDRESS=239.1.2.3",
                                            "TUTTI_MCAST_PORT=1024",
                                            "TUTTI_MCAST_TTL=3",
                                            "TUTTI_MCAST_RATE=25mbit",
                                            "TUTTI_MCAST_CODE=header",
                                            "TUTTI_MCAST_SECRET=1",
                                            "TUTTI_MCAST_THREAD=0",
                                            "TUTTI_MCAST_TEAMS=2",
                                            "TUTTI_VERBS=on",
                                            "TUTTI_VERBS_DEVICE=mlx5_0:2",
                                            "TUTTI_VERBS_GID=3",
                                            "TUTTI_VERBS_PKEY=0x8001",
                                            "TUTTI_VERBS_SL=5",
                                            "TUTTI_VERBS_TC=106",
                                            "TUTTI_VERBS_TIMEOUT=17",
                                            "TUTTI_VERBS_RETRIES=3",
                                            "TUTTI_VERBS_DIRECT=1M",
                                            "TUTTI_VERBS_MEMORY=64M",
                                            "TUTTI_VERBS_TAIL=1"};

TEST(Settings, EveryOneIsRead) {
    const auto parsed = parse_settings(kEveryOne);
    ASSERT_TRUE(parsed) << parsed.error().message;
    const Settings& s = parsed.value();
    EXPECT_FALSE(s.on);
    EXPECT_EQ(s.watch.report, "r.json");
    EXPECT_TRUE(s.watch.check);
    EXPECT_EQ(s.watch.verify_share, 0.25);
    EXPECT_EQ(s.watch.verify_seed, 7u);
    EXPECT_EQ(s.watch.stall_s, 0.25);
    EXPECT_TRUE(s.results.reproducible);
    EXPECT_TRUE(s.results.heterogeneous);
    EXPECT_EQ(s.warmup_calls, 0u);
    EXPECT_EQ(s.node.memory_bytes, 1u << 30);
    EXPECT_EQ(s.node.chunk_bytes, 4096u);
    EXPECT_EQ(s.node.layout, LayoutChoice::kTree);
    EXPECT_EQ(s.node.topology, "pack:2 core:4");
    EXPECT_EQ(s.node.isa, IsaChoice::kAvx2);
    EXPECT_EQ(s.node.spin_us, 0u);
    EXPECT_EQ(s.command.mpi_library, "/l/libmpi.so");
    EXPECT_EQ(s.command.fabric_file, "/f.toml");
    EXPECT_EQ(s.watch.report_mark, "/tmp/m");
    EXPECT_EQ(s.rules.file, "r.toml");
    EXPECT_EQ(s.rules.text, "[[rule]]");
    EXPECT_EQ(s.rules.tuned_file, "t.toml");
    EXPECT_EQ(s.rules.tuned_name, "/t.toml");
    EXPECT_EQ(s.rules.tuned_text, "[tuned]");
    EXPECT_EQ(s.rules.scratch_bytes, 1u << 20);
    const decltype(s.rules.forced) forced{"b", "c", "d", "e:flat", "f", "g", "h", "i", "j",
                                          "k", "l", "m", "n",      "o", "p", "q", "r"};
    EXPECT_EQ(s.rules.forced, forced);
    EXPECT_EQ(s.mcast.choice, McastChoice::kOn);
    EXPECT_EQ(s.mcast.interface, "eth1");
    EXPECT_EQ(s.mcast.address, "239.1.2.3");
    EXPECT_EQ(s.mcast.port, 1024u);
    EXPECT_EQ(s.mcast.ttl, 3u);
    EXPECT_EQ(s.mcast.bits_per_s, 25'000'000u);
    EXPECT_TRUE(s.mcast.secret);
    EXPECT_FALSE(s.mcast.thread);
    EXPECT_EQ(s.mcast.teams, 2u);
    EXPECT_EQ(s.networks[network_number("rdma")], NetworkChoice::kOn);
    EXPECT_EQ(s.verbs.device, "mlx5_0:2");
    EXPECT_EQ(s.verbs.gid, 3u);
    EXPECT_EQ(s.verbs.partition, 0x8001u);
    EXPECT_EQ(s.verbs.service_level, 5u);
    EXPECT_EQ(s.verbs.traffic_class, 106u);
    EXPECT_EQ(s.verbs.timeout, 17u);
    EXPECT_EQ(s.verbs.retries, 3u);
    EXPECT_EQ(s.verbs.direct_bytes, 1u << 20);
    EXPECT_EQ(s.verbs.memory_bytes, 64u << 20);
    EXPECT_TRUE(s.verbs.polls_tails);
}

// Where it is told what is in force, that gives the same again.
TEST(Settings, EveryOneIsTold) {
    for (const auto& entries : {std::vector<std::string>{}, kEveryOne}) {
        const auto parsed = parse_settings(entries);
        ASSERT_TRUE(parsed);
        for (const SettingDoc& doc : setting_docs()) {
            SCOPED_TRACE(doc.variable);
            const auto text = setting_text(parsed.value(), doc.variable);
            ASSERT_TRUE(text);
            const auto again = parse({std::string(doc.variable) + "=" + *text});
            ASSERT_TRUE(again) << again.error().message;
            EXPECT_EQ(setting_text(again.value(), doc.variable), text);
        }
    }
    EXPECT_EQ(setting_text(Settings{}, "TUTTI_OTHER"), std::nullopt);
}

TEST(Settings, LaterEntriesWin) {
    const auto parsed = parse({"TUTTI_CHECK=1", "TUTTI_CHECK=0", "TUTTI_REPORT=1"});
    ASSERT_TRUE(parsed);
    EXPECT_FALSE(parsed.value().watch.check);
}

std::vector<std::string> unknown(const std::vector<std::string>& entries) {
    const auto parsed = parse(entries);
    EXPECT_TRUE(parsed);
    return parsed ? parsed.value().unknown : std::vector<std::string>{};
}

// They end nothing; the rest holds.
TEST(Settings, UnknownNamesAreNamed) {
    using Lines = std::vector<std::string>;
    EXPECT_EQ(unknown({"TUTTI_CHEK=1"}),
              Lines{"unknown variable TUTTI_CHEK is ignored; did you mean TUTTI_CHECK?"});
    EXPECT_EQ(unknown({"TUTTI_SOMETHING_ELSE=1", "TUTTI_CHEK=0"}),
              (Lines{"unknown variable TUTTI_SOMETHING_ELSE is ignored",
                     "unknown variable TUTTI_CHEK is ignored; did you mean TUTTI_CHECK?"}));
    EXPECT_EQ(unknown({"TUTTI_SOMETHING\n=1"}),
              Lines{"unknown variable TUTTI_SOMETHING\\x0a is ignored"});
    // Empty means unset, whatever its name.
    EXPECT_EQ(unknown({"TUTTI_=", "TUTTI_CHEK"}), Lines{});
    // Names are spelt in capitals.
    EXPECT_EQ(unknown({"tutti_check=1"}), Lines{});
    const auto parsed = parse({"TUTTI_CHEK=1", "TUTTI_CHECK=1"});
    EXPECT_TRUE(parsed.value().watch.check);
}

// What modules, Spack and EasyBuild set for every package.
TEST(Settings, NamesOfModulesPass) {
    const std::vector<std::string> entries{
        "TUTTI_ROOT=/opt/tutti",    "TUTTI_HOME=/opt/tutti",
        "TUTTI_DIR=/opt/tutti",     "TUTTI_VERSION=1.2",
        "TUTTI_BASE=/opt",          "TUTTI_PREFIX=/opt",
        "TUTTI_PATH=/opt",          "TUTTI_BIN=/opt/bin",
        "TUTTI_LIB=/opt/lib",       "TUTTI_LIBDIR=/opt/lib",
        "TUTTI_INC=/opt/i",         "TUTTI_INCLUDE=/opt/i",
        "TUTTI_INCLUDE_DIR=/opt/i", "TUTTI_LIB_PATH=/opt",
        "TUTTI_INSTALL_DIR=/opt",   "TUTTI_LIBRARY_PATH=/opt/lib"};
    EXPECT_EQ(unknown(entries), std::vector<std::string>{});
    std::vector<const char*> environment;
    for (const std::string& entry : entries) environment.push_back(entry.c_str());
    environment.push_back("TUTTI_CHEK=1");
    environment.push_back(nullptr);
    EXPECT_EQ(tutti_entries(environment.data()), std::vector<std::string>{"TUTTI_CHEK=1"});
    EXPECT_EQ(unknown({"TUTTI_RULES_PATH=/r", "TUTTI__DIR=/", "TUTTI_ROOTS=/"}).size(), 3u);
    // None of the settings passes for one.
    for (const SettingDoc& doc : setting_docs()) EXPECT_FALSE(is_of_modules(doc.variable));
}

TEST(Settings, SwitchesTakeManyWords) {
    for (const char* word : {"1", "on", "Yes", "TRUE"}) {
        const std::string value = word;
        const auto parsed = parse({"TUTTI_CHECK=" + value, "TUTTI_REPORT=" + value,
                                   "TUTTI_MCAST=" + value, "TUTTI_SINGLE_COPY=" + value});
        ASSERT_TRUE(parsed) << parsed.error().message;
        EXPECT_TRUE(parsed.value().watch.check) << word;
        EXPECT_EQ(parsed.value().watch.report, "1") << word;
        EXPECT_EQ(parsed.value().mcast.choice, McastChoice::kOn) << word;
        EXPECT_EQ(parsed.value().node.single_copy, SingleCopyChoice::kOn) << word;
    }
    for (const char* word : {"0", "off", "No", "FALSE"}) {
        const std::string value = word;
        const auto parsed =
            parse({"TUTTI=" + value, "TUTTI_REPORT=" + value, "TUTTI_VERBS=" + value,
                   "TUTTI_TUNE=" + value, "TUTTI_TUNED=" + value, "TUTTI_FABRIC=" + value,
                   "TUTTI_SINGLE_COPY=" + value, "TUTTI_ARRIVALS=" + value});
        ASSERT_TRUE(parsed) << parsed.error().message;
        EXPECT_FALSE(parsed.value().on) << word;
        EXPECT_EQ(parsed.value().watch.report, "") << word;
        EXPECT_EQ(parsed.value().networks[network_number("rdma")], NetworkChoice::kOff) << word;
        EXPECT_EQ(parsed.value().tune, TuneChoice::kOff) << word;
        EXPECT_EQ(parsed.value().rules.tuned_file, "off") << word;
        EXPECT_EQ(parsed.value().command.fabric_file, "off") << word;
        EXPECT_EQ(parsed.value().node.single_copy, SingleCopyChoice::kOff) << word;
        EXPECT_EQ(parsed.value().watch.arrivals, ArrivalsChoice::kOff) << word;
    }
    EXPECT_EQ(parse({"TUTTI_REPORT=on.json"}).value().watch.report, "on.json");
    EXPECT_EQ(parse({"TUTTI_REPORT=1", "TUTTI_REPORT=0"}).value().watch.report, "");
}

TEST(Settings, SizesAndTimesTakeUnits) {
    for (const char* size : {"256M", "256MB", "256MiB", "256mb", "268435456"}) {
        EXPECT_EQ(parse({std::string("TUTTI_SCRATCH=") + size}).value().rules.scratch_bytes,
                  256u << 20);
    }
    EXPECT_EQ(parse({"TUTTI_STALL=10s"}).value().watch.stall_s, 10);
    EXPECT_EQ(parse({"TUTTI_STALL=100ms"}).value().watch.stall_s, 0.1);
    EXPECT_EQ(parse({"TUTTI_STALL=10min"}).value().watch.stall_s, 600);
    EXPECT_EQ(parse({"TUTTI_SPIN=50us"}).value().node.spin_us, 50u);
    EXPECT_EQ(parse({"TUTTI_SPIN=1ms"}).value().node.spin_us, 1000u);
    EXPECT_EQ(parse({"TUTTI_SPIN=1s"}).value().node.spin_us, 1'000'000u);
    EXPECT_EQ(parse({"TUTTI_MCAST_RATE=100G"}).value().mcast.bits_per_s, 100'000'000'000u);
    EXPECT_EQ(complaint("TUTTI_STALL=soon"),
              "TUTTI_STALL=soon: expected SECONDS or a time, as in 100ms, 10s or 5min");
    EXPECT_EQ(complaint("TUTTI_MCAST_RATE=100GB"),
              "TUTTI_MCAST_RATE=100GB: expected RATE|auto from 1mbit to 1000gbit");
}

TEST(Settings, ShareOfTheVerifiedCalls) {
    EXPECT_EQ(parse({}).value().watch.verify_share, 0);
    EXPECT_EQ(parse({"TUTTI_VERIFY=0"}).value().watch.verify_share, 0);
    EXPECT_EQ(parse({"TUTTI_VERIFY=1"}).value().watch.verify_share, 1);
    EXPECT_EQ(parse({"TUTTI_VERIFY=1%"}).value().watch.verify_share, 0.01);
    EXPECT_EQ(parse({"TUTTI_VERIFY=100%"}).value().watch.verify_share, 1);
    EXPECT_EQ(parse({"TUTTI_VERIFY=2.5%:9"}).value().watch.verify_share, 0.025);
    EXPECT_EQ(parse({"TUTTI_VERIFY=2.5%:9"}).value().watch.verify_seed, 9u);
    EXPECT_EQ(parse({"TUTTI_VERIFY=1:18446744073709551615"}).value().watch.verify_seed, UINT64_MAX);
}

TEST(Settings, PretendedHosts) {
    EXPECT_EQ(parse({}).value().hosts, 0u);
    const auto blocks = parse({"TUTTI_HOSTS=3"});
    EXPECT_EQ(blocks.value().hosts, 3u);
    EXPECT_FALSE(blocks.value().hosts_in_turn);
    const auto in_turn = parse({"TUTTI_HOSTS=2:round-robin"});
    EXPECT_EQ(in_turn.value().hosts, 2u);
    EXPECT_TRUE(in_turn.value().hosts_in_turn);
}

// Of each setting.
const std::map<std::string, std::vector<std::string>> kMalformed = {
    {"TUTTI", {"maybe", "O", "2"}},
    {"TUTTI_REPORT", {}},
    {"TUTTI_CHECK", {"2", "y", "-1"}},
    {"TUTTI_VERIFY",
     {"1.01", "101%", "-1", "%", "all", "nan", "0.1:", "0.1:0", "0.1:x", ":7", "1 %"}},
    {"TUTTI_STALL", {"-1", "soon", "nan", "1d"}},
    {"TUTTI_START_WAIT", {"0", "-1", "soon", "nan", "1000001"}},
    {"TUTTI_REPRODUCIBLE", {"truth"}},
    {"TUTTI_HETEROGENEOUS", {"2"}},
    {"TUTTI_WARMUP", {"-1", "1.5", "1073741825"}},
    {"TUTTI_MEMORY", {"1", "65535", "2000G", "lots"}},
    {"TUTTI_CHUNK", {"0", "1023", "17M", "4 K"}},
    {"TUTTI_LAYOUT", {"Flat", "ring"}},
    {"TUTTI_TOPOLOGY", {}},
    {"TUTTI_ISA", {"sse", "avx-512"}},
    {"TUTTI_SPIN", {"1000001", "x", "2s", "1.5"}},
    {"TUTTI_HOSTS", {"0", "x", "2:", "2:blocks", ":round-robin", "0:round-robin"}},
    {"TUTTI_MCAST", {"2", "always"}},
    {"TUTTI_MCAST_OVER", {"on", "rdma"}},
    {"TUTTI_MCAST_IF", {}},
    {"TUTTI_MCAST_ADDRESS",
     {"224.0.0.1", "10.0.0.1", "239.1.2", "239.1.2.256", "fe80::1", "ff02::1", "ff11::1", "ff35::1",
      "239.1.2.3 ", "group"}},
    {"TUTTI_MCAST_PORT", {"0", "1023", "65536", "x"}},
    {"TUTTI_MCAST_TTL", {"0", "256", "-1"}},
    {"TUTTI_MCAST_RATE", {"25", "fast", "-1mbit", "0mbit", "0", "1bit", "2000gbit"}},
    {"TUTTI_MCAST_CODE", {"0", "headers", "payload"}},
    {"TUTTI_MCAST_SECRET", {"2", "auto"}},
    {"TUTTI_MCAST_THREAD", {"2", "auto"}},
    {"TUTTI_MCAST_TEAMS", {"0", "65"}},
#define TUTTI_NETWORK(name, title, group, variable, option, text) {variable, {"2", "always"}},
#include "base/networks.inc"
#undef TUTTI_NETWORK
    {"TUTTI_VERBS_DEVICE", {":1", "mlx5_0:", "mlx5_0:0", "mlx5_0:x", "mlx5_0:5", "a/b"}},
    {"TUTTI_VERBS_GID", {"256", "-1", "first"}},
    {"TUTTI_VERBS_PKEY", {"0x0", "0x8000", "0x10000", "8001", "0x", "default"}},
    {"TUTTI_VERBS_SL", {"16", "-1"}},
    {"TUTTI_VERBS_TC", {"256", "high"}},
    {"TUTTI_VERBS_TIMEOUT", {"7", "21", "1s"}},
    {"TUTTI_VERBS_RETRIES", {"0", "7"}},
    {"TUTTI_VERBS_TAIL", {"2", "auto"}},
    {"TUTTI_VERBS_MEMORY", {"0", "1000", "2T", "none"}},
    {"TUTTI_VERBS_DIRECT", {"0", "4095", "2G", "never"}},
    {"TUTTI_FAULTS", {"drop", "drop:1.1", "loss:0.1", "reorder:65", "drop:0,drop:0"}},
    {"TUTTI_FABRIC", {}},
    {"TUTTI_MPI_LIBRARY", {}},
    {"TUTTI_REPORT_MARK", {}},
    {"TUTTI_RULES", {}},
    {"TUTTI_RULES_TEXT", {}},
    {"TUTTI_TUNED", {}},
    {"TUTTI_TUNED_NAME", {}},
    {"TUTTI_TUNED_TEXT", {}},
    {"TUTTI_SITE_NAMES", {}},
    {"TUTTI_SITE_OFF", {}},
    {"TUTTI_SINGLE_COPY", {"2", "always"}},
    {"TUTTI_PRICE", {"2", "always"}},
    {"TUTTI_ARRIVALS", {"2", "always"}},
    {"TUTTI_TUNE", {"1", "on", "live:"}},
    {"TUTTI_SCRATCH", {"1", "65535", "2000G"}},
    {"TUTTI_BARRIER", {}},
    {"TUTTI_BCAST", {}},
    {"TUTTI_REDUCE", {}},
    {"TUTTI_ALLREDUCE", {}},
    {"TUTTI_GATHER", {}},
    {"TUTTI_SCATTER", {}},
    {"TUTTI_ALLGATHER", {}},
    {"TUTTI_REDUCE_SCATTER_BLOCK", {}},
    {"TUTTI_ALLTOALL", {}},
    {"TUTTI_SCAN", {}},
    {"TUTTI_EXSCAN", {}},
    {"TUTTI_GATHERV", {}},
    {"TUTTI_SCATTERV", {}},
    {"TUTTI_ALLGATHERV", {}},
    {"TUTTI_ALLTOALLV", {}},
    {"TUTTI_ALLTOALLW", {}},
    {"TUTTI_REDUCE_SCATTER", {}},
};

// The line begins with what was given.
TEST(Settings, EachMalformedValueIsNamed) {
    for (const SettingDoc& doc : setting_docs()) {
        const std::string name(doc.variable);
        ASSERT_TRUE(kMalformed.contains(name)) << name << " has no malformed value here";
        for (const std::string& value : kMalformed.at(name)) {
            const std::string expected =
                name + "=" + value + ": expected " + std::string(doc.value);
            // A range may follow.
            const std::string said = complaint(name + "=" + value);
            EXPECT_EQ(said.substr(0, expected.size()), expected) << said;
        }
    }
    EXPECT_EQ(complaint("TUTTI_MCAST_TTL=0"), "TUTTI_MCAST_TTL=0: expected HOPS from 1 to 255");
}

TEST(Settings, AnEmptyVariableIsUnset) {
    for (const SettingDoc& doc : setting_docs()) {
        const std::string name(doc.variable);
        EXPECT_EQ(complaint(name + "="), "(accepted)");
        EXPECT_EQ(complaint(name), "(accepted)");  // a name alone is an empty value
    }
    // It does not take back what was said before.
    EXPECT_TRUE(parse({"TUTTI_CHECK=1", "TUTTI_CHECK="}).value().watch.check);
    const char* environment[] = {"TUTTI_REPORT=", "TUTTI=", "TUTTI_CHEK=", "TUTTI_CHECK=1",
                                 nullptr};
    EXPECT_EQ(tutti_entries(environment), std::vector<std::string>{"TUTTI_CHECK=1"});
}

// A job on one host sends nothing.
TEST(Settings, SomeHaveNoEffectOnOneHost) {
    const auto idle = [](const std::vector<std::string>& entries) {
        return idle_on_one_host(entries);
    };
    EXPECT_EQ(idle({}), "");
    EXPECT_EQ(idle({"TUTTI_ALLREDUCE=ring"}), "TUTTI_ALLREDUCE=ring");
    EXPECT_EQ(idle({"TUTTI_FAULTS=drop:0.1", "TUTTI_MCAST=yes", "TUTTI_BCAST=chain:lanes=2"}),
              "TUTTI_BCAST=chain:lanes=2, TUTTI_MCAST=on, TUTTI_FAULTS=drop:0.1");
    EXPECT_EQ(idle({"TUTTI_VERBS=on", "TUTTI_VERBS_SL=3", "TUTTI_PRICE=on"}),
              "TUTTI_PRICE=on, TUTTI_VERBS=on, TUTTI_VERBS_SL=3");
    // What is served there, too, what is not to be, and what is so anyway.
    EXPECT_EQ(idle({"TUTTI_ALLREDUCE=host", "TUTTI_REDUCE=node:small", "TUTTI_MCAST=off",
                    "TUTTI_VERBS=auto", "TUTTI_PRICE=0", "TUTTI_CHUNK=4K", "TUTTI_RULES=r.toml",
                    "TUTTI_MCAST_TTL=1", "TUTTI_MCAST_THREAD=0"}),
              "");
    EXPECT_EQ(
        idle({"TUTTI_MCAST=on", "TUTTI_VERBS=on", "TUTTI_SITE_NAMES=TUTTI_STALL,TUTTI_MCAST"}),
        "TUTTI_VERBS=on");
}

TEST(Settings, LimitsAreInclusive) {
    for (const char* entry :
         {"TUTTI_MEMORY=64K", "TUTTI_MEMORY=1024G", "TUTTI_CHUNK=1K", "TUTTI_CHUNK=16M",
          "TUTTI_MCAST_PORT=65535", "TUTTI_MCAST_TTL=255", "TUTTI_MCAST_TEAMS=64",
          "TUTTI_MCAST_RATE=auto", "TUTTI_MCAST_ADDRESS=ff15::7",
          "TUTTI_MCAST_ADDRESS=239.255.255.255", "TUTTI_SPIN=1000000", "TUTTI_WARMUP=1073741824",
          "TUTTI_STALL=1000000000000"}) {
        EXPECT_EQ(complaint(entry), "(accepted)") << entry;
    }
}

TEST(Settings, TheTableIsSound) {
    std::set<std::string_view> names;
    std::set<std::string_view> options;
    for (const SettingDoc& doc : setting_docs()) {
        EXPECT_TRUE(names.insert(doc.variable).second) << doc.variable;
        EXPECT_TRUE(doc.variable == "TUTTI" || doc.variable.starts_with("TUTTI_"));
        if (!doc.option.empty()) {
            EXPECT_TRUE(options.insert(doc.option).second);
            EXPECT_TRUE(doc.option.starts_with("--"));
        }
        EXPECT_FALSE(doc.value.empty());
        EXPECT_FALSE(doc.fallback.empty());
        EXPECT_TRUE(doc.text.ends_with('.')) << doc.variable;
        EXPECT_EQ(doc.group == SettingGroup::kInternal, doc.option.empty() &&
                                                            doc.variable != "TUTTI" &&
                                                            doc.variable != "TUTTI_MPI_LIBRARY")
            << doc.variable;
    }
}

TEST(Settings, EntriesOfAnEnvironment) {
    const char* environment[] = {"TUTTI_STALL=2", "HOME=/",        "TUTTI=on",
                                 "TUTTIX=1",      "TUTTI_CHECK=1", nullptr};
    EXPECT_EQ(tutti_entries(environment),
              (std::vector<std::string>{"TUTTI=on", "TUTTI_CHECK=1", "TUTTI_STALL=2"}));
    EXPECT_TRUE(tutti_entries(nullptr).empty());
}

}  // namespace
}  // namespace tutti
