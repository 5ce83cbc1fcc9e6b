// SPDX-License-Identifier: BSD-3-Clause
// A fabric's datagrams whose links say that they are slow, or that have no way to the others.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "run/transport/carrier/datagrams.h"

namespace tutti::test {

class SlowDatagrams final : public transport::carrier::Datagrams {
  public:
    using Way = transport::carrier::Way;
    using Address = transport::carrier::Address;

    SlowDatagrams(std::unique_ptr<Datagrams> inner, uint64_t bytes_per_s)
        : inner_(std::move(inner)), bytes_per_s_(bytes_per_s) {}
    SlowDatagrams(std::unique_ptr<Datagrams> inner, std::string why)
        : inner_(std::move(inner)), why_(std::move(why)) {}

    [[nodiscard]] Result<transport::carrier::Path> choose_path(std::span<const Address> members,
                                                               mcast::Member own) const override {
        if (why_) return Error{ErrorCode::kNetwork, *why_};
        auto path = inner_->choose_path(members, own);
        if (path) path.value().bytes_per_s_max = bytes_per_s_;
        return path;
    }

    [[nodiscard]] Address address() const override { return inner_->address(); }
    [[nodiscard]] std::string describe(const Way& way) const override {
        return inner_->describe(way);
    }
    [[nodiscard]] std::span<const transport::carrier::WaitFd> wait_fds() const override {
        return inner_->wait_fds();
    }
    Result<std::unique_ptr<Way>> join(const transport::carrier::WayParams& params) override {
        return inner_->join(params);
    }
    void leave(std::unique_ptr<Way> way) override { inner_->leave(std::move(way)); }
    [[nodiscard]] uint32_t sources() const override { return inner_->sources(); }
    transport::carrier::Batch receive(uint32_t source) override { return inner_->receive(source); }
    [[nodiscard]] std::span<std::byte> space() override { return inner_->space(); }
    void add(const Way& way, mcast::Member to, size_t bytes, bool is_urgent) override {
        inner_->add(way, to, bytes, is_urgent);
    }
    bool flush() override { return inner_->flush(); }
    void forget(const Way& way) override { inner_->forget(way); }
    void set_needs(bool shares_host, bool wants_ages) override {
        inner_->set_needs(shares_host, wants_ages);
    }
    bool arm(transport::carrier::Wake wake, bool wants_room) override {
        return inner_->arm(wake, wants_room);
    }
    [[nodiscard]] Counters counters() const override { return inner_->counters(); }

  private:
    std::unique_ptr<Datagrams> inner_;
    uint64_t bytes_per_s_ = 0;
    std::optional<std::string> why_;
};

}  // namespace tutti::test
