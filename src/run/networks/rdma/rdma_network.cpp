// SPDX-License-Identifier: BSD-3-Clause
#include "run/networks/rdma/rdma_network.h"

#include <utility>

#include "run/networks/rdma/rdma_facts.h"
#include "run/networks/rdma/team_rdma.h"

namespace tutti::networks::rdma {

std::unique_ptr<TeamNetwork> RdmaNetwork::make_team(const topo::Placement& placement,
                                                    uint32_t rank) {
    return std::make_unique<TeamRdma>(*this, placement, rank);
}

FactRow RdmaNetwork::process_facts() { return facts_of(device()); }

FactRow RdmaNetwork::facts_without(const Whose& whose, const std::string& why) const {
    RdmaStory story;
    story.obstacle = why;
    return facts_of(story, whose);
}

Result<std::shared_ptr<transport::verbs::Device>> RdmaNetwork::device() {
    const std::lock_guard lock(mutex_);
    if (device_) return *device_;
    auto opened = transport::verbs::open_library(settings());
    if (opened) return device_.emplace(std::move(opened.value()));
    return device_.emplace(opened.error());
}

void RdmaNetwork::set_device(std::shared_ptr<transport::verbs::Device> device) {
    const std::lock_guard lock(mutex_);
    device_.emplace(std::move(device));
}

std::vector<std::shared_ptr<ProcessLinks>> RdmaNetwork::links() {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<ProcessLinks>> alive;
    std::erase_if(links_, [](const std::weak_ptr<ProcessLinks>& one) { return one.expired(); });
    for (const auto& one : links_) alive.push_back(one.lock());
    return alive;
}

void RdmaNetwork::keep_links(const std::shared_ptr<ProcessLinks>& links) {
    const std::lock_guard lock(mutex_);
    links_.push_back(links);
}

std::unique_ptr<Network> make(Process& process) { return std::make_unique<RdmaNetwork>(process); }

RdmaNetwork& network_of(const Networks& all) {
    return static_cast<RdmaNetwork&>(*all[network_number("rdma")]);
}

}  // namespace tutti::networks::rdma
