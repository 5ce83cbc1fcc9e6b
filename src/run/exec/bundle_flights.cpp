// SPDX-License-Identifier: BSD-3-Clause
#include "run/exec/bundle_flights.h"

#include "base/assert.h"

namespace tutti::exec {

void BundleFlights::clear() {
    TUTTI_ASSERT(have_all_come() && have_all_left(), "the last call has ended");
    ways_.clear();
    out_.next = in_.next = 0;
}

// What a leader has for another one is for the receiver to read: it has room for the most.
void BundleFlights::begin(Ref ref) {
    id_ = call_.id_of(ref);
    id_.may_be_short = true;
    post(in_, false);
    post(out_, true);
}

const BundleFlights::Way* BundleFlights::next_way(Direction& direction, bool sends) const {
    while (direction.next < ways_.size()) {
        const size_t i = direction.next++;
        const Way& way = ways_[sends ? i : ways_.size() - 1 - i];
        if ((sends ? way.out_bytes : way.in_bytes_max) > 0) return &way;
    }
    return nullptr;
}

// As many as may be under way. True where one is complete at once.
bool BundleFlights::post(Direction& direction, bool sends) {
    bool has_moved = false;
    for (Flight& flight : direction.flights) {
        while (!flight.is_under_way) {
            const Way* way = next_way(direction, sends);
            if (way == nullptr) return has_moved;
            flight.peer = way->peer;
            if (sends) {
                call_.network.send(way->peer, id_, way->out, way->out_bytes, flight.ticket);
            } else {
                call_.network.recv(way->peer, id_, way->in, way->in_bytes_max, flight.ticket);
            }
            flight.is_under_way = flight.ticket.state != transport::State::kDone;
            direction.under_way += flight.is_under_way ? 1 : 0;
            has_moved |= !flight.is_under_way;
        }
    }
    return has_moved;
}

bool BundleFlights::test(Direction& direction) {
    bool has_moved = false;
    for (Flight& flight : direction.flights) {
        if (!flight.is_under_way) continue;
        const transport::State state = call_.network.test(flight.ticket);
        if (state == transport::State::kPending) continue;
        if (state == transport::State::kFailed) {
            call_.fail(call_.network.error());
            return true;
        }
        flight.is_under_way = false;
        --direction.under_way;
        has_moved = true;
    }
    return has_moved;
}

bool BundleFlights::step() {
    if (have_all_come() && have_all_left()) return false;
    call_.network.poll();
    bool has_moved = false;
    for (Direction* direction : {&in_, &out_}) {
        if (!test(*direction)) continue;
        has_moved = true;
        if (call_.has_failed) return true;
        post(*direction, direction == &out_);
    }
    if (has_moved) call_.is_untouched = false;
    return has_moved;
}

void BundleFlights::add_waits(std::vector<sched::Rank>& ranks) const {
    for (const Direction* direction : {&in_, &out_}) {
        for (const Flight& flight : direction->flights) {
            if (flight.is_under_way) ranks.push_back(flight.peer);
        }
    }
}

void BundleFlights::cancel() {
    for (Direction* direction : {&in_, &out_}) {
        for (Flight& flight : direction->flights) {
            if (flight.is_under_way) call_.network.cancel(flight.ticket);
            flight.is_under_way = false;
        }
        direction->under_way = 0;
    }
}

}  // namespace tutti::exec
