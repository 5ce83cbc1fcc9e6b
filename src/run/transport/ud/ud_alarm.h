// SPDX-License-Identifier: BSD-3-Clause
// Which of a queue pair's two queues will tell of what comes to it. Under the carrier's lock.
// Inside ud/ only.
#pragma once

#include <array>

#include "run/transport/carrier/datagrams.h"
#include "run/transport/verbs/ud.h"

namespace tutti::transport::ud {

class UdAlarm {
  public:
    explicit UdAlarm(verbs::UdEndpoint& end) : end_(end) {}

    // What the queues have told is read, so that they may be armed again.
    void take_off() {
        for (const auto queue : {verbs::UdQueue::kReceived, verbs::UdQueue::kSent}) {
            bool& is_armed = is_armed_[static_cast<size_t>(queue)];
            if (is_armed && end_.take(queue)) is_armed = false;
        }
    }
    // These: false where the queue pair has failed. For all stays for all until it has told: the
    // queue knows no way back.
    bool arm_receives(carrier::Wake wake) {
        bool& is_armed = is_armed_[static_cast<size_t>(verbs::UdQueue::kReceived)];
        const bool is_for_all = wake == carrier::Wake::kAll;
        if (is_armed && (is_armed_for_all_ || !is_for_all)) return true;
        is_armed = end_.arm(verbs::UdQueue::kReceived,
                            is_for_all ? verbs::Events::kAll : verbs::Events::kSolicited);
        is_armed_for_all_ = is_for_all;
        return is_armed;
    }
    bool arm_sends() {
        bool& is_armed = is_armed_[static_cast<size_t>(verbs::UdQueue::kSent)];
        if (!is_armed) is_armed = end_.arm(verbs::UdQueue::kSent, verbs::Events::kAll);
        return is_armed;
    }

  private:
    verbs::UdEndpoint& end_;
    std::array<bool, 2> is_armed_{};  // then it will tell, or has told and was not taken off
    bool is_armed_for_all_ = false;   // what is received
};

}  // namespace tutti::transport::ud
