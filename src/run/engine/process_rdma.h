// SPDX-License-Identifier: BSD-3-Clause
// What a process has of messages by RDMA: its port, the memory that teams have registered, and the
// connections that they share.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/allowance.h"
#include "base/result.h"
#include "base/settings.h"
#include "run/engine/process_links.h"
#include "run/transport/verbs/library.h"

namespace tutti::engine {

class ProcessRdma {
  public:
    // settings outlive this.
    explicit ProcessRdma(const VerbsSettings& settings) : settings_(settings) {}

    // The port for messages and multicast by RDMA, looked for when first asked for, once. An error
    // says why there is none.
    Result<std::shared_ptr<transport::verbs::Device>> device();
    // Before that: another one than this machine's.
    void set_device(std::shared_ptr<transport::verbs::Device> device);
    // Whether the port was never found to reach itself in vain, which takes seconds to find out.
    std::atomic<bool>& reaches_itself() { return reaches_itself_; }

    // What teams have registered for messages; at most the settings' memory_bytes.
    Allowance& memory() { return memory_; }
    // Connections that a team may share, the oldest ones first; and these are such from here on.
    std::vector<std::shared_ptr<ProcessLinks>> links();
    void keep_links(const std::shared_ptr<ProcessLinks>& links);

  private:
    const VerbsSettings& settings_;
    // Taken last: multicast opens its carrier under another lock, which who tells of a failure
    // takes while it holds its team's, which Remnants::tidy() takes under its own.
    std::mutex mutex_;
    std::optional<Result<std::shared_ptr<transport::verbs::Device>>> device_;
    std::vector<std::weak_ptr<ProcessLinks>> links_;
    Allowance memory_;
    std::atomic<bool> reaches_itself_ = true;
};

}  // namespace tutti::engine
