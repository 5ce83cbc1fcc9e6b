// SPDX-License-Identifier: BSD-3-Clause
// Wraps another transport and makes it worse, by seed, within what transport.h allows: messages set
// out late, those of different slots and peers overtake each other, and one fails where that is
// asked for. What a reliable transport never does (lose, double) it does not do either.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/prng.h"
#include "run/transport/transport.h"

namespace tutti::transport {

struct Faults {
    uint64_t seed = 1;
    // A post is held back for up to so many calls of test().
    uint32_t hold_tests_max = 0;
    // The post of this number fails, counted from 1; 0: none.
    uint64_t fail_at_post = 0;
};

class Faulty final : public Transport {
  public:
    // inner must outlive this.
    Faulty(Transport& inner, const Faults& faults)
        : inner_(inner), faults_(faults), prng_(faults.seed) {}

    void send(Rank peer, const MessageId& id, const std::byte* data, size_t bytes,
              Ticket& ticket) override;
    void recv(Rank peer, const MessageId& id, std::byte* data, size_t bytes,
              Ticket& ticket) override;
    State test(Ticket& ticket) override;
    void cancel(Ticket& ticket) override;
    [[nodiscard]] bool can_withdraw_receives() const override {
        return inner_.can_withdraw_receives();
    }
    [[nodiscard]] State withdraw_receive(Rank peer, const MessageId& id, const std::byte* data,
                                         size_t bytes, Ticket& ticket) override;
    void clear_disagreement() override { inner_.clear_disagreement(); }
    void poll() override { inner_.poll(); }
    void expose(std::span<std::byte> memory, Memory kind) override { inner_.expose(memory, kind); }
    void conceal(std::span<std::byte> memory) override { inner_.conceal(memory); }
    [[nodiscard]] std::string error() const override;
    [[nodiscard]] Disagreement disagreement() const override { return inner_.disagreement(); }
    // Posts that are held back: test() must be called for them to go.
    [[nodiscard]] uint32_t held() const { return count_; }

  private:
    struct Post {
        bool is_send = false;
        uint32_t tests_left = 0;
        Rank peer = 0;
        MessageId id;
        const std::byte* source = nullptr;
        std::byte* target = nullptr;
        size_t bytes = 0;
        Ticket* ticket = nullptr;
    };
    // When so many are held, all of them go.
    static constexpr uint32_t kHeldMax = 64;

    void post(Post post);
    void pass_on(const Post& post);
    void pass_on_due();
    bool drop_held(const Ticket& ticket);

    Transport& inner_;
    Faults faults_;
    Prng prng_;
    uint64_t posts_ = 0;
    bool has_failed_ = false;
    std::array<Post, kHeldMax> held_;  // in the order in which they were posted
    uint32_t count_ = 0;
};

}  // namespace tutti::transport
