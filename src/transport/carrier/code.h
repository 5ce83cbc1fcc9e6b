// SPDX-License-Identifier: BSD-3-Clause
// What protects a group's packets: who does not have the group's key can neither make a packet that
// is looked at nor change one, and where the key is a secret one neither read it.
//
// The code alone: SipHash-2-4 with 128 bits, libsodium's crypto_shorthash_siphashx24: a keyed
// function made for short inputs. With secrecy: ChaCha20-Poly1305 (RFC 8439), all behind the common
// header encrypted, the header covered by the code as well. Its nonce is the header's own bytes of
// group, sender and counter, which no two packets under a key have alike (mcast/packet.h, I3); a
// sequence number would not do, for a repair has another header than the packet that was lost.
//
// Measured on an AMD EPYC (bench/code_bench.cpp): 25 ns for 60 bytes and 0.5 us for 1,440 by the
// code alone, 0.3 and 1.4 us with secrecy: a member that receives 1 Gbit/s of full packets spends 4
// or 12 % of a processor on it. libsodium's AES-256-GCM takes 0.9 us, but only where every member's
// processor has AES, and one way for all is worth more than the difference. libsodium's BLAKE2b
// takes 0.37 us for 60 bytes, where most packets are so short.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "base/result.h"

namespace tutti::transport::carrier {

// Handed out as it is, so members agree on the protection with the key.
struct Key {
    std::array<std::byte, 32> bytes{};  // the code alone takes the first 16
    bool is_secret = false;             // packets are encrypted
};

// From the system's random numbers.
Result<Key> random_key();

// Before a secret key is used: chooses the quickest code for this processor.
Result<Done> prepare(const Key& key);

// The packet as mcast/packet.h has it, with its counter; without secrecy anything of at least
// mcast::kCodeBytes.
void seal(const Key& key, std::span<std::byte> packet);
// True if it is a packet of the key's, which then can be read. Else it may be garbage.
[[nodiscard]] bool unseal(const Key& key, std::span<std::byte> packet);

}  // namespace tutti::transport::carrier
