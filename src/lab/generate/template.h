// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

namespace tutti::generate {

// allreduce.c.in: C with marks between two @.
std::string_view allreduce_template();

}  // namespace tutti::generate
