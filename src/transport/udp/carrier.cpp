// SPDX-License-Identifier: BSD-3-Clause
#include "transport/udp/carrier.h"

#include <net/if.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <mutex>
#include <vector>

#include "base/assert.h"
#include "base/clock.h"
#include "base/text.h"
#include "transport/carrier/service.h"
#include "transport/udp/batches.h"
#include "transport/udp/interfaces.h"
#include "transport/udp/membership.h"
#include "transport/udp/sockets.h"

namespace tutti::transport::udp {
namespace {

using carrier::Service;

// Between two looks at the sockets: so that a NAK does not wait behind a whole window.
constexpr uint32_t kSendsPerTurn = kBatchPackets;
// CLOCK_REALTIME, by which the system stamps packets.
uint64_t real_ns() {
    timespec time{};
    clock_gettime(CLOCK_REALTIME, &time);
    return static_cast<uint64_t>(time.tv_sec) * kNsPerSecond + static_cast<uint64_t>(time.tv_nsec);
}

// Of a rank that attends, before it looks after its call again.
constexpr uint32_t kTurnsAttendedMax = 8;

class UdpCarrier final : public Carrier, private Waker, private Service::Work {
  public:
    UdpCarrier(const CarrierParams& params, const Endpoint& endpoint, Sockets sockets)
        : params_(params),
          endpoint_(endpoint),
          process_(getpid()),
          sockets_(std::move(sockets)),
          inflow_(params.packet_bytes_max),
          outflow_(params.packet_bytes_max) {
        groups_.reserve(params.groups_max);
        to_leave_.reserve(params.groups_max);
        left_.reserve(params.groups_max);
    }
    ~UdpCarrier() override;
    UdpCarrier(const UdpCarrier&) = delete;
    UdpCarrier& operator=(const UdpCarrier&) = delete;
    Result<Done> start();

    [[nodiscard]] const Endpoint& endpoint() const override { return endpoint_; }
    [[nodiscard]] int wake_fd() const override { return service_.wake_fd(); }
    Waker& waker() override { return *this; }

    Result<Membership*> join(const JoinParams& params) override;
    bool leave(Membership* membership) override;
    void drop(Membership* membership) override;
    uint32_t lingering() override;

    void start_probe(Membership* membership) override;
    ProbeState probe_state(Membership* membership) override;
    void set_rate(Membership* membership, uint64_t bytes_per_s) override;
    std::optional<mcast::Member> failure(Membership* membership) override;
    bool is_acknowledged(Membership* membership) override;
    void hasten(Membership* membership) override;
    mcast::GroupCounters group_counters(Membership* membership) override;
    CarrierCounters counters() override;
    std::string describe(Membership* membership) override;
    void poll() override;
    void attend(Membership* membership, Sleeper& sleeper, uint64_t end_ns) override;

  private:
    using Lock = std::lock_guard<std::mutex>;

    // Waker: a rank of this process has found the service asleep.
    void wake() override;
    // Service::Work: what the thread does, under the lock.
    Service::Turn turn() override;

    struct Address {
        AddressBytes bytes{};
        uint32_t interface = 0;
    };

    Result<Done> make_room(const JoinParams& params);
    void admit(const JoinParams& params, std::unique_ptr<Membership> made);
    void leave_addresses();
    void remove(Membership* membership);
    void refresh_options();
    bool receive(uint64_t now_ns, int socket);
    void take(uint64_t now_ns, uint64_t arrival_ns, const Arrived& packet);
    bool work(uint64_t now_ns);
    bool send(uint64_t now_ns);
    void wake_clients();
    Service::Turn end_turn(uint64_t now_ns, bool has_more);
    // After a call from outside: what follows from it, at once.
    void follow_up();
    // A fork has none of the threads and must leave the sockets alone.
    [[nodiscard]] bool is_child() const { return getpid() != process_; }

    CarrierParams params_;
    Endpoint endpoint_;
    pid_t process_;
    std::mutex mutex_;
    Sockets sockets_;
    Inflow inflow_;
    Outflow outflow_;
    std::vector<std::unique_ptr<Membership>> groups_;
    // Of groups that are gone, until the next one joins or a rank leaves one.
    std::vector<Address> to_leave_;
    std::mutex addresses_mutex_;  // before mutex_; the thread never takes it
    std::vector<Address> left_;   // under addresses_mutex_: groups go where no memory may be left
    size_t first_ = 0;            // whose turn it is to send first
    bool is_blocked_ = false;     // the system takes no more packets now
    bool has_more_ = false;       // the last turn left something to be done at once
    bool has_timestamps_ = false;
    CarrierCounters counters_;
    uint64_t past_faults_ = 0;  // of groups that are gone
    Service service_;
};

UdpCarrier::~UdpCarrier() {
    if (is_child()) {
        // The lock may be held by a thread that is not here; the rings are the parent's.
        service_.abandon();
        for (auto& group : groups_) static_cast<void>(group.release());
        return;
    }
    service_.stop();
}

Result<Done> UdpCarrier::start() {
    if (!params_.has_thread) return service_.open_pipe();
    const carrier::WaitFd all[] = {{sockets_.group(), false}, {sockets_.own(), true}};
    return service_.start(*this, mutex_, all);
}

// ---------------------------------------------------------------- groups

Result<Membership*> UdpCarrier::join(const JoinParams& params) {
    auto made = Membership::create(params, params_.family, sockets_.group_port(), params_.faults);
    if (!made) return made.error();
    Membership* const membership = made.value().get();
    const Lock changing(addresses_mutex_);
    leave_addresses();
    const Address address{params.address.bytes, membership->path().own.interface};
    {
        const Lock lock(mutex_);
        if (const auto made_room = make_room(params); !made_room) return made_room.error();
    }
    const auto joined = sockets_.join(address.bytes, address.interface);
    if (!joined) return joined.error();
    const Lock lock(mutex_);
    admit(params, std::move(made.value()));
    return membership;
}

// What the service found to be over. The system changes addresses under one lock of all network
// settings, which it may hold for seconds (hosts with many containers): in that time the service
// must go on, or others would give this member up.
void UdpCarrier::leave_addresses() {
    {
        const Lock lock(mutex_);
        left_.swap(to_leave_);
    }
    for (const Address& address : left_) sockets_.leave(address.bytes, address.interface);
    left_.clear();
}

// Programs that make and free communicators in a row need not wait for the end of those they freed.
Result<Done> UdpCarrier::make_room(const JoinParams& params) {
    if (groups_.size() == params_.groups_max) {
        const auto done = std::find_if(groups_.begin(), groups_.end(),
                                       [](const auto& group) { return group->is_done(); });
        if (done != groups_.end()) remove(done->get());
    }
    if (groups_.size() == params_.groups_max) {
        return Error{ErrorCode::kMemory,
                     "multicast: " + std::to_string(params_.groups_max) +
                         " groups are there already (TUTTI_MCAST_TEAMS), those included that end"};
    }
    for (const auto& group : groups_) {
        if (group->number() != params.group) continue;
        return Error{ErrorCode::kArgument, "multicast: the group is there already"};
    }
    return Done{};
}

void UdpCarrier::admit(const JoinParams& params, std::unique_ptr<Membership> made) {
    made->make_client(params);
    groups_.push_back(std::move(made));
    refresh_options();
    follow_up();
}

// What ranks have filled last the service may not have looked at yet.
bool UdpCarrier::leave(Membership* membership) {
    if (is_child()) return true;
    const Lock changing(addresses_mutex_);
    leave_addresses();
    const Lock lock(mutex_);
    const uint64_t now_ns = Service::now_ns();
    membership->advance(now_ns);
    const bool is_drained = membership->client()->is_drained();
    if (is_drained) membership->start_leaving(now_ns);
    follow_up();
    return is_drained;
}

void UdpCarrier::drop(Membership* membership) {
    if (is_child()) return;
    const Lock changing(addresses_mutex_);
    {
        const Lock lock(mutex_);
        remove(membership);
        follow_up();
    }
    leave_addresses();
}

void UdpCarrier::remove(Membership* membership) {
    const auto at = std::find_if(groups_.begin(), groups_.end(),
                                 [&](const auto& group) { return group.get() == membership; });
    TUTTI_ASSERT(at != groups_.end(), "the carrier has the group");
    // What waits to be sent refers to the group's addresses.
    if (!outflow_.flush(sockets_.own())) outflow_.drop();
    to_leave_.push_back({membership->address().bytes, membership->path().own.interface});
    past_faults_ += membership->faults();
    groups_.erase(at);
    refresh_options();
}

uint32_t UdpCarrier::lingering() {
    const Lock lock(mutex_);
    return static_cast<uint32_t>(std::count_if(
        groups_.begin(), groups_.end(), [](const auto& group) { return group->is_leaving(); }));
}

void UdpCarrier::refresh_options() {
    const bool loops = std::any_of(groups_.begin(), groups_.end(),
                                   [](const auto& group) { return group->path().shares_host; });
    const bool probes = std::any_of(groups_.begin(), groups_.end(),
                                    [](const auto& group) { return group->may_probe(); });
    sockets_.set_loop(loops);
    if (probes != has_timestamps_) sockets_.set_timestamps(probes);
    has_timestamps_ = probes;
}

void UdpCarrier::start_probe(Membership* membership) {
    const Lock lock(mutex_);
    membership->start_probe(Service::now_ns());
    follow_up();
}

ProbeState UdpCarrier::probe_state(Membership* membership) {
    const Lock lock(mutex_);
    const ProbeState state = membership->probe_state();
    if (state.is_done && has_timestamps_) refresh_options();
    return state;
}

void UdpCarrier::set_rate(Membership* membership, uint64_t bytes_per_s) {
    const Lock lock(mutex_);
    membership->group().set_rate(bytes_per_s);
    follow_up();
}

std::optional<mcast::Member> UdpCarrier::failure(Membership* membership) {
    const Lock lock(mutex_);
    return membership->group().failure();
}

bool UdpCarrier::is_acknowledged(Membership* membership) {
    const Lock lock(mutex_);
    return membership->group().is_acknowledged();
}

void UdpCarrier::hasten(Membership* membership) {
    const Lock lock(mutex_);
    membership->group().hasten(Service::now_ns());
    follow_up();
}

mcast::GroupCounters UdpCarrier::group_counters(Membership* membership) {
    const Lock lock(mutex_);
    return membership->group().counters();
}

CarrierCounters UdpCarrier::counters() {
    const Lock lock(mutex_);
    CarrierCounters all = counters_;
    all.packets_out = outflow_.sent();
    all.unsent = outflow_.refused();
    all.overflowed = sockets_.overflowed();
    all.receive_buffer_bytes = sockets_.receive_buffer_bytes();
    all.wakeups = service_.wakeups();
    all.faults = past_faults_;
    for (const auto& group : groups_) all.faults += group->faults();
    return all;
}

std::string UdpCarrier::describe(Membership* membership) {
    const Path& path = membership->path();
    std::array<char, IF_NAMESIZE> name{};
    if (!if_indextoname(path.own.interface, name.data())) name[0] = '?';
    return std::string(name.data()) + ", " + to_text(params_.family, path.own.address) +
           ", packets of " + std::to_string(path.packet_bytes_max) + " bytes";
}

// ---------------------------------------------------------------- packets in

// True if more may wait at the socket.
bool UdpCarrier::receive(uint64_t now_ns, int socket) {
    const std::span<const Arrived> packets = inflow_.read(socket);
    const uint64_t read_ns = has_timestamps_ && !packets.empty() ? real_ns() : 0;
    for (const Arrived& packet : packets) {
        const bool is_told = packet.real_ns != 0 && packet.real_ns < read_ns;
        const uint64_t age_ns = is_told ? read_ns - packet.real_ns : 0;
        take(now_ns, now_ns - std::min(age_ns, now_ns), packet);
    }
    return packets.size() == kBatchPackets;
}

void UdpCarrier::take(uint64_t now_ns, uint64_t arrival_ns, const Arrived& packet) {
    ++counters_.packets_in;
    if (packet.port == endpoint_.port) {
        const auto candidates = std::span(endpoint_.candidate).first(endpoint_.candidates);
        for (const Candidate& one : candidates) {
            if (one.address != packet.address) continue;
            ++counters_.own;
            return;
        }
    }
    const auto number = mcast::group_of(packet.bytes);
    for (const auto& group : groups_) {
        if (group->number() != number) continue;
        if (carrier::unseal(group->key(), packet.bytes)) {
            group->on_packet(now_ns, arrival_ns, packet.bytes);
        } else {
            ++counters_.rejected;
        }
        return;
    }
    ++counters_.ungrouped;
}

// ---------------------------------------------------------------- what follows from them

// True if there is more to do at once.
bool UdpCarrier::work(uint64_t now_ns) {
    for (const auto& group : groups_) group->advance(now_ns);
    for (size_t i = groups_.size(); i-- > 0;) {
        if (groups_[i]->is_over(now_ns)) remove(groups_[i].get());
    }
    return send(now_ns);
}

bool UdpCarrier::send(uint64_t now_ns) {
    is_blocked_ = !outflow_.flush(sockets_.own());
    uint32_t left = kSendsPerTurn;
    bool has_sent = !groups_.empty();
    while (has_sent && !is_blocked_ && left > 0) {
        has_sent = false;
        for (size_t i = 0; i < groups_.size() && !is_blocked_; ++i) {
            Membership& group = *groups_[(first_ + i) % groups_.size()];
            if (outflow_.is_full()) is_blocked_ = !outflow_.flush(sockets_.own());
            if (is_blocked_) break;
            const SocketAddress* to = nullptr;
            const Via* via = nullptr;
            const size_t bytes = group.next_packet(now_ns, outflow_.space(), to, via);
            if (bytes == 0) continue;
            outflow_.add(bytes, *to, via);
            has_sent = true;
            left -= left > 0 ? 1 : 0;
        }
    }
    if (!is_blocked_) is_blocked_ = !outflow_.flush(sockets_.own());
    if (!groups_.empty()) first_ = (first_ + 1) % groups_.size();
    return has_sent && !is_blocked_;
}

void UdpCarrier::wake_clients() {
    for (const auto& group : groups_) {
        if (Client* client = group->client()) client->wake_up();
    }
}

// Asks all clients whether the thread may sleep, and until when.
Service::Turn UdpCarrier::end_turn(uint64_t now_ns, bool has_more) {
    Service::Turn turn;
    turn.has_more = has_more;
    turn.wants_to_send = is_blocked_;
    for (const auto& group : groups_) {
        if (turn.has_more) break;
        Client* const client = group->client();
        if (client && !client->may_sleep()) turn.has_more = true;
        // Where the system takes nothing there is no use in being in time.
        if (!is_blocked_) turn.deadline_ns = std::min(turn.deadline_ns, group->next_deadline());
    }
    if (turn.deadline_ns <= now_ns) turn.has_more = true;
    if (turn.has_more) wake_clients();
    has_more_ = turn.has_more;
    return turn;
}

Service::Turn UdpCarrier::turn() {
    wake_clients();
    const uint64_t now_ns = Service::now_ns();
    const bool has_more_own = receive(now_ns, sockets_.own());
    const bool has_more_group = receive(now_ns, sockets_.group());
    const bool has_more = work(now_ns);
    return end_turn(now_ns, has_more || has_more_own || has_more_group);
}

void UdpCarrier::follow_up() {
    const uint64_t now_ns = Service::now_ns();
    wake_clients();
    const bool has_more = work(now_ns);
    if (!params_.has_thread) return;
    service_.hand_over(end_turn(now_ns, has_more));
    // Who attends must be woken by more than the turn has just said.
    if (service_.is_attended()) service_.ring();
}

void UdpCarrier::wake() {
    if (!params_.has_thread || is_child()) return;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock) {
        follow_up();
    } else {
        service_.ring();
    }
}

void UdpCarrier::poll() {
    if (is_child()) return;
    if (params_.has_thread && !service_.is_away()) return;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return;
    if (params_.has_thread) {
        if (!service_.is_attended()) service_.end_attendance(turn());
        return;
    }
    const uint64_t now_ns = Service::now_ns();
    receive(now_ns, sockets_.own());
    receive(now_ns, sockets_.group());
    work(now_ns);
}

void UdpCarrier::attend(Membership* membership, Sleeper& sleeper, uint64_t end_ns) {
    std::unique_lock lock(mutex_, std::defer_lock);
    if (params_.has_thread && !is_child()) lock.lock();
    // By a rank of another thread: it is the one that the service's deeds wake.
    if (!lock || service_.is_attended()) {
        if (lock) lock.unlock();
        sleeper.sleep(end_ns);
        return;
    }
    if (!has_more_) {
        membership->client()->wake_for_all();
        if (sleeper.has_rung()) return;
        service_.begin_attendance();
        lock.unlock();
        service_.attend(end_ns);
        lock.lock();
    }
    Service::Turn done;
    uint32_t turns = 0;
    do {
        done = turn();
    } while (done.has_more && !sleeper.has_rung() && ++turns < kTurnsAttendedMax);
    service_.end_attendance(done);
}

Result<Endpoint> make_endpoint(const CarrierParams& params) {
    const auto all = list_interfaces();
    if (!all) return all.error();
    const auto preferred = connected_interfaces(all.value());
    const auto chosen = choose_candidates(all.value(), params.family, params.interface, preferred,
                                          params.packet_bytes_max);
    if (!chosen) return chosen.error();
    Endpoint endpoint;
    endpoint.host = host_number();
    endpoint.family = static_cast<uint32_t>(params.family);
    endpoint.candidates = static_cast<uint16_t>(chosen.value().size());
    std::copy(chosen.value().begin(), chosen.value().end(), endpoint.candidate.begin());
    return endpoint;
}

}  // namespace

Result<std::unique_ptr<Carrier>> Carrier::open(const CarrierParams& params) {
    TUTTI_ASSERT(params.packet_bytes_max >= mcast::kControlBytesMax, "packets hold control data");
    auto endpoint = make_endpoint(params);
    if (!endpoint) return endpoint.error();
    auto sockets =
        Sockets::open({params.family, params.port, params.ttl, params.receive_buffer_bytes});
    if (!sockets) return sockets.error();
    endpoint.value().port = sockets.value().own_port();
    endpoint.value().receive_bytes = sockets.value().receive_buffer_bytes();
    auto carrier =
        std::make_unique<UdpCarrier>(params, endpoint.value(), std::move(sockets.value()));
    const auto started = carrier->start();
    if (!started) return started.error();
    return std::unique_ptr<Carrier>(std::move(carrier));
}

}  // namespace tutti::transport::udp
