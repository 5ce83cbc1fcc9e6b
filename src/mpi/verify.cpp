// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/verify.h"

#include <fenv.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <numeric>
#include <string>
#include <utility>

#include "base/collectives.h"
#include "mpi/trial.h"
#include "mpi/vector_trial.h"

namespace tutti::mpi {

namespace {

constexpr uint32_t kLinesMax = 10;  // of one process

// What a rank says before the host runs the call: the least holds for all.
enum Readiness : int { kTuttiFailed, kCannot, kReady };
// And afterwards: the largest holds.
enum Outcome : int { kEqual, kUndecided, kDiffers };

// Signals of floating point that comparisons raise are not the program's.
class QuietFloats {
  public:
    QuietFloats() { feholdexcept(&held_); }
    ~QuietFloats() { fesetenv(&held_); }
    QuietFloats(const QuietFloats&) = delete;
    QuietFloats& operator=(const QuietFloats&) = delete;

  private:
    fenv_t held_;
};

// Bytes that a vector form sends and nobody receives; less than none where there is more room.
int64_t agree_on_surplus(const CommState& state, int64_t mine) {
    int64_t all = mine;
    front.host.allreduce(&mine, &all, 1, front.host.handles.type[abi::kTypeInt64],
                         front.host.handles.op[abi::kOpSum], state.comm);
    return all;
}

// Whether all can go on. Where less is sent than there is room for, some hosts write to the rest,
// too: there is nothing to compare.
Readiness agree_to_go_on(const CommState& state, const tutti_call& call, const Trial* trial,
                         Readiness mine) {
    const bool is_vector = has_lengths(call.collective);
    if (is_vector) {
        const int64_t surplus = agree_on_surplus(state, trial != nullptr ? trial->surplus() : 0);
        if (surplus != 0) mine = std::min(mine, kCannot);
    }
    const auto bytes = is_vector ? int64_t{0} : static_cast<int64_t>(call.bytes);
    const int64_t own[] = {mine, bytes, -bytes};
    int64_t least[] = {mine, bytes, -bytes};
    front.host.allreduce(own, least, 3, front.host.handles.type[abi::kTypeInt64],
                         front.host.handles.op[abi::kOpMin], state.comm);
    const bool differ = least[1] != -least[2];
    return least[0] == kReady && differ ? kCannot : static_cast<Readiness>(least[0]);
}

std::string what_is_reduced(const tutti_call& call) {
    if (!is_reduction(call.collective)) return "";
    if (call.op == TUTTI_OP_USER) return " of a user's operator";
    return std::string(" of ") + dtype_name(call.dtype) + ", " + op_name(call.op);
}

// What this rank holds of a call: the larger of both sides.
uint64_t held_bytes(const CommState& state, const tutti_call& call) {
    const auto sum = [&](const uint64_t* blocks) {
        return blocks != nullptr ? std::accumulate(blocks, blocks + state.size, uint64_t{0}) : 0;
    };
    if (call.blocks != nullptr) {
        const uint64_t own = call.bytes;
        return std::max({own, sum(call.blocks->send_bytes), sum(call.blocks->recv_bytes)});
    }
    return has_blocks(call.collective) ? call.bytes * uint64_t{state.size} : call.bytes;
}

void tell(const CommState& state, const tutti_call& call, const Trial& trial,
          const Comparison& found) {
    const uint32_t line = front.verify.lines.fetch_add(1, std::memory_order_relaxed);
    if (line >= kLinesMax) return;
    const size_t element = trial.element_bytes();
    std::string text = "VERIFY: wrong result: ";
    text += kind_function(static_cast<Kind>(call.collective));
    const bool is_vector = has_lengths(call.collective);
    text += what_is_reduced(call) + ", ";
    text += std::to_string(is_vector ? held_bytes(state, call) : call.bytes) + " bytes";
    text += is_vector ? " on this rank" : has_blocks(call.collective) ? " a block" : "";
    if (has_root(call.collective)) text += ", root " + std::to_string(call.root);
    text += "; call " + std::to_string(state.verify_calls + 1) + " on communicator " +
            std::to_string(state.verify_number >> 32) + "." +
            std::to_string(state.verify_number & UINT32_MAX) + " of " + std::to_string(state.size) +
            " ranks, run by " + tutti_team_ran(state.team);
    text += "; rank " + std::to_string(state.rank) + ", element " + std::to_string(found.first) +
            " (" + std::to_string(element) + " bytes each): Tutti " + found.tutti + ", your MPI " +
            found.host;
    if (!found.allowed.empty()) text += ", where orders differ by at most " + found.allowed;
    text += "; " + std::to_string(found.different) +
            " differ in all; to repeat: TUTTI_VERIFY=1:" + std::to_string(front.verify.seed);
    if (front.verify.settings[0] != '\0') text += std::string(" beside ") + front.verify.settings;
    if (line + 1 == kLinesMax) text += " (further ones of this rank are only counted)";
    print_line(text.c_str());
}

// By the communicator's rank 0 for all of it.
void count_outcome(const CommState& state, Readiness readiness, Outcome outcome) {
    if (state.rank != 0) return;
    VerifyCounters& counters = front.verify.counters;
    std::atomic<uint64_t>& kind = readiness == kTuttiFailed ? counters.failed
                                  : readiness == kCannot    ? counters.skipped
                                  : outcome == kDiffers     ? counters.different
                                  : outcome == kUndecided   ? counters.undecided
                                                            : counters.equal;
    kind.fetch_add(1, std::memory_order_relaxed);
}

// Of a gather or scatter others may have less, and the call not be too large for them.
bool is_too_large(const CommState& state, const tutti_call& call) {
    return call.bytes > kVerifiedBytesMax || held_bytes(state, call) > kVerifiedBytesMax;
}

}  // namespace

Verified::Verified(CommState& state, const tutti_call& call, const Subject& subject)
    : state_(state), call_(call), subject_(subject) {
    const Verification& verify = front.verify;
    // Of the call that is the next one to be counted.
    is_chosen_ = verify.is_on &&
                 is_chosen(verify.share, verify.seed, state.verify_number, state.verify_calls + 1);
}

Verified::~Verified() = default;

void Verified::prepare() {
    const bool is_moved = has_lengths(call_.collective) && !is_reduction(call_.collective);
    if (is_moved) {
        trial_.reset(new (std::nothrow) VectorTrial(state_, call_, subject_));
    } else {
        trial_.reset(new (std::nothrow) AlikeTrial(state_, call_, subject_));
    }
    is_prepared_ = trial_ && !is_too_large(state_, call_) && trial_->prepare();
}

Unready Verified::before() {
    if (is_chosen_) prepare();
    return {};
}

int Verified::after(int status) {
    if (!front.verify.is_on) return status;
    if (is_chosen_) status = compare(status);
    ++state_.verify_calls;
    if (state_.rank == 0) front.verify.counters.calls.fetch_add(1, std::memory_order_relaxed);
    return status;
}

int Verified::compare(int status) {
    // Nothing has been overwritten. Vector forms are prepared, or have no bytes anywhere.
    const bool is_late = call_.bytes == 0 && !has_lengths(call_.collective);
    if (is_late && status == abi::kSuccess) prepare();
    const HostGuard guard;
    const QuietFloats quiet;
    const Readiness mine = status != abi::kSuccess ? kTuttiFailed : is_prepared_ ? kReady : kCannot;
    const Readiness all = agree_to_go_on(state_, call_, trial_.get(), mine);
    if (all != kReady) {
        count_outcome(state_, all, kUndecided);
        return status;
    }
    if (!trial_->run_by_host()) {
        count_outcome(state_, kCannot, kUndecided);
        return status;
    }
    const Comparison found = trial_->compare();
    if (found.different > 0) tell(state_, call_, *trial_, found);
    const Outcome own = found.different > 0 ? kDiffers : found.uncertain > 0 ? kUndecided : kEqual;
    count_outcome(state_, kReady, static_cast<Outcome>(agree(state_, own, abi::kOpMax)));
    return status;
}

// The rank that counts a communicator's calls chooses a number for it that no other one has, nor
// has had: its own in the world beside that of the communicator among those that it counts.
void agree_on_verify_number(CommState& state) {
    uint64_t number = 0;
    if (state.rank == 0) {
        number = static_cast<uint64_t>(front.world.rank) << 32 | ++front.verify.communicators;
    }
    front.host.bcast(&number, sizeof number, front.host.handles.type[abi::kTypeByte], 0,
                     state.comm);
    state.verify_number = number;
}

void start_verification(const char* setting) {
    char* end = nullptr;
    front.verify.share = strtod(setting, &end);
    if (front.verify.share == 0) return;
    front.verify.is_on = true;
    uint64_t seed = *end == ':' ? strtoull(end + 1, nullptr, 10) : now_ns() % 1'000'000'000 + 1;
    front.host.bcast(&seed, sizeof seed, front.host.handles.type[abi::kTypeByte], 0,
                     front.host.handles.comm_world);
    front.verify.seed = seed;
}

void remember_settings(const std::vector<std::string>& settings) {
    if (!front.verify.is_on) return;
    std::string text;
    for (const std::string& entry : settings) {
        constexpr const char* kUntold[] = {"TUTTI_VERIFY=",     "TUTTI_REPORT",
                                           "TUTTI_RULES_TEXT=", "TUTTI_SITE_",
                                           "TUTTI_TUNED_NAME=", "TUTTI_TUNED_TEXT="};
        const auto begins = [&](const char* start) { return entry.starts_with(start); };
        if (std::any_of(std::begin(kUntold), std::end(kUntold), begins)) continue;
        text += (text.empty() ? "" : " ") + entry;
    }
    char* kept = strdup(text.c_str());
    if (kept != nullptr) front.verify.settings = kept;
}

}  // namespace tutti::mpi
