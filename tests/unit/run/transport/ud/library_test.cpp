// SPDX-License-Identifier: BSD-3-Clause
// Over two real ports, as TUTTI_TEST_VERBS="rxe1 rxe2" names them; soft-RoCE in a virtual machine
// will do.
#include "run/transport/verbs/library.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "run/transport/ud/ud_datagrams.h"

namespace tutti::transport::ud {
namespace {

constexpr int kFarTooLongMs = 30'000;

class LibraryUd : public testing::Test {
  protected:
    void SetUp() override {
        const char* ports = std::getenv("TUTTI_TEST_VERBS");
        if (!ports) GTEST_SKIP() << "two RDMA ports: TUTTI_TEST_VERBS";
        std::istringstream names(ports);
        for (int i = 0; i < 2; ++i) {
            VerbsSettings settings;
            names >> settings.device;
            auto device = verbs::open_library(settings);
            ASSERT_TRUE(device) << device.error().message;
            auto opened = open_datagrams(std::move(device.value()));
            ASSERT_TRUE(opened) << opened.error().message;
            hosts_.push_back(std::move(opened.value()));
            members_.push_back(hosts_.back()->address());
        }
        ways_.resize(2);
        for (mcast::Member host = 0; host < 2; ++host) join(host);
    }
    void join(mcast::Member host) {
        auto way = hosts_[host]->join({make_group_address(7), members_, host});
        ASSERT_TRUE(way) << way.error().message;
        ways_[host] = std::move(way.value());
    }
    void send(mcast::Member from, mcast::Member to, size_t bytes, std::byte value,
              bool is_urgent = false) {
        const auto space = hosts_[from]->space();
        ASSERT_GE(space.size(), bytes);
        std::fill_n(space.begin(), bytes, value);
        hosts_[from]->add(*ways_[from], to, bytes, is_urgent);
        hosts_[from]->flush();
    }
    // Asleep until something comes.
    std::vector<std::byte> take(mcast::Member host) {
        for (;;) {
            const auto batch = hosts_[host]->receive(0);
            if (!batch.packets.empty()) {
                return {batch.packets[0].bytes.begin(), batch.packets[0].bytes.end()};
            }
            if (!hosts_[host]->arm(carrier::Wake::kAll, false)) continue;
            pollfd fd{hosts_[host]->wait_fds()[0].fd, POLLIN, 0};
            if (::poll(&fd, 1, kFarTooLongMs) != 1) return {};
        }
    }

    std::vector<std::unique_ptr<carrier::Datagrams>> hosts_;
    std::vector<carrier::Address> members_;
    std::vector<std::unique_ptr<carrier::Way>> ways_;
};

TEST_F(LibraryUd, ToAllAndToOneAndOwnPacketsAreLeftOut) {
    const size_t most = hosts_[0]->choose_path(members_, 0).value().packet_bytes_max;
    for (uint32_t i = 0; i < 600; ++i) {
        const auto from = static_cast<mcast::Member>(i % 2);
        const auto to = static_cast<mcast::Member>(1 - from);
        const size_t bytes = i % 3 == 0 ? most : 60 + i % 100;
        send(from, i % 4 < 2 ? mcast::kEverybody : to, bytes, static_cast<std::byte>(i));
        ASSERT_EQ(take(to), std::vector(bytes, static_cast<std::byte>(i))) << i;
    }
    for (mcast::Member host = 0; host < 2; ++host) {
        EXPECT_TRUE(hosts_[host]->receive(0).packets.empty());
        EXPECT_EQ(hosts_[host]->counters().own, 150u);
        EXPECT_EQ(hosts_[host]->counters().refused, 0u);
    }
}

TEST_F(LibraryUd, WhoHasLeftGetsNothingAndMayComeBack) {
    for (uint32_t i = 0; i < 20; ++i) {
        hosts_[1]->forget(*ways_[1]);
        hosts_[1]->leave(std::move(ways_[1]));
        send(0, mcast::kEverybody, 100, std::byte{1});
        join(1);
        send(0, mcast::kEverybody, 100, std::byte{2});
        ASSERT_EQ(take(1), std::vector(100, std::byte{2}));
    }
}

// By the port's own word: none for the others, be they taken or not.
TEST_F(LibraryUd, WhoSleepsForUrgentPacketsIsWokenByThem) {
    const auto is_woken = [&](int ms_max) {
        pollfd fd{hosts_[1]->wait_fds()[0].fd, POLLIN, 0};
        return ::poll(&fd, 1, ms_max) == 1;
    };
    for (uint32_t i = 0; i < 100; ++i) {
        const mcast::Member to = i % 2 == 0 ? mcast::kEverybody : mcast::Member{1};
        ASSERT_TRUE(hosts_[1]->arm(carrier::Wake::kUrgent, false));
        send(0, to, 100, std::byte{1});
        size_t got = 0;
        while (got == 0) got = hosts_[1]->receive(0).packets.size();
        EXPECT_FALSE(is_woken(0)) << i;
        send(0, to, 100, std::byte{2}, true);
        EXPECT_TRUE(is_woken(kFarTooLongMs)) << i;
        ASSERT_EQ(take(1), std::vector(100, std::byte{2}));
        // For all, behind a request for urgent ones that has told nothing.
        ASSERT_TRUE(hosts_[1]->arm(carrier::Wake::kUrgent, false));
        ASSERT_TRUE(hosts_[1]->arm(carrier::Wake::kAll, false));
        send(0, to, 100, std::byte{3});
        EXPECT_TRUE(is_woken(kFarTooLongMs)) << i;
        ASSERT_EQ(take(1), std::vector(100, std::byte{3}));
    }
}

}  // namespace
}  // namespace tutti::transport::ud
