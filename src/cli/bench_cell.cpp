// SPDX-License-Identifier: BSD-3-Clause
#include "cli/bench_cell.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <memory>

#include "base/text.h"
#include "cli/bench_options.h"

namespace tutti::cli {
namespace {

constexpr double kBatchSeconds = 200e-6;
// Where ranks outnumber cores, they start a batch tens of microseconds apart.
constexpr double kCrowdedBatchSeconds = 1e-3;
constexpr uint64_t kCallsMax = 1u << 17;
// From here on a call is mostly moving data, and where that data lies decides. A batch then sends
// every buffer once, just written, as a program does; sent again unchanged, it would lie clean in
// the cache that both cores share.
constexpr uint64_t kFreshBytes = 16384;
constexpr size_t kMessageBytes = 256;

struct Free {
    void operator()(double* memory) const { std::free(memory); }
};

// The send and receive buffers of one cell.
class Buffers {
  public:
    [[nodiscard]] bool allocate(uint64_t send, uint64_t recv) {
        for (uint32_t k = 0; k < kBufferCount; ++k) {
            view_.send[k] = allocate_one(send);
            view_.recv[k] = allocate_one(recv);
            if ((send && !view_.send[k]) || (recv && !view_.recv[k])) return false;
        }
        return true;
    }
    [[nodiscard]] const BatchBuffers& view() const { return view_; }

  private:
    double* allocate_one(uint64_t elements) {
        if (elements == 0) return nullptr;
        const size_t bytes = (elements * sizeof(double) + 63) / 64 * 64;
        owned_.emplace_back(static_cast<double*>(std::aligned_alloc(64, bytes)));
        if (owned_.back()) std::fill_n(owned_.back().get(), elements, -1.0);
        return owned_.back().get();
    }
    std::vector<std::unique_ptr<double, Free>> owned_;
    BatchBuffers view_{};
};

// What one side has measured so far.
struct SideState {
    Side side;
    uint64_t calls = 1;  // a batch
    std::vector<double> seconds;
};

class CellRun {
  public:
    CellRun(BenchMpi& mpi, SharedPage& page, const CellOrder& order, uint64_t& number)
        : mpi_(mpi), page_(page), order_(order), number_(number), place_(mpi.place()) {
        sides_.push_back({Side::kHost, 1, {}});
        if (mpi.has_tutti()) sides_.push_back({Side::kTutti, 1, {}});
    }

    Result<Cell> run();

  private:
    [[nodiscard]] std::string lack_of_memory();
    double run_batch(Side side, uint64_t calls);
    void check_calls(Side side);
    void check_barriers(Side side);
    void calibrate(SideState& state);
    void measure();
    [[nodiscard]] bool go_on(double start, uint64_t done);
    [[nodiscard]] Times times_of(SideState& state);
    [[nodiscard]] std::optional<Error> agree_on_failure();
    void note(Side side, const Batch& batch, const Mismatch& mismatch);

    BenchMpi& mpi_;
    SharedPage& page_;
    const CellOrder& order_;
    uint64_t& number_;
    const Place place_;
    Buffers buffers_;
    std::vector<SideState> sides_;
    std::string failure_;  // on this rank; the first
};

double now_seconds() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

std::string whole(double value) {
    // Every right value is an integer, and so prints without a fraction.
    char text[64];
    std::snprintf(text, sizeof text, "%.17g", value);
    return text;
}

// The same reason on every rank, or none: whether the buffers exist on all.
std::string CellRun::lack_of_memory() {
    const uint64_t elements = order_.bytes / sizeof(double);
    const uint64_t send = send_elements(order_.collective, elements, place_.size);
    const uint64_t recv = recv_elements(order_.collective, elements, place_.size);
    const uint64_t bytes = (send + recv) * sizeof(double) * kBufferCount * place_.size;
    uint64_t limit = order_.memory_bytes;
    mpi_.bcast(&limit, sizeof limit, 0);
    if (bytes > limit) {
        return "buffers of all ranks would take " + std::to_string(bytes >> 20) + " MiB of the " +
               std::to_string(limit >> 20) + " MiB that may be used";
    }
    double failed = buffers_.allocate(send, recv) ? 0 : 1;
    mpi_.max_in_place(&failed, 1);
    return failed == 0 ? "" : "not enough memory for the buffers on some rank";
}

void CellRun::note(Side side, const Batch& batch, const Mismatch& mismatch) {
    if (!failure_.empty()) return;
    failure_ = std::string("wrong result: ") + collective_word(order_.collective) + " of " +
               format_bytes(order_.bytes) + " through " +
               (side == Side::kHost ? "the host MPI" : "Tutti") + ", rank " +
               std::to_string(place_.rank) + ", call " +
               std::to_string(mismatch.call - batch.first_call) + " of " +
               std::to_string(batch.calls) + ", root " + std::to_string(mismatch.root) +
               ": element " + std::to_string(mismatch.element) + " is " + whole(mismatch.got) +
               " instead of " + whole(mismatch.expected);
}

// Seconds on this rank. All ranks number batches and calls alike.
double CellRun::run_batch(Side side, uint64_t calls) {
    const Batch batch{order_.collective, order_.bytes / sizeof(double), number_, number_, calls};
    number_ += calls;
    fill(batch, place_, buffers_.view());
    page_.meet(mpi_);
    const double seconds = mpi_.run(side, batch, buffers_.view());
    // Whoever leaves the batch first must not poll in the host's next call and so keep those who
    // are still in it from a processor.
    page_.meet(mpi_);
    if (const auto mismatch = verify(batch, place_, buffers_.view())) note(side, batch, *mismatch);
    return seconds;
}

// Every call by itself, every root, every buffer.
void CellRun::check_calls(Side side) {
    constexpr uint64_t kBytesChecked = 64u << 20;
    const uint64_t all = std::max<uint64_t>(kBufferCount, std::min<uint32_t>(place_.size, 64));
    const uint64_t affordable = kBytesChecked / (order_.bytes * place_.size);
    const uint64_t calls = std::clamp<uint64_t>(affordable, kBufferCount, all);
    for (uint64_t i = 0; i < calls; ++i) run_batch(side, 1);
}

// A barrier has no result, but nobody may leave it before all have come.
void CellRun::check_barriers(Side side) {
    constexpr int kBarriers = 16;
    for (int i = 0; i < kBarriers; ++i) {
        const Batch batch{order_.collective, 0, number_, number_, 1};
        ++number_;
        if (page_.all_attached()) page_.arrive(place_.rank, number_);
        mpi_.run(side, batch, buffers_.view());
        if (!page_.all_attached() || !failure_.empty()) continue;
        if (const auto behind = page_.rank_behind(number_)) {
            failure_ = std::string("wrong result: rank ") + std::to_string(place_.rank) +
                       " left a barrier through " +
                       (side == Side::kHost ? "the host MPI" : "Tutti") + " before rank " +
                       std::to_string(*behind) + " had come";
        }
    }
}

// Finds how many calls make a batch long enough to be timed.
void CellRun::calibrate(SideState& state) {
    const double enough = page_.crowded() ? kCrowdedBatchSeconds : kBatchSeconds;
    const uint64_t calls_max = order_.bytes >= kFreshBytes ? kBufferCount : kCallsMax;
    while (state.calls < calls_max) {
        double seconds = run_batch(state.side, state.calls);
        mpi_.max_in_place(&seconds, 1);
        if (seconds >= enough) return;
        const double wanted =
            static_cast<double>(state.calls) * 1.25 * enough / std::max(seconds, 1e-9);
        state.calls = std::clamp(static_cast<uint64_t>(wanted), state.calls + 1, state.calls * 16);
        state.calls = std::min(state.calls, calls_max);
    }
}

// Rank 0 decides for all, since clocks differ.
bool CellRun::go_on(double start, uint64_t done) {
    unsigned char more = done < order_.batches_max &&
                         (done < kBenchBatchesMin || now_seconds() - start < order_.seconds);
    mpi_.bcast(&more, 1, 0);
    return more != 0;
}

void CellRun::measure() {
    const double start = now_seconds();
    for (uint64_t done = 0; go_on(start, done); ++done) {
        // Who comes first changes, so that neither always finds the other's traces in the caches.
        for (size_t i = 0; i < sides_.size(); ++i) {
            SideState& state = sides_[(i + done) % sides_.size()];
            state.seconds.push_back(run_batch(state.side, state.calls));
        }
    }
}

Times CellRun::times_of(SideState& state) {
    mpi_.max_in_place(state.seconds.data(), state.seconds.size());
    std::sort(state.seconds.begin(), state.seconds.end());
    const double scale = 1e6 / static_cast<double>(state.calls);
    return {quantile(state.seconds, 0.10) * scale, quantile(state.seconds, 0.50) * scale,
            quantile(state.seconds, 0.99) * scale, state.seconds.size(), state.calls};
}

std::optional<Error> CellRun::agree_on_failure() {
    // The lowest failing rank has the largest value.
    double lowest = failure_.empty() ? 0.0 : static_cast<double>(place_.size - place_.rank);
    mpi_.max_in_place(&lowest, 1);
    if (lowest == 0.0) return std::nullopt;
    char message[kMessageBytes] = {};
    failure_.copy(message, kMessageBytes - 1);
    mpi_.bcast(message, kMessageBytes, place_.size - static_cast<uint32_t>(lowest));
    return Error{ErrorCode::kSystem, message};
}

Result<Cell> CellRun::run() {
    Cell cell;
    cell.collective = order_.collective;
    cell.bytes = order_.bytes;
    cell.skipped = lack_of_memory();
    if (!cell.skipped.empty()) return cell;
    for (SideState& state : sides_) {
        if (order_.collective == TUTTI_BARRIER) {
            check_barriers(state.side);
        } else {
            check_calls(state.side);
        }
        if (auto error = agree_on_failure()) return std::move(*error);
    }
    cell.flag_us = page_.flag_us(mpi_);
    if (place_.rank == 0 && order_.bytes > 0) cell.copy_us = copy_us(order_.bytes);
    for (SideState& state : sides_) calibrate(state);
    measure();
    for (SideState& state : sides_) {
        const Times times = times_of(state);
        if (state.side == Side::kHost) {
            cell.host = times;
        } else {
            cell.tutti = times;
        }
    }
    if (auto error = agree_on_failure()) return std::move(*error);
    return cell;
}

}  // namespace

double quantile(const std::vector<double>& sorted, double share) {
    const double position = std::ceil(share * static_cast<double>(sorted.size())) - 1;
    return sorted[static_cast<size_t>(std::max(position, 0.0))];
}

Result<Cell> measure_cell(BenchMpi& mpi, SharedPage& page, const CellOrder& order,
                          uint64_t& next_number) {
    return CellRun(mpi, page, order, next_number).run();
}

}  // namespace tutti::cli
