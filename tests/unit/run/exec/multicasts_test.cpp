// SPDX-License-Identifier: BSD-3-Clause
// One rank and a route that notes what is posted, and completes what the test says.
#include <set>

#include "run/exec/executor.h"
#include "run/transport/multicast.h"
#include "unit/run/exec/support.h"

namespace tutti::test {
namespace {

using sched::after_op;
using sched::kAfterNone;
using sched::kMulticastsInFlightMax;

class Notes final : public transport::Multicast {
  public:
    struct Post {
        uint64_t number = 0;
        bool is_send = false;
        uint32_t sender = 0;
        const std::byte* data = nullptr;
        size_t bytes = 0;
        bool operator==(const Post&) const = default;
    };
    std::vector<Post> posts;
    std::set<uint64_t> complete;
    bool completes_at_once = false;
    bool is_broken = false;
    uint64_t tests = 0;
    uint64_t call_offs = 0;

    void multicast(uint64_t number, const std::byte* data, size_t bytes,
                   transport::Ticket& ticket) override {
        post({number, true, 0, data, bytes}, ticket);
    }
    void recv_multicast(uint64_t number, transport::Rank sender, std::byte* data, size_t bytes,
                        transport::Ticket& ticket) override {
        post({number, false, sender, data, bytes}, ticket);
    }
    transport::State test(transport::Ticket& ticket) override {
        ++tests;
        EXPECT_EQ(ticket.state, transport::State::kPending) << "nothing is tested twice";
        if (is_broken) return ticket.state = transport::State::kFailed;
        if (complete.contains(ticket.number)) ticket.state = transport::State::kDone;
        return ticket.state;
    }
    void call_off() override { ++call_offs; }
    [[nodiscard]] std::string error() const override { return "the switch is out"; }

    [[nodiscard]] std::vector<uint64_t> numbers() const {
        std::vector<uint64_t> result;
        for (const Post& post : posts) result.push_back(post.number);
        return result;
    }

  private:
    void post(const Post& post, transport::Ticket& ticket) {
        posts.push_back(post);
        ticket.number = post.number;
        ticket.state = completes_at_once ? transport::State::kDone : transport::State::kPending;
    }
};

class Multicasts : public testing::Test {
  protected:
    void start(const sched::Program& program) {
        ASSERT_TRUE(static_cast<bool>(executor.reserve(program.extent(), 1u << 20)));
        executor.start(program, ++calls, {memory.data(), memory.data(), {}});
    }
    // Until nothing moves any more.
    Step step() {
        Step result = Step::kAdvanced;
        for (int turn = 0; turn < 1000 && result == Step::kAdvanced; ++turn) {
            result = executor.step();
        }
        return result;
    }

    Network network;
    Network::Endpoint endpoint{network, 0};
    Notes route;
    exec::Executor executor{nullptr, endpoint, &route};
    std::vector<std::byte> memory{1u << 20};
    uint32_t calls = 0;
};

std::vector<uint64_t> up_to(uint64_t from, uint64_t end) {
    std::vector<uint64_t> numbers;
    for (uint64_t number = from; number < end; ++number) numbers.push_back(number);
    return numbers;
}

// `count` receives from rank 3, in rounds of `width`, that ask nothing of each other.
ListProgram receives(uint64_t count, uint64_t width) {
    ListProgram::Lane lane;
    for (uint64_t number = 0; number < count; ++number) {
        if (number % width == 0) lane.emplace_back();
        const auto place = sched::output(number * 8, 8);
        lane.back().push_back(sched::recv_multicast(3, number, place, kAfterNone));
    }
    return ListProgram({lane}, 1, 0);
}

TEST_F(Multicasts, NameTheirBlocks) {
    const ListProgram program({{{sched::multicast(0, sched::input(16, 100)),
                                 sched::recv_multicast(2, 1, sched::output(200, 30)),
                                 sched::recv_multicast(1, 2, sched::output(300, 0))}}},
                              1, 0);
    start(program);
    EXPECT_EQ(executor.step(), Step::kAdvanced);
    const std::vector<Notes::Post> expected = {{0, true, 0, memory.data() + 16, 100},
                                               {1, false, 2, memory.data() + 200, 30},
                                               {2, false, 1, nullptr, 0}};
    EXPECT_EQ(route.posts, expected);
    EXPECT_EQ(executor.step(), Step::kBlocked);
    EXPECT_EQ(executor.waits_for(), (std::vector<uint32_t>{1, 2}));
    route.complete = {1};
    EXPECT_EQ(executor.step(), Step::kAdvanced);
    EXPECT_EQ(executor.waits_for(), std::vector<uint32_t>{1});
    route.complete = {0, 2};
    EXPECT_EQ(executor.step(), Step::kDone);
}

// Lane 1 may begin its numbers before lane 0 may begin those below them, and must not.
TEST_F(Multicasts, BeginInTheOrderOfTheirNumbers) {
    network.held = true;
    const auto get = [](uint64_t number, uint64_t after) {
        return sched::recv_multicast(5, number, {}, after);
    };
    const ListProgram program(
        {{{sched::send(1, 0, {}, kAfterNone)}, {get(0, after_op(0)), get(4, after_op(0))}},
         {{get(3, kAfterNone), get(1, kAfterNone)}, {get(2, kAfterNone)}}},
        2, 0);
    start(program);
    EXPECT_EQ(step(), Step::kBlocked);
    EXPECT_TRUE(route.posts.empty());
    Network::Endpoint one(network, 1);
    transport::Ticket ticket;
    one.recv(0, {1, 0, 0, 0}, nullptr, 0, ticket);
    network.held = false;
    EXPECT_EQ(step(), Step::kBlocked);
    EXPECT_EQ(route.numbers(), up_to(0, 5));
    // They complete in any order.
    for (const uint64_t number : {3, 0, 4, 1}) {
        route.complete = {number};
        EXPECT_EQ(step(), Step::kBlocked);
    }
    route.complete = {2};
    EXPECT_EQ(step(), Step::kDone);
    EXPECT_EQ(route.posts.size(), 5u);
}

TEST_F(Multicasts, AreSoManyInFlightAndNoMore) {
    const ListProgram program = receives(100, 60);
    start(program);
    EXPECT_EQ(step(), Step::kBlocked);
    EXPECT_EQ(route.posts.size(), kMulticastsInFlightMax);
    // All but the first: the next one waits for that.
    for (uint64_t number = 1; number < 100; ++number) route.complete.insert(number);
    EXPECT_EQ(step(), Step::kBlocked);
    EXPECT_EQ(route.posts.size(), kMulticastsInFlightMax);
    const uint64_t tests = route.tests;
    EXPECT_EQ(step(), Step::kBlocked);
    EXPECT_EQ(route.tests, tests + 1) << "only the one that is pending";
    route.complete.insert(0);
    EXPECT_EQ(step(), Step::kDone);
    EXPECT_EQ(route.numbers(), up_to(0, 100));
    EXPECT_EQ(program.reads, 2u);
}

TEST_F(Multicasts, AreCountedOverAllCalls) {
    route.completes_at_once = true;
    const ListProgram three = receives(3, 2);
    const ListProgram none({{{sched::copy(sched::output(0, 8), sched::input(8, 8))}}}, 1, 0);
    const ListProgram seventy = receives(70, 64);
    for (const ListProgram* program : {&three, &none, &seventy, &three}) {
        start(*program);
        EXPECT_EQ(step(), Step::kDone);
    }
    EXPECT_EQ(route.numbers(), up_to(0, 3 + 70 + 3));
    EXPECT_EQ(route.tests, 0u) << "complete when they were posted";
}

TEST_F(Multicasts, AreCountedAnewOnAnotherRoute) {
    route.completes_at_once = true;
    const ListProgram three = receives(3, 2);
    for (int call = 0; call < 2; ++call) {
        start(three);
        EXPECT_EQ(step(), Step::kDone);
    }
    Notes other;
    other.completes_at_once = true;
    executor.set_route(&other);
    for (int call = 0; call < 2; ++call) {
        start(three);
        EXPECT_EQ(step(), Step::kDone);
    }
    EXPECT_EQ(route.numbers(), up_to(0, 6));
    EXPECT_EQ(other.numbers(), up_to(0, 6));
}

// Dependencies hold for multicasts as for all other operations.
TEST_F(Multicasts, WaitForWhatTheySend) {
    const ListProgram program({{{sched::recv(1, 0, sched::output(0, 8))},
                                {sched::multicast(0, sched::output(0, 8))},
                                {sched::send(1, 0, sched::output(0, 8))}}},
                              1, 0);
    start(program);
    EXPECT_EQ(step(), Step::kBlocked);
    EXPECT_TRUE(route.posts.empty());
    Network::Endpoint one(network, 1);
    transport::Ticket ticket;
    one.send(0, {1, 0, 0, 0}, memory.data() + 64, 8, ticket);
    EXPECT_EQ(step(), Step::kBlocked);
    EXPECT_EQ(route.posts.size(), 1u);
    EXPECT_EQ(network.posted_count, 2u) << "the block is not sent on yet";
    route.complete = {0};
    one.recv(0, {1, 0, 0, 0}, memory.data() + 64, 8, ticket);
    EXPECT_EQ(step(), Step::kDone);
}

TEST_F(Multicasts, AreCalledOffWithTheirCall) {
    const ListProgram program = receives(2, 2);
    start(program);
    EXPECT_EQ(step(), Step::kBlocked);
    EXPECT_EQ(route.call_offs, 0u);
    executor.cancel();
    EXPECT_EQ(route.call_offs, 1u);
    EXPECT_EQ(executor.step(), Step::kFailed);
    EXPECT_EQ(route.posts.size(), 2u);
}

TEST_F(Multicasts, FailForGood) {
    const ListProgram program = receives(2, 2);
    start(program);
    EXPECT_EQ(step(), Step::kBlocked);
    route.is_broken = true;
    EXPECT_EQ(executor.step(), Step::kFailed);
    EXPECT_EQ(executor.error(), "the switch is out");
    const uint64_t tests = route.tests;
    EXPECT_EQ(executor.step(), Step::kFailed);
    EXPECT_EQ(route.tests, tests);
    executor.start(program, 2, {});
    EXPECT_EQ(executor.step(), Step::kFailed);
    EXPECT_EQ(route.posts.size(), 2u);
}

}  // namespace
}  // namespace tutti::test
