// SPDX-License-Identifier: BSD-3-Clause
// The suite over messages between processes, as a library: whoever loads it brings the callbacks
// (tests/mpi/conformance.c, for every MPI). Every process runs the whole suite and is one of its
// ranks. What the other ranks do, they do in their own processes; here a mailbox stands in for
// them, so that the suite sees their side too: each message goes both ways, and is complete when it
// is on both.
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <deque>

#include "conformance/allocations.h"
#include "conformance/fabrics.h"
#include "conformance/mailbox.h"
#include "run/transport/p2p/p2p.h"

namespace tutti::test {
namespace {

using transport::MessageId;
using transport::P2p;
using transport::Rank;
using transport::State;
using transport::Ticket;
using transport::Transport;

struct Process {
    const tutti_p2p* p2p = nullptr;
    uint32_t rank = 0;
    uint32_t first_tag = 0;  // of the next team, so that nothing left over of a test is taken
};
Process process;

// This process's own end.
class OwnEnd final : public Transport {
  public:
    OwnEnd(Transport& real, Transport& stand_in) : real_(real), stand_in_(stand_in) {}
    void send(Rank peer, const MessageId& id, const std::byte* data, size_t bytes,
              Ticket& ticket) override {
        Both& both = add(ticket);
        real_.send(peer, id, data, bytes, both.real);
        stand_in_.send(peer, id, data, bytes, both.stand_in);
        look(both, ticket);
    }
    void recv(Rank peer, const MessageId& id, std::byte* data, size_t bytes,
              Ticket& ticket) override {
        Both& both = add(ticket);
        both.memory.resize(bytes);
        real_.recv(peer, id, data, bytes, both.real);
        stand_in_.recv(peer, id, both.memory.data(), bytes, both.stand_in);
        look(both, ticket);
    }
    State test(Ticket& ticket) override {
        if (ticket.state != State::kPending) return ticket.state;
        Both& both = messages_[ticket.number];
        real_.test(both.real);
        stand_in_.test(both.stand_in);
        look(both, ticket);
        return ticket.state;
    }
    [[nodiscard]] std::string error() const override { return real_.error(); }

  private:
    struct Both {
        Ticket real;
        Ticket stand_in;
        std::vector<std::byte> memory;
    };
    Both& add(Ticket& ticket) {
        ticket.number = messages_.size();
        return messages_.emplace_back();
    }
    // Whether it fails is for the real one to say.
    static void look(const Both& both, Ticket& ticket) {
        const bool is_pending =
            both.real.state == State::kPending || both.stand_in.state == State::kPending;
        ticket.state = is_pending ? State::kPending : both.real.state;
    }

    Transport& real_;
    Transport& stand_in_;
    std::deque<Both> messages_;
};

class ProcessFabric final : public Fabric {
  public:
    explicit ProcessFabric(uint32_t ranks)
        : mailbox_(ranks), real_(*process.p2p, process.first_tag) {
        process.first_tag += P2p::tags_of(1);
        for (uint32_t rank = 0; rank < ranks; ++rank) {
            stand_ins_.push_back(std::make_unique<P2p>(mailbox_.callbacks(rank), 900));
        }
        own_ = std::make_unique<OwnEnd>(real_, *stand_ins_[process.rank]);
    }
    Transport& end(Rank rank) override {
        if (rank == process.rank) return *own_;
        return *stand_ins_[rank];
    }
    // The other processes need their turns.
    void pump() override {
        constexpr uint32_t kTurnsOfYielding = 5000;
        if (++turns_ < kTurnsOfYielding) {
            sched_yield();
        } else {
            usleep(200);
        }
    }

  private:
    Mailbox mailbox_;
    P2p real_;
    std::vector<std::unique_ptr<P2p>> stand_ins_;
    std::unique_ptr<OwnEnd> own_;
    uint32_t turns_ = 0;
};

}  // namespace

const std::vector<FabricMaker>& fabrics() {
    static const std::vector<FabricMaker> all = {
        {"processes", [](uint32_t ranks) { return std::make_unique<ProcessFabric>(ranks); }}};
    return all;
}

// An MPI allocates as it likes, in this binary too.
bool counts_allocations() { return false; }
size_t allocations() { return 0; }

}  // namespace tutti::test

// The number of tests that passed; negative where one did not.
extern "C" [[gnu::visibility("default")]] int run_conformance(const tutti_p2p* p2p, uint32_t rank) {
    tutti::test::process = {p2p, rank, 0};
    int count = 2;
    char name[] = "conformance";
    char brief[] = "--gtest_brief=1";
    char* arguments[] = {name, brief, nullptr};
    testing::InitGoogleTest(&count, arguments);
    const int outcome = RUN_ALL_TESTS();
    const int passed = testing::UnitTest::GetInstance()->successful_test_count();
    return outcome == 0 ? passed : -1;
}
