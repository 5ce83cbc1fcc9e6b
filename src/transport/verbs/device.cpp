// SPDX-License-Identifier: BSD-3-Clause
#include "transport/verbs/device.h"

#include "transport/verbs/ud.h"

namespace tutti::transport::verbs {

Result<std::unique_ptr<UdEndpoint>> Device::make_ud(const UdNeed& /*need*/) {
    return Error{ErrorCode::kSystem, name() + " has no unreliable datagrams"};
}

}  // namespace tutti::transport::verbs
