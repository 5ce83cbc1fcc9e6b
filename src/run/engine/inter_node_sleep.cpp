// SPDX-License-Identifier: BSD-3-Clause
// Sleeping for messages, where ranks outnumber processors (docs/protocol/verbs.md, "Who sleeps").
#include <poll.h>
#include <time.h>

#include "run/engine/inter_node.h"

namespace tutti::engine {

// Without a thread for multicasts this rank is the one that moves them. Others may post messages of
// the recovery under the lock.
bool InterNode::waits_for_fabric() {
    if (!networks_.has_messages() || multicast_.polls() ||
        !executor_->waits_for_messages(multicast_.carries()))
        return false;
    const auto held = hold();
    return transport().wait_fd() >= 0;
}

// Behind a step that found nothing.
void InterNode::sleep_for_fabric(Sleeper& sleeper, uint64_t end_ns) {
    pollfd fabric{-1, POLLIN, 0};
    {
        const auto held = hold();
        fabric.fd = transport().wait_fd();
        if (fabric.fd < 0 || !transport().arm()) return;
    }
    if (multicast_.carries()) return multicast_.team()->sleep(sleeper, end_ns, fabric.fd);
    const uint64_t now_ns = context_.clock().now_ns();
    if (now_ns >= end_ns) return;
    const timespec left{0, static_cast<long>(end_ns - now_ns)};
    ppoll(&fabric, 1, &left, nullptr);
}

}  // namespace tutti::engine
