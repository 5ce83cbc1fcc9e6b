// SPDX-License-Identifier: BSD-3-Clause
#include "run/exec/bundles.h"

#include <algorithm>
#include <string>

#include "base/assert.h"
#include "plan/sched/operation_kinds.h"

namespace tutti::exec {
namespace {

uint64_t sum(const std::vector<uint64_t>& lengths) {
    uint64_t all = 0;
    for (const uint64_t one : lengths) all += one;
    return all;
}

}  // namespace

void Bundles::reserve(uint32_t ranks, uint32_t nodes) {
    sent_.reserve(ranks);
    received_.reserve(ranks);
    // Of a node that has all ranks.
    exchange_.reserve(ranks);
    cursors_.reserve(ranks);
    ends_.reserve(ranks);
    flights_.reserve(nodes);
}

void Bundles::start(const sched::Program& program) {
    TUTTI_ASSERT(!is_under_way(), "the last call has ended");
    strays_ = missing_ = 0;
    const auto [on, rank] = program.bundled_on();
    if (on == nullptr) return;
    const uint32_t node = on->node_of(rank);
    place_ = {on, node, on->index_on_node(rank), static_cast<uint32_t>(on->members(node).size()),
              sched::bundled_bytes_max(*on)};
    sent_.assign(on->ranks(), {});
    received_.assign(on->ranks(), {});
    cursors_.resize(place_.size);
    ends_.resize(place_.size);
    flights_.clear();
}

// A longer one comes in pieces, one behind the other.
void Bundles::add(Ref ref) {
    const sched::Operation& operation = call_.slots.operation_of(ref);
    const bool sends = sched::is_send(operation);
    const sched::Block& block = sends ? operation.left : operation.to;
    BundledPart& part = (sends ? sent_ : received_)[operation.peer];
    if (!part.is_there) part.offset = block.offset;
    part.is_there = true;
    part.bytes += block.bytes;
}

void Bundles::begin(Ref ref) {
    TUTTI_ASSERT(!is_under_way(), "one at a time");
    TUTTI_ASSERT(place_.on != nullptr, "the Program knows the nodes");
    ref_ = ref;
    const sched::Block& block = call_.slots.operation_of(ref).to;
    std::byte* const room = call_.at(ref, block);
    const uint64_t bytes = block.bytes / sched::kBundleParts;
    room_ = {room, room + bytes, room + 2 * bytes, bytes};
    phase_ = Phase::kBegun;
}

void Bundles::pack() {
    input_ = call_.at(ref_, sched::input(0, 1));
    output_ = call_.at(ref_, sched::output(0, 1));
    for (const BundledPart& part : received_) missing_ += part.bytes > 0 ? 1 : 0;
    for (const uint32_t member : place_.on->members(place_.node)) {
        missing_ -= received_[member].bytes > 0 ? 1 : 0;
    }
    exchange_.start(place_.size);
    pack_rows(place_, sent_, received_, input_, room_.given, exchange_);
    call_.totals.copied_bytes += sum(exchange_.given);
    begin_lengths(Phase::kLengthsOut);
}

// ---- calls of the node -------------------------------------------------------------------------

void Bundles::begin_call(Phase phase, const node::Call& call, uint64_t bytes) {
    phase_ = phase;
    if (place_.size > 1) node_.begin_call(call, bytes);
}

// Each member tells each other one how much it has for that.
void Bundles::begin_lengths(Phase phase) {
    if (place_.size == 1) exchange_.taken = exchange_.given;
    node::Call call;
    call.collective = TUTTI_ALLTOALL;
    call.send = reinterpret_cast<const std::byte*>(exchange_.given.data());
    call.recv = reinterpret_cast<std::byte*>(exchange_.taken.data());
    call.bytes = sizeof(uint64_t);
    begin_call(phase, call, 2 * place_.size * call.bytes);
}

void Bundles::begin_exchange(Phase phase, const std::byte* from, std::byte* to) {
    const uint64_t bytes = exchange_.place_taken();
    TUTTI_ASSERT(bytes <= room_.bytes, "there is room for the most");
    if (place_.size == 1) std::copy_n(from, bytes, to);
    blocks_ = {exchange_.given.data(), exchange_.given_at.data(), exchange_.taken.data(),
               exchange_.taken_at.data()};
    node::Call call;
    call.collective = TUTTI_ALLTOALLV;
    call.send = from;
    call.recv = to;
    call.blocks = &blocks_;
    begin_call(phase, call, sum(exchange_.given) + bytes);
}

// Where they stand in the call's buffers. The own block is none of them.
void Bundles::begin_near() {
    uint32_t index = 0;
    for (const uint32_t member : place_.on->members(place_.node)) {
        exchange_.given[index] = sent_[member].bytes;
        exchange_.given_at[index] = sent_[member].offset;
        exchange_.taken[index] = received_[member].bytes;
        exchange_.taken_at[index] = received_[member].offset;
        ++index;
    }
    node::Call call;
    call.collective = TUTTI_ALLTOALLV;
    call.send = input_;
    call.recv = output_;
    call.blocks = &blocks_;
    begin_call(Phase::kNear, call, sum(exchange_.given) + sum(exchange_.taken));
}

// ---- how it goes on ----------------------------------------------------------------------------

bool Bundles::is_phase_over(bool& has_moved) {
    if (phase_ == Phase::kBegun) return true;
    if (phase_ == Phase::kFar) return flights_.have_all_come();
    if (phase_ == Phase::kLeaving) return flights_.have_all_left();
    if (place_.size == 1) return true;
    const Step step = node_.step_call();
    has_moved |= step != Step::kBlocked;
    if (step == Step::kFailed) call_.fail("a block takes too many rounds in the node's memory");
    return step == Step::kDone;
}

bool Bundles::step() {
    TUTTI_ASSERT(is_under_way(), "it has begun");
    bool has_moved = flights_.step();
    while (is_under_way() && !call_.has_failed && is_phase_over(has_moved)) {
        has_moved = true;
        go_on();
    }
    return has_moved;
}

void Bundles::go_on() {
    switch (phase_) {
        case Phase::kBegun:
            return pack();
        case Phase::kLengthsOut:
            return begin_exchange(Phase::kOut, room_.given, room_.taken);
        case Phase::kOut:
            make_bundles();
            flights_.begin(ref_);
            return begin_near();
        case Phase::kNear:
            phase_ = Phase::kFar;
            return;
        case Phase::kFar:
            return open_bundles();
        case Phase::kLengthsIn:
            return begin_exchange(Phase::kIn, room_.taken, room_.come);
        case Phase::kIn:
            take_in();
            phase_ = Phase::kLeaving;
            return;
        case Phase::kLeaving:
            return end();
        case Phase::kIdle:
            break;
    }
}

// Of the rows that the node's ranks have given to this one, a bundle for each node.
void Bundles::make_bundles() {
    for (uint32_t i = 0; i < place_.size; ++i) cursors_[i] = room_.taken + exchange_.taken_at[i];
    std::byte* to = room_.given;
    std::byte* room = room_.come;
    place_.for_led(place_.index, [&](uint32_t node) {
        std::byte* const bundle = to;
        uint32_t marks = 0;
        for (const std::byte*& from : cursors_) {
            const auto word = get<uint32_t>(from);
            marks |= word;
            put(to, row_bytes(word));
            put_bytes(to, from, row_bytes(word));
            from += row_bytes(word);
        }
        if ((marks & kRowSends) == 0) to = bundle;
        const uint64_t most = sched::bundle_bytes_max(place_.on->members(node).size(), place_.size,
                                                      place_.message_bytes_max);
        const bool comes = (marks & kRowReceives) != 0;
        flights_.add({.peer = sched::bundle_leader(*place_.on, node, place_.node),
                      .out = bundle,
                      .out_bytes = static_cast<size_t>(to - bundle),
                      .in = room,
                      .in_bytes_max = comes ? most : 0});
        if (comes) room += most;
    });
    TUTTI_ASSERT(static_cast<uint64_t>(room - room_.come) <= room_.bytes, "room for all that come");
    call_.totals.copied_bytes += static_cast<uint64_t>(to - room_.given);
}

// What has come is sorted by the node's ranks.
void Bundles::open_bundles() {
    exchange_.start(place_.size);
    size_t way = 0;
    bool are_whole = true;
    const auto for_ways = [&](auto visit) {
        way = 0;
        place_.for_led(place_.index, [&](uint32_t node) {
            visit(flights_.ways()[way++], static_cast<uint32_t>(place_.on->members(node).size()));
        });
    };
    for_ways([&](const BundleFlights::Way& one, uint32_t from) {
        for (uint64_t& given : exchange_.given) given += sizeof(uint16_t);
        if (one.in_bytes_max == 0) return;
        are_whole = are_whole && is_bundle(place_, one.in, from);
        if (are_whole) add_given(one.in, from, exchange_.given);
    });
    if (!are_whole) return call_.fail("a bundle of messages has wrong lengths");
    uint64_t end = 0;
    for (uint32_t i = 0; i < place_.size; ++i) {
        exchange_.given_at[i] = end;
        ends_[i] = room_.taken + end;
        end += exchange_.given[i];
    }
    TUTTI_ASSERT(end <= room_.bytes, "there is room for the most");
    for_ways([&](const BundleFlights::Way& one, uint32_t from) {
        const bool has_come = one.in_bytes_max > 0;
        for (std::byte*& to : ends_) put(to, static_cast<uint16_t>(has_come ? 1 : 0));
        if (has_come) hand_on(one.in, from, ends_);
    });
    call_.totals.copied_bytes += end;
    begin_lengths(Phase::kLengthsIn);
}

// From the node's leaders to where it belongs.
void Bundles::take_in() {
    for (uint32_t leader = 0; leader < place_.size; ++leader) {
        const std::byte* from = room_.come + exchange_.taken_at[leader];
        place_.for_led(leader, [&](uint32_t node) {
            if (get<uint16_t>(from) == 0) return;
            for (const uint32_t sender : place_.on->members(node)) {
                const auto bytes = get<uint16_t>(from);
                if (bytes > 0) take(sender, from, bytes);
                from += bytes;
            }
        });
    }
    call_.totals.copied_bytes += sum(exchange_.taken);
}

void Bundles::take(sched::Rank from, const std::byte* data, uint64_t bytes) {
    BundledPart& part = received_[from];
    if (part.is_there && part.bytes == 0) {
        part.stray = data;
        part.bytes = bytes;
        ++strays_;
        return;
    }
    if (!part.is_there || bytes > part.bytes) return misfit(from, "");
    std::copy_n(data, bytes, output_ + part.offset);
    part.is_there = false;
    --missing_;
}

// A sender has more than there is room for. Whose message is in no bundle, may have none instead.
void Bundles::misfit(sched::Rank from, const std::string& or_else) {
    const std::string room = std::to_string(received_[from].bytes);
    call_.fail("rank " + std::to_string(from) + " sent more than " + room + " bytes" + or_else +
               ", not " + room);
    call_.has_misfit = true;
}

void Bundles::end() {
    for (sched::Rank from = 0; missing_ > 0; ++from) {
        const BundledPart& part = received_[from];
        const bool is_far = place_.on->node_of(from) != place_.node;
        if (is_far && part.is_there && part.bytes > 0 && !part.stray) {
            return misfit(from, " or none");
        }
    }
    phase_ = Phase::kIdle;
}

// ---- messages that came otherwise --------------------------------------------------------------

void Bundles::take_stray(Ref recv) {
    const sched::Operation& operation = call_.slots.operation_of(recv);
    BundledPart& part = received_[operation.peer];
    const uint64_t bytes = std::min(part.bytes, operation.to.bytes);
    if (bytes > 0) std::copy_n(part.stray, bytes, call_.at(recv, operation.to));
    part.stray += bytes;
    part.bytes -= bytes;
}

void Bundles::cancel() {
    flights_.cancel();
    phase_ = Phase::kIdle;
}

}  // namespace tutti::exec
