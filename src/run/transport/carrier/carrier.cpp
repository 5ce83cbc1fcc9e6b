// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/carrier/carrier.h"

#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "base/assert.h"
#include "run/transport/carrier/membership.h"
#include "run/transport/carrier/service.h"

namespace tutti::transport::carrier {
namespace {

// A member keeps a window of every other one's packets, and of its own: 16 MB a team hold 256
// packets of 1,500 bytes of 41 members, or 30 of 350. Larger windows gain nothing, since
// acknowledgements come at every quarter.
constexpr uint64_t kGroupBytesMax = 16'000'000;
constexpr uint64_t kWindowPacketsMax = 256;
constexpr uint64_t kWindowPacketsMin = 16;
// Between two looks at what came: so that a NAK does not wait behind a whole window.
constexpr uint32_t kSendsPerTurn = kBatchPackets;
// Of a rank that attends, before it looks after its call again.
constexpr uint32_t kTurnsAttendedMax = 8;

class DatagramCarrier final : public Carrier, private Waker, private Service::Work {
  public:
    DatagramCarrier(const CarrierParams& params, std::unique_ptr<Datagrams> datagrams)
        : params_(params), process_(getpid()), datagrams_(std::move(datagrams)) {
        groups_.reserve(params.groups_max);
        to_leave_.reserve(params.groups_max);
        left_.reserve(params.groups_max);
    }
    ~DatagramCarrier() override;
    DatagramCarrier(const DatagramCarrier&) = delete;
    DatagramCarrier& operator=(const DatagramCarrier&) = delete;
    Result<Done> start();

    [[nodiscard]] Address address() const override { return datagrams_->address(); }
    [[nodiscard]] Result<uint32_t> choose_window(std::span<const Address> members,
                                                 mcast::Member own) const override;
    [[nodiscard]] int wake_fd() const override { return service_.wake_fd(); }
    Waker& waker() override { return *this; }

    Result<Membership*> join(const JoinParams& params) override;
    void drop(Membership* membership) override;
    void tidy() override;
    uint32_t lingering() override;

    uint64_t code_bytes_per_s(Membership* membership) override;
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
    void attend(Membership* membership, Sleeper& sleeper, uint64_t end_ns, int also) override;

  private:
    using Lock = std::lock_guard<std::mutex>;

    // Waker: a rank of this process has found the service asleep.
    void wake() override;
    void wake_thread() override;
    // Service::Work: what the thread does, under the lock.
    Service::Turn turn() override;

    Result<Done> make_room(const JoinParams& params);
    void admit(const JoinParams& params, std::unique_ptr<Membership> made);
    void leave_ways();
    void remove(Membership* membership);
    void refresh_needs();
    bool receive(uint64_t now_ns);
    void take(uint64_t now_ns, uint64_t arrival_ns, std::span<std::byte> packet);
    bool work(uint64_t now_ns);
    bool send(uint64_t now_ns);
    void wake_clients();
    [[nodiscard]] Wake wake_for() const;
    Service::Turn end_turn(uint64_t now_ns, bool has_more);
    // After a call from outside: what follows from it, at once.
    void follow_up();
    // A fork has none of the threads and must leave the fabric alone.
    [[nodiscard]] bool is_child() const { return getpid() != process_; }

    CarrierParams params_;
    pid_t process_;
    std::mutex mutex_;
    std::unique_ptr<Datagrams> datagrams_;
    std::vector<std::unique_ptr<Membership>> groups_;
    // Of groups that are gone, until the next one joins or a rank tidies.
    std::vector<std::unique_ptr<Way>> to_leave_;
    std::mutex ways_mutex_;  // before mutex_; the thread never takes it
    // Under ways_mutex_: groups go where no memory may be left.
    std::vector<std::unique_ptr<Way>> left_;
    size_t first_ = 0;         // whose turn it is to send first
    bool is_blocked_ = false;  // the fabric takes no more packets now
    bool has_more_ = false;    // the last turn left something to be done at once
    bool wants_ages_ = false;  // of packets
    CarrierCounters counters_;
    uint64_t past_faults_ = 0;  // of groups that are gone
    Service service_;
};

DatagramCarrier::~DatagramCarrier() {
    if (is_child()) {
        // The lock may be held by a thread that is not here; the rings are the parent's.
        service_.abandon();
        for (auto& group : groups_) static_cast<void>(group.release());
        for (auto& way : to_leave_) static_cast<void>(way.release());
        for (auto& way : left_) static_cast<void>(way.release());
        static_cast<void>(datagrams_.release());
        return;
    }
    service_.stop();
}

Result<Done> DatagramCarrier::start() {
    if (!params_.has_thread) return service_.open_pipe();
    return service_.start(*this, mutex_, datagrams_->wait_fds());
}

// ---------------------------------------------------------------- groups

Result<uint32_t> DatagramCarrier::choose_window(std::span<const Address> members,
                                                mcast::Member own) const {
    const auto path = datagrams_->choose_path(members, own);
    if (!path) return path.error();
    const uint64_t window = kGroupBytesMax / (path.value().packet_bytes_max * members.size());
    if (window < kWindowPacketsMin) {
        return Error{ErrorCode::kMemory, "too many hosts for the memory of multicast"};
    }
    return static_cast<uint32_t>(std::min(window, kWindowPacketsMax));
}

Result<Membership*> DatagramCarrier::join(const JoinParams& params) {
    if (params.members.size() < 2 || params.members.size() > mcast::kMembersMax) {
        return Error{ErrorCode::kArgument, "multicast: a group has 2 to 4096 members"};
    }
    const auto path = datagrams_->choose_path(params.members, params.member);
    if (!path) return path.error();
    auto made = Membership::create(params, path.value(), params_.faults);
    if (!made) return made.error();
    Membership* const membership = made.value().get();
    const Lock changing(ways_mutex_);
    leave_ways();
    {
        const Lock lock(mutex_);
        if (const auto made_room = make_room(params); !made_room) return made_room.error();
    }
    auto way = datagrams_->join({params.group_address, params.members, params.member});
    if (!way) return way.error();
    membership->set_way(std::move(way.value()));
    const Lock lock(mutex_);
    admit(params, std::move(made.value()));
    return membership;
}

// What the service found to be over. The system changes a socket's addresses under one lock of all
// network settings, which it may hold for seconds (hosts with many containers): in that time the
// service must go on, or others would give this member up.
void DatagramCarrier::leave_ways() {
    {
        const Lock lock(mutex_);
        left_.swap(to_leave_);
    }
    for (auto& way : left_) datagrams_->leave(std::move(way));
    left_.clear();
}

// Programs that make and free communicators in a row need not wait for the end of those they freed.
Result<Done> DatagramCarrier::make_room(const JoinParams& params) {
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

void DatagramCarrier::admit(const JoinParams& params, std::unique_ptr<Membership> made) {
    made->make_client(params);
    groups_.push_back(std::move(made));
    refresh_needs();
    follow_up();
}

void DatagramCarrier::drop(Membership* membership) {
    if (is_child()) return;
    const Lock changing(ways_mutex_);
    {
        const Lock lock(mutex_);
        remove(membership);
        follow_up();
    }
    leave_ways();
}

void DatagramCarrier::tidy() {
    if (is_child()) return;
    const Lock changing(ways_mutex_);
    leave_ways();
}

void DatagramCarrier::remove(Membership* membership) {
    const auto at = std::find_if(groups_.begin(), groups_.end(),
                                 [&](const auto& group) { return group.get() == membership; });
    TUTTI_ASSERT(at != groups_.end(), "the carrier has the group");
    datagrams_->forget(membership->way());
    to_leave_.push_back(membership->take_way());
    past_faults_ += membership->faults();
    groups_.erase(at);
    refresh_needs();
}

uint32_t DatagramCarrier::lingering() {
    const Lock lock(mutex_);
    return static_cast<uint32_t>(std::count_if(
        groups_.begin(), groups_.end(), [](const auto& group) { return group->is_leaving(); }));
}

void DatagramCarrier::refresh_needs() {
    const bool shares_host = std::any_of(groups_.begin(), groups_.end(),
                                         [](const auto& group) { return group->shares_host(); });
    wants_ages_ = std::any_of(groups_.begin(), groups_.end(),
                              [](const auto& group) { return group->may_probe(); });
    datagrams_->set_needs(shares_host, wants_ages_);
}

// Not under the lock: neither changes while the caller has joined.
uint64_t DatagramCarrier::code_bytes_per_s(Membership* membership) {
    const size_t packet_bytes = membership->group().params().packet_bytes_max;
    return carrier::code_bytes_per_s(membership->key(), packet_bytes);
}

void DatagramCarrier::start_probe(Membership* membership) {
    const Lock lock(mutex_);
    membership->start_probe(Service::now_ns());
    follow_up();
}

ProbeState DatagramCarrier::probe_state(Membership* membership) {
    const Lock lock(mutex_);
    const ProbeState state = membership->probe_state();
    if (state.is_done && wants_ages_) refresh_needs();
    return state;
}

void DatagramCarrier::set_rate(Membership* membership, uint64_t bytes_per_s) {
    const Lock lock(mutex_);
    membership->group().set_rate(bytes_per_s);
    follow_up();
}

std::optional<mcast::Member> DatagramCarrier::failure(Membership* membership) {
    const Lock lock(mutex_);
    return membership->group().failure();
}

bool DatagramCarrier::is_acknowledged(Membership* membership) {
    const Lock lock(mutex_);
    return membership->group().sender().is_acknowledged();
}

void DatagramCarrier::hasten(Membership* membership) {
    const Lock lock(mutex_);
    membership->group().hasten(Service::now_ns());
    follow_up();
}

mcast::GroupCounters DatagramCarrier::group_counters(Membership* membership) {
    const Lock lock(mutex_);
    return membership->group().counters();
}

CarrierCounters DatagramCarrier::counters() {
    const Lock lock(mutex_);
    const Datagrams::Counters packets = datagrams_->counters();
    CarrierCounters all = counters_;
    all.packets_in += packets.own;
    all.packets_out = packets.sent;
    all.own = packets.own;
    all.unsent = packets.refused;
    all.overflowed = packets.overflowed;
    all.receive_buffer_bytes = packets.receive_bytes;
    all.wakeups = service_.wakeups();
    all.faults = past_faults_;
    for (const auto& group : groups_) all.faults += group->faults();
    return all;
}

std::string DatagramCarrier::describe(Membership* membership) {
    return datagrams_->describe(membership->way());
}

// ---------------------------------------------------------------- packets in

// True if more may wait.
bool DatagramCarrier::receive(uint64_t now_ns) {
    bool has_more = false;
    for (uint32_t source = 0; source < datagrams_->sources(); ++source) {
        const Batch batch = datagrams_->receive(source);
        for (const Arrived& packet : batch.packets) {
            take(now_ns, now_ns - std::min(packet.age_ns, now_ns), packet.bytes);
        }
        has_more |= batch.has_more;
    }
    return has_more;
}

void DatagramCarrier::take(uint64_t now_ns, uint64_t arrival_ns, std::span<std::byte> packet) {
    ++counters_.packets_in;
    const auto number = mcast::group_of(packet);
    for (const auto& group : groups_) {
        if (group->number() != number) continue;
        if (unseal(group->key(), packet)) {
            group->on_packet(now_ns, arrival_ns, packet);
        } else {
            ++counters_.rejected;
        }
        return;
    }
    ++counters_.ungrouped;
}

// ---------------------------------------------------------------- what follows from them

// True if there is more to do at once.
bool DatagramCarrier::work(uint64_t now_ns) {
    for (const auto& group : groups_) group->advance(now_ns);
    for (size_t i = groups_.size(); i-- > 0;) {
        if (groups_[i]->is_over(now_ns)) remove(groups_[i].get());
    }
    return send(now_ns);
}

bool DatagramCarrier::send(uint64_t now_ns) {
    is_blocked_ = !datagrams_->flush();
    uint32_t left = kSendsPerTurn;
    bool has_sent = !groups_.empty();
    while (has_sent && !is_blocked_ && left > 0) {
        has_sent = false;
        for (size_t i = 0; i < groups_.size() && !is_blocked_; ++i) {
            Membership& group = *groups_[(first_ + i) % groups_.size()];
            if (datagrams_->space().empty()) is_blocked_ = !datagrams_->flush();
            if (is_blocked_) break;
            mcast::Member to = mcast::kNobody;
            bool is_urgent = true;
            const size_t bytes = group.next_packet(now_ns, datagrams_->space(), to, is_urgent);
            if (bytes == 0) continue;
            datagrams_->add(group.way(), to, bytes, is_urgent);
            has_sent = true;
            left -= left > 0 ? 1 : 0;
        }
    }
    if (!is_blocked_) is_blocked_ = !datagrams_->flush();
    if (!groups_.empty()) first_ = (first_ + 1) % groups_.size();
    return has_sent && !is_blocked_;
}

void DatagramCarrier::wake_clients() {
    for (const auto& group : groups_) {
        if (Client* client = group->client()) client->wake_up();
    }
}

// A rank that attends looks at each packet as it comes, so that little is left to do for the last.
// All others are served by urgent packets: a message is complete with its last one, but for what
// that has overtaken.
Wake DatagramCarrier::wake_for() const {
    const bool is_missing = std::any_of(groups_.begin(), groups_.end(), [](const auto& group) {
        return group->group().is_missing();
    });
    return service_.is_attended() || is_missing ? Wake::kAll : Wake::kUrgent;
}

// Asks all clients and the fabric whether the thread may sleep, and until when.
Service::Turn DatagramCarrier::end_turn(uint64_t now_ns, bool has_more) {
    Service::Turn turn;
    turn.has_more = has_more;
    turn.wants_to_send = is_blocked_;
    for (const auto& group : groups_) {
        if (turn.has_more) break;
        Client* const client = group->client();
        if (client && !client->may_sleep()) turn.has_more = true;
        // Where the fabric takes nothing there is no use in being in time.
        if (!is_blocked_) turn.deadline_ns = std::min(turn.deadline_ns, group->next_deadline());
    }
    if (turn.deadline_ns <= now_ns) turn.has_more = true;
    if (!turn.has_more && !datagrams_->arm(wake_for(), is_blocked_)) turn.has_more = true;
    if (turn.has_more) wake_clients();
    has_more_ = turn.has_more;
    return turn;
}

Service::Turn DatagramCarrier::turn() {
    wake_clients();
    const uint64_t now_ns = Service::now_ns();
    const bool has_more_in = receive(now_ns);
    const bool has_more = work(now_ns);
    return end_turn(now_ns, has_more || has_more_in);
}

void DatagramCarrier::follow_up() {
    const uint64_t now_ns = Service::now_ns();
    wake_clients();
    const bool has_more = work(now_ns);
    if (!params_.has_thread) return;
    service_.hand_over(end_turn(now_ns, has_more));
    // Who attends must be woken by more than the turn has just said.
    if (service_.is_attended()) service_.ring();
}

void DatagramCarrier::wake() {
    if (!params_.has_thread || is_child()) return;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock) {
        follow_up();
    } else {
        service_.ring();
    }
}

void DatagramCarrier::wake_thread() {
    if (!service_.takes_turns()) return wake();
    if (params_.has_thread && !is_child()) service_.ring();
}

void DatagramCarrier::poll() {
    if (is_child()) return;
    if (params_.has_thread && !service_.is_away()) return;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return;
    if (params_.has_thread) {
        if (!service_.is_attended()) service_.end_attendance(turn());
        return;
    }
    const uint64_t now_ns = Service::now_ns();
    receive(now_ns);
    work(now_ns);
}

void DatagramCarrier::attend(Membership* membership, Sleeper& sleeper, uint64_t end_ns, int also) {
    std::unique_lock lock(mutex_, std::defer_lock);
    if (params_.has_thread && !is_child()) lock.lock();
    // By a rank of another thread: it is the one that the service's deeds wake.
    if (!lock || service_.is_attended()) {
        if (lock) lock.unlock();
        if (also < 0) {
            sleeper.sleep(end_ns);
        } else if (!sleeper.has_rung()) {
            Service::wait_for(also, end_ns);
        }
        return;
    }
    if (!has_more_) {
        membership->client()->wake_for_all();
        if (sleeper.has_rung()) return;
    }
    service_.begin_attendance();
    // The thread may have asked for urgent packets alone, and others have come since: they are not
    // slept over.
    if (!has_more_ && datagrams_->arm(wake_for(), is_blocked_)) {
        lock.unlock();
        service_.attend(end_ns, also);
        lock.lock();
    }
    Service::Turn done;
    uint32_t turns = 0;
    do {
        done = turn();
    } while (done.has_more && !sleeper.has_rung() && ++turns < kTurnsAttendedMax);
    service_.end_attendance(done);
}

}  // namespace

Result<std::unique_ptr<Carrier>> Carrier::open(const CarrierParams& params,
                                               std::unique_ptr<Datagrams> datagrams) {
    auto carrier = std::make_unique<DatagramCarrier>(params, std::move(datagrams));
    const auto started = carrier->start();
    if (!started) return started.error();
    return std::unique_ptr<Carrier>(std::move(carrier));
}

}  // namespace tutti::transport::carrier
