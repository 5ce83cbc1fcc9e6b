// SPDX-License-Identifier: BSD-3-Clause
// The keyed code at the head of every packet: who does not have the group's key can neither make a
// packet that is looked at nor change one.
//
// SipHash-2-4 with 128 bits, libsodium's crypto_shorthash_siphashx24: a keyed function made for
// short inputs. Measured on an AMD EPYC against its crypto_generichash (BLAKE2b): 25 against 370 ns
// for a packet of 60 bytes, 0.4 against more than 2 us for 1,472; a member that receives 1 Gbit/s
// of full packets spends 3 % of a processor on it. It needs no set-up of the library either.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "base/result.h"

namespace tutti::transport::udp {

struct Key {
    std::array<std::byte, 16> bytes{};
};

// From the system's random numbers.
Result<Key> random_key();

// Packets have at least mcast::kCodeBytes.
void seal(const Key& key, std::span<std::byte> packet);
[[nodiscard]] bool is_sealed(const Key& key, std::span<const std::byte> packet);

}  // namespace tutti::transport::udp
