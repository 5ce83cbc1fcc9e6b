// SPDX-License-Identifier: BSD-3-Clause
// A port's membership in groups, by librdmacm, which is opened as libibverbs is.
#pragma once

#include <infiniband/verbs.h>

#include <memory>
#include <string>

#include "base/result.h"
#include "transport/verbs/ud.h"

namespace tutti::transport::verbs {

class Groups {
  public:
    virtual ~Groups() = default;
    // How packets get there; the queue pair is still to be attached.
    virtual Result<ibv_ah_attr> join(const UdGroup& group) = 0;
    virtual void leave(const UdGroup& group) = 0;
};

// device: its name, without the port's number.
Result<std::unique_ptr<Groups>> open_groups(const std::string& device, uint8_t port,
                                            const PortCard& card);

}  // namespace tutti::transport::verbs
