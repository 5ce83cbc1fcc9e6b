// SPDX-License-Identifier: BSD-3-Clause
// A site's settings as anybody may write them: either they are accepted, and then every rank
// accepts what comes of them, or one line says where and what is wrong, and everything is off.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/settings.h"
#include "run/site/site.h"

namespace {

void demand(bool condition) {
    if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
    const std::string text(reinterpret_cast<const char*>(data), bytes);
    // A rules file would be opened, whatever it is.
    if (text.find("TUTTI_RULES") != std::string::npos) return 0;
    const auto site = tutti::site::Site::parse(text, "s.toml");
    const auto merged = tutti::site::merge(site, "/opt/bin/program", {});
    const auto settings = tutti::parse_settings(merged.entries);
    demand(static_cast<bool>(settings));
    if (!merged.off.empty()) {
        demand(!settings.value().on);
        demand(merged.off.find('\n') == std::string::npos);
    }
    demand(merged.is_broken == !site);
    if (!site) demand(site.error().message.starts_with("s.toml:"));
    return 0;
}
