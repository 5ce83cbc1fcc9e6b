// SPDX-License-Identifier: BSD-3-Clause
// The names of reports: codes in them that are filled in when a report is written, and numbers of
// further reports of one run.
#pragma once

#include <string>
#include <string_view>

namespace tutti::files {

struct NameParts {
    std::string job;      // %j
    std::string process;  // %p
    std::string host;     // %h
};

// The codes filled in; %% is a percent sign, and any other % is itself.
std::string fill_name(std::string_view pattern, const NameParts& parts);

// The n-th one's name, n from 2 on: "r.2.json" of "r.json", "r.2" of "r".
std::string numbered_name(const std::string& name, int number);

// Matches, as glob() does, all names that fill_name() may make of this one, and numbers too.
struct NamePatterns {
    std::string first;
    std::string numbered;
};
NamePatterns name_patterns(std::string_view pattern);

}  // namespace tutti::files
