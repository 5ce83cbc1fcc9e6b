// SPDX-License-Identifier: BSD-3-Clause
// libibverbs as far as it is called by name, with adapters as a test wants them: what was asked of
// queue pairs is kept, nothing is carried. One at a time.
#pragma once

#include <arpa/inet.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "run/transport/verbs/calls.h"

namespace tutti::test {

struct FakePort {
    ibv_port_state state = IBV_PORT_ACTIVE;
    uint8_t link_layer = IBV_LINK_LAYER_INFINIBAND;
    ibv_mtu mtu = IBV_MTU_4096;
    uint8_t flags = 0;
    uint64_t subnet = 0xfe80;
    uint32_t message_bytes_max = 1u << 30;
    std::vector<uint16_t> partitions = {0xffff};
    uint8_t width = 2;   // four lanes
    uint8_t speed = 32;  // of 25 Gbit/s
};

struct FakeAdapter {
    std::string name;
    std::vector<FakePort> ports = {{}};
    bool opens = true;
    ibv_atomic_cap adds = IBV_ATOMIC_HCA;
    int adds_at_once = 16;  // of a queue pair
    uint32_t inline_bytes_max = 1024;
    ibv_device device = {};
};

struct FakePair {
    ibv_qp qp = {};  // first
    ibv_qp_init_attr wanted = {};
    std::vector<ibv_qp_attr> changes;  // to initialized, receiving, sending
    std::vector<ibv_send_wr> writes;
    uint32_t recvs = 0;
    std::vector<ibv_sge> buffers;  // of the receives that have one
};

class FakeLibrary {
  public:
    explicit FakeLibrary(std::vector<FakeAdapter> given) : adapters(std::move(given)) {
        self = this;
        root_ = std::filesystem::temp_directory_path() /
                ("tutti-fake-library-" + std::to_string(getpid()));
        std::filesystem::remove_all(root_);
    }
    ~FakeLibrary() {
        std::filesystem::remove_all(root_);
        self = nullptr;
    }
    FakeLibrary(const FakeLibrary&) = delete;
    FakeLibrary& operator=(const FakeLibrary&) = delete;

    // What stands in for /sys.
    void say(const std::string& file, const std::string& text) const {
        const std::filesystem::path path = root_ / file;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path) << text << "\n";
    }
    [[nodiscard]] Result<std::unique_ptr<transport::verbs::Device>> open(
        const VerbsSettings& settings = {}) const {
        transport::verbs::Machine machine;
        machine.calls = &calls_;
        machine.sys = root_.string();
        machine.node = 1;
        return open_port_of(machine, settings);
    }

    bool grants_no_adds = false;  // whatever devices say
    std::vector<FakeAdapter> adapters;
    std::vector<std::unique_ptr<FakePair>> pairs;  // all that were ever made
    std::string first_call;
    int contexts = 0;  // that are open
    ibv_fork_status fork_status = IBV_FORK_UNNEEDED;

  private:
    static inline FakeLibrary* self = nullptr;
    static FakeAdapter& of(const ibv_device* device) {
        for (FakeAdapter& one : self->adapters) {
            if (&one.device == device) return one;
        }
        std::abort();
    }
    static FakePort* port_of(const ibv_context* context, uint8_t number) {
        FakeAdapter& adapter = of(context->device);
        return number <= adapter.ports.size() ? &adapter.ports[number - 1u] : nullptr;
    }
    static FakePair& of(ibv_qp* qp) { return *reinterpret_cast<FakePair*>(qp); }
    static void note(const char* call) {
        if (self->first_call.empty()) self->first_call = call;
    }

    static ibv_fork_status is_fork_initialized() { return self->fork_status; }
    static int fork_init() {
        note("fork_init");
        return 0;
    }
    static ibv_device** get_device_list(int* count) {
        note("get_device_list");
        *count = static_cast<int>(self->adapters.size());
        auto** list = new ibv_device* [self->adapters.size() + 1] {};
        for (size_t i = 0; i < self->adapters.size(); ++i) list[i] = &self->adapters[i].device;
        return list;
    }
    static void free_device_list(ibv_device** list) { delete[] list; }
    static const char* get_device_name(ibv_device* device) { return of(device).name.c_str(); }
    static ibv_context* open_device(ibv_device* device) {
        errno = EACCES;
        if (!of(device).opens) return nullptr;
        ++self->contexts;
        auto* context = new ibv_context{};
        context->device = device;
        context->ops.post_recv = post_recv;
        context->ops.post_send = post_send;
        return context;
    }
    static int close_device(ibv_context* context) {
        --self->contexts;
        delete context;
        return 0;
    }
    static int query_device(ibv_context* context, ibv_device_attr* attr) {
        const FakeAdapter& adapter = of(context->device);
        attr->atomic_cap = adapter.adds;
        attr->max_qp_rd_atom = attr->max_qp_init_rd_atom = adapter.adds_at_once;
        return 0;
    }
    static int query_port(ibv_context* context, uint8_t number, ibv_port_attr* attr) {
        const FakePort* port = port_of(context, number);
        if (!port) return EINVAL;
        attr->state = port->state;
        attr->active_mtu = port->mtu;
        attr->link_layer = port->link_layer;
        attr->flags = port->flags;
        attr->max_msg_sz = port->message_bytes_max;
        attr->active_width = port->width;
        attr->active_speed = port->speed;
        attr->lid = number;
        attr->gid_tbl_len = 2;
        attr->pkey_tbl_len = static_cast<uint16_t>(port->partitions.size());
        return 0;
    }
    static int query_gid(ibv_context* context, uint8_t number, int index, ibv_gid* gid) {
        *gid = {};
        gid->global.subnet_prefix = port_of(context, number)->subnet;
        gid->raw[15] = static_cast<uint8_t>(index + 1);
        return 0;
    }
    static int query_pkey(ibv_context* context, uint8_t number, int index, __be16* key) {
        *key = htons(port_of(context, number)->partitions[static_cast<size_t>(index)]);
        return 0;
    }
    static ibv_pd* alloc_pd(ibv_context* context) {
        auto* domain = new ibv_pd{};
        domain->context = context;
        return domain;
    }
    static int dealloc_pd(ibv_pd* domain) {
        delete domain;
        return 0;
    }
    static ibv_mr* reg_mr(ibv_pd*, void*, size_t, int access) {
        const bool is_refused = self->grants_no_adds && (access & IBV_ACCESS_REMOTE_ATOMIC) != 0;
        return is_refused ? nullptr : new ibv_mr{};
    }
    static int dereg_mr(ibv_mr* region) {
        delete region;
        return 0;
    }
    static ibv_cq* create_cq(ibv_context*, int, void*, ibv_comp_channel*, int) {
        return new ibv_cq{};
    }
    static int destroy_cq(ibv_cq* queue) {
        delete queue;
        return 0;
    }
    static ibv_qp* create_qp(ibv_pd* domain, ibv_qp_init_attr* wanted) {
        const uint32_t most = of(domain->context->device).inline_bytes_max;
        errno = EINVAL;
        if (wanted->cap.max_inline_data > most) return nullptr;
        auto pair = std::make_unique<FakePair>();
        pair->wanted = *wanted;
        pair->qp.context = domain->context;
        pair->qp.qp_num = static_cast<uint32_t>(self->pairs.size()) + 1;
        self->pairs.push_back(std::move(pair));
        return &self->pairs.back()->qp;
    }
    static int modify_qp(ibv_qp* qp, ibv_qp_attr* attr, int) {
        of(qp).changes.push_back(*attr);
        return 0;
    }
    static int destroy_qp(ibv_qp*) { return 0; }
    static const char* wc_status_str(ibv_wc_status) { return "an error"; }
    static int post_recv(ibv_qp* qp, ibv_recv_wr* request, ibv_recv_wr**) {
        ++of(qp).recvs;
        if (request->num_sge == 1) of(qp).buffers.push_back(*request->sg_list);
        return 0;
    }
    static int post_send(ibv_qp* qp, ibv_send_wr* request, ibv_send_wr**) {
        of(qp).writes.push_back(*request);
        return 0;
    }

    static constexpr transport::verbs::Calls calls_ = {
        .fork_init = fork_init,
        .get_device_list = get_device_list,
        .free_device_list = free_device_list,
        .get_device_name = get_device_name,
        .open_device = open_device,
        .close_device = close_device,
        .query_device = query_device,
        .query_port = query_port,
        .query_gid = query_gid,
        .query_pkey = query_pkey,
        .alloc_pd = alloc_pd,
        .dealloc_pd = dealloc_pd,
        .reg_mr = reg_mr,
        .dereg_mr = dereg_mr,
        .create_cq = create_cq,
        .destroy_cq = destroy_cq,
        .create_qp = create_qp,
        .modify_qp = modify_qp,
        .destroy_qp = destroy_qp,
        .wc_status_str = wc_status_str,
        .is_fork_initialized = is_fork_initialized,
    };
    std::filesystem::path root_;
};

}  // namespace tutti::test
