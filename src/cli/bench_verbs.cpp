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
#include "cli/verbs_ways.h"
#include "cli/words.h"
#include "engine/context.h"
#include "site/site.h"
#include "transport/verbs/library.h"

namespace tutti::cli {
namespace {

using transport::verbs::Device;
using transport::verbs::PortCard;

constexpr int kNoDevice = 2;
constexpr int kWayFailed = 1;
constexpr uint64_t kExchangesMin = 10;
constexpr uint64_t kExchangesMax = 1'000'000;
constexpr int kSleepMsMax = 60'000;
// Empty looks, before who waits gives the processor away for once: software devices work on it.
constexpr uint32_t kTurnsBeforeYield = 1024;

constexpr auto kVerbsOptions = std::to_array<OptionDoc>(
    {{"--verbs", "", "this: writes, and send and receive, between two ports of this host"},
     {"--device", "A[,B]", "the ports (mlx5_0:1); one alone: it to itself (default: as settings)"},
     {"--bytes", "LIST", "lengths of messages up to 64K (default: 1,8,64,...,1K,2K,4K,64K)"},
     {"--exchanges", "N", "of each kind and length, 10 to 1000000 (default: 1000)"}});

constexpr std::string_view kVerbsSummary =
    "Sends short messages there and back between two RDMA ports of this host, in one process and\n"
    "without an MPI: by a plain write, which is looked for in memory; by a write with immediate, "
    "as\n"
    "Tutti's messages go; and by send and receive (docs/verbs_figures.md).";

Result<std::vector<uint64_t>> lengths_of(const Words& words) {
    const std::string* list = words.find("--bytes");
    if (!list) return std::vector<uint64_t>{1, 8, 64, 128, 256, 512, 1024, 2048, 4096, 65536};
    std::vector<uint64_t> all;
    for (const std::string_view text : split(*list, ',')) {
        const auto bytes = parse_bytes(text);
        if (!bytes || *bytes < 1 || *bytes > kWayBytesMax) {
            return wrong_value("--bytes", *list, "lengths from 1 to 64K, such as 1,64,4K");
        }
        all.push_back(*bytes);
    }
    return all;
}

// One port twice is opened once.
struct Ports {
    std::unique_ptr<Device> first;
    std::unique_ptr<Device> second;
    [[nodiscard]] Device& other() const { return second ? *second : *first; }
};

Result<Ports> open_ports(VerbsSettings settings, const std::vector<std::string_view>& names) {
    Ports ports;
    if (!names[0].empty()) settings.device = names[0];
    auto first = transport::verbs::open_library(settings);
    if (!first) return first.error();
    ports.first = std::move(first.value());
    if (names.size() == 1) return ports;
    settings.device = names[1];
    auto second = transport::verbs::open_library(settings);
    if (!second) return second.error();
    ports.second = std::move(second.value());
    const PortCard& a = ports.first->port();
    const PortCard& b = ports.second->port();
    if (a.is_ethernet != b.is_ethernet || a.subnet != b.subnet) {
        return Error{ErrorCode::kNetwork, fmt::format("{} and {} are on two networks",
                                                      ports.first->name(), ports.second->name())};
    }
    return ports;
}

std::string between(const Ports& ports) {
    return ports.second ? ports.first->name() + " and " + ports.second->name()
                        : ports.first->name() + " and itself";
}

void print_times(const WaysOrder& order, const WaysFigures& figures) {
    const auto& [plain, told, sent] = figures.median_us;
    fmt::print("\none way, us (median)\n{:>8}  {:>9}  {:>9}  {:>9}  {:>10}  {:>10}\n", "bytes",
               "write", "write+imm", "send", "send/write", "send/imm");
    for (size_t i = 0; i < order.bytes.size(); ++i) {
        fmt::print("{:>8}  {:>9.2f}  {:>9.2f}  {:>9.2f}  {:>10.2f}  {:>10.2f}\n",
                   format_bytes(order.bytes[i]), plain[i], told[i], sent[i], sent[i] / plain[i],
                   sent[i] / told[i]);
    }
}

void print_counts(const WaysOrder& order, const WaysFigures& figures) {
    constexpr std::array<std::string_view, kWays> kNames = {"write", "write+imm", "send"};
    const auto each = [](uint64_t count, const WayCounts& of) {
        return static_cast<double>(count) / static_cast<double>(of.exchanges);
    };
    fmt::print("\nan exchange, there and back\n{:>10}  {:>6}  {:>8}  {:>11}", "", "posted",
               "receives", "completions");
    if (figures.can_sleep) fmt::print("  {:>8}  {:>10}", "wake-ups", "asleep, us");
    fmt::print("\n");
    for (size_t way = 0; way < kWays; ++way) {
        const WayCounts& counts = figures.counts[way];
        fmt::print("{:>10}  {:>6.2f}  {:>8.2f}  {:>11.2f}", kNames[way], each(counts.posts, counts),
                   each(counts.recvs, counts), each(counts.completions, counts));
        const WayCounts& asleep = figures.asleep[way];
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
        fmt::print("\nnobody can sleep: there is no completion channel\n");
    }
    fmt::print("of {} plain writes the end was seen before all the rest {} times\n",
               figures.looked_for, figures.torn);
}

Result<Done> show_ways(const Words& words, const VerbsSettings& settings, int& status) {
    if (!words.others().empty()) {
        return wrong("--verbs: unexpected word " + printable(words.others().front()));
    }
    const auto bytes = lengths_of(words);
    if (!bytes) return bytes.error();
    const auto exchanges = words.count("--exchanges", 1000, kExchangesMin, kExchangesMax);
    if (!exchanges) return exchanges.error();
    const std::string* device = words.find("--device");
    const auto names = split(device ? std::string_view(*device) : std::string_view(), ',');
    if (device && (names.size() > 2 || names[0].empty() || names.back().empty())) {
        return wrong_value("--device", *device, "one port or two, such as mlx5_0:1,mlx5_1:1");
    }
    const auto opened = open_ports(settings, names);
    if (!opened) return Error{opened.error().code, "--verbs: " + opened.error().message};
    const Ports& ports = opened.value();
    const WaysOrder order{bytes.value(), exchanges.value()};
    uint32_t turns = 0;
    const Waits waits{[&turns] {
                          if (++turns % kTurnsBeforeYield == 0) sched_yield();
                      },
                      [](int fd) {
                          pollfd wanted{fd, POLLIN, 0};
                          return ::poll(&wanted, 1, kSleepMsMax) == 1;
                      }};
    engine::RealClock clock;
    status = kWayFailed;
    const auto figures = measure_ways(*ports.first, ports.other(), order, clock, waits);
    if (!figures) {
        return Error{figures.error().code, fmt::format("--verbs: RDMA between {} failed: {}",
                                                       between(ports), figures.error().message)};
    }
    fmt::print(
        "RDMA between {}, packets of {}, {} exchanges of each kind and length\n", between(ports),
        format_bytes(std::min(ports.first->port().mtu_bytes, ports.other().port().mtu_bytes)),
        order.exchanges);
    print_times(order, figures.value());
    print_counts(order, figures.value());
    return Done{};
}

}  // namespace

int bench_verbs_main(std::span<const std::string> arguments) {
    const auto words = Words::parse("bench --verbs", arguments, kVerbsOptions);
    if (words && words.value().wants_help()) {
        fmt::print("{}", help_text(kVerbsSummary, "tutti bench --verbs [options]", kVerbsOptions));
        return 0;
    }
    const auto settings =
        parse_settings(site::merge(site::read_site(), "", tutti_entries(environ)).entries);
    int status = kNoDevice;
    const auto done = !words      ? Result<Done>(words.error())
                      : !settings ? Result<Done>(settings.error())
                                  : show_ways(words.value(), settings.value().verbs, status);
    if (done) return 0;
    fmt::print(stderr, "tutti bench: {}\n", done.error().message);
    return status;
}

}  // namespace tutti::cli
