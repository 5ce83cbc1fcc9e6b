// SPDX-License-Identifier: BSD-3-Clause
#include "transport/udp/code.h"

#include <sodium.h>
#include <sys/random.h>

#include <cerrno>
#include <cstring>

#include "base/assert.h"
#include "mcast/packet.h"

namespace tutti::transport::udp {
namespace {

static_assert(crypto_shorthash_siphashx24_BYTES == mcast::kCodeBytes);
static_assert(crypto_shorthash_siphashx24_KEYBYTES == sizeof(Key::bytes));

using Code = std::array<unsigned char, mcast::kCodeBytes>;

Code code_of(const Key& key, std::span<const std::byte> packet) {
    const auto covered = packet.subspan(mcast::kCodeBytes);
    Code code{};
    crypto_shorthash_siphashx24(code.data(), reinterpret_cast<const unsigned char*>(covered.data()),
                                covered.size(),
                                reinterpret_cast<const unsigned char*>(key.bytes.data()));
    return code;
}

}  // namespace

Result<Key> random_key() {
    Key key;
    ssize_t got = 0;
    do {
        got = getrandom(key.bytes.data(), key.bytes.size(), 0);
    } while (got < 0 && errno == EINTR);
    if (got == static_cast<ssize_t>(key.bytes.size())) return key;
    return Error{ErrorCode::kSystem, std::string("random numbers: ") + std::strerror(errno)};
}

void seal(const Key& key, std::span<std::byte> packet) {
    TUTTI_ASSERT(packet.size() >= mcast::kCodeBytes, "a packet has room for its code");
    const Code code = code_of(key, packet);
    std::memcpy(packet.data(), code.data(), code.size());
}

bool is_sealed(const Key& key, std::span<const std::byte> packet) {
    if (packet.size() < mcast::kCodeBytes) return false;
    const Code code = code_of(key, packet);
    // Takes as long for a code that is nearly right as for any other.
    unsigned difference = 0;
    for (size_t i = 0; i < code.size(); ++i) {
        difference |= code[i] ^ std::to_integer<unsigned>(packet[i]);
    }
    return difference == 0;
}

}  // namespace tutti::transport::udp
