// SPDX-License-Identifier: BSD-3-Clause
// The end of a team waits for nobody: what its rank owes to others stays with the context.
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/eventfd.h>

#include <array>
#include <memory>
#include <new>

#include "conformance/mailbox.h"
#include "run/engine/inter_node.h"
#include "sanitized.h"

namespace tutti::engine {
namespace {

constexpr transport::carrier::RingParams kRing{4, 2, 1};
constexpr uint64_t kToken = 71;

// A rank, alone on its host, of a team on two hosts with multicast.
class Rank {
  public:
    // The second host may have more ranks than this one.
    Rank(test::Mailbox& mailbox, uint32_t rank, uint32_t others = 1) {
        tutti_context_params params{};
        params.struct_bytes = sizeof params;
        params.progress = [](void* user) { ++*static_cast<int*>(user); };
        params.progress_user = &turns_;
        context_ = std::move(Context::create(params).value());
        const tutti_p2p p2p = mailbox.callbacks(rank);
        transport::TagLease tags(context_->tags(), p2p, 1, kToken);
        EXPECT_TRUE(tags.take(0));
        std::vector<uint64_t> hosts(1 + others, 2);
        hosts[0] = 1;
        const topo::Placement placement(hosts);
        inter_node_ = std::make_unique<InterNode>(*context_, placement, rank, p2p,
                                                  std::vector<uint32_t>{}, std::move(tags));
        slice_ = arena::Mapping::anonymous(node::kPageBytes + ring_bytes(kRing)).value();
        new (slice_->base()) node::SliceHeader{};
        transport::carrier::Ring::format(multicast::ring_memory(*slice_), kRing);
        multicast::MulticastOutcome outcome;
        auto made = std::make_unique<multicast::TeamMulticast>(
            context_->process_multicast(),
            multicast::TeamMulticast::Parts{slice_, multicast_network_number("udp"),
                                            Fd(eventfd(0, EFD_CLOEXEC)), nullptr},
            rank, inter_node_->placement(), inter_node_->first().transport());
        route_ = &made->route();
        outcome.route = std::move(made);
        inter_node_->multicast().set(std::move(outcome));
        inter_node_->attach(std::array<node::Team*, 1>{nullptr});
    }
    // Its group fails.
    void fail(uint32_t rank) {
        ring().close(static_cast<mcast::Member>(1 - rank));
        ring().freeze();
    }
    // Its group learns that all members have left.
    void hear_byes() { ring().end(); }
    [[nodiscard]] bool has_left() const { return ring().header().left.load() == 1; }
    // A multicast that nobody has confirmed.
    void send(uint64_t number, const std::vector<std::byte>& data) {
        auto filled = ring().fill(number, 0, data.data(), data.size());
        EXPECT_EQ(filled, transport::carrier::Ring::Fill::kDone);
    }
    [[nodiscard]] InterNode& inter_node() { return *inter_node_; }
    // Until the end.
    [[nodiscard]] transport::carrier::Route& route() { return *route_; }
    // As the end of a team does it.
    void end() {
        if (!inter_node_->retire(true)) context_->remnants().keep(std::move(inter_node_));
        inter_node_.reset();
        context_->remnants().tidy();
    }
    // As other teams' waits do, and MPI_Finalize.
    void attend() {
        context_->process_multicast().attend_all();
        context_->remnants().tidy();
    }
    // The last thing that the team's multicast does.
    [[nodiscard]] bool is_gone() const {
        const auto& header = *reinterpret_cast<const node::SliceHeader*>(slice_->base());
        return header.detached.load() == 1;
    }
    [[nodiscard]] int turns() const { return turns_; }

  private:
    [[nodiscard]] transport::carrier::Ring ring() const {
        return transport::carrier::Ring(multicast::ring_memory(*slice_));
    }

    int turns_ = 0;
    std::unique_ptr<Context> context_;
    std::unique_ptr<InterNode> inter_node_;
    transport::carrier::Route* route_ = nullptr;
    std::shared_ptr<arena::Mapping> slice_;
};

TEST(EndOfATeam, WaitsForNobodyWhoMissesSomething) {
    test::Mailbox mailbox(2);
    Rank first(mailbox, 0);
    Rank second(mailbox, 1);
    first.fail(0);
    second.fail(1);
    // The other one does not stir.
    first.end();
    EXPECT_EQ(first.turns(), 0);
    for (int turn = 0; turn < 10; ++turn) first.attend();
    EXPECT_FALSE(first.is_gone());
    second.end();
    for (int turn = 0; turn < 100; ++turn) {
        first.attend();
        second.attend();
    }
    EXPECT_TRUE(first.is_gone());
    EXPECT_TRUE(second.is_gone());
    EXPECT_EQ(mailbox.under_way(), 0u);
    EXPECT_EQ(first.turns() + second.turns(), 0);
}

// Who has freed the team before it knew of the failure takes its part all the same: the others
// learn from when on to do without multicast, and get what they miss of what it had sent.
TEST(EndOfATeam, WhoFreedItBeforeTheFailureTakesItsPart) {
    test::Mailbox mailbox(2);
    Rank first(mailbox, 0);
    Rank second(mailbox, 1);
    const std::vector<std::byte> sent(100, std::byte{7});
    first.send(0, sent);
    first.end();
    EXPECT_TRUE(first.has_left());
    for (int turn = 0; turn < 10; ++turn) first.attend();
    EXPECT_FALSE(first.is_gone()) << "the group may still fail";
    first.fail(0);
    second.fail(1);
    // The call in which it was sent.
    transport::Ticket ticket;
    std::vector<std::byte> got(100);
    transport::carrier::Route& route = second.route();
    route.begin_call(1);
    route.recv_multicast(0, 0, got.data(), got.size(), ticket);
    for (int turn = 0; turn < 100; ++turn) {
        first.attend();
        second.inter_node().multicast().decide();
    }
    EXPECT_EQ(route.test(ticket), transport::State::kDone);
    EXPECT_EQ(got, sent);
    EXPECT_EQ(second.inter_node().multicast().decide(), transport::State::kDone);
    first.attend();
    EXPECT_TRUE(first.is_gone());
    second.end();
    EXPECT_TRUE(second.is_gone());
    EXPECT_EQ(mailbox.under_way(), 0u);
}

// It stays no longer than until all have freed it.
TEST(EndOfATeam, IsOverWhenAllHaveLeft) {
    test::Mailbox mailbox(2);
    Rank first(mailbox, 0);
    first.end();
    EXPECT_FALSE(first.is_gone());
    EXPECT_EQ(first.turns(), 0) << "it waits for nobody";
    first.attend();
    EXPECT_FALSE(first.is_gone());
    first.hear_byes();
    first.attend();
    EXPECT_TRUE(first.is_gone());
    // Known already when the team is freed.
    Rank second(mailbox, 1);
    second.hear_byes();
    second.end();
    EXPECT_TRUE(second.is_gone());
    EXPECT_EQ(mailbox.under_way(), 0u);
}

size_t bytes_in_use() {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

// However long the others take: a program frees many teams, and each may have lost its group.
TEST(EndOfATeam, KeepsNoMemoryOfItsCalls) {
    if (TUTTI_TEST_SANITIZED) GTEST_SKIP() << "a sanitizer has its own malloc";
    test::Mailbox mailbox(2);
    Rank first(mailbox, 0);
    Rank second(mailbox, 1);
    first.fail(0);
    second.fail(1);
    const size_t before = bytes_in_use();
    sched::Shape shape;
    shape.collective = TUTTI_ALLREDUCE;
    shape.ranks = 2;
    shape.bytes = 64u << 20;
    shape.element_bytes = 8;
    shape.is_commutative = true;
    const auto plan = first.inter_node().first().planner().plan(shape);
    ASSERT_TRUE(plan) << plan.error().message;
    ASSERT_TRUE(first.inter_node().first().reserve(*plan.value()));
    ASSERT_GT(bytes_in_use(), before + (1u << 16));
    first.end();
    for (int turn = 0; turn < 10; ++turn) first.attend();
    EXPECT_FALSE(first.is_gone());
    EXPECT_LT(bytes_in_use(), before + (1u << 14));
    second.end();
    for (int turn = 0; turn < 100; ++turn) {
        first.attend();
        second.attend();
    }
    EXPECT_TRUE(first.is_gone());
}

// More notes than may be under way: those that find no room go when others have been taken, also
// where the team has gone back from multicast.
TEST(EndOfATeam, TellsOnWithoutTheMulticastThatCameToNothing) {
    constexpr uint32_t kOthers = 40;
    test::Mailbox mailbox(1 + kOthers);
    Rank first(mailbox, 0, kOthers);
    first.inter_node().drop_multicast("for a test");
    notes::Note note;
    note.kind = notes::Note::Kind::kGaveUp;
    first.inter_node().first().messages().notice().begin(note);
    ASSERT_LT(mailbox.under_way(), kOthers);
    first.end();
    uint32_t heard = 0;
    for (uint32_t rank = 1; rank <= kOthers; ++rank) {
        const tutti_p2p p2p = mailbox.callbacks(rank);
        transport::TagBook book;
        transport::TagLease tags(book, p2p, 1, kToken);
        ASSERT_TRUE(tags.take(0));
        notes::Notes notes(p2p, tags.note_tag(0), {}, 1 + kOthers, rank, tags.token());
        heard += notes.receive(note) ? 1 : 0;
        first.attend();
    }
    EXPECT_EQ(heard, kOthers);
}

}  // namespace
}  // namespace tutti::engine
