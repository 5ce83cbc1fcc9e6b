// SPDX-License-Identifier: BSD-3-Clause
// Datagrams between carriers of one process, without a network. They speak once: after arm() the
// next packet (urgent one, if that was asked for) makes wait_fds() readable, and no other does
// until it is armed again.
#pragma once

#include <memory>

#include "run/transport/carrier/datagrams.h"

namespace tutti::test {

class MemorySwitch;
std::shared_ptr<MemorySwitch> make_memory_switch();
// One more host of the switch.
std::unique_ptr<transport::carrier::Datagrams> open_memory_datagrams(
    std::shared_ptr<MemorySwitch> memory);

transport::carrier::GroupAddress memory_group(uint8_t number);

}  // namespace tutti::test
