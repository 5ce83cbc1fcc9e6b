// SPDX-License-Identifier: BSD-3-Clause
#include "run/adapt/feeding.h"

#include <algorithm>

#include "base/assert.h"
#include "run/adapt/fold_tree.h"

namespace tutti::adapt {

void Feeder::restart(uint32_t members, uint32_t fan_in) {
    TUTTI_ASSERT(fan_in > 0 && fan_in <= kFedMax, "a word has room for so many");
    members_.assign(members, One());
    root_ = One();
    order_.clear();
    fan_in_ = fan_in;
    feedings_ = there_ = placed_ = 0;
    is_open_ = false;
}

void Feeder::check() const {
    TUTTI_ASSERT(placed_ <= there_, "I1: a member is fed before it has announced itself");
    TUTTI_ASSERT(there_ <= members_.size(), "more members are there than there are");
    TUTTI_ASSERT(!is_open_ || placed_ == there_, "a member waits while a feeding is open");
    TUTTI_ASSERT(!is_open_ || !has_all(), "a feeding is open for nobody");
}

bool Feeder::hear(uint32_t member) {
    if (member >= members_.size() || members_[member].is_there) return false;
    members_[member].is_there = true;
    ++there_;
    if (is_open_) hang(member);
    check();
    return true;
}

// Those who are there make a tree as even as can be, with the root at its top.
void Feeder::go_on() {
    is_open_ = false;
    check();
    if (there_ == placed_) return;
    ++feedings_;
    order_.assign(1, kRoot);
    root_.fed = root_.told = 0;
    root_.feeding = feedings_;
    for (uint32_t member = 0; member < members_.size(); ++member) {
        const One& one = members_[member];
        if (one.is_there && !one.is_placed) order_.push_back(member);
    }
    const auto size = static_cast<uint32_t>(order_.size());
    for (uint32_t position = 1; position < size; ++position) {
        const Place where = place_in_tree(size, fan_in_, position);
        place(order_[position], order_[*where.parent]);
    }
    is_open_ = !has_all();
    check();
}

// Below the one with room whose number is nearest: neighbours by number are so on the network.
void Feeder::hang(uint32_t member) {
    const auto distance = [&](uint32_t other) {
        if (other == kRoot) return member + 1;
        return other > member ? other - member : member - other;
    };
    std::optional<uint32_t> nearest;
    for (const uint32_t other : order_) {
        if (at(other).fed == fan_in_) continue;
        if (!nearest || distance(other) < distance(*nearest)) nearest = other;
    }
    TUTTI_ASSERT(nearest, "a tree has room at its ends");
    order_.push_back(member);
    place(member, *nearest);
    is_open_ = !has_all();
}

void Feeder::place(uint32_t member, uint32_t source) {
    One& feeds = at(source);
    One& one = members_[member];
    TUTTI_ASSERT(one.is_there && !one.is_placed, "a member that is there is placed once");
    TUTTI_ASSERT(feeds.fed < fan_in_, "a source feeds no more than its fan-in");
    one.is_placed = true;
    one.feeding = feedings_;
    one.source = source;
    feeds.whom[feeds.fed++] = member;
    ++placed_;
}

bool Feeder::grows(const One& one) const {
    return is_open_ && one.feeding == feedings_ && one.fed < fan_in_;
}

std::optional<Feeder::Word> Feeder::word(uint32_t member) {
    One& one = members_[member];
    if (!one.is_placed || one.has_last) return {};
    const bool has_news = !one.is_answered || one.told < one.fed || !grows(one);
    if (!has_news) return {};
    one.is_answered = true;
    Word word;
    if (one.source != kRoot) word.source = one.source;
    word.is_last = one.has_last = !grows(one);
    TUTTI_ASSERT(one.told <= one.fed, "a member is told of more than it feeds");
    while (one.told < one.fed) word.whom[word.fed++] = one.whom[one.told++];
    return word;
}

Feeder::Word Feeder::root_word() {
    Word word;
    while (root_.told < root_.fed) word.whom[word.fed++] = root_.whom[root_.told++];
    return word;
}

void Flow::restart(uint64_t pieces, bool has_source) {
    pieces_ = pieces;
    fed_ = 0;
    asked_ = come_ = has_source ? 0 : pieces;
}

void Flow::add(uint32_t fed) {
    TUTTI_ASSERT(fed_ + fed <= kFedMax, "as many as a word has");
    for (; fed > 0; --fed) {
        sent_[fed_] = left_[fed_] = 0;
        ++fed_;
    }
}

void Flow::came() {
    TUTTI_ASSERT(awaits(), "a piece came that was not asked for");
    ++come_;
}

void Flow::left(uint32_t fed) {
    TUTTI_ASSERT(fed < fed_ && awaits(fed), "a piece left that was not sent");
    ++left_[fed];
}

// Whom it has sent least comes first: so all go on together.
std::optional<Flow::Post> Flow::next() {
    if (asked_ < std::min(pieces_, come_ + kPiecesAhead)) return Post{{}, asked_++};
    std::optional<uint32_t> first;
    for (uint32_t fed = 0; fed < fed_; ++fed) {
        if (sent_[fed] == std::min(come_, left_[fed] + kPiecesAhead)) continue;
        if (!first || sent_[fed] < sent_[*first]) first = fed;
    }
    if (!first) return {};
    TUTTI_ASSERT(sent_[*first] < come_, "a piece is sent that has not come");
    return Post{first, sent_[*first]++};
}

bool Flow::is_over() const {
    const auto end = left_.begin() + fed_;
    return has_all() && std::all_of(left_.begin(), end, [&](uint64_t n) { return n == pieces_; });
}

}  // namespace tutti::adapt
