// SPDX-License-Identifier: BSD-3-Clause
// The address of a process with a queue pair, for the other members of a group, and what follows
// from all addresses: the same on each member.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "run/transport/carrier/datagrams.h"
#include "run/transport/verbs/ud.h"

namespace tutti::transport::ud {

// What an address says besides its host.
struct Said {
    verbs::UdCard card;
    uint32_t packet_bytes = 0;
    uint32_t free_receives = 0;
};
static_assert(sizeof(Said) <= sizeof(carrier::Address::of_kind));

Said said_by(const carrier::Address& address);
void say(const Said& said, carrier::Address& address);

// Of a group with this port in it.
uint32_t packet_bytes_of(const verbs::PortCard& port);

// As Datagrams::choose_path().
Result<carrier::Path> choose_path_of(std::span<const carrier::Address> members, mcast::Member own);

}  // namespace tutti::transport::ud
