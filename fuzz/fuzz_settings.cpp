// SPDX-License-Identifier: BSD-3-Clause
// TUTTI_ variables as anybody may set them: either they are accepted, or one line says why not.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/settings.h"
#include "base/text.h"

namespace {

void demand(bool condition) {
    if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
    const std::string text(reinterpret_cast<const char*>(data), bytes);
    std::vector<std::string> entries;
    for (const std::string_view entry : tutti::split(text, '\0')) {
        entries.emplace_back(entry);
        // Most of the input should get past the table of names.
        const auto docs = tutti::setting_docs();
        const size_t which = bytes == 0 ? 0 : data[0] % docs.size();
        entries.push_back(std::string(docs[which].variable) + "=" + std::string(entry));
    }
    const auto parsed = tutti::parse_settings(entries);
    if (!parsed) {
        demand(!parsed.error().message.empty());
        demand(parsed.error().message.find('\n') == std::string::npos);
    }
    // What is printed can be read again.
    if (const auto value = tutti::parse_bytes(text)) {
        demand(tutti::parse_bytes(std::to_string(*value)) == value);
        demand(!tutti::format_bytes(*value).empty());
    }
    if (const auto value = tutti::parse_decimal(text)) demand(*value >= 0);
    return 0;
}
