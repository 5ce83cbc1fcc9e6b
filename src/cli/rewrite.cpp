// SPDX-License-Identifier: BSD-3-Clause
#include "cli/rewrite.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace tutti::cli {
namespace {

constexpr std::string_view kPreload = "LD_PRELOAD";

// "NAME=VALUE" -> both; no value where there is no "=".
std::pair<std::string_view, std::optional<std::string_view>> name_and_value(std::string_view word) {
    const size_t equals = word.find('=');
    if (equals == std::string_view::npos) return {word, std::nullopt};
    return {word.substr(0, equals), word.substr(equals + 1)};
}

std::vector<Variable> with_preload(const Passing& passing) {
    std::vector<Variable> all{
        {std::string(kPreload), merge_preload(passing.own_preload, passing.library)}};
    all.insert(all.end(), passing.settings.begin(), passing.settings.end());
    return all;
}

bool is_option(std::string_view word, std::string_view name) {
    return word == std::string("-").append(name) || word == std::string("--").append(name);
}

// What the user sets in one context by "-x NAME=VALUE". A preload is merged in place; every name is
// noted, since the launcher would refuse or ignore a second value.
std::vector<std::string> adopt_open_mpi(std::vector<std::string>& command,
                                        const AppContext& context, const Passing& passing) {
    std::vector<std::string> names;
    for (size_t i = context.begin; i < context.application; ++i) {
        if (is_option(command[i], "x") && i + 1 < context.application) {
            const std::string copy = command[i + 1];
            const auto [name, value] = name_and_value(copy);
            names.emplace_back(name);
            if (name == kPreload) {
                const std::string_view users = value ? *value : passing.own_preload;
                command[i + 1] = "LD_PRELOAD=" + merge_preload(users, passing.library);
            }
        }
        i += command[i].starts_with('-') && i + 1 < command.size()
                 ? option_values(Style::kOpenMpi, command[i], command[i + 1])
                 : 0;
    }
    return names;
}

bool holds(const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

bool has_app_file(const std::vector<std::string>& command, std::span<const AppContext> contexts) {
    for (const AppContext& context : contexts) {
        for (size_t i = context.begin; i < context.application; ++i) {
            if (is_option(command[i], "app")) return true;
        }
    }
    return false;
}

// Where the user's list stands in the command, if it does.
std::optional<size_t> env_list_place(const std::vector<std::string>& command,
                                     std::span<const AppContext> contexts) {
    for (const AppContext& context : contexts) {
        for (size_t i = context.begin + 1; i + 1 < context.application; ++i) {
            if (command[i] == "mca_base_env_list") return i + 1;
        }
    }
    return std::nullopt;
}

// True where Open MPI 4 must get the variables by its list.
bool rewrite_env_list(Rewritten& rewritten, std::span<const AppContext> contexts,
                      const Passing& passing) {
    if (!passing.own_env_list) return false;
    std::vector<Variable> variables{{std::string(kPreload), passing.library}};
    variables.insert(variables.end(), passing.settings.begin(), passing.settings.end());
    const auto merged = [&](std::string_view users) {
        return merge_env_list(users, variables, passing.own_preload);
    };
    if (const auto place = env_list_place(rewritten.command, contexts)) {
        std::string& value = rewritten.command[*place];
        value = merged(value);
        return true;
    }
    if (passing.own_env_list->empty() && !has_app_file(rewritten.command, contexts)) return false;
    rewritten.environment.push_back({std::string(kEnvList), merged(*passing.own_env_list)});
    return true;
}

// Open MPI 4 gives -x to one context only, Open MPI 5 to all; it is repeated, which both allow.
void rewrite_open_mpi(std::vector<std::string>& command, std::vector<AppContext> contexts,
                      const Passing& passing) {
    std::reverse(contexts.begin(), contexts.end());  // Insertions then leave earlier places alone.
    for (const AppContext& context : contexts) {
        const auto users = adopt_open_mpi(command, context, passing);
        std::vector<std::string> words;
        for (const Variable& variable : with_preload(passing)) {
            if (holds(users, variable.name)) continue;
            words.insert(words.end(), {"-x", variable.name + "=" + variable.value});
        }
        command.insert(command.begin() + static_cast<ptrdiff_t>(context.begin), words.begin(),
                       words.end());
    }
}

// Merges the user's -genv and -env of LD_PRELOAD; the names given by -genv are noted (an -env
// overrides ours for its own context, as the user wants).
std::vector<std::string> adopt_hydra(std::vector<std::string>& command, const AppContext& context,
                                     const Passing& passing) {
    std::vector<std::string> names;
    for (size_t i = context.begin; i + 1 < context.application; ++i) {
        const std::string_view option = command[i];
        if (!option.starts_with('-')) continue;
        const size_t values = option_values(Style::kHydra, option, command[i + 1]);
        const bool global = is_option(option, "genv");
        if (global || is_option(option, "env")) {
            const std::string first = command[i + 1];
            const auto [name, joined] = name_and_value(first);
            if (!joined && i + 2 >= context.end) break;  // No value: the launcher will say so.
            if (global) names.emplace_back(name);
            if (name == kPreload && joined) {
                command[i + 1] = "LD_PRELOAD=" + merge_preload(*joined, passing.library);
            } else if (name == kPreload) {
                command[i + 2] = merge_preload(command[i + 2], passing.library);
            }
        }
        i += values;
    }
    return names;
}

void rewrite_hydra(std::vector<std::string>& command, const std::vector<AppContext>& contexts,
                   const Passing& passing) {
    std::vector<std::string> users;
    for (const AppContext& context : contexts) {
        const auto names = adopt_hydra(command, context, passing);
        users.insert(users.end(), names.begin(), names.end());
    }
    std::vector<std::string> words;
    for (const Variable& variable : with_preload(passing)) {
        if (holds(users, variable.name)) continue;
        words.insert(words.end(), {"-genv", variable.name, variable.value});
    }
    command.insert(command.begin() + static_cast<ptrdiff_t>(passing.launcher) + 1, words.begin(),
                   words.end());
}

// Takes the user's --export out of srun's arguments and returns its value.
std::optional<std::string> take_export(std::vector<std::string>& command,
                                       const AppContext& context) {
    constexpr std::string_view kJoined = "--export=";
    for (size_t i = context.begin; i < context.application; ++i) {
        const auto at = command.begin() + static_cast<ptrdiff_t>(i);
        if (command[i].starts_with(kJoined)) {
            std::string value = command[i].substr(kJoined.size());
            command.erase(at);
            return value;
        }
        if (command[i] == "--export" && i + 1 < context.application) {
            std::string value = command[i + 1];
            command.erase(at, at + 2);
            return value;
        }
    }
    return std::nullopt;
}

void rewrite_slurm(Rewritten& rewritten, const AppContext& context, const Passing& passing) {
    auto users = take_export(rewritten.command, context);
    if (!users) users = passing.own_export;
    std::vector<Variable> variables{{std::string(kPreload), passing.library}};
    variables.insert(variables.end(), passing.settings.begin(), passing.settings.end());
    const std::string value =
        merge_export(users, variables, passing.own_preload, rewritten.environment);
    rewritten.command.insert(
        rewritten.command.begin() + static_cast<ptrdiff_t>(passing.launcher) + 1,
        "--export=" + value);
}

// Commas inside single quotes do not separate.
std::vector<std::string> split_export(std::string_view text) {
    std::vector<std::string> parts(1);
    bool quoted = false;
    for (const char letter : text) {
        if (letter == '\'') quoted = !quoted;
        if (letter == ',' && !quoted) {
            parts.emplace_back();
        } else {
            parts.back() += letter;
        }
    }
    std::erase(parts, "");
    return parts;
}

}  // namespace

std::string merge_preload(std::string_view users, std::string_view ours) {
    if (users.empty()) return std::string(ours);
    for (size_t begin = 0; begin <= users.size();) {  // The loader separates by both characters.
        const size_t end = std::min(users.find_first_of(": ", begin), users.size());
        if (users.substr(begin, end - begin) == ours) return std::string(users);
        begin = end + 1;
    }
    return std::string(users) + ":" + std::string(ours);
}

std::string merge_env_list(std::string_view users, std::span<const Variable> variables,
                           std::string_view own_preload) {
    std::vector<std::string> parts;
    for (const std::string_view part : split(users, ';')) {
        if (!part.empty()) parts.emplace_back(part);
    }
    for (const Variable& variable : variables) {
        const auto same = std::find_if(parts.begin(), parts.end(), [&](const std::string& part) {
            return name_and_value(part).first == variable.name;
        });
        const bool is_preload = variable.name == kPreload;
        if (same != parts.end() && !is_preload) continue;
        std::string value = variable.value;
        if (is_preload) {
            std::string before(own_preload);
            if (same != parts.end()) {
                before = std::string(name_and_value(*same).second.value_or(own_preload));
                parts.erase(same);
            }
            value = merge_preload(before, variable.value);
        }
        // A value with a semicolon cannot stand here; ranks on this host inherit it.
        if (value.find(';') == std::string::npos) parts.push_back(variable.name + "=" + value);
    }
    std::string text;
    for (const std::string& part : parts) text += (text.empty() ? "" : ";") + part;
    return text;
}

std::string merge_export(const std::optional<std::string>& users,
                         std::span<const Variable> variables, std::string_view own_preload,
                         std::vector<Variable>& by_name) {
    std::vector<std::string> parts = split_export(users.value_or("ALL"));
    // NONE and NIL stand alone; with names behind them they would be taken for names themselves.
    std::erase_if(parts, [](const std::string& part) { return part == "NONE" || part == "NIL"; });
    for (Variable variable : variables) {
        const auto same = std::find_if(parts.begin(), parts.end(), [&](const std::string& part) {
            return name_and_value(part).first == variable.name;
        });
        if (variable.name == kPreload) {
            std::string before(own_preload);
            if (same != parts.end()) {
                before = std::string(name_and_value(*same).second.value_or(own_preload));
                std::erase(before, '\'');
            }
            variable.value = merge_preload(before, variable.value);
        }
        if (same != parts.end()) {
            // The user's own value of a setting, given to the launcher itself, holds.
            if (variable.name != kPreload) continue;
            parts.erase(same);
        }
        if (variable.value.find_first_of(",'\"") == std::string::npos) {
            parts.push_back(variable.name + "=" + variable.value);
        } else {
            parts.push_back(variable.name);
            by_name.push_back(variable);
        }
    }
    std::string text;
    for (const std::string& part : parts) text += (text.empty() ? "" : ",") + part;
    return text;
}

Rewritten rewrite_command(std::span<const std::string> command, const Passing& passing,
                          const IsProgram& is_program) {
    Rewritten rewritten{{command.begin(), command.end()}, {}};
    if (passing.style == Style::kInherit) {
        rewritten.environment = with_preload(passing);
        return rewritten;
    }
    // Ranks on this host that a launcher starts from a file of contexts inherit at least these.
    rewritten.environment = passing.settings;
    const auto contexts = split_contexts(command, passing.launcher, passing.style, is_program);
    switch (passing.style) {
        case Style::kOpenMpi:
            if (rewrite_env_list(rewritten, contexts, passing)) break;
            rewrite_open_mpi(rewritten.command, contexts, passing);
            break;
        case Style::kHydra:
            rewrite_hydra(rewritten.command, contexts, passing);
            break;
        case Style::kSlurm:
            rewrite_slurm(rewritten, contexts.front(), passing);
            break;
        case Style::kInherit:
            break;
    }
    return rewritten;
}

}  // namespace tutti::cli
