// SPDX-License-Identifier: BSD-3-Clause
// What ports.cpp finds and library.cpp uses.
#pragma once

#include <memory>
#include <string>

#include "run/transport/verbs/calls.h"

namespace tutti::transport::verbs {

// A port of a device that is open.
struct Opened {
    const Calls* calls = nullptr;
    ibv_context* context = nullptr;
    VerbsSettings settings;
    uint8_t port = 0;
    uint8_t gid_index = 0;
    uint16_t partition_index = 0;
    bool needs_address = false;
    bool can_add = false;  // one addition at a time of each pair
};

// What errno calls it behind what failed.
Error error_of(const std::string& what, int number);
// Where packets to that port go.
ibv_ah_attr address_of(const Opened& opened, const PortCard& to);

// Closes it at its end.
std::unique_ptr<Device> make_device(const Opened& opened, std::string name, const PortCard& port);

Result<std::unique_ptr<UdEndpoint>> make_ud_of(const Opened& opened, const UdNeed& need,
                                               const PortCard& port);

}  // namespace tutti::transport::verbs
