// SPDX-License-Identifier: BSD-3-Clause
// Two ranks over the fake, and messages between them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/prng.h"
#include "conformance/fake_verbs.h"
#include "conformance/first_team.h"
#include "run/transport/verbs/rc.h"

namespace tutti::transport::verbs {

// As the fake's packets are, where a test says nothing else.
inline constexpr uint32_t kMtuBytes = 1024;
inline constexpr int kTurnsMax = 200'000;

// The network's, which may do something whenever it is looked at: for whoever waits inside a call.
class LookedAt final : public Clock {
  public:
    explicit LookedAt(test::FakeVerbs& verbs) : verbs_(verbs) {}
    uint64_t now_ns() override {
        if (const auto act = std::exchange(on_look, nullptr)) {
            act();
            on_look = act;
        }
        return verbs_.now_ns() + late_ns;
    }
    std::function<void()> on_look;
    uint64_t late_ns = 0;

  private:
    test::FakeVerbs& verbs_;
};

// A device for each rank, and what stands on it.
class Ranks {
  public:
    Ranks(uint32_t count, const test::FakeRules& rules) : verbs(count, rules) {}
    // The next rank's.
    void add(const std::vector<Rank>& peers, size_t direct_bytes = 0, bool polls_tails = false) {
        const auto rank = static_cast<Rank>(ends.size());
        const auto pairs = static_cast<uint32_t>(peers.size());
        const uint32_t mtu_bytes = verbs.device(rank).port().mtu_bytes;
        Need need = need_of(pairs, mtu_bytes);
        need.may_sleep = true;
        auto endpoint = verbs.device(rank).make_endpoint(need);
        ends.push_back(test::make_first(std::move(endpoint.value()), clock, mtu_bytes, peers,
                                        direct_bytes, polls_tails));
    }
    // When all are there.
    void connect_all() {
        for (Rank rank = 0; rank < ends.size(); ++rank) {
            for (const Rank peer : ends[rank]->peers()) {
                EXPECT_TRUE(ends[rank]
                                ->links()
                                ->at(pair_with(rank, peer))
                                .connect(verbs.device(peer).port(),
                                         ends[peer]->links()->at(pair_with(peer, rank)).card()));
            }
        }
    }
    void turn() {
        verbs.pump();
        for (auto& end : ends) {
            if (end) end->poll();
        }
    }
    template <class Condition>
    bool run_until(Condition condition) {
        return run_until(condition, [this] { turn(); });
    }
    template <class Condition, class Turn>
    static bool run_until(Condition condition, Turn turn) {
        for (int i = 0; i < kTurnsMax; ++i) {
            if (condition()) return true;
            turn();
        }
        return false;
    }

    test::FakeVerbs verbs;
    LookedAt clock{verbs};
    std::vector<std::unique_ptr<Rc>> ends;

  private:
    [[nodiscard]] uint32_t pair_with(Rank rank, Rank peer) const {
        const auto peers = ends[rank]->peers();
        return static_cast<uint32_t>(std::ranges::find(peers, peer) - peers.begin());
    }
};

// Two of them.
class Ends : public Ranks {
  public:
    // polls_tails: by rank.
    explicit Ends(const test::FakeRules& rules, size_t direct_bytes = 0,
                  const std::array<bool, 2>& polls_tails = {})
        : Ranks(2, rules) {
        for (const Rank rank : {0u, 1u}) add({1 - rank}, direct_bytes, polls_tails[rank]);
        connect_all();
    }
};

struct Letter {
    Rank from = 0;
    MessageId id;
    std::vector<std::byte> sent;
    std::vector<std::byte> got;
    Ticket send;
    Ticket recv;
    bool is_received = false;  // the receive has been posted
};

inline Letter& write(std::deque<Letter>& letters, Prng& prng, Rank from, uint32_t slot,
                     size_t bytes) {
    Letter& letter = letters.emplace_back();
    letter.from = from;
    letter.id.slot = slot;
    letter.id.word = {prng.next(), prng.next(), 0};
    letter.sent.resize(bytes);
    for (std::byte& byte : letter.sent) byte = static_cast<std::byte>(prng.next() & 0xff);
    letter.got.resize(bytes);
    return letter;
}

inline void send(Ends& ends, Letter& letter) {
    ends.ends[letter.from]->send(1 - letter.from, letter.id, letter.sent.data(), letter.sent.size(),
                                 letter.send);
}

inline void recv(Ends& ends, Letter& letter) {
    letter.is_received = true;
    ends.ends[1 - letter.from]->recv(letter.from, letter.id, letter.got.data(), letter.got.size(),
                                     letter.recv);
}

inline bool is_over(const Letter& letter) {
    return letter.send.state == State::kDone && letter.recv.state == State::kDone;
}

inline void expect_nothing_left(Ends& ends) {
    EXPECT_EQ(ends.verbs.exposed(), 0u);
    EXPECT_EQ(ends.verbs.fault(), "");
    EXPECT_EQ(ends.verbs.long_untold(), 0u);
}

// All that were posted, and told, until now.
struct Counts {
    uint64_t writes;
    uint64_t recvs;
    uint64_t completions;
    bool operator==(const Counts&) const = default;
};

inline Counts counts_of(const test::FakeVerbs& verbs) {
    return {verbs.writes(), verbs.recvs(), verbs.completions()};
}

// So many letters of bytes() each, both ways, on all streams, receives before and after, less than
// so many turns between; then the end of both.
template <class Bytes>
void write_letters(Ends& ends, Prng& prng, uint32_t count, Bytes bytes, uint64_t turns_max) {
    std::deque<Letter> letters;
    for (uint32_t i = 0; i < count; ++i) {
        const auto from = static_cast<Rank>(prng.below(2));
        const auto slot = static_cast<uint32_t>(prng.below(kSlotsMax));
        Letter& letter = write(letters, prng, from, slot, bytes());
        send(ends, letter);
        if (prng.below(2) == 0) {
            // Receives of a stream are posted in the order of its sends.
            for (Letter& one : letters) {
                const bool is_same = one.from == from && one.id.slot == slot;
                if (is_same && !one.is_received) recv(ends, one);
            }
        }
        for (uint64_t turns = prng.below(turns_max); turns > 0; --turns) ends.turn();
    }
    for (Letter& letter : letters) {
        if (!letter.is_received) recv(ends, letter);
    }
    ASSERT_TRUE(ends.run_until([&] { return std::ranges::all_of(letters, is_over); }))
        << "messages do not complete";
    for (const Letter& letter : letters) ASSERT_EQ(letter.got, letter.sent);
    expect_nothing_left(ends);
    for (auto& end : ends.ends) end->close();
    ASSERT_TRUE(
        ends.run_until([&] { return ends.ends[0]->is_closed() && ends.ends[1]->is_closed(); }));
    EXPECT_EQ(ends.ends[0]->error() + ends.ends[1]->error(), "the team is gonethe team is gone");
}

}  // namespace tutti::transport::verbs
