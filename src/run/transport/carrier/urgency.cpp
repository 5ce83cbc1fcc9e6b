// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/carrier/urgency.h"

#include <variant>

#include "run/mcast/packet.h"

namespace tutti::transport::carrier {

bool Urgency::is_urgent(std::span<const std::byte> packet) {
    const auto parsed = mcast::parse(packet);
    const auto* data = parsed ? std::get_if<mcast::Data>(&parsed->body) : nullptr;
    // A repair was asked for.
    if (!data || data->is_repair) return true;
    const bool is_last = data->offset + data->payload.size() == data->total;
    if (!is_last && ++data_ < quiet_max_) return false;
    data_ = 0;
    return true;
}

}  // namespace tutti::transport::carrier
