// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/carrier/code.h"

#include <sodium.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "base/assert.h"
#include "base/random.h"
#include "run/mcast/packet.h"

namespace tutti::transport::carrier {
namespace {

static_assert(crypto_shorthash_siphashx24_BYTES == mcast::kCodeBytes);
static_assert(crypto_shorthash_siphashx24_KEYBYTES <= sizeof(Key::bytes));
static_assert(crypto_aead_chacha20poly1305_ietf_ABYTES == mcast::kCodeBytes);
static_assert(crypto_aead_chacha20poly1305_ietf_KEYBYTES == sizeof(Key::bytes));
static_assert(crypto_aead_chacha20poly1305_ietf_NPUBBYTES == mcast::kNonceBytes);

constexpr const char* kNoRandomNumbers =
    "no random numbers for a key: getrandom() and /dev/urandom are denied";

using Code = std::array<unsigned char, mcast::kCodeBytes>;

unsigned char* raw(std::byte* bytes) { return reinterpret_cast<unsigned char*>(bytes); }
const unsigned char* raw(const std::byte* bytes) {
    return reinterpret_cast<const unsigned char*>(bytes);
}

Code code_over(const Key& key, std::span<const std::byte> covered) {
    Code code{};
    crypto_shorthash_siphashx24(code.data(), raw(covered.data()), covered.size(),
                                raw(key.bytes.data()));
    return code;
}

// The length as well: a packet cut short would leave a hole that nobody asks for.
Code code_over_header(const Key& key, std::span<const std::byte> packet) {
    constexpr size_t kCovered = mcast::kDataHeaderBytes - mcast::kCodeBytes;
    std::array<std::byte, kCovered + sizeof(uint32_t)> covered{};
    std::memcpy(covered.data(), packet.data() + mcast::kCodeBytes, kCovered);
    for (size_t i = 0; i < sizeof(uint32_t); ++i) {
        covered[kCovered + i] = static_cast<std::byte>(packet.size() >> (8 * i));
    }
    return code_over(key, covered);
}

Code code_of(const Key& key, std::span<const std::byte> packet) {
    if (key.protection == Protection::kNone) {
        Code mark{};
        std::memcpy(mark.data(), key.bytes.data(), mark.size());
        return mark;
    }
    const bool is_long = packet.size() >= mcast::kDataHeaderBytes;
    if (key.protection == Protection::kHeader && is_long && mcast::is_data(packet)) {
        return code_over_header(key, packet);
    }
    return code_over(key, packet.subspan(mcast::kCodeBytes));
}

// The parts of a packet that is encrypted.
struct Secret {
    std::span<std::byte> code;
    std::span<std::byte> header;  // readable, covered
    std::span<std::byte> body;
    const unsigned char* nonce;

    explicit Secret(std::span<std::byte> packet)
        : code(packet.first(mcast::kCodeBytes)),
          header(packet.subspan(mcast::kCodeBytes, mcast::kHeaderBytes - mcast::kCodeBytes)),
          body(packet.subspan(mcast::kHeaderBytes)),
          nonce(raw(packet.data() + mcast::kNonceAt)) {}
};

void encrypt(const Key& key, std::span<std::byte> packet) {
    TUTTI_ASSERT(packet.size() >= mcast::kHeaderBytes, "a packet has its header");
    const Secret parts(packet);
    crypto_aead_chacha20poly1305_ietf_encrypt_detached(
        raw(parts.body.data()), raw(parts.code.data()), nullptr, raw(parts.body.data()),
        parts.body.size(), raw(parts.header.data()), parts.header.size(), nullptr, parts.nonce,
        raw(key.bytes.data()));
}

bool decrypt(const Key& key, std::span<std::byte> packet) {
    if (packet.size() < mcast::kHeaderBytes) return false;
    const Secret parts(packet);
    return crypto_aead_chacha20poly1305_ietf_decrypt_detached(
               raw(parts.body.data()), nullptr, raw(parts.body.data()), parts.body.size(),
               raw(parts.code.data()), raw(parts.header.data()), parts.header.size(), parts.nonce,
               raw(key.bytes.data())) == 0;
}

}  // namespace

Result<Key> random_key() {
    Key key;
    if (random_secret(std::as_writable_bytes(std::span(key.bytes)))) return key;
    return Error{ErrorCode::kSystem, kNoRandomNumbers};
}

Protection protection_of(const McastSettings& settings) {
    if (settings.secret) return Protection::kSecret;
    switch (settings.code) {
        case McastCode::kAll:
            return Protection::kAll;
        case McastCode::kHeader:
            return Protection::kHeader;
        case McastCode::kNone:
            return Protection::kNone;
    }
    TUTTI_ASSERT(false, "a code covers something or nothing");
}

Result<Done> prepare(const Key& key) {
    if (key.protection != Protection::kSecret) return Done{};
    // Where it gets no random numbers, libsodium ends the process.
    std::array<std::byte, 1> trial;
    if (!random_secret(trial)) return Error{ErrorCode::kSystem, kNoRandomNumbers};
    if (sodium_init() >= 0) return Done{};
    return Error{ErrorCode::kSystem, "libsodium cannot be set up for TUTTI_MCAST_SECRET"};
}

void seal(const Key& key, std::span<std::byte> packet) {
    TUTTI_ASSERT(packet.size() >= mcast::kCodeBytes, "a packet has room for its code");
    if (key.protection == Protection::kSecret) return encrypt(key, packet);
    const Code code = code_of(key, packet);
    std::memcpy(packet.data(), code.data(), code.size());
}

bool unseal(const Key& key, std::span<std::byte> packet) {
    if (key.protection == Protection::kSecret) return decrypt(key, packet);
    if (packet.size() < mcast::kCodeBytes) return false;
    const Code code = code_of(key, packet);
    // Takes as long for a code that is nearly right as for any other.
    unsigned difference = 0;
    for (size_t i = 0; i < code.size(); ++i) {
        difference |= code[i] ^ std::to_integer<unsigned>(packet[i]);
    }
    return difference == 0;
}

// The least of many: on a busy machine most tries meet something else.
uint64_t code_bytes_per_s(const Key& key, size_t packet_bytes) {
    using Clock = std::chrono::steady_clock;
    constexpr int kRounds = 8;
    constexpr int kPackets = 4;  // a look at the clock takes some 30 ns
    const std::vector<std::byte> payload(packet_bytes - mcast::kDataHeaderBytes);
    std::vector<std::byte> packet(packet_bytes);
    mcast::Data data;
    data.total = static_cast<uint32_t>(payload.size());
    data.payload = payload;
    mcast::write({.body = data}, packet);
    auto least = Clock::duration::max();
    for (int round = 0; round < kRounds; ++round) {
        const auto begin = Clock::now();
        for (int i = 0; i < kPackets; ++i) seal(key, packet);
        least = std::min(least, Clock::now() - begin);
    }
    const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(least).count();
    return kPackets * packet_bytes * 1'000'000'000 /
           static_cast<uint64_t>(std::max<int64_t>(ns, 1));
}

}  // namespace tutti::transport::carrier
