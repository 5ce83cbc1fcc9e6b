// SPDX-License-Identifier: BSD-3-Clause
#include "cli/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>

#include "base/text.h"
#include "base/topo/node_topology.h"
#include "cli/command_line.h"
#include "cli/settings_page.h"
#include "plan/select/rules.h"

namespace tutti::cli {
namespace {

// A switch may stand without a value and then means 1, so it takes one only behind "=".
bool is_switch(const SettingDoc& doc) {
    return doc.value.starts_with("0|1") || doc.value.starts_with("1|");
}

// As a user would write it first.
std::string example_of(const SettingDoc& doc) {
    constexpr auto kValues = std::to_array<std::pair<std::string_view, std::string_view>>(
        {{"--verify", "=1%"}, {"--stall", "=10"}, {"--tune", "=live"}});
    for (const auto& [option, value] : kValues) {
        if (option == doc.option) return std::string(option).append(value);
    }
    return std::string(doc.option);
}

const SettingDoc* find_option(std::string_view option) {
    const auto docs = setting_docs();
    const auto found = std::find_if(docs.begin(), docs.end(), [&](const SettingDoc& doc) {
        return !doc.option.empty() && doc.option == option;
    });
    return found == docs.end() ? nullptr : &*found;
}

std::vector<std::string_view> known_options() {
    std::vector<std::string_view> known{"--help", "--help-all"};
    for (const SettingDoc& doc : setting_docs()) {
        if (!doc.option.empty()) known.push_back(doc.option);
    }
    return known;
}

// The words in front of the command, each option as one word "--name=value".
struct Split {
    std::vector<std::string> own;
    std::vector<std::string> command;
    std::string_view last_switch;  // the last word of `own`, if it is a switch without a value
};

Result<Split> split_command(std::span<const std::string> arguments) {
    Split result;
    size_t i = 0;
    for (; i < arguments.size(); ++i) {
        const std::string& word = arguments[i];
        if (word == "--") {
            result.last_switch = {};
            ++i;
            break;
        }
        if (!word.starts_with('-')) break;
        const SettingDoc* doc = find_option(word);
        result.last_switch = doc && is_switch(*doc) ? doc->option : std::string_view();
        if (!doc) {
            result.own.push_back(word);
        } else if (is_switch(*doc)) {
            result.own.push_back(word + "=1");
        } else if (i + 1 < arguments.size() && arguments[i + 1] != "--") {
            result.own.push_back(word + "=" + arguments[++i]);
        } else {
            return Error{ErrorCode::kArgument,
                         fmt::format("{}: expected {}", printable(word), doc->value)};
        }
    }
    result.command.assign(arguments.begin() + static_cast<ptrdiff_t>(i), arguments.end());
    return result;
}

// The parser and where it puts the values; one option for each twin in the table.
struct Parser {
    CLI::App app{"Runs a command; the collectives of its MPI programs go through Tutti.",
                 "tutti run"};
    std::map<std::string_view, std::string> values;  // by variable

    Parser() {
        app.set_help_all_flag("--help-all");
        for (const SettingDoc& doc : setting_docs()) {
            if (doc.option.empty()) continue;
            app.add_option(std::string(doc.option), values[doc.variable])
                ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
        }
    }
};

// An empty value and an unknown option are looked for here, since CLI11's own messages do not name
// the nearest option.
Result<Done> check_option_names(std::span<const std::string> own) {
    for (const std::string& word : own) {
        const std::string_view name = std::string_view(word).substr(0, word.find('='));
        if (word == "--help" || word == "--help-all" || word == "-h") continue;
        if (name == "--help" || name == "--help-all") {
            return Error{ErrorCode::kArgument,
                         fmt::format("{}: expected no value", printable(word))};
        }
        const SettingDoc* doc = find_option(name);
        if (!doc) return unknown_word("option", name, known_options());
        if (word.size() == name.size() + 1) {
            return Error{ErrorCode::kArgument,
                         fmt::format("{}: expected {}", printable(word), doc->value)};
        }
    }
    return Done{};
}

constexpr std::string_view kUsage =
    "Runs a command; the collectives of its MPI programs go through Tutti.\n"
    "Usage: tutti run [OPTIONS] -- COMMAND...\n\n";

std::string option_line(const SettingDoc& doc) {
    return fmt::format("{}{}{}{}\n", doc.option, is_switch(doc) ? "[=" : " ", doc.value,
                       is_switch(doc) ? "]" : "");
}

// The options' values, each checked by itself so that the message names the option.
Result<Done> take_values(const Parser& parser, RunArguments& result) {
    for (const SettingDoc& doc : setting_docs()) {
        const auto given = parser.values.find(doc.variable);
        if (given == parser.values.end() || given->second.empty()) continue;
        const std::string start = fmt::format("{}=", doc.variable);
        const std::string entry = start + given->second;
        if (const auto parsed = parse_settings(std::span(&entry, 1)); !parsed) {
            // The same words, about the option.
            return Error{
                ErrorCode::kArgument,
                std::string(doc.option) + parsed.error().message.substr(doc.variable.size())};
        }
        std::erase_if(result.entries,
                      [&](const std::string& earlier) { return earlier.starts_with(start); });
        result.entries.push_back(entry);
        result.given.push_back(doc.variable);
    }
    return Done{};
}

}  // namespace

Result<RunArguments> parse_run_arguments(std::span<const std::string> arguments,
                                         std::span<const std::string> environment) {
    auto words = split_command(arguments);
    if (!words) return words.error();
    if (const auto checked = check_option_names(words.value().own); !checked)
        return checked.error();
    RunArguments result;
    result.command = std::move(words.value().command);
    result.last_switch = words.value().last_switch;
    result.entries.assign(environment.begin(), environment.end());
    if (const auto variables = parse_settings(result.entries); !variables) {
        return variables.error();
    }
    Parser parser;
    try {
        std::vector<std::string> reversed(words.value().own.rbegin(), words.value().own.rend());
        parser.app.parse(std::move(reversed));
    } catch (const CLI::CallForHelp&) {
        result.help = true;
        return result;
    } catch (const CLI::CallForAllHelp&) {
        result.help_all = true;
        return result;
    } catch (const CLI::Error& error) {
        std::string message = error.what();
        std::replace(message.begin(), message.end(), '\n', ' ');
        return Error{ErrorCode::kArgument, std::move(message)};
    }
    if (const auto taken = take_values(parser, result); !taken) return taken.error();
    auto settings = parse_settings(result.entries);
    if (!settings) return settings.error();
    result.settings = std::move(settings.value());
    if (result.command.empty()) {
        return Error{ErrorCode::kArgument,
                     "run: no command; usage: tutti run [options] -- COMMAND..."};
    }
    return result;
}

Result<Done> check_settings(const Settings& settings) {
    if (const auto rules = select::load_rules(settings); !rules) return rules.error();
    if (settings.node.topology.empty()) return Done{};
    const auto topology = topo::read_node_topology(settings.node.topology);
    if (topology) return Done{};
    return Error{ErrorCode::kArgument, "TUTTI_TOPOLOGY: " + topology.error().message};
}

Error name_options(const RunArguments& arguments, const Error& error) {
    for (const std::string_view variable : arguments.given) {
        if (!error.message.starts_with(variable)) continue;
        const std::string_view rest = std::string_view(error.message).substr(variable.size());
        if (!rest.starts_with('=') && !rest.starts_with(':')) continue;
        for (const SettingDoc& doc : setting_docs()) {
            if (doc.variable == variable) return {error.code, std::string(doc.option).append(rest)};
        }
    }
    return error;
}

std::string run_help() {
    std::string text(kUsage);
    for (const SettingDoc& doc : docs_of(doc_of(SettingGroup::kEveryday))) {
        if (doc.option.empty()) continue;
        text += option_line(doc);
        text += wrapped(doc.text.substr(0, doc.text.find(". ")), "    ");
        text += fmt::format("    tutti run {} -- mpirun -n 8 ./app\n", example_of(doc));
    }
    return text +
           "\nWith TUTTI=off in the environment your MPI runs every call. Each option is a "
           "variable too:\nTUTTI_CHECK=1 is --check. `tutti run --help-all` shows all options, "
           "docs/settings.md all variables.\n";
}

std::string run_help_all() {
    std::string text(kUsage);
    for (const SettingGroupDoc& group : kSettingGroups) {
        std::string options;
        for (const SettingDoc& doc : docs_of(group)) {
            if (!doc.option.empty()) options += option_line(doc) + wrapped(doc.text, "    ");
        }
        if (options.empty()) continue;
        text += wrapped(fmt::format("{}: {}", group.title, group.text), "") + options + "\n";
    }
    return text + "docs/settings.md has the defaults, and the variable of each option.\n";
}

}  // namespace tutti::cli
