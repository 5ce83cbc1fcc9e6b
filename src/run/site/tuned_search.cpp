// SPDX-License-Identifier: BSD-3-Clause
#include "run/site/tuned_search.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/read_whole.h"
#include "base/text.h"
#include "base/topo/node_topology.h"
#include "plan/select/rules.h"
#include "run/site/site.h"

namespace tutti::site {
namespace {

Result<std::string> read_tuned(const std::string& name) {
    const auto cannot = [&](const char* why) {
        return Error{ErrorCode::kArgument, "tuned file " + printable(name) + ": " + why};
    };
    const auto text = read_whole(name, select::kRulesTextBytesMax);
    if (!text) return cannot(std::strerror(errno));
    // Settings, as which it travels, end there.
    if (text->find('\0') != std::string::npos) return cannot("a null character is in it");
    return *text;
}

// What is wrong with it, or what differs.
struct Judged {
    std::string text;
    std::string fault;
    std::string difference;
};

Judged judge(const std::string& file, const select::Fingerprint& here) {
    Judged judged;
    auto text = read_tuned(file);
    if (!text) return {{}, text.error().message, {}};
    const auto rules = select::parse_tuned(text.value(), file);
    if (!rules) return {{}, rules.error().message, {}};
    judged.text = std::move(text.value());
    judged.difference = select::difference(*rules.value().tuned(), here);
    return judged;
}

std::string stale(const std::string& file, const std::string& difference) {
    return "tuned file " + printable(file) + " is not used: " + difference + "; run tutti tune";
}

Result<FoundTuned> named_file(const std::string& file, const select::Fingerprint& here) {
    Judged judged = judge(file, here);
    if (!judged.fault.empty()) return Error{ErrorCode::kArgument, judged.fault};
    if (judged.difference.empty()) return FoundTuned{file, std::move(judged.text), {}};
    return FoundTuned{{}, {}, stale(file, judged.difference)};
}

void add_files(const std::string& folder, std::vector<std::string>& files) {
    std::vector<std::string> found;
    std::error_code fault;
    std::filesystem::directory_iterator entry(folder, fault);
    for (; !fault && entry != std::filesystem::directory_iterator(); entry.increment(fault)) {
        const std::string name = entry->path().filename().string();
        if (!name.starts_with("tuned") || !name.ends_with(".toml")) continue;
        std::error_code unseen;
        if (entry->is_regular_file(unseen)) found.push_back(entry->path().string());
    }
    std::ranges::sort(found);
    std::ranges::move(found, std::back_inserter(files));
}

}  // namespace

TunedSearch tuned_search(const Settings& settings, const char* xdg, const char* home) {
    TunedSearch search{settings.rules.tuned_file, {}};
    // A relative one is to be ignored (XDG Base Directory Specification).
    const auto is_absolute = [](const char* path) { return path != nullptr && *path == '/'; };
    if (is_absolute(xdg)) {
        search.folders.push_back(std::string(xdg) + "/tutti");
    } else if (is_absolute(home)) {
        search.folders.push_back(std::string(home) + "/.config/tutti");
    }
    search.folders.push_back(std::filesystem::path(site_file()).parent_path().string());
    return search;
}

std::vector<std::string> tuned_files(const TunedSearch& search) {
    std::vector<std::string> files;
    for (const std::string& folder : search.folders) add_files(folder, files);
    return files;
}

Result<FoundTuned> find_tuned(const TunedSearch& search,
                              const std::function<select::Fingerprint()>& here) {
    if (search.setting == "off") return FoundTuned{};
    if (!search.setting.empty()) return named_file(search.setting, here());
    const auto files = tuned_files(search);
    if (files.empty()) return FoundTuned{};
    const select::Fingerprint own = here();
    // A broken file is told in any case, another that does not fit only where none does.
    std::string broken;
    std::string unfit;
    for (const std::string& file : files) {
        Judged judged = judge(file, own);
        if (!judged.fault.empty()) {
            if (broken.empty()) broken = "tuned file is not used: " + judged.fault;
        } else if (judged.difference.empty()) {
            return FoundTuned{file, std::move(judged.text), broken};
        } else if (unfit.empty()) {
            unfit = stale(file, judged.difference);
        }
    }
    return FoundTuned{{}, {}, broken.empty() ? unfit : broken};
}

select::Fingerprint own_fingerprint(std::string_view library_version) {
    char name[256] = {};
    gethostname(name, sizeof name - 1);
    const std::string host = name;
    return {select::mpi_of(library_version), select::hosts_of(std::span(&host, 1)),
            select::processor_of(topo::processor_name(""))};
}

Result<TunedEntries> tuned_entries(std::span<const std::string> held,
                                   std::string_view library_version) {
    const auto settings = parse_settings(held);
    // What is wrong is said by whoever makes a context of them.
    if (!settings || !settings.value().on) return TunedEntries{};
    const auto search = tuned_search(settings.value(), getenv("XDG_CONFIG_HOME"), getenv("HOME"));
    const auto found = find_tuned(search, [&] { return own_fingerprint(library_version); });
    if (!found) return found.error();
    TunedEntries result{{}, found.value().remark};
    if (!found.value().file.empty()) {
        result.entries = {"TUTTI_TUNED_NAME=" + found.value().file,
                          "TUTTI_TUNED_TEXT=" + found.value().text};
    } else if (!found.value().remark.empty() && !search.setting.empty()) {
        // Nobody is to read the file that is named.
        result.entries = {"TUTTI_TUNED_NAME=off"};
    }
    return result;
}

Result<std::string> tuned_fabric(const Settings& settings) {
    const auto tuned = select::load_tuned(settings);
    if (!tuned) return tuned.error();
    if (!tuned.value() || !tuned.value()->has_fabric()) return std::string();
    return tuned.value()->source();
}

}  // namespace tutti::site
