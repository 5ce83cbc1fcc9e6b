// SPDX-License-Identifier: BSD-3-Clause
#include "run/multicast/process_multicast.h"

#include <gtest/gtest.h>

namespace tutti::test {
namespace {

constexpr size_t kUdp = multicast_network_number("udp");

TEST(ProcessMulticast, RemembersWhoDidNotHearWhom) {
    multicast::ProcessMulticast process({});
    EXPECT_FALSE(process.known_failure(kUdp, {1, 2, 3}));
    process.remember_failure(kUdp, {3, 1}, "1 does not hear 3");
    EXPECT_EQ(process.known_failure(kUdp, {3, 2, 1}), "1 does not hear 3");
    EXPECT_EQ(process.known_failure(kUdp, {1, 3}), "1 does not hear 3");
    EXPECT_FALSE(process.known_failure(kUdp, {1, 2}));
    EXPECT_FALSE(process.known_failure(kUdp, {3}));
    // After so many, nothing is tried.
    for (uint64_t host = 4; host < 7; ++host) process.remember_failure(kUdp, {host}, "again");
    EXPECT_EQ(process.known_failure(kUdp, {1, 2}), "again");
    EXPECT_FALSE(process.known_failure(multicast_network_number("verbs"), {1, 3}));
    // What was in vain again is not another one, and those who hear each other after all are none.
    process.forget_failures(kUdp, {5, 4});
    EXPECT_FALSE(process.known_failure(kUdp, {1, 2}));
    for (int i = 0; i < 4; ++i) process.remember_failure(kUdp, {1, 3}, "again");
    EXPECT_FALSE(process.known_failure(kUdp, {1, 2}));
    EXPECT_EQ(process.known_failure(kUdp, {1, 3}), "1 does not hear 3");
    process.forget_failures(kUdp, {1, 2, 3});
    EXPECT_FALSE(process.known_failure(kUdp, {1, 3}));
    EXPECT_TRUE(process.is_new("why"));
    EXPECT_FALSE(process.is_new("why"));
}

TEST(ProcessMulticast, OneTeamSpeaksForAll) {
    multicast::ProcessMulticast process({});
    for (int stop = 0; stop < 2; ++stop) {
        EXPECT_TRUE(process.falls_silent("h1"));
        EXPECT_FALSE(process.falls_silent("h1"));
        EXPECT_TRUE(process.falls_silent("h2"));
        EXPECT_TRUE(process.answers_again("h1"));
        EXPECT_FALSE(process.answers_again("h1"));
        EXPECT_TRUE(process.answers_again("h2"));
    }
}

struct Counted : multicast::RecoveryClient {
    void attend() override { ++attended; }
    void watch_for_others(bool is_wanted) override {
        ++changes;
        is_watched = is_wanted;
    }
    int attended = 0;
    int changes = 0;
    bool is_watched = false;
};

TEST(ProcessMulticast, LongWaitsAttendToAllTeamsThatAreThere) {
    multicast::ProcessMulticast process({});
    Counted first;
    Counted second;
    process.attend_all();
    process.enroll(first);
    process.enroll(second);
    process.attend_all();
    process.watch_all_for_others(true);
    process.withdraw(first);
    process.withdraw(first);  // it may have gone earlier
    process.attend_all();
    process.watch_all_for_others(false);
    EXPECT_EQ(first.attended, 1);
    EXPECT_EQ(second.attended, 2);
    EXPECT_TRUE(first.is_watched);
    EXPECT_FALSE(second.is_watched);
    EXPECT_EQ(first.changes, 1);
    EXPECT_EQ(second.changes, 2);
}

}  // namespace
}  // namespace tutti::test
