// SPDX-License-Identifier: BSD-3-Clause
// What the protection of a multicast packet costs: nanoseconds to seal and to unseal one, by each
// of them (src/run/transport/carrier/code.h), and beside them what libsodium has besides:
// AES-256-GCM where the processor has AES, as a cipher and as a code alone (all of the packet is
// covered, nothing encrypted), and HMAC-SHA-512/256. The least of 250 rounds of 100 packets.
//
//     cmake --build --preset release --target code_bench && build/bin/code_bench
#include <sodium.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <vector>

#include "run/mcast/packet.h"
#include "run/transport/carrier/code.h"

namespace {

using namespace tutti::transport::carrier;

template <class Work>
double best_ns(Work work) {
    using Clock = std::chrono::steady_clock;
    // Short ones, so that some are not interrupted.
    constexpr int kRounds = 250;
    constexpr int kPackets = 100;
    double best = 1e18;
    for (int round = 0; round < kRounds; ++round) {
        const auto begin = Clock::now();
        for (int i = 0; i < kPackets; ++i) work();
        const std::chrono::duration<double, std::nano> took = Clock::now() - begin;
        best = std::min(best, took.count() / kPackets);
    }
    return best;
}

constexpr struct {
    Protection protection;
    const char* name;
} kProtections[] = {{Protection::kNone, "none"},
                    {Protection::kHeader, "header"},
                    {Protection::kAll, "all"},
                    {Protection::kSecret, "encrypted"}};

std::vector<std::byte> data_packet(size_t bytes) {
    const std::vector<std::byte> payload(bytes - tutti::mcast::kDataHeaderBytes);
    tutti::mcast::Data data;
    data.total = static_cast<uint32_t>(payload.size());
    data.payload = payload;
    std::vector<std::byte> packet(bytes);
    tutti::mcast::write({.body = data}, packet);
    return packet;
}

using Bytes = std::vector<unsigned char>;

// To seal alone; as much again to unseal.
void print_others(size_t bytes) {
    constexpr size_t kHead = tutti::mcast::kHeaderBytes;
    constexpr size_t kCode = tutti::mcast::kCodeBytes;
    Bytes packet(bytes);
    Bytes key(crypto_auth_KEYBYTES);
    std::array<unsigned char, crypto_auth_BYTES> code{};
    const auto print = [&](const char* what, double ns) {
        printf("%5zu   %-13s %9.0f\n", bytes, what, ns);
    };
    if (crypto_aead_aes256gcm_is_available() != 0) {
        crypto_aead_aes256gcm_state state;
        crypto_aead_aes256gcm_beforenm(&state, key.data());
        const auto seal = [&](size_t covered, unsigned char* secret, size_t length) {
            crypto_aead_aes256gcm_encrypt_detached_afternm(
                secret, code.data(), nullptr, secret, length, packet.data() + kCode, covered,
                nullptr, packet.data() + tutti::mcast::kNonceAt, &state);
        };
        print("aes256gcm",
              best_ns([&] { seal(kHead - kCode, packet.data() + kHead, bytes - kHead); }));
        print("aes256gcm-mac", best_ns([&] { seal(bytes - kCode, nullptr, 0); }));
    }
    print("hmac-sha512", best_ns([&] {
              crypto_auth(code.data(), packet.data() + kCode, bytes - kCode, key.data());
          }));
}

}  // namespace

int main() {
    auto made = random_key();
    if (!made) {
        fprintf(stderr, "%s\n", made.error().message.c_str());
        return 1;
    }
    if (sodium_init() < 0) return 1;
    printf("bytes   protection      seal ns   seal and unseal ns\n");
    for (const size_t bytes : {size_t{76}, size_t{1440}, size_t{4096}, size_t{8972}}) {
        for (const auto& [protection, name] : kProtections) {
            Key key = made.value();
            key.protection = protection;
            if (const auto prepared = prepare(key); !prepared) return 1;
            std::vector<std::byte> packet = data_packet(bytes);
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
            printf("%5zu   %-13s %9.0f %9.0f\n", bytes, name, seal_ns, both_ns);
        }
        print_others(bytes);
    }
    return 0;
}
