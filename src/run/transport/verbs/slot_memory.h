// SPDX-License-Identifier: BSD-3-Clause
// The memory of links: the slots of each that its peer writes, and those from which this end sends.
//
// Where ends of pieces are looked for in memory (Link::take_tails()), no slot may look as if a
// piece were there that has not come: neither at first, nor where data of a longer piece lay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "run/transport/verbs/slots.h"

namespace tutti::transport::verbs {

class SlotMemory {
  public:
    // As an endpoint has it (need_of()).
    explicit SlotMemory(std::span<std::byte> memory) : memory_(memory) {}

    // A slot's header stands at its end.
    [[nodiscard]] std::byte* header(uint32_t link, uint32_t slot, bool is_own) const {
        const size_t number = (size_t{2} * link + (is_own ? 1 : 0)) * kSlots + slot;
        return memory_.data() + (number + 1) * kSlotBytes - sizeof(SlotHeader);
    }
    [[nodiscard]] size_t offset_of(const std::byte* at) const {
        return static_cast<size_t>(at - memory_.data());
    }
    // No slot of the link that its peer writes looks as if its first piece were there.
    void prepare(uint32_t link) const;
    // Nor does a slot of a longer piece that is given back look as if a later one were.
    void hide_data(uint32_t link, const SlotRange& range) const;

  private:
    std::span<std::byte> memory_;
};

}  // namespace tutti::transport::verbs
