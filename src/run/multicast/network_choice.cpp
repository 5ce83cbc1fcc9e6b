// SPDX-License-Identifier: BSD-3-Clause
#include "run/multicast/network_choice.h"

#include <utility>

#include "base/amounts.h"

namespace tutti::multicast {
namespace {

// The next one's times as shares of those by the one before, in thousandths, one for each length:
// 10 % less in the mean. A smaller difference may be scatter of the trials. Networks that are tried
// first take less time of the processors, which prices do not know.
constexpr uint64_t kPermille = 1000;
constexpr uint64_t kClearlyLess = 2 * 900;

}  // namespace

Predicted predict(const AgreedMulticast& measured) {
    if (measured.latency_ns == 0 || measured.bytes_per_s == 0) return {};
    const auto takes_ns = [&](uint64_t bytes) {
        return measured.latency_ns + bytes_ns(bytes, measured.bytes_per_s);
    };
    return {takes_ns(kShortBytes), takes_ns(kLongBytes)};
}

bool is_next_faster(const Predicted& before, const Predicted& next) {
    if (before == Predicted{} || next == Predicted{}) return false;
    const uint64_t shares =
        next.short_ns * kPermille / before.short_ns + next.long_ns * kPermille / before.long_ns;
    return shares < kClearlyLess;
}

std::optional<size_t> NetworkChoice::next() const {
    if (next_ == kMulticastNetworks.size()) return std::nullopt;
    if (kept_ && !wanted_.takes_faster) return std::nullopt;
    return next_;
}

void NetworkChoice::take(MulticastOutcome outcome) {
    const size_t number = next_++;
    obstacles_[number] = std::move(outcome.obstacle);
    if (!outcome.route) return;
    if (!kept_) {
        kept_ = std::move(outcome.route);
        return;
    }
    const Predicted before = predict(kept_->agreed());
    const Predicted next = predict(outcome.route->agreed());
    if (before == Predicted{} || next == Predicted{}) {
        lacks_prediction_[kept_->network()] = before == Predicted{};
        lacks_prediction_[number] = next == Predicted{};
        return;
    }
    predicted_[kept_->network()] = before;
    predicted_[number] = next;
    if (is_next_faster(before, next)) kept_ = std::move(outcome.route);
}

MulticastOutcome NetworkChoice::finish() {
    if (kept_) {
        kept_->agreed().obstacles = std::move(obstacles_);
        kept_->agreed().predicted = predicted_;
        kept_->agreed().lacks_prediction = lacks_prediction_;
        return {std::move(kept_), {}};
    }
    const size_t first = wanted_.first;
    if (next_ - first == 1) return {nullptr, std::move(obstacles_[first])};
    std::string all;
    for (size_t number = first; number < next_; ++number) {
        if (!all.empty()) all += "; ";
        all.append("by ").append(kMulticastNetworks[number].title).append(": ");
        all += obstacles_[number];
    }
    return {nullptr, std::move(all)};
}

}  // namespace tutti::multicast
