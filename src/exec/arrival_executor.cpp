// SPDX-License-Identifier: BSD-3-Clause
#include "exec/arrival_executor.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/assert.h"
#include "exec/combine.h"

namespace tutti::exec {

// In a stretch of memory, from left to right; of nothing there is none.
class ArrivalExecutor::Fold {
  public:
    Fold(const ArrivalExecutor& of, std::byte* to) : of_(of), to_(to) {}
    void add(const std::byte* value) {
        const size_t bytes = of_.bytes_;
        const bool is_first = !std::exchange(has_any_, true);
        if (bytes == 0) return;
        if (is_first) {
            std::memcpy(to_, value, bytes);
        } else {
            combine(of_.arguments_.reducer, of_.user_space_.get(), to_, to_, value, bytes);
        }
    }
    [[nodiscard]] bool has_any() const { return has_any_; }

  private:
    const ArrivalExecutor& of_;
    std::byte* to_;
    bool has_any_ = false;
};

ArrivalExecutor::ArrivalExecutor(transport::Transport& network,
                                 std::span<const transport::Rank> rank_of_member, uint32_t member,
                                 uint32_t fan_in, size_t bytes_max)
    : network_(network),
      meeting_(static_cast<uint32_t>(rank_of_member.size()), fan_in, member,
               adapt::Releases::kAlongTree),
      bytes_max_(bytes_max),
      user_space_(std::make_unique<std::byte[]>(bytes_max)),
      result_(std::make_unique<std::byte[]>(bytes_max)) {
    TUTTI_ASSERT(bytes_max <= kArrivalBytesMax, "short vectors");
    static_assert(kArrivalBytesMax <= kUserBytes);
    const adapt::Place& place = meeting_.place();
    neighbours_.resize(place.neighbours());
    for (uint32_t i = 0; i < place.neighbours(); ++i) {
        neighbours_[i].rank = rank_of_member[place.neighbour(i)];
        neighbours_[i].in = std::make_unique<std::byte[]>(sizeof(Header) + 2 * bytes_max);
        neighbours_[i].out = std::make_unique<std::byte[]>(sizeof(Header) + 2 * bytes_max);
    }
}

size_t ArrivalExecutor::message_bytes() const { return sizeof(Header) + 2 * bytes_; }

void ArrivalExecutor::start(uint32_t call, const Arguments& arguments, size_t bytes,
                            const transport::CallWord& word) {
    if (has_failed_) return;
    TUTTI_ASSERT(!meeting_.is_in_call(), "one call at a time");
    TUTTI_ASSERT(bytes <= bytes_max_, "there is memory for it");
    call_ = call;
    word_ = word;
    arguments_ = arguments;
    bytes_ = bytes;
    is_told_ = false;
    for (Neighbour& one : neighbours_) {
        one.is_receiving = true;
        network_.recv(one.rank, {.call = call_, .word = word_}, one.in.get(), message_bytes(),
                      one.received);
    }
    act(meeting_.arrive());
}

Step ArrivalExecutor::step() {
    if (has_failed_) return Step::kFailed;
    network_.poll();
    bool has_moved = receive();
    has_moved |= finish_sends();
    if (has_failed_) return Step::kFailed;
    const bool is_over =
        !meeting_.is_in_call() && std::ranges::none_of(neighbours_, &Neighbour::is_sending);
    if (is_over) return Step::kDone;
    return has_moved ? Step::kAdvanced : Step::kBlocked;
}

bool ArrivalExecutor::receive() {
    bool has_moved = false;
    for (uint32_t i = 0; i < neighbours_.size() && !has_failed_; ++i) {
        Neighbour& one = neighbours_[i];
        if (!one.is_receiving) continue;
        const transport::State state = network_.test(one.received);
        if (state == transport::State::kPending) continue;
        if (state == transport::State::kFailed) {
            fail(network_.error().c_str());
            break;
        }
        one.is_receiving = false;
        has_moved = true;
        take(i);
    }
    return has_moved;
}

bool ArrivalExecutor::finish_sends() {
    bool has_moved = false;
    for (Neighbour& one : neighbours_) {
        if (!one.is_sending || has_failed_) continue;
        const transport::State state = network_.test(one.sent);
        if (state == transport::State::kFailed) fail(network_.error().c_str());
        if (state != transport::State::kDone) continue;
        one.is_sending = false;
        has_moved = true;
    }
    return has_moved;
}

void ArrivalExecutor::take(uint32_t number) {
    const auto kind = static_cast<adapt::Kind>(header_of(number).kind);
    is_told_ = kind == adapt::Kind::kRelease;
    if (is_told_ && bytes_ > 0) std::memcpy(arguments_.output, value(number, 0), bytes_);
    const auto actions = meeting_.take(meeting_.call(), kind, number);
    if (!actions) return fail("a message that no member sends");
    act(*actions);
}

// The result first: neighbours are told it.
void ArrivalExecutor::act(const adapt::Actions& actions) {
    const bool is_over = !actions.empty() && actions.back().what == adapt::Action::What::kLeave;
    if (is_over && !is_told_) {
        gather({}, result_.get());
        if (bytes_ > 0) std::memcpy(arguments_.output, result_.get(), bytes_);
    }
    for (const adapt::Action& action : actions) {
        if (action.what == adapt::Action::What::kSend) send(action);
    }
}

void ArrivalExecutor::send(const adapt::Action& action) {
    Neighbour& one = neighbours_[action.neighbour];
    std::byte* values = one.out.get() + sizeof(Header);
    Header header{static_cast<uint32_t>(action.kind), 1};
    if (action.kind == adapt::Kind::kPart) {
        header.values = gather(action.neighbour, values);
    } else if (bytes_ > 0) {
        std::memcpy(values, arguments_.output, bytes_);
    }
    std::memcpy(one.out.get(), &header, sizeof header);
    one.is_sending = true;
    network_.send(one.rank, {.call = call_, .word = word_}, one.out.get(), message_bytes(),
                  one.sent);
}

// Folds what all have but one neighbour's side, in order: what stands before that side's members,
// and in a second value what stands behind them. How many values that is.
uint32_t ArrivalExecutor::gather(std::optional<uint32_t> but, std::byte* values) const {
    const bool has_parent = meeting_.place().parent.has_value();
    const bool goes_down = but && !(has_parent && *but == 0);
    const bool has_parents = has_parent && but != 0u;
    Fold before(*this, values);
    Fold behind(*this, values + bytes_);
    if (has_parents) before.add(value(0, 0));
    before.add(arguments_.input);
    for (uint32_t child = has_parent ? 1 : 0; child < neighbours_.size(); ++child) {
        if (child == but) continue;
        (goes_down && child > *but ? behind : before).add(value(child, 0));
    }
    if (has_parents && header_of(0).values == 2) (goes_down ? behind : before).add(value(0, 1));
    return behind.has_any() ? 2 : 1;
}

ArrivalExecutor::Header ArrivalExecutor::header_of(uint32_t number) const {
    Header header;
    std::memcpy(&header, neighbours_[number].in.get(), sizeof header);
    return header;
}

const std::byte* ArrivalExecutor::value(uint32_t number, uint32_t which) const {
    return neighbours_[number].in.get() + sizeof(Header) + which * bytes_;
}

void ArrivalExecutor::cancel() {
    for (Neighbour& one : neighbours_) {
        if (one.is_receiving) network_.cancel(one.received);
        one.is_receiving = false;
    }
    if (!has_failed_) fail("cancelled");
}

void ArrivalExecutor::fail(const char* text) {
    error_ = text;
    has_failed_ = true;
}

std::vector<transport::Rank> ArrivalExecutor::waits_for() const {
    std::vector<transport::Rank> ranks;
    for (const Neighbour& one : neighbours_) {
        if (one.is_receiving || one.is_sending) ranks.push_back(one.rank);
    }
    std::ranges::sort(ranks);
    return ranks;
}

}  // namespace tutti::exec
