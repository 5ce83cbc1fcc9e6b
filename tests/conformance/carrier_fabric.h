// SPDX-License-Identifier: BSD-3-Clause
// The real route: rings, feeds, carriers and their datagrams, all hosts in one process.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "conformance/fake_ud.h"
#include "conformance/multicast_fabrics.h"
#include "run/transport/carrier/carrier.h"
#include "run/transport/udp/udp_datagrams.h"

namespace tutti::test {

struct CarrierFabricParams {
    transport::carrier::CarrierParams carrier;
    transport::udp::DatagramsParams udp;  // without the port
    // A file of the network namespace of each host, as /proc/PID/ns/net; none: all hosts are this
    // one, and their packets go round its loopback interface.
    std::vector<std::string> namespaces;
    bool is_in_memory = false;       // instead of UDP
    std::optional<FakeUdRules> ud;   // likewise
    std::vector<std::string> ports;  // likewise: the RDMA port of each host, rxe0
    transport::carrier::Protection protection = transport::carrier::Protection::kAll;
};

std::unique_ptr<MulticastFabric> carrier_fabric(const CarrierFabricParams& params, uint32_t teams);

// Those that TUTTI_TEST_NAMESPACES names, separated by commas: the hosts of a lab (tools/lab).
std::vector<std::string> test_namespaces();
// Those that TUTTI_TEST_VERBS names, separated by blanks.
std::vector<std::string> test_ports();

}  // namespace tutti::test
