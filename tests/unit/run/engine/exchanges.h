// SPDX-License-Identifier: BSD-3-Clause
// Calls of a team as data (sim/script.h), run as requests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "sim/script.h"
#include "tutti/tutti.h"

namespace tutti::test {

using Exchanges = std::vector<std::unique_ptr<Exchange>>;

// One after the other, each looked at. hint: how to run this again.
inline void run_all(const Exchanges& exchanges, uint32_t rank, tutti_team* team,
                    const std::string& hint) {
    for (const auto& exchange : exchanges) {
        const tutti_call call = exchange->call(rank);
        ASSERT_EQ(tutti_run(team, &call), TUTTI_OK)
            << describe(exchange->spec()) << hint << tutti_team_message(team);
        ASSERT_EQ(exchange->check(rank), "") << describe(exchange->spec()) << hint;
    }
}

// Waits for the requests of one turn and looks at this rank's results; then rank 0 makes the
// exchanges ready for the next turn, while all others wait.
inline void complete_turn(tutti_team* team, uint32_t rank, std::vector<tutti_request>& requests,
                          const Exchanges& exchanges, int turn) {
    const tutti_call barrier{};
    for (size_t i = 0; i < exchanges.size(); ++i) {
        ASSERT_EQ(tutti_request_wait(&requests[i]), TUTTI_OK);
        ASSERT_EQ(exchanges[i]->check(rank), "") << "turn " << turn;
    }
    ASSERT_EQ(tutti_run(team, &barrier), TUTTI_OK);
    if (rank == 0) {
        for (const auto& exchange : exchanges) exchange->reset();
    }
    ASSERT_EQ(tutti_run(team, &barrier), TUTTI_OK);
}

}  // namespace tutti::test
