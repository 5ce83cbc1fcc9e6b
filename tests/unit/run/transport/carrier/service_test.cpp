// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/carrier/service.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>

#include "base/fd.h"
#include "unit/run/transport/carrier/cluster.h"

namespace tutti::transport::carrier {
namespace {

// Two sockets, as far as the thread knows, and turns that take what came.
class ServiceTest : public testing::Test, private Service::Work {
  protected:
    void SetUp() override {
        const WaitFd all[] = {{group_.get(), false}, {own_.get(), true}};
        ASSERT_TRUE(service_.start(*this, lock_, all));
    }
    void TearDown() override { service_.stop(); }

    void come() {
        const uint64_t one = 1;
        ASSERT_EQ(write(group_.get(), &one, sizeof(one)), ssize_t{sizeof(one)});
    }
    [[nodiscard]] bool takes_turns() const { return service_.takes_turns(); }
    [[nodiscard]] uint64_t taken() const { return taken_.load(); }
    void begin_attendance() {
        const std::lock_guard guard(lock_);
        service_.begin_attendance();
    }
    // The rank's own turn.
    void end_attendance() {
        const std::lock_guard guard(lock_);
        service_.end_attendance(turn());
    }

  private:
    Service::Turn turn() override {
        uint64_t count = 0;
        if (read(group_.get(), &count, sizeof(count)) > 0) taken_.fetch_add(count);
        return {};
    }

    Fd group_{eventfd(0, EFD_NONBLOCK)};
    Fd own_{eventfd(0, EFD_NONBLOCK)};
    std::mutex lock_;
    std::atomic<uint64_t> taken_{0};
    Service service_;
};

TEST_F(ServiceTest, TakesWhatComes) {
    for (uint64_t i = 1; i <= 20; ++i) {
        come();
        EXPECT_TRUE(eventually([&] { return taken() == i; }));
    }
}

// A rank that has begun to attend and gets no processor: others must not take its host for dead.
TEST_F(ServiceTest, DoesWhatARankThatAttendsIsKeptFrom) {
    begin_attendance();
    for (uint64_t i = 1; i <= 20; ++i) {
        come();
        EXPECT_TRUE(eventually([&] { return taken() == i; })) << "number " << i << " waits";
        if (HasFailure()) break;
    }
    end_attendance();
    come();
    EXPECT_TRUE(eventually([&] { return taken() == 21; }));
}

// Who has something to send that it could leave to the thread: that would let it lie.
TEST_F(ServiceTest, TakesNoTurnsForARankThatAttendsOrHasJustAttended) {
    EXPECT_TRUE(eventually([&] { return takes_turns(); }));
    begin_attendance();
    EXPECT_FALSE(takes_turns());
    end_attendance();
    EXPECT_TRUE(eventually([&] { return takes_turns(); })) << "it comes back";
}

}  // namespace
}  // namespace tutti::transport::carrier
