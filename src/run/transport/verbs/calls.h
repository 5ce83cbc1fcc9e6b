// SPDX-License-Identifier: BSD-3-Clause
// The functions of libibverbs that are called by name; posting and polling are the header's own.
#pragma once

#include <dlfcn.h>
#include <infiniband/verbs.h>

#include <memory>
#include <string>

#include "base/result.h"
#include "base/settings.h"
#include "run/transport/verbs/device.h"

namespace tutti::transport::verbs {

struct Calls {
    int (*fork_init)() = nullptr;
    ibv_device** (*get_device_list)(int*) = nullptr;
    void (*free_device_list)(ibv_device**) = nullptr;
    const char* (*get_device_name)(ibv_device*) = nullptr;
    ibv_context* (*open_device)(ibv_device*) = nullptr;
    int (*close_device)(ibv_context*) = nullptr;
    int (*query_device)(ibv_context*, ibv_device_attr*) = nullptr;
    int (*query_port)(ibv_context*, uint8_t, ibv_port_attr*) = nullptr;
    int (*query_gid)(ibv_context*, uint8_t, int, ibv_gid*) = nullptr;
    int (*query_pkey)(ibv_context*, uint8_t, int, __be16*) = nullptr;
    ibv_pd* (*alloc_pd)(ibv_context*) = nullptr;
    int (*dealloc_pd)(ibv_pd*) = nullptr;
    ibv_mr* (*reg_mr)(ibv_pd*, void*, size_t, int) = nullptr;
    int (*dereg_mr)(ibv_mr*) = nullptr;
    ibv_cq* (*create_cq)(ibv_context*, int, void*, ibv_comp_channel*, int) = nullptr;
    int (*destroy_cq)(ibv_cq*) = nullptr;
    ibv_comp_channel* (*create_comp_channel)(ibv_context*) = nullptr;
    int (*destroy_comp_channel)(ibv_comp_channel*) = nullptr;
    int (*get_cq_event)(ibv_comp_channel*, ibv_cq**, void**) = nullptr;
    void (*ack_cq_events)(ibv_cq*, unsigned) = nullptr;
    ibv_qp* (*create_qp)(ibv_pd*, ibv_qp_init_attr*) = nullptr;
    int (*modify_qp)(ibv_qp*, ibv_qp_attr*, int) = nullptr;
    int (*destroy_qp)(ibv_qp*) = nullptr;
    ibv_ah* (*create_ah)(ibv_pd*, ibv_ah_attr*) = nullptr;
    int (*destroy_ah)(ibv_ah*) = nullptr;
    int (*attach_mcast)(ibv_qp*, const ibv_gid*, uint16_t) = nullptr;
    int (*detach_mcast)(ibv_qp*, const ibv_gid*, uint16_t) = nullptr;
    const char* (*wc_status_str)(ibv_wc_status) = nullptr;
    // Not in all versions.
    ibv_fork_status (*is_fork_initialized)() = nullptr;
};

// False: the library has none of this name.
template <class Call>
bool find(void* library, const char* name, Call& call) {
    call = reinterpret_cast<Call>(dlsym(library, name));
    return call != nullptr;
}

// Once; it is never closed.
Result<const Calls*> load_calls();

// open_library() by what stands in for this machine.
struct Machine {
    const Calls* calls = nullptr;
    std::string sys = "/sys";
    uint32_t node = 0;  // of memory, near to this process
};
Result<std::unique_ptr<Device>> open_port_of(const Machine& machine, const VerbsSettings& settings);

}  // namespace tutti::transport::verbs
