// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/environment.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace tutti::mpi {

namespace {

constexpr std::string_view kPrefix = "TUTTI";
constexpr std::string_view kMark = "TUTTI_REPORT_MARK=";
constexpr std::string_view kOwn[] = {"TUTTI_VERBS_DEVICE", "TUTTI_VERBS_GID"};

std::string_view name_of(std::string_view entry) { return entry.substr(0, entry.find('=')); }

std::string rank_list(const std::vector<size_t>& ranks) {
    constexpr size_t kListed = 8;
    std::string text = ranks.size() == 1 ? "rank " : "ranks ";
    for (size_t i = 0; i < std::min(ranks.size(), kListed); ++i) {
        text += (i > 0 ? ", " : "") + std::to_string(ranks[i]);
    }
    if (ranks.size() > kListed) {
        text += " and " + std::to_string(ranks.size() - kListed) + " more";
    }
    return text;
}

}  // namespace

std::vector<std::string> tutti_variables(const char* const* environment) {
    std::vector<std::string> entries;
    for (; environment != nullptr && *environment != nullptr; ++environment) {
        const std::string_view entry = *environment;
        const std::string_view name = name_of(entry);
        if (name != kPrefix && !name.starts_with("TUTTI_")) continue;
        if (entry.starts_with(kMark)) continue;
        if (name.size() + 1 >= entry.size()) continue;  // an empty variable is unset
        entries.emplace_back(entry);
    }
    std::sort(entries.begin(), entries.end());
    return entries;
}

void put_own_first(std::vector<std::string>& held, std::span<const std::string> mine) {
    for (const std::string& own : mine) {
        const std::string_view name = name_of(own);
        if (std::find(std::begin(kOwn), std::end(kOwn), name) == std::end(kOwn)) continue;
        std::erase_if(held, [&](const std::string& one) { return name_of(one) == name; });
        held.insert(std::find_if(held.begin(), held.end(),
                                 [&](const std::string& one) { return one > own; }),
                    own);
    }
}

std::string differing_names(std::span<const std::string> mine,
                            std::span<const std::string> theirs) {
    std::vector<std::string> different;
    std::set_symmetric_difference(mine.begin(), mine.end(), theirs.begin(), theirs.end(),
                                  std::back_inserter(different));
    std::string names;
    std::string_view last;
    for (const std::string& entry : different) {
        const std::string_view name = name_of(entry);
        if (name == last) continue;  // both have it, with different values
        last = name;
        names += (names.empty() ? "" : ", ");
        names += name;
    }
    return names;
}

std::string describe_differences(std::span<const std::string> names) {
    std::map<std::string_view, std::vector<size_t>> ranks_by_names;
    for (size_t rank = 0; rank < names.size(); ++rank) {
        if (!names[rank].empty()) ranks_by_names[names[rank]].push_back(rank);
    }
    std::string text;
    for (const auto& [different, ranks] : ranks_by_names) {
        const bool several = different.find(',') != std::string_view::npos;
        text += (text.empty() ? "" : "; ") + rank_list(ranks) + ": " + std::string(different) +
                (several ? " differ" : " differs");
    }
    return text.empty() ? text : text + "; rank 0's value holds";
}

std::string join_entries(std::span<const std::string> entries) {
    std::string text;
    for (const std::string& entry : entries) text.append(entry.c_str(), entry.size() + 1);
    return text;
}

std::vector<std::string> split_entries(const std::string& text) {
    std::vector<std::string> entries;
    for (size_t begin = 0; begin < text.size();) {
        const size_t end = std::min(text.find('\0', begin), text.size());
        entries.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return entries;
}

}  // namespace tutti::mpi
