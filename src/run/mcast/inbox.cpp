// SPDX-License-Identifier: BSD-3-Clause
#include "run/mcast/inbox.h"

#include <algorithm>
#include <cstring>

#include "base/assert.h"

namespace tutti::mcast {
namespace {

Error too_many() {
    return {ErrorCode::kMemory, "multicast: too many messages posted on one group"};
}

}  // namespace

Inbox::Inbox(const Params& params)
    : payload_bytes_(payload_bytes_max(params)),
      teams_max_(params.teams_max),
      posts_(params.posts_max),
      slots_(size_t{params.window_packets} * (params.members - 1u)),
      payloads_(slots_.size() * payload_bytes_),
      pools_(params.members) {
    teams_.reserve(teams_max_);
    for (uint32_t i = 0; i < slots_.size(); ++i) {
        slots_[i].next = free_;
        free_ = i;
    }
}

void Inbox::check() const {
    TUTTI_ASSERT(posts_end_ == 0 || posts_[posts_end_ - 1].is_used, "posts end too late");
    TUTTI_ASSERT(pooled_ <= slots_.size(), "more packets wait than there is room for");
    TUTTI_ASSERT_SLOW(are_slots_sound(), "each slot is in one pool or free");
    TUTTI_ASSERT_SLOW(are_posts_sound(), "pending posts are counted wrongly");
}

uint32_t Inbox::slots_from(uint32_t first) const {
    uint32_t count = 0;
    for (uint32_t at = first; at != kNone && count <= slots_.size(); at = slots_[at].next) ++count;
    return count;
}

bool Inbox::are_slots_sound() const {
    uint32_t pooled = 0;
    for (const Pool& pool : pools_) {
        const bool has_lowest = pool.lowest != UINT64_MAX;
        if (slots_from(pool.first) != pool.count || has_lowest != (pool.count > 0)) return false;
        pooled += pool.count;
    }
    return pooled == pooled_ && slots_from(free_) + pooled_ == slots_.size();
}

bool Inbox::are_posts_sound() const {
    for (size_t sender = 0; sender < pools_.size(); ++sender) {
        const auto pending = std::ranges::count_if(posts_, [&](const Post& post) {
            return post.is_used && post.state == PostState::kPending && post.sender == sender;
        });
        if (static_cast<size_t>(pending) != pools_[sender].pending) return false;
    }
    return true;
}

Result<Done> Inbox::open_team(uint32_t team) {
    const auto at = std::lower_bound(teams_.begin(), teams_.end(), team);
    TUTTI_ASSERT(at == teams_.end() || *at != team, "the team is open already");
    if (teams_.size() == teams_max_) {
        return Error{ErrorCode::kMemory, "multicast: too many teams on one group"};
    }
    teams_.insert(at, team);
    return Done{};
}

void Inbox::close_team(uint32_t team) {
    const auto at = std::lower_bound(teams_.begin(), teams_.end(), team);
    TUTTI_ASSERT(at != teams_.end() && *at == team, "the team is not open");
    teams_.erase(at);
    for (uint32_t i = 0; i < posts_end_; ++i) {
        TUTTI_ASSERT(!posts_[i].is_used || posts_[i].name.team != team, "a closed team has posts");
    }
    for (size_t sender = 0; sender < pools_.size(); ++sender) {
        take_from_pool(
            static_cast<Member>(sender), [&](const Slot& slot) { return slot.name.team == team; },
            [&](uint32_t) { ++dropped_packets_; });
    }
    check();
}

bool Inbox::is_open(uint32_t team) const {
    return std::binary_search(teams_.begin(), teams_.end(), team);
}

// Takes what matches out of a sender's pool.
template <class Match, class Use>
void Inbox::take_from_pool(Member sender, Match match, Use use) {
    Pool& pool = pools_[sender];
    uint32_t* link = &pool.first;
    while (*link != kNone) {
        const uint32_t index = *link;
        Slot& slot = slots_[index];
        if (!match(slot)) {
            link = &slot.next;
            continue;
        }
        use(index);
        *link = slot.next;
        slot.next = free_;
        free_ = index;
        --pool.count;
        --pooled_;
    }
    pool.lowest = UINT64_MAX;
    for (uint32_t at = pool.first; at != kNone; at = slots_[at].next) {
        pool.lowest = std::min(pool.lowest, slots_[at].sequence);
    }
}

Result<PostId> Inbox::post(Member sender, const MessageName& name, std::span<std::byte> place_at) {
    TUTTI_ASSERT(is_open(name.team), "a message of a team that is not open");
    TUTTI_ASSERT(find_post(sender, name) == kNone, "a message is posted twice");
    const uint32_t index = free_post();
    if (index == kNone) return too_many();
    posts_end_ = std::max(posts_end_, index + 1);
    Post& post = posts_[index];
    post = {.name = name, .place = place_at, .is_used = true, .generation = post.generation + 1};
    bind(post, sender);
    place_pooled(post);
    check();
    return PostId{index, post.generation};
}

Result<PostId> Inbox::post_any(const MessageName& name, std::span<std::byte> place_at) {
    TUTTI_ASSERT(is_open(name.team), "a message of a team that is not open");
    TUTTI_ASSERT(find_post(kNobody, name) == kNone, "a message is posted twice");
    const uint32_t index = free_post();
    if (index == kNone) return too_many();
    posts_end_ = std::max(posts_end_, index + 1);
    Post& post = posts_[index];
    post = {.name = name,
            .place = place_at,
            .is_any = true,
            .state = PostState::kPending,
            .is_used = true,
            .generation = post.generation + 1};
    const auto is_wanted = [&](const Pool& pool) {
        for (uint32_t at = pool.first; at != kNone; at = slots_[at].next) {
            if (slots_[at].name == name) return true;
        }
        return false;
    };
    // Mostly there is nothing in any pool.
    const auto pool =
        pooled_ > 0 ? std::find_if(pools_.begin(), pools_.end(), is_wanted) : pools_.end();
    if (pool != pools_.end()) {
        bind(post, static_cast<Member>(pool - pools_.begin()));
        place_pooled(post);
    }
    check();
    return PostId{index, post.generation};
}

uint32_t Inbox::free_post() const {
    uint32_t index = 0;
    while (index < posts_end_ && posts_[index].is_used) ++index;
    return index < posts_.size() ? index : kNone;
}

// From now on this member is waited for.
void Inbox::bind(Post& post, Member sender) {
    post.sender = sender;
    post.state = PostState::kPending;
    ++pools_[sender].pending;
}

void Inbox::place_pooled(Post& post) {
    take_from_pool(
        post.sender, [&](const Slot& slot) { return slot.name == post.name; },
        [&](uint32_t at) {
            const Slot& slot = slots_[at];
            place(post, slot.offset, slot.total,
                  {payloads_.data() + at * payload_bytes_, slot.bytes});
        });
}

PostState Inbox::state(PostId id) const {
    TUTTI_ASSERT(posts_[id.index].is_used, "the post was released");
    TUTTI_ASSERT(posts_[id.index].generation == id.generation, "the post was released");
    return posts_[id.index].state;
}

void Inbox::release(PostId id) {
    Post& post = posts_[id.index];
    if (state(id) == PostState::kPending && post.sender != kNobody) --pools_[post.sender].pending;
    post.is_used = false;
    while (posts_end_ > 0 && !posts_[posts_end_ - 1].is_used) --posts_end_;
    check();
}

// A post that waits for any member's message is everybody's.
uint32_t Inbox::find_post(Member sender, const MessageName& name) const {
    for (uint32_t i = 0; i < posts_end_; ++i) {
        const Post& post = posts_[i];
        if (!post.is_used || post.name != name) continue;
        if (post.sender == sender || post.sender == kNobody || sender == kNobody) return i;
    }
    return kNone;
}

bool Inbox::place(Post& post, uint32_t offset, uint32_t total, std::span<const std::byte> payload) {
    if (post.state != PostState::kPending) return false;
    post.total = total;
    if (post.is_any ? total > post.place.size() : total != post.place.size()) {
        post.state = PostState::kWrongSize;
    } else {
        TUTTI_ASSERT(offset + payload.size() <= post.place.size(), "data beyond its message");
        if (!payload.empty()) {
            std::memcpy(post.place.data() + offset, payload.data(), payload.size());
        }
        post.received_bytes += payload.size();
        if (post.received_bytes == total) post.state = PostState::kDone;
    }
    if (post.state == PostState::kPending) return false;
    ++completed_posts_;
    TUTTI_ASSERT(pools_[post.sender].pending > 0, "a post is complete that nobody waited for");
    --pools_[post.sender].pending;
    return true;
}

Inbox::Put Inbox::put(Member sender, const Data& data) {
    const uint32_t index = find_post(sender, data.name);
    if (index != kNone) {
        Post& post = posts_[index];
        if (post.sender == kNobody) bind(post, sender);
        const bool is_last = place(post, data.offset, data.total, data.payload);
        check();
        return is_last ? Put::kCompleted : Put::kPlaced;
    }
    if (!is_open(data.name.team)) {
        ++dropped_packets_;
        return Put::kDropped;
    }
    keep(sender, data);
    check();
    return Put::kPooled;
}

void Inbox::keep(Member sender, const Data& data) {
    TUTTI_ASSERT(free_ != kNone, "more packets than were granted");
    TUTTI_ASSERT(data.payload.size() <= payload_bytes_, "a packet longer than agreed");
    const uint32_t index = free_;
    free_ = slots_[index].next;
    const auto bytes = static_cast<uint32_t>(data.payload.size());
    Pool& pool = pools_[sender];
    slots_[index] = {data.name, data.sequence, data.offset, data.total, bytes, pool.first};
    pool.first = index;
    pool.lowest = std::min(pool.lowest, data.sequence);
    ++pool.count;
    ++pooled_;
    if (bytes > 0) {
        std::memcpy(payloads_.data() + index * payload_bytes_, data.payload.data(), bytes);
    }
}

}  // namespace tutti::mcast
