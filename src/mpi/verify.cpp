// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/verify.h"

#include <fenv.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "mpi/compare.h"
#include "mpi/ops.h"

namespace tutti::mpi {

namespace {

// Of what one rank holds of a call; more is not compared. Beside the program's own buffers a chosen
// call takes up to three times as much for as long as it lasts. Also what an int can count.
constexpr uint64_t kBytesMax = uint64_t{1} << 30;
// Bounds are reckoned for so many elements at a time, since a magnitude is larger than an element.
constexpr size_t kSlice = 65536;
constexpr uint32_t kLinesMax = 10;  // of one process

// What a rank says before the host runs the call: the least holds for all.
enum Readiness : int { kTuttiFailed, kCannot, kReady };
// And afterwards: the largest holds.
enum Outcome : int { kEqual, kUndecided, kDiffers };

// A failing MPI_Pack or host call leaves this rank not ready; the host's error handler has been
// called by then.
bool held(int status) { return status == abi::kSuccess; }

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

bool has_blocks(tutti_collective collective) {
    return collective == TUTTI_GATHER || collective == TUTTI_SCATTER ||
           collective == TUTTI_ALLGATHER;
}
bool is_reduction(tutti_collective collective) {
    return collective == TUTTI_REDUCE || collective == TUTTI_ALLREDUCE;
}

int agree(const CommState& state, int mine, abi::OpName op) {
    int all = mine;
    const abi::Datatype type = front.handles.type[abi::kTypeInt];
    front.host.allreduce(&mine, &all, 1, type, front.handles.op[op], state.comm);
    return all;
}

// Whether all can go on. Where a gather or scatter sends less than there is room for, some hosts
// write to the rest, too: there is nothing to compare.
Readiness agree_to_go_on(const CommState& state, const tutti_call& call, Readiness mine) {
    const auto bytes = static_cast<int64_t>(call.bytes);
    const int64_t own[] = {mine, bytes, -bytes};
    int64_t least[] = {mine, bytes, -bytes};
    front.host.allreduce(own, least, 3, front.handles.type[abi::kTypeInt64],
                         front.handles.op[abi::kOpMin], state.comm);
    const bool differ = least[1] != -least[2];
    return least[0] == kReady && differ ? kCannot : static_cast<Readiness>(least[0]);
}

}  // namespace

// One chosen call on this rank.
class Trial {
  public:
    Trial(CommState& state, const tutti_call& call, const Subject& subject)
        : state_(state), call_(call), subject_(subject) {}

    // Before Tutti runs: false where there is no memory for it.
    bool prepare();
    // After it: false where the host could not run it.
    bool run_by_host();
    Comparison compare();
    [[nodiscard]] size_t element_bytes() const;

  private:
    [[nodiscard]] bool is_root() const { return state_.rank == call_.root; }
    [[nodiscard]] bool has_kernel() const {
        return is_reduction(call_.collective) && call_.op != TUTTI_OP_USER;
    }
    [[nodiscard]] bool receives() const { return subject_.recv != nullptr; }
    [[nodiscard]] size_t blocks_in() const;
    [[nodiscard]] size_t blocks_out() const;
    bool pack_blocks(const TypedBuffer& side, uint64_t first, uint64_t blocks, std::byte* to) const;
    bool take(const TypedBuffer& side, uint64_t first, uint64_t blocks, std::byte* to) const;
    bool move_by_host();
    bool reduce_by_host(const void* in, void* out, int count, abi::Datatype type, abi::Op op) const;
    bool reduce_user_by_host();
    bool reduce_narrow_by_host();
    bool add_magnitudes(size_t first, size_t count);
    void compare_elements(Comparison& found);

    CommState& state_;
    const tutti_call& call_;
    const Subject& subject_;
    size_t out_bytes_ = 0;
    Scratch in_;     // what this rank gives
    Scratch host_;   // the host's result
    Scratch tutti_;  // Tutti's
    Scratch mine_;   // of a slice, in a wider type: this rank's
    Scratch all_;    // of all ranks
    std::byte* input_ = nullptr;
    std::byte* by_host_ = nullptr;
    std::byte* by_tutti_ = nullptr;
    double* magnitudes_ = nullptr;
    bool is_sound_ = true;  // nothing failed since the host ran it
};

size_t Trial::blocks_in() const {
    const bool spreads = call_.collective == TUTTI_SCATTER;
    return spreads ? (is_root() ? state_.size : 0) : 1;
}

size_t Trial::blocks_out() const {
    switch (call_.collective) {
        case TUTTI_REDUCE:
            return is_root() ? 1 : 0;
        case TUTTI_GATHER:
            return is_root() ? state_.size : 0;
        case TUTTI_ALLGATHER:
            return state_.size;
        default:
            return 1;
    }
}

size_t Trial::element_bytes() const {
    if (has_kernel()) return tutti_dtype_bytes(call_.dtype);
    const TypedBuffer* side = receives() ? subject_.recv : subject_.send;
    return side != nullptr ? std::max<size_t>(side->info->size, 1) : 1;
}

bool Trial::pack_blocks(const TypedBuffer& side, uint64_t first, uint64_t blocks,
                        std::byte* to) const {
    return held(
        pack(side.block(first), to, side.count * blocks, side.type, *side.info, state_.comm));
}

// As the host will be given it: packed, but for elements of a kernel, which lie in one piece and
// keep their padding.
bool Trial::take(const TypedBuffer& side, uint64_t first, uint64_t blocks, std::byte* to) const {
    if (!has_kernel()) return pack_blocks(side, first, blocks, to);
    memcpy(to, side.data(), call_.bytes);
    return true;
}

bool Trial::prepare() {
    if (call_.bytes > 0 && subject_.send == nullptr && subject_.recv == nullptr) return false;
    const size_t in_bytes = blocks_in() * call_.bytes;
    out_bytes_ = blocks_out() * call_.bytes;
    input_ = in_.get(in_bytes);
    by_host_ = host_.get(out_bytes_);
    by_tutti_ = tutti_.get(out_bytes_);
    if (has_kernel()) {
        const size_t wide = std::max(
            sizeof(int64_t), magnitudes_per_element(call_.dtype, call_.op) * sizeof(double));
        const size_t slice = wide * std::min(kSlice, call_.bytes / element_bytes());
        if (mine_.get(slice) == nullptr || all_.get(slice) == nullptr) return false;
    }
    if (input_ == nullptr || by_host_ == nullptr || by_tutti_ == nullptr) return false;
    if (in_bytes == 0) return true;
    if (call_.collective == TUTTI_BCAST) return !is_root() || take(*subject_.recv, 0, 1, input_);
    if (subject_.send != nullptr) return take(*subject_.send, 0, blocks_in(), input_);
    // In place: what this rank gives stands where it will receive, among the blocks of all ranks if
    // these come.
    const bool is_among_others = has_blocks(call_.collective);
    return take(*subject_.recv, is_among_others ? state_.rank : 0, 1, input_);
}

bool Trial::move_by_host() {
    const abi::Datatype byte = front.handles.type[abi::kTypeByte];
    const int bytes = static_cast<int>(call_.bytes), root = static_cast<int>(call_.root);
    switch (call_.collective) {
        case TUTTI_BCAST:
            if (is_root()) memcpy(by_host_, input_, call_.bytes);
            return held(front.host.bcast(by_host_, bytes, byte, root, state_.comm));
        case TUTTI_GATHER:
            return held(
                front.host.gather(input_, bytes, byte, by_host_, bytes, byte, root, state_.comm));
        case TUTTI_SCATTER:
            return held(
                front.host.scatter(input_, bytes, byte, by_host_, bytes, byte, root, state_.comm));
        default:
            return held(
                front.host.allgather(input_, bytes, byte, by_host_, bytes, byte, state_.comm));
    }
}

// Never in place: some hosts fail there.
bool Trial::reduce_by_host(const void* in, void* out, int count, abi::Datatype type,
                           abi::Op op) const {
    if (call_.collective == TUTTI_ALLREDUCE) {
        return held(front.host.allreduce(in, out, count, type, op, state_.comm));
    }
    return held(
        front.host.reduce(in, out, count, type, op, static_cast<int>(call_.root), state_.comm));
}

// The operator wants elements as the datatype lays them out.
bool Trial::reduce_user_by_host() {
    const TypedBuffer& side = *(subject_.send != nullptr ? subject_.send : subject_.recv);
    const TypeInfo& info = *side.info;
    const auto steps = static_cast<ptrdiff_t>(side.count - 1) * info.extent;
    const size_t span = static_cast<size_t>(info.true_extent + std::abs(steps));
    std::byte* in = span <= kBytesMax ? mine_.get(span) : nullptr;
    std::byte* out = span <= kBytesMax ? all_.get(span) : nullptr;
    // Others may be able to.
    const bool fits = in != nullptr && out != nullptr;
    if (agree(state_, fits ? kReady : kCannot, abi::kOpMin) != kReady) return false;
    const ptrdiff_t first = std::min<ptrdiff_t>(steps, 0) + info.true_lb;
    // Where element 0 would lie; absolute addresses put that far outside.
    auto* in_origin = reinterpret_cast<std::byte*>(reinterpret_cast<intptr_t>(in) - first);
    auto* out_origin = reinterpret_cast<std::byte*>(reinterpret_cast<intptr_t>(out) - first);
    memset(in, 0, span);
    memset(out, 0, span);
    is_sound_ = held(unpack(input_, in_origin, side.count, side.type, info, state_.comm));
    const int count = static_cast<int>(side.count);
    is_sound_ = reduce_by_host(in_origin, out_origin, count, side.type, subject_.op) && is_sound_;
    if (is_sound_ && receives()) {
        is_sound_ = held(pack(out_origin, by_host_, side.count, side.type, info, state_.comm));
    }
    return true;
}

bool Trial::reduce_narrow_by_host() {
    const size_t width = element_bytes(), count = call_.bytes / width;
    const abi::Datatype wide = front.handles.type[abi::kTypeInt64];
    auto* mine = reinterpret_cast<int64_t*>(mine_.get(0));
    auto* all = reinterpret_cast<int64_t*>(all_.get(0));
    for (size_t at = 0; at < count; at += kSlice) {
        const size_t slice = std::min(kSlice, count - at);
        widen(call_.dtype, input_ + at * width, slice, mine);
        is_sound_ =
            reduce_by_host(mine, all, static_cast<int>(slice), wide, subject_.op) && is_sound_;
        if (receives()) cut(call_.dtype, all, slice, by_host_ + at * width);
    }
    return true;
}

bool Trial::run_by_host() {
    if (!is_reduction(call_.collective)) {
        is_sound_ = move_by_host();
        return true;
    }
    if (call_.op == TUTTI_OP_USER) return reduce_user_by_host();
    if (is_narrow(call_.dtype)) return reduce_narrow_by_host();
    const auto count = static_cast<int>(call_.bytes / element_bytes());
    is_sound_ = reduce_by_host(input_, by_host_, count, subject_.type, subject_.op);
    return true;
}

// Every rank takes part, as long as anything is left; the sums come to those who receive.
bool Trial::add_magnitudes(size_t first, size_t count) {
    const auto doubles = magnitudes_per_element(call_.dtype, call_.op) * count;
    auto* mine = reinterpret_cast<double*>(mine_.get(0));
    magnitudes_ = reinterpret_cast<double*>(all_.get(0));
    fill_magnitudes(call_.dtype, call_.op, input_ + first * element_bytes(), count, mine);
    return reduce_by_host(mine, magnitudes_, static_cast<int>(doubles),
                          front.handles.type[abi::kTypeDouble], front.handles.op[abi::kOpSum]);
}

void Trial::compare_elements(Comparison& found) {
    const size_t width = element_bytes(), count = call_.bytes / width;
    const bool bounded = needs_magnitudes(call_.dtype, call_.op);
    for (size_t at = 0; at < count; at += kSlice) {
        const size_t slice = std::min(kSlice, count - at);
        if (bounded && !add_magnitudes(at, slice)) is_sound_ = false;
        if (!receives() || !is_sound_) continue;
        const Reduced what{call_.dtype,           call_.op,
                           state_.size,           by_tutti_ + at * width,
                           by_host_ + at * width, bounded ? magnitudes_ : nullptr};
        compare_reduced(what, at, slice, found);
    }
}

Comparison Trial::compare() {
    Comparison found;
    if (receives()) is_sound_ = take(*subject_.recv, 0, blocks_out(), by_tutti_) && is_sound_;
    if (has_kernel()) {
        compare_elements(found);
    } else if (receives() && is_sound_) {
        found = compare_bytes(by_tutti_, by_host_, out_bytes_, element_bytes());
        // A user's operator may be over floating point, where the order of operands shows.
        if (is_reduction(call_.collective)) found.uncertain = std::exchange(found.different, 0);
    }
    if (!is_sound_) {
        found = {};
        found.uncertain = 1;
    }
    return found;
}

namespace {

std::string what_is_reduced(const tutti_call& call) {
    if (!is_reduction(call.collective)) return "";
    if (call.op == TUTTI_OP_USER) return " of a user's operator";
    return std::string(" of ") + dtype_name(call.dtype) + ", " + op_name(call.op);
}

bool has_root(tutti_collective collective) {
    return collective != TUTTI_ALLREDUCE && collective != TUTTI_ALLGATHER;
}

void tell(const CommState& state, const tutti_call& call, const Trial& trial,
          const Comparison& found) {
    const uint32_t line = front.verify.lines.fetch_add(1, std::memory_order_relaxed);
    if (line >= kLinesMax) return;
    const size_t element = trial.element_bytes();
    std::string text = "VERIFY: wrong result: ";
    text += kind_function(static_cast<Kind>(call.collective));
    text += what_is_reduced(call) + ", " + std::to_string(call.bytes) + " bytes";
    text += has_blocks(call.collective) ? " a block" : "";
    if (has_root(call.collective)) text += ", root " + std::to_string(call.root);
    text += "; call " + std::to_string(state.verify_calls + 1) + " on communicator " +
            std::to_string(state.verify_number >> 32) + "." +
            std::to_string(state.verify_number & UINT32_MAX) + " of " + std::to_string(state.size) +
            " ranks, run by " + tutti_team_ran(state.team);
    text += "; rank " + std::to_string(state.rank) + ", element " + std::to_string(found.first) +
            " (" + std::to_string(element) + " bytes each): Tutti " + found.tutti +
            ", the host MPI " + found.host;
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
    const uint64_t bytes = call.bytes;
    return bytes > kBytesMax ||
           (has_blocks(call.collective) && bytes * uint64_t{state.size} > kBytesMax);
}

}  // namespace

Verified::Verified(CommState& state, const tutti_call& call, const Subject& subject)
    : state_(state), call_(call), subject_(subject) {}

Verified::~Verified() = default;

// Of the call that is the next one to be counted.
bool Verified::is_chosen() const {
    const Verification& verify = front.verify;
    return mpi::is_chosen(verify.share, verify.seed, state_.verify_number, state_.verify_calls + 1);
}

void Verified::prepare() {
    trial_.reset(new (std::nothrow) Trial(state_, call_, subject_));
    is_prepared_ = trial_ && !is_too_large(state_, call_) && trial_->prepare();
}

Unready Verified::before() {
    if (front.verify.is_on && is_chosen()) prepare();
    return {};
}

int Verified::after(int status) {
    if (!front.verify.is_on) return status;
    if (is_chosen()) status = compare(status);
    ++state_.verify_calls;
    if (state_.rank == 0) front.verify.counters.calls.fetch_add(1, std::memory_order_relaxed);
    return status;
}

int Verified::compare(int status) {
    // Of no bytes: nothing has been overwritten.
    if (!trial_ && status == abi::kSuccess) prepare();
    const HostGuard guard;
    const QuietFloats quiet;
    const Readiness mine = status != abi::kSuccess ? kTuttiFailed : is_prepared_ ? kReady : kCannot;
    const Readiness all = agree_to_go_on(state_, call_, mine);
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
        number = static_cast<uint64_t>(front.world_rank) << 32 | ++front.verify.communicators;
    }
    front.host.bcast(&number, sizeof number, front.handles.type[abi::kTypeByte], 0, state.comm);
    state.verify_number = number;
}

void start_verification(const char* setting) {
    char* end = nullptr;
    front.verify.share = strtod(setting, &end);
    if (front.verify.share == 0) return;
    front.verify.is_on = true;
    uint64_t seed = *end == ':' ? strtoull(end + 1, nullptr, 10) : now_ns() % 1'000'000'000 + 1;
    front.host.bcast(&seed, sizeof seed, front.handles.type[abi::kTypeByte], 0,
                     front.handles.comm_world);
    front.verify.seed = seed;
}

void remember_settings(const std::vector<std::string>& settings) {
    if (!front.verify.is_on) return;
    std::string text;
    for (const std::string& entry : settings) {
        constexpr const char* kUntold[] = {"TUTTI_VERIFY=", "TUTTI_REPORT",
                                           "TUTTI_RULES_TEXT=", "TUTTI_SITE_"};
        const auto begins = [&](const char* start) { return entry.starts_with(start); };
        if (std::any_of(std::begin(kUntold), std::end(kUntold), begins)) continue;
        text += (text.empty() ? "" : " ") + entry;
    }
    char* kept = strdup(text.c_str());
    if (kept != nullptr) front.verify.settings = kept;
}

VerifyTotals gather_verify_totals() {
    const Verification& verify = front.verify;
    VerifyTotals totals;
    // Under fault tolerance all calls are the host's.
    if (!verify.is_on || front.has_fault_tolerance) return totals;
    const VerifyCounters& c = verify.counters;
    const uint64_t mine[] = {c.calls, c.equal, c.different, c.undecided, c.skipped, c.failed};
    constexpr int kCount = sizeof mine / sizeof *mine;
    uint64_t all[kCount] = {};
    front.host.reduce(mine, all, kCount, front.handles.type[abi::kTypeUint64],
                      front.handles.op[abi::kOpSum], 0,
                      front.world_size > 1 ? front.p2p_comm : front.handles.comm_self);
    totals.share = verify.share;
    totals.seed = verify.seed;
    totals.calls = all[0];
    totals.equal = all[1];
    totals.different = all[2];
    totals.undecided = all[3];
    totals.skipped = all[4];
    totals.failed = all[5];
    return totals;
}

void tell_differing_calls(const VerifyTotals& totals) {
    if (front.world_rank != 0 || totals.different == 0) return;
    const std::string line = "VERIFY: " + std::to_string(totals.different) +
                             (totals.different == 1 ? " call" : " calls") +
                             " ended with wrong results, of " + std::to_string(totals.compared()) +
                             " that were compared with the host MPI's";
    print_line(line.c_str());
}

}  // namespace tutti::mpi
