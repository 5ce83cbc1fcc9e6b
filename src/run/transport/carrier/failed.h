// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "base/result.h"

namespace tutti::transport::carrier {

// Of a system call that has just failed: errno, and what was to be done.
Error failed(const std::string& what);

}  // namespace tutti::transport::carrier
