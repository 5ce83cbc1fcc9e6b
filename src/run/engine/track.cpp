// SPDX-License-Identifier: BSD-3-Clause
#include "run/engine/track.h"

namespace tutti::engine {
namespace {

// Steps in one turn of a wait elsewhere: a call that moves much data must not hold that up.
constexpr uint32_t kStepsAtOnce = 64;

}  // namespace

void Track::run_by(std::unique_ptr<Runner> runner, std::unique_ptr<Control> control) {
    control_ = std::move(control);
    runner_ = std::move(runner);
    queue_.run_by(*runner_, *control_);
    waits_.run_by(*runner_, *control_);
}

void Track::move_on() {
    bool has_moved = false;
    for (uint32_t steps = 0; steps < kStepsAtOnce && queue_.advance(); ++steps) has_moved = true;
    // As before a sleep: others of the node may sleep for what was done.
    if (has_moved && members_.policy.sleeps) runner_->ring();
}

}  // namespace tutti::engine
