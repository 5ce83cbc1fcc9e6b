// SPDX-License-Identifier: BSD-3-Clause
#include "cli/parameter_words.h"

#include <string>
#include <vector>

#include "base/text.h"
#include "cli/text_file.h"
#include "select/parameters.h"

namespace tutti::cli {
namespace {

// A name has neither a dot nor a slash, a file should.
bool looks_like_a_file(std::string_view word) {
    return word.find_first_of("./") != std::string_view::npos;
}

std::string all_presets() {
    std::string all;
    for (const select::Preset& one : select::presets()) all += (all.empty() ? "" : ", ") + one.name;
    return all;
}

}  // namespace

Result<price::ClusterParameters> read_parameters(const Words& words) {
    const std::string* word = words.find(kParametersOption.name);
    if (!word) return price::ClusterParameters{};
    if (const select::Preset* preset = select::find_preset(*word)) return preset->parameters;
    if (!looks_like_a_file(*word)) {
        return wrong_value(kParametersOption.name, *word, "a file, or one of " + all_presets());
    }
    const auto text = read_text_file(*word, select::kParametersTextBytesMax);
    if (!text) return wrong("--parameters: " + text.error().message);
    return select::parse_parameters(text.value(), *word);
}

}  // namespace tutti::cli
