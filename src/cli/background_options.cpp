// SPDX-License-Identifier: BSD-3-Clause
#include "cli/background_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"
#include "base/topo/read/hostlist.h"
#include "cli/fabric_file.h"
#include "lab/simulate/background.h"

namespace tutti::cli {
namespace {

constexpr auto kBackgroundOptions = std::to_array<OptionDoc>({
    {"--background", "alltoall:N",
     "With --fabric: another job's alltoall of N bytes, in a loop, between switches only"},
    {"--background-hosts", "N|LIST",
     "The other job's hosts, or how many of the file's that the call does not use (default: all of "
     "these)"},
});

constexpr std::string_view kAlltoall = "alltoall:";

bool is_of_call(const JobHosts& job, uint32_t host) {
    return std::find(job.found.begin(), job.found.end(), host) != job.found.end();
}

Result<std::vector<uint32_t>> named_hosts(const JobHosts& job, const std::string& list) {
    const topo::Topology& topology = *job.cluster->topology;
    const auto names = read_host_names("--background-hosts", list);
    if (!names) return names.error();
    const auto found = topo::find_hosts(topology, names.value());
    for (size_t i = 0; i < found.size(); ++i) {
        const auto refuse = [&](const std::string& why) {
            return wrong(
                fmt::format("--background-hosts: {} {}", printable(names.value()[i]), why));
        };
        if (found[i] == topo::kNoNode) {
            return refuse(fmt::format("is not in {}", printable(topology.source)));
        }
        if (is_of_call(job, found[i])) return refuse("is one of the call's");
        if (std::count(found.begin(), found.end(), found[i]) > 1) {
            return refuse("is named twice");
        }
    }
    return found;
}

// All that are not the call's, or the first of them.
Result<std::vector<uint32_t>> other_hosts(const CommandLine& command_line, const JobHosts& job) {
    std::vector<uint32_t> others;
    for (uint32_t host = 0; host < job.cluster->topology->hosts.size(); ++host) {
        if (!is_of_call(job, host)) others.push_back(host);
    }
    if (others.empty()) return others;
    const auto count = command_line.count("--background-hosts", others.size(), 1, others.size());
    if (!count) return count.error();
    const auto done = check_number(command_line, "--background-hosts", *job.cluster->topology);
    if (!done) return done.error();
    others.resize(count.value());
    return others;
}

}  // namespace

std::span<const OptionDoc> background_options() { return kBackgroundOptions; }

Result<BackgroundJob> read_background(const CommandLine& command_line, const JobHosts& job) {
    const std::string* text = command_line.find("--background");
    const std::string* list = command_line.find("--background-hosts");
    if (!text) {
        if (list) return wrong("--background-hosts: needs --background");
        return BackgroundJob{};
    }
    if (!job.cluster) return wrong("--background: needs --fabric");
    const auto bytes = text->starts_with(kAlltoall)
                           ? parse_bytes(std::string_view(*text).substr(kAlltoall.size()))
                           : std::nullopt;
    if (!bytes || *bytes == 0 || *bytes > simulate::kBackgroundBytesMax) {
        return wrong_value("--background", *text, "alltoall:N of 1 byte to 64 MiB: alltoall:64K");
    }
    BackgroundJob background;
    background.bytes = *bytes;
    const bool is_list = list && !is_number(*list);
    auto hosts = is_list ? named_hosts(job, *list) : other_hosts(command_line, job);
    if (!hosts) return hosts.error();
    background.hosts = std::move(hosts.value());
    const auto& place_of = job.cluster->tree.place_of_host;
    const bool is_apart =
        std::any_of(background.hosts.begin(), background.hosts.end(), [&](uint32_t host) {
            return place_of[host].node != place_of[background.hosts.front()].node;
        });
    if (!is_apart) {
        return wrong("--background: its hosts are not on two switches; see --background-hosts");
    }
    std::vector<std::string> names;
    for (const uint32_t host : background.hosts) {
        names.push_back(job.cluster->topology->hosts[host].name);
    }
    background.text = fmt::format("alltoall of {} between {}, from switch to switch",
                                  format_bytes(*bytes), printable(topo::fold_hostlist(names)));
    return background;
}

}  // namespace tutti::cli
