// SPDX-License-Identifier: BSD-3-Clause
// Participants of broadcasts that feed whoever is there, call after call with another root each,
// and the messages between them; events come in whatever order the test wants. Says what goes
// wrong.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "run/adapt/feeding.h"

namespace tutti::adapt::test {

// What a participant does wrong, so that those who look for it can be tried.
enum class FeedFault : uint8_t {
    kNone,
    kTellsTheAbsent,  // the root takes everybody to be there when it is
    kForgetsOne,      // it never answers the last member
    kNeverEnds,       // it never says that a word is the last
    kKeepsAChild,     // who is told whom to feed leaves out the last one
    kLeavesEarly,     // who has everything goes, without handing it on
    kFeedsEarly,      // pieces are handed on before they have come
};

struct FeedWorld {
    uint32_t participants = 1;
    uint32_t fan_in = 1;
    uint64_t pieces = 1;
    uint64_t calls = 1;
    bool is_eager = false;  // what is sent has left at once, else when it is taken
    FeedFault fault = FeedFault::kNone;
};

struct FeedMail {
    enum class Kind : uint8_t { kThere, kWord, kPiece };
    uint64_t call = 0;
    uint32_t from = 0;
    uint32_t to = 0;
    Kind kind = Kind::kThere;
    uint64_t number = 0;  // of the piece, or of the word between the two
    // Of a word, by participants.
    uint32_t source = 0;
    bool is_last = false;
    std::vector<uint32_t> whom;
    auto operator<=>(const FeedMail&) const = default;
};

class Feedings {
  public:
    explicit Feedings(const FeedWorld& setup);

    [[nodiscard]] const FeedWorld& setup() const { return setup_; }
    [[nodiscard]] bool can_arrive(uint32_t who) const;
    // It is the root, and has sent what it had to.
    [[nodiscard]] bool can_go_on(uint32_t who) const;
    // Its receiver has posted the receive for it, or has room for it.
    [[nodiscard]] bool can_take(const FeedMail& mail) const;
    // Each: an event. What goes wrong; empty: nothing.
    std::string arrive(uint32_t who);
    std::string go_on(uint32_t who);
    std::string take(const FeedMail& mail);
    // What was sent since it was asked last.
    std::vector<FeedMail> sent() { return std::exchange(sent_, {}); }

    // When nothing can happen but arrivals: who waits for one who is not there, and is no root.
    [[nodiscard]] std::string held_up() const;
    // When nothing can happen at all.
    [[nodiscard]] std::string end() const;
    // All that can make a difference later, but for what is under way.
    [[nodiscard]] std::string state() const;

    uint64_t messages = 0;

  private:
    struct One {
        uint64_t call = 0;  // that it is in, or enters next
        bool is_in = false;
        Feeder feeder{0};
        Flow flow;
        uint32_t source = 0;
        std::vector<uint32_t> whom;
        std::vector<uint64_t> words;  // by member: of the root's to it; or the one row of its own
        bool has_last = false;
        std::string history;  // of a root
    };
    [[nodiscard]] uint32_t root(uint64_t call) const {
        return static_cast<uint32_t>(call % setup_.participants);
    }
    [[nodiscard]] uint32_t of_member(uint32_t root, uint32_t member) const {
        return (root + 1 + member) % setup_.participants;
    }
    [[nodiscard]] bool is_root(uint32_t who) const { return root(ones_[who].call) == who; }
    std::string act(uint32_t who);
    std::string speak(uint32_t who);
    std::string post(FeedMail mail);
    std::string hear(uint32_t who, const FeedMail& mail);

    FeedWorld setup_;
    std::vector<One> ones_;
    std::vector<FeedMail> sent_;
};

}  // namespace tutti::adapt::test
