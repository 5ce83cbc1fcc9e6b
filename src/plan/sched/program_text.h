// SPDX-License-Identifier: BSD-3-Clause
// Schedules as text that a person can read and write: docs/formats/schedule.md. One line an
// operation; what is printed can be parsed again and is the same.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "plan/sched/program.h"
#include "plan/sched/shape.h"

namespace tutti::sched {

// How the text calls buffers, by their values.
inline constexpr std::array<std::string_view, 4> kBufferNames = {"-", "input", "output", "scratch"};

// One operation, without its line's end: "send 0 to 3 output[0+64] after 1". This is also how
// messages to people call an operation.
std::string print(const Operation& operation);
// And where it stands: "rank 3, lane 0, round 2: send 0 to 1 output[0+64]".
std::string label(Rank rank, const Position& position, const Operation& operation);

// A whole Program.
std::string print(const Program& program, Rank rank, const Shape& shape);

struct ParsedProgram {
    Shape shape;              // participants are ranks
    OwnLengths lengths = {};  // those of the shape
    Rank rank = 0;
    std::unique_ptr<Program> program;
};

// An error says `file_name:line:column: what`. Knows nothing of the other ranks: whether the
// schedule is right, check::prove() says. first_line: where the text begins in its file.
Result<ParsedProgram> parse_program(std::string_view text, std::string_view file_name,
                                    size_t first_line = 1);
// Only the Program.
Result<std::unique_ptr<Program>> parse(std::string_view text, std::string_view file_name);

}  // namespace tutti::sched
