// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/carrier/urgency.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "run/mcast/packet.h"
#include "run/transport/carrier/ring.h"

namespace tutti::transport::carrier {
namespace {

using mcast::Body;

bool is_urgent(Urgency& urgency, const Body& body) {
    std::array<std::byte, 4096> out{};
    const size_t bytes = mcast::write({7, 1, body}, out);
    return urgency.is_urgent(std::span(out).first(bytes));
}

// Which packets of messages, sent one behind the other, are.
std::vector<uint64_t> urgent_ones(Urgency& urgency, uint32_t messages, size_t message_bytes,
                                  size_t payload_bytes) {
    const std::vector<std::byte> data(message_bytes);
    std::vector<uint64_t> found;
    uint64_t sequence = 0;
    for (uint32_t message = 0; message < messages; ++message) {
        size_t offset = 0;
        do {
            const size_t bytes = std::min(payload_bytes, message_bytes - offset);
            mcast::Data one;
            one.sequence = sequence++;
            one.name.call = message;
            one.offset = static_cast<uint32_t>(offset);
            one.total = static_cast<uint32_t>(message_bytes);
            one.payload = std::span(data).subspan(offset, bytes);
            if (is_urgent(urgency, one)) found.push_back(sequence);
            offset += bytes;
        } while (offset < message_bytes);
    }
    return found;
}

constexpr size_t payload_of(size_t packet_bytes) { return packet_bytes - mcast::kDataHeaderBytes; }

TEST(Urgency, TheLastOfAMessageIs) {
    Urgency of_1024(256);
    EXPECT_EQ(urgent_ones(of_1024, 3, kMulticastBytesMax, payload_of(1024)),
              (std::vector<uint64_t>{18, 36, 54}));
    Urgency of_4096(256);
    EXPECT_EQ(urgent_ones(of_4096, 3, kMulticastBytesMax, payload_of(4096)),
              (std::vector<uint64_t>{5, 10, 15}));
    Urgency of_short(256);
    EXPECT_EQ(urgent_ones(of_short, 3, 100, payload_of(1024)), (std::vector<uint64_t>{1, 2, 3}));
    Urgency of_empty(256);
    EXPECT_EQ(urgent_ones(of_empty, 3, 0, payload_of(1024)), (std::vector<uint64_t>{1, 2, 3}));
}

// Or the window would stand still.
TEST(Urgency, OneInEachQuarterOfAWindowIs) {
    Urgency of_16(16);
    EXPECT_EQ(urgent_ones(of_16, 2, kMulticastBytesMax, payload_of(1024)),
              (std::vector<uint64_t>{4, 8, 12, 16, 18, 22, 26, 30, 34, 36}));
    Urgency of_51(51);
    EXPECT_EQ(urgent_ones(of_51, 2, kMulticastBytesMax, payload_of(1024)),
              (std::vector<uint64_t>{12, 18, 30, 36}));
    Urgency of_1(1);
    EXPECT_EQ(urgent_ones(of_1, 1, kMulticastBytesMax, payload_of(4096)),
              (std::vector<uint64_t>{1, 2, 3, 4, 5}));
}

TEST(Urgency, AllThatIsNotDataIs) {
    Urgency urgency(256);
    const std::array<std::byte, 64> bits{};
    const std::array<mcast::Range, 1> gap{{{5, 1}}};
    std::array<std::byte, 8> ranges{};
    const size_t range_bytes = mcast::write_ranges(0, gap, ranges);
    mcast::Nak nak;
    nak.ranges = std::span<const std::byte>(ranges).first(range_bytes);
    mcast::Probe probe;
    probe.heard = bits;
    mcast::Data repair;
    repair.total = 1000;
    repair.payload = bits;
    repair.is_repair = true;
    for (const Body& body :
         {Body(mcast::Heartbeat{}), Body(nak), Body(mcast::Ack{}), Body(mcast::Ask{}),
          Body(mcast::Failure{}), Body(probe), Body(mcast::ProbeAnswer{}), Body(repair)}) {
        EXPECT_TRUE(is_urgent(urgency, body)) << body.index();
    }
    mcast::Data data = repair;
    data.is_repair = false;
    EXPECT_FALSE(is_urgent(urgency, data));
}

}  // namespace
}  // namespace tutti::transport::carrier
