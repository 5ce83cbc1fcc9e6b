// SPDX-License-Identifier: BSD-3-Clause
// Descriptions of clusters as anybody may write them, in every format: either they are read, and
// then become a tree and are printed and read again, or one line says where they are wrong.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/topo/read/hostlist.h"
#include "base/topo/read/read.h"
#include "base/topo/switch_tree.h"

namespace {

namespace topo = tutti::topo;

void demand(bool condition) {
    if (!condition) std::abort();
}

void demand_one_line(const std::string& message) {
    demand(!message.empty());
    demand(message.find('\n') == std::string::npos);
}

void try_tree(const topo::Topology& topology) {
    const auto tree = topo::make_switch_tree(topology);
    if (!tree) return demand_one_line(tree.error().message);
    demand(tree.value().place_of_host.size() == topology.hosts.size());
    const auto again = topo::read_own(topo::print_own(topology), "again");
    demand(static_cast<bool>(again));
    demand(again.value().hosts.size() == topology.hosts.size());
    demand(again.value().switches.size() == topology.switches.size());
}

void try_hostlist(const std::string& text) {
    const auto names = topo::expand_hostlist(text, 1000);
    if (!names) return demand_one_line(names.error().message);
    const auto again = topo::expand_hostlist(topo::fold_hostlist(names.value()), 1000);
    demand(static_cast<bool>(again));
    demand(again.value() == names.value());
}

using Reader = tutti::Result<topo::Topology> (*)(std::string_view, const std::string&);

struct Format {
    Reader read;
    std::string_view begin;  // most of the input should get past it
};

using std::literals::operator""sv;

constexpr auto kFormats = std::to_array<Format>({
    {topo::read_topology, ""sv},
    {topo::read_own, "[[switch]]\nname = \"s\"\n"sv},
    {topo::read_slurm_conf, "SwitchName=s Nodes="sv},
    {topo::read_slurm_yaml, "- topology: t\n  tree:\n    switches:\n      - switch: s\n        "sv},
    {topo::read_lab_state, "{\"leaves\":[1,1],\"rate_bits\":1,\"uplink_bits\":1,"sv},
    {topo::read_ib_text, "Ca\t1 \"H-01\"\t\t# \"h\"\n"sv},
    {topo::read_ib_cache, "\x2b\x83\xe7\x8f\1\0\0\0"sv},
});

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
    if (bytes == 0) return 0;
    const Format& format = kFormats[data[0] / 2 % kFormats.size()];
    std::string text(reinterpret_cast<const char*>(data + 1), bytes - 1);
    try_hostlist(text);
    if (data[0] % 2 == 1) text.insert(0, format.begin);
    const auto topology = format.read(text, "f");
    if (topology) {
        try_tree(topology.value());
    } else {
        demand_one_line(topology.error().message);
        demand(topology.error().message.starts_with("f:"));
    }
    return 0;
}
