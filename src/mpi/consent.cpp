// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/consent.h"

#include <sched.h>

#include <mutex>
#include <new>

#include "mpi/amount.h"
#include "mpi/front.h"

namespace tutti::mpi {

// Under front.mutex_states; the host reads and writes it until the vote is over.
struct Vote {
    int mine = 0;
    int all = 0;
    abi::Comm comm{};
    abi::Request request{};
    Vote* next = nullptr;
};

namespace {

bool begin(Vote& vote, abi::Comm comm) {
    return front.host.iallreduce(&vote.mine, &vote.all, 1, front.handles.type[abi::kTypeInt],
                                 front.handles.op[abi::kOpMin], comm,
                                 &vote.request) == abi::kSuccess;
}

// A line for people, as waits in a team's calls have it: once, after TUTTI_STALL.
void report_stall(uint64_t since_ns, bool& is_told) {
    if (is_told || front.stall_s <= 0) return;
    if (static_cast<double>(now_ns() - since_ns) < front.stall_s * 1e9) return;
    is_told = true;
    print_line("this rank waits for the others in one of the first calls on a communicator");
}

}  // namespace

bool all_consent(abi::Comm comm) {
    const HostGuard guard;
    Vote vote{.mine = 1};
    if (!begin(vote, comm)) return false;
    const uint64_t since_ns = now_ns();
    bool is_told = false;
    for (int done = 0; done == 0;) {
        if (front.host.test(&vote.request, &done, status_ignore()) != abi::kSuccess) return false;
        if (done != 0) break;
        sched_yield();
        report_stall(since_ns, is_told);
    }
    return vote.all != 0;
}

void refuse_consent(abi::Comm comm) {
    const HostGuard guard;
    auto* vote = new (std::nothrow) Vote;
    if (vote == nullptr) return;
    vote->comm = comm;
    if (!begin(*vote, comm)) {
        delete vote;
        return;
    }
    const std::lock_guard lock(front.mutex_states);
    vote->next = front.votes;
    front.votes = vote;
}

bool may_free(abi::Comm comm) {
    if (front.votes == nullptr) return true;
    const HostGuard guard;
    const std::lock_guard lock(front.mutex_states);
    Vote** link = &front.votes;
    while (*link != nullptr && !((*link)->comm == comm)) link = &(*link)->next;
    Vote* const vote = *link;
    if (vote == nullptr) return true;
    constexpr int kLooks = 100;  // the others' votes may have come already
    int done = 0;
    for (int look = 0; look < kLooks && done == 0; ++look) {
        if (front.host.test(&vote->request, &done, status_ignore()) != abi::kSuccess) return false;
    }
    if (done == 0) return false;
    *link = vote->next;
    delete vote;
    return true;
}

void end_consents() {
    const HostGuard guard;
    while (Vote* vote = front.votes) {
        int done = 0;
        front.votes = vote->next;
        const int status = front.host.test(&vote->request, &done, status_ignore());
        if (status == abi::kSuccess && done != 0) delete vote;
    }
}

}  // namespace tutti::mpi
