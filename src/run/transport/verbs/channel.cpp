// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/verbs/channel.h"

#include <fcntl.h>

namespace tutti::transport::verbs {
namespace {

// An acknowledgement takes a lock.
constexpr unsigned kAcknowledgeAt = 64;

}  // namespace

Channel::~Channel() {
    if (!channel_) return;
    calls_.destroy_comp_channel(channel_);
    --count_;
}

void Channel::open(ibv_context* context) {
    if (++count_ <= kChannelsMax) channel_ = calls_.create_comp_channel(context);
    if (!channel_) {
        --count_;
        return;
    }
    const int flags = fcntl(channel_->fd, F_GETFL);
    has_failed_ = flags < 0 || fcntl(channel_->fd, F_SETFL, flags | O_NONBLOCK) != 0;
}

// Events lie in the channel, also such of which the completion was polled long ago.
bool Channel::arm(ibv_cq* queue, Events of) {
    if (fd() < 0) return false;
    take();
    if (unacknowledged_ >= kAcknowledgeAt) acknowledge(queue);
    has_failed_ = ibv_req_notify_cq(queue, of == Events::kSolicited ? 1 : 0) != 0;
    return !has_failed_;
}

bool Channel::take() {
    const unsigned before = unacknowledged_;
    ibv_cq* of = nullptr;
    void* user = nullptr;
    while (calls_.get_cq_event(channel_, &of, &user) == 0) ++unacknowledged_;
    return unacknowledged_ > before;
}

void Channel::acknowledge(ibv_cq* queue) {
    if (unacknowledged_ > 0) calls_.ack_cq_events(queue, unacknowledged_);
    unacknowledged_ = 0;
}

}  // namespace tutti::transport::verbs
