// SPDX-License-Identifier: BSD-3-Clause
// Programs started by the command: one whose output is read, one that the user asked for.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tutti::cli {

// A variable's value; empty where it is not set.
std::string environment_text(const char* name);

// The file that `word` starts: as it stands where it has a slash, else the first executable of that
// name on `path` (colon separated). Nothing where there is none.
std::optional<std::string> find_program(std::string_view word, std::string_view path);

// The path, then what each symbolic link on the way points to, last the file itself.
std::vector<std::string> link_chain(const std::string& path);

// Standard output of a program (standard error is dropped), at most 64 KiB of it. Ends the program
// after timeout_ms. An empty text where it cannot be started.
std::string captured_output(const std::vector<std::string>& command, int timeout_ms);

// Runs the command with the environment of this process and waits for it. Signals that ask this
// process to end go to the command. Returns its exit status, 128 + n if signal n ended it.
Result<int> run_and_wait(const std::vector<std::string>& command);

}  // namespace tutti::cli
