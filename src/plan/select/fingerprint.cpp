// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/fingerprint.h"

#include <algorithm>
#include <set>

#include "base/text.h"

namespace tutti::select {
namespace {

// Blanks of any kind are one, and none at the ends.
std::string plain(std::string_view text) {
    std::string result;
    for (const char letter : text) {
        const bool is_blank = letter == ' ' || letter == '\t' || letter == '\r';
        if (is_blank && (result.empty() || result.back() == ' ')) continue;
        const bool is_printable = letter > 0x20 && letter < 0x7f;
        result += is_blank ? ' ' : is_printable ? letter : '?';
    }
    if (!result.empty() && result.back() == ' ') result.pop_back();
    return result;
}

std::string kind_of_host(std::string_view name) {
    std::string kind;
    for (const char letter : name.substr(0, name.find('.'))) {
        const bool is_digit = letter >= '0' && letter <= '9';
        if (!is_digit) kind += letter;
        if (is_digit && (kind.empty() || kind.back() != '#')) kind += '#';
    }
    // A comma is what stands between two kinds.
    std::ranges::replace(kind, ',', '?');
    return plain(kind);
}

std::set<std::string> kinds_in(std::string_view hosts) {
    std::set<std::string> kinds;
    for (const std::string_view one : split(hosts, ',')) kinds.insert(plain(one));
    return kinds;
}

std::string told(const std::string& tuned, const std::string& here) {
    return "it is for " + printable(tuned) + ", this is " + printable(here);
}

}  // namespace

std::string mpi_of(std::string_view library_version) {
    const std::string_view line = library_version.substr(0, library_version.find('\n'));
    return plain(line.substr(0, line.find(',')));
}

std::string hosts_of(std::span<const std::string> names) {
    std::set<std::string> kinds;
    for (const std::string& name : names) kinds.insert(kind_of_host(name));
    std::string all;
    for (const std::string& one : kinds) all += (all.empty() ? "" : ", ") + one;
    return all;
}

std::string processor_of(std::string_view name) { return plain(name); }

std::string difference(const Fingerprint& tuned, const Fingerprint& here) {
    if (tuned.mpi != here.mpi) return told(tuned.mpi, here.mpi);
    const auto known = kinds_in(tuned.hosts);
    for (const std::string& one : kinds_in(here.hosts)) {
        if (known.contains(one)) continue;
        return "it is for hosts named " + printable(tuned.hosts) + ", here is " + printable(one);
    }
    const bool are_known = !tuned.processor.empty() && !here.processor.empty();
    if (are_known && tuned.processor != here.processor) {
        return told(tuned.processor, here.processor);
    }
    return {};
}

}  // namespace tutti::select
