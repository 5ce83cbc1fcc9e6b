// SPDX-License-Identifier: BSD-3-Clause
// Finds rules that can never apply: mistakes that would not be noticed. Inside select/ only.
#pragma once

#include <span>

#include "plan/select/option_words.h"
#include "plan/select/rules.h"

namespace tutti::select {

// No call fits it, whatever stands before it.
Fault never_fits(const Rule& rule);

// An earlier rule takes every call that this one would get, or is passed over for the same reason
// as this one would be.
Fault hidden_by(const Rule& rule, std::span<const Rule> earlier);

}  // namespace tutti::select
