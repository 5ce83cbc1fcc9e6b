// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/carrier/code.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "run/mcast/packet.h"

namespace tutti::transport::carrier {
namespace {

std::vector<std::byte> counting(size_t bytes) {
    std::vector<std::byte> data(bytes);
    for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(i);
    return data;
}

Key counting_key() {
    Key key;
    for (size_t i = 0; i < key.bytes.size(); ++i) key.bytes[i] = static_cast<std::byte>(i);
    return key;
}

// The first vector that SipHash's authors publish for 128 bits: key 00 01 ... 0f, nothing covered.
TEST(Code, IsSipHash) {
    const std::array<uint8_t, 16> expected{0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6,
                                           0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55, 0x02, 0x93};
    std::vector<std::byte> packet(16);
    seal(counting_key(), packet);
    for (size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(std::to_integer<uint8_t>(packet[i]), expected[i]) << "byte " << i;
    }
}

TEST(Code, EveryBitCounts) {
    const Key key = counting_key();
    std::vector<std::byte> packet = counting(61);
    seal(key, packet);
    ASSERT_TRUE(unseal(key, packet));
    for (size_t bit = 0; bit < packet.size() * 8; ++bit) {
        const std::byte mask{static_cast<uint8_t>(1u << (bit % 8))};
        packet[bit / 8] ^= mask;
        EXPECT_FALSE(unseal(key, packet)) << "bit " << bit;
        packet[bit / 8] ^= mask;
    }
    EXPECT_TRUE(unseal(key, packet));
    EXPECT_FALSE(unseal(key, std::span(packet).first(60)));
}

Key secret_key() {
    Key key = counting_key();
    key.protection = Protection::kSecret;
    return key;
}

// A data packet of a counter, with this payload.
std::vector<std::byte> data_packet(uint64_t counter, std::span<const std::byte> payload) {
    mcast::Data data;
    data.total = static_cast<uint32_t>(payload.size());
    data.payload = payload;
    std::vector<std::byte> packet(mcast::kDataHeaderBytes + payload.size());
    mcast::write({77, 3, data, counter}, packet);
    return packet;
}

bool contains(std::span<const std::byte> all, std::span<const std::byte> part) {
    return std::search(all.begin(), all.end(), part.begin(), part.end()) != all.end();
}

TEST(Secret, HidesAllBehindTheHeader) {
    const auto payload = counting(200);
    const auto plain = data_packet(1, payload);
    auto packet = plain;
    seal(counting_key(), packet);
    EXPECT_TRUE(contains(packet, payload)) << "without secrecy it can be read";
    packet = plain;
    seal(secret_key(), packet);
    EXPECT_TRUE(std::equal(packet.begin() + mcast::kCodeBytes, packet.begin() + mcast::kHeaderBytes,
                           plain.begin() + mcast::kCodeBytes))
        << "the header stays, for whoever has to find the key";
    for (size_t at = mcast::kHeaderBytes; at + 8 <= plain.size(); ++at) {
        EXPECT_FALSE(contains(packet, std::span(plain).subspan(at, 8))) << "bytes from " << at;
    }
    ASSERT_TRUE(unseal(secret_key(), packet));
    EXPECT_TRUE(std::equal(packet.begin() + mcast::kCodeBytes, packet.end(),
                           plain.begin() + mcast::kCodeBytes, plain.end()));
}

TEST(Secret, EveryBitCounts) {
    auto packet = data_packet(1, counting(30));
    seal(secret_key(), packet);
    for (size_t bit = 0; bit < packet.size() * 8; ++bit) {
        auto changed = packet;
        changed[bit / 8] ^= std::byte{static_cast<uint8_t>(1u << (bit % 8))};
        EXPECT_FALSE(unseal(secret_key(), changed)) << "bit " << bit;
    }
    for (size_t bytes = 0; bytes < packet.size(); ++bytes) {
        auto cut = packet;
        EXPECT_FALSE(unseal(secret_key(), std::span(cut).first(bytes))) << bytes << " bytes";
    }
    EXPECT_TRUE(unseal(secret_key(), packet));
}

// Two packets of one nonce would show the difference of what they carry.
TEST(Secret, TheCounterAndTheSenderChangeTheWhole) {
    const auto payload = counting(64);
    const auto sealed_by = [&](uint64_t counter, mcast::Member sender, uint32_t group) {
        auto packet = data_packet(counter, payload);
        mcast::Data data;
        data.total = 64;
        data.payload = payload;
        mcast::write({group, sender, data, counter}, packet);
        seal(secret_key(), packet);
        packet.erase(packet.begin(), packet.begin() + mcast::kHeaderBytes);
        return packet;
    };
    std::set<std::vector<std::byte>> all;
    for (uint64_t counter : {1, 2, 256, 65536}) {
        for (const auto sender : {mcast::Member{0}, mcast::Member{1}, mcast::Member{256}}) {
            for (uint32_t group : {1, 2}) all.insert(sealed_by(counter, sender, group));
        }
    }
    EXPECT_EQ(all.size(), 24u);
    EXPECT_EQ(sealed_by(1, 1, 1), sealed_by(1, 1, 1));
}

TEST(Secret, ProtectionsAndKeysAreNotMixed) {
    auto packet = data_packet(1, counting(30));
    const auto plain = packet;
    seal(secret_key(), packet);
    EXPECT_FALSE(unseal(counting_key(), packet));
    Key other = secret_key();
    other.bytes[31] ^= std::byte{1};
    EXPECT_FALSE(unseal(other, packet));
    packet = plain;
    seal(counting_key(), packet);
    EXPECT_FALSE(unseal(secret_key(), packet));
}

// The cipher is RFC 8439's: its Section 2.8.2 with its key, nonce and plaintext, but for the
// header, which is ours; so the ciphertext is theirs and the code is not.
TEST(Secret, IsChaCha20) {
    Key key{{}, Protection::kSecret};
    for (size_t i = 0; i < 32; ++i) key.bytes[i] = static_cast<std::byte>(0x80 + i);
    const std::array<uint8_t, 12> nonce{7, 0, 0, 0, 0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47};
    const std::string text =
        "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the "
        "future, sunscreen would be it.";
    std::vector<std::byte> packet(mcast::kHeaderBytes + text.size());
    std::memcpy(packet.data() + mcast::kNonceAt, nonce.data(), nonce.size());
    std::memcpy(packet.data() + mcast::kHeaderBytes, text.data(), text.size());
    seal(key, packet);
    const std::array<uint8_t, 16> expected{0xd3, 0x1a, 0x8d, 0x34, 0x64, 0x8e, 0x60, 0xdb,
                                           0x7b, 0x86, 0xaf, 0xbc, 0x53, 0xef, 0x7e, 0xc2};
    EXPECT_EQ(std::memcmp(packet.data() + mcast::kHeaderBytes, expected.data(), 16), 0);
}

TEST(Secret, CanBePreparedOnThisMachine) {
    EXPECT_TRUE(prepare(secret_key()));
    EXPECT_TRUE(prepare(counting_key()));
}

Key key_of(Protection protection) {
    Key key = counting_key();
    key.protection = protection;
    return key;
}

// Whether a change of any bit is seen, byte by byte.
std::vector<bool> seen_changes(const Key& key, const std::vector<std::byte>& packet) {
    std::vector<bool> seen(packet.size());
    for (size_t at = 0; at < packet.size(); ++at) {
        uint32_t rejected = 0;
        for (uint32_t bit = 0; bit < 8; ++bit) {
            auto changed = packet;
            changed[at] ^= std::byte{static_cast<uint8_t>(1u << bit)};
            rejected += unseal(key, changed) ? 0 : 1;
        }
        EXPECT_TRUE(rejected == 0 || rejected == 8) << "byte " << at;
        seen[at] = rejected > 0;
    }
    return seen;
}

// Of a sealed packet.
void expect_seen_before(const Key& key, const std::vector<std::byte>& packet, size_t end) {
    const auto seen = seen_changes(key, packet);
    for (size_t at = 0; at < seen.size(); ++at) EXPECT_EQ(seen[at], at < end) << "byte " << at;
}

TEST(Header, CoversAllButThePayload) {
    const Key key = key_of(Protection::kHeader);
    auto packet = data_packet(1, counting(40));
    seal(key, packet);
    ASSERT_TRUE(unseal(key, packet));
    expect_seen_before(key, packet, mcast::kDataHeaderBytes);
    seal(counting_key(), packet);
    expect_seen_before(counting_key(), packet, packet.size());
}

// What is cut off or put on would leave a hole, or fill one with anything.
TEST(Header, CoversTheLength) {
    const Key key = key_of(Protection::kHeader);
    auto packet = data_packet(1, counting(40));
    seal(key, packet);
    for (size_t bytes = 0; bytes < packet.size(); ++bytes) {
        auto cut = packet;
        EXPECT_FALSE(unseal(key, std::span(cut).first(bytes))) << bytes << " bytes";
    }
    packet.push_back(std::byte{0});
    EXPECT_FALSE(unseal(key, packet));
}

// An attacker would rather change these.
TEST(Header, OtherPacketsAreCoveredWhole) {
    const Key key = key_of(Protection::kHeader);
    const std::vector<std::byte> heard(12, std::byte{5});
    const std::vector<std::byte> ranges(16);
    const mcast::Body bodies[] = {mcast::Heartbeat{9, 2, true},
                                  mcast::Nak{1, false, 7, ranges},
                                  mcast::Ack{1, 2, 3, 1},
                                  mcast::Ask{1, 2, 3},
                                  mcast::Failure{},
                                  mcast::Probe{.is_train = true, .heard = heard},
                                  mcast::ProbeAnswer{1, 2}};
    for (const mcast::Body& body : bodies) {
        std::vector<std::byte> packet(mcast::kControlBytesMax);
        packet.resize(mcast::write({77, 3, body, 1}, packet));
        seal(key, packet);
        ASSERT_TRUE(unseal(key, packet));
        SCOPED_TRACE("body " + std::to_string(body.index()));
        expect_seen_before(key, packet, packet.size());
    }
}

TEST(Header, NeedsTheKey) {
    const Key key = key_of(Protection::kHeader);
    auto packet = data_packet(1, counting(40));
    seal(key, packet);
    Key other = key;
    other.bytes[15] ^= std::byte{1};
    EXPECT_FALSE(unseal(other, packet));
    EXPECT_FALSE(unseal(counting_key(), packet));
    // A packet that only says that it is long enough.
    std::vector<std::byte> shorter(packet.begin(), packet.begin() + mcast::kDataHeaderBytes - 1);
    seal(key, shorter);
    EXPECT_TRUE(unseal(key, shorter));
    shorter.back() ^= std::byte{1};
    EXPECT_FALSE(unseal(key, shorter));
}

TEST(NoCode, KeepsGroupsApartAndNothingElse) {
    const Key key = key_of(Protection::kNone);
    auto packet = data_packet(1, counting(40));
    seal(key, packet);
    ASSERT_TRUE(unseal(key, packet));
    expect_seen_before(key, packet, mcast::kCodeBytes);
    for (size_t at = 0; at < mcast::kCodeBytes; ++at) {
        Key other = key;
        other.bytes[at] ^= std::byte{1};
        EXPECT_FALSE(unseal(other, packet)) << "byte " << at;
    }
    EXPECT_FALSE(unseal(key, std::span(packet).first(mcast::kCodeBytes - 1)));
}

TEST(Protection, AsTheSettingsSay) {
    McastSettings settings;
    EXPECT_EQ(protection_of(settings), Protection::kAll);
    settings.code = McastCode::kHeader;
    EXPECT_EQ(protection_of(settings), Protection::kHeader);
    settings.code = McastCode::kNone;
    EXPECT_EQ(protection_of(settings), Protection::kNone);
    settings.secret = true;
    EXPECT_EQ(protection_of(settings), Protection::kSecret);
}

// As many bytes as go through, whatever that is on this machine.
TEST(Protection, TellsHowFastItIs) {
    for (const auto protection :
         {Protection::kAll, Protection::kSecret, Protection::kHeader, Protection::kNone}) {
        const Key key = key_of(protection);
        ASSERT_TRUE(prepare(key));
        for (const size_t bytes : {mcast::kDataHeaderBytes, size_t{1472}, size_t{8972}}) {
            EXPECT_GT(code_bytes_per_s(key, bytes), 0u);
        }
    }
}

TEST(Code, KeysAreDifferent) {
    const auto one = random_key();
    const auto other = random_key();
    ASSERT_TRUE(one);
    ASSERT_TRUE(other);
    std::vector<std::byte> packet = counting(100);
    seal(one.value(), packet);
    EXPECT_TRUE(unseal(one.value(), packet));
    EXPECT_FALSE(unseal(other.value(), packet));
}

TEST(Code, TooShortIsNotSealed) {
    auto packet = counting(15);
    EXPECT_FALSE(unseal(counting_key(), packet));
    EXPECT_FALSE(unseal(counting_key(), {}));
}

}  // namespace
}  // namespace tutti::transport::carrier
