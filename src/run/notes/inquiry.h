// SPDX-License-Identifier: BSD-3-Clause
// Finds the ranks of other hosts that have not arrived. A rank that waits too long asks the ranks
// that it waits for. One that waits itself answers with the ranks that it waits for, which are
// asked in turn. A rank that has not answered in time is not in a call of this team. No I/O, and
// time is an argument.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace tutti::notes {

class Inquiry {
  public:
    // Beyond so many ranks nobody reads the names.
    static constexpr uint32_t kAskedMax = 64;

    // Of that call; what was asked before is forgotten.
    void begin(uint32_t call, uint64_t end_ns);
    void stop() { is_open_ = false; }
    // Ranks to ask; those already asked, oneself and what is too many are left out.
    void add(std::span<const uint32_t> ranks, uint32_t self);
    // The next rank to ask. False: none now.
    bool next(uint32_t& rank);
    // An answer to the question of call `asked`.
    void answered(uint32_t from, uint32_t asked, uint32_t its_call);

    [[nodiscard]] bool is_open() const { return is_open_; }
    [[nodiscard]] bool is_over(uint64_t now_ns) const;
    [[nodiscard]] uint32_t call() const { return call_; }

    // Ascending.
    [[nodiscard]] std::vector<uint32_t> silent() const { return those(State::kSilent); }
    [[nodiscard]] std::vector<uint32_t> waiting() const { return those(State::kWaiting); }
    [[nodiscard]] std::vector<uint32_t> elsewhere() const { return those(State::kElsewhere); }

  private:
    enum class State : uint8_t {
        kSilent,
        kWaiting,   // in the same call
        kElsewhere  // in another one
    };
    struct Asked {
        uint32_t rank = 0;
        State state = State::kSilent;
    };
    [[nodiscard]] std::vector<uint32_t> those(State state) const;

    std::array<Asked, kAskedMax> asked_{};
    uint32_t count_ = 0;
    uint32_t told_ = 0;  // of them, those that next() has given
    uint32_t call_ = 0;
    uint64_t end_ns_ = 0;
    bool is_open_ = false;
};

}  // namespace tutti::notes
