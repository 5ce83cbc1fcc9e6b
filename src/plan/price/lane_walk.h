// SPDX-License-Identifier: BSD-3-Clause
// One lane followed in time. Inside price/ only.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <queue>
#include <unordered_map>
#include <vector>

#include "plan/price/lanes.h"
#include "plan/price/link_buckets.h"

namespace tutti::price {

class LaneWalk {
  public:
    LaneWalk(const Network& network, const NodeParameters& node, const Lanes& lanes);

    // False where there are more messages than that, of two operations each.
    bool go(uint64_t messages_max);

    // Until all participants are done.
    [[nodiscard]] uint64_t end_ns() const { return end_ns_ + left_out_ns() + unpaid_ns(); }
    // What all further lanes add.
    [[nodiscard]] uint64_t further_ns() const;
    [[nodiscard]] uint64_t operations() const { return operations_; }

  private:
    static constexpr uint64_t kNever = UINT64_MAX;

    // A round under way.
    struct Live {
        std::vector<sched::Operation> ops;
        std::vector<uint64_t> done_ns;  // of each; kNever
        uint64_t begun = 0;             // bits
        uint64_t done = 0;
        [[nodiscard]] bool is_done() const {
            return static_cast<size_t>(std::popcount(done)) == ops.size();
        }
    };
    struct Participant {
        std::unique_ptr<sched::Program> whole;
        std::unique_ptr<sched::Program> brief;  // without the rounds that are counted
        const sched::Program* program = nullptr;
        uint64_t rounds = 0;
        uint64_t round = 0;  // of `older`; `newer` is the one after it
        Live older;
        Live newer;
        uint64_t before_ns = 0;  // all rounds before these
        bool is_queued = false;
        uint64_t begun_ns = kNever;
        uint64_t end_ns = 0;
    };
    struct End {
        sched::Rank participant = 0;
        uint32_t operation = 0;
        uint64_t round = 0;
        uint64_t ready_ns = kNever;
    };
    struct Message {
        End send;
        End recv;
        uint64_t bytes = 0;
        uint64_t fold_ns = 0;
        uint64_t come_ns = kNever;
        bool has_waited = false;  // its answer, for what goes to its sender
    };
    struct Key {
        sched::Rank from;
        sched::Rank to;
        uint32_t message;
        bool operator==(const Key&) const = default;
    };
    struct KeyHash {
        size_t operator()(const Key& key) const;
    };
    struct Multicast {
        std::vector<End> ends;
        uint32_t host = 0;
        uint64_t bytes = 0;
        uint64_t ready_ns = 0;
    };
    // One of those who meet.
    struct Meeter {
        std::vector<End> ends;
        std::vector<sched::Rank> children;
        sched::Rank parent = 0;
        bool is_top = true;
        bool is_near = false;  // to its parent, on the same node
        uint64_t fed = 0;      // how many it feeds if all are there at once
        uint64_t at_ns = 0;    // when it has what it waits for
        // As run/adapt/saturation.h has them.
        bool has_arrived = false;
        uint32_t heard = 0;
        sched::Rank unheard = 0;  // of the neighbours not heard from, by exclusive or
        std::optional<sched::Rank> sent_to = {};
        [[nodiscard]] size_t neighbours() const { return children.size() + (is_top ? 0 : 1); }
    };
    // What comes to one of those who meet: it arrives itself, or a neighbour's message does.
    enum class Comes : uint8_t { kItself, kPart, kRelease };
    struct Coming {
        uint64_t at_ns;
        uint64_t number;  // of those at the same time, as they were sent
        Comes what;
        sched::Rank to;
        sched::Rank from;
        bool operator>(const Coming& other) const {
            return at_ns != other.at_ns ? at_ns > other.at_ns : number > other.number;
        }
    };
    struct Departure {
        uint64_t at_ns;
        uint64_t number;  // of those at the same time, as they came
        uint32_t message;
        bool operator>(const Departure& other) const {
            return at_ns != other.at_ns ? at_ns > other.at_ns : number > other.number;
        }
    };

    void shorten();
    [[nodiscard]] uint64_t left_out_ns() const;
    [[nodiscard]] uint64_t unpaid_ns() const;
    void queue(sched::Rank rank);
    void advance(sched::Rank rank);
    void load(Participant& one, uint64_t round, Live& into);
    void begin_ready(sched::Rank rank);
    void begin(End end, const sched::Operation& op);
    void post(const Key& key, const End& end, bool is_send, uint64_t bytes, uint64_t fold_ns);
    [[nodiscard]] uint64_t way_ns(const Message& message) const;
    [[nodiscard]] uint64_t asked_ns(const Message& message) const;
    const std::vector<uint32_t>& links_from(uint32_t host);
    void post_multicast(const End& end, const sched::Operation& op);
    // When it has come to all hosts.
    uint64_t pass_multicast(uint32_t from_host, uint64_t bytes, uint64_t at_ns);
    void post_meet(const End& end, const sched::Operation& op);
    void go_through_meet();
    void come(const Coming& coming);
    void release(sched::Rank rank, std::optional<sched::Rank> but);
    void send_meet(Comes what, sched::Rank from, sched::Rank to);
    void go_through_feed();
    void end_meet();
    uint64_t pass_meet(sched::Rank from, sched::Rank to, uint64_t at_ns);
    void depart(const Departure& departure);
    [[nodiscard]] uint64_t answered_ns(Message& message, uint64_t at_ns) const;
    // When the last byte has left, and when it has come.
    struct Passed {
        uint64_t left_ns;
        uint64_t come_ns;
    };
    Passed pass(uint32_t from_host, uint32_t to_host, uint64_t bytes, uint64_t at_ns);
    void receive(const Message& message);
    void complete(const End& end, uint64_t at_ns);

    const Network& network_;
    const NodeParameters& node_;
    const Lanes& lanes_;
    sched::Round round_;
    // Of those alike some are left out, and the last ones before them say how long they take.
    struct Gap {
        uint64_t behind = 0;  // rounds that are followed up to there
        uint64_t rounds = 0;
    };
    std::vector<Gap> gaps_;
    uint64_t rounds_ = 0;  // of the longest program, as it is followed
    uint64_t whole_rounds_ = 0;
    uint64_t end_ns_ = 0;
    uint64_t operations_ = 0;
    std::vector<Participant> participants_;
    std::vector<Message> messages_;
    std::unordered_map<Key, uint32_t, KeyHash> open_;
    std::unordered_map<uint64_t, Multicast> multicasts_;
    std::vector<Meeter> meeters_;  // by participant; empty where nobody meets
    sched::Rank meeting_count_ = 0;
    std::priority_queue<Coming, std::vector<Coming>, std::greater<>> coming_;
    uint64_t coming_count_ = 0;
    uint64_t meet_bytes_ = 0;  // of the vector
    bool meets_by_multicast_ = false;
    bool is_unknown_ = false;                                         // how it goes on
    uint64_t piece_bytes_ = 0;                                        // of what is fed; 0: a fold
    std::unordered_map<uint32_t, std::vector<uint32_t>> links_from_;  // by host
    std::priority_queue<Departure, std::vector<Departure>, std::greater<>> departures_;
    uint64_t departures_count_ = 0;
    // With long_in_turn: by hosts, until when long messages leave for the other.
    std::unordered_map<Key, uint64_t, KeyHash> leaving_until_ns_;
    std::vector<sched::Rank> queue_;    // to whom something happened
    std::vector<uint64_t> round_ends_;  // by rounds: when the last one had completed so many
    // A processor, or all multicasts.
    struct Server {
        uint64_t begun_ns = kNever;
        uint64_t busy_until_ns = 0;
        uint64_t load_ns = 0;
        [[nodiscard]] Work work() const {
            if (load_ns == 0) return {};
            return {.load_ns = load_ns, .window_ns = busy_until_ns - begun_ns};
        }
    };
    static uint64_t serve(Server& server, uint64_t ready_ns, uint64_t ns);
    [[nodiscard]] uint64_t lacking_ns(const Work& work, uint64_t lanes) const;
    [[nodiscard]] Server processor(sched::Rank rank) const;
    Links links_;
    // By participant: its processor, as it posts messages and as it folds and copies. Messages are
    // posted in between, so these are two.
    std::vector<Server> posters_;
    std::vector<Server> movers_;
    Server multicast_;
};

}  // namespace tutti::price
