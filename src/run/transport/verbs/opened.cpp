// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/verbs/opened.h"

#include <cerrno>
#include <cstring>

namespace tutti::transport::verbs {

Error error_of(const std::string& what, int number) {
    return {number == ENOMEM ? ErrorCode::kMemory : ErrorCode::kSystem,
            what + ": " + std::strerror(number)};
}

ibv_ah_attr address_of(const Opened& opened, const PortCard& to) {
    ibv_ah_attr attr{};
    attr.dlid = static_cast<uint16_t>(to.lid);
    attr.port_num = opened.port;
    attr.sl = static_cast<uint8_t>(opened.settings.service_level);
    if (to.needs_address == 0 && !opened.needs_address) return attr;
    attr.is_global = 1;
    std::memcpy(attr.grh.dgid.raw, to.gid, sizeof to.gid);
    attr.grh.sgid_index = opened.gid_index;
    attr.grh.hop_limit = 64;
    attr.grh.traffic_class = static_cast<uint8_t>(opened.settings.traffic_class);
    return attr;
}

}  // namespace tutti::transport::verbs
