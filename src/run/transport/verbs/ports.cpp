// SPDX-License-Identifier: BSD-3-Clause
// Which port of the machine's devices is used.
#include <arpa/inet.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <utility>

#include "base/text.h"
#include "run/transport/verbs/library.h"
#include "run/transport/verbs/opened.h"

namespace tutti::transport::verbs {
namespace {

constexpr uint8_t kPortsMax = 4;

// Of a port on Ethernet: the one that is asked for, or RoCE v2 over IPv4, which every network
// routes, before version 2 over IPv6.
int choose_gid(const Machine& machine, ibv_context* context, const std::string& device,
               uint8_t port, int count, const std::optional<uint64_t>& wanted, ibv_gid& chosen) {
    const Calls& calls = *machine.calls;
    if (wanted) {
        const auto index = static_cast<int>(*wanted);
        return calls.query_gid(context, port, index, &chosen) == 0 ? index : -1;
    }
    int found = -1;
    // What a queue pair is told of an index has eight bits.
    for (int i = 0; i < std::min(count, 256); ++i) {
        ibv_gid gid{};
        if (calls.query_gid(context, port, i, &gid) != 0) continue;
        std::ifstream file(machine.sys + "/class/infiniband/" + device + "/ports/" +
                           std::to_string(port) + "/gid_attrs/types/" + std::to_string(i));
        std::string type;
        if (!std::getline(file, type) || type != "RoCE v2") continue;
        constexpr uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
        const bool is_ipv4 = std::memcmp(gid.raw, kMapped, sizeof kMapped) == 0;
        if (found >= 0 && !is_ipv4) continue;
        found = i;
        chosen = gid;
        if (is_ipv4) break;
    }
    return found;
}

// The entry of the port's table that is this partition; below 0: none. Rather as a full member:
// limited ones do not hear each other.
int find_partition(const Calls& calls, ibv_context* context, uint8_t port, int count,
                   uint64_t wanted) {
    constexpr uint16_t kIsFull = 0x8000;
    int found = -1;
    for (int i = 0; i < count; ++i) {
        __be16 key = 0;
        if (calls.query_pkey(context, port, i, &key) != 0) continue;
        if (((ntohs(key) ^ wanted) & ~uint64_t{kIsFull}) != 0) continue;
        if ((ntohs(key) & kIsFull) != 0) return i;
        if (found < 0) found = i;
    }
    return found;
}

// From this process's memory, as the machine tells it, or too far.
uint32_t distance_of(const Machine& machine, const std::string& device) {
    std::ifstream place(machine.sys + "/class/infiniband/" + device + "/device/numa_node");
    int node = -1;
    if (!(place >> node) || node < 0) return UINT32_MAX;
    std::ifstream row(machine.sys + "/devices/system/node/node" + std::to_string(machine.node) +
                      "/distance");
    uint32_t distance = 0;
    for (int i = 0; i <= node; ++i) {
        if (!(row >> distance)) return UINT32_MAX;
    }
    return distance;
}

// Additions within the device are enough: all to a word come through the one that has it.
bool can_add(const Calls& calls, ibv_context* context) {
    ibv_device_attr attr{};
    return calls.query_device(context, &attr) == 0 && attr.atomic_cap != IBV_ATOMIC_NONE &&
           attr.max_qp_rd_atom > 0 && attr.max_qp_init_rd_atom > 0;
}

class Search {
  public:
    Search(const Machine& machine, const VerbsSettings& settings)
        : machine_(machine), settings_(settings) {}
    Result<std::unique_ptr<Device>> find();

  private:
    void look_at(ibv_device* one);
    std::unique_ptr<Device> open(ibv_device* one, const std::string& device, uint8_t port);
    std::unique_ptr<Device> open_port(Opened opened, const std::string& device, uint8_t port);

    const Machine& machine_;
    const VerbsSettings& settings_;
    std::unique_ptr<Device> found_;
    uint32_t distance_ = 0;  // of what was found
    bool has_device_ = false;
    std::string obstacle_;  // the last one worth telling
};

// What the codes of the specification stand for: lanes, and of each so many Mbit/s of data.
uint64_t link_bytes_per_s(const ibv_port_attr& attr) {
    using Code = std::pair<uint8_t, uint64_t>;
    constexpr Code kLanes[] = {{1, 1}, {2, 4}, {4, 8}, {8, 12}, {16, 2}};
    constexpr Code kSpeeds[] = {{1, 2'000},   {2, 4'000},   {4, 8'000},   {8, 10'000},
                                {16, 14'000}, {32, 25'000}, {64, 50'000}, {128, 100'000}};
    const auto lanes = std::ranges::find(kLanes, attr.active_width, &Code::first);
    const auto speed = std::ranges::find(kSpeeds, attr.active_speed, &Code::first);
    if (lanes == std::end(kLanes) || speed == std::end(kSpeeds)) return 0;
    return lanes->second * speed->second * 1'000'000 / 8;
}

// nullptr: this port is not up, or has no address.
std::unique_ptr<Device> Search::open_port(Opened opened, const std::string& device, uint8_t port) {
    ibv_port_attr attr{};
    const Calls& calls = *opened.calls;
    if (calls.query_port(opened.context, port, &attr) != 0) return nullptr;
    if (attr.state != IBV_PORT_ACTIVE) return nullptr;
    const std::string name = device + ":" + std::to_string(port);
    PortCard card;
    card.lid = attr.lid;
    card.mtu_bytes = 128u << attr.active_mtu;
    card.bytes_per_s = link_bytes_per_s(attr);
    card.is_ethernet = attr.link_layer == IBV_LINK_LAYER_ETHERNET ? 1 : 0;
    opened.needs_address = card.is_ethernet != 0 || (attr.flags & IBV_QPF_GRH_REQUIRED) != 0;
    card.needs_address = opened.needs_address ? 1 : 0;
    ibv_gid gid{};
    if (card.is_ethernet != 0) {
        const int index = choose_gid(machine_, opened.context, device, port, attr.gid_tbl_len,
                                     settings_.gid, gid);
        if (index < 0) return nullptr;
        opened.gid_index = static_cast<uint8_t>(index);
    } else if (calls.query_gid(opened.context, port, 0, &gid) == 0) {
        card.subnet = gid.global.subnet_prefix;
    }
    std::memcpy(card.gid, gid.raw, sizeof card.gid);
    if (settings_.partition) {
        const int index =
            find_partition(calls, opened.context, port, attr.pkey_tbl_len, *settings_.partition);
        if (index < 0) {
            obstacle_ = name + " is in no partition " + hex_word(*settings_.partition);
            return nullptr;
        }
        opened.partition_index = static_cast<uint16_t>(index);
    }
    opened.port = port;
    opened.can_add = can_add(calls, opened.context);
    return make_device(opened, name, card);
}

std::unique_ptr<Device> Search::open(ibv_device* one, const std::string& device, uint8_t port) {
    ibv_context* context = machine_.calls->open_device(one);
    if (!context) {
        obstacle_ = device + " cannot be opened: " + std::strerror(errno);
        return nullptr;
    }
    auto opened = open_port({machine_.calls, context, settings_}, device, port);
    if (!opened) machine_.calls->close_device(context);
    return opened;
}

// The first port that is up; or one that is nearer, and on the same InfiniBand network. Whether
// ports on Ethernet reach the same others, they do not tell.
void Search::look_at(ibv_device* one) {
    const std::string device = machine_.calls->get_device_name(one);
    const std::string& name = settings_.device;
    if (!name.empty() && name.substr(0, name.find(':')) != device) return;
    has_device_ = true;
    const uint32_t distance = distance_of(machine_, device);
    for (uint8_t port = 1; port <= kPortsMax; ++port) {
        if (!name.empty() && name != device && name != device + ":" + std::to_string(port)) {
            continue;
        }
        if (found_ && (found_->port().is_ethernet != 0 || distance >= distance_)) return;
        auto opened = open(one, device, port);
        if (!opened || (found_ && !opened->port().is_in_network_of(found_->port()))) continue;
        found_ = std::move(opened);
        distance_ = distance;
    }
}

Result<std::unique_ptr<Device>> Search::find() {
    const Calls& calls = *machine_.calls;
    int count = 0;
    ibv_device** list = calls.get_device_list(&count);
    for (int i = 0; list && i < count; ++i) look_at(list[i]);
    if (list) calls.free_device_list(list);
    if (found_) return std::move(found_);
    const std::string& name = settings_.device;
    if (count == 0) return Error{ErrorCode::kSystem, "this host has no RDMA device"};
    if (!has_device_) return Error{ErrorCode::kSystem, "this host has no RDMA device " + name};
    if (!obstacle_.empty()) return Error{ErrorCode::kSystem, obstacle_};
    return Error{ErrorCode::kSystem, "no RDMA port " + (name.empty() ? "" : name + " ") +
                                         "that is up and has an address"};
}

}  // namespace

// What the adapter writes to or reads from must not be taken from it by a child of the program
// (ibv_fork_init(3)). That is asked for before the library is used, and does nothing where the
// kernel takes care of it (Linux 5.12). Refused where the host MPI has registered memory before
// and did not ask: then on older kernels a child is a danger to its connections as to these, of
// which the slots alone are kept from it (library.cpp).
Result<std::unique_ptr<Device>> open_port_of(const Machine& machine,
                                             const VerbsSettings& settings) {
    static_cast<void>(machine.calls->fork_init());
    return Search(machine, settings).find();
}

Result<std::unique_ptr<Device>> open_library(const VerbsSettings& settings) {
    const auto loaded = load_calls();
    if (!loaded) return loaded.error();
    Machine machine;
    machine.calls = loaded.value();
    unsigned processor = 0;
    if (syscall(SYS_getcpu, &processor, &machine.node, nullptr) != 0) machine.node = 0;
    return open_port_of(machine, settings);
}

}  // namespace tutti::transport::verbs
