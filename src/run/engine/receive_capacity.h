// SPDX-License-Identifier: BSD-3-Clause
// The root of a gather, or a receiver of a scatter, that has room for more than is sent to it. What
// is sent decides: once this rank knows how much that is, by the word of a message, of its node or
// of a note, it withdraws its call, in which nothing has come to it, and begins it anew as one of
// so many bytes, by the plan that all others have (docs/protocol/words.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "run/node/word.h"
#include "run/transport/transport.h"

namespace tutti::engine {

class CallTrack;

// Of the call under way on this track.
class ReceiveCapacity {
  public:
    // track outlives this.
    explicit ReceiveCapacity(CallTrack& track) : track_(track) {}
    ReceiveCapacity(const ReceiveCapacity&) = delete;
    ReceiveCapacity& operator=(const ReceiveCapacity&) = delete;

    // The next call is taken on.
    void reset();
    // It starts. is_spare: this rank may have room for more than others send it.
    void start(bool is_spare) { is_spare_ = is_spare; }
    // It is withdrawn, and taken on again as one of what is sent; word: the one it had until then.
    void give_up(const transport::CallWord& word);

    [[nodiscard]] bool is_spare() const { return is_spare_; }
    // Others run it as this one, of fewer bytes, and so shall this rank: false where that cannot
    // be. Where it is true, less() is what they send until give_up().
    bool take_less(const node::CallNote& theirs);
    [[nodiscard]] bool may_take_less() const;
    [[nodiscard]] uint64_t less() const { return less_; }
    // The root's memory for the blocks of so many ranks, of that size.
    [[nodiscard]] std::byte* make_blocks(uint64_t bytes, uint32_t ranks);
    [[nodiscard]] const std::byte* blocks() const { return blocks_.get(); }
    void drop_blocks() { blocks_.reset(); }
    // In a long wait: looks among messages that nobody has asked for. How another rank runs this
    // call, where it shows that, and the call cannot go on so.
    transport::Disagreement look_for_unexpected();

  private:
    CallTrack& track_;
    bool is_spare_ = false;
    uint64_t less_ = 0;                    // what it would get then
    bool is_given_up_ = false;             // it takes that
    transport::CallWord word_;             // and this was that of what it had room for
    std::unique_ptr<std::byte[]> blocks_;  // all of a gather, then
};

}  // namespace tutti::engine
