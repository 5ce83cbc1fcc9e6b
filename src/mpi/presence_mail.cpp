// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/presence_mail.h"

#include <sched.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>

#include "mpi/finish_report.h"
#include "mpi/front.h"

namespace tutti::mpi {

namespace {

constexpr int kTagMaxLeast = 32767;  // what every MPI allows
// Near the end of the range, but not where tests of an MPI's range of tags look.
constexpr int kTagBelowMax = 1021;
constexpr int kWordInts = sizeof(PresenceWord) / sizeof(int32_t);

// TUTTI_START_WAIT of this process: ranks cannot yet have been told rank 0's. A value that is wrong
// is complained about with all others, when the context is made.
double wait_seconds() {
    constexpr double kDefault = 10, kMost = 1e6;
    const char* text = getenv("TUTTI_START_WAIT");
    if (text == nullptr || *text == '\0') return kDefault;
    char* end = nullptr;
    const double seconds = strtod(text, &end);
    return *end == '\0' && seconds > 0 && seconds <= kMost ? seconds : kDefault;
}

uint64_t clock_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

// Ranks leave the host's start within moments of each other. A longer wait is for a rank that may
// never come, and leaves the processor to others.
void pause_between_looks(uint64_t waited_ns) {
    constexpr uint64_t kMoment = 20'000'000;
    constexpr timespec kPause{0, 500'000};
    if (waited_ns < kMoment) {
        sched_yield();
    } else {
        nanosleep(&kPause, nullptr);
    }
}

// "ranks 1, 3 and 7 more have no Tutti, ...". Without memory, which other ranks may lack as well.
void say_missing(const PresenceWord& missing, double seconds) {
    char line[512];
    int length = snprintf(line, sizeof line, missing.missing == 1 ? "rank" : "ranks");
    const auto append = [&](const char* format, auto... values) {
        length +=
            snprintf(line + length, sizeof line - static_cast<size_t>(length), format, values...);
    };
    const char* before = "";
    for (const int32_t rank : missing.listed()) {
        append("%s %d", before, rank);
        before = ",";
    }
    const int more = missing.missing - static_cast<int>(missing.listed().size());
    if (more > 0) append(" and %d more", more);
    append(
        " of %d %s no Tutti, or came more than %g s late (TUTTI_START_WAIT): everything stays with "
        "your MPI",
        front.world.size, missing.missing == 1 ? "has" : "have", seconds);
    print_line(line);
}

}  // namespace

void HostMail::open() {
    void* tag_ub = nullptr;
    int found = 0;
    front.host.comm_get_attr(front.host.handles.comm_world, front.host.abi.tag_ub, &tag_ub, &found);
    tag_ = (found != 0 ? *static_cast<int*>(tag_ub) : kTagMaxLeast) - kTagBelowMax;
}

// The host frees the request when the message is out; what it reads stays where it is.
void HostMail::send(int rank, const PresenceWord* word) {
    abi::Request request{};
    front.host.isend(word, word != nullptr ? kWordInts : 0, front.host.handles.type[abi::kTypeInt],
                     rank, tag_, front.host.handles.comm_world, &request);
    front.host.request_free(&request);
}

void HostMail::expect(int slot, int rank) {
    const auto index = static_cast<size_t>(slot);
    words_[index].missing = PresenceWord::kEmpty;
    front.host.irecv(&words_[index], kWordInts, front.host.handles.type[abi::kTypeInt], rank, tag_,
                     front.host.handles.comm_world, &requests_[index]);
    posted_[index] = true;
}

bool HostMail::arrived(int slot, PresenceWord& word) {
    const auto index = static_cast<size_t>(slot);
    if (!posted_[index]) return false;
    int done = 0;
    front.host.test(&requests_[index], &done, status_ignore());
    if (done == 0) return false;
    posted_[index] = false;
    word = words_[index];
    return true;
}

void HostMail::close() {
    for (size_t index = 0; index < posted_.size(); ++index) {
        if (!posted_[index]) continue;
        front.host.cancel(&requests_[index]);
        front.host.request_free(&requests_[index]);
        posted_[index] = false;
    }
}

bool all_have_tutti() {
    if (front.world.size == 1) return true;
    const double seconds = wait_seconds();
    const uint64_t begin = clock_ns();
    front.mail.open();
    front.presence.start(front.mail, front.world.rank, front.world.size, begin,
                         static_cast<uint64_t>(seconds * 1e9));
    uint64_t now = begin;
    while (!front.presence.step(front.mail, now)) {
        pause_between_looks(now - begin);
        now = clock_ns();
    }
    if (front.presence.speaks()) {
        say_missing(front.presence.missing(), seconds);
        leave_mark();  // rank 0 may have no Tutti
    }
    return front.presence.all_there();
}

}  // namespace tutti::mpi
