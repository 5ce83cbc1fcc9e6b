// SPDX-License-Identifier: BSD-3-Clause
#include "run/site/fabric_search.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/settings.h"
#include "base/text.h"
#include "run/site/tuned_search.h"

namespace tutti::site {
namespace {

std::string folder_of(const std::string& file) {
    return std::filesystem::path(file).parent_path().string();
}

// How a description's name ends. What editors, packages and we ourselves leave behind ends
// otherwise: fabric.toml~, fabric.toml.dpkg-old, fabric.toml.0123456789abcdef.tmp.
constexpr auto kEnds = std::to_array<std::string_view>(
    {".toml", ".conf", ".yaml", ".yml", ".json", ".out", ".cache", ".txt"});

std::vector<std::string> site_fabrics(const std::string& folder) {
    std::vector<std::string> found;
    std::error_code fault;
    std::filesystem::directory_iterator entry(folder, fault);
    for (; !fault && entry != std::filesystem::directory_iterator(); entry.increment(fault)) {
        const std::string name = entry->path().filename().string();
        const bool is_known =
            std::ranges::any_of(kEnds, [&](std::string_view end) { return name.ends_with(end); });
        if (!name.starts_with("fabric.") || !is_known) continue;
        std::error_code unseen;
        if (entry->is_regular_file(unseen)) found.push_back(entry->path().string());
    }
    std::sort(found.begin(), found.end());
    return found;
}

}  // namespace

Result<FoundFabric> find_fabric(const FabricSearch& search) {
    if (search.setting == "off") return FoundFabric{};
    if (!search.setting.empty()) return FoundFabric{search.setting, "TUTTI_FABRIC"};
    const auto found = site_fabrics(search.site_folder);
    if (found.size() > 1) {
        return Error{ErrorCode::kArgument, printable(found[0]) + " and " + printable(found[1]) +
                                               " are both there; name one, or set TUTTI_FABRIC"};
    }
    if (found.size() == 1) return FoundFabric{found[0], "the site's"};
    auto names = std::to_array({"topology.yaml", "topology.conf"});
    if (!search.reads_yaml) std::swap(names[0], names[1]);
    for (const char* name : names) {
        if (search.slurm_conf.empty()) break;
        const std::string folder = folder_of(search.slurm_conf);
        const std::string file = folder.empty() ? name : folder + "/" + name;
        std::error_code fault;
        if (std::filesystem::exists(file, fault)) return FoundFabric{file, "beside SLURM_CONF"};
    }
    if (search.tuned_file.empty()) return FoundFabric{};
    return FoundFabric{search.tuned_file, "the tuned file"};
}

Result<FabricSearch> fabric_search(const Result<Site>& site, std::span<const std::string> own,
                                   const char* slurm) {
    if (!site) return site.error();
    const auto settings = parse_settings(merge(site, "", own).entries);
    if (!settings) return settings.error();
    auto tuned = tuned_fabric(settings.value());
    if (!tuned) return tuned.error();
    return FabricSearch{.setting = settings.value().command.fabric_file,
                        .site_folder = folder_of(std::string(site_file())),
                        .slurm_conf = slurm ? slurm : "",
                        .tuned_file = std::move(tuned.value())};
}

Result<FabricSearch> own_fabric_search() {
    return fabric_search(read_site(), tutti_entries(environ), getenv("SLURM_CONF"));
}

}  // namespace tutti::site
