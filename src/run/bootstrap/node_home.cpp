// SPDX-License-Identifier: BSD-3-Clause
#include "run/bootstrap/node_home.h"

#include <algorithm>
#include <new>

#include "run/bootstrap/make_node.h"
#include "run/bootstrap/node_facts.h"
#include "run/bootstrap/node_shape.h"

namespace tutti::bootstrap {

HomeCard home_card(engine::Context& context) {
    const uint64_t owner = reinterpret_cast<uintptr_t>(&context) ^ hash_of(context.process());
    const auto home = context.segments().home();
    return home ? HomeCard{owner, home->id(), home->ranks(), home->rank()} : HomeCard{owner};
}

void NodeHome::meet(std::span<const NodeMember> members) {
    members_ = static_cast<uint32_t>(members.size());
    const HomeCard first = members[0].home;
    bool is_common = first.home != 0;
    makes_ = true;
    std::vector<uint64_t> owners;
    for (const NodeMember& member : members) {
        is_common = is_common && member.home.home == first.home;
        makes_ = makes_ && member.home.ranks < members_;
        ranks_.push_back(member.home.rank);
        owners.push_back(member.home.owner);
    }
    std::sort(owners.begin(), owners.end());
    if (std::adjacent_find(owners.begin(), owners.end()) != owners.end()) {
        makes_ = false;
        return;
    }
    set_hash_ = set_hash(members);
    makes_ = makes_ && !is_common;
    if (!is_common) return;
    home_ = context_.segments().find_home(first.home);
}

HomeOffer NodeHome::offer(const std::shared_ptr<arena::Arena>& arena, uint32_t rank) {
    HomeOffer offer;
    if (!makes_) return offer;
    offer.shape = choose_homes(context_.settings(), members_);
    if (offer.shape.places == 0) return offer;
    const size_t bytes_at_once = offer.shape.header_bytes() + members_ * offer.shape.pool_bytes();
    auto taken = arena->take_homes(offer.shape.bytes(), bytes_at_once, members_);
    if (!taken) return offer;
    arena_ = arena;
    mapping_ = taken.value().mapping;
    offset_ = taken.value().offset;
    if (!arena::reserve(arena->fd(), offset_, offer.shape.header_bytes(), 0)) return offer;
    auto* const header = new (mapping_->base() + node::kPageBytes) arena::HomeHeader{};
    // Homes of fewer processes have an account already, which goes on here.
    const auto before = context_.segments().home();
    header->bytes_used = before ? before->bytes_used() : arena->used_bytes();
    offer.home = arena::random_token();
    offer.offset = offset_;
    offer.mapping = reinterpret_cast<uint64_t>(&mapping_);
    home_ = std::make_shared<arena::Home>(offer.home, offer.shape, rank, set_hash_,
                                          context_.settings().node.memory_bytes, arena, mapping_,
                                          offset_);
    return offer;
}

bool NodeHome::attach(const HomeOffer& offer, const std::shared_ptr<arena::Arena>& arena,
                      uint32_t rank, bool shares_process) {
    if (offer.home == 0) return false;
    is_new_ = true;
    if (home_) return true;  // the leader's
    std::shared_ptr<arena::Mapping> mapping;
    if (shares_process) {
        mapping = *reinterpret_cast<std::shared_ptr<arena::Mapping>*>(offer.mapping);
    } else {
        auto mapped = arena::Mapping::map(arena->fd(), offer.offset, offer.shape.bytes());
        if (!mapped) return false;
        mapping = mapped.value();
    }
    home_ = std::make_shared<arena::Home>(offer.home, offer.shape, rank, set_hash_,
                                          context_.settings().node.memory_bytes, arena,
                                          std::move(mapping), offer.offset);
    return true;
}

void NodeHome::settle(bool have_all) {
    if (!is_new_) return;
    if (have_all) {
        context_.segments().set_home(home_);
        arena_.reset();
    } else {
        home_.reset();
        is_new_ = false;
    }
}

// Of homes that come to nothing, the leader takes back the memory.
NodeHome::~NodeHome() {
    if (!arena_) return;
    home_.reset();
    arena_->give_back(offset_);
}

}  // namespace tutti::bootstrap
