// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/live.h"

#include <algorithm>
#include <utility>

#include "base/collectives.h"

namespace tutti::select {
namespace {

// What members say to each other after a batch costs about as much as so many short calls.
constexpr uint64_t kComparisonCalls = 2;
// A first batch has a turn of each way. What is slower by so much there is out of the question.
constexpr uint64_t kHopeless = 3;
// The others decide, with two turns of each, of as many calls as take about so long.
constexpr uint32_t kDecidingBatches = 2;
constexpr uint64_t kTurnNs = 200'000;
constexpr uint64_t kTurnCallsMax = 256;
// Members look so often whether there is something to try, in calls of the team.
constexpr uint64_t kLookMin = 64;
constexpr uint64_t kLookMax = 1536;
// A sample is far from what was measured by this factor; so many more than others mean something.
constexpr uint64_t kFar = 2;
constexpr uint32_t kDrifted = 6;
// A batch may take so many times as long as its calls took to come so far.
constexpr uint64_t kWindowSlack = 2;
constexpr uint64_t kStretchMax = 16;
constexpr uint64_t kWindowMax = 1u << 16;
// A long call is worth more than a short one.
constexpr uint64_t kWorthBytes = 64u << 10;

uint32_t turns(const Live::Question& question) { return question.batches == 0 ? 2 : 4; }

uint32_t batch_calls(const Live::Question& question) {
    return turns(question) * question.turn_calls;
}

// Of its next batch, in calls by the way in use.
uint64_t cost_of(const Live::Question& question) {
    const uint64_t calls = batch_calls(question) / 2;
    if (question.batches == 0) return calls + kComparisonCalls;
    const Way& way = question.ways[question.tries];
    const uint64_t dearer = way.instead_ns == 0 ? 1 : way.ns / way.instead_ns + 1;
    return calls * dearer + kComparisonCalls;
}

// From one of its calls to the next, in calls of the team, of which there were so many since
// members last compared.
uint64_t calls_between(const Live::Question& question, uint64_t team_calls) {
    const uint64_t calls = question.calls - question.calls_before;
    return calls == 0 ? team_calls + 1 : team_calls / calls + 1;
}

uint64_t calls_wanted(const Live::Question& question, uint64_t spent) {
    return question.share * (spent + cost_of(question));
}

// By how much a way has to be faster, in per cent. Where not all wait for all, what the program
// does between its calls is in the times.
uint64_t margin(tutti_collective collective) { return awaits_all(collective) ? 5 : 15; }

constexpr uint64_t kNotKnown = UINT64_MAX;

uint64_t time_between(const Live::Times& first, const Live::Times& last) {
    if (last.left_ns == INT64_MIN) return kNotKnown;
    return static_cast<uint64_t>(std::max<int64_t>(last.left_ns - first.arrived_ns, 1));
}

// Of a call, what the turns of one way say.
class Delays {
  public:
    // turn: the times of some of its calls.
    void add_turn(std::span<const Live::Times> turn, uint32_t turn_calls) {
        for (const Live::Times& call : turn) calls_[call_count_++] = time_between(call, call);
        // From its middle on: at first there is what the turn before has left to do, and in caches.
        const uint64_t together = time_between(turn[1], turn.back());
        const uint32_t half = turn_calls - turn_calls / 2;
        turns_[turn_count_++] =
            together != kNotKnown ? std::max<uint64_t>(together / half, 1) : kNotKnown;
    }
    // From the last one's arrival to the last exit: of a call in which all wait for all that is
    // what it takes, whatever the program does before.
    [[nodiscard]] uint64_t of_a_call() const { return median(calls_, call_count_); }
    // From call to call, with what the program does in between: what counts where it does nothing,
    // and where a root, or who only sends, may be calls ahead.
    [[nodiscard]] uint64_t from_call_to_call() const { return median(turns_, turn_count_); }

  private:
    template <size_t Max>
    static uint64_t median(std::array<uint64_t, Max> all, size_t count) {
        // The lower one of two: what disturbs makes times longer.
        const auto middle = all.begin() + static_cast<ptrdiff_t>((count - 1) / 2);
        std::nth_element(all.begin(), middle, all.begin() + static_cast<ptrdiff_t>(count));
        return *middle;
    }

    std::array<uint64_t, Live::kTimesMax> calls_{};
    std::array<uint64_t, Live::kTimesMax / Live::kTimesATurn> turns_{};
    size_t call_count_ = 0;
    size_t turn_count_ = 0;
};

// The program does next to nothing between these calls.
bool is_tight(const Delays& delays) {
    const uint64_t row_ns = delays.from_call_to_call();
    return row_ns != kNotKnown && row_ns / 2 <= delays.of_a_call();
}

bool is_faster(uint64_t one, uint64_t other, uint64_t by_percent) {
    return one * 100 <= other * (100 - by_percent);
}

}  // namespace

sched::Shape CallKind::shape(uint32_t ranks) const {
    sched::Shape shape;
    shape.collective = collective;
    shape.ranks = ranks;
    shape.bytes = bytes;
    shape.element_bytes = element_bytes;
    shape.is_commutative = is_commutative;
    return shape;
}

uint64_t CallKind::name() const {
    uint64_t mixed = 1;
    const auto mix = [&](uint64_t value) {
        mixed = (mixed ^ value) * 0x9e3779b97f4a7c15u;
        mixed ^= mixed >> 29;
    };
    mix(collective);
    mix(bytes);
    mix(element_bytes);
    mix((is_commutative ? 1 : 0) + (is_exact ? 2 : 0));
    return mixed == 0 ? 1 : mixed;
}

uint32_t Live::find(const CallKind& kind) const {
    const auto found = std::ranges::find(questions_, kind, &Question::kind);
    return found == questions_.end() ? kNone : static_cast<uint32_t>(found - questions_.begin());
}

// Members may take a gather or scatter for different ones, and yet be right: one of them has more
// room than is sent (run/engine/receive_capacity.cpp). Nor are times of a vector form compared
// whose lengths only pairs of ranks know: one call may move more than the next.
bool Live::may_ask(const CallKind& kind) const {
    return (all_ || kind.is_exact) && !has_rooted_blocks(kind.collective) &&
           !has_private_lengths(kind.collective);
}

uint32_t Live::find(uint64_t name) const {
    const auto found = std::ranges::find(questions_, name, &Question::name);
    return found == questions_.end() ? kNone : static_cast<uint32_t>(found - questions_.begin());
}

// ---- of each call ------------------------------------------------------------------------------

bool Live::is_in_batch(const CallKind& kind) const {
    if (open_ == kNone || !(questions_[open_].kind == kind)) return false;
    return batch_ < batch_calls(questions_[open_]);
}

// Turns alternate, and so does who begins.
bool Live::is_new_way(uint32_t turn) const {
    return (turn % 2 == 1) == (questions_[open_].batches != kDecidingBatches);
}

uint32_t Live::force(const CallKind& kind) const {
    const uint32_t number = find(kind);
    if (number == kNone) return 0;
    const Question& question = questions_[number];
    if (question.ways.empty()) return 0;
    const bool is_trial = is_in_batch(kind) && is_new_way(batch_ / question.turn_calls);
    return question.ways[is_trial ? question.tries : question.in_use].force;
}

// The second call of a turn, one in its middle, and the last; of three all.
bool Live::is_timed(const CallKind& kind) const {
    if (!is_in_batch(kind)) return false;
    const uint32_t calls = questions_[open_].turn_calls;
    const uint32_t call = batch_ % calls;
    return calls == kTimesATurn || call == 1 || call == calls / 2 || call == calls - 1;
}

uint32_t Live::ran(const CallKind& kind) {
    if (is_in_batch(kind)) ++batch_;
    const uint32_t number = find(kind);
    if (number != kNone) {
        ++questions_[number].calls;
        return number;
    }
    if (questions_.size() == kKindsMax || !may_ask(kind)) return kNone;
    Question& made = questions_.emplace_back();
    made.kind = kind;
    made.name = kind.name();
    made.calls = 1;
    return static_cast<uint32_t>(questions_.size() - 1);
}

// ---- when members compare ----------------------------------------------------------------------

// Of kinds that came since members last compared: a program has phases.
Live::Wish Live::wish(uint64_t calls) const {
    const Question* best = nullptr;
    uint64_t worth = 0;
    uint64_t wait = kLookMax;
    const auto between = [&](const Question& question) {
        return calls_between(question, calls - calls_before_);
    };
    for (uint32_t number = 0; number < questions_.size(); ++number) {
        const Question& question = questions_[number];
        if (question.calls == question.calls_before) continue;
        const uint64_t under_way = number == open_ ? cost_of(question) : 0;
        const uint64_t wanted = calls_wanted(question, question.spent + under_way);
        if (question.calls < wanted) {
            wait = std::min(wait, (wanted - question.calls) * between(question));
            continue;
        }
        const uint64_t mine = question.calls * (kWorthBytes + question.kind.bytes);
        if (mine <= worth) continue;
        worth = mine;
        best = &question;
    }
    if (!best) return {0, std::max(wait, kLookMin)};
    const uint64_t window = batch_calls(*best) * between(*best) * kWindowSlack * best->stretch;
    return {best->name, std::min(window, kWindowMax)};
}

const CallKind* Live::wants_ways(uint64_t name) const {
    const uint32_t number = find(name);
    if (number == kNone) return nullptr;
    const Question& question = questions_[number];
    return question.are_due ? &question.kind : nullptr;
}

// What was measured of them before is kept, and what is in use stays so.
void Live::set_ways(uint64_t name, std::vector<Way> ways) {
    Question& question = questions_[find(name)];
    const auto place_of = [&](uint32_t force) {
        const auto found = std::ranges::find(ways, force, &Way::force);
        return static_cast<uint32_t>(found - ways.begin());
    };
    uint32_t in_use = 0;
    if (!question.ways.empty()) {
        const Way& used = question.ways[question.in_use];
        in_use = place_of(used.force);
        if (in_use == ways.size()) ways.push_back(used);
    }
    // From here on nothing allocates.
    for (const Way& old : question.ways) {
        const uint32_t place = place_of(old.force);
        if (place == ways.size() || ways[place].name != old.name) continue;
        ways[place].outcome = old.outcome;
        ways[place].ns = old.ns;
        ways[place].instead_ns = old.instead_ns;
    }
    question.ways.swap(ways);
    question.in_use = in_use;
    question.are_due = false;
    question.tries = question.in_use == 0 ? 1 : 0;
    if (question.ways.size() < 2) ask_later(question);
}

// What was true may have changed by then, and there may be other ways.
void Live::ask_later(Question& question) {
    question.share *= 2;
    question.are_due = true;
}

void Live::begin(uint64_t name) {
    const uint32_t number = find(name);
    if (number == kNone) return;
    const Question& question = questions_[number];
    if (question.are_due || question.calls < calls_wanted(question, question.spent)) return;
    open_ = number;
    batch_ = 0;
}

void Live::heard(std::span<const Times> times, uint64_t calls) {
    if (open_ != kNone) close_batch(times, calls);
    forget_unused();
    for (Question& question : questions_) question.calls_before = question.calls;
    calls_before_ = calls;
}

void Live::forget_unused() {
    if (questions_.size() < kKindsMax) return;
    std::erase_if(questions_, [](const Question& question) {
        return question.calls == question.calls_before && question.ways.empty();
    });
}

void Live::close_batch(std::span<const Times> times, uint64_t calls) {
    Question& question = questions_[open_];
    question.spent += cost_of(question);
    if (times.size() == turns(question) * kTimesATurn) {
        question.stretch = 1;
        judge(question, times, calls, calls_between(question, calls - calls_before_));
    } else {
        question.stretch = std::min(2 * question.stretch, kStretchMax);
    }
    open_ = kNone;
}

// What calls take has changed: all is asked again, as soon as the share allows that.
void Live::sampled(uint32_t number, const Times& times) {
    Question& question = questions_[number];
    const uint64_t delay_ns = time_between(times, times);
    if (number == open_ || question.delay_ns == 0 || delay_ns == kNotKnown) return;
    const bool is_far = delay_ns > question.delay_ns * kFar || delay_ns < question.delay_ns / kFar;
    if (is_far) {
        ++question.drifted;
    } else if (question.drifted > 0) {
        --question.drifted;
    }
    if (question.drifted < kDrifted) return;
    question.share = kShare;
    question.are_due = true;
    question.batches = 0;
    question.turn_calls = kTimesATurn;
    question.delay_ns = 0;
    question.drifted = 0;
}

void Live::judge(Question& question, std::span<const Times> times, uint64_t calls,
                 uint64_t between) {
    Delays in_use, tried;
    for (uint32_t turn = 0; turn < turns(question); ++turn) {
        Delays& of_way = is_new_way(turn) ? tried : in_use;
        of_way.add_turn(times.subspan(turn * kTimesATurn, kTimesATurn), question.turn_calls);
    }
    const bool is_row = !awaits_all(question.kind.collective) || is_tight(in_use);
    const uint64_t instead_ns = is_row ? in_use.from_call_to_call() : in_use.of_a_call();
    const uint64_t ns = is_row ? tried.from_call_to_call() : tried.of_a_call();
    Way& way = question.ways[question.tries];
    question.delay_ns = in_use.of_a_call();
    if (instead_ns == kNotKnown || ns == kNotKnown) return end_trial(question, calls, false);
    const uint64_t percent = margin(question.kind.collective);
    const bool is_last = question.batches == kDecidingBatches;
    way.ns = is_last ? (way.ns + ns) / 2 : ns;
    way.instead_ns = is_last ? (way.instead_ns + instead_ns) / 2 : instead_ns;
    if (question.batches == 0) {
        // It may have cost more than a batch was said to.
        question.spent += kTimesATurn * (ns / instead_ns);
        if (ns > instead_ns * kHopeless) return end_trial(question, calls, false);
        const uint64_t turn = std::min(kTurnNs / instead_ns, kTurnCallsMax / between);
        question.turn_calls = std::max(static_cast<uint32_t>(turn), kTimesATurn);
    } else {
        const bool wins = is_faster(ns, instead_ns, percent / 2);
        if (!wins) return end_trial(question, calls, false);
        if (is_last) {
            const bool has_won = is_faster(way.ns, way.instead_ns, percent);
            if (has_won) question.delay_ns = tried.of_a_call();
            return end_trial(question, calls, has_won);
        }
    }
    ++question.batches;
}

// On to the next way. When all have been tried, they are again after twice as many calls.
void Live::end_trial(Question& question, uint64_t calls, bool has_won) {
    Way& way = question.ways[question.tries];
    way.outcome = has_won ? Way::Outcome::kFaster : Way::Outcome::kSlower;
    if (has_won) {
        question.in_use = question.tries;
        question.since = calls;
    }
    question.batches = 0;
    question.turn_calls = kTimesATurn;
    const auto is_over = [&] { return question.tries == question.ways.size(); };
    do {
        ++question.tries;
    } while (!is_over() && question.tries == question.in_use);
    if (is_over()) ask_later(question);
}

}  // namespace tutti::select
