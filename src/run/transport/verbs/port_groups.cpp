// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/verbs/port_groups.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <poll.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <vector>

#include "base/text.h"
#include "run/transport/verbs/calls.h"

namespace tutti::transport::verbs {
namespace {

// A subnet administrator that works answers within milliseconds, and within some seconds at the
// start of a job of thousands; all of a team wait for the slowest before they go by UDP.
constexpr std::chrono::seconds kJoinMax{10};

Result<const CmCalls*> load_cm_calls() {
    static CmCalls calls;
    static const bool is_there = [] {
        void* library = dlopen("librdmacm.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        return library && find(library, "rdma_create_event_channel", calls.create_event_channel) &&
               find(library, "rdma_destroy_event_channel", calls.destroy_event_channel) &&
               find(library, "rdma_create_id", calls.create_id) &&
               find(library, "rdma_destroy_id", calls.destroy_id) &&
               find(library, "rdma_bind_addr", calls.bind_addr) &&
               find(library, "rdma_join_multicast", calls.join_multicast) &&
               find(library, "rdma_leave_multicast", calls.leave_multicast) &&
               find(library, "rdma_get_cm_event", calls.get_cm_event) &&
               find(library, "rdma_ack_cm_event", calls.ack_cm_event);
    }();
    if (!is_there) return Error{ErrorCode::kSystem, "librdmacm.so.1 is not there"};
    return static_cast<const CmCalls*>(&calls);
}

sockaddr_in address_of(const uint8_t* ipv4) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    std::memcpy(&address.sin_addr, ipv4, sizeof address.sin_addr);
    return address;
}

// On Ethernet the port's own; else one of the host's leads to it, if IPoIB is up.
std::vector<sockaddr_in> sources_of(const CmCalls& calls, const PortCard& card) {
    if (card.is_ethernet != 0) return {address_of(card.gid + 12)};
    std::vector<sockaddr_in> found;
    ifaddrs* list = nullptr;
    if (calls.get_addresses(&list) != 0) return {};
    for (const ifaddrs* one = list; one; one = one->ifa_next) {
        if (!one->ifa_addr || one->ifa_addr->sa_family != AF_INET) continue;
        found.emplace_back();
        std::memcpy(&found.back(), one->ifa_addr, sizeof(sockaddr_in));
    }
    calls.free_addresses(list);
    return found;
}

class CmGroups final : public Groups {
  public:
    explicit CmGroups(const CmCalls& calls) : calls_(calls) {}
    CmGroups(const CmGroups&) = delete;
    CmGroups& operator=(const CmGroups&) = delete;
    ~CmGroups() override {
        if (id_) calls_.destroy_id(id_);
        if (channel_) calls_.destroy_event_channel(channel_);
    }
    Result<Done> open(const GroupsOf& of);
    Result<ibv_ah_attr> join(const UdGroup& group) override;
    int next_event(std::chrono::steady_clock::time_point end, rdma_cm_event*& event);
    void leave(const UdGroup& group) override {
        sockaddr_in to = address_of(group.data());
        calls_.leave_multicast(id_, reinterpret_cast<sockaddr*>(&to));
    }

  private:
    const CmCalls& calls_;
    rdma_event_channel* channel_ = nullptr;
    rdma_cm_id* id_ = nullptr;
    uintptr_t asked_ = 0;  // joins, by which their events are known
};

// A member of it, limited or full.
bool is_in(const rdma_cm_id& id, uint16_t partition) {
    constexpr uint16_t kIsFull = 0x8000;
    const uint16_t own = ntohs(id.route.addr.addr.ibaddr.pkey);
    return ((own ^ partition) & static_cast<uint16_t>(~kIsFull)) == 0;
}

// Without a source of its own an id may be bound to another device, or stay within one. On
// InfiniBand an address is one of a partition, and so is the group that is joined by it.
Result<Done> CmGroups::open(const GroupsOf& of) {
    channel_ = calls_.create_event_channel();
    if (!channel_) {
        return Error{ErrorCode::kSystem,
                     std::string("no /dev/infiniband/rdma_cm: ") + std::strerror(errno)};
    }
    const std::string name = of.device + ":" + std::to_string(of.port);
    std::string where = name;
    for (sockaddr_in& source : sources_of(calls_, of.card)) {
        if (calls_.create_id(channel_, &id_, nullptr, RDMA_PS_UDP) != 0) break;
        const bool leads_there = calls_.bind_addr(id_, reinterpret_cast<sockaddr*>(&source)) == 0 &&
                                 id_->verbs && id_->verbs->device->name == of.device &&
                                 id_->port_num == of.port;
        if (leads_there && (of.card.is_ethernet != 0 || is_in(*id_, of.partition))) return Done{};
        if (leads_there) where = name + " in partition " + hex_word(of.partition);
        calls_.destroy_id(id_);
        id_ = nullptr;
    }
    return Error{ErrorCode::kNetwork, "no IPv4 address of this host leads to " + where};
}

// 0, and perhaps no event: signals come in between. Else what errno calls it.
int CmGroups::next_event(std::chrono::steady_clock::time_point end, rdma_cm_event*& event) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return ETIMEDOUT;
    pollfd fd{channel_->fd, POLLIN, 0};
    const int ready = ::poll(&fd, 1, static_cast<int>(left.count()));
    if (ready <= 0) return ready == 0 || errno == EINTR ? 0 : errno;
    if (calls_.get_cm_event(channel_, &event) == 0) return 0;
    event = nullptr;
    return errno == EINTR || errno == EAGAIN ? 0 : errno;
}

Result<ibv_ah_attr> CmGroups::join(const UdGroup& group) {
    sockaddr_in to = address_of(group.data());
    const uintptr_t own = ++asked_;
    int outcome =
        calls_.join_multicast(id_, reinterpret_cast<sockaddr*>(&to), reinterpret_cast<void*>(own));
    if (outcome != 0) outcome = errno;
    const auto end = std::chrono::steady_clock::now() + kJoinMax;
    while (outcome == 0) {
        rdma_cm_event* event = nullptr;
        outcome = next_event(end, event);
        if (!event) continue;
        const rdma_ud_param ud = event->param.ud;
        const bool is_own = reinterpret_cast<uintptr_t>(ud.private_data) == own;
        const auto kind = event->event;
        const int status = event->status;
        calls_.ack_cm_event(event);
        if (!is_own) continue;
        if (kind == RDMA_CM_EVENT_MULTICAST_JOIN && ud.qkey == RDMA_UDP_QKEY) return ud.ah_attr;
        outcome = status < 0 ? -status : EADDRNOTAVAIL;
    }
    calls_.leave_multicast(id_, reinterpret_cast<sockaddr*>(&to));
    return Error{ErrorCode::kNetwork,
                 std::string("the group cannot be joined: ") + std::strerror(outcome)};
}

}  // namespace

Result<std::unique_ptr<Groups>> open_groups_by(const CmCalls& calls, const GroupsOf& of) {
    auto groups = std::make_unique<CmGroups>(calls);
    if (const auto opened = groups->open(of); !opened) return opened.error();
    return std::unique_ptr<Groups>(std::move(groups));
}

Result<std::unique_ptr<Groups>> open_groups(const GroupsOf& of) {
    const auto calls = load_cm_calls();
    if (!calls) return calls.error();
    return open_groups_by(*calls.value(), of);
}

}  // namespace tutti::transport::verbs
