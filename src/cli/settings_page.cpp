// SPDX-License-Identifier: BSD-3-Clause
#include "cli/settings_page.h"

#include <fmt/format.h>

#include "base/settings.h"

namespace tutti::cli {
namespace {

constexpr size_t kTextColumns = 92;

constexpr std::string_view kIntroduction = R"(# Settings

Written by `tutti info --settings --markdown > docs/settings.md` from the one table in
`src/base/settings.cpp`; a test compares them. Do not edit.

Rank 0's variables hold for all ranks. `tutti run` takes the options; an option beats the
variable. BYTES may end in K, M, G or T, also KB or KiB (powers of two), SECONDS and
MICROSECONDS in ns, us, ms, s, min or h, and RATE in mbit, Gbit, M or G. A switch (`0|1`,
`on|off`) takes 1, on, yes and true, and 0, off, no and false, in letters of any case; given as
an option without a value it means 1. An empty variable (`TUTTI_REPORT=`) means unset. A
malformed value is an error that names it. An unknown variable is ignored, and rank 0 says so in
one line. The variables that module systems set for every package (`TUTTI_ROOT`,
`TUTTI_VERSION`, `TUTTI_LIB_DIR` ...) pass without a word.

A site may give defaults, and switch everything off, in `/etc/tutti/settings.toml`
([formats/settings.md](formats/settings.md)); `tutti info` says where each setting comes from.
)";

constexpr std::string_view kTableHead = R"(
| Variable | Option | Value | Default | Meaning |
|---|---|---|---|---|
)";

// "|" would end a cell of a table.
std::string cell(std::string_view text) {
    std::string escaped;
    for (const char letter : text) {
        if (letter == '|') escaped += '\\';
        escaped += letter;
    }
    return escaped;
}

}  // namespace

std::string wrapped(std::string_view text, std::string_view indent) {
    std::string result;
    while (!text.empty()) {
        size_t end = text.size();
        if (end > kTextColumns) end = text.rfind(' ', kTextColumns);
        result += fmt::format("{}{}\n", indent, text.substr(0, end));
        text.remove_prefix(end);
        if (text.starts_with(' ')) text.remove_prefix(1);
    }
    return result;
}

std::string settings_text() {
    std::string text;
    for (const SettingGroupDoc& group : kSettingGroups) {
        text += fmt::format("{}{}: {}\n\n", text.empty() ? "" : "\n", group.title, group.text);
        for (const SettingDoc& doc : docs_of(group)) {
            text += fmt::format("{}={}", doc.variable, doc.value);
            if (!doc.option.empty()) text += fmt::format("   {}", doc.option);
            text += fmt::format("   default: {}\n{}", doc.fallback, wrapped(doc.text, "    "));
        }
    }
    return text;
}

std::string settings_markdown() {
    std::string text(kIntroduction);
    for (const SettingGroupDoc& group : kSettingGroups) {
        text += fmt::format("\n## {}\n\n{}\n{}", group.title, group.text, kTableHead);
        for (const SettingDoc& doc : docs_of(group)) {
            const std::string option = doc.option.empty() ? "" : fmt::format("`{}`", doc.option);
            text += fmt::format("| `{}` | {} | {} | {} | {} |\n", doc.variable, option,
                                cell(doc.value), cell(doc.fallback), cell(doc.text));
        }
    }
    return text;
}

}  // namespace tutti::cli
