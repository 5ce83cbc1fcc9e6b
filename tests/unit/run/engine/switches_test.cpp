// SPDX-License-Identifier: BSD-3-Clause
// Teams that know which of their hosts share a switch: who sends to whom. Threads as ranks, each
// with a context of its own, as processes of a job have.
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "conformance/mailbox.h"
#include "unit/run/engine/crew.h"

namespace tutti::test {
namespace {

constexpr uint32_t kRanks = 4;
// As tutti_fabric_part() gives it. In the order of ranks each message of a ring crosses the top.
constexpr const char* kFabric =
    "[[switch]]\nname = \"a\"\nhosts = \"pretended-host-[0,2]\"\n"
    "[[switch]]\nname = \"b\"\nhosts = \"pretended-host-[1,3]\"\n"
    "[[switch]]\nname = \"top\"\nswitches = \"a,b\"\n";

using Pairs = std::set<std::pair<uint32_t, uint32_t>>;

// Passes everything on, and notes who sends to whom while a call runs.
class Listener {
  public:
    Listener(tutti_p2p inner, uint32_t rank) : inner_(inner), rank_(rank) {}
    tutti_p2p callbacks() {
        tutti_p2p outer = inner_;
        outer.user = this;
        outer.send = [](void* user, const void* data, size_t bytes, uint32_t peer, uint32_t tag,
                        void** request) {
            auto& self = *static_cast<Listener*>(user);
            if (self.listens) self.sent.emplace(self.rank_, peer);
            return self.inner_.send(self.inner_.user, data, bytes, peer, tag, request);
        };
        outer.recv = [](void* user, void* data, size_t bytes, uint32_t peer, uint32_t tag,
                        void** request) {
            auto& self = *static_cast<Listener*>(user);
            return self.inner_.recv(self.inner_.user, data, bytes, peer, tag, request);
        };
        outer.test = [](void* user, void** request, int* done) {
            auto& self = *static_cast<Listener*>(user);
            return self.inner_.test(self.inner_.user, request, done);
        };
        outer.probe = nullptr;
        outer.cancel = nullptr;
        return outer;
    }
    bool listens = false;
    Pairs sent;

  private:
    tutti_p2p inner_;
    uint32_t rank_;
};

struct Job {
    explicit Job(uint32_t rank) {
        const char* settings[] = {"TUTTI_HOSTS=4", "TUTTI_MCAST=off", "TUTTI_ALLREDUCE=ring",
                                  "TUTTI_GATHER=binomial"};
        tutti_context_params params{};
        params.struct_bytes = sizeof(params);
        params.settings = settings;
        params.settings_count = std::size(settings);
        params.job_rank = rank;
        params.job_size = kRanks;
        tutti_context* made = nullptr;
        EXPECT_EQ(tutti_context_create(&params, &made, nullptr, 0), TUTTI_OK);
        context.reset(made);
    }
    ContextPtr context;
};

// Whom each rank sends to in an allreduce of 64 doubles and a gather to rank 1. fabric: of each.
Pairs run(const std::vector<const char*>& fabrics) {
    Meeting meeting(kRanks);
    Mailbox mailbox(kRanks);
    std::mutex mutex;
    Pairs all;
    run_threads(kRanks, [&](uint32_t rank) {
        const Job job(rank);
        ASSERT_EQ(tutti_context_set_fabric(job.context.get(), fabrics[rank], nullptr, 0), TUTTI_OK);
        Listener listener(mailbox.callbacks(rank), rank);
        const tutti_p2p p2p = listener.callbacks();
        const Made made = make_team(job.context.get(), meeting, rank, "the job", &p2p);
        if (made.status != TUTTI_OK) {
            const std::lock_guard lock(mutex);
            all.emplace(kRanks, kRanks);  // there is none
            return;
        }
        listener.listens = true;
        std::vector<double> in(64, rank + 1.0);
        std::vector<double> out(64);
        tutti_call call{};
        call.collective = TUTTI_ALLREDUCE;
        call.send = in.data();
        call.recv = out.data();
        call.bytes = sizeof(double) * in.size();
        call.op = TUTTI_SUM;
        call.dtype = TUTTI_DOUBLE;
        EXPECT_EQ(tutti_run(made.team.get(), &call), TUTTI_OK)
            << tutti_team_message(made.team.get());
        for (const double one : out) EXPECT_EQ(one, 10.0);
        std::vector<double> blocks(kRanks);
        call = {};
        call.collective = TUTTI_GATHER;
        call.root = 1;
        call.send = in.data();
        call.recv = blocks.data();
        call.bytes = sizeof(double);
        EXPECT_EQ(tutti_run(made.team.get(), &call), TUTTI_OK);
        if (rank == 1) {
            EXPECT_EQ(blocks, (std::vector<double>{1, 2, 3, 4}));
        }
        const std::lock_guard lock(mutex);
        all.merge(listener.sent);
    });
    return all;
}

TEST(Switches, TeamsGoAlongThem) {
    // A ring in the order 0 2 1 3; and up the tree to 1: within each switch first.
    EXPECT_EQ(run({kFabric, kFabric, kFabric, kFabric}),
              (Pairs{{0, 2}, {2, 1}, {1, 3}, {3, 0}, {2, 0}, {0, 1}, {3, 1}}));
    EXPECT_EQ(run({nullptr, nullptr, nullptr, nullptr}),
              (Pairs{{0, 1}, {1, 2}, {2, 3}, {3, 0}, {3, 2}, {2, 1}, {0, 1}}));
}

// What all know alike is all that they may go by.
TEST(Switches, RanksThatKnowDifferentOnesMakeNoTeam) {
    const std::string other = std::string(kFabric) + "# another\n";
    EXPECT_EQ(run({kFabric, kFabric, other.c_str(), kFabric}), (Pairs{{kRanks, kRanks}}));
    EXPECT_EQ(run({kFabric, kFabric, kFabric, nullptr}), (Pairs{{kRanks, kRanks}}));
}

TEST(Switches, WrongTextsAreNone) {
    const Job job(3);
    char message[128] = "";
    EXPECT_EQ(tutti_context_set_fabric(job.context.get(), "x = ", message, sizeof(message)),
              TUTTI_ERR_ARGUMENT);
    EXPECT_EQ(std::string(message).substr(0, 9), "fabric:1:");
    uint32_t hosts = 7;
    uint32_t switches = 7;
    tutti_context_fabric(job.context.get(), &hosts, &switches);
    EXPECT_EQ(hosts + switches, 0u);
    EXPECT_EQ(tutti_context_set_fabric(job.context.get(), kFabric, message, sizeof(message)),
              TUTTI_OK);
    tutti_context_fabric(job.context.get(), &hosts, &switches);
    EXPECT_EQ(hosts, 4u);
    EXPECT_EQ(switches, 2u);
    tutti_context_host(job.context.get(), message, sizeof(message));
    EXPECT_STREQ(message, "pretended-host-3");
}

}  // namespace
}  // namespace tutti::test
