// SPDX-License-Identifier: BSD-3-Clause
// The parts of an executor, each without the others.
#include <bit>
#include <numeric>

#include "run/exec/local_work.h"
#include "run/exec/multicasts.h"
#include "run/exec/posted_messages.h"
#include "unit/run/exec/support.h"

namespace tutti::test {
namespace {

using exec::CallContext;
using exec::LaneSlots;
using exec::Ref;

// One rank's call of a program, whose operations begin in slot 0 when asked for.
struct OneCall {
    explicit OneCall(ListProgram what) : program(std::move(what)), call(end) {
        const sched::Extent extent = program.extent();
        call.slots.reserve(extent);
        const uint64_t lanes = LaneSlots::lanes_in_flight(extent);
        EXPECT_TRUE(call.buffers.reserve(lanes, extent.scratch_bytes, 1u << 20));
    }
    void start(const exec::Arguments& arguments = {}) {
        call.start(1, {}, false);
        call.slots.start(program);
        call.buffers.start(arguments, call.slots.lanes_in_flight(), program.extent().scratch_bytes);
        for (uint32_t i = 0; i < call.slots.lanes_in_flight(); ++i) {
            call.slots.begin_lane(static_cast<uint8_t>(i));
        }
    }
    // All of the first round; its first operation.
    Ref begin_round() {
        call.slots[0].take_older();
        return {0, call.slots[0].older(), 0};
    }
    // All that may begin, which is done then.
    void finish_round(uint8_t slot = 0) {
        exec::Slot& one = call.slots[slot];
        one.take_older();
        for (uint32_t i = 0; i < one.windows[one.older()].round.size(); ++i) {
            call.slots.set_done({slot, one.older(), static_cast<uint8_t>(i)});
        }
    }

    Network network;
    Network::Endpoint end{network, 0};
    ListProgram program;
    CallContext call;
};

sched::Operation nothing(uint64_t after = sched::kAfterAll) { return sched::copy({}, {}, after); }

ListProgram two_rounds() {
    return ListProgram({{{nothing(), nothing()}, {nothing(0b01), nothing(0b10), nothing(0)}}}, 1,
                       0);
}

TEST(LaneSlots, OperationsOfTheNewerRoundBeginByTheirMasks) {
    OneCall one(two_rounds());
    one.start();
    LaneSlots& slots = one.call.slots;
    exec::Slot& slot = slots[0];
    const Ref older{0, slot.older(), 0};
    EXPECT_EQ(slot.take_older(), 0b11u);
    EXPECT_EQ(slot.take_older(), 0u) << "each begins once";
    EXPECT_EQ(slot.take_newer(), 0b100u);
    slots.set_done(older.with(1));
    EXPECT_FALSE(slot.windows[slot.older()].is_over());
    EXPECT_EQ(slot.take_newer(), 0b010u);
    slots.set_done(older);
    EXPECT_TRUE(slot.windows[slot.older()].is_over());
    EXPECT_TRUE(slots.go_on(0));
    // What has begun as the newer round goes on as the older one.
    EXPECT_EQ(slot.take_older(), 0b001u);
    EXPECT_EQ(one.program.reads, 2u);
}

TEST(LaneSlots, ALaneFollowsInItsSlot) {
    const ListProgram::Lane lane{{nothing()}};
    OneCall one(ListProgram({lane, lane, lane, lane, lane}, 2, 0));
    one.start();
    LaneSlots& slots = one.call.slots;
    EXPECT_EQ(slots.operations_max(), 2u * 2 * sched::kRoundOpsMax);
    std::vector<uint64_t> lanes;
    for (uint8_t slot : {uint8_t{0}, uint8_t{1}}) {
        do {
            EXPECT_FALSE(slots.is_over());
            lanes.push_back(slots.slot_of(Ref{slot, 0, 0}).lane);
            one.finish_round(slot);
        } while (slots.go_on(slot));
    }
    EXPECT_EQ(lanes, (std::vector<uint64_t>{0, 2, 4, 1, 3}));
    EXPECT_TRUE(slots.is_over());
}

TEST(LaneSlotsDeathTest, WhatMustHoldIsAsserted) {
    OneCall one(two_rounds());
    one.start();
    LaneSlots& slots = one.call.slots;
    EXPECT_DEATH(slots.set_done(Ref{0, 0, 0}), "begins before it is done");
    EXPECT_DEATH(slots[0].take_newer(), "the older round begins first");
    EXPECT_DEATH(slots.start(one.program), "one call at a time");
    EXPECT_DEATH(slots.reserve(one.program.extent()), "not moved under a call");
    slots[0].take_older();
    EXPECT_DEATH(slots.go_on(0), "a round ends when all of it is done");
}

TEST(CallBuffers, EachSlotHasAStretchOfScratch) {
    const ListProgram::Lane lane{{nothing()}};
    OneCall one(ListProgram({lane, lane}, 2, 100));
    std::vector<uint32_t> in(4);
    std::vector<uint32_t> out(4);
    one.start({bytes_of(in), bytes_of(out), {}});
    const exec::CallBuffers& buffers = one.call.buffers;
    std::byte* first = buffers.at(0, sched::scratch(0, 100));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 64, 0u);
    EXPECT_EQ(buffers.at(1, sched::scratch(40, 60)), first + 128 + 40);
    EXPECT_EQ(buffers.at(1, sched::input(4, 4)), bytes_of(in) + 4);
    EXPECT_EQ(buffers.at(1, sched::output(8, 4)), bytes_of(out) + 8);
    EXPECT_EQ(buffers.at(0, sched::scratch(7, 0)), nullptr);
    EXPECT_DEATH(static_cast<void>(buffers.at(0, sched::scratch(40, 61))), "within the scratch");
}

TEST(CallBuffers, TheNetworkSeesArgumentsForTheCallAlone) {
    Network network;
    Network::Endpoint end(network, 0);
    std::vector<std::byte> memory(3 * 4096);
    {
        exec::CallBuffers buffers(end);
        EXPECT_TRUE(buffers.reserve(1, 64, 64));
        EXPECT_FALSE(buffers.reserve(2, 64, 64));
        EXPECT_EQ(network.exposed.size(), 1u);
        buffers.start({memory.data(), memory.data() + 4096, {}, 4096, 8192}, 1, 64);
        EXPECT_EQ(network.exposed.size(), 3u);
        EXPECT_DEATH(buffers.start({}, 1, 64), "the last call has ended");
        buffers.conceal_arguments();
        EXPECT_EQ(network.exposed.size(), 1u);
        // In place, and less than a page.
        buffers.start({memory.data() + 4096, memory.data(), {}, 4096, 8192}, 1, 64);
        EXPECT_EQ(network.exposed.size(), 2u);
        buffers.conceal_arguments();
        buffers.start({memory.data(), memory.data(), {}, 4095, 4095}, 1, 64);
        EXPECT_EQ(network.exposed.size(), 1u);
    }
    EXPECT_TRUE(network.exposed.empty());
}

TEST(LocalWork, IsCutIntoPieces) {
    std::vector<uint32_t> in(25);
    std::iota(in.begin(), in.end(), 1u);
    std::vector<uint32_t> out(50);
    OneCall one(ListProgram({{{sched::copy(sched::output(0, 100), sched::input(0, 100)),
                               sched::copy(sched::output(100, 100), sched::input(0, 100))}}},
                            1, 0));
    exec::LocalWork work(one.call);
    work.reserve(one.call.slots.operations_max());
    one.start({bytes_of(in), bytes_of(out), {}});
    work.start();
    const Ref first = one.begin_round();
    work.begin(first);
    work.begin(first.with(1));
    uint64_t left = 60;
    EXPECT_FALSE(work.step(left));
    EXPECT_EQ(left, 0u);
    EXPECT_EQ(one.call.totals.copied_bytes, 60u);
    left = 60;
    EXPECT_EQ(work.step(left)->index, 0);
    EXPECT_FALSE(work.step(left));
    EXPECT_EQ(one.call.totals.copied_bytes, 120u);
    left = 1000;
    EXPECT_EQ(work.step(left)->index, 1);
    EXPECT_EQ(left, 920u);
    EXPECT_TRUE(work.is_empty());
    EXPECT_TRUE(std::equal(in.begin(), in.end(), out.begin()));
    EXPECT_TRUE(std::equal(in.begin(), in.end(), out.begin() + 25));
}

TEST(PostedMessages, OfARankThatIsAloneAreTakenBack) {
    std::vector<uint32_t> out(2);
    OneCall one(ListProgram(
        {{{sched::recv(1, 0, sched::output(0, 4)), sched::recv(2, 0, sched::output(4, 4))}}}, 1,
        0));
    exec::PostedMessages messages(one.call);
    messages.reserve(one.call.slots.operations_max());
    one.start({nullptr, bytes_of(out), {}});
    const Ref first = one.begin_round();
    EXPECT_FALSE(messages.post(first));
    EXPECT_FALSE(messages.post(first.with(1)));
    EXPECT_EQ(messages.size(), 2u);
    EXPECT_EQ(messages.withdraw(), transport::State::kDone);
    EXPECT_TRUE(messages.is_empty());
    one.call.is_untouched = false;
    EXPECT_DEATH(messages.withdraw(), "nothing of it is lost");
}

TEST(MulticastNumbers, BeginInTheirOrderAndEndInAny) {
    std::vector<uint32_t> out(3);
    const auto place = [](uint32_t i) { return sched::output(4 * i, 4); };
    OneCall one(
        ListProgram({{{sched::recv_multicast(1, 2, place(2)), sched::recv_multicast(2, 0, place(0)),
                       sched::recv_multicast(1, 1, place(1))}}},
                    1, 0));
    Bus bus(3);
    Bus::End own(bus, 0);
    Bus::End others[] = {{bus, 1}, {bus, 2}};
    exec::Multicasts multicasts(one.call, &own);
    multicasts.reserve(one.call.slots.operations_max());
    one.start({nullptr, bytes_of(out), {}});
    multicasts.start(3);
    const Ref any = one.begin_round();
    multicasts.begin(any);
    multicasts.begin(any.with(2));
    EXPECT_FALSE(multicasts.in_turn()) << "number 0 comes first";
    EXPECT_DEATH(static_cast<void>(multicasts.post()), "in the order of their numbers");
    multicasts.begin(any.with(1));
    for (const int index : {1, 2, 0}) {
        EXPECT_EQ(multicasts.in_turn()->index, index);
        EXPECT_FALSE(multicasts.post());
    }
    std::vector<sched::Rank> ranks;
    multicasts.add_waits(ranks);
    EXPECT_EQ(ranks, (std::vector<sched::Rank>{2, 1, 1}));
    EXPECT_DEATH(multicasts.check_end(), "all of its multicasts are complete");
    std::vector<uint32_t> sent{7, 8, 9};
    std::vector<uint32_t> elsewhere(1);
    transport::Ticket tickets[6];
    for (uint32_t number = 0; number < 3; ++number) {
        const uint32_t sender = number == 0 ? 1 : 0;
        others[sender].multicast(number, bytes_of(sent) + size_t{4} * number, 4, tickets[number]);
        others[1 - sender].recv_multicast(number, sender + 1, bytes_of(elsewhere), 4,
                                          tickets[3 + number]);
    }
    EXPECT_EQ(multicasts.test(1)->index, 2);
    EXPECT_FALSE(multicasts.test(1)) << "complete once";
    EXPECT_EQ(multicasts.first(), 0u);
    EXPECT_EQ(multicasts.test(0)->index, 1);
    EXPECT_EQ(multicasts.first(), 2u);
    EXPECT_EQ(multicasts.test(2)->index, 0);
    EXPECT_TRUE(multicasts.has_ended());
    multicasts.check_end();
    EXPECT_EQ(out, sent);
}

}  // namespace
}  // namespace tutti::test
