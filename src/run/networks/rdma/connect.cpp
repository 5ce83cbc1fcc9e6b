// SPDX-License-Identifier: BSD-3-Clause
// Connecting the members of a team by RDMA. Each round is one allgather over all of them:
//
//   1  who has a port, on which network
//      of those whose calls are made in turn: which connections of an earlier team would do? Where
//      all have the same ones, these are the team's, and there is but a last word
//   2  the cards of all ends of pairs, so many at a time
//   3  has everybody connected its ends? From here on packets may come
//   4  has every message of the probe arrived?
//   5  in small teams of a rank a node: can all add to rank 0's word?
//
// What goes wrong on one is told in the next round, and then all go without.
#include "run/networks/rdma/connect.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "run/arena/process.h"
#include "run/networks/pair_probes.h"
#include "run/networks/rdma/rdma_peers.h"
#include "run/networks/rdma/shared_links.h"
#include "run/transport/verbs/rc.h"

namespace tutti::networks::rdma {
namespace {

using agree::attempt;
using agree::Circle;
using agree::guarded;
using agree::Obstacle;
using agree::Report;
using agree::report_of;
using transport::Rank;
using transport::verbs::Device;
using transport::verbs::kPacketBytesMin;
using transport::verbs::Links;
using transport::verbs::PairCard;
using transport::verbs::PortCard;
using transport::verbs::Rc;

constexpr uint32_t kMtuBytesMax = 4096;
// Where there is a way, it takes milliseconds, and a few seconds where packets are lost on it. By
// the default time-out and retries the device gives up a peer that does not answer after 7.5 s at
// the soonest.
constexpr uint64_t kProbeNsMax = 10'000'000'000;

struct OwnPort {
    Obstacle obstacle = Obstacle::kNone;
    uint32_t peers = 0;
    uint64_t member = 0;
    PortCard card;
};

// Some at a time: of 65,536 members 14 MB.
struct Cards {
    static constexpr uint32_t kAtOnce = 8;
    Obstacle obstacle = Obstacle::kNone;
    uint32_t pad = 0;
    uint64_t exposed_bytes = 0;  // from where registering memory for a call pays there
    uint64_t links_id = 0;       // rank 0's is the links'
    PairCard of[kAtOnce];
};

class Connector {
  public:
    Connector(RdmaNetwork& network, const topo::Placement& placement, const TeamTraits& traits,
              Circle& all, Connected& made)
        : network_(network),
          process_(network.process()),
          placement_(placement),
          traits_(traits),
          all_(all),
          made_(made) {}
    // Done where all members have it.
    Result<Done> make();

  private:
    Report find_port();
    Result<Allowance::Part> take_memory(uint64_t bytes);
    Report make_ends();
    void add_messages(const std::shared_ptr<ProcessLinks>& links, uint32_t number,
                      std::vector<Rank> peers, std::vector<uint32_t> link_of);
    void add_tracks(std::vector<uint32_t> link_of);
    Report join(const FoundLinks& found, uint32_t number);
    Result<bool> join_links();
    [[nodiscard]] uint64_t direct_bytes() const;
    void use_exposed();
    void take_cards(std::span<const Cards> cards, uint32_t begin);
    Report connect();
    Report probe();
    Report keep_links();
    Result<Done> introduce();
    Result<Done> exchange_cards();
    Result<Done> agree_on_word();
    [[nodiscard]] bool is_own(size_t pair) const { return peers_[pair] == all_.rank; }
    // Who the peers are, but oneself.
    [[nodiscard]] std::span<const uint64_t> others() const {
        return std::span(members_).subspan(!peers_.empty() && is_own(0) ? 1 : 0);
    }

    RdmaNetwork& network_;
    Process& process_;
    const topo::Placement& placement_;
    const TeamTraits& traits_;
    Circle& all_;
    Connected& made_;
    Report mine_;
    Device* device_ = nullptr;
    std::vector<Rank> peers_;
    std::vector<PortCard> ports_;    // of the peers
    std::vector<uint64_t> members_;  // of the peers
    std::shared_ptr<ProcessLinks> links_;
    std::vector<PairCard> others_;      // of the peers: their ends
    std::vector<uint32_t> their_pair_;  // of the peers: which of theirs this rank is
    uint32_t rounds_ = 0;               // of cards
    uint64_t exposed_bytes_ = 0;        // of all members; at first the own
    uint32_t mtu_bytes_ = kMtuBytesMax;
    Rc* messages_ = nullptr;  // the first track's; none without peers
    PairProbes probes_;
};

Report Connector::find_port() {
    const topo::Placement& placement = placement_;
    peers_ = peers_of(placement, all_.rank);
    // Rank 0's first pair is that with itself.
    const bool has_own = all_reach_first(placement);
    for (const Rank peer : peers_) {
        std::vector<Rank> theirs = peers_of(placement, peer);
        if (has_own && peer == 0) theirs.insert(theirs.begin(), 0);
        const auto own = std::lower_bound(theirs.begin(), theirs.end(), all_.rank);
        TUTTI_ASSERT(own != theirs.end() && *own == all_.rank, "peers are each other's");
        their_pair_.push_back(static_cast<uint32_t>(own - theirs.begin()));
    }
    if (has_own && all_.rank == 0) {
        peers_.insert(peers_.begin(), 0);
        their_pair_.insert(their_pair_.begin(), 0);
    }
    ports_.resize(peers_.size());
    members_.resize(peers_.size());
    others_.resize(peers_.size());
    const auto device = network_.device();
    if (!device) return report_of(Obstacle::kSystem, device.error().message);
    device_ = device.value().get();
    if (device_->port().mtu_bytes >= kPacketBytesMin) return {};
    return report_of(Obstacle::kSystem, device_->name() + " has packets of " +
                                            std::to_string(device_->port().mtu_bytes) +
                                            " bytes; at least " + std::to_string(kPacketBytesMin) +
                                            " are needed");
}

// Ports of two networks do not reach each other, which all see alike.
Result<Done> Connector::introduce() {
    attempt(mine_, [&] { return find_port(); });
    OwnPort own{mine_.obstacle, static_cast<uint32_t>(peers_.size()), process_.member(), {}};
    if (device_) own.card = device_->port();
    const auto all = all_.exchange(own);
    if (!all) return all.error();
    const std::span<const OwnPort> ports = all.value();
    uint32_t peers_max = 0;
    uint32_t stranger = 0;
    bool has_obstacle = false;
    for (uint32_t rank = 0; rank < all_.size; ++rank) {
        const PortCard& card = ports[rank].card;
        has_obstacle |= ports[rank].obstacle != Obstacle::kNone;
        peers_max = std::max(peers_max, ports[rank].peers);
        mtu_bytes_ = std::min(mtu_bytes_, card.mtu_bytes);
        if (!card.is_in_network_of(ports[0].card) && stranger == 0) stranger = rank;
    }
    if (has_obstacle) return all_.agree(mine_);
    if (stranger != 0) {
        Report report;
        report.obstacle = Obstacle::kNetwork;
        report.is_named = true;
        std::snprintf(report.detail, sizeof report.detail,
                      "the RDMA port of rank %u is on another network than rank 0's", stranger);
        return all_.error_of(stranger, report);
    }
    for (size_t i = 0; i < peers_.size(); ++i) {
        ports_[i] = ports[peers_[i]].card;
        members_[i] = ports[peers_[i]].member;
    }
    rounds_ = (peers_max + Cards::kAtOnce - 1) / Cards::kAtOnce;
    return Done{};
}

// What other teams leave of what the process may register.
Result<Allowance::Part> Connector::take_memory(uint64_t bytes) {
    const uint64_t most = network_.settings().memory_bytes;
    Allowance& all = network_.memory();
    if (auto part = all.take(bytes, most)) return std::move(*part);
    return Error{ErrorCode::kMemory,
                 "RDMA would need " + format_bytes(bytes) + " more registered; others have " +
                     format_bytes(all.taken()) + " of the " + format_bytes(most) +
                     " that TUTTI_VERBS_MEMORY allows a process"};
}

uint64_t Connector::direct_bytes() const {
    const VerbsSettings& settings = network_.settings();
    return settings.direct_bytes.value_or(VerbsSettings::kDirectBytes);
}

// The words to which members add are the first team's, so no pair with oneself.
Report Connector::join(const FoundLinks& found, uint32_t number) {
    std::erase(peers_, all_.rank);
    made_.port = device_->name();
    made_.is_shared = true;
    if (found.links) {
        mtu_bytes_ = found.links->links->packet_bytes();
        exposed_bytes_ = found.links->exposed_bytes;
        add_messages(found.links, number, peers_, found.link_of);
    }
    use_exposed();
    return {};
}

// True where the team has its messages by links that there were.
Result<bool> Connector::join_links() {
    Candidates candidates;
    attempt(mine_, [&] {
        candidates = find_links(network_, others(), traits_.is_crowded);
        return Report{};
    });
    const auto all = all_.exchange(candidates.offers);
    if (!all) return all.error();
    const auto choice = choose_links(all.value());
    if (!choice) return false;
    const auto mine = std::ranges::find(candidates.offers.of, choice->id, &LinksOffer::id);
    FoundLinks found;
    if (mine != candidates.offers.of.end()) {
        found = std::move(candidates.found[mine - candidates.offers.of.begin()]);
    }
    attempt(mine_, [&] { return join(found, choice->number); });
    if (auto joined = all_.agree_briefly(mine_); !joined) return std::move(joined.error());
    return true;
}

Report Connector::make_ends() {
    made_.port = device_->name();
    if (!peers_.empty()) {
        const auto pairs = static_cast<uint32_t>(peers_.size());
        transport::verbs::Need need = transport::verbs::need_of(pairs, mtu_bytes_);
        need.may_sleep = traits_.is_crowded;
        auto memory = take_memory(pairs * need.pair_bytes);
        if (!memory) return report_of(Obstacle::kSystem, memory.error().message);
        made_.memory_bytes = memory.value().amount();
        auto endpoint = device_->make_endpoint(need);
        if (!endpoint) return report_of(Obstacle::kSystem, endpoint.error().message);
        const VerbsSettings& settings = network_.settings();
        links_ = std::make_shared<ProcessLinks>();
        links_->members = members_;
        links_->memory = std::move(memory.value());
        links_->links =
            std::make_unique<Links>(std::move(endpoint.value()), process_.clock(), mtu_bytes_,
                                    pairs, settings.polls_tails && !traits_.is_crowded);
        std::vector<uint32_t> link_of(pairs);
        std::iota(link_of.begin(), link_of.end(), 0u);
        add_messages(links_, 0, peers_, link_of);
        if (!settings.direct_bytes) exposed_bytes_ = messages_->exposure_pays_from();
        add_tracks(std::move(link_of));
    }
    // Over one path of full packets, and back: with its header it is two, of which the first is
    // full.
    probes_.prepare(all_.rank, peers_, mtu_bytes_);
    // A probe that found none would fail on this side alone, and the others would wait for it.
    if (messages_ && !messages_->reserve(2 * peers_.size())) return agree::report_of_no_memory();
    return {};
}

void Connector::add_messages(const std::shared_ptr<ProcessLinks>& links, uint32_t number,
                             std::vector<Rank> peers, std::vector<uint32_t> link_of) {
    made_.messages.push_back(std::make_unique<Rc>(
        ProcessLinks::owned(links), number, std::move(peers), std::move(link_of), direct_bytes()));
    messages_ = made_.messages.front().get();
}

// Of the team's tracks all but the first: each is on the links as a team of its own would be. Links
// that were there are never theirs, as such a team's calls do not come in turn. The words to which
// members add are the first track's, so no pair with oneself.
void Connector::add_tracks(std::vector<uint32_t> link_of) {
    std::vector<Rank> peers = peers_;
    if (is_own(0)) {
        peers.erase(peers.begin());
        link_of.erase(link_of.begin());
    }
    for (uint32_t track = 1; track < traits_.tracks; ++track) {
        add_messages(links_, track, peers, link_of);
    }
}

void Connector::take_cards(std::span<const Cards> cards, uint32_t begin) {
    for (size_t i = 0; i < peers_.size(); ++i) {
        const uint32_t pair = their_pair_[i];
        if (pair < begin || pair - begin >= Cards::kAtOnce) continue;
        others_[i] = cards[peers_[i]].of[pair - begin];
    }
}

Result<Done> Connector::exchange_cards() {
    attempt(mine_, [&] { return make_ends(); });
    const uint64_t own_exposed_bytes = exposed_bytes_;
    const uint64_t own_id = arena::random_token();
    bool has_obstacle = false;
    for (uint32_t begin = 0; begin < rounds_ * Cards::kAtOnce; begin += Cards::kAtOnce) {
        Cards own;
        own.obstacle = mine_.obstacle;
        own.exposed_bytes = own_exposed_bytes;
        own.links_id = own_id;
        const auto pairs = static_cast<uint32_t>(messages_ ? peers_.size() : 0);
        for (uint32_t i = begin; i < std::min(begin + Cards::kAtOnce, pairs); ++i) {
            own.of[i - begin] = messages_->links()->at(i).card();
        }
        const auto all = all_.exchange(own);
        if (!all) return all.error();
        take_cards(all.value(), begin);
        if (links_) links_->id = all.value()[0].links_id;
        for (const Cards& one : all.value()) {
            has_obstacle |= one.obstacle != Obstacle::kNone;
            exposed_bytes_ = std::max(exposed_bytes_, one.exposed_bytes);
        }
    }
    if (has_obstacle) return all_.agree(mine_);
    if (links_) links_->exposed_bytes = exposed_bytes_;
    use_exposed();
    return Done{};
}

// All members alike, as a message goes straight only where both ends' memory is registered.
void Connector::use_exposed() {
    const std::optional<uint64_t> set = network_.settings().direct_bytes;
    for (const auto& one : made_.messages) {
        one->use_exposed(set.value_or(transport::verbs::kExposedBytes),
                         set.value_or(exposed_bytes_));
    }
}

Report Connector::connect() {
    for (uint32_t pair = 0; messages_ && pair < peers_.size(); ++pair) {
        if (is_own(pair) && !network_.reaches_itself()) continue;
        const auto connected = messages_->links()->at(pair).connect(ports_[pair], others_[pair]);
        if (!connected && is_own(pair)) network_.reaches_itself() = false;
        if (connected || is_own(pair)) continue;
        return report_of(Obstacle::kSystem, "no RDMA to rank " + std::to_string(peers_[pair]) +
                                                ": " + connected.error().message);
    }
    return {};
}

// Both ends are ready.
Report Connector::probe() {
    if (!messages_) return {};
    const bool has_own = !peers_.empty() && is_own(0);
    if (has_own && !network_.reaches_itself()) probes_.leave_out(0);
    probes_.run(process_, *messages_, kProbeNsMax);
    if (has_own && !probes_.is_good(0)) network_.reaches_itself() = false;
    if (const auto bad = probes_.first_bad(has_own ? 1 : 0)) {
        const std::string why = messages_->error();
        return report_of(Obstacle::kNetwork,
                         why.empty()
                             ? "no RDMA message of rank " + std::to_string(*bad) + " in ten seconds"
                             : why);
    }
    if (has_own && !network_.reaches_itself()) messages_->give_up_pair(0);
    return {};
}

// Without it messages go all the same.
Result<Done> Connector::agree_on_word() {
    if (!all_reach_first(placement_)) return Done{};
    // Rank 0 alone needs to reach itself; others' contexts never tried.
    const bool can_reach = messages_ && messages_->is_counted_at(0) && network_.reaches_itself();
    const uint32_t can_add = can_reach ? 1 : 0;
    const auto all = all_.exchange(can_add);
    if (!all) return all.error();
    const bool can_all = std::ranges::all_of(all.value(), [](uint32_t one) { return one != 0; });
    if (can_all) messages_->use_adders(all_.size);
    return Done{};
}

// For later teams. The pair with oneself is for this one alone.
Report Connector::keep_links() {
    if (!traits_.is_in_turn || !links_) return {};
    if (are_apart(process_.member(), others())) network_.keep_links(links_);
    return {};
}

Result<Done> Connector::make() {
    if (auto introduced = introduce(); !introduced) return introduced;
    if (traits_.is_in_turn) {
        auto joined = join_links();
        if (!joined) return std::move(joined.error());  // a copy might find no memory
        if (joined.value()) return Done{};
    }
    if (auto exchanged = exchange_cards(); !exchanged) return exchanged;
    attempt(mine_, [&] { return connect(); });
    if (auto connected = all_.agree_briefly(mine_); !connected) return connected;
    attempt(mine_, [&] { return probe(); });
    attempt(mine_, [&] { return keep_links(); });
    if (auto probed = all_.agree_briefly(mine_); !probed) return probed;
    return agree_on_word();
}

}  // namespace

Result<Done> connect(RdmaNetwork& network, const topo::Placement& placement,
                     const TeamTraits& traits, agree::Circle& all, Connected& connected) {
    return Connector(network, placement, traits, all, connected).make();
}

}  // namespace tutti::networks::rdma
