// SPDX-License-Identifier: BSD-3-Clause
#include "run/exec/executor.h"

#include <numeric>

#include "unit/run/exec/support.h"

namespace tutti::test {
namespace {

using sched::after_op;
using sched::kAfterNone;

constexpr uint64_t kScratchMax = 64u << 20;

// One rank: its endpoint and its executor.
struct Seat {
    Seat(Network& network, uint32_t rank, node::Team* node = nullptr)
        : endpoint(network, rank), executor(node, endpoint) {}
    void start(const sched::Program& program, const exec::Arguments& arguments, uint32_t call = 1) {
        const auto reserved = executor.reserve(program.extent(), kScratchMax);
        ASSERT_TRUE(static_cast<bool>(reserved));
        executor.start(program, call, arguments);
    }
    Network::Endpoint endpoint;
    exec::Executor executor;
};

// Steps both in turn until both are done.
void finish(Seat& one, Seat& other) {
    for (int turn = 0; turn < 10'000; ++turn) {
        const Step a = one.executor.step();
        const Step b = other.executor.step();
        ASSERT_NE(a, Step::kFailed);
        ASSERT_NE(b, Step::kFailed);
        if (a == Step::kDone && b == Step::kDone) return;
    }
    FAIL() << "no end";
}

// Allreduce of two ranks: both send their vector, both fold in rank order.
ListProgram exchange(uint32_t rank, uint64_t bytes) {
    const auto in = sched::input(0, bytes);
    const auto out = sched::output(0, bytes);
    const auto landing = sched::scratch(0, bytes);
    const auto fold = rank == 0 ? sched::recv_reduce_right(1, 0, out, in, landing)
                                : sched::recv_reduce_left(0, 0, out, landing, in);
    return ListProgram({{{sched::send(1 - rank, 0, in), fold}}}, 1, bytes);
}

std::vector<uint32_t> numbers(size_t count, uint32_t first) {
    std::vector<uint32_t> values(count);
    std::iota(values.begin(), values.end(), first);
    return values;
}

TEST(Executor, FoldsWhatArrives) {
    for (const size_t count : {size_t{1}, size_t{3}, size_t{300'000}}) {
        Network network;
        Seat seats[2] = {{network, 0}, {network, 1}};
        auto in0 = numbers(count, 5);
        auto in1 = numbers(count, 70);
        std::vector<uint32_t> out0(count);
        std::vector<uint32_t> out1(count);
        const ListProgram program0 = exchange(0, count * 4);
        const ListProgram program1 = exchange(1, count * 4);
        seats[0].start(program0, {bytes_of(in0), bytes_of(out0), sum_u32()});
        seats[1].start(program1, {bytes_of(in1), bytes_of(out1), sum_u32()});
        finish(seats[0], seats[1]);
        for (size_t i = 0; i < count; ++i) ASSERT_EQ(out0[i], 75 + 2 * i);
        EXPECT_EQ(out0, out1);
    }
}

TEST(Executor, GivesTheUsersOperatorItsOperandsInOrder) {
    constexpr size_t kCount = 40'000;  // more than a piece of the space for results on the left
    for (const bool in_place : {false, true}) {
        Network network;
        Seat seats[2] = {{network, 0}, {network, 1}};
        const auto in0 = numbers(kCount, 5);
        const auto in1 = numbers(kCount, 70);
        auto send0 = in0;
        auto send1 = in1;
        std::vector<uint32_t> recv0(kCount);
        std::vector<uint32_t> recv1(kCount);
        OrderedOp op0;
        OrderedOp op1;
        const ListProgram program0 = exchange(0, kCount * 4);
        const ListProgram program1 = exchange(1, kCount * 4);
        auto& out0 = in_place ? send0 : recv0;
        auto& out1 = in_place ? send1 : recv1;
        seats[0].start(program0, {bytes_of(send0), bytes_of(out0), op0.reducer()});
        seats[1].start(program1, {bytes_of(send1), bytes_of(out1), op1.reducer()});
        finish(seats[0], seats[1]);
        for (size_t i = 0; i < kCount; ++i) ASSERT_EQ(out0[i], in0[i] * 31 + in1[i]);
        EXPECT_EQ(out0, out1);
        if (!in_place) {
            EXPECT_EQ(send0, in0);
        }
        // The result stands in place of the left operand only at rank 0 in place.
        EXPECT_EQ(op0.calls, in_place ? 3u : 1u);
        EXPECT_EQ(op1.calls, 1u);
    }
}

TEST(Executor, CopiesAndFoldsLocally) {
    Network network;
    Seat seat(network, 0);
    auto in = numbers(8, 1);
    std::vector<uint32_t> out(8);
    const ListProgram program(
        {{{sched::copy(sched::scratch(16, 16), sched::input(0, 16)),
           sched::copy(sched::output(16, 16), sched::input(16, 16))},
          {sched::reduce(sched::output(0, 16), sched::input(16, 16), sched::scratch(16, 16))},
          {sched::copy(sched::output(0, 32), sched::output(0, 32))}}},
        1, 32);
    seat.start(program, {bytes_of(in), bytes_of(out), sum_u32()});
    while (seat.executor.step() != Step::kDone) {
    }
    EXPECT_EQ(out, (std::vector<uint32_t>{6, 8, 10, 12, 5, 6, 7, 8}));
    EXPECT_EQ(in, numbers(8, 1));
    // A copy onto itself is none.
    EXPECT_EQ(seat.executor.work().copied_bytes, 32u);
    EXPECT_EQ(seat.executor.work().reduced_bytes, 16u);
    EXPECT_EQ(seat.executor.work().node_operations, 0u);
}

// What began is seen by what the network was given.
TEST(Executor, BeginsWhatTheMasksAllowAndNoMore) {
    Network network;
    network.held = true;
    Seat seat(network, 0);
    const auto send = [](uint32_t peer, uint64_t after) { return sched::send(peer, 0, {}, after); };
    const ListProgram program({{{send(1, kAfterNone), send(2, kAfterNone)},
                                {send(3, kAfterNone), send(4, after_op(1)), send(5, kAfterNone)},
                                {send(6, kAfterNone)}}},
                              1, 0);
    seat.start(program, {});
    EXPECT_EQ(network.posted_count, 4u);
    EXPECT_EQ(seat.executor.waits_for(), (std::vector<uint32_t>{1, 2, 3, 5}));
    EXPECT_EQ(seat.executor.step(), Step::kBlocked);
    // 2 has arrived, so 4 may begin; 6 waits for the whole of the first round.
    Network::Endpoint two(network, 2);
    transport::Ticket ticket;
    two.recv(0, {1, 0, 0, 0}, nullptr, 0, ticket);
    network.held = false;
    EXPECT_EQ(seat.executor.step(), Step::kAdvanced);
    EXPECT_EQ(seat.executor.waits_for(), (std::vector<uint32_t>{1, 3, 4, 5}));
    Network::Endpoint one(network, 1);
    transport::Ticket other;
    one.recv(0, {1, 0, 0, 0}, nullptr, 0, other);
    EXPECT_EQ(seat.executor.step(), Step::kAdvanced);
    EXPECT_EQ(seat.executor.waits_for(), (std::vector<uint32_t>{3, 4, 5, 6}));
    EXPECT_EQ(program.reads, 3u);
}

// A fabric that tells by one queue is asked once a step, and only while messages are under way.
TEST(Executor, LooksOnceAStepAtAllMessages) {
    Network network;
    network.held = true;
    Seat seat(network, 0);
    const ListProgram program({{{sched::send(1, 0, {}), sched::send(2, 0, {})}}}, 1, 0);
    seat.start(program, {});
    for (uint64_t step = 1; step <= 3; ++step) {
        EXPECT_EQ(seat.executor.step(), Step::kBlocked);
        EXPECT_EQ(network.polls, step);
        EXPECT_EQ(network.tests, 2 * step);
    }
    Seat other(network, 1);
    auto in = numbers(2, 1);
    std::vector<uint32_t> out(2);
    const ListProgram local({{{sched::copy(sched::output(0, 8), sched::input(0, 8))}}}, 1, 0);
    other.start(local, {bytes_of(in), bytes_of(out), {}});
    EXPECT_EQ(other.executor.step(), Step::kDone);
    EXPECT_EQ(network.polls, 3u);
}

// The fabric may register scratch: it is told what there is, and of nothing that is gone.
TEST(Executor, ExposesItsScratch) {
    Network network;
    {
        Seat seat(network, 0);
        for (const uint64_t bytes : {uint64_t{100}, uint64_t{50}, uint64_t{5000}}) {
            const ListProgram program({{{}}}, 1, bytes);
            ASSERT_TRUE(static_cast<bool>(seat.executor.reserve(program.extent(), kScratchMax)));
            ASSERT_EQ(network.exposed.size(), 1u);
            EXPECT_GE(network.exposed[0].size(), bytes);
        }
    }
    EXPECT_TRUE(network.exposed.empty());
}

// The caller's buffers are told for the time of a call, where it has said how long they are.
TEST(Executor, ExposesTheBuffersOfACallUntilItIsOver) {
    using transport::Memory;
    constexpr uint64_t kBytes = 8192;
    for (const bool is_cancelled : {false, true}) {
        Network network;
        Seat sender(network, 0);
        Seat receiver(network, 1);
        auto in = numbers(kBytes / sizeof(uint32_t), 1);
        auto out = numbers(kBytes / sizeof(uint32_t), 0);
        const ListProgram sends({{{sched::send(1, 0, sched::input(0, kBytes))}}}, 1, 0);
        const ListProgram receives({{{sched::recv(0, 0, sched::output(0, kBytes))}}}, 1, 0);
        receiver.start(receives, {nullptr, bytes_of(out), {}, 0, kBytes});
        ASSERT_EQ(network.exposed.size(), 1u);
        EXPECT_EQ(network.exposed[0].data(), bytes_of(out));
        EXPECT_EQ(network.exposed[0].size(), kBytes);
        if (is_cancelled) {
            receiver.executor.cancel();
            EXPECT_TRUE(network.exposed.empty());
            continue;
        }
        // An input within the output goes with it, and what nobody has said the length of is not
        // told.
        sender.start(sends, {bytes_of(in), bytes_of(in), {}, kBytes, kBytes});
        finish(sender, receiver);
        EXPECT_TRUE(network.exposed.empty());
        receiver.start(receives, {nullptr, bytes_of(out), {}}, 2);
        sender.start(sends, {bytes_of(in), nullptr, {}, kBytes, 0}, 2);
        finish(sender, receiver);
        EXPECT_EQ(network.kinds, (std::vector{Memory::kOutput, Memory::kOutput, Memory::kInput}));
        EXPECT_TRUE(network.exposed.empty());
    }
}

TEST(Executor, KeepsSoManyLanesInFlight) {
    constexpr uint32_t kLanes = 7;
    Network network;
    std::vector<ListProgram::Lane> sends;
    std::vector<ListProgram::Lane> recvs;
    auto in = numbers(kLanes, 1);
    std::vector<uint32_t> out(kLanes);
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
        // Through the slot's scratch, so that a lane that begins too early spoils another.
        sends.push_back({{sched::copy(sched::scratch(0, 4), sched::input(lane * 4, 4))},
                         {sched::send(1, lane % 2, sched::scratch(0, 4))}});
        recvs.push_back({{sched::recv(0, lane % 2, sched::scratch(0, 4))},
                         {sched::copy(sched::output(lane * 4, 4), sched::scratch(0, 4))}});
    }
    const ListProgram program0(sends, 3, 4);
    const ListProgram program1(recvs, 3, 4);
    Seat seats[2] = {{network, 0}, {network, 1}};
    seats[1].start(program1, {nullptr, bytes_of(out), {}});
    EXPECT_EQ(network.posted_count, 3u);
    seats[0].start(program0, {bytes_of(in), nullptr, {}});
    finish(seats[0], seats[1]);
    EXPECT_EQ(out, in);
    EXPECT_EQ(network.posted_count, 2 * kLanes);
}

TEST(Executor, CutsLongWorkIntoSteps) {
    Network network;
    Seat seat(network, 0);
    std::vector<uint32_t> in = numbers(1u << 18, 0);  // 1 MiB
    std::vector<uint32_t> out(in.size());
    const ListProgram program(
        {{{sched::copy(sched::output(0, in.size() * 4), sched::input(0, in.size() * 4))}}}, 1, 0);
    seat.start(program, {bytes_of(in), bytes_of(out), {}});
    int steps = 1;
    while (seat.executor.step() != Step::kDone) ++steps;
    EXPECT_EQ(steps, 4);
    EXPECT_EQ(out, in);
}

TEST(Executor, RunsEmptyLanesAndPrograms) {
    Network network;
    Seat seat(network, 0);
    const ListProgram empty({{}}, 1, 0);
    seat.start(empty, {});
    EXPECT_EQ(seat.executor.step(), Step::kDone);
    const ListProgram hollow({{{}, {}, {}}, {}, {{}}}, 2, 0);
    seat.start(hollow, {}, 2);
    EXPECT_EQ(seat.executor.step(), Step::kDone);
}

TEST(Executor, EndsWhereTheTransportFails) {
    Network network;
    Seat seats[2] = {{network, 0}, {network, 1}};
    auto in = numbers(4, 1);
    std::vector<uint32_t> out(4);
    const ListProgram program = exchange(0, 16);
    seats[0].start(program, {bytes_of(in), bytes_of(out), sum_u32()});
    EXPECT_EQ(seats[0].executor.step(), Step::kBlocked);
    network.broken = true;
    EXPECT_EQ(seats[0].executor.step(), Step::kFailed);
    EXPECT_EQ(seats[0].executor.error(), "the cable is out");
    const uint64_t tests = network.tests;
    EXPECT_EQ(seats[0].executor.step(), Step::kFailed);
    EXPECT_EQ(network.tests, tests);
    EXPECT_EQ(out, std::vector<uint32_t>(4));
    // Final: later calls fail too and post nothing, whatever the network does then.
    network.broken = false;
    const uint64_t posted = network.posted_count;
    EXPECT_FALSE(static_cast<bool>(seats[0].executor.reserve(program.extent(), kScratchMax)));
    seats[0].executor.start(program, 2, {bytes_of(in), bytes_of(out), sum_u32()});
    EXPECT_EQ(seats[0].executor.step(), Step::kFailed);
    EXPECT_EQ(network.posted_count, posted);
}

TEST(Executor, SaysHowMuchScratchIsTooMuch) {
    Network network;
    Seat seat(network, 0);
    const auto refused = seat.executor.reserve({10, 4, 1, 100}, 511);
    ASSERT_FALSE(static_cast<bool>(refused));
    EXPECT_EQ(refused.error().message,
              "a schedule wants 512 bytes of scratch memory, 511 are allowed");
    EXPECT_TRUE(static_cast<bool>(seat.executor.reserve({10, 4, 1, 100}, 512)));
    // No more slots than lanes.
    EXPECT_TRUE(static_cast<bool>(seat.executor.reserve({1, 4, 1, 100}, 128)));
}

}  // namespace
}  // namespace tutti::test
