// SPDX-License-Identifier: BSD-3-Clause
// Several teams of the same two processes under seeds: whatever one of them does or leaves undone,
// the others' messages come.
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "base/prng.h"
#include "sim/seeds.h"
#include "unit/run/transport/verbs/teams.h"

namespace tutti::transport::verbs {
namespace {

constexpr uint32_t kTeams = 8;

test::FakeRules rules_of(uint64_t seed, Prng& prng) {
    return {.seed = seed,
            .delay_ns_max = 1 + prng.below(50'000),
            .mtu_bytes = 1024u << seed / 4 % 3,
            .ends_last = ends_last(seed)};
}

// Two processes, which are awake all the time, and what their teams send each other.
class Mail {
  public:
    explicit Mail(uint64_t seed, const std::array<bool, 2>& polls_tails)
        : prng(seed), teams(rules_of(seed, prng), direct_bytes_of(seed), polls_tails) {}
    virtual ~Mail() = default;

    // So many messages, in the teams that pick() names. Meanwhile those are received that wants()
    // says, some before they are sent; of a stream, in its order.
    template <class Pick, class Wants>
    void exchange(int count, Pick pick, Wants wants) {
        for (int i = 0; i < count; ++i) {
            const Post post{pick(), &write_any(letters_, prng)};
            posts_.push_back(post);
            const bool is_early = prng.below(4) == 0;
            if (is_early) receive(wants);
            send_in(teams, post);
            wake(post.letter->from);
            if (!is_early && prng.below(2) == 0) receive(wants);
            turn_some(30);
        }
        receive(wants);
    }
    // All are received, and come, that wants() says.
    template <class Wants>
    void complete(Wants wants) {
        receive(wants);
        ASSERT_TRUE(comes_true([&] {
            return std::ranges::all_of(
                posts_, [&](const Post& post) { return !wants(post) || is_over(*post.letter); });
        })) << teams.ends[0]->error()
            << teams.ends[1]->error();
        for (const Post& post : posts_) {
            if (!wants(post)) continue;
            ASSERT_EQ(post.letter->got, post.letter->sent);
        }
    }
    // Both ends leave these teams, and what nobody has asked for there.
    void part(const std::vector<uint32_t>& numbers) {
        for (const uint32_t number : numbers) {
            for (const uint32_t at : any_order()) {
                call_off(at, number);
                teams.team(at, number)->close();
                wake(at);
                turn_some(20);
            }
        }
        // Without a look: that would be one more than sleepers have.
        ASSERT_TRUE(comes_true([&] {
            return std::ranges::all_of(numbers, [&](uint32_t number) {
                return teams.team(0, number)->team().has_parted() &&
                       teams.team(1, number)->team().has_parted();
            });
        })) << "a bye is missing";
        for (const uint32_t number : numbers) remove(number);
    }
    // Both ends find that this team has failed, one after the other, in the middle of messages.
    void fail(uint32_t number) {
        const auto order = any_order();
        for (const uint32_t at : order) {
            call_off(at, number);
            teams.team(at, number)->give_up();
            wake(at);
            turn_some(40);
            if (!is_read_from(at, number) && prng.below(2) == 0) teams.others[at][number].reset();
            if (at == order[0]) go_on(1 - at, number);
        }
        ASSERT_TRUE(comes_true([&] {
            return !is_read_from(0, number) && !is_read_from(1, number);
        })) << "memory is read from for good";
        remove(number);
    }
    // Until the next round.
    void forget() {
        posts_.clear();
        letters_.clear();
    }

    Prng prng;
    Teams teams;

  protected:
    // Whoever does something is awake.
    virtual void wake(uint32_t /*at*/) {}
    virtual void turn() {
        if (prng.below(3) == 0) return teams.verbs.pump();
        teams.turn_all();
    }
    virtual bool comes_true(const std::function<bool()>& condition) {
        return teams.run_all_until(condition);
    }

  private:
    std::array<uint32_t, 2> any_order() {
        const auto first = static_cast<uint32_t>(prng.below(2));
        return {first, 1 - first};
    }
    void turn_some(uint64_t turns_max) {
        for (uint64_t turns = prng.below(turns_max); turns > 0; --turns) turn();
    }
    template <class Wants>
    void receive(Wants wants) {
        for (const Post& post : posts_) {
            if (post.letter->is_received || !wants(post)) continue;
            recv_in(teams, post);
            wake(1 - post.letter->from);
        }
    }
    // Who has not noticed yet.
    void go_on(uint32_t at, uint32_t number) {
        for (int i = 0; i < 5; ++i) {
            const Post post{number, &write_any(letters_, prng)};
            posts_.push_back(post);
            post.letter->from == at ? send_in(teams, post) : recv_in(teams, post);
            wake(at);
            turn_some(20);
        }
    }
    bool is_read_from(uint32_t at, uint32_t number) {
        const Rc* team = teams.team(at, number);
        return team && team->is_read_from();
    }
    // While this end waits for what it has offered memory for, the other goes on.
    void call_off(uint32_t at, uint32_t number) {
        teams.clock.on_look = [this, at] {
            teams.verbs.pump();
            teams.poll_at(1 - at);
            wake(1 - at);
        };
        wake(at);
        for (const Post& post : posts_) {
            if (post.team != number) continue;
            Letter& letter = *post.letter;
            if (letter.from == at) teams.team(at, number)->cancel(letter.send);
            if (letter.from != at && letter.is_received) {
                teams.team(at, number)->cancel(letter.recv);
            }
        }
        teams.clock.on_look = nullptr;
    }
    void remove(uint32_t number) {
        for (auto& one : teams.others) one[number].reset();
        std::erase_if(posts_, [number](const Post& post) { return post.team == number; });
    }

    std::deque<Letter> letters_;
    std::vector<Post> posts_;
};

// Each sleeps whenever it may, and is turned only when it is told; then by whichever of its teams.
// At the very end alone (end_all()) all look at once.
class Sleepers final : public Mail {
  public:
    explicit Sleepers(uint64_t seed) : Mail(seed, {}) {}

  private:
    void wake(uint32_t at) override { sleeps_[at] = false; }
    void turn() override {
        teams.verbs.pump();
        if (prng.below(150) == 0) rest();
        for (const uint32_t at : {0u, 1u}) {
            if (sleeps_[at] && !is_told(at)) continue;
            sleeps_[at] = false;
            if (prng.below(3) == 0) continue;  // it is kept from the processor
            Rc& team = any_team(at);
            team.poll();
            sleeps_[at] = prng.below(2) == 0 && team.arm();
        }
    }
    bool comes_true(const std::function<bool()>& condition) override {
        rest();
        return condition();
    }
    // Until both sleep for good.
    void rest() {
        do {
            if (!teams.verbs.is_idle()) teams.verbs.pump();
            for (const uint32_t at : {0u, 1u}) {
                if (sleeps_[at] && !is_told(at)) continue;
                Rc& team = any_team(at);
                do team.poll();
                while (!team.arm());
                sleeps_[at] = true;
            }
        } while (!teams.verbs.is_idle() || is_told(0) || is_told(1));
    }
    [[nodiscard]] bool is_told(uint32_t at) const {
        pollfd fd{teams.ends[at]->wait_fd(), POLLIN, 0};
        return ::poll(&fd, 1, 0) > 0;
    }
    Rc& any_team(uint32_t at) {
        const size_t number = prng.below(teams.others[at].size());
        Rc* team = teams.team(at, static_cast<uint32_t>(number));
        return team ? *team : *teams.ends[at];
    }

    std::array<bool, 2> sleeps_{};
};

bool is_any(const Post&) { return true; }

// What is asked for comes though nothing else is; then some teams are freed with what they have
// left behind, and made again, and what the others were sent before is there.
void come_and_go(Mail& mail) {
    for (uint32_t number = 1; number < kTeams; ++number) ASSERT_EQ(mail.teams.join(), number);
    for (int round = 0; round < 4; ++round) {
        const uint64_t wanted = mail.prng.below(1u << kTeams);
        const auto is_wanted = [wanted](const Post& post) {
            return (wanted >> post.team & 1) != 0;
        };
        mail.exchange(
            80, [&] { return static_cast<uint32_t>(mail.prng.below(kTeams)); }, is_wanted);
        ASSERT_NO_FATAL_FAILURE(mail.complete(is_wanted)) << "teams keep each other waiting";
        std::vector<uint32_t> gone;
        for (uint32_t number = 1; number < kTeams; ++number) {
            if (mail.prng.below(3) == 0) gone.push_back(number);
        }
        ASSERT_NO_FATAL_FAILURE(mail.part(gone));
        for (const uint32_t number : gone) ASSERT_EQ(mail.teams.join(), number);
        ASSERT_NO_FATAL_FAILURE(mail.complete(is_any));
        mail.forget();
    }
    end_all(mail.teams, kTeams);
}

// In each round a team fails. The first one, and one that comes and goes, never hear of it, nor
// does one that is there as soon as the failed one has gone.
void fail_and_go_on(Mail& mail) {
    for (int round = 0; round < 4; ++round) {
        const uint32_t failing = mail.teams.join();
        const uint32_t sound = mail.teams.join();
        const std::array<uint32_t, 5> teams{0, 0, sound, failing, failing};
        uint64_t asked = 0;  // streams, by bits
        const auto pick = [&] {
            asked = mail.prng.next();
            return teams[mail.prng.below(teams.size())];
        };
        mail.exchange(80, pick, [&](const Post& post) {
            return (asked >> (post.letter->from * 32 + post.letter->id.slot) & 1) != 0;
        });
        const auto is_in = [](uint32_t team) {
            return [team](const Post& post) { return post.team == team; };
        };
        mail.exchange(
            10, [failing] { return failing; }, is_in(failing));
        ASSERT_NO_FATAL_FAILURE(mail.fail(failing));
        const uint32_t later = mail.teams.join();
        mail.exchange(
            10, [later] { return later; }, is_in(later));
        ASSERT_NO_FATAL_FAILURE(mail.complete(is_any));
        for (const uint32_t at : {0u, 1u}) {
            for (const uint32_t number : {0u, sound, later}) {
                EXPECT_EQ(mail.teams.team(at, number)->error(), "");
            }
        }
        ASSERT_NO_FATAL_FAILURE(mail.part({sound, later}));
        mail.forget();
    }
    end_all(mail.teams, 1);
}

void run_awake(void (*scenario)(Mail&)) {
    test::for_each_seed(40, [scenario](uint64_t seed) {
        Mail mail(seed, tails_of(seed));
        scenario(mail);
    });
}

void run_asleep(void (*scenario)(Mail&)) {
    test::for_each_seed(40, [scenario](uint64_t seed) {
        Sleepers mail(seed);
        scenario(mail);
    });
}

TEST(LinksFuzz, TeamsComeAndGo) { run_awake(come_and_go); }
TEST(LinksFuzz, NobodyIsLeftAsleep) { run_asleep(come_and_go); }
TEST(LinksFuzz, ATeamThatFailsHurtsNoOther) { run_awake(fail_and_go_on); }
TEST(LinksFuzz, ATeamThatFailsLeavesNobodyAsleep) { run_asleep(fail_and_go_on); }

}  // namespace
}  // namespace tutti::transport::verbs
