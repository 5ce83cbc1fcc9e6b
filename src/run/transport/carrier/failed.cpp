// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/carrier/failed.h"

#include <cerrno>
#include <cstring>

namespace tutti::transport::carrier {

Error failed(const std::string& what) {
    return {ErrorCode::kSystem, "multicast: " + what + ": " + std::strerror(errno)};
}

}  // namespace tutti::transport::carrier
