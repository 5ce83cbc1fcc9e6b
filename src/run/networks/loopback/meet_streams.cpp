// SPDX-License-Identifier: BSD-3-Clause
// Each round is one allgather over all members:
//
//   1  each listens at a name of its own: which one, and on which machine?
//   2  has everybody called the lower ranks of other hosts, and said who it is?
//   3  has everybody answered the higher ones, and had a message each way?
//
// What goes wrong on one is told in the next round, and then all go without.
#include "run/networks/loopback/meet_streams.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "run/arena/process.h"
#include "run/networks/pair_probes.h"

namespace tutti::networks::loopback {
namespace {

using agree::attempt;
using agree::Circle;
using agree::guarded;
using agree::Obstacle;
using agree::Report;
using agree::report_of;
using transport::Rank;

constexpr uint64_t kProbeNsMax = 10'000'000'000;
constexpr size_t kProbeBytes = 64;

struct Card {
    Obstacle obstacle = Obstacle::kNone;
    uint32_t unused = 0;
    uint64_t machine = 0;
    uint64_t name = 0;    // where it listens
    uint64_t secret = 0;  // what its callers know
};

// What a caller says first. Any process of the machine may find the socket; members alone know the
// secret of the one that listens.
struct Hello {
    uint64_t secret = 0;
    uint64_t rank = 0;
};

// It is of the same user.
bool is_own_user(const Fd& socket) {
    ucred other{};
    socklen_t bytes = sizeof other;
    return getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &other, &bytes) == 0 &&
           other.uid == geteuid();
}

// In the abstract name space, so that nothing is left behind.
socklen_t address_of(uint64_t name, sockaddr_un& address) {
    address = {};
    address.sun_family = AF_UNIX;
    const int length =
        std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "tutti-loopback-%016llx",
                      static_cast<unsigned long long>(name));
    return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 +
                                  static_cast<size_t>(length));
}

Report trouble(const std::string& what) {
    return report_of(Obstacle::kSystem, what + ": " + std::strerror(errno));
}

class Maker {
  public:
    Maker(Process& process, uint64_t machine, const topo::Placement& placement, Circle& all)
        : process_(process), machine_(machine), placement_(placement), all_(all) {}
    Result<Done> make(std::unique_ptr<StreamMessages>& own);

  private:
    Report listen_at(Card& card);
    Result<Done> introduce();
    Report call_lower();
    Report answer_higher();
    Report answer();
    Report probe();

    Process& process_;
    const uint64_t machine_;
    const topo::Placement& placement_;
    Circle& all_;
    Report mine_;  // the first that kept this member from going on
    std::vector<Rank> peers_;
    std::vector<Fd> sockets_;  // theirs
    std::vector<Card> cards_;  // by rank
    uint64_t secret_ = 0;
    Fd listening_;
    std::unique_ptr<StreamMessages> messages_;
    PairProbes probes_;
};

Report Maker::listen_at(Card& card) {
    if (all_.size > kRanksMax) {
        return report_of(Obstacle::kSystem,
                         "it connects " + std::to_string(kRanksMax) + " ranks at most");
    }
    for (Rank rank = 0; rank < all_.size; ++rank) {
        if (placement_.node_of(rank) != placement_.node_of(all_.rank)) peers_.push_back(rank);
    }
    sockets_.resize(peers_.size());
    cards_.resize(all_.size);
    card.machine = machine_;
    card.name = arena::random_token();
    card.secret = secret_ = arena::random_token();
    listening_ = Fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (listening_.get() < 0) return trouble("no socket");
    sockaddr_un address;
    const socklen_t bytes = address_of(card.name, address);
    const auto* where = reinterpret_cast<const sockaddr*>(&address);
    if (bind(listening_.get(), where, bytes) != 0) return trouble("no name for a socket");
    if (listen(listening_.get(), static_cast<int>(all_.size)) != 0) return trouble("cannot listen");
    return {};
}

// Pure, and alike on all: sockets reach no other machine.
Report stranger_among(std::span<const Card> cards) {
    for (const Card& card : cards) {
        if (card.machine == cards[0].machine) continue;
        Report report;  // without memory, of which a member may have none
        report.obstacle = Obstacle::kNetwork;
        report.is_named = 1;
        std::snprintf(report.detail, sizeof report.detail, "its ranks are on several machines");
        return report;
    }
    return {};
}

Result<Done> Maker::introduce() {
    Card mine;
    attempt(mine_, [&] { return listen_at(mine); });
    mine.obstacle = mine_.obstacle;
    const auto cards = all_.exchange(mine);
    if (!cards) return cards.error();
    const auto blocked = [](const Card& card) { return card.obstacle != Obstacle::kNone; };
    if (std::ranges::any_of(cards.value(), blocked)) return all_.agree(mine_);
    const Report stranger = stranger_among(cards.value());
    if (stranger.obstacle != Obstacle::kNone) return all_.error_of(0, stranger);
    std::ranges::copy(cards.value(), cards_.begin());
    return Done{};
}

// Each listening socket has room for the calls of all ranks, so no call waits.
Report Maker::call_lower() {
    for (size_t i = 0; i < peers_.size() && peers_[i] < all_.rank; ++i) {
        const std::string peer = "rank " + std::to_string(peers_[i]);
        sockets_[i] = Fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        if (sockets_[i].get() < 0) return trouble("no socket for " + peer);
        sockaddr_un address;
        const socklen_t bytes = address_of(cards_[peers_[i]].name, address);
        const auto* where = reinterpret_cast<const sockaddr*>(&address);
        if (connect(sockets_[i].get(), where, bytes) != 0) return trouble("no way to " + peer);
        if (!is_own_user(sockets_[i])) {
            return report_of(Obstacle::kSystem, peer + "'s socket is another user's");
        }
        const Hello hello{cards_[peers_[i]].secret, all_.rank};
        if (::send(sockets_[i].get(), &hello, sizeof hello, MSG_NOSIGNAL) != sizeof hello) {
            return trouble("no word to " + peer);
        }
    }
    return {};
}

// One that is none of the team's members is turned away.
Report Maker::answer() {
    Fd caller(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (caller.get() < 0) return trouble("a rank has not called");
    Hello hello;
    const bool is_told = read(caller.get(), &hello, sizeof hello) == sizeof hello;
    if (!is_told || hello.secret != secret_ || !is_own_user(caller)) return {};
    const auto at = std::ranges::lower_bound(peers_, static_cast<Rank>(hello.rank));
    if (at == peers_.end() || *at != hello.rank || hello.rank < all_.rank) return {};
    Fd& socket = sockets_[static_cast<size_t>(at - peers_.begin())];
    if (socket.get() < 0) socket = std::move(caller);
    return {};
}

Report Maker::answer_higher() {
    const auto is_missing = [](const Fd& one) { return one.get() < 0; };
    while (std::ranges::any_of(sockets_, is_missing)) {
        Report report = answer();
        if (report.obstacle != Obstacle::kNone) return report;
    }
    listening_ = Fd();
    messages_ = std::make_unique<StreamMessages>(peers_, std::move(sockets_));
    if (messages_->wait_fd() < 0) return trouble("nothing to sleep on");
    probes_.prepare(all_.rank, peers_, kProbeBytes);
    return {};
}

// All have answered.
Report Maker::probe() {
    probes_.run(process_, *messages_, kProbeNsMax);
    const auto bad = probes_.first_bad();
    if (!bad) return {};
    const std::string why = messages_->error();
    return report_of(Obstacle::kNetwork,
                     why.empty() ? "no message of rank " + std::to_string(*bad) : why);
}

Result<Done> Maker::make(std::unique_ptr<StreamMessages>& own) {
    if (auto introduced = introduce(); !introduced) return introduced;
    attempt(mine_, [&] { return call_lower(); });
    if (auto called = all_.agree_briefly(mine_); !called) return called;
    attempt(mine_, [&] { return answer_higher(); });
    // Else the others would wait for its message.
    if (auto answered = all_.agree_briefly(mine_); !answered) return answered;
    attempt(mine_, [&] { return probe(); });
    if (auto met = all_.agree_briefly(mine_); !met) return met;
    own = std::move(messages_);
    return Done{};
}

}  // namespace

Result<Done> meet_streams(Process& process, uint64_t machine, const topo::Placement& placement,
                          Circle& all, std::unique_ptr<StreamMessages>& own) {
    return Maker(process, machine, placement, all).make(own);
}

}  // namespace tutti::networks::loopback
