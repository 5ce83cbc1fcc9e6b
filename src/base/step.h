// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace tutti {

// What a step of a state machine came to; nothing waits inside.
enum class Step {
    kBlocked,   // nothing more can be done now: someone else must move first
    kAdvanced,  // something was done; call again at once
    kDone,
    kFailed  // for good; in a call of the node level only where a block is too long
};

}  // namespace tutti
