// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/presence.h"

#include <algorithm>

namespace tutti::mpi {

namespace {

// Places in the tree. Rank 1 is the root. Rank 0, which is the master of many programs and receives
// from anybody, has the last place of all: a leaf, which nobody calls. It calls rank 1 itself,
// which is mostly on its host, and has the library where rank 0 has it.
int place_of(int rank, int size) { return (rank + size - 1) % size; }
int rank_at(int place, int size) { return (place + 1) % size; }

// A place's lowest digit that is not zero, to the base of the width, made zero.
int64_t parent_of(int64_t place) {
    int64_t unit = 1;
    while (place / unit % kPresenceWidth == 0) unit *= kPresenceWidth;
    return place - place / unit % kPresenceWidth * unit;
}

template <class Take>
void each_child(int64_t place, int size, const Take& take) {
    for (int64_t unit = 1; unit < size && place % (unit * kPresenceWidth) == 0;
         unit *= kPresenceWidth) {
        for (int64_t child = place + unit; child < place + unit * kPresenceWidth; child += unit) {
            if (child < size) take(static_cast<int>(child));
        }
    }
}

// Places of the root's children that stand in for it, one after the other: first from the middle,
// which is mostly on another host than the root.
struct Substitutes {
    std::array<int, Presence::kSubstitutes> place{};
    int count = 0;

    explicit Substitutes(int size) {
        std::array<int, kPresenceCallersMax> all{};
        int children = 0;
        each_child(0, size, [&](int child) { all[static_cast<size_t>(children++)] = child; });
        for (const int index : {(children - 1) / 2, (children - 1) / 4, children - 1}) {
            const int candidate = all[static_cast<size_t>(index)];
            const auto end = place.begin() + count;
            if (std::find(place.begin(), end, candidate) == end) {
                place[static_cast<size_t>(count++)] = candidate;
            }
        }
    }
};

}  // namespace

void PresenceWord::add(int32_t rank) {
    int place = static_cast<int>(listed().size());
    ++missing;
    if (place == kListed && ranks[kListed - 1] < rank) return;
    if (place == kListed) --place;
    for (; place > 0 && ranks[place - 1] > rank; --place) ranks[place] = ranks[place - 1];
    ranks[place] = rank;
}

void PresenceWord::add(const PresenceWord& others) {
    const int32_t sum = missing + others.missing;
    for (const int32_t rank : others.listed()) add(rank);
    missing = sum;
}

void PresenceCallers::add(int rank) {
    Caller& caller = all_[static_cast<size_t>(count_++)];
    caller = {rank, State::kSilent, 0, {}};
}

void PresenceCallers::open(PresenceMail& mail, uint64_t deadline_ns) {
    deadline_ns_ = deadline_ns;
    for (int i = 0; i < count_; ++i) {
        mail.expect(first_slot_ + 2 * i, all_[static_cast<size_t>(i)].rank);
    }
}

void PresenceCallers::take(PresenceMail& mail, int index, const PresenceWord& word,
                           uint64_t now_ns) {
    Caller& caller = all_[static_cast<size_t>(index)];
    if (word.missing != PresenceWord::kEmpty) {
        caller.report = word;
        caller.state = State::kReported;
        return;
    }
    const bool is_call = caller.state == State::kSilent || caller.state == State::kMissing;
    mail.expect(first_slot_ + 2 * index, caller.rank);
    if (is_call) mail.send(caller.rank, nullptr);
    caller.called_ns = now_ns;
    caller.state = is_call ? State::kCalled : State::kConfirmed;
}

void PresenceCallers::step(PresenceMail& mail, uint64_t now_ns, uint64_t wait_ns) {
    for (int i = 0; i < count_; ++i) {
        Caller& caller = all_[static_cast<size_t>(i)];
        if (caller.state == State::kReported) continue;
        PresenceWord word{};
        if (mail.arrived(first_slot_ + 2 * i, word)) {
            take(mail, i, word, now_ns);
        } else if (caller.state == State::kSilent && now_ns >= deadline_ns_) {
            caller.state = State::kMissing;
        } else if (caller.state == State::kCalled && now_ns >= caller.called_ns + wait_ns) {
            caller.state = State::kGone;
        }
    }
}

bool PresenceCallers::settled() const {
    return std::all_of(all_.begin(), all_.begin() + count_, [](const Caller& caller) {
        return caller.state == State::kReported || caller.state == State::kMissing ||
               caller.state == State::kGone;
    });
}

void PresenceCallers::collect(PresenceWord& word) const {
    for (const Caller& caller : std::span(all_).first(static_cast<size_t>(count_))) {
        if (caller.state == State::kReported) {
            word.add(caller.report);
        } else {
            word.add(caller.rank);
        }
    }
}

void PresenceCallers::dismiss(PresenceMail& mail, const PresenceWord& verdict) {
    for (int i = 0; i < count_; ++i) {
        const Caller& caller = all_[static_cast<size_t>(i)];
        if (caller.state == State::kSilent || caller.state == State::kMissing) continue;
        mail.send(caller.rank, &verdict);
        // A confirmation and a report may both be under way; one receive is posted.
        if (caller.state == State::kCalled || caller.state == State::kGone) {
            mail.expect(first_slot_ + 2 * i + 1, caller.rank);
        }
    }
}

void Presence::start(PresenceMail& mail, int rank, int size, uint64_t now_ns, uint64_t wait_ns) {
    rank_ = rank;
    size_ = size;
    wait_ns_ = wait_ns;
    const int place = place_of(rank, size);
    own_.begin(0);
    tops_.begin(2 * kPresenceCallersMax);
    each_child(place, size, [&](int child) { own_.add(rank_at(child, size)); });
    own_.open(mail, now_ns + wait_ns);
    leads_ = place == 0;
    if (!leads_) call(mail, rank_at(static_cast<int>(parent_of(place)), size), now_ns);
}

// Two each: an answer and a verdict may come to a rank that has given up.
int Presence::up_slot() const { return 4 * kPresenceCallersMax + 2 * (calls_ - 1); }

void Presence::call(PresenceMail& mail, int rank, uint64_t now_ns) {
    called_[static_cast<size_t>(calls_++)] = rank;
    state_ = State::kCalling;
    deadline_ns_ = now_ns + wait_ns_;
    mail.expect(up_slot(), rank);
    mail.send(rank, nullptr);
}

bool Presence::step(PresenceMail& mail, uint64_t now_ns) {
    own_.step(mail, now_ns, wait_ns_);
    if (!leads_) return step_up(mail, now_ns);
    tops_.step(mail, now_ns, wait_ns_);
    return own_.settled() && tops_.settled() && conclude(mail);
}

bool Presence::step_up(PresenceMail& mail, uint64_t now_ns) {
    const int above = called_[static_cast<size_t>(calls_ - 1)];
    PresenceWord word{};
    if (mail.arrived(up_slot(), word)) {
        if (word.missing != PresenceWord::kEmpty) {
            verdict_ = word;
            leave(mail);
            return true;
        }
        state_ = State::kAnswered;
        mail.expect(up_slot(), above);
        if (!own_.settled()) mail.send(above, nullptr);
    } else if (state_ == State::kCalling && now_ns >= deadline_ns_) {
        return give_up(mail, now_ns);
    }
    if (state_ == State::kAnswered && own_.settled()) {
        own_.collect(report_);
        mail.send(above, &report_);
        state_ = State::kReported;
    }
    return false;
}

// All of the root's children but this one, and those that gave no sign as its substitutes.
void Presence::list_tops() {
    const auto known = std::span(called_).first(static_cast<size_t>(calls_));
    each_child(0, size_, [&](int place) {
        const int rank = rank_at(place, size_);
        if (rank != rank_ && std::find(known.begin(), known.end(), rank) == known.end()) {
            tops_.add(rank);
        }
    });
}

bool Presence::give_up(PresenceMail& mail, uint64_t now_ns) {
    mail.expect(up_slot() + 1, called_[static_cast<size_t>(calls_ - 1)]);
    if (parent_of(place_of(rank_, size_)) != 0) {
        // The parent is missing, and its own parent says so.
        verdict_.missing = 1;
        verdict_.ranks[0] = called_[0];
        leave(mail);
        return true;
    }
    const Substitutes substitutes(size_);
    const int next = calls_ - 1;
    if (next == substitutes.count) {
        for (const int rank : std::span(called_).first(static_cast<size_t>(calls_))) {
            verdict_.add(rank);
        }
        speaks_ = true;
        leave(mail);
        return true;
    }
    const int rank = rank_at(substitutes.place[static_cast<size_t>(next)], size_);
    if (rank != rank_) {
        call(mail, rank, now_ns);
        return false;
    }
    leads_ = true;
    list_tops();
    tops_.open(mail, now_ns + wait_ns_);
    return false;
}

bool Presence::conclude(PresenceMail& mail) {
    own_.collect(verdict_);
    tops_.collect(verdict_);
    for (const int rank : std::span(called_).first(static_cast<size_t>(calls_))) {
        verdict_.add(rank);
    }
    speaks_ = !all_there();
    leave(mail);
    return true;
}

void Presence::leave(PresenceMail& mail) {
    own_.dismiss(mail, verdict_);
    if (leads_) {
        tops_.dismiss(mail, verdict_);
        return;
    }
    if (all_there()) return;
    // Others may yet turn to this rank in the root's place.
    const Substitutes substitutes(size_);
    const auto end = substitutes.place.begin() + substitutes.count;
    if (std::find(substitutes.place.begin(), end, place_of(rank_, size_)) == end) return;
    list_tops();
    tops_.open(mail, 0);
}

}  // namespace tutti::mpi
