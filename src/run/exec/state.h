// SPDX-License-Identifier: BSD-3-Clause
// The state of an executor, private to its own files. executor.cpp begins operations and moves
// messages; each other kind of work has a file of its own.
//
// Each slot holds two rounds of its lane. All operations of the older one may begin; those of the
// newer one by their masks. When the older one is complete, the next round takes its place: so the
// rule about rounds up to k - 2 needs no further look.
//
// Message order: by the time an operation of the newer round begins, all of the older one have
// begun, and of messages between the same two ranks in one round all begin at once, in the order of
// their index (check/prove demands equal masks). That is what a transport that keeps order per pair
// and slot needs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "plan/sched/operation_kinds.h"
#include "run/adapt/feeding.h"
#include "run/adapt/meeting.h"
#include "run/adapt/roll_call.h"
#include "run/exec/combine.h"
#include "run/exec/executor.h"

namespace tutti::exec {

inline constexpr uint64_t kScratchAlign = 64;
constexpr uint64_t aligned(uint64_t bytes) {
    return (bytes + kScratchAlign - 1) / kScratchAlign * kScratchAlign;
}

// Transports keep the address of the ticket, so a task stays where it is.
struct Task {
    transport::Ticket ticket;
    uint64_t worked_bytes = 0;  // of a copy or fold
};

// One round under way; bit i of the sets is operation i.
struct Window {
    sched::Round round;
    uint64_t all = 0;
    uint64_t begun = 0;
    uint64_t done = 0;
    std::array<Task, sched::kRoundOpsMax> tasks;
};

inline constexpr uint32_t kNobody = UINT32_MAX;

// The beginning of a message between participants that meet.
struct MeetHeader {
    uint32_t kind = 0;           // adapt::Kind
    uint32_t values = 0;         // that follow; one stands where the first of two does
    uint32_t crossed = kNobody;  // of a multicast: the rank whose part and the sender's did
    uint32_t whom = kNobody;     // of a letter (meet_letters.cpp)
};

// The round of a lane that meets: neighbour i is its operation i, and the kMeet comes behind them.
struct Meet {
    static constexpr uint32_t kNeighboursMax = sched::kRoundOpsMax;
    adapt::Meeting machine{kNeighboursMax, false, adapt::Releases::kAlongTree};
    uint32_t neighbours = 0;  // that have begun
    uint64_t heard = 0;       // bits: its message is here
    uint64_t told = 0;        // bits: a message to it was posted
    // With a release by multicast.
    enum class Release : uint8_t {
        kAwaited,  // of another rank
        kOwn,      // to be sent by this rank
        kSettled,  // the result is here, by whatever way, and the number is not over
        kNobodys,  // along the tree then
        kOver
    };
    bool is_by_multicast = false;
    uint32_t slot = 0;  // of the transport: what its messages go by
    Release release = Release::kAwaited;
    // By one word of the team (meet_roll_call.cpp): then neighbours tell each other nothing.
    enum class Answer : uint8_t {
        kAwaited,  // of the own arrival
        kHeard,
        kLooking  // that was heard; this is about who has come since
    };
    bool calls_roll = false;
    Answer answer = Answer::kHeard;
    transport::Ticket adding;
    std::optional<uint32_t> crossed;  // it and this rank have each other's part
    uint64_t idle = 0;                // bit: nothing comes from there any more
    // Neighbours on the same node (meet_letters.cpp): there are some; what tells them the result
    // was written; whom it does not tell.
    bool has_letters = false;
    bool has_told_all = false;
    std::optional<uint32_t> untold;
    std::array<transport::Ticket, kNeighboursMax> sent;
};

// The round of a lane that feeds: as one that meets, with the kFeed behind its neighbours.
struct Feed {
    bool is_middle = false;
    bool has_last = false;                             // elsewhere: of the middle's words
    uint32_t words = 0;                                // of the middle's, that have come
    std::array<uint32_t, sched::kRoundOpsMax> said{};  // by neighbour: words to it
    adapt::Feeder feeder{sched::kRoundOpsMax};
    adapt::Flow flow;
    sched::Rank source = 0;
    std::array<sched::Rank, adapt::kFedMax> whom{};
    // By piece modulo kPiecesAhead.
    std::array<transport::Ticket, adapt::kPiecesAhead> coming;
    std::array<std::array<transport::Ticket, adapt::kPiecesAhead>, adapt::kFedMax> leaving;
};

struct Slot {
    uint64_t lane = 0;
    uint64_t base = 0;  // the older round; round k is in windows[k % 2]
    std::byte* scratch = nullptr;
    std::array<Window, 2> windows;
    Meet meet;
    Feed feed;
};

// An operation under way.
struct Ref {
    uint8_t slot = 0;
    uint8_t window = 0;
    uint8_t index = 0;
};

// First in, first out, in memory made beforehand.
class Queue {
  public:
    void reserve(size_t capacity) { refs_.resize(capacity); }
    void clear() { head_ = tail_ = 0; }
    [[nodiscard]] bool is_empty() const { return head_ == tail_; }
    [[nodiscard]] Ref front() const { return refs_[head_ % refs_.size()]; }
    void push(Ref ref) { refs_[tail_++ % refs_.size()] = ref; }
    void pop() { ++head_; }

  private:
    std::vector<Ref> refs_;
    uint64_t head_ = 0;
    uint64_t tail_ = 0;
};

// Numbers are this call's, from 0.
struct Multicasts {
    uint64_t base = 0;      // what the team's route calls the first one
    uint64_t next = 0;      // the next one to be posted
    uint64_t first = 0;     // all below are complete
    uint32_t complete = 0;  // bit i: first + i is
    // By number modulo its size.
    std::array<Ref, sched::kMulticastsInFlightMax> posted;
    // Not yet posted, the lowest number last.
    std::vector<Ref> ready;

    // Of those that are posted.
    [[nodiscard]] bool is_complete(uint64_t number) const {
        return number < first || (complete >> (number - first) & 1) != 0;
    }
};
static_assert(sched::kMulticastsInFlightMax <= 32, "one bit of Multicasts::complete each");

struct ScratchFree {
    void operator()(std::byte* memory) const {
        ::operator delete[](memory, std::align_val_t{kScratchAlign});
    }
};
using Scratch = std::unique_ptr<std::byte[], ScratchFree>;

struct Executor::State {
    class Hall;

    State(node::Team* node_team, transport::Transport& transport, transport::Multicast* multicast)
        : node(node_team), network(transport), route(multicast) {}
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() {
        conceal_arguments();
        conceal_scratch();
    }

    node::Team* node;
    transport::Transport& network;
    transport::Multicast* route;
    Clock* clock = nullptr;
    uint64_t left_ns = 0;  // by it, the last call

    // Reserved.
    std::vector<std::unique_ptr<Slot>> slots;
    Scratch scratch;
    uint64_t scratch_bytes = 0;
    bool is_scratch_exposed = false;
    std::unique_ptr<std::byte[]> user_space;

    // The call.
    const sched::Program* program = nullptr;
    sched::Extent extent;
    uint32_t call = 0;
    transport::CallWord word;
    Arguments arguments;
    std::span<std::byte> exposed_input;
    std::span<std::byte> exposed_output;
    uint64_t lanes_left = 0;
    bool has_failed = false;
    bool is_untouched = true;
    bool has_fed = false;  // in this step something came or left that completes no operation
    std::string error;
    Work totals;

    // Operations under way, each in exactly one place.
    std::vector<Ref> messages;    // posted; in no order
    Queue work;                   // copies and folds
    std::vector<Ref> node_ready;  // node operations that wait for their turn
    bool node_busy = false;
    bool has_letters = false;  // node_op is the call of the meeting under way
    Ref node_ref;
    node::Op node_op;
    uint64_t node_next = 0;
    Multicasts multicasts;
    adapt::RollCall roll_call;
    uint64_t looked_ns = 0;       // at the word of all, or added to it
    bool has_miscounted = false;  // by it: a rank runs another call
    uint64_t meetings = 0;  // by multicast, of the team since the beginning, on all ranks alike

    Result<Done> reserve(const sched::Extent& wanted, uint64_t scratch_bytes_max);
    void conceal_scratch();
    void expose_arguments();
    void conceal_arguments();
    void start_lanes();
    void begin_lane(Slot& slot, uint64_t lane);
    void load(Slot& slot, uint64_t round);
    void advance(uint32_t slot);
    void check_end() const;
    void begin(Ref ref);
    void post(Ref ref);
    void arrived(Ref ref);
    void set_done(Ref ref);
    void complete(Ref ref);
    transport::State test_message(Ref ref);
    bool poll_messages();
    [[nodiscard]] transport::MessageId id_of(const Slot& slot, Ref ref);
    [[nodiscard]] static const sched::Block& target_of(const sched::Operation& operation);
    transport::State withdraw();
    bool step_work();
    uint64_t work_piece(Ref ref, uint64_t bytes_max);
    void count_node(const node::Call& next);
    bool start_node();
    bool step_node();
    void queue_multicast(Ref ref);
    void post_multicast(Ref ref);
    void finish_number(uint64_t number);
    void finish_multicast(uint64_t number);
    bool post_release(Ref ref);
    bool post_multicasts();
    bool poll_multicasts();
    bool step_multicasts();
    void post_neighbour(Ref ref);
    void begin_meet(Ref ref);
    // A neighbour's message is here, and others' are awaited before it is answered.
    [[nodiscard]] bool has_unanswered(Ref ref);
    transport::State test_neighbour(Ref ref);
    bool hear(Ref ref);
    bool hears_all(Ref ref, uint32_t vain_tests);
    void look_for_parts(Ref ref);
    bool follow(Ref ref, const adapt::Orders& orders, bool is_told);
    void tell(Ref ref, uint32_t neighbour, adapt::Kind kind);
    void settle(const Hall& hall, std::optional<uint32_t> neighbour, bool is_told);
    void begin_meeting(Ref ref);
    [[nodiscard]] bool feeds(Ref ref);
    void begin_feed(Ref ref);
    [[nodiscard]] transport::MessageId word_id(const Slot& slot, Ref with, uint32_t number) const;
    void say(Ref with, const void* what, uint32_t number);
    transport::State test_fed(Ref with);
    transport::State test_one_fed(Ref with);
    void hear_there(Ref with);
    void tell_next(Ref with);
    transport::State test_being_fed(Ref with);
    void hear_middle(Ref with);
    transport::State test_feed(Ref ref);
    void feed_more(Ref ref);
    transport::State move_pieces(Ref ref);
    void post_piece(Ref ref, const adapt::Flow::Post& post);
    void add_fed_waits(Ref ref, std::vector<sched::Rank>& ranks);
    void cancel_pieces(Ref ref);
    [[nodiscard]] bool may_call_roll(const sched::Round& round);
    void begin_roll_call(Ref ref);
    bool step_roll_call(Ref ref);
    void look_at_roll(Meet& meet);
    void add_missing(const Meet& meet, std::vector<sched::Rank>& ranks) const;
    void meet_without_roll(Ref ref);
    void call_off_roll();
    [[nodiscard]] bool calls_roll(Ref ref) {
        return sched::is_meet(operation_of(ref).kind) && slot_of(ref).meet.calls_roll;
    }
    bool step_release(Ref ref);
    [[nodiscard]] std::optional<Ref> release_sought();
    [[nodiscard]] std::optional<sched::Rank> releaser();
    [[nodiscard]] bool seeks_only();
    [[nodiscard]] bool holds_back();
    void take_release(Ref ref);
    void release_along_tree(Ref ref);
    transport::State set_idle(Ref ref);
    void begin_letters(Slot& slot, const sched::Round& round);
    void end_letters(Slot& slot, const sched::Round& round);
    [[nodiscard]] bool is_near(Ref ref) { return sched::is_near(operation_of(ref)); }
    transport::State test_heard(Ref ref);
    transport::State test_sent(Ref ref);
    [[nodiscard]] bool take_letter(Ref ref);
    bool write_letter(Ref ref);
    [[nodiscard]] bool waits_for_letters();
    [[nodiscard]] node::Call node_call(const Slot& slot, const sched::Operation& operation) const;
    [[nodiscard]] std::byte* at(const Slot& slot, const sched::Block& block) const;

    [[nodiscard]] Slot& slot_of(Ref ref) { return *slots[ref.slot]; }
    [[nodiscard]] Window& window_of(Ref ref) { return slots[ref.slot]->windows[ref.window]; }
    [[nodiscard]] const sched::Operation& operation_of(Ref ref) {
        return window_of(ref).round[ref.index];
    }
    [[nodiscard]] Task& task_of(Ref ref) { return window_of(ref).tasks[ref.index]; }
};

}  // namespace tutti::exec
