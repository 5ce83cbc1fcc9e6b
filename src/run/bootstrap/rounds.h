// SPDX-License-Identifier: BSD-3-Clause
// The rounds in which the members of a team agree (run/agree/circle.h), by their short names.
#pragma once

#include "run/agree/circle.h"

namespace tutti::bootstrap {

using agree::attempt;
using agree::Circle;
using agree::guarded;
using agree::Obstacle;
using agree::Report;
using agree::report_of;
using agree::report_of_no_memory;

}  // namespace tutti::bootstrap
