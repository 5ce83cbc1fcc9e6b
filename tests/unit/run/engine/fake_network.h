// SPDX-License-Identifier: BSD-3-Clause
// The fake of RDMA devices for ranks that are threads of one context: each has a device of its own,
// one thread at a time moves the network on. Where ranks may sleep, a thread of its own does, too.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "conformance/fake_verbs.h"

namespace tutti::test {

class FakeNetwork {
  public:
    FakeNetwork(uint32_t ranks, uint64_t seed, bool ends_last = false)
        : verbs_(ranks, {.seed = seed, .ends_last = ends_last}) {}
    FakeNetwork(const FakeNetwork&) = delete;
    FakeNetwork& operator=(const FakeNetwork&) = delete;
    ~FakeNetwork() {
        {
            const std::lock_guard lock(mutex_);
            is_over_ = true;
        }
        posted_.notify_one();
        if (mover_.joinable()) mover_.join();
    }

    // Told when a member begins to use the network, and when it has done.
    std::function<void(bool is_begun)> on_use;

    // Who makes endpoints on this thread.
    static void be(uint32_t rank) { rank_ = rank; }
    // One for all, which makes each thread's endpoints on its own device.
    std::unique_ptr<transport::verbs::Device> device() { return std::make_unique<Port>(*this); }
    void cut(uint32_t rank) {
        const std::lock_guard lock(mutex_);
        verbs_.cut(rank);
    }
    // This one registers no memory from here on.
    void refuse(uint32_t rank) {
        const std::lock_guard lock(mutex_);
        refused_.insert(rank);
    }
    // That are still there, and how many there were.
    [[nodiscard]] int endpoints() const { return endpoints_; }
    [[nodiscard]] int made() const { return made_; }
    // Without the looks, of which there is one for each second of waiting.
    uint64_t writes() {
        const std::lock_guard lock(mutex_);
        return verbs_.writes() - verbs_.looks();
    }
    uint64_t adds() {
        const std::lock_guard lock(mutex_);
        return verbs_.adds();
    }
    uint64_t slot_bytes() {
        const std::lock_guard lock(mutex_);
        return verbs_.slot_bytes();
    }
    uint64_t exposures() {
        const std::lock_guard lock(mutex_);
        return verbs_.exposures();
    }
    // That nobody has given back.
    uint64_t exposed() {
        const std::lock_guard lock(mutex_);
        return verbs_.exposed();
    }
    [[nodiscard]] uint64_t polls() const { return polls_; }
    // How often somebody was about to sleep, and was told of a completion.
    uint64_t arms() {
        const std::lock_guard lock(mutex_);
        return verbs_.arms();
    }
    uint64_t tells() {
        const std::lock_guard lock(mutex_);
        return verbs_.tells();
    }
    std::string fault() {
        const std::lock_guard lock(mutex_);
        return verbs_.fault();
    }

  private:
    using Endpoint = transport::verbs::Endpoint;

    // By a member, whose own memory may run out, but not the network's.
    class Use {
      public:
        explicit Use(FakeNetwork& network) : network_(network), lock_(network.mutex_) {
            if (network_.on_use) network_.on_use(true);
        }
        ~Use() {
            if (network_.on_use) network_.on_use(false);
        }
        Use(const Use&) = delete;
        Use& operator=(const Use&) = delete;

      private:
        FakeNetwork& network_;
        std::lock_guard<std::mutex> lock_;
    };

    class End final : public Endpoint {
      public:
        End(FakeNetwork& network, std::unique_ptr<Endpoint> inner)
            : network_(network), inner_(std::move(inner)) {
            ++network_.endpoints_;
            ++network_.made_;
        }
        End(const End&) = delete;
        End& operator=(const End&) = delete;
        ~End() override {
            const Use use(network_);
            inner_.reset();
            --network_.endpoints_;
        }
        std::span<std::byte> memory() override { return inner_->memory(); }
        std::span<uint64_t> words() override { return inner_->words(); }
        transport::verbs::PairCard card(uint32_t pair) override { return inner_->card(pair); }
        Result<Done> connect(uint32_t pair, const transport::verbs::PortCard& port,
                             const transport::verbs::PairCard& other) override {
            const Use use(network_);
            return inner_->connect(pair, port, other);
        }
        int write(uint32_t pair, const transport::verbs::Write& write) override {
            const Use use(network_);
            if (network_.mover_.joinable()) network_.posted_.notify_one();
            return inner_->write(pair, write);
        }
        int write_direct(uint32_t pair, const transport::verbs::DirectWrite& write) override {
            const Use use(network_);
            if (network_.mover_.joinable()) network_.posted_.notify_one();
            return inner_->write_direct(pair, write);
        }
        int add(uint32_t pair, const transport::verbs::Add& add) override {
            const Use use(network_);
            if (network_.mover_.joinable()) network_.posted_.notify_one();
            return inner_->add(pair, add);
        }
        transport::verbs::Region expose(const std::byte* memory, size_t bytes,
                                        bool is_target) override {
            const Use use(network_);
            return inner_->expose(memory, bytes, is_target);
        }
        void conceal(const transport::verbs::Region& region) override {
            const Use use(network_);
            inner_->conceal(region);
        }
        int recv(uint32_t pair) override {
            const Use use(network_);
            return inner_->recv(pair);
        }
        int poll(std::span<transport::verbs::Completion> completions) override {
            ++network_.polls_;
            const Use use(network_);
            for (int i = 0; i < kEventsAtOnce; ++i) network_.verbs_.pump();
            return inner_->poll(completions);
        }
        [[nodiscard]] int wait_fd() const override { return inner_->wait_fd(); }
        // Its bytes are placed by whoever moves the network.
        [[nodiscard]] uint64_t look(const std::byte* word) const override {
            const Use use(network_);
            return inner_->look(word);
        }
        bool arm(transport::verbs::Events of) override {
            const Use use(network_);
            return inner_->arm(of);
        }
        [[nodiscard]] const char* status_text(int status) const override {
            return inner_->status_text(status);
        }

      private:
        FakeNetwork& network_;
        std::unique_ptr<Endpoint> inner_;
    };

    class Port final : public transport::verbs::Device {
      public:
        explicit Port(FakeNetwork& network) : network_(network) {}
        [[nodiscard]] std::string name() const override { return "fake:1"; }
        [[nodiscard]] const transport::verbs::PortCard& port() const override {
            return network_.verbs_.device(0).port();
        }
        Result<std::unique_ptr<Endpoint>> make_endpoint(
            const transport::verbs::Need& need) override {
            const Use use(network_);
            if (network_.refused_.contains(rank_)) {
                return Error{ErrorCode::kSystem, "memory cannot be registered"};
            }
            auto made = network_.verbs_.device(rank_).make_endpoint(need);
            if (!made) return made;
            if (need.may_sleep && !network_.mover_.joinable()) network_.begin_moving();
            return std::unique_ptr<Endpoint>(
                std::make_unique<End>(network_, std::move(made.value())));
        }

      private:
        FakeNetwork& network_;
    };

    static constexpr int kEventsAtOnce = 4;

    void begin_moving() {
        mover_ = std::thread([this] {
            std::unique_lock lock(mutex_);
            while (!is_over_) {
                if (verbs_.is_idle()) posted_.wait(lock);
                for (int i = 0; i < kEventsAtOnce && !verbs_.is_idle(); ++i) verbs_.pump();
                lock.unlock();
                std::this_thread::yield();
                lock.lock();
            }
        });
    }

    static inline thread_local uint32_t rank_ = 0;
    std::mutex mutex_;
    FakeVerbs verbs_;
    std::set<uint32_t> refused_;
    std::atomic<int> endpoints_ = 0;
    std::atomic<int> made_ = 0;
    std::atomic<uint64_t> polls_ = 0;
    std::thread mover_;  // under mutex_, but for its end
    std::condition_variable posted_;
    bool is_over_ = false;
};

}  // namespace tutti::test
