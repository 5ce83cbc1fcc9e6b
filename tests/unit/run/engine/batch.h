// SPDX-License-Identifier: BSD-3-Clause
// Several calls under way at once, by seed: what one rank does with the calls of a batch. Every
// team's are started in their order, the teams mixed as this rank likes, some tested meanwhile, and
// waited for in any order. Of the first team some are blocking calls, the same on all ranks, and of
// these some get their buffers once they are chosen.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "unit/run/engine/exchanges.h"

namespace tutti::test {

using Teams = std::vector<tutti_team*>;

class Batch {
  public:
    Batch(Teams teams, const Exchanges& exchanges, uint32_t rank, uint64_t seed)
        : teams_(std::move(teams)),
          exchanges_(exchanges),
          rank_(rank),
          seed_(seed),
          prng_(seed * 100 + rank) {}

    void run() {
        const size_t calls = exchanges_.size();
        requests_.resize(calls);
        for (size_t i = 0; i < calls; ++i) {
            const tutti_call call = exchanges_[i]->call(rank_);
            ASSERT_EQ(tutti_request_init(&requests_[i], team_of(i), &call), TUTTI_OK);
        }
        std::vector<size_t> next;  // call of each team
        for (size_t team = 0; team < teams_.size(); ++team) next.push_back(team);
        while (!next.empty()) {
            const size_t which = prng_.below(next.size());
            is_blocking(next[which]) ? run_blocking(next[which]) : start(next[which]);
            next[which] += teams_.size();
            if (next[which] >= calls) next.erase(next.begin() + static_cast<long>(which));
        }
        finish();
    }

  private:
    tutti_team* team_of(size_t call) { return teams_[call % teams_.size()]; }
    // As all ranks have it.
    uint64_t drawn(size_t call) const { return Prng(seed_ * 1000 + call).below(8); }
    bool is_blocking(size_t call) const { return call % teams_.size() == 0 && drawn(call) < 2; }
    void run_blocking(size_t number) {
        tutti_call call = exchanges_[number]->call(rank_);
        call.buffers_later = drawn(number) == 0 ? 1 : 0;
        tutti_status status = tutti_run(team_of(number), &call);
        EXPECT_EQ(status == TUTTI_CHOSEN,
                  call.buffers_later != 0 && may_move(exchanges_[number]->spec()));
        if (status == TUTTI_CHOSEN) {
            status = tutti_resume(team_of(number), call.send, call.recv);
        }
        ASSERT_EQ(status, TUTTI_OK) << tutti_team_message(team_of(number));
        ASSERT_EQ(exchanges_[number]->check(rank_), "") << describe(exchanges_[number]->spec());
    }
    void start(size_t call) {
        ASSERT_EQ(tutti_request_start(&requests_[call]), TUTTI_OK);
        started_.push_back(call);
        if (prng_.below(3) != 0) return;
        tutti_request* some = &requests_[started_[prng_.below(started_.size())]];
        const tutti_status status = tutti_request_test(some);
        ASSERT_TRUE(status == TUTTI_OK || status == TUTTI_PENDING);
    }
    void finish() {
        while (!started_.empty()) {
            const size_t which = prng_.below(started_.size());
            const size_t call = started_[which];
            started_.erase(started_.begin() + static_cast<long>(which));
            ASSERT_EQ(tutti_request_wait(&requests_[call]), TUTTI_OK)
                << tutti_team_message(team_of(call));
            ASSERT_EQ(exchanges_[call]->check(rank_), "") << describe(exchanges_[call]->spec());
        }
    }

    const Teams teams_;
    const Exchanges& exchanges_;
    uint32_t rank_;
    uint64_t seed_;
    Prng prng_;
    std::vector<tutti_request> requests_;
    std::vector<size_t> started_;
};

}  // namespace tutti::test
