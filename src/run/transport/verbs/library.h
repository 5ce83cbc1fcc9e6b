// SPDX-License-Identifier: BSD-3-Clause
// The device that is libibverbs. It is opened, not linked: without it, or without a device, there
// is an error that says so.
#pragma once

#include <memory>

#include "base/result.h"
#include "base/settings.h"
#include "run/transport/verbs/device.h"

namespace tutti::transport::verbs {

// The port that the settings name, else the first that is up.
Result<std::unique_ptr<Device>> open_library(const VerbsSettings& settings);

}  // namespace tutti::transport::verbs
