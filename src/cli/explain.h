// SPDX-License-Identifier: BSD-3-Clause
// `tutti explain`: which algorithm runs a call, why, what the others would cost, and the schedule
// itself as text or as a drawing.
#pragma once

#include <span>
#include <string>

namespace tutti::cli {

// words: what follows "explain". Returns the exit status.
int explain_main(std::span<const std::string> arguments);

}  // namespace tutti::cli
