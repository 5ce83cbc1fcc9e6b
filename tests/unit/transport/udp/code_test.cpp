// SPDX-License-Identifier: BSD-3-Clause
#include "transport/udp/code.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace tutti::transport::udp {
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
    ASSERT_TRUE(is_sealed(key, packet));
    for (size_t bit = 0; bit < packet.size() * 8; ++bit) {
        const std::byte mask{static_cast<uint8_t>(1u << (bit % 8))};
        packet[bit / 8] ^= mask;
        EXPECT_FALSE(is_sealed(key, packet)) << "bit " << bit;
        packet[bit / 8] ^= mask;
    }
    EXPECT_TRUE(is_sealed(key, packet));
    EXPECT_FALSE(is_sealed(key, std::span(packet).first(60)));
}

TEST(Code, KeysAreDifferent) {
    const auto one = random_key();
    const auto other = random_key();
    ASSERT_TRUE(one);
    ASSERT_TRUE(other);
    std::vector<std::byte> packet = counting(100);
    seal(one.value(), packet);
    EXPECT_TRUE(is_sealed(one.value(), packet));
    EXPECT_FALSE(is_sealed(other.value(), packet));
}

TEST(Code, TooShortIsNotSealed) {
    EXPECT_FALSE(is_sealed(counting_key(), counting(15)));
    EXPECT_FALSE(is_sealed(counting_key(), {}));
}

}  // namespace
}  // namespace tutti::transport::udp
