// SPDX-License-Identifier: BSD-3-Clause
// The settings that a cluster's administrator makes for all programs: /etc/tutti/settings.toml, see
// docs/formats/settings.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tutti::site {

// Of the file; more is no settings.
inline constexpr size_t kFileBytesMax = 64u << 10;

struct Default {
    std::string entry;  // "TUTTI_STALL=60"
    uint32_t line = 0;
};

struct Denial {
    std::string pattern;
    uint32_t line = 0;
};

struct Site {
    std::string file;  // empty where the site says nothing
    std::vector<Default> defaults;
    std::vector<Denial> denials;
    bool enabled = true;
    uint32_t enabled_line = 0;
    std::string why;  // the site's own words, or empty

    static Result<Site> parse(std::string_view text, std::string file_name);

    // Why this program, a path, is to run as if Tutti were not there; empty where it need not.
    [[nodiscard]] std::string denial(std::string_view program) const;
    // The default of this variable, or null.
    [[nodiscard]] const Default* find(std::string_view variable) const;
};

// The site's file of this build. That there is none is no error.
std::string_view site_file();
Result<Site> read_site();

// The settings of a job: the site's defaults, then its own variables, those of rank 0. `program` as
// in Site::denial.
struct Merged {
    std::vector<std::string> entries;
    std::string off;         // why everything goes to the host, or empty
    bool is_broken = false;  // because the file is
    // Which defaults its own variables contradict, with their places and why; or empty.
    std::string left_out;
};
Merged merge(const Result<Site>& site, std::string_view program, std::span<const std::string> own);

// The file of this process's program, or an empty text.
std::string own_program();

}  // namespace tutti::site
