// SPDX-License-Identifier: BSD-3-Clause
// Every round is one allgather, in which each member also says whether it can go on; if one cannot,
// all do without.
//
//   1  all: addresses of those that carry packets for their nodes; key, group, address of rank 0
//   2  node, then all: the ring is in everybody's memory
//   3  all: those that carry have joined
//   4  all: who hears whom, at what rate, and how fast messages are between two hosts
//
// What needs memory is done before the last round.
#include "run/multicast/multicast_maker.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/bell.h"
#include "base/text.h"
#include "run/multicast/probe_findings.h"
#include "run/node/slice.h"
#include "run/transport/carrier/ring.h"
#include "run/transport/carrier/ring_feed.h"

namespace tutti::multicast {

namespace carrier = transport::carrier;
using agree::attempt;
using agree::Circle;
using agree::Obstacle;
using agree::Report;
using agree::report_of;

namespace {

// What rank 0 hands out.
struct Grant {
    carrier::Key key;
    carrier::GroupAddress address;
    uint32_t group = 0;
};

struct Card {
    Obstacle obstacle = Obstacle::kNone;
    uint32_t carries = 0;
    carrier::Address address;
    Grant grant;
};

// Of the rank that carries.
struct RingOffer {
    Report report;
    arena::ProcessId process;
    int64_t offset = 0;
    int64_t wake_fd = -1;
    uint64_t mapping = 0;  // address of its shared_ptr, for threads of its process
};

constexpr uint64_t kLookAgainNs = 200'000;
// Longer than any probe round lasts; and from one turn of the embedder to the next in it.
constexpr uint64_t kProbeNsMax = 3'000'000'000;
constexpr uint64_t kProgressNs = 10'000'000;

// Nobody wakes it.
void nap(Clock& clock) {
    Bell silent;
    Sleeper(silent).sleep(clock.now_ns() + kLookAgainNs);
}

size_t slice_bytes(const carrier::RingParams& ring) {
    return node::whole_pages(node::kPageBytes + carrier::ring_bytes(ring));
}

// A member on its way through the rounds.
class MulticastMaker {
  public:
    MulticastMaker(size_t network, const MakingParams& params, Circle& all, const HostMembers& host)
        : network_(network),
          params_(params),
          all_(all),
          host_(host),
          life_(params.life),
          placement_(life_.placement()),
          carries_(host.circle.rank == host.leader),
          ring_{carrier::kRingSlots, host.circle.size, placement_.nodes()} {}
    MulticastMaker(const MulticastMaker&) = delete;
    MulticastMaker& operator=(const MulticastMaker&) = delete;
    ~MulticastMaker();

    Result<MulticastOutcome> make();

  private:
    // Between two rounds: nothing more once this member cannot go on.
    Result<Done> introduce();
    Result<Done> share_ring();
    Result<Done> join();
    Result<Done> probe();
    Report open(Card& card);
    Report draw(Grant& grant);
    Report choose_window();
    Report make_ring(RingOffer& offer);
    Report take_ring(const RingOffer& offer);
    Report join_group();
    Report look_around(Finding& finding);
    [[nodiscard]] ProcessMulticast& process() const { return life_.process(); }
    [[nodiscard]] carrier::Carrier& own_carrier() const { return *process().carrier(network_); }
    [[nodiscard]] const Settings& settings() const { return params_.process.settings(); }
    [[nodiscard]] uint32_t partner_node() const { return placement_.node_of(all_.rank) ^ 1u; }
    void prepare_measurement();
    Report measure_messages(Finding& finding);
    void await_probe();
    [[nodiscard]] carrier::RingHeader& ring_header() const {
        return carrier::Ring(ring_memory(*slice_)).header();
    }
    void take_over();
    void remember_failure(const std::string& reason);
    [[nodiscard]] Report trouble(const std::string& what) const;
    [[nodiscard]] std::vector<uint64_t> host_numbers() const;

    const size_t network_;  // by number
    const MakingParams& params_;
    Circle& all_;
    const HostMembers& host_;
    MulticastLife& life_;
    const topo::Placement& placement_;
    const bool carries_;  // this rank, for its node
    const carrier::RingParams ring_;
    Report mine_;                              // the first that kept this member from going on
    std::vector<carrier::Address> addresses_;  // by node
    std::vector<uint32_t> carriers_;           // likewise, ranks
    Grant grant_;
    uint32_t window_packets_ = 0;
    std::shared_ptr<arena::Mapping> slice_;
    off_t offset_ = -1;  // of the slice, where this rank took it from the node's arena
    Fd wake_fd_;
    carrier::Membership* membership_ = nullptr;
    uint64_t code_bytes_per_s_ = 0;
    bool measures_ = false;  // how fast messages are
    MulticastOutcome made_;
};

// About this host.
Report MulticastMaker::trouble(const std::string& what) const {
    const uint32_t node = placement_.node_of(all_.rank);
    Report report = report_of(Obstacle::kNetwork, life_.host_text(node) + ": " + what);
    report.is_named = 1;
    return report;
}

Report MulticastMaker::open(Card& card) {
    addresses_.resize(placement_.nodes());
    carriers_.resize(placement_.nodes());
    if (!carries_) return {};
    const auto carrier = process().open(network_, settings(), params_.number);
    if (!carrier) return trouble(carrier.error().message);
    card.carries = 1;
    card.address = carrier.value()->address();
    return {};
}

Report MulticastMaker::draw(Grant& grant) {
    const auto key = carrier::random_key();
    if (!key) return trouble(key.error().message);
    grant.key = key.value();
    grant.key.protection = carrier::protection_of(settings().mcast);
    // Zero means no group to those who read reports.
    grant.group = static_cast<uint32_t>(arena::random_token()) | 1u;
    const auto address = process().network(network_).draw_group(arena::random_token());
    if (!address) return trouble(address.error().message);
    grant.address = address.value();
    return {};
}

Result<Done> MulticastMaker::introduce() {
    Card mine;
    attempt(mine_, [&] { return open(mine); });
    attempt(mine_, [&] { return all_.rank == 0 ? draw(mine.grant) : Report{}; });
    mine.obstacle = mine_.obstacle;
    const auto cards = all_.exchange(mine);
    if (!cards) return cards.error();
    bool is_good = true;
    for (const Card& card : cards.value()) is_good &= card.obstacle == Obstacle::kNone;
    if (!is_good) return all_.agree(mine_);
    for (uint32_t rank = 0; rank < all_.size; ++rank) {
        const Card& card = cards.value()[rank];
        if (card.carries == 0) continue;
        addresses_[placement_.node_of(rank)] = card.address;
        carriers_[placement_.node_of(rank)] = rank;
    }
    grant_ = cards.value()[0].grant;
    return Done{};
}

std::vector<uint64_t> MulticastMaker::host_numbers() const {
    std::vector<uint64_t> hosts;
    for (const carrier::Address& address : addresses_) hosts.push_back(address.carrier);
    return hosts;
}

Report MulticastMaker::choose_window() {
    // A team whose hosts have heard each other before looks again: it waits long between its tries.
    const auto known =
        life_.is_lost() ? std::nullopt : process().known_failure(network_, host_numbers());
    if (known) {
        Report report = report_of(Obstacle::kNetwork, *known);
        report.is_named = 1;
        return report;
    }
    const auto member = static_cast<mcast::Member>(placement_.node_of(all_.rank));
    const auto window = own_carrier().choose_window(addresses_, member);
    if (!window) return trouble(window.error().message);
    window_packets_ = window.value();
    return {};
}

// The carrying rank's.
Report MulticastMaker::make_ring(RingOffer& offer) {
    const size_t bytes = slice_bytes(ring_);
    if (ring_.ranks == 1) {
        auto mapping = arena::Mapping::anonymous(bytes);
        if (!mapping) return trouble(mapping.error().message);
        slice_ = mapping.value();
        new (slice_->base()) node::SliceHeader{};
        carrier::Ring::format(ring_memory(*slice_), ring_);
        return {};
    }
    arena::Arena& arena = *host_.arena;
    const uint64_t limit = settings().node.memory_bytes;
    if (arena.used_bytes() + bytes > limit) {
        return trouble("no shared memory left for multicast (TUTTI_MEMORY is " +
                       format_bytes(limit) + ")");
    }
    // The carrier uses the slice as well, and longer.
    auto taken = arena.take(bytes, ring_.ranks + 1);
    if (!taken) return trouble(taken.error().message);
    offset_ = taken.value().offset;
    slice_ = taken.value().mapping;
    const auto reserved = arena::reserve(arena.fd(), offset_, bytes, bytes);
    if (!reserved) return trouble(reserved.error().message);
    carrier::Ring::format(ring_memory(*slice_), ring_);
    offer.process = params_.id;
    offer.offset = offset_;
    offer.wake_fd = own_carrier().wake_fd();
    offer.mapping = reinterpret_cast<uint64_t>(&slice_);
    return {};
}

Report MulticastMaker::take_ring(const RingOffer& offer) {
    auto pipe = arena::open_through_proc(offer.process, static_cast<int>(offer.wake_fd), S_IFIFO,
                                         O_RDWR | O_NONBLOCK);
    if (!pipe) return trouble(pipe.error().message);
    wake_fd_ = std::move(pipe.value());
    if (offer.process == params_.id) {
        slice_ = *reinterpret_cast<std::shared_ptr<arena::Mapping>*>(offer.mapping);
        return {};
    }
    auto mapping = arena::Mapping::map(host_.arena->fd(), offer.offset, slice_bytes(ring_));
    if (!mapping) return trouble(mapping.error().message);
    slice_ = mapping.value();
    return {};
}

Result<Done> MulticastMaker::share_ring() {
    RingOffer offer;
    if (carries_) {
        attempt(mine_, [&] { return choose_window(); });
        attempt(mine_, [&] { return make_ring(offer); });
    }
    if (ring_.ranks > 1) {
        offer.report = mine_;
        const auto offers = host_.circle.exchange(offer);
        if (offers) offer = offers.value()[host_.leader];
        attempt(mine_, [&] { return offers ? offer.report : report_of(offers.error()); });
        if (!carries_) attempt(mine_, [&] { return take_ring(offer); });
    }
    return all_.agree_briefly(mine_);
}

Report MulticastMaker::join_group() {
    carrier::JoinParams params;
    params.group_address = grant_.address;
    params.key = grant_.key;
    params.group = grant_.group;
    params.member = static_cast<mcast::Member>(placement_.node_of(all_.rank));
    params.members = addresses_;
    params.window_packets = window_packets_;
    params.bytes_per_s = settings().mcast.bits_per_s / 8;
    params.seed = arena::random_token();
    std::byte* const memory = ring_memory(*slice_);
    params.memory = carriers_share(slice_);
    params.make_client = [memory](mcast::Group& group) {
        return std::make_unique<carrier::Feed>(carrier::Ring(memory), group);
    };
    const auto joined = own_carrier().join(params);
    if (!joined) return trouble(joined.error().message);
    membership_ = joined.value();
    // Here, and not in the probe's time.
    code_bytes_per_s_ = own_carrier().code_bytes_per_s(membership_);
    return {};
}

// Neighbours two by two, all pairs at once: a network that carries this team's calls carries that.
// Of an odd number the last host is not measured. Who asks for multicast by name does not compare,
// unless prices want it.
void MulticastMaker::prepare_measurement() {
    if (settings().mcast.choice == McastChoice::kOn && settings().rules.price != PriceChoice::kOn)
        return;
    if (params_.speed.known().mbit != 0) return;
    if (partner_node() >= placement_.nodes()) return;
    params_.speed.prepare(carriers_[partner_node()]);
    measures_ = true;
}

// As everybody in the same round, on whom the partner can rely: all have joined.
Report MulticastMaker::measure_messages(Finding& finding) {
    if (!measures_) return {};
    const uint64_t partner = addresses_[partner_node()].carrier;
    finding.message = process().known_speed(partner);
    if (const auto measured = params_.speed.measure(finding.message); !measured) {
        finding.is_cut = 1;
        return trouble(measured.error().message);
    }
    process().remember_speed(partner, finding.message);
    return {};
}

Result<Done> MulticastMaker::join() {
    if (carries_) {
        attempt(mine_, [&] {
            prepare_measurement();
            return join_group();
        });
    }
    return all_.agree_briefly(mine_);
}

// The carrying rank's. The others' probes come in meanwhile; it is over within a bound.
Report MulticastMaker::look_around(Finding& finding) {
    carrier::Carrier& carrier = own_carrier();
    finding.code_bytes_per_s = code_bytes_per_s_;
    carrier.start_probe(membership_);
    carrier::ProbeState state = carrier.probe_state(membership_);
    while (!state.is_done) {
        nap(params_.process.clock());
        carrier.poll();
        state = carrier.probe_state(membership_);
    }
    finding.bytes_per_s = state.bytes_per_s;
    finding.round_trip_ns = state.round_trip_ns_max;
    finding.round_trip_ns_min = state.round_trip_ns_min;
    if (state.all_hear_all) return {};
    if (state.unheard == mcast::kNobody) return trouble("no multicast packet came");
    Report report = report_of(Obstacle::kNetwork, life_.host_text(state.deaf) +
                                                      " does not hear the multicast of " +
                                                      life_.host_text(state.unheard));
    report.is_named = 1;
    return report;
}

// All that the team has of it is made; from here on its end takes everything apart.
void MulticastMaker::take_over() {
    TeamMulticast::Parts parts{slice_, network_, std::move(wake_fd_), membership_};
    made_.route = std::make_unique<TeamMulticast>(process(), std::move(parts), all_.rank,
                                                  placement_, params_.messages);
    membership_ = nullptr;
    offset_ = -1;
    AgreedMulticast& facts = made_.route->agreed();
    facts.group = grant_.group;
    facts.protection = grant_.key.protection;
    facts.address = process().network(network_).text_of(grant_.address);
}

void MulticastMaker::remember_failure(const std::string& reason) {
    if (carries_) process().remember_failure(network_, host_numbers(), reason);
}

// The others of a node meanwhile. In the embedder's exchange they would poll, and where ranks
// outnumber processors keep whatever moves the packets from them: the rate came out as a quarter.
void MulticastMaker::await_probe() {
    carrier::RingHeader& header = ring_header();
    Clock& clock = params_.process.clock();
    const uint64_t end_ns = clock.now_ns() + kProbeNsMax;
    while (clock.now_ns() < end_ns) {
        Sleeper sleeper(header.bell);
        if (header.is_probed.load(std::memory_order_acquire) != 0) return;
        sleeper.sleep(clock.now_ns() + kProgressNs);
        params_.process.progress();
    }
}

Result<Done> MulticastMaker::probe() {
    Finding finding;
    if (carries_) {
        attempt(mine_, [&] { return measure_messages(finding); });
        attempt(mine_, [&] { return look_around(finding); });
        carrier::RingHeader& header = ring_header();
        header.is_probed.store(1, std::memory_order_release);
        header.bell.ring();
    } else {
        await_probe();
    }
    std::vector<uint64_t> hosts;
    attempt(mine_, [&] {
        hosts = host_numbers();
        take_over();
        return Report{};
    });
    finding.obstacle = mine_.obstacle;
    const auto findings = all_.exchange(finding);
    if (!findings) return findings.error();
    const JointFinding joint = join_findings(findings.value(), params_.speed.known());
    if (!joint.is_good) {
        if (made_.route) made_.route->drop();
        // What a member without memory did not do is no fault of the network.
        const bool is_other = !joint.is_of_network && mine_.obstacle == Obstacle::kNetwork;
        auto agreed = all_.agree(is_other ? Report{} : mine_);
        if (!agreed && joint.is_cut) return Error{ErrorCode::kBootstrap, agreed.error().message};
        if (!agreed && joint.is_of_network) remember_failure(agreed.error().message);
        return agreed;
    }
    const auto rate = joint.rate(settings().mcast.bits_per_s / 8);
    if (!rate) {
        made_.route->drop();
        return Error{ErrorCode::kNetwork, "no host could measure the rate; set TUTTI_MCAST_RATE"};
    }
    AgreedMulticast& facts = made_.route->agreed();
    facts.round_trip_ns = joint.round_trip_ns;
    facts.latency_ns = joint.latency_ns;
    facts.message = joint.message;
    facts.code_bytes_per_s = joint.code_bytes_per_s.value_or(0);
    facts.bytes_per_s = *rate;
    made_.route->set_rate(facts.bytes_per_s);
    if (carries_) process().forget_failures(network_, std::move(hosts));
    return Done{};
}

Result<MulticastOutcome> MulticastMaker::make() {
    using Round = Result<Done> (MulticastMaker::*)();
    for (const Round round : {&MulticastMaker::introduce, &MulticastMaker::share_ring,
                              &MulticastMaker::join, &MulticastMaker::probe}) {
        const auto done = (this->*round)();
        if (done) continue;
        if (done.error().code == ErrorCode::kBootstrap) return done.error();
        return MulticastOutcome{nullptr, done.error().message};
    }
    return std::move(made_);
}

// What was begun and is not taken over.
MulticastMaker::~MulticastMaker() {
    if (membership_) own_carrier().drop(membership_);
    if (offset_ >= 0) host_.arena->give_back(offset_);
}

}  // namespace

size_t shared_bytes(uint32_t ranks, uint32_t hosts) {
    return slice_bytes({carrier::kRingSlots, ranks, hosts});
}

Result<MulticastOutcome> make_over(size_t network, const MakingParams& params, Circle& all,
                                   const HostMembers& host) {
    return MulticastMaker(network, params, all, host).make();
}

}  // namespace tutti::multicast
