// SPDX-License-Identifier: BSD-3-Clause
// Protects a group's packets from processes without the group's key, which could forge, change or
// read them (Protection).
//
// The code alone: SipHash-2-4 with 128 bits, libsodium's crypto_shorthash_siphashx24: a keyed
// function made for short inputs. Over headers: the same over the header of a data packet and its
// length, and over all of any other, so what the protocol goes by is as safe as before, but for
// what a release by multicast says of parts that crossed (run/exec/meet_memory.h). Without: the
// key's first half stands where the code would, and keeps groups apart that have one number. With
// secrecy: ChaCha20-Poly1305 (RFC 8439), all behind the common header encrypted, the header covered
// by the code as well. Its nonce is the header's own bytes of group, sender and counter, which no
// two packets under a key have alike (run/mcast/packet.h, I3); a sequence number would not do, for
// a repair has another header than the packet that was lost.
//
// Measured on an AMD EPYC (bench/code_bench.cpp): 40 ns for 76 bytes and 0.5 us for 1,440 by the
// code over all, 40 ns for either over headers, 4 without, 0.3 and 1.4 us with secrecy: a member
// that receives 1 Gbit/s of full packets spends 4 % of a processor on it, or 12 with secrecy.
// libsodium's AES-256-GCM takes 0.9 us, but only where every member's processor has AES, and one
// way for all is worth more than the difference. libsodium's BLAKE2b takes 0.37 us for 60 bytes,
// where most packets are so short.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "base/settings.h"

namespace tutti::transport::carrier {

// Travels, so values are for ever.
enum class Protection : uint32_t {
    kAll = 0,     // nobody else can make a packet, or change one
    kSecret = 1,  // and packets are encrypted
    kHeader = 2,  // nobody else can make a packet; a reader of one can resend it with other data
    kNone = 3     // a reader of packets can forge others, and end the job
};
Protection protection_of(const McastSettings& settings);

// Handed out as it is, so members agree on the protection with the key.
struct Key {
    std::array<std::byte, 32> bytes{};  // the code alone takes the first 16
    Protection protection = Protection::kAll;
};

// From the system's random numbers.
Result<Key> random_key();

// Before a secret key is used: chooses the quickest code for this processor.
Result<Done> prepare(const Key& key);

// The packet as run/mcast/packet.h has it, with its counter; without secrecy anything of at least
// mcast::kCodeBytes.
void seal(const Key& key, std::span<std::byte> packet);
// True if it is a packet of the key's, which then can be read. Else it may be garbage.
[[nodiscard]] bool unseal(const Key& key, std::span<std::byte> packet);

// As fast as this processor seals data packets of so many bytes, and looks at them: no stream is
// faster. Measured, in some tens of microseconds.
uint64_t code_bytes_per_s(const Key& key, size_t packet_bytes);

}  // namespace tutti::transport::carrier
