// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/verbs/registered.h"

#include <sys/mman.h>

#include <cerrno>

namespace tutti::transport::verbs {

Registered::~Registered() {
    if (region_) calls_.dereg_mr(region_);
    if (domain_) calls_.dealloc_pd(domain_);
    if (!memory_.empty()) munmap(memory_.data(), memory_.size());
}

Result<Done> Registered::make(const Opened& opened, size_t bytes, int access,
                              const std::string& what, size_t told_bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return error_of("no memory for " + what, errno);
    memory_ = {static_cast<std::byte*>(memory), bytes};
    if (madvise(memory, bytes, MADV_DONTFORK) != 0) return error_of("madvise", errno);
    domain_ = calls_.alloc_pd(opened.context);
    if (!domain_) return error_of("no protection domain", errno);
    region_ = calls_.reg_mr(domain_, memory, bytes, access);
    if (region_) return Done{};
    return error_of("memory cannot be registered (ulimit -l may be too small): " +
                        std::to_string(told_bytes) + " bytes",
                    errno);
}

}  // namespace tutti::transport::verbs
