// SPDX-License-Identifier: BSD-3-Clause
#include "run/engine/process_rdma.h"

#include <utility>

namespace tutti::engine {

Result<std::shared_ptr<transport::verbs::Device>> ProcessRdma::device() {
    const std::lock_guard lock(mutex_);
    if (device_) return *device_;
    auto opened = transport::verbs::open_library(settings_);
    if (opened) return device_.emplace(std::move(opened.value()));
    return device_.emplace(opened.error());
}

void ProcessRdma::set_device(std::shared_ptr<transport::verbs::Device> device) {
    const std::lock_guard lock(mutex_);
    device_.emplace(std::move(device));
}

std::vector<std::shared_ptr<ProcessLinks>> ProcessRdma::links() {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<ProcessLinks>> alive;
    std::erase_if(links_, [](const std::weak_ptr<ProcessLinks>& one) { return one.expired(); });
    for (const auto& one : links_) alive.push_back(one.lock());
    return alive;
}

void ProcessRdma::keep_links(const std::shared_ptr<ProcessLinks>& links) {
    const std::lock_guard lock(mutex_);
    links_.push_back(links);
}

}  // namespace tutti::engine
