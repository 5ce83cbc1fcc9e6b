// SPDX-License-Identifier: BSD-3-Clause
#include "run/multicast/fabric_choice.h"

#include "base/amounts.h"
#include "run/multicast/team_multicast.h"

namespace tutti::multicast {
namespace {

// UDP's times as shares of those by verbs, in thousandths, one for each length: 10 % less in the
// mean. What is nearer is as likely the trials' own scatter, and verbs spare the processors the
// network's stack, which prices do not know.
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

bool is_udp_faster(const Predicted& verbs, const Predicted& udp) {
    if (verbs == Predicted{} || udp == Predicted{}) return false;
    const uint64_t shares =
        udp.short_ns * kPermille / verbs.short_ns + udp.long_ns * kPermille / verbs.long_ns;
    return shares < kClearlyLess;
}

}  // namespace tutti::multicast
