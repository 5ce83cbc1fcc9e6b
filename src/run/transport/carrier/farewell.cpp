// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/carrier/farewell.h"

#include "base/assert.h"
#include "run/transport/carrier/ring_feed.h"

namespace tutti::transport::carrier {
namespace {

constexpr uint32_t kByeTeam = kRingTeam + 1;
// Of one packet, so that those of several members may have one name.
constexpr mcast::MessageName kBye{kByeTeam, 0, 0, 0};

}  // namespace

Farewell::Farewell(mcast::Group& group)
    : group_(group),
      own_{kBye, said_, 0, false},
      is_of_(group.params().members),
      left_(uint32_t{group.params().members} - 1) {
    const auto opened = group.open_team(kByeTeam);
    TUTTI_ASSERT(opened, "a new group has room for its two teams");
    post(0);
}

bool Farewell::is_bye(const mcast::Data& data) { return data.name == kBye; }

// For whoever leaves next, so nobody is waited for who may leave much later. A bye must not stay in
// the pool either: as long as anything of a stream is not at its place, its sender says so.
void Farewell::post(uint64_t now_ns) {
    const auto posted = group_.post_any(now_ns, kBye, heard_);
    TUTTI_ASSERT(posted, "there is one post more than the ring has slots");
    post_ = posted.value();
}

bool Farewell::look(uint64_t now_ns) {
    if (!must_look_) return false;
    must_look_ = false;
    while (group_.inbox().state(post_) != mcast::PostState::kPending) {
        const mcast::Member member = group_.inbox().sender(post_);
        TUTTI_ASSERT(member < is_of_.size(), "a group hears its members alone");
        if (!is_of_[member]) --left_;
        is_of_[member] = true;
        group_.release(now_ns, post_);
        post(now_ns);
    }
    return true;
}

void Farewell::say(uint64_t now_ns) {
    if (!own_.is_taken) group_.write(now_ns, own_);
}

}  // namespace tutti::transport::carrier
