// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/verbs/slot_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace tutti::transport::verbs {
namespace {

class SlotMemoryTest : public testing::Test {
  protected:
    void write(uint32_t slot, uint64_t number) {
        SlotHeader header;
        header.number = number;
        std::memcpy(memory_.header(1, slot, false), &header, sizeof header);
    }
    [[nodiscard]] bool has(uint32_t slot, uint64_t wanted) const {
        SlotHeader header;
        std::memcpy(&header, memory_.header(1, slot, false), sizeof header);
        return has_come(header.number, wanted);
    }
    std::vector<std::byte> bytes_ = std::vector<std::byte>(size_t{2} * 2 * kSlots * kSlotBytes);
    SlotMemory memory_{bytes_};
};

TEST_F(SlotMemoryTest, EachSlotHasItsOwnPlace) {
    EXPECT_EQ(memory_.offset_of(memory_.header(0, 0, false)), kSlotBytes - sizeof(SlotHeader));
    EXPECT_EQ(memory_.offset_of(memory_.header(0, 0, true)),
              (kSlots + 1) * kSlotBytes - sizeof(SlotHeader));
    EXPECT_EQ(memory_.offset_of(memory_.header(1, kSlots - 1, true)) + sizeof(SlotHeader),
              bytes_.size());
}

TEST_F(SlotMemoryTest, NothingHasComeAtFirst) {
    for (uint32_t slot = 0; slot < kSlots; ++slot) write(slot, kFirstPiece);
    memory_.prepare(1);
    for (uint32_t slot = 0; slot < kSlots; ++slot) EXPECT_FALSE(has(slot, kFirstPiece)) << slot;
}

// Data that looks like the next piece's number lies where its header is looked for.
TEST_F(SlotMemoryTest, DataOfALongPieceIsNoPiece) {
    write(5, kFirstPiece);
    write(4, kFirstPiece + 1);
    write(3, kFirstPiece + 1);
    memory_.hide_data(1, {5, 2});
    EXPECT_FALSE(has(4, kFirstPiece + 1));
    EXPECT_TRUE(has(3, kFirstPiece + 1)) << "not of the piece";
}

}  // namespace
}  // namespace tutti::transport::verbs
