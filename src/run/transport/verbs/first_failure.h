// SPDX-License-Identifier: BSD-3-Clause
// Why a team's messages have failed: the first disagreement of its ranks, or the first pair that
// failed, which counts for more and stays. Without memory of its own: there may be none, and that
// may be why.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "run/transport/transport.h"

namespace tutti::transport::verbs {

class FirstFailure {
  public:
    [[nodiscard]] bool is_pair() const { return kind_ == Kind::kPair; }
    // A pair has failed, that with this rank.
    void note_pair(Rank peer, const char* why, const char* more);
    // Why it has, if that is the pair that is told of.
    void tell_cause(Rank peer, const char* why, const char* more);
    // Its message is not as long as the receive that it came for.
    void note_size(Rank peer, size_t sent, size_t wanted);
    // It runs another call.
    void note_word(Rank peer, const CallWord& word);
    // A rank that was counted does.
    void note_count();

    void clear_disagreement() {
        if (!is_pair()) forget();
    }
    // It was none.
    void forget();
    [[nodiscard]] Disagreement disagreement() const { return disagreement_; }
    // Empty: there was none.
    [[nodiscard]] std::string text() const;

  private:
    enum class Kind : uint8_t { kNone, kSize, kWord, kPair, kCount };

    void write(Rank peer, const char* why, const char* more);

    Kind kind_ = Kind::kNone;
    Disagreement disagreement_;
    size_t sent_bytes_ = 0;  // kSize
    size_t wanted_bytes_ = 0;
    std::array<char, 160> pair_text_{};
    Rank pair_ = UINT32_MAX;  // the peer of which it tells
};

}  // namespace tutti::transport::verbs
