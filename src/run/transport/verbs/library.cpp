// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/verbs/library.h"

#include <arpa/inet.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <vector>

#include "run/transport/verbs/channel.h"
#include "run/transport/verbs/registered.h"
#include "run/transport/verbs/send.h"
#include "run/transport/verbs/ud.h"

namespace tutti::transport::verbs {
namespace {

constexpr uint8_t kRnrTimer = 12;  // 0.64 ms; never used, as there is always a receive
constexpr uint32_t kNumberBits = 48;
constexpr uint64_t kIsRecv = uint64_t{1} << 63;
constexpr size_t kLineBytes = 64;
// Of a pair, beyond which they wait in its queue: every device that can add takes as many.
constexpr uint8_t kAddsAtOnce = 1;
constexpr uint32_t kPacketMask = 0xffffff;  // numbers of packets
// Of a write within its request, rather than fetched by the device: a short message; a word with
// its header alone; none. Devices refuse what is more than they grant.
constexpr std::array<uint32_t, 3> kInlineBytes = {128, 64, 0};

ibv_mtu path_mtu_of(uint32_t bytes) {
    int mtu = IBV_MTU_256;
    while (mtu < IBV_MTU_4096 && 256u << mtu <= bytes) ++mtu;
    return static_cast<ibv_mtu>(mtu);
}

class LibraryEndpoint final : public Endpoint, public Sends {
  public:
    // channels: how many there are.
    LibraryEndpoint(const Opened& opened, const Need& need, std::atomic<uint32_t>& channels)
        : opened_(opened),
          need_(need),
          words_(opened.can_add ? need.words : 0),
          registered_(*opened.calls),
          channel_(*opened.calls, channels) {}
    LibraryEndpoint(const LibraryEndpoint&) = delete;
    LibraryEndpoint& operator=(const LibraryEndpoint&) = delete;
    ~LibraryEndpoint() override {
        for (ibv_qp* pair : pairs_) opened_.calls->destroy_qp(pair);
        if (queue_) {
            channel_.acknowledge(queue_);
            opened_.calls->destroy_cq(queue_);
        }
    }
    Result<Done> make();

    std::span<std::byte> memory() override { return {registered_.base(), pairs_bytes()}; }
    std::span<uint64_t> words() override {
        if (words_ == 0) return {};
        return {reinterpret_cast<uint64_t*>(registered_.base() + words_offset()), words_};
    }
    PairCard card(uint32_t pair) override {
        const auto base = reinterpret_cast<uint64_t>(registered_.base());
        return {base + pair * need_.pair_bytes, words_ > 0 ? base + words_offset() : 0,
                registered_.region().rkey,      pairs_[pair]->qp_num,
                first_packets_[pair],           0};
    }
    Result<Done> connect(uint32_t pair, const PortCard& port, const PairCard& other) override;
    int write(uint32_t pair, const Write& write) override;
    int write_direct(uint32_t pair, const DirectWrite& write) override;
    int add(uint32_t pair, const Add& add) override;
    Region expose(const std::byte* memory, size_t bytes, bool is_target) override;
    void conceal(const Region& region) override {
        opened_.calls->dereg_mr(static_cast<ibv_mr*>(region.handle));
    }
    int recv(uint32_t pair) override { return post_recv(pair, nullptr); }
    int poll(std::span<Completion> completions) override;
    [[nodiscard]] int wait_fd() const override { return channel_.fd(); }
    bool arm(Events of) override { return channel_.arm(queue_, of); }
    [[nodiscard]] Sends* sends() override { return this; }
    int send(uint32_t pair, const Write& write) override;
    int recv_into(uint32_t pair, size_t offset, size_t bytes) override;
    [[nodiscard]] const char* status_text(int status) const override {
        return opened_.calls->wc_status_str(static_cast<ibv_wc_status>(status));
    }

  private:
    [[nodiscard]] size_t pairs_bytes() const { return need_.pairs * need_.pair_bytes; }
    // Behind all pairs' parts, in cache lines of their own.
    [[nodiscard]] size_t words_offset() const {
        return (pairs_bytes() + kLineBytes - 1) / kLineBytes * kLineBytes;
    }
    [[nodiscard]] int remote_access() const {
        return IBV_ACCESS_REMOTE_WRITE | (words_ > 0 ? IBV_ACCESS_REMOTE_ATOMIC : 0);
    }
    Result<Done> add_pair();
    ibv_qp* create_pair();
    [[nodiscard]] bool can_expose() const;
    [[nodiscard]] ibv_send_wr request_of(uint32_t pair, const Write& write, ibv_sge& from) const;
    int post_recv(uint32_t pair, ibv_sge* into) {
        ibv_recv_wr request{};
        request.wr_id = kIsRecv | uint64_t{pair} << kNumberBits;
        request.sg_list = into;
        request.num_sge = into ? 1 : 0;
        ibv_recv_wr* bad = nullptr;
        return ibv_post_recv(pairs_[pair], &request, &bad);
    }

    Opened opened_;
    Need need_;
    uint32_t words_;
    Registered registered_;
    Channel channel_;
    ibv_cq* queue_ = nullptr;
    size_t inline_try_ = 0;
    uint32_t inline_bytes_ = kInlineBytes[0];
    bool can_expose_ = false;
    std::vector<ibv_qp*> pairs_;
    std::vector<uint32_t> first_packets_;
    std::vector<PairCard> others_;
};

Result<Done> LibraryEndpoint::make() {
    const Calls& calls = *opened_.calls;
    const size_t bytes = words_offset() + words_ * sizeof(uint64_t);
    auto registered = registered_.make(opened_, bytes, IBV_ACCESS_LOCAL_WRITE | remote_access(),
                                       "verbs", pairs_bytes());
    if (!registered) return registered;
    can_expose_ = can_expose();
    const auto entries = static_cast<int>(need_.pairs * (need_.sends + need_.recvs));
    if (need_.may_sleep) channel_.open(opened_.context);
    queue_ = calls.create_cq(opened_.context, entries, nullptr, channel_.handle(), 0);
    if (!queue_) return error_of("no completion queue of that size", errno);
    others_.resize(need_.pairs);
    pairs_.reserve(need_.pairs);
    first_packets_.reserve(need_.pairs);
    for (uint32_t i = 0; i < need_.pairs; ++i) {
        if (auto added = add_pair(); !added) return added;
    }
    return Done{};
}

ibv_qp* LibraryEndpoint::create_pair() {
    for (; inline_try_ < kInlineBytes.size(); ++inline_try_) {
        ibv_qp_init_attr wanted{};
        wanted.send_cq = wanted.recv_cq = queue_;
        wanted.cap = {need_.sends, need_.recvs, 1, 1, kInlineBytes[inline_try_]};
        wanted.qp_type = IBV_QPT_RC;
        ibv_qp* pair = opened_.calls->create_qp(registered_.domain(), &wanted);
        if (!pair) continue;
        inline_bytes_ = std::min(inline_bytes_, wanted.cap.max_inline_data);
        return pair;
    }
    return nullptr;
}

// Each with a first packet number of its own: one that is still on its way from an end that had
// the same queue pair's number before is not taken for one of these.
Result<Done> LibraryEndpoint::add_pair() {
    ibv_qp* pair = create_pair();
    if (!pair) return error_of("no queue pair", errno);
    pairs_.push_back(pair);
    uint32_t first_packet = 0;
    if (getrandom(&first_packet, sizeof first_packet, 0) != sizeof first_packet) {
        return error_of("no random numbers", errno);
    }
    first_packets_.push_back(first_packet & kPacketMask);
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.pkey_index = opened_.partition_index;
    attr.port_num = opened_.port;
    attr.qp_access_flags = static_cast<unsigned>(remote_access());
    const int outcome = opened_.calls->modify_qp(
        pair, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    if (outcome != 0) return error_of("a queue pair cannot be initialized", outcome);
    return Done{};
}

Result<Done> LibraryEndpoint::connect(uint32_t pair, const PortCard& port, const PairCard& other) {
    others_[pair] = other;
    for (uint32_t i = 0; i < need_.recvs; ++i) {
        if (const int outcome = recv(pair); outcome != 0) return error_of("no receive", outcome);
    }
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = path_mtu_of(need_.mtu_bytes);
    attr.dest_qp_num = other.queue_pair;
    attr.rq_psn = other.first_packet;
    attr.max_dest_rd_atomic = words_ > 0 ? kAddsAtOnce : 0;
    attr.min_rnr_timer = kRnrTimer;
    attr.ah_attr = address_of(opened_, port);
    const Calls& calls = *opened_.calls;
    int outcome =
        calls.modify_qp(pairs_[pair], &attr,
                        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                            IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    if (outcome != 0) return error_of("a queue pair cannot be connected", outcome);
    attr = {};
    attr.qp_state = IBV_QPS_RTS;
    attr.timeout = static_cast<uint8_t>(opened_.settings.timeout);
    attr.retry_cnt = static_cast<uint8_t>(opened_.settings.retries);
    attr.rnr_retry = attr.retry_cnt;
    attr.sq_psn = first_packets_[pair];
    attr.max_rd_atomic = words_ > 0 ? kAddsAtOnce : 0;
    outcome = calls.modify_qp(pairs_[pair], &attr,
                              IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                  IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
    if (outcome != 0) return error_of("a queue pair cannot send", outcome);
    return Done{};
}

// Of a write or a send, but for its kind and where it goes. from: as long as the request.
ibv_send_wr LibraryEndpoint::request_of(uint32_t pair, const Write& write, ibv_sge& from) const {
    from = {reinterpret_cast<uint64_t>(registered_.base()) + write.offset,
            static_cast<uint32_t>(write.bytes), registered_.region().lkey};
    ibv_send_wr request{};
    request.wr_id = uint64_t{pair} << kNumberBits | write.number;
    request.sg_list = &from;
    request.num_sge = write.bytes > 0 ? 1 : 0;
    if (write.is_signaled) request.send_flags |= IBV_SEND_SIGNALED;
    if (write.bytes > 0 && write.bytes <= inline_bytes_) request.send_flags |= IBV_SEND_INLINE;
    return request;
}

int LibraryEndpoint::write(uint32_t pair, const Write& write) {
    ibv_sge from{};
    ibv_send_wr request = request_of(pair, write, from);
    request.opcode = write.tells ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
    request.imm_data = htonl(write.immediate);
    if (write.tells && write.wakes) request.send_flags |= IBV_SEND_SOLICITED;
    request.wr.rdma.remote_addr = others_[pair].address + write.remote_offset;
    request.wr.rdma.rkey = others_[pair].key;
    ibv_send_wr* bad = nullptr;
    return ibv_post_send(pairs_[pair], &request, &bad);
}

int LibraryEndpoint::send(uint32_t pair, const Write& write) {
    ibv_sge from{};
    ibv_send_wr request = request_of(pair, write, from);
    request.opcode = IBV_WR_SEND;
    ibv_send_wr* bad = nullptr;
    return ibv_post_send(pairs_[pair], &request, &bad);
}

int LibraryEndpoint::recv_into(uint32_t pair, size_t offset, size_t bytes) {
    ibv_sge into{reinterpret_cast<uint64_t>(registered_.base()) + offset,
                 static_cast<uint32_t>(bytes), registered_.region().lkey};
    return post_recv(pair, &into);
}

int LibraryEndpoint::write_direct(uint32_t pair, const DirectWrite& write) {
    ibv_sge from{reinterpret_cast<uint64_t>(write.source), static_cast<uint32_t>(write.bytes),
                 static_cast<ibv_mr*>(write.from.handle)->lkey};
    ibv_send_wr request{};
    request.wr_id = uint64_t{pair} << kNumberBits | write.number;
    request.sg_list = &from;
    request.num_sge = 1;
    request.opcode = IBV_WR_RDMA_WRITE;
    request.send_flags = IBV_SEND_SIGNALED;
    request.wr.rdma.remote_addr = write.address;
    request.wr.rdma.rkey = write.key;
    ibv_send_wr* bad = nullptr;
    return ibv_post_send(pairs_[pair], &request, &bad);
}

int LibraryEndpoint::add(uint32_t pair, const Add& add) {
    ibv_sge former{reinterpret_cast<uint64_t>(&words()[add.former]), sizeof(uint64_t),
                   registered_.region().lkey};
    ibv_send_wr request{};
    request.wr_id = uint64_t{pair} << kNumberBits | add.number;
    request.sg_list = &former;
    request.num_sge = 1;
    request.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
    if (add.is_signaled) request.send_flags = IBV_SEND_SIGNALED;
    request.wr.atomic.remote_addr = others_[pair].words + add.word * sizeof(uint64_t);
    request.wr.atomic.rkey = others_[pair].key;
    request.wr.atomic.compare_add = add.amount;
    ibv_send_wr* bad = nullptr;
    return ibv_post_send(pairs_[pair], &request, &bad);
}

// Memory of the program is registered where a fork() beside the call harms nobody: where the kernel
// gives the child copies of such pages at once. Else the parent would go on with a copy while the
// device writes to the page, or the child would have no such page.
bool LibraryEndpoint::can_expose() const {
    const Calls& calls = *opened_.calls;
    if (!calls.is_fork_initialized || calls.is_fork_initialized() != IBV_FORK_UNNEEDED) {
        return false;
    }
    ibv_port_attr attr{};
    return calls.query_port(opened_.context, opened_.port, &attr) == 0 &&
           attr.max_msg_sz >= kWriteBytesMax;
}

// What is written from may be memory that the program itself must not write to.
Region LibraryEndpoint::expose(const std::byte* memory, size_t bytes, bool is_target) {
    if (!can_expose_) return {};
    const int access = is_target ? IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE : 0;
    ibv_mr* region =
        opened_.calls->reg_mr(registered_.domain(), const_cast<std::byte*>(memory), bytes, access);
    return region ? Region{region, region->rkey} : Region{};
}

int LibraryEndpoint::poll(std::span<Completion> completions) {
    constexpr size_t kAtOnce = 32;
    ibv_wc found[kAtOnce];
    const int count =
        ibv_poll_cq(queue_, static_cast<int>(std::min(completions.size(), kAtOnce)), found);
    for (int i = 0; i < count; ++i) {
        const ibv_wc& one = found[i];
        Completion& into = completions[static_cast<size_t>(i)];
        into.is_recv = (one.wr_id & kIsRecv) != 0;
        into.pair = static_cast<uint32_t>((one.wr_id & ~kIsRecv) >> kNumberBits);
        into.number = one.wr_id & ((uint64_t{1} << kNumberBits) - 1);
        into.status = one.status;
        into.immediate = ntohl(one.imm_data);
    }
    return count;
}

class LibraryDevice final : public Device {
  public:
    LibraryDevice(const Opened& opened, std::string name, const PortCard& port)
        : opened_(opened), name_(std::move(name)), port_(port) {}
    LibraryDevice(const LibraryDevice&) = delete;
    LibraryDevice& operator=(const LibraryDevice&) = delete;
    ~LibraryDevice() override { opened_.calls->close_device(opened_.context); }
    [[nodiscard]] std::string name() const override { return name_; }
    [[nodiscard]] const PortCard& port() const override { return port_; }
    Result<std::unique_ptr<Endpoint>> make_endpoint(const Need& need) override {
        // A device may have atomics, and its administrator not grant them.
        auto made = make_endpoint_of(opened_, need);
        if (made || !opened_.can_add || need.words == 0) return made;
        Opened without = opened_;
        without.can_add = false;
        return make_endpoint_of(without, need);
    }
    Result<std::unique_ptr<UdEndpoint>> make_ud(const UdNeed& need) override {
        return make_ud_of(opened_, need, port_);
    }

  private:
    Result<std::unique_ptr<Endpoint>> make_endpoint_of(const Opened& opened, const Need& need) {
        auto endpoint = std::make_unique<LibraryEndpoint>(opened, need, channels_);
        if (auto made = endpoint->make(); !made) return made.error();
        return std::unique_ptr<Endpoint>(std::move(endpoint));
    }

    Opened opened_;
    std::string name_;
    PortCard port_;
    std::atomic<uint32_t> channels_{0};
};

}  // namespace

std::unique_ptr<Device> make_device(const Opened& opened, std::string name, const PortCard& port) {
    return std::make_unique<LibraryDevice>(opened, std::move(name), port);
}

}  // namespace tutti::transport::verbs
