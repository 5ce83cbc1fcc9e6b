// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/verbs/device.h"

#include "run/transport/verbs/ud.h"

namespace tutti::transport::verbs {

// Acquire: what is read behind it is not read before it, nor by the compiler. Memory that a device
// writes lies outside the domain that Arm's acquire need order; x86 keeps loads in order.
uint64_t Endpoint::look(const std::byte* word) const {
    const uint64_t value =
        __atomic_load_n(reinterpret_cast<const uint64_t*>(word), __ATOMIC_ACQUIRE);
#if defined(__aarch64__)
    asm volatile("dmb oshld" ::: "memory");
#endif
    return value;
}

Result<std::unique_ptr<UdEndpoint>> Device::make_ud(const UdNeed& /*need*/) {
    return Error{ErrorCode::kSystem, name() + " has no unreliable datagrams"};
}

}  // namespace tutti::transport::verbs
