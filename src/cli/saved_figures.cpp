// SPDX-License-Identifier: BSD-3-Clause
#include "cli/saved_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace tutti::cli {
namespace {

using Json = nlohmann::json;

// Reports of 10,000 hosts are shorter.
constexpr size_t kReportBytesMax = 64u << 20;

Error malformed(const std::string& what) { return Error{ErrorCode::kArgument, what}; }

// Into `number`, which stays as it is where there is no such key.
template <class Number>
Result<Done> read_number(const Json& object, const char* key, uint64_t most, Number& number) {
    const auto found = object.find(key);
    if (found == object.end()) return Done{};
    if (!found->is_number_unsigned() || found->get<uint64_t>() > most) {
        return malformed(fmt::format("\"{}\" is no number of 0 to {}", key, most));
    }
    number = static_cast<Number>(found->get<uint64_t>());
    return Done{};
}

Result<Done> read_ways(const Json& node, node::Figures& figures) {
    const auto found = node.find("one_way_64k_ns");
    if (found == node.end()) return Done{};  // the time for measuring did not suffice
    if (!found->is_object()) return malformed("\"one_way_64k_ns\" is no table");
    for (size_t i = 0; i < node::kCopyWays; ++i) {
        const char* name = node::name_of(static_cast<node::CopyWay>(i));
        if (auto done = read_number(*found, name, UINT32_MAX, figures.way_ns[i]); !done) {
            return done;
        }
    }
    return read_number(*found, "short_ring", UINT32_MAX, figures.short_ring_ns);
}

Result<Done> read_times(const Json& node, const char* key, node::Times& times) {
    const auto found = node.find(key);
    if (found == node.end() || !found->is_array()) {
        return malformed(fmt::format("no list \"{}\"", key));
    }
    for (const Json& entry : *found) {
        uint64_t bytes = 0;
        if (!entry.is_object()) return malformed(fmt::format("\"{}\" holds no tables", key));
        if (auto done = read_number(entry, "bytes", UINT32_MAX, bytes); !done) return done;
        const auto& sizes = node::kMeasuredBytes;
        const auto size = std::find(sizes.begin(), sizes.end(), bytes);
        if (size == sizes.end()) {
            return malformed(
                fmt::format("\"{}\": {} bytes are a size that no run measures", key, bytes));
        }
        const auto at = static_cast<size_t>(size - sizes.begin());
        if (auto done = read_number(entry, "rings_ns", UINT32_MAX, times.ring[at]); !done) {
            return done;
        }
        if (auto done = read_number(entry, "single_copy_ns", UINT32_MAX, times.single[at]); !done) {
            return done;
        }
    }
    return Done{};
}

// Reports of earlier versions have none.
Result<Done> read_readers(const Json& node, node::Figures& figures) {
    constexpr const char* kKey = "one_way_64k_readers";
    const auto found = node.find(kKey);
    if (found == node.end()) return Done{};
    if (!found->is_array()) return malformed(fmt::format("\"{}\" is no list", kKey));
    for (const Json& entry : *found) {
        uint64_t readers = 0;
        if (!entry.is_object()) return malformed(fmt::format("\"{}\" holds no tables", kKey));
        if (auto done = read_number(entry, "readers", UINT32_MAX, readers); !done) return done;
        const auto at = static_cast<size_t>(std::countr_zero(readers));
        if (!std::has_single_bit(readers) || at >= node::kReaderLimits) {
            return malformed(
                fmt::format("\"{}\": {} readers are a number that no run measures", kKey, readers));
        }
        uint32_t& ns = figures.readers_ns[at];
        if (auto done = read_number(entry, "single_copy_ns", UINT32_MAX, ns); !done) return done;
    }
    return Done{};
}

bool is_true(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_boolean() && found->get<bool>();
}

Result<explain::MeasuredNode> read_node(const Json& node) {
    explain::MeasuredNode result;
    node::Figures& figures = result.figures;
    for (auto done : {read_number(node, "ranks", UINT32_MAX, result.ranks),
                      read_number(node, "barrier_ns", UINT32_MAX, figures.barrier_ns),
                      read_ways(node, figures), read_times(node, "one_way", figures.one_way),
                      read_times(node, "all_ways", figures.all_ways), read_readers(node, figures),
                      read_number(node, "one_way_1k_ns", UINT32_MAX, figures.short_ns),
                      read_number(node, "folded_64k_ns", UINT32_MAX, figures.fold_ns)}) {
        if (!done) return done.error();
    }
    if (figures.barrier_ns == 0) return malformed("\"barrier_ns\" is missing");
    const auto host = node.find("host");
    if (host != node.end() && host->is_string()) result.host = printable(host->get<std::string>());
    const auto follows = node.find("follows");
    result.can_read =
        follows != node.end() && follows->is_object() && is_true(*follows, "single_copy");
    return result;
}

}  // namespace

Result<std::string> read_report(const std::string& name) {
    std::error_code fault;
    if (!std::filesystem::is_regular_file(name, fault)) return malformed("is no file");
    if (std::filesystem::file_size(name, fault) > kReportBytesMax) {
        return malformed("more than " + format_bytes(kReportBytesMax));
    }
    std::ifstream file(name, std::ios::binary);
    if (!file) return malformed("cannot be read");
    return std::string(std::istreambuf_iterator<char>(file), {});
}

Result<explain::MeasuredNode> parse_node_figures(std::string_view text, uint32_t ranks) {
    const Json report = Json::parse(text, nullptr, false);
    const auto nodes = report.is_object() ? report.find("nodes") : report.end();
    if (nodes == report.end() || !nodes->is_array()) {
        return malformed("is no report of TUTTI_REPORT: no list \"nodes\"");
    }
    const Json* best = nullptr;
    for (const Json& node : *nodes) {
        if (!node.is_object() || !is_true(node, "measured")) continue;
        const auto count = node.find("ranks");
        const bool fits = count != node.end() && *count == ranks;
        if (best == nullptr || fits) best = &node;
        if (fits) break;
    }
    if (best == nullptr) return malformed("nothing was measured in that run");
    return read_node(*best);
}

Result<std::optional<explain::MeasuredNode>> read_node_figures(const CommandLine& command_line,
                                                               uint32_t ranks) {
    using Found = std::optional<explain::MeasuredNode>;
    const std::string* name = command_line.find(kNodeFiguresOption.name);
    if (name == nullptr) return Found{};
    const auto wrong = [&](const Error& error) {
        return Error{ErrorCode::kArgument, fmt::format("{}: {}: {}", kNodeFiguresOption.name,
                                                       printable(*name), error.message)};
    };
    const auto text = read_report(*name);
    if (!text) return wrong(text.error());
    const auto found = parse_node_figures(text.value(), ranks);
    if (!found) return wrong(found.error());
    return Found{found.value()};
}

}  // namespace tutti::cli
