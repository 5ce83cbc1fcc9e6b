// SPDX-License-Identifier: BSD-3-Clause
// The device that is libibverbs. It is opened, not linked: without it, or without a device, there
// is an error that says so.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "transport/verbs/device.h"

namespace tutti::transport::verbs {

// name: "mlx5_0", "mlx5_0:1"; empty: the first port that is up.
Result<std::unique_ptr<Device>> open_library(const std::string& name);

}  // namespace tutti::transport::verbs
