// SPDX-License-Identifier: BSD-3-Clause
// One lane followed in time. Inside price/ only.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "plan/price/followed_rounds.h"
#include "plan/price/lane_servers.h"
#include "plan/price/lanes.h"
#include "plan/price/meet_walk.h"
#include "plan/price/timed_queue.h"

namespace tutti::price {

class LaneWalk {
  public:
    LaneWalk(const Network& network, const NodeParameters& node, const Lanes& lanes);
    LaneWalk(const LaneWalk&) = delete;  // meet_ refers to servers_
    LaneWalk& operator=(const LaneWalk&) = delete;

    // False where there are more messages than that, of two operations each.
    bool go(uint64_t messages_max);

    // Until all participants are done.
    [[nodiscard]] uint64_t end_ns() const { return end_ns_ + rounds_.left_out_ns() + unpaid_ns(); }
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
        sched::Rank from = 0;
        uint64_t bytes = 0;
        uint64_t ready_ns = 0;
    };

    static std::vector<Participant> participants_of(const Lanes& lanes);
    static uint64_t longest(std::span<const Participant> participants);
    void queue(sched::Rank rank);
    void advance(sched::Rank rank);
    void load(Participant& one, uint64_t round, Live& into);
    void begin_ready(sched::Rank rank);
    void begin(End end, const sched::Operation& op);
    void post(const Key& key, const End& end, bool is_send, uint64_t bytes, uint64_t fold_ns);
    void post_multicast(const End& end, const sched::Operation& op);
    void post_meet(const End& end, const sched::Operation& op);
    [[nodiscard]] uint64_t asked_ns(const Message& message) const;
    [[nodiscard]] uint64_t answered_ns(Message& message, uint64_t at_ns) const;
    void depart(uint32_t index, uint64_t at_ns);
    void receive(const Message& message);
    void complete(const End& end, uint64_t at_ns);
    [[nodiscard]] uint64_t unpaid_ns() const;
    [[nodiscard]] uint64_t lacking_ns(const Work& work, uint64_t lanes) const;

    const Network& network_;
    const NodeParameters& node_;
    const Lanes& lanes_;
    std::vector<Participant> participants_;
    FollowedRounds rounds_;
    LaneServers servers_;
    MeetWalk meet_;
    std::vector<End> meet_ends_;  // of those who have begun to meet
    std::vector<Message> messages_;
    std::unordered_map<Key, uint32_t, KeyHash> open_;  // with one end so far
    std::unordered_map<uint64_t, Multicast> multicasts_;
    TimedQueue<uint32_t> departures_;  // of messages
    // With long_in_turn: by hosts, until when long messages leave for the other.
    std::unordered_map<Key, uint64_t, KeyHash> leaving_until_ns_;
    std::vector<sched::Rank> queue_;  // to whom something happened
    sched::Round round_;              // as it is read
    uint64_t end_ns_ = 0;
    uint64_t operations_ = 0;
    bool is_unknown_ = false;  // how it goes on
};

}  // namespace tutti::price
