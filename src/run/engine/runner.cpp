// SPDX-License-Identifier: BSD-3-Clause
#include "run/engine/runner.h"

#include <cstdio>

namespace tutti::engine {

Runner::Begun Runner::fail(const Error& error) {
    if (error.code == ErrorCode::kMemory) {
        std::snprintf(own_.text, sizeof own_.text, "%s", error.message.c_str());
        return fail(TUTTI_ERR_MEMORY, own_.text);
    }
    alike_ = error.message;
    failure_ = {TUTTI_ERR_ALGORITHM, alike_.c_str(), true};
    return Begun::kFailed;
}

}  // namespace tutti::engine
