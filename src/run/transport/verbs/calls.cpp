// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/verbs/calls.h"

#include <dlfcn.h>

#include <string>

#include "base/forever.h"

namespace tutti::transport::verbs {
namespace {

bool find_all(void* library, Calls& calls) {
    return find(library, "ibv_fork_init", calls.fork_init) &&
           find(library, "ibv_get_device_list", calls.get_device_list) &&
           find(library, "ibv_free_device_list", calls.free_device_list) &&
           find(library, "ibv_get_device_name", calls.get_device_name) &&
           find(library, "ibv_open_device", calls.open_device) &&
           find(library, "ibv_close_device", calls.close_device) &&
           find(library, "ibv_query_device", calls.query_device) &&
           find(library, "ibv_query_port", calls.query_port) &&
           find(library, "ibv_query_gid", calls.query_gid) &&
           find(library, "ibv_query_pkey", calls.query_pkey) &&
           find(library, "ibv_alloc_pd", calls.alloc_pd) &&
           find(library, "ibv_dealloc_pd", calls.dealloc_pd) &&
           find(library, "ibv_reg_mr", calls.reg_mr) &&
           find(library, "ibv_dereg_mr", calls.dereg_mr) &&
           find(library, "ibv_create_cq", calls.create_cq) &&
           find(library, "ibv_destroy_cq", calls.destroy_cq) &&
           find(library, "ibv_create_comp_channel", calls.create_comp_channel) &&
           find(library, "ibv_destroy_comp_channel", calls.destroy_comp_channel) &&
           find(library, "ibv_get_cq_event", calls.get_cq_event) &&
           find(library, "ibv_ack_cq_events", calls.ack_cq_events) &&
           find(library, "ibv_create_qp", calls.create_qp) &&
           find(library, "ibv_modify_qp", calls.modify_qp) &&
           find(library, "ibv_destroy_qp", calls.destroy_qp) &&
           find(library, "ibv_create_ah", calls.create_ah) &&
           find(library, "ibv_destroy_ah", calls.destroy_ah) &&
           find(library, "ibv_attach_mcast", calls.attach_mcast) &&
           find(library, "ibv_detach_mcast", calls.detach_mcast) &&
           find(library, "ibv_wc_status_str", calls.wc_status_str);
}

}  // namespace

Result<const Calls*> load_calls() {
    static Calls calls;
    static const Forever<std::string> obstacle([]() -> std::string {
        void* library = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        if (!library) return "libibverbs.so.1 is not there";
        static_cast<void>(find(library, "ibv_is_fork_initialized", calls.is_fork_initialized));
        return find_all(library, calls) ? "" : "libibverbs.so.1 is too old";
    });
    if (!obstacle->empty()) return Error{ErrorCode::kSystem, *obstacle};
    return static_cast<const Calls*>(&calls);
}

}  // namespace tutti::transport::verbs
