// SPDX-License-Identifier: BSD-3-Clause
// What the protection of a multicast packet costs: nanoseconds to seal and to unseal one, by the
// code alone and with secrecy (src/transport/carrier/code.h). The least of 25 rounds of 1,000
// packets.
//
//     cmake --build --preset release --target code_bench && build/bin/code_bench
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "mcast/packet.h"
#include "transport/carrier/code.h"

namespace {

using namespace tutti::transport::carrier;

template <class Work>
double best_ns(Work work) {
    using Clock = std::chrono::steady_clock;
    constexpr int kRounds = 25;
    constexpr int kPackets = 1000;
    double best = 1e18;
    for (int round = 0; round < kRounds; ++round) {
        const auto begin = Clock::now();
        for (int i = 0; i < kPackets; ++i) work();
        const std::chrono::duration<double, std::nano> took = Clock::now() - begin;
        best = std::min(best, took.count() / kPackets);
    }
    return best;
}

}  // namespace

int main() {
    auto made = random_key();
    if (!made) {
        fprintf(stderr, "%s\n", made.error().message.c_str());
        return 1;
    }
    printf("bytes   protection      seal ns   seal and unseal ns\n");
    for (const size_t bytes : {size_t{76}, size_t{1440}, size_t{8972}}) {
        for (const bool is_secret : {false, true}) {
            Key key = made.value();
            key.is_secret = is_secret;
            if (const auto prepared = prepare(key); !prepared) return 1;
            std::vector<std::byte> packet(bytes);
            uint64_t counter = 0;
            bool all_right = true;
            const double seal_ns = best_ns([&] {
                tutti::mcast::number(packet, ++counter, 0);
                seal(key, packet);
            });
            const double both_ns = best_ns([&] {
                tutti::mcast::number(packet, ++counter, 0);
                seal(key, packet);
                all_right &= unseal(key, packet);
            });
            if (!all_right) return 1;
            printf("%5zu   %-13s %9.0f %9.0f\n", bytes, is_secret ? "encrypted" : "authenticated",
                   seal_ns, both_ns);
        }
    }
    return 0;
}
