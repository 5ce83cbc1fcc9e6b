// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/team_failures.h"

namespace tutti::mpi {

const char* TeamFailures::keep(const std::string& reason) {
    const std::lock_guard lock(mutex_);
    for (const Reason* one = last_; one != nullptr; one = one->next) {
        if (one->text == reason) return one->text.c_str();
    }
    if (kept_ == kKeptMax) return "host: no team could be made";
    last_ = new Reason{reason, last_};
    ++kept_;
    return last_->text.c_str();
}

bool TeamFailures::is_first(tutti_status status) {
    const uint32_t bit = 1u << (static_cast<uint32_t>(-status) & 31u);
    return (said_.fetch_or(bit) & bit) == 0;
}

}  // namespace tutti::mpi
