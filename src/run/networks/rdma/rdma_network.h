// SPDX-License-Identifier: BSD-3-Clause
// What a process has of messages by RDMA: its port, the memory that teams have registered, and the
// connections that they share.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/allowance.h"
#include "base/result.h"
#include "run/networks/message_network.h"
#include "run/networks/rdma/process_links.h"
#include "run/networks/team_networks.h"
#include "run/transport/verbs/library.h"

namespace tutti::networks::rdma {

class RdmaNetwork final : public Network {
  public:
    // process outlives this.
    explicit RdmaNetwork(Process& process) : process_(process) {}
    std::unique_ptr<TeamNetwork> make_team(const topo::Placement& placement,
                                           uint32_t rank) override;
    [[nodiscard]] FactRow process_facts() override;
    [[nodiscard]] FactRow facts_without(const Whose& whose, const std::string& why) const override;

    [[nodiscard]] Process& process() { return process_; }
    [[nodiscard]] const VerbsSettings& settings() const { return process_.settings().verbs; }
    // The port for messages and multicast by RDMA, looked for when first asked for, once. An error
    // says why there is none.
    Result<std::shared_ptr<transport::verbs::Device>> device();
    // Before that: another one than this machine's.
    void set_device(std::shared_ptr<transport::verbs::Device> device);
    // False once a try to reach the port from itself has failed. A try takes seconds.
    std::atomic<bool>& reaches_itself() { return reaches_itself_; }

    // What teams have registered for messages; at most the settings' memory_bytes.
    Allowance& memory() { return memory_; }
    // Connections that a team may share, the oldest ones first; and these are such from here on.
    std::vector<std::shared_ptr<ProcessLinks>> links();
    void keep_links(const std::shared_ptr<ProcessLinks>& links);

  private:
    Process& process_;
    // The order of locks: engine::Remnants, a team's multicast, the process's multicast, this.
    std::mutex mutex_;
    std::optional<Result<std::shared_ptr<transport::verbs::Device>>> device_;
    std::vector<std::weak_ptr<ProcessLinks>> links_;
    Allowance memory_;
    std::atomic<bool> reaches_itself_ = true;
};

std::unique_ptr<Network> make(Process& process);
// The one of these that is.
RdmaNetwork& network_of(const Networks& all);

}  // namespace tutti::networks::rdma
