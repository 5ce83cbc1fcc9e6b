// SPDX-License-Identifier: BSD-3-Clause
// Send and receive on the pairs of an endpoint: `tutti bench --verbs` measures them beside writes.
// No message of Tutti's goes so.
#pragma once

#include <cstddef>
#include <cstdint>

#include "run/transport/verbs/device.h"

namespace tutti::transport::verbs {

class Sends {
  public:
    virtual ~Sends() = default;
    // As Endpoint::write(), but the bytes go to where the other end's next receive has room for
    // them; there is no immediate. The receives that connect() posts have room for none.
    virtual int send(uint32_t pair, const Write& write) = 0;
    // As Endpoint::recv(), with room in the own memory.
    virtual int recv_into(uint32_t pair, size_t offset, size_t bytes) = 0;
};

}  // namespace tutti::transport::verbs
