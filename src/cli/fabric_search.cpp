// SPDX-License-Identifier: BSD-3-Clause
#include "cli/fabric_search.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/settings.h"
#include "base/text.h"
#include "cli/words.h"
#include "site/site.h"

namespace tutti::cli {
namespace {

std::string folder_of(const std::string& file) {
    return std::filesystem::path(file).parent_path().string();
}

std::vector<std::string> site_fabrics(const std::string& folder) {
    std::vector<std::string> found;
    std::error_code fault;
    for (const auto& entry : std::filesystem::directory_iterator(folder, fault)) {
        const std::string name = entry.path().filename().string();
        // What editors leave behind is none.
        if (!name.starts_with("fabric.") || name.ends_with('~')) continue;
        if (entry.is_regular_file(fault)) found.push_back(entry.path().string());
    }
    std::sort(found.begin(), found.end());
    return found;
}

}  // namespace

Result<FoundFabric> find_fabric(const FabricSearch& search) {
    if (!search.named.empty()) return FoundFabric{search.named, "named"};
    if (!search.setting.empty()) return FoundFabric{search.setting, "TUTTI_FABRIC"};
    const auto found = site_fabrics(search.site_folder);
    if (found.size() > 1) {
        return wrong(fmt::format("{} and {} are both there; name one, or set TUTTI_FABRIC",
                                 printable(found[0]), printable(found[1])));
    }
    if (found.size() == 1) return FoundFabric{found[0], "the site's"};
    if (search.slurm_conf.empty()) return FoundFabric{};
    for (const char* name : {"topology.yaml", "topology.conf"}) {
        const std::string folder = folder_of(search.slurm_conf);
        const std::string file = folder.empty() ? name : folder + "/" + name;
        std::error_code fault;
        if (std::filesystem::exists(file, fault)) return FoundFabric{file, "beside SLURM_CONF"};
    }
    return FoundFabric{};
}

Result<FabricSearch> own_fabric_search() {
    const auto settings =
        parse_settings(site::merge(site::read_site(), "", tutti_entries(environ)).entries);
    if (!settings) return settings.error();
    const char* slurm = getenv("SLURM_CONF");
    return FabricSearch{"", settings.value().fabric_file, folder_of(std::string(site::site_file())),
                        slurm ? slurm : ""};
}

}  // namespace tutti::cli
