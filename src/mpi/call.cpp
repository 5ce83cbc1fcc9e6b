// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/call.h"

#include "base/assert.h"
#include "mpi/run_call.h"

namespace tutti::mpi {

void Call::needs(Preparation& one) {
    TUTTI_ASSERT(count_ < kPreparationsMax, "there are no more kinds of preparations");
    preparations_[count_++] = &one;
}

Ended Call::run() {
    tutti_status status = choose();
    if (status == TUTTI_CHOSEN) status = prepare() ? start() : TUTTI_ERR_MEMORY;
    if (front.asked.counts_calls) count_call(state_, call_, status, took_ns_);
    if (status == TUTTI_HOST) return std::nullopt;
    return finish(status);
}

template <class Step>
tutti_status Call::timed(Step step) {
    if (!front.asked.counts_calls) return step();
    const uint64_t begin = now_ns();
    const tutti_status status = step();
    took_ns_ += now_ns() - begin;
    return status;
}

tutti_status Call::choose() {
    call_.buffers_later = count_ > 0 ? 1 : 0;
    return timed([this] { return tutti_run(state_.team, &call_); });
}

bool Call::prepare() {
    for (size_t i = 0; i < count_; ++i) {
        unready_ = preparations_[i]->before();
        if (unready_.status == abi::kSuccess) continue;
        tutti_team_give_up(state_.team, unready_.why);
        return false;
    }
    return true;
}

tutti_status Call::start() {
    return timed([this] { return tutti_resume(state_.team, call_.send, call_.recv); });
}

int Call::finish(tutti_status ended) {
    int status = unready_.status;
    if (status == abi::kSuccess && ended != TUTTI_OK) status = tell_failure(state_, ended);
    for (size_t left = count_; left > 0; --left) status = preparations_[left - 1]->after(status);
    return status;
}

}  // namespace tutti::mpi
