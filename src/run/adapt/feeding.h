// SPDX-License-Identifier: BSD-3-Clause
// A broadcast that feeds early ranks first (docs/protocol/feeding.md): state machines without data
// or I/O. The root's Feeder hears of arrivals and decides which rank feeds which. Each
// participant's Flow says which pieces may be posted.
//
// While the root has pieces to send, a feeding is open: a rank that arrives is added to its tree
// and gets all pieces there. A rank that arrives later begins the next feeding.
//
// Invariants (tests/unit/run/adapt/feeding_test.cpp):
//   I1  a rank is told and sent nothing before it has announced itself
//   I2  each is fed by the root, by an earlier arrival, or by a rank that was told together with it
//   I3  of the ranks that have arrived only the root waits for one that has not
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace tutti::adapt {

// Whom a participant feeds at most.
inline constexpr uint32_t kFedMax = 14;
// Pieces posted at a time from a source, and to each who is fed: one passes, one is asked for, and
// two make up for a rank that looks seldom.
inline constexpr uint32_t kPiecesAhead = 4;

// Members are numbered without the root, 0, 1, 2 ...
class Feeder {
  public:
    // What a member, or the root, is told beyond what it knows.
    struct Word {
        std::optional<uint32_t> source;  // none: the root. In each word the same
        bool is_last = false;            // nobody else will be fed by it
        uint32_t fed = 0;                // whom it is to feed, too
        std::array<uint32_t, kFedMax> whom{};
    };

    explicit Feeder(uint32_t members) : members_(members) { order_.reserve(members + size_t{1}); }
    // Anew; allocates nothing where there were as many before. 0 < fan_in <= kFedMax.
    void restart(uint32_t members, uint32_t fan_in);

    // That member is there. False: none of this protocol says that now.
    bool hear(uint32_t member);
    // The root has sent what it had to: the feeding is over, and the next one begins with all who
    // have come since, if anybody has.
    void go_on();
    // What that member is to be told, once.
    std::optional<Word> word(uint32_t member);
    // Whom the root is to feed beyond what it knows, once.
    Word root_word();
    // It has had its last word.
    [[nodiscard]] bool is_done(uint32_t member) const { return members_[member].has_last; }
    // A feeding is under way that may yet grow.
    [[nodiscard]] bool is_open() const { return is_open_; }
    // All members are, or were, in a feeding.
    [[nodiscard]] bool has_all() const { return placed_ == members_.size(); }

  private:
    struct One {
        bool is_there = false;
        bool is_placed = false;
        bool is_answered = false;
        bool has_last = false;
        uint32_t feeding = 0;  // in the how manieth
        uint32_t source = 0;
        uint32_t fed = 0;
        uint32_t told = 0;  // of these
        std::array<uint32_t, kFedMax> whom{};
    };
    static constexpr uint32_t kRoot = UINT32_MAX;
    One& at(uint32_t member) { return member == kRoot ? root_ : members_[member]; }
    void place(uint32_t member, uint32_t source);
    void hang(uint32_t member);
    [[nodiscard]] bool grows(const One& one) const;
    // Asserts what must hold behind each step.
    void check() const;

    One root_;
    std::vector<One> members_;
    std::vector<uint32_t> order_;  // of the feeding: as they were placed, the root first
    uint32_t fan_in_ = 1;
    uint32_t feedings_ = 0;
    uint32_t there_ = 0;
    uint32_t placed_ = 0;
    bool is_open_ = false;
};

class Flow {
  public:
    // Without a source all pieces are here.
    void restart(uint64_t pieces, bool has_source);
    // More are to be fed, from the first piece on.
    void add(uint32_t fed);

    // A piece from the source, or to one who is fed; posted in this order.
    struct Post {
        std::optional<uint32_t> fed;  // none: from the source
        uint64_t piece = 0;
    };
    // What may be posted now, once; none: something must complete before.
    std::optional<Post> next();
    // The first that had not come, or had not left for that one.
    void came();
    void left(uint32_t fed);

    [[nodiscard]] uint64_t come() const { return come_; }
    [[nodiscard]] bool awaits() const { return come_ < asked_; }
    [[nodiscard]] bool awaits(uint32_t fed) const { return left_[fed] < sent_[fed]; }
    [[nodiscard]] uint64_t left_for(uint32_t fed) const { return left_[fed]; }
    [[nodiscard]] uint32_t fed() const { return fed_; }
    [[nodiscard]] bool has_all() const { return come_ == pieces_; }
    // All have come, and have left for all who are fed so far.
    [[nodiscard]] bool is_over() const;

  private:
    uint64_t pieces_ = 0;
    uint32_t fed_ = 0;
    uint64_t asked_ = 0;
    uint64_t come_ = 0;
    std::array<uint64_t, kFedMax> sent_{};  // by whom is fed: posted
    std::array<uint64_t, kFedMax> left_{};
};

}  // namespace tutti::adapt
