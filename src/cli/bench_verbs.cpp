// SPDX-License-Identifier: BSD-3-Clause
#include "cli/bench_verbs.h"

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include "base/settings.h"
#include "base/text.h"
#include "cli/command_line.h"
#include "lab/bench/verbs_multicast.h"
#include "lab/bench/verbs_ways.h"
#include "run/engine/context.h"
#include "run/site/site.h"
#include "run/transport/verbs/library.h"

namespace tutti::cli {
namespace {

using transport::verbs::Device;

constexpr int kNoDevice = 2;
constexpr int kWayFailed = 1;
constexpr uint64_t kExchangesMin = 10;
constexpr uint64_t kExchangesMax = 1'000'000;
constexpr int kSleepMsMax = 60'000;
constexpr uint64_t kPacketBytesMax = 4096;
constexpr size_t kMulticastPortsMax = 9;
// Empty looks, before who waits gives the processor away for once: software devices work on it.
constexpr uint32_t kTurnsBeforeYield = 1024;

constexpr auto kVerbsOptions = std::to_array<OptionDoc>(
    {{"--verbs", "", "measure writes, and send and receive, between two ports of this host"},
     {"--multicast", "",
      "measure packets to a group instead, from one port to one other, and to all others"},
     {"--device", "A[,B]",
      "the ports (mlx5_0:1); one alone sends to itself (default: by settings). With --multicast up "
      "to 9"},
     {"--bytes", "LIST",
      "lengths of messages up to 64K (default: 1,8,64,...,1K,2K,4K,64K); of packets from 8 on"},
     {"--exchanges", "N", "of each kind and length, 10 to 1000000 (default: 1000)"}});

constexpr std::string_view kVerbsSummary =
    "Sends short messages there and back between two RDMA ports of this host, in one process and\n"
    "without an MPI: by a plain write, which is looked for in memory; by a write with immediate, "
    "as\n"
    "Tutti's messages go; and by send and receive. With --multicast: unreliable datagrams to a "
    "group\n"
    "of ports, until one has them and until all have (docs/verbs_figures.md).";

using Lengths = std::vector<uint64_t>;

Result<Lengths> lengths_of(const CommandLine& command_line, uint64_t least, uint64_t most,
                           const char* wanted, Lengths usual) {
    const std::string* list = command_line.find("--bytes");
    if (!list) return usual;
    Lengths all;
    for (const std::string_view text : split(*list, ',')) {
        const auto bytes = parse_bytes(text);
        if (!bytes || *bytes < least || *bytes > most) return wrong_value("--bytes", *list, wanted);
        all.push_back(*bytes);
    }
    return all;
}

using Ports = std::vector<std::unique_ptr<Device>>;

Result<Ports> open_ports(VerbsSettings settings, const std::vector<std::string_view>& names) {
    Ports ports;
    for (const std::string_view name : names) {
        if (!name.empty()) settings.device = name;
        auto opened = transport::verbs::open_library(settings);
        if (!opened) return opened.error();
        ports.push_back(std::move(opened.value()));
        if (!ports.back()->port().is_in_network_of(ports.front()->port())) {
            return Error{ErrorCode::kNetwork,
                         fmt::format("{} and {} are on two networks", ports.front()->name(),
                                     ports.back()->name())};
        }
    }
    return ports;
}

// "a and b", "a and itself", "a and 7 others"
std::string between(const Ports& ports) {
    const std::string first = ports.front()->name() + " and ";
    if (ports.size() > 2) return first + std::to_string(ports.size() - 1) + " others";
    return first + (ports.size() == 2 ? ports.back()->name() : "itself");
}

uint32_t packet_bytes(const Ports& ports) {
    uint32_t bytes = ports[0]->port().mtu_bytes;
    for (const auto& port : ports) bytes = std::min(bytes, port->port().mtu_bytes);
    return bytes;
}

void print_times(const bench::WaysOrder& order, const bench::WaysFigures& figures) {
    const auto& [plain, told, sent] = figures.median_us;
    fmt::print("\none way, us (median)\n{:>8}  {:>9}  {:>9}  {:>9}  {:>10}  {:>10}\n", "bytes",
               "write", "write+imm", "send", "send/write", "send/imm");
    for (size_t i = 0; i < order.bytes.size(); ++i) {
        fmt::print("{:>8}  {:>9.2f}  {:>9.2f}  {:>9.2f}  {:>10.2f}  {:>10.2f}\n",
                   format_bytes(order.bytes[i]), plain[i], told[i], sent[i], sent[i] / plain[i],
                   sent[i] / told[i]);
    }
}

void print_counts(const bench::WaysOrder& order, const bench::WaysFigures& figures) {
    constexpr std::array<std::string_view, bench::kWays> kNames = {"write", "write+imm", "send"};
    const auto each = [](uint64_t count, const bench::WayCounts& of) {
        return static_cast<double>(count) / static_cast<double>(of.exchanges);
    };
    fmt::print("\nan exchange, there and back\n{:>10}  {:>6}  {:>8}  {:>11}", "", "posted",
               "receives", "completions");
    if (figures.can_sleep) fmt::print("  {:>8}  {:>10}", "wake-ups", "asleep, us");
    fmt::print("\n");
    for (size_t way = 0; way < bench::kWays; ++way) {
        const bench::WayCounts& counts = figures.counts[way];
        fmt::print("{:>10}  {:>6.2f}  {:>8.2f}  {:>11.2f}", kNames[way], each(counts.posts, counts),
                   each(counts.recvs, counts), each(counts.completions, counts));
        const bench::WayCounts& asleep = figures.asleep[way];
        if (asleep.exchanges > 0) {
            fmt::print("  {:>8.2f}  {:>10.2f}", each(asleep.wakes, asleep), figures.asleep_us[way]);
        } else if (figures.can_sleep) {
            fmt::print("  {:>8}  {:>10}", "-", "-");
        }
        fmt::print("\n");
    }
    if (figures.can_sleep) {
        fmt::print("\nasleep: messages of {}, whose receivers sleep until they are woken\n",
                   format_bytes(order.bytes.front()));
    } else {
        fmt::print("\nno receiver can sleep: there is no completion channel\n");
    }
    fmt::print("of {} plain writes the end was seen before all the rest {} times\n",
               figures.looked_for, figures.torn);
}

void print_multicast(const bench::MulticastOrder& order, const bench::MulticastFigures& figures,
                     size_t all) {
    const std::string to_all = "to " + std::to_string(all);
    fmt::print("\nuntil the last has it, us (median)\n{:>8}  {:>9}  {:>9}  {:>6}\n", "bytes",
               "to 1", to_all, "ratio");
    for (size_t i = 0; i < order.bytes.size(); ++i) {
        const double one = figures.to_one_us[i];
        const double last = figures.to_all_us[i];
        fmt::print("{:>8}  {:>9.2f}  {:>9.2f}  {:>6.2f}\n", format_bytes(order.bytes[i]), one, last,
                   last / one);
    }
    fmt::print("\na packet\n{:>6}  {:>6}  {:>8}  {:>14}  {:>5}\n", "", "posted", "received",
               "by the sender", "lost");
    for (const bool is_to_all : {false, true}) {
        const bench::MulticastCounts& counts = is_to_all ? figures.to_all : figures.to_one;
        const auto each = [&](uint64_t count) {
            return static_cast<double>(count) / static_cast<double>(counts.packets);
        };
        fmt::print("{:>6}  {:>6.2f}  {:>8.2f}  {:>14.2f}  {:>5}\n", is_to_all ? to_all : "to 1",
                   each(counts.posts), each(counts.received), each(counts.echoed), counts.lost);
    }
}

// Where nobody else is likely to be: from what is left to whoever uses it.
transport::verbs::UdGroup own_group() {
    const auto process = static_cast<uint32_t>(getpid());
    return {239, 195, static_cast<uint8_t>(process >> 8), static_cast<uint8_t>(process)};
}

struct Asked {
    bool is_multicast = false;
    Lengths bytes;
    uint64_t exchanges = 0;
    std::vector<std::string_view> ports;
};

Result<Asked> read_asked(const CommandLine& command_line) {
    if (!command_line.others().empty()) {
        return wrong("--verbs: unexpected word " + printable(command_line.others().front()));
    }
    Asked asked;
    asked.is_multicast = command_line.has("--multicast");
    const auto bytes =
        asked.is_multicast
            ? lengths_of(command_line, bench::kMulticastBytesMin, kPacketBytesMax,
                         "lengths from 8 to 4K, such as 8,64,1K", {8, 64, 256, 1024, 2048, 4096})
            : lengths_of(command_line, 1, bench::kWayBytesMax,
                         "lengths from 1 to 64K, such as 1,64,4K",
                         {1, 8, 64, 128, 256, 512, 1024, 2048, 4096, 65536});
    if (!bytes) return bytes.error();
    asked.bytes = bytes.value();
    const auto exchanges = command_line.count("--exchanges", 1000, kExchangesMin, kExchangesMax);
    if (!exchanges) return exchanges.error();
    asked.exchanges = exchanges.value();
    const std::string* device = command_line.find("--device");
    asked.ports = split(device ? std::string_view(*device) : std::string_view(), ',');
    const size_t most = asked.is_multicast ? kMulticastPortsMax : 2;
    const bool has_empty = std::ranges::any_of(asked.ports, &std::string_view::empty);
    if (device && (asked.ports.size() > most || has_empty)) {
        return wrong_value("--device", *device,
                           asked.is_multicast ? "up to 9 ports, such as mlx5_0:1,mlx5_1:1"
                                              : "one port or two, such as mlx5_0:1,mlx5_1:1");
    }
    return asked;
}

Result<Done> show_ways(const Asked& asked, const Ports& ports, Clock& clock,
                       const bench::Waits& waits) {
    const bench::WaysOrder order{asked.bytes, asked.exchanges};
    const auto figures = bench::measure_ways(*ports.front(), *ports.back(), order, clock, waits);
    if (!figures) return figures.error();
    fmt::print("RDMA between {}, packets of {}, {} exchanges of each kind and length\n",
               between(ports), format_bytes(packet_bytes(ports)), order.exchanges);
    print_times(order, figures.value());
    print_counts(order, figures.value());
    return Done{};
}

Result<Done> show_multicast(const Asked& asked, const Ports& ports, Clock& clock,
                            const bench::Waits& waits) {
    const bench::MulticastOrder order{asked.bytes, asked.exchanges, own_group()};
    std::vector<Device*> devices;
    for (const auto& port : ports) devices.push_back(port.get());
    const auto figures = bench::measure_multicast(devices, order, clock, waits.turn);
    if (!figures) return figures.error();
    fmt::print("multicast between {}, packets of {}, {} of each length\n", between(ports),
               format_bytes(packet_bytes(ports)), order.packets);
    print_multicast(order, figures.value(), std::max<size_t>(ports.size(), 2) - 1);
    return Done{};
}

// Packets are as long as the ports have them.
Result<Done> fit(const CommandLine& command_line, const Ports& ports, Lengths& lengths) {
    const uint64_t most = packet_bytes(ports);
    const bool is_named = command_line.has("--bytes");
    if (is_named && std::ranges::max(lengths) > most) {
        return wrong_value("--bytes", *command_line.find("--bytes"),
                           "no more than these ports' packets of " + format_bytes(most));
    }
    std::erase_if(lengths, [&](uint64_t bytes) { return bytes > most; });
    return Done{};
}

Result<Done> bench_ports(const CommandLine& command_line, const VerbsSettings& settings,
                         int& status) {
    auto read = read_asked(command_line);
    if (!read) return read.error();
    Asked& asked = read.value();
    const auto opened = open_ports(settings, asked.ports);
    if (!opened) return Error{opened.error().code, "--verbs: " + opened.error().message};
    const Ports& ports = opened.value();
    if (asked.is_multicast) {
        if (auto fits = fit(command_line, ports, asked.bytes); !fits) return fits;
    }
    uint32_t turns = 0;
    const bench::Waits waits{[&turns] {
                                 if (++turns % kTurnsBeforeYield == 0) sched_yield();
                             },
                             [](int fd) {
                                 pollfd wanted{fd, POLLIN, 0};
                                 return ::poll(&wanted, 1, kSleepMsMax) == 1;
                             }};
    engine::RealClock clock;
    status = kWayFailed;
    auto shown = asked.is_multicast ? show_multicast(asked, ports, clock, waits)
                                    : show_ways(asked, ports, clock, waits);
    if (shown) return shown;
    return Error{shown.error().code, fmt::format("--verbs: {} between {} failed: {}",
                                                 asked.is_multicast ? "multicast" : "RDMA",
                                                 between(ports), shown.error().message)};
}

}  // namespace

int bench_verbs_main(std::span<const std::string> arguments) {
    const auto command_line = CommandLine::parse("bench --verbs", arguments, kVerbsOptions);
    if (command_line && command_line.value().wants_help()) {
        fmt::print("{}", help_text(kVerbsSummary, "tutti bench --verbs [options]", kVerbsOptions));
        return 0;
    }
    const auto settings =
        parse_settings(site::merge(site::read_site(), "", tutti_entries(environ)).entries);
    int status = kNoDevice;
    const auto done = !command_line ? Result<Done>(command_line.error())
                      : !settings
                          ? Result<Done>(settings.error())
                          : bench_ports(command_line.value(), settings.value().verbs, status);
    if (done) return 0;
    fmt::print(stderr, "tutti bench: {}\n", done.error().message);
    return status;
}

}  // namespace tutti::cli
