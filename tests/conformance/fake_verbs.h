// SPDX-License-Identifier: BSD-3-Clause
// Reliable connections in one process, in virtual time under a seed, by the rules of the
// specification that docs/protocol/verbs.md lists, at their loosest: memory is read late, data are
// placed in pieces and at the latest when the receive's completion is seen, completions are
// delayed, a write's own may come before or after. Memory of the program that is not registered, or
// no more, is neither read nor written: the pair fails, and says so behind all writes before, which
// are complete. An addition happens once, when it arrives; its end's processor sees it later, its
// own end's is told later still, or before that. Who asks for it is told of a completion by a file
// descriptor, once, some time after the completion can be polled; who asks for solicited events
// alone, of no other. Asked for all before that, of all.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/prng.h"
#include "run/transport/verbs/device.h"

namespace tutti::test {

struct FakeRules {
    uint64_t seed = 1;
    uint64_t delay_ns_max = 5'000;  // of each step of a write
    uint32_t mtu_bytes = 1024;      // of all ports
    bool can_add = true;
    uint32_t cq_entries = 0;                  // 0: as many as can come
    uint64_t exposed_bytes_max = UINT64_MAX;  // of a device at a time: memory of the program
    bool ends_last = false;  // what a write of a packet brings is placed from its first byte on
};

class FakeVerbs final : public Clock {
  public:
    FakeVerbs(uint32_t devices, const FakeRules& rules);
    ~FakeVerbs() override;
    FakeVerbs(const FakeVerbs&) = delete;
    FakeVerbs& operator=(const FakeVerbs&) = delete;

    transport::verbs::Device& device(uint32_t number);
    uint64_t now_ns() override { return now_ns_; }
    // The next thing happens; where nothing is under way, time goes by.
    void pump();
    // Nothing reaches this device any more, and nothing leaves it.
    void cut(uint32_t number);
    // Nothing is under way, nor to be told.
    [[nodiscard]] bool is_idle() const { return events_.empty(); }
    // Ends that asked to be told, and what was told.
    [[nodiscard]] uint64_t arms() const { return arms_; }
    [[nodiscard]] uint64_t tells() const { return tells_; }
    // That one endpoint was told, by the order in which they were made.
    [[nodiscard]] uint64_t tells(uint32_t node) const;
    // All that were ever posted.
    [[nodiscard]] uint64_t writes() const { return writes_; }
    // Of these: of nothing, to learn whether the other end is there.
    [[nodiscard]] uint64_t looks() const { return looks_; }
    // Of several packets and without an immediate: nobody says that their end lands last.
    [[nodiscard]] uint64_t long_untold() const { return long_untold_; }
    // Receives that were posted behind connect(), and completions.
    [[nodiscard]] uint64_t recvs() const { return recvs_; }
    [[nodiscard]] uint64_t completions() const { return completions_; }
    // Of these: additions.
    [[nodiscard]] uint64_t adds() const { return adds_; }
    // The bytes of those from memory of endpoints, and how much of the program's was registered:
    // how often, and in how many places it is now.
    [[nodiscard]] uint64_t slot_bytes() const { return slot_bytes_; }
    [[nodiscard]] uint64_t exposures() const { return exposures_; }
    [[nodiscard]] uint64_t exposed() const { return exposed_; }
    // What the code under test did that the specification forbids, and that it left somebody asleep
    // (hear_of()); empty: nothing.
    [[nodiscard]] const std::string& fault() const { return fault_; }

    struct Node;  // an endpoint
    struct Posted;
    struct Queue;
    void post(Node& node, uint32_t pair, const transport::verbs::Write& write,
              bool is_send = false);
    void post(Node& node, uint32_t pair, const transport::verbs::DirectWrite& write);
    void post(Node& node, uint32_t pair, const transport::verbs::Add& add);
    transport::verbs::Region expose(Node& node, std::byte* memory, size_t bytes, bool is_target);
    void conceal(const transport::verbs::Region& region);

  private:
    struct Event;
    struct Exposed;
    void give_back(Posted& posted);
    Exposed* find(uint32_t key);
    void launch(Node& node, uint32_t pair, uint64_t number);
    const std::byte* source_of(Node& node, uint32_t pair, uint64_t number);
    std::byte* target_of(Node& node, uint32_t pair, uint64_t number);
    void place(Posted& posted, std::byte* target);
    void schedule(uint64_t at_ns, int kind, uint32_t node, uint32_t pair, uint64_t number);
    void arrive(const Event& event);
    void show(const Event& event);
    void acknowledge(const Event& event);
    void refuse(const Event& event, int status);
    void fail(Node& node, uint32_t pair, int status, uint64_t number);
    void flush_recvs(Node& node, uint32_t pair);
    void put(Node& node, const transport::verbs::Completion& completion, bool wakes = false);
    void hear_of(Node& node, Queue& queue, const transport::verbs::Write& write);
    void tell(const Event& event);
    uint64_t delay() { return 1 + prng_.below(rules_.delay_ns_max); }

    friend class FakeDevice;
    friend class FakeEndpoint;
    FakeRules rules_;
    Prng prng_;
    uint64_t now_ns_ = 0;
    uint64_t order_ = 0;
    uint64_t writes_ = 0;
    uint64_t looks_ = 0;
    uint64_t long_untold_ = 0;
    uint64_t recvs_ = 0;
    uint64_t completions_ = 0;
    uint64_t adds_ = 0;
    uint64_t slot_bytes_ = 0;
    uint64_t exposures_ = 0;
    uint64_t exposed_ = 0;
    uint32_t last_key_ = 0;
    std::vector<Exposed> exposed_memory_;
    // For what direct writes have read, so that nothing is allocated while they are under way.
    std::vector<std::vector<std::byte>> buffers_;
    uint64_t arms_ = 0;
    uint64_t tells_ = 0;
    std::string fault_;
    std::vector<Event> events_;  // a heap
    std::vector<bool> is_cut_;   // by device
    std::vector<std::unique_ptr<Node>> nodes_;
    std::vector<std::unique_ptr<transport::verbs::Device>> devices_;
};

// What ibv_wc_status calls them.
inline constexpr int kLocalLength = 1;
inline constexpr int kLocalProtection = 4;
inline constexpr int kFlushed = 5;
inline constexpr int kRemoteInvalid = 9;
inline constexpr int kRemoteAccess = 10;
inline constexpr int kRetryExceeded = 12;
inline constexpr int kRnrExceeded = 13;

}  // namespace tutti::test
