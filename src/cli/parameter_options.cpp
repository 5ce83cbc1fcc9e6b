// SPDX-License-Identifier: BSD-3-Clause
#include "cli/parameter_options.h"

#include <string>

#include "base/files/text_file.h"
#include "base/text.h"
#include "plan/select/parameter_presets.h"
#include "plan/select/rules.h"

namespace tutti::cli {
namespace {

// A name has neither a dot nor a slash, a file should.
bool looks_like_a_file(std::string_view word) {
    return word.find_first_of("./") != std::string_view::npos;
}

}  // namespace

Result<price::ClusterParameters> read_parameters(const CommandLine& command_line,
                                                 const price::ClusterParameters& assumed) {
    const std::string* word = command_line.find(kParametersOption.name);
    if (!word) return assumed;
    if (const select::Preset* preset = select::find_preset(*word)) return preset->parameters;
    if (!looks_like_a_file(*word)) {
        return wrong_value(kParametersOption.name, *word,
                           "a file, or one of " + select::preset_names());
    }
    const auto text = files::read_text_file(*word, select::kRulesTextBytesMax);
    if (!text) return wrong("--parameters: " + text.error().message);
    const auto rules = select::Rules::parse(text.value(), *word);
    if (!rules) return rules.error();
    if (const auto& found = rules.value().parameters()) return *found;
    return wrong("--parameters: " + printable(*word) + ": no [parameters] are here");
}

}  // namespace tutti::cli
