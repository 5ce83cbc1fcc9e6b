// SPDX-License-Identifier: BSD-3-Clause
// Limits that a container or a batch system has set for this process: cgroup v2, v1, or both
// mounted side by side. A limit may stand at any ancestor, so all are read up to the mount's own
// top. What cannot be read or understood is no limit: this only steers, it does not enforce.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "base/topo/node_topology.h"

namespace tutti::topo {
namespace {

constexpr size_t kFileBytesMax = size_t{1} << 20;
// v1 writes "no limit" as the largest multiple of a page; nothing real is near.
constexpr uint64_t kNoLimitFrom = uint64_t{1} << 60;

// The whole file, or nullopt. Larger files than kFileBytesMax are cut.
std::optional<std::string> read_text(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return std::nullopt;
    std::string text;
    char block[4096];
    ssize_t bytes = 0;
    while (text.size() < kFileBytesMax && (bytes = read(file, block, sizeof block)) > 0) {
        text.append(block, static_cast<size_t>(bytes));
    }
    close(file);
    if (bytes < 0) return std::nullopt;
    return text;
}

std::vector<std::string_view> words(std::string_view text) {
    std::vector<std::string_view> found;
    while (!text.empty()) {
        const size_t start = text.find_first_not_of(" \t\n");
        if (start == std::string_view::npos) break;
        text.remove_prefix(start);
        const size_t end = std::min(text.find_first_of(" \t\n"), text.size());
        found.push_back(text.substr(0, end));
        text.remove_prefix(end);
    }
    return found;
}

std::optional<uint64_t> number(std::string_view word) {
    uint64_t value = 0;
    const char* end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data(), end, value);
    if (error != std::errc() || stop != end) return std::nullopt;
    return value;
}

std::optional<uint64_t> read_number(const std::string& path) {
    const std::optional<std::string> text = read_text(path);
    if (!text) return std::nullopt;
    const std::vector<std::string_view> found = words(*text);
    return found.size() == 1 ? number(found[0]) : std::nullopt;
}

// Spaces and the like in a path of mountinfo are written as \040.
std::string unescape(std::string_view text) {
    std::string plain;
    const auto octal = [&](size_t i) { return text[i] >= '0' && text[i] <= '7'; };
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\\' && i + 3 < text.size() && octal(i + 1) && octal(i + 2) &&
            octal(i + 3)) {
            const int code = (text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + text[i + 3] - '0';
            plain.push_back(static_cast<char>(code));
            i += 3;
        } else {
            plain.push_back(text[i]);
        }
    }
    return plain;
}

struct Mount {
    std::string top;    // where it is mounted
    std::string inner;  // which directory of the hierarchy is mounted there
};

bool names(std::string_view list, std::string_view wanted) {
    const std::vector<std::string_view> entries = split(list, ',');
    return std::find(entries.begin(), entries.end(), wanted) != entries.end();
}

// The mount of a v1 controller, or of v2 where the controller is empty.
// A line: id parent device inner top options [tags...] - type source options
std::optional<Mount> find_mount(const std::string& root, std::string_view controller) {
    const std::optional<std::string> text = read_text(root + "/proc/self/mountinfo");
    if (!text) return std::nullopt;
    for (const std::string_view line : split(*text, '\n')) {
        const std::vector<std::string_view> field = words(line);
        const auto dash = std::find(field.begin(), field.end(), "-");
        if (dash - field.begin() < 6 || field.end() - dash < 4) continue;
        const bool wanted = controller.empty() ? dash[1] == "cgroup2"
                                               : dash[1] == "cgroup" && names(dash[3], controller);
        if (wanted) return Mount{.top = unescape(field[4]), .inner = unescape(field[3])};
    }
    return std::nullopt;
}

// This process's place in that hierarchy, as /proc/self/cgroup tells it
// ("number:controllers:path").
std::string own_path(const std::string& root, std::string_view controller) {
    const std::optional<std::string> text = read_text(root + "/proc/self/cgroup");
    if (!text) return "/";
    for (const std::string_view line : split(*text, '\n')) {
        const size_t first = line.find(':');
        if (first == std::string_view::npos) continue;
        const size_t second = line.find(':', first + 1);
        if (second == std::string_view::npos) continue;
        const std::string_view controllers = line.substr(first + 1, second - first - 1);
        const bool wanted =
            controller.empty() ? line.starts_with("0::") : names(controllers, controller);
        if (wanted) return std::string(line.substr(second + 1));
    }
    return "/";
}

// The directories to ask, own one first, the mount's top last. In a container the path may be told
// from outside and not exist below the mount: then the top stands for the container.
std::vector<std::string> directories(const std::string& root, std::string_view controller) {
    const std::optional<Mount> mount = find_mount(root, controller);
    if (!mount) return {};
    std::string below = own_path(root, controller);
    const bool inside = mount->inner != "/" && below.starts_with(mount->inner) &&
                        (below.size() == mount->inner.size() || below[mount->inner.size()] == '/');
    if (inside) below.erase(0, mount->inner.size());
    while (below.ends_with('/')) below.pop_back();

    const std::string top = root + mount->top;
    const bool climbs = (below + "/").find("/../") != std::string::npos;
    if (climbs || access((top + below).c_str(), F_OK) != 0) below.clear();
    std::vector<std::string> found;
    while (!below.empty()) {
        found.push_back(top + below);
        below.erase(std::min(below.rfind('/'), below.size()));
    }
    found.push_back(top);
    return found;
}

std::optional<uint64_t> lesser(std::optional<uint64_t> a, std::optional<uint64_t> b) {
    if (!a || !b) return a ? a : b;
    return std::min(*a, *b);
}

std::optional<uint64_t> whole_cpus(std::optional<uint64_t> quota, std::optional<uint64_t> period) {
    if (!quota || !period || *quota == 0 || *period == 0) return std::nullopt;
    return (*quota - 1) / *period + 1;
}

// "max 100000" or "150000 100000".
std::optional<uint64_t> cpus_v2(const std::string& directory) {
    const std::optional<std::string> text = read_text(directory + "/cpu.max");
    if (!text) return std::nullopt;
    const std::vector<std::string_view> found = words(*text);
    return found.size() == 2 ? whole_cpus(number(found[0]), number(found[1])) : std::nullopt;
}

// The quota is -1, so no number here, where there is none.
std::optional<uint64_t> cpus_v1(const std::string& directory) {
    return whole_cpus(read_number(directory + "/cpu.cfs_quota_us"),
                      read_number(directory + "/cpu.cfs_period_us"));
}

// A line of memory.stat, "name value"; 0 where it is not told.
uint64_t memory_stat(const std::string& directory, std::string_view name) {
    const std::optional<std::string> text = read_text(directory + "/memory.stat");
    if (!text) return 0;
    for (const std::string_view line : split(*text, '\n')) {
        const std::vector<std::string_view> found = words(line);
        if (found.size() == 2 && found[0] == name) return number(found[1]).value_or(0);
    }
    return 0;
}

// File pages that nobody uses are given back by the kernel before it refuses memory.
std::optional<uint64_t> headroom(std::optional<uint64_t> limit, std::optional<uint64_t> used,
                                 uint64_t reclaimable) {
    if (!limit || !used || *limit >= kNoLimitFrom) return std::nullopt;
    const uint64_t held = *used - std::min(*used, reclaimable);
    return *limit - std::min(*limit, held);
}

std::optional<uint64_t> headroom_v2(const std::string& directory) {
    return headroom(read_number(directory + "/memory.max"),
                    read_number(directory + "/memory.current"),
                    memory_stat(directory, "inactive_file"));
}

std::optional<uint64_t> headroom_v1(const std::string& directory) {
    return headroom(read_number(directory + "/memory.limit_in_bytes"),
                    read_number(directory + "/memory.usage_in_bytes"),
                    memory_stat(directory, "total_inactive_file"));
}

using ReadLimit = std::optional<uint64_t> (*)(const std::string& directory);

// In a hybrid set-up the controller is in one of the two; the other then has no such files.
std::optional<uint64_t> least(const std::string& root, std::string_view controller, ReadLimit v1,
                              ReadLimit v2) {
    std::optional<uint64_t> limit;
    for (const std::string& directory : directories(root, "")) {
        limit = lesser(limit, v2(directory));
    }
    for (const std::string& directory : directories(root, controller)) {
        limit = lesser(limit, v1(directory));
    }
    return limit;
}

}  // namespace

std::optional<uint32_t> cgroup_cpu_quota(const std::string& root) {
    const std::optional<uint64_t> cpus = least(root, "cpu", cpus_v1, cpus_v2);
    if (!cpus) return std::nullopt;
    return static_cast<uint32_t>(std::min<uint64_t>(*cpus, UINT32_MAX));
}

std::optional<uint64_t> cgroup_memory_headroom(const std::string& root) {
    return least(root, "memory", headroom_v1, headroom_v2);
}

}  // namespace tutti::topo
