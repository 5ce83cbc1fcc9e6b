// SPDX-License-Identifier: BSD-3-Clause
// Unreliable datagrams by libibverbs.
#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <vector>

#include "run/transport/verbs/channel.h"
#include "run/transport/verbs/port_groups.h"
#include "run/transport/verbs/registered.h"
#include "run/transport/verbs/ud.h"

namespace tutti::transport::verbs {
namespace {

// librdmacm's, of all programs: groups made by it have no other.
constexpr uint32_t kQueueKey = 0x01234567;
constexpr uint32_t kGroupQueuePair = 0xffffff;
constexpr size_t kChainMax = 64;

// Of what is made in a size. EINVAL, too, is what devices say of more than they have.
Error size_error_of(const std::string& what, int number) {
    Error error = error_of(what, number);
    if (number == EINVAL) error.code = ErrorCode::kMemory;
    return error;
}

class LibraryUd final : public UdEndpoint {
  public:
    LibraryUd(const Opened& opened, const UdNeed& need, const PortCard& port)
        : opened_(opened), calls_(*opened.calls), need_(need), card_{port, 0, 0} {}
    LibraryUd(const LibraryUd&) = delete;
    LibraryUd& operator=(const LibraryUd&) = delete;
    ~LibraryUd() override;
    Result<Done> make();

    [[nodiscard]] const UdCard& card() const override { return card_; }
    std::span<std::byte> memory() override { return registered_.memory(); }
    int post(std::span<const uint32_t> receive_places) override;
    int post(std::span<const UdSend> sends) override;
    int poll(std::span<UdReceived> received) override;
    int64_t poll_complete() override;
    [[nodiscard]] int wait_fd(UdQueue queue) const override { return channel(queue).fd(); }
    bool arm(UdQueue queue, Events of) override { return channel(queue).arm(at(queue), of); }
    bool take(UdQueue queue) override { return channel(queue).take(); }
    Result<UdRoute> make_route(const UdCard& to) override;
    void drop(const UdRoute& route) override;
    Result<UdRoute> join(const UdGroup& group) override;
    void leave(const UdGroup& group) override;

  private:
    struct Attached {
        UdGroup group{};
        ibv_gid gid{};
        uint16_t lid = 0;
    };
    [[nodiscard]] size_t receive_bytes() const { return kGrhBytes + card_.port.mtu_bytes; }
    [[nodiscard]] size_t bytes() const { return registered_bytes(need_, card_.port.mtu_bytes); }
    [[nodiscard]] const Channel& channel(UdQueue queue) const {
        return queue == UdQueue::kReceived ? receive_channel_ : send_channel_;
    }
    Channel& channel(UdQueue queue) {
        return queue == UdQueue::kReceived ? receive_channel_ : send_channel_;
    }
    ibv_cq*& at(UdQueue queue) { return queues_[static_cast<size_t>(queue)]; }
    Result<Done> make_pair();
    Result<Done> find_groups();
    Result<UdRoute> add_route(ibv_ah_attr attr, uint32_t queue_pair);

    Opened opened_;
    const Calls& calls_;
    UdNeed need_;
    UdCard card_;
    Registered registered_{calls_};
    std::atomic<uint32_t> channels_{0};
    Channel receive_channel_{calls_, channels_};
    Channel send_channel_{calls_, channels_};
    std::array<ibv_cq*, 2> queues_{};
    ibv_qp* pair_ = nullptr;
    std::unique_ptr<Groups> groups_;
    std::vector<Attached> attached_;
    std::vector<ibv_ah*> routes_;
    uint64_t posted_ = 0;
    uint64_t complete_ = 0;
};

LibraryUd::~LibraryUd() {
    for (const Attached& one : attached_) calls_.detach_mcast(pair_, &one.gid, one.lid);
    groups_.reset();
    if (pair_) calls_.destroy_qp(pair_);
    for (ibv_ah* route : routes_) calls_.destroy_ah(route);
    for (const UdQueue queue : {UdQueue::kReceived, UdQueue::kSent}) {
        if (!at(queue)) continue;
        channel(queue).acknowledge(at(queue));
        calls_.destroy_cq(at(queue));
    }
}

Result<Done> LibraryUd::make() {
    auto registered =
        registered_.make(opened_, bytes(), IBV_ACCESS_LOCAL_WRITE, "datagrams", bytes());
    if (!registered) return registered;
    for (const UdQueue queue : {UdQueue::kReceived, UdQueue::kSent}) {
        channel(queue).open(opened_.context);
        if (channel(queue).fd() < 0) return error_of("no completion channel", errno);
        const uint32_t entries = queue == UdQueue::kReceived ? need_.receives : need_.sends;
        at(queue) = calls_.create_cq(opened_.context, static_cast<int>(entries), nullptr,
                                     channel(queue).handle(), 0);
        if (!at(queue)) return size_error_of("no completion queue of that size", errno);
    }
    auto made = make_pair();
    return made ? find_groups() : made;
}

// Before anybody counts on them.
Result<Done> LibraryUd::find_groups() {
    __be16 partition = 0;
    const int outcome =
        calls_.query_pkey(opened_.context, opened_.port, opened_.partition_index, &partition);
    if (outcome != 0) return error_of("the port's partition is not known", errno);
    auto opened = open_groups({.device = calls_.get_device_name(opened_.context->device),
                               .port = opened_.port,
                               .partition = ntohs(partition),
                               .card = card_.port});
    if (!opened) return opened.error();
    groups_ = std::move(opened.value());
    return Done{};
}

Result<Done> LibraryUd::make_pair() {
    ibv_qp_init_attr wanted{};
    wanted.send_cq = at(UdQueue::kSent);
    wanted.recv_cq = at(UdQueue::kReceived);
    wanted.cap = {need_.sends, need_.receives, 1, 1, 0};
    wanted.qp_type = IBV_QPT_UD;
    pair_ = calls_.create_qp(registered_.domain(), &wanted);
    if (!pair_) return size_error_of("no queue pair for datagrams", errno);
    card_.queue_pair = pair_->qp_num;
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.pkey_index = opened_.partition_index;
    attr.port_num = opened_.port;
    attr.qkey = kQueueKey;
    int outcome = calls_.modify_qp(pair_, &attr,
                                   IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
    attr = {};
    attr.qp_state = IBV_QPS_RTR;
    if (outcome == 0) outcome = calls_.modify_qp(pair_, &attr, IBV_QP_STATE);
    attr.qp_state = IBV_QPS_RTS;
    if (outcome == 0) outcome = calls_.modify_qp(pair_, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
    if (outcome != 0) return error_of("a queue pair for datagrams cannot send", outcome);
    return Done{};
}

int LibraryUd::post(std::span<const uint32_t> receive_places) {
    std::array<ibv_sge, kChainMax> into;
    std::array<ibv_recv_wr, kChainMax> chain{};
    for (size_t i = 0; i < receive_places.size(); ++i) {
        const uint32_t place = receive_places[i];
        into[i] = {reinterpret_cast<uint64_t>(registered_.base()) + place * receive_bytes(),
                   static_cast<uint32_t>(receive_bytes()), registered_.region().lkey};
        chain[i].wr_id = place;
        chain[i].sg_list = &into[i];
        chain[i].num_sge = 1;
        chain[i].next = i + 1 < receive_places.size() ? &chain[i + 1] : nullptr;
    }
    ibv_recv_wr* bad = nullptr;
    return receive_places.empty() ? 0 : ibv_post_recv(pair_, chain.data(), &bad);
}

int LibraryUd::post(std::span<const UdSend> sends) {
    const uint64_t behind =
        reinterpret_cast<uint64_t>(registered_.base()) + need_.receives * receive_bytes();
    std::array<ibv_sge, kChainMax> from;
    std::array<ibv_send_wr, kChainMax> chain{};
    for (size_t i = 0; i < sends.size(); ++i) {
        const bool is_last = i + 1 == sends.size();
        from[i] = {behind + uint64_t{sends[i].place} * card_.port.mtu_bytes, sends[i].bytes,
                   registered_.region().lkey};
        chain[i].wr_id = ++posted_;
        chain[i].sg_list = &from[i];
        chain[i].num_sge = 1;
        chain[i].opcode = IBV_WR_SEND;
        if (is_last) chain[i].send_flags = IBV_SEND_SIGNALED;
        if (sends[i].is_urgent) chain[i].send_flags |= IBV_SEND_SOLICITED;
        chain[i].wr.ud.ah = static_cast<ibv_ah*>(sends[i].to.handle);
        chain[i].wr.ud.remote_qpn = sends[i].to.queue_pair;
        chain[i].wr.ud.remote_qkey = kQueueKey;
        chain[i].next = is_last ? nullptr : &chain[i + 1];
    }
    ibv_send_wr* bad = nullptr;
    return sends.empty() ? 0 : ibv_post_send(pair_, chain.data(), &bad);
}

int LibraryUd::poll(std::span<UdReceived> received) {
    std::array<ibv_wc, kChainMax> found;
    const auto most = static_cast<int>(std::min(received.size(), found.size()));
    const int count = ibv_poll_cq(at(UdQueue::kReceived), most, found.data());
    for (int i = 0; i < count; ++i) {
        const ibv_wc& one = found[static_cast<size_t>(i)];
        received[static_cast<size_t>(i)] = {static_cast<uint32_t>(one.wr_id), one.byte_len,
                                            one.src_qp, (one.wc_flags & IBV_WC_GRH) != 0,
                                            one.status};
    }
    return count;
}

int64_t LibraryUd::poll_complete() {
    std::array<ibv_wc, 16> found;
    for (;;) {
        const int count =
            ibv_poll_cq(at(UdQueue::kSent), static_cast<int>(found.size()), found.data());
        if (count < 0) return -1;
        for (int i = 0; i < count; ++i) {
            if (found[static_cast<size_t>(i)].status != IBV_WC_SUCCESS) return -1;
            complete_ = found[static_cast<size_t>(i)].wr_id;
        }
        if (count < static_cast<int>(found.size())) return static_cast<int64_t>(complete_);
    }
}

Result<UdRoute> LibraryUd::add_route(ibv_ah_attr attr, uint32_t queue_pair) {
    routes_.reserve(routes_.size() + 1);
    ibv_ah* const route = calls_.create_ah(registered_.domain(), &attr);
    if (!route) return error_of("no way to a member of the group", errno);
    routes_.push_back(route);
    return UdRoute{route, queue_pair};
}

Result<UdRoute> LibraryUd::make_route(const UdCard& to) {
    return add_route(address_of(opened_, to.port), to.queue_pair);
}

void LibraryUd::drop(const UdRoute& route) {
    auto* const one = static_cast<ibv_ah*>(route.handle);
    std::erase(routes_, one);
    calls_.destroy_ah(one);
}

Result<UdRoute> LibraryUd::join(const UdGroup& group) {
    attached_.reserve(attached_.size() + 1);
    const auto joined = groups_->join(group);
    if (!joined) return joined.error();
    const ibv_ah_attr attr = joined.value();
    auto route = add_route(attr, kGroupQueuePair);
    const int outcome = route ? calls_.attach_mcast(pair_, &attr.grh.dgid, attr.dlid) : 0;
    if (route && outcome == 0) {
        attached_.push_back({group, attr.grh.dgid, attr.dlid});
        return route;
    }
    groups_->leave(group);
    if (!route) return route.error();
    drop(route.value());
    return error_of("a queue pair cannot be attached to the group", outcome);
}

void LibraryUd::leave(const UdGroup& group) {
    const auto one = std::ranges::find(attached_, group, &Attached::group);
    calls_.detach_mcast(pair_, &one->gid, one->lid);
    groups_->leave(group);
    attached_.erase(one);
}

}  // namespace

Result<std::unique_ptr<UdEndpoint>> make_ud_of(const Opened& opened, const UdNeed& need,
                                               const PortCard& port) {
    auto made = std::make_unique<LibraryUd>(opened, need, port);
    if (const auto outcome = made->make(); !outcome) return outcome.error();
    return std::unique_ptr<UdEndpoint>(std::move(made));
}

}  // namespace tutti::transport::verbs
