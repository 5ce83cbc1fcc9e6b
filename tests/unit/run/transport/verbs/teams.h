// SPDX-License-Identifier: BSD-3-Clause
// Several teams of the same two processes, by one link, and messages in each.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "base/prng.h"
#include "conformance/fake_verbs.h"
#include "run/transport/verbs/links.h"
#include "run/transport/verbs/rc.h"
#include "unit/run/transport/verbs/ends.h"

namespace tutti::transport::verbs {

inline constexpr size_t kDirectBytes = 16'000;

// Each team is an end at either process. In every second team the ranks are the other way round.
class Teams : public Ends {
  public:
    explicit Teams(const test::FakeRules& rules, size_t direct_bytes = 0,
                   const std::array<bool, 2>& polls_tails = {})
        : Ends(rules, direct_bytes, polls_tails), direct_bytes_(direct_bytes) {}
    // The next one, at both; its number.
    uint32_t join() {
        const LinkTeams::Numbers free = shared(0)->teams().free() & shared(1)->teams().free();
        uint32_t number = 0;
        while (!free[number]) ++number;
        for (const uint32_t at : {0u, 1u}) {
            if (number >= others[at].size()) others[at].resize(number + 1);
            others[at][number] =
                std::make_unique<Rc>(shared(at), number, std::vector<Rank>{rank_of(number, 1 - at)},
                                     std::vector<uint32_t>{0}, direct_bytes_);
        }
        return number;
    }
    static Rank rank_of(uint32_t number, uint32_t at) { return number % 2 == 0 ? at : 1 - at; }
    std::shared_ptr<Links> shared(uint32_t at) {
        if (!shared_[at]) shared_[at] = ends[at]->links();
        return shared_[at];
    }
    Rc* team(uint32_t at, uint32_t number) {
        return number == 0 ? ends[at].get() : others[at][number].get();
    }
    // All of that process.
    void poll_at(uint32_t at) {
        if (ends[at]) ends[at]->poll();
        for (auto& one : others[at]) {
            if (one) one->poll();
        }
    }
    void turn_all() {
        verbs.pump();
        for (const uint32_t at : {0u, 1u}) poll_at(at);
    }
    template <class Condition>
    bool run_all_until(Condition condition) {
        return run_until(condition, [this] { turn_all(); });
    }

    std::array<std::vector<std::unique_ptr<Rc>>, 2> others;  // by number, but the first

  private:
    size_t direct_bytes_;
    std::array<std::shared_ptr<Links>, 2> shared_;
};

// By seed: who looks for pieces in memory, one of the ends, both or none; whether that may be; and
// from how many bytes on messages go straight.
inline std::array<bool, 2> tails_of(uint64_t seed) {
    return {seed % 4 == 1 || seed % 4 == 2, seed % 4 == 2};
}
inline bool ends_last(uint64_t seed) { return seed % 4 != 0; }
inline size_t direct_bytes_of(uint64_t seed) { return seed % 3 == 0 ? kDirectBytes : 0; }

// Either way, by any stream; some are longer than all slots.
inline Letter& write_any(std::deque<Letter>& letters, Prng& prng) {
    const auto from = static_cast<Rank>(prng.below(2));
    const auto slot = static_cast<uint32_t>(prng.below(kSlotsMax));
    const size_t bytes = prng.below(4) == 0 ? prng.below(120'000) : prng.below(4800);
    return write(letters, prng, from, slot, bytes);
}

struct Post {
    uint32_t team = 0;
    Letter* letter = nullptr;  // `from` is the process
};

inline void send_in(Teams& teams, const Post& post) {
    Letter& letter = *post.letter;
    teams.team(letter.from, post.team)
        ->send(Teams::rank_of(post.team, 1 - letter.from), letter.id, letter.sent.data(),
               letter.sent.size(), letter.send);
}

inline void recv_in(Teams& teams, const Post& post) {
    Letter& letter = *post.letter;
    letter.is_received = true;
    teams.team(1 - letter.from, post.team)
        ->recv(Teams::rank_of(post.team, letter.from), letter.id, letter.got.data(),
               letter.got.size(), letter.recv);
}

inline void end_all(Teams& teams, uint32_t count) {
    for (uint32_t number = 0; number < count; ++number) {
        for (const uint32_t at : {0u, 1u}) {
            if (Rc* team = teams.team(at, number)) team->close();
        }
    }
    ASSERT_TRUE(teams.run_all_until([&] {
        bool is_closed = true;
        for (uint32_t number = 0; number < count; ++number) {
            for (const uint32_t at : {0u, 1u}) {
                if (Rc* team = teams.team(at, number)) is_closed &= team->is_closed();
            }
        }
        return is_closed;
    }));
    expect_nothing_left(teams);
}

}  // namespace tutti::transport::verbs
