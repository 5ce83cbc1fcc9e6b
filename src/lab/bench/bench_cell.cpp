// SPDX-License-Identifier: BSD-3-Clause
#include "lab/bench/bench_cell.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <cmath>
#include <thread>

#include "base/collectives.h"
#include "base/text.h"
#include "lab/bench/bench_buffers.h"
#include "lab/bench/bench_method.h"

namespace tutti::bench {
namespace {

// Long enough that the calls find what those before them left, and nothing of the other side's
// batch or of the checks.
constexpr double kBatchSeconds = 2e-3;
constexpr uint64_t kBatchCallsMin = 8;
// Of buffers that are used once, and where little time is to be spent.
constexpr double kShortBatchSeconds = 200e-6;
// One call in so many more is made before those that are timed, and at least so many: they bring
// buffers and rings back into the caches.
constexpr uint64_t kTimedForOneUntimed = 4;
constexpr uint64_t kUntimedCallsMin = 2;
constexpr uint64_t kCallsMax = 1u << 17;
// Of a brief cell; calls that take so long vary little from one to the next.
constexpr uint64_t kBriefRounds = 3;
// Programs have few roots; and plans of many would be made anew while time is taken.
constexpr uint32_t kBriefRoots = 8;
constexpr double kLongSeconds = 50e-3;
constexpr size_t kMessageBytes = 256;

// What one side has measured so far.
struct SideState {
    Side side;
    std::string algorithm;  // empty: by the rules
    std::string refused;    // why it cannot run
    uint64_t calls = 1;     // a batch
    std::vector<double> seconds;
    std::vector<Stay> stays = {};  // of skewed calls
};

class CellRun {
  public:
    CellRun(BenchMpi& mpi, SharedPage& page, const CellOrder& order, uint64_t& number)
        : mpi_(mpi), page_(page), order_(order), number_(number), place_(mpi.place()) {
        sides_.push_back({Side::kHost, {}, {}, 1, {}});
        if (!mpi.has_tutti()) return;
        if (!order.is_brief) sides_.push_back({Side::kTutti, {}, {}, 1, {}});
        for (const std::string& algorithm : order.algorithms) {
            sides_.push_back({Side::kTutti, algorithm, {}, 1, {}});
        }
    }

    Result<Cell> run();

  private:
    [[nodiscard]] std::string lack_of_memory();
    double run_batch(const SideState& state, uint64_t calls, uint64_t untimed = 0);
    [[nodiscard]] uint64_t untimed_calls(uint64_t timed) const;
    void run_skewed(SideState& state, uint64_t repetition);
    void put_skew(Cell& cell) const;
    void check_calls(const SideState& state);
    void check_barriers(const SideState& state);
    void choose(SideState& state);
    void calibrate(SideState& state);
    void measure();
    [[nodiscard]] bool go_on(double start, uint64_t done);
    [[nodiscard]] Times times_of(const SideState& state, bool of_late_rank);
    void put_times(Cell& cell);
    [[nodiscard]] std::optional<Error> agree_on_failure();
    void note(const SideState& state, const Batch& batch, const Mismatch& mismatch);
    [[nodiscard]] const Buffers& buffers_of(const SideState& state) const {
        return buffers_[are_apart_ && state.side == Side::kTutti ? 1 : 0];
    }
    [[nodiscard]] bool is_late() const { return order_.late && order_.late->rank == place_.rank; }

    BenchMpi& mpi_;
    SharedPage& page_;
    const CellOrder& order_;
    uint64_t& number_;
    const RankOfSize place_;
    // By side: lines that the others hold from the host's calls, which may read where data stand,
    // would be dear to write for Tutti's, and the other way round. Where memory allows two.
    std::array<Buffers, 2> buffers_;
    bool are_apart_ = false;
    std::vector<SideState> sides_;
    std::optional<SkewedCalls> skewed_;   // while time is taken
    std::optional<uint64_t> repetition_;  // of a skewed call
    Stay stay_;                           // in the batch that was run last
    std::string forced_;                  // the algorithm that Tutti's calls run by now
    std::string failure_;                 // on this rank; the first
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
    const CallBytes call{send_elements(order_.collective, elements, place_.size) * sizeof(double),
                         recv_elements(order_.collective, elements, place_.size) * sizeof(double)};
    const uint32_t count = order_.fresh ? fresh_buffer_count(call) : kReusedBuffers;
    const uint64_t bytes = Buffers::bytes_of_all(call, count, order_.fresh) * place_.size;
    uint64_t limit = order_.memory_bytes;
    mpi_.bcast(&limit, sizeof limit, 0);
    if (bytes > limit) {
        return "buffers of all ranks would take " + std::to_string(bytes >> 20) + " MiB of the " +
               std::to_string(limit >> 20) + " MiB that may be used";
    }
    // Fresh ones no cache holds.
    are_apart_ = !order_.fresh && sides_.size() > 1 && 2 * bytes <= limit;
    double failed = 0;
    for (size_t side = 0; side < (are_apart_ ? 2 : 1); ++side) {
        if (!buffers_[side].allocate(call, count, order_.fresh)) failed = 1;
    }
    mpi_.max_in_place(&failed, 1);
    return failed == 0 ? "" : "not enough memory for the buffers on some rank";
}

bool is_apart(const SideState& state) { return state.algorithm.ends_with(kApart); }

// How people call a side.
std::string through(const SideState& state) {
    if (state.side == Side::kHost) return "through your MPI";
    return "through Tutti" + (state.algorithm.empty() ? "" : " by " + state.algorithm);
}

void CellRun::note(const SideState& state, const Batch& batch, const Mismatch& mismatch) {
    if (!failure_.empty()) return;
    failure_ = "wrong result: " + std::string(collective_name(order_.collective)) + " of " +
               format_bytes(order_.bytes) + " " + through(state) + ", rank " +
               std::to_string(place_.rank) + ", call " +
               std::to_string(mismatch.call - batch.first_call) + " of " +
               std::to_string(batch.calls) + ", root " + std::to_string(mismatch.root) +
               ": element " + std::to_string(mismatch.element) + " is " + whole(mismatch.got) +
               " instead of " + whole(mismatch.expected);
}

// Planning is no part of what is timed.
void CellRun::choose(SideState& state) {
    if (state.side == Side::kHost || forced_ == state.algorithm) return;
    state.refused = mpi_.force(order_.collective, order_.bytes, state.algorithm);
    if (state.refused.empty()) forced_ = state.algorithm;
}

// Seconds on this rank. All ranks number batches and calls alike.
double CellRun::run_batch(const SideState& state, uint64_t calls, uint64_t untimed) {
    Batch batch{order_.collective, order_.bytes / sizeof(double), number_, number_, untimed + calls,
                order_.paper};
    if (order_.is_brief) batch.roots = kBriefRoots;
    batch.untimed = untimed;
    batch.is_ragged = order_.is_ragged;
    number_ += batch.calls;
    const Buffers& buffers = buffers_of(state);
    fill(batch, place_, buffers.view());
    if (order_.fresh) buffers.flush(batch);
    page_.meet(mpi_);
    if (is_late()) {
        std::this_thread::sleep_for(
            std::chrono::duration<double, std::milli>(order_.late->milliseconds));
    }
    stay_.ready_ns = monotonic_ns();
    if (repetition_) skewed_->wait(*repetition_, stay_.ready_ns);
    stay_.entered_ns = monotonic_ns();
    const double seconds = mpi_.run(state.side, is_apart(state), batch, buffers.view());
    stay_.left_ns = monotonic_ns();
    // Whoever leaves the batch first must not poll in the host's next call and so keep those who
    // are still in it from a processor.
    page_.meet(mpi_);
    if (const auto mismatch = verify(batch, place_, buffers.view())) {
        note(state, batch, *mismatch);
    }
    return seconds;
}

// All ways meet the same delays.
void CellRun::run_skewed(SideState& state, uint64_t repetition) {
    repetition_ = repetition;
    run_batch(state, 1);
    repetition_.reset();
    state.stays.push_back(stay_);
}

// Every call by itself, every root, every buffer.
void CellRun::check_calls(const SideState& state) {
    constexpr uint64_t kBytesChecked = 64u << 20;
    const uint64_t few = buffers_of(state).view().count();
    const uint64_t all = std::max<uint64_t>(few, std::min<uint32_t>(place_.size, 64));
    const uint64_t affordable = kBytesChecked / (order_.bytes * place_.size);
    const uint64_t calls = std::clamp<uint64_t>(affordable, few, all);
    for (uint64_t i = 0; i < calls; ++i) run_batch(state, 1);
}

// A barrier has no result, but nobody may leave it before all have come.
void CellRun::check_barriers(const SideState& state) {
    constexpr int kBarriers = 16;
    for (int i = 0; i < kBarriers; ++i) {
        const Batch batch{order_.collective, 0, number_, number_, 1};
        ++number_;
        if (page_.all_attached()) page_.arrive(place_.rank, number_);
        mpi_.run(state.side, is_apart(state), batch, buffers_of(state).view());
        if (!page_.all_attached() || !failure_.empty()) continue;
        if (const auto behind = page_.rank_behind(number_)) {
            failure_ = std::string("wrong result: rank ") + std::to_string(place_.rank) +
                       " left a barrier " + through(state) + " before rank " +
                       std::to_string(*behind) + " had come";
        }
    }
}

// Those that come before the timed ones. Calls that find their buffers in memory, or are timed one
// by one, have none.
uint64_t CellRun::untimed_calls(uint64_t timed) const {
    if (order_.fresh || order_.is_brief || order_.paper || order_.late || order_.skew) return 0;
    return std::max(timed / kTimedForOneUntimed, kUntimedCallsMin);
}

// Finds how many calls make a batch long enough to be timed.
void CellRun::calibrate(SideState& state) {
    if (order_.late || order_.skew) return;  // ranks are late for every call, and a batch is one
    choose(state);
    if (order_.paper) {
        state.calls = paper_calls(order_.bytes);
        run_batch(state, state.calls);  // warm
        return;
    }
    const bool once = order_.bytes > 0 && order_.fresh;
    const bool is_long = !once && !order_.is_brief;
    const double enough = is_long || page_.crowded() ? kBatchSeconds : kShortBatchSeconds;
    const uint64_t calls_max = once ? buffers_of(state).view().count() : kCallsMax;
    if (is_long) state.calls = kBatchCallsMin;
    while (state.calls < calls_max) {
        double seconds = run_batch(state, state.calls, untimed_calls(state.calls));
        mpi_.max_in_place(&seconds, 1);
        if (order_.is_brief && seconds >= kLongSeconds) state.seconds.push_back(seconds);
        if (seconds >= enough) return;
        const double wanted =
            static_cast<double>(state.calls) * 1.25 * enough / std::max(seconds, 1e-9);
        state.calls = std::clamp(static_cast<uint64_t>(wanted), state.calls + 1, state.calls * 16);
        state.calls = std::min(state.calls, calls_max);
    }
}

// Rank 0 decides for all, since clocks differ.
bool CellRun::go_on(double start, uint64_t done) {
    const bool has_time = order_.paper || now_seconds() - start < order_.seconds;
    const uint64_t least = order_.is_brief ? kBriefRounds : kBenchBatchesMin;
    unsigned char more = done < order_.batches_max && (done < least || has_time);
    mpi_.bcast(&more, 1, 0);
    return more != 0;
}

void CellRun::measure() {
    const double start = now_seconds();
    uint64_t done = 0;
    if (std::ranges::all_of(sides_, [](const SideState& state) {
            return !state.refused.empty() || !state.seconds.empty();
        })) {
        done = 1;
    }
    for (; go_on(start, done); ++done) {
        // Who comes first changes, so that neither always finds the other's traces in the caches.
        for (size_t i = 0; i < sides_.size(); ++i) {
            SideState& state = sides_[(i + done) % sides_.size()];
            if (!state.refused.empty()) continue;
            choose(state);
            if (order_.skew) {
                run_skewed(state, done);
                continue;
            }
            const uint64_t untimed = untimed_calls(state.calls);
            state.seconds.push_back(run_batch(state, state.calls, untimed));
        }
    }
}

Times CellRun::times_of(const SideState& state, bool of_late_rank) {
    std::vector<double> seconds = skewed_ ? skewed_->delays_s(state.stays) : state.seconds;
    if (order_.late && is_late() != of_late_rank) std::fill(seconds.begin(), seconds.end(), 0.0);
    if (!skewed_) mpi_.max_in_place(seconds.data(), seconds.size());
    std::sort(seconds.begin(), seconds.end());
    const double scale = 1e6 / static_cast<double>(state.calls);
    Times times{quantile(seconds, 0.10) * scale, quantile(seconds, 0.50) * scale,
                quantile(seconds, 0.99) * scale, seconds.size(), state.calls};
    if (order_.paper) {
        const Estimate all = estimate(seconds);
        times.mean_us = Estimate{all.mean * scale, all.half_width * scale};
    }
    if (skewed_) {
        std::vector<double> late = skewed_->late_s(state.stays);
        std::sort(late.begin(), late.end());
        times.late_us = quantile(late, 0.50) * 1e6;
    }
    return times;
}

void CellRun::put_times(Cell& cell) {
    for (const SideState& state : sides_) {
        AlgorithmTimes of{state.algorithm, state.refused, {}, {}};
        if (of.refused.empty()) {
            of.times = times_of(state, false);
            if (order_.late) of.late = times_of(state, true);
        }
        if (!state.algorithm.empty()) {
            cell.algorithms.push_back(of);
            continue;
        }
        const bool is_host = state.side == Side::kHost;
        (is_host ? cell.host : cell.tutti.emplace()) = of.times;
        if (order_.late) (is_host ? cell.host_late : cell.tutti_late) = of.late;
    }
}

void CellRun::put_skew(Cell& cell) const {
    cell.skew = SkewedCell{order_.skew->most_ns,
                           static_cast<double>(clock_error_ns(skewed_->clocks())) / 1000,
                           skewed_->clocks()};
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
    // Of the vector forms, in bytes.
    if (has_lengths(order_.collective) && order_.bytes * place_.size > INT_MAX) {
        cell.skipped = "offsets of more than an int";
    }
    if (!cell.skipped.empty()) return cell;
    for (SideState& state : sides_) {
        choose(state);
        if (!state.refused.empty()) continue;
        if (order_.collective == TUTTI_BARRIER) {
            check_barriers(state);
        } else if (!order_.is_brief) {
            check_calls(state);
        }
        if (auto error = agree_on_failure()) return std::move(*error);
    }
    if (place_.rank == 0 && order_.bytes > 0) cell.copy_us = copy_us(order_.bytes);
    for (SideState& state : sides_) {
        if (state.refused.empty()) calibrate(state);
    }
    const auto before_us = page_.flag_us(mpi_);
    if (order_.skew) {
        const CellSkew& skew = *order_.skew;
        const adapt::Delays delays{skew.skew,   skew.most_ns,        skew.seed,
                                   place_.size, skew.hosts->count(), skew.recorded};
        skewed_.emplace(mpi_, *skew.hosts, delays, page_.crowded());
    }
    measure();
    if (skewed_) {
        skewed_->end();
        put_skew(cell);
    }
    const auto after_us = page_.flag_us(mpi_);
    if (before_us && after_us) cell.flag = {*before_us, *after_us};
    put_times(cell);
    if (!forced_.empty()) mpi_.force(order_.collective, order_.bytes, {});
    if (auto error = agree_on_failure()) return std::move(*error);
    return cell;
}

}  // namespace

double quantile(const std::vector<double>& sorted, double share) {
    const double position = std::ceil(share * static_cast<double>(sorted.size())) - 1;
    return sorted[static_cast<size_t>(std::max(position, 0.0))];
}

uint64_t memory_for_buffers() {
    const long pages = sysconf(_SC_AVPHYS_PAGES);
    const long page_bytes = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page_bytes <= 0) return 1ull << 30;
    return static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_bytes) / 2;
}

void warm_up(BenchMpi& mpi, uint64_t warmup_calls, uint64_t& number) {
    constexpr uint64_t kMore = 8;
    uint64_t calls = std::min<uint64_t>(warmup_calls, 100'000) + kMore;
    mpi.bcast(&calls, sizeof calls, 0);
    const Batch batch{TUTTI_BARRIER, 0, number, number, calls};
    number += calls;
    mpi.run(mpi.has_tutti() ? Side::kTutti : Side::kHost, false, batch, BatchBuffers{});
}

Result<Cell> measure_cell(BenchMpi& mpi, SharedPage& page, const CellOrder& order,
                          uint64_t& next_number) {
    return CellRun(mpi, page, order, next_number).run();
}

}  // namespace tutti::bench
