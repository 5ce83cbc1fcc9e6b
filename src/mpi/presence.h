// SPDX-License-Identifier: BSD-3-Clause
// Which ranks of MPI_COMM_WORLD have this library, found out before its first collective: a rank
// without it would take part in Tutti's collectives with its program's own.
//
// All ranks that have the library come to one verdict. Messages go along a wide tree; no rank sends
// to one that it has not heard of, but for the one empty call to its parent:
//
//   child                                   parent
//     | -- call (empty) ------------------>   |   the child is there
//     | <----------------- answer (empty) --  |   so is the parent: the child waits for its word
//     | -- confirmation (empty) ---------->   |   only where the report has to wait
//     | -- report ------------------------>   |   how many are missing below, the child included
//     | <------------------------- verdict -- |   none missing: all start; else no rank does
//
// Only waits for a first sign of a rank are bounded. A rank that ends such a wait never reports, so
// the verdict that all are there needs each rank's promise not to go away.
// docs/protocol/presence.md has the whole of it.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace tutti::mpi {

// What is not empty of these messages. Its form stays as it is from release to release.
struct PresenceWord {
    static constexpr int kListed = 8;
    static constexpr int32_t kEmpty = -1;  // stands in `missing` where a message brought nothing

    int32_t missing;         // ranks that gave no sign
    int32_t ranks[kListed];  // the lowest of them

    void add(int32_t rank);
    void add(const PresenceWord& others);
    [[nodiscard]] std::span<const int32_t> listed() const {
        return {ranks, static_cast<size_t>(missing < kListed ? missing : kListed)};
    }
};

// Messages of MPI_COMM_WORLD under one tag; those between two ranks arrive in order.
class PresenceMail {
  public:
    // The word stays where it is; an empty message where it is null.
    virtual void send(int rank, const PresenceWord* word) = 0;
    // Posts the receive of a further message of that rank, in a slot that is free.
    virtual void expect(int slot, int rank) = 0;
    // True once, when that slot's message has come; its word is empty where the message was.
    virtual bool arrived(int slot, PresenceWord& word) = 0;

  protected:
    PresenceMail() = default;
    ~PresenceMail() = default;
    PresenceMail(const PresenceMail&) = default;
    PresenceMail& operator=(const PresenceMail&) = default;
};

// Inner ranks are one in so many.
inline constexpr int kPresenceWidth = 32;
// Ranks that call another, at most: kPresenceWidth - 1 on each of the seven levels below 2^31.
inline constexpr int kPresenceCallersMax = 7 * (kPresenceWidth - 1);

// Those that call this rank, and what has come of it.
class PresenceCallers {
  public:
    // Each takes two slots from this one on.
    void begin(int first_slot) { first_slot_ = first_slot; }
    void add(int rank);
    void open(PresenceMail& mail, uint64_t deadline_ns);
    void step(PresenceMail& mail, uint64_t now_ns, uint64_t wait_ns);
    // All have reported or are not waited for any more.
    [[nodiscard]] bool settled() const;
    void collect(PresenceWord& word) const;
    // The last word to all that have called. What any of them may still send meets a receive.
    void dismiss(PresenceMail& mail, const PresenceWord& verdict);

  private:
    enum class State : uint8_t {
        kSilent,     // has not called, and may yet
        kMissing,    // has not called in time
        kCalled,     // has been answered
        kGone,       // has not said anything since, in time
        kConfirmed,  // will report
        kReported
    };
    struct Caller {
        int rank;
        State state;
        uint64_t called_ns;
        PresenceWord report;
    };

    void take(PresenceMail& mail, int index, const PresenceWord& word, uint64_t now_ns);

    std::array<Caller, kPresenceCallersMax> all_{};
    int count_ = 0;
    int first_slot_ = 0;
    uint64_t deadline_ns_ = 0;
};

class Presence {
  public:
    static constexpr int kSubstitutes = 3;
    static constexpr int kSlots = 4 * kPresenceCallersMax + 2 * (kSubstitutes + 1);

    // Of `size` ranks, at least 2. A first sign of a rank is waited for so long.
    void start(PresenceMail& mail, int rank, int size, uint64_t now_ns, uint64_t wait_ns);
    // False until there is a verdict; then no message is sent any more, and those that may still
    // come meet a receive that has been posted.
    [[nodiscard]] bool step(PresenceMail& mail, uint64_t now_ns);

    [[nodiscard]] bool all_there() const { return verdict_.missing == 0; }
    // This rank says for all which are missing: one rank does, but where many are missing or late.
    [[nodiscard]] bool speaks() const { return speaks_; }
    [[nodiscard]] const PresenceWord& missing() const { return verdict_; }

  private:
    enum class State : uint8_t { kCalling, kAnswered, kReported };

    void call(PresenceMail& mail, int rank, uint64_t now_ns);
    bool step_up(PresenceMail& mail, uint64_t now_ns);
    bool give_up(PresenceMail& mail, uint64_t now_ns);
    bool conclude(PresenceMail& mail);
    void leave(PresenceMail& mail);
    [[nodiscard]] int up_slot() const;
    void list_tops();

    int rank_ = 0;
    int size_ = 0;
    uint64_t wait_ns_ = 0;
    PresenceCallers own_;  // the children
    // Where the root gives no sign, its children turn to one of themselves after another.
    PresenceCallers tops_;
    bool leads_ = false;  // nobody above this rank
    bool speaks_ = false;
    State state_ = State::kCalling;
    std::array<int, kSubstitutes + 1> called_{};  // by this rank, one after the other
    int calls_ = 0;
    uint64_t deadline_ns_ = 0;
    PresenceWord report_{};
    PresenceWord verdict_{};
};

}  // namespace tutti::mpi
