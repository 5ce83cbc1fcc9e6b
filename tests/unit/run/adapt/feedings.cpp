// SPDX-License-Identifier: BSD-3-Clause
#include "unit/run/adapt/feedings.h"

namespace tutti::adapt::test {
namespace {

std::string at(uint32_t who, uint64_t call) {
    return "participant " + std::to_string(who) + ", call " + std::to_string(call) + ": ";
}

}  // namespace

Feedings::Feedings(const FeedWorld& setup) : setup_(setup), ones_(setup.participants) {}

bool Feedings::can_arrive(uint32_t who) const {
    return !ones_[who].is_in && ones_[who].call < setup_.calls;
}

bool Feedings::can_go_on(uint32_t who) const {
    const One& one = ones_[who];
    return one.is_in && is_root(who) && one.flow.is_over() &&
           (!one.feeder.has_all() || one.feeder.is_open());
}

bool Feedings::can_take(const FeedMail& mail) const {
    const One& one = ones_[mail.to];
    if (!one.is_in || one.call != mail.call) return false;
    switch (mail.kind) {
        case FeedMail::Kind::kThere:
            return true;
        case FeedMail::Kind::kWord:
            return mail.number == one.words[0];
        case FeedMail::Kind::kPiece:
            return one.source == mail.from && one.flow.awaits() && one.flow.come() == mail.number;
    }
    return false;
}

std::string Feedings::arrive(uint32_t who) {
    One& one = ones_[who];
    one.is_in = true;
    one.flow.restart(setup_.pieces, !is_root(who));
    one.whom.clear();
    one.has_last = false;
    one.source = setup_.participants;  // nobody
    if (!is_root(who)) {
        one.words.assign(1, 0);
        return post({one.call, who, root(one.call), FeedMail::Kind::kThere, 0, 0, false, {}});
    }
    const uint32_t members = setup_.participants - 1;
    one.feeder.restart(members, setup_.fan_in);
    one.words.assign(members, 0);
    one.history.clear();
    if (setup_.fault == FeedFault::kTellsTheAbsent) {
        for (uint32_t member = 0; member < members; ++member) one.feeder.hear(member);
    }
    return act(who);
}

std::string Feedings::go_on(uint32_t who) {
    One& one = ones_[who];
    one.whom.clear();
    one.flow.restart(setup_.pieces, false);
    one.feeder.go_on();
    // Twice in a row is once.
    if (!one.history.ends_with('+')) one.history += '+';
    return act(who);
}

std::string Feedings::take(const FeedMail& mail) {
    One& one = ones_[mail.to];
    if (mail.kind == FeedMail::Kind::kThere) {
        const uint32_t member =
            (mail.from + setup_.participants - mail.to - 1) % setup_.participants;
        one.history += static_cast<char>('a' + member);
        const bool is_new = one.feeder.hear(member);
        if (!is_new && setup_.fault != FeedFault::kTellsTheAbsent) {
            return at(mail.to, mail.call) + "an unexpected message";
        }
    } else if (mail.kind == FeedMail::Kind::kWord) {
        const std::string wrong = hear(mail.to, mail);
        if (!wrong.empty()) return wrong;
    } else {
        one.flow.came();
        if (!setup_.is_eager) {
            One& sender = ones_[mail.from];
            uint32_t fed = 0;
            while (sender.whom[fed] != mail.to) ++fed;
            sender.flow.left(fed);
            const std::string wrong = act(mail.from);
            if (!wrong.empty()) return wrong;
        }
    }
    return act(mail.to);
}

std::string Feedings::hear(uint32_t who, const FeedMail& mail) {
    One& one = ones_[who];
    ++one.words[0];
    if (one.has_last) return at(who, one.call) + "a word behind the last";
    if (mail.number > 0 && one.source != mail.source) return at(who, one.call) + "two sources";
    one.source = mail.source;
    one.has_last = mail.is_last;
    one.whom.insert(one.whom.end(), mail.whom.begin(), mail.whom.end());
    const bool keeps = setup_.fault == FeedFault::kKeepsAChild && !mail.whom.empty();
    if (keeps) one.whom.pop_back();
    if (one.whom.size() > setup_.fan_in) return at(who, one.call) + "feeds too many";
    one.flow.add(static_cast<uint32_t>(mail.whom.size()) - (keeps ? 1 : 0));
    return {};
}

// All that may be done without anything else.
std::string Feedings::act(uint32_t who) {
    One& one = ones_[who];
    const bool is_root_now = is_root(who);
    if (is_root_now) {
        const std::string wrong = speak(who);
        if (!wrong.empty()) return wrong;
    } else if (one.words[0] == 0) {
        return {};
    }
    while (const auto next = one.flow.next()) {
        if (!next->fed) continue;
        const bool is_here = next->piece < one.flow.come();
        if (!is_here) return at(who, one.call) + "sends what it has not";
        std::string wrong = post({one.call,
                                  who,
                                  one.whom[*next->fed],
                                  FeedMail::Kind::kPiece,
                                  next->piece,
                                  0,
                                  false,
                                  {}});
        if (!wrong.empty()) return wrong;
        if (setup_.is_eager) one.flow.left(*next->fed);
    }
    if (setup_.fault == FeedFault::kFeedsEarly && !is_root_now && !one.whom.empty() &&
        one.flow.come() == 0) {
        return at(who, one.call) + "sends what it has not";
    }
    bool is_done = one.has_last && one.flow.is_over();
    if (setup_.fault == FeedFault::kLeavesEarly && !is_root_now) is_done = one.flow.has_all();
    if (is_root_now) {
        is_done = one.feeder.has_all() && one.flow.is_over();
        for (uint32_t member = 0; member + 1 < setup_.participants; ++member) {
            is_done = is_done && one.feeder.is_done(member);
        }
    }
    if (is_done) {
        one.is_in = false;
        ++one.call;
    }
    return {};
}

// The root's words, and what it is to feed itself.
std::string Feedings::speak(uint32_t who) {
    One& one = ones_[who];
    for (uint32_t member = 0; member + 1 < setup_.participants; ++member) {
        const auto word = one.feeder.word(member);
        if (!word) continue;
        if (setup_.fault == FeedFault::kForgetsOne && member + 2 == setup_.participants) continue;
        FeedMail mail{one.call,
                      who,
                      of_member(who, member),
                      FeedMail::Kind::kWord,
                      one.words[member]++,
                      word->source ? of_member(who, *word->source) : who,
                      word->is_last && setup_.fault != FeedFault::kNeverEnds,
                      {}};
        for (uint32_t i = 0; i < word->fed; ++i) mail.whom.push_back(of_member(who, word->whom[i]));
        const std::string wrong = post(std::move(mail));
        if (!wrong.empty()) return wrong;
    }
    const Feeder::Word own = one.feeder.root_word();
    for (uint32_t i = 0; i < own.fed; ++i) one.whom.push_back(of_member(who, own.whom[i]));
    one.flow.add(own.fed);
    if (one.whom.size() > setup_.fan_in) return at(who, one.call) + "feeds too many";
    return {};
}

std::string Feedings::post(FeedMail mail) {
    const One& to = ones_[mail.to];
    const bool is_there = to.call > mail.call || (to.call == mail.call && to.is_in);
    if (mail.kind != FeedMail::Kind::kThere && !is_there) {
        return at(mail.from, mail.call) + "a message to one who is not there";
    }
    ++messages;
    sent_.push_back(std::move(mail));
    return {};
}

std::string Feedings::held_up() const {
    for (uint32_t who = 0; who < setup_.participants; ++who) {
        const One& one = ones_[who];
        if (!one.is_in || is_root(who)) continue;
        const One& feeds = ones_[root(one.call)];
        const bool has_come = feeds.call > one.call || (feeds.call == one.call && feeds.is_in);
        if (has_come) return at(who, one.call) + "waits for one who is not there";
    }
    return {};
}

std::string Feedings::end() const {
    for (uint32_t who = 0; who < setup_.participants; ++who) {
        if (ones_[who].call < setup_.calls) return at(who, ones_[who].call) + "is never done";
    }
    return {};
}

std::string Feedings::state() const {
    std::string state;
    const auto put = [&](uint64_t value) { state += static_cast<char>(value + 1); };
    for (uint32_t who = 0; who < setup_.participants; ++who) {
        const One& one = ones_[who];
        put(one.call);
        put(one.is_in ? 1 : 0);
        if (!one.is_in) continue;
        put(one.source);
        put(one.has_last ? 1 : 0);
        put(one.flow.come());
        for (const uint64_t words : one.words) put(words);
        for (uint32_t i = 0; i < one.whom.size(); ++i) {
            put(one.whom[i]);
            put(one.flow.left_for(i));
        }
        if (is_root(who)) state += one.history + '.';
    }
    return state;
}

}  // namespace tutti::adapt::test
