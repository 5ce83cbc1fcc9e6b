// SPDX-License-Identifier: BSD-3-Clause
// A port's membership in groups, by librdmacm, which is opened as libibverbs is.
#pragma once

#include <ifaddrs.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <memory>
#include <string>

#include "base/result.h"
#include "run/transport/verbs/ud.h"

namespace tutti::transport::verbs {

class Groups {
  public:
    virtual ~Groups() = default;
    // How packets get there; the queue pair is still to be attached.
    virtual Result<ibv_ah_attr> join(const UdGroup& group) = 0;
    virtual void leave(const UdGroup& group) = 0;
};

// What is called of librdmacm, and where the host's addresses are from.
struct CmCalls {
    decltype(&rdma_create_event_channel) create_event_channel = nullptr;
    decltype(&rdma_destroy_event_channel) destroy_event_channel = nullptr;
    decltype(&rdma_create_id) create_id = nullptr;
    decltype(&rdma_destroy_id) destroy_id = nullptr;
    decltype(&rdma_bind_addr) bind_addr = nullptr;
    decltype(&rdma_join_multicast) join_multicast = nullptr;
    decltype(&rdma_leave_multicast) leave_multicast = nullptr;
    decltype(&rdma_get_cm_event) get_cm_event = nullptr;
    decltype(&rdma_ack_cm_event) ack_cm_event = nullptr;
    int (*get_addresses)(ifaddrs**) = &getifaddrs;
    void (*free_addresses)(ifaddrs*) = &freeifaddrs;
};

// Where the groups of a port are to be.
struct GroupsOf {
    std::string device;  // without the port's number
    uint8_t port = 0;
    uint16_t partition = 0;  // of the queue pair; on Ethernet there is one
    PortCard card;
};
Result<std::unique_ptr<Groups>> open_groups(const GroupsOf& of);
// By what stands in for librdmacm, and outlives them.
Result<std::unique_ptr<Groups>> open_groups_by(const CmCalls& calls, const GroupsOf& of);

}  // namespace tutti::transport::verbs
