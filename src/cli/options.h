// SPDX-License-Identifier: BSD-3-Clause
// The options of `tutti run`, made from the table of settings.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/settings.h"

namespace tutti::cli {

struct RunArguments {
    bool help = false;
    bool help_all = false;
    std::vector<std::string> entries;  // "TUTTI_NAME=value": the environment's, then the options'
    Settings settings;                 // parsed from them
    std::vector<std::string> command;
    // Variables whose values are those of options, for messages.
    std::vector<std::string_view> given;
    std::string_view last_switch;  // in front of the command; empty where there is none
};

// Options end at "--" or at the first word that is neither an option nor an option's value. An
// option beats the variable of its name.
Result<RunArguments> parse_run_arguments(std::span<const std::string> arguments,
                                         std::span<const std::string> environment);

// What every rank would refuse: rules, forced algorithms and a topology that are wrong.
Result<Done> check_settings(const Settings& settings);
// The same error about the option where the value came from one: "--bcast=rnig: ..." instead of
// "TUTTI_BCAST=rnig: ...".
Error name_options(const RunArguments& arguments, const Error& error);

// What `tutti run --help` prints: one screen. And --help-all: every option.
std::string run_help();
std::string run_help_all();

}  // namespace tutti::cli
