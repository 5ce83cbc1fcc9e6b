// SPDX-License-Identifier: BSD-3-Clause
// The host MPI's own calls beside the likeliest algorithms, the shortest first, as long as there is
// time.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/assert.h"
#include "base/files/text_file.h"
#include "base/text.h"
#include "base/topo/read/read.h"
#include "lab/bench/bench_cell.h"
#include "lab/tune/job/tune_job.h"
#include "lab/tune/tuned_calls.h"
#include "plan/select/rules.h"

namespace tutti::tune {
namespace {

constexpr uint64_t kWarmupCalls = 16;
// Of a cell with short calls, so that they are told from what disturbs them.
constexpr double kCellSecondsMax = 0.6;
constexpr uint64_t kBatchesMax = 25;
// What a cell of calls that are so long takes, in calls of each side: see CellOrder::is_brief.
constexpr double kLongCalls = 4;
// Neither a price nor the host's own time is known beforehand.
constexpr double kDoubt = 4;
constexpr size_t kTextBytesMax = 1024;

double seconds_of(uint64_t ns) { return static_cast<double>(ns) / 1e9; }

// Of all sides of a cell together.
double expected_seconds(const PlannedCall& call) {
    return seconds_of(call.ns) * kLongCalls * static_cast<double>(call.candidates.size() + 1);
}

class CallsJob {
  public:
    explicit CallsJob(TuneJob& job) : job_(job), start_ns_(job.clock.now_ns()), page_(job.mpi) {}
    Result<Done> run();

  private:
    std::string plan();
    [[nodiscard]] double left() const {
        return static_cast<double>(job_.options.seconds) -
               seconds_of(job_.clock.now_ns() - start_ns_);
    }
    uint32_t next_call(uint32_t at);
    bench::CellOrder order_of(uint32_t at);
    Result<Done> measure(uint32_t at);
    void take(const PlannedCall& call, const bench::Cell& cell);
    void note_multicasts();
    void keep_former();
    [[nodiscard]] std::string write();
    void tell() const;

    TuneJob& job_;
    const uint64_t start_ns_;
    bench::SharedPage page_;
    uint64_t number_ = 0;
    // Of rank 0.
    std::vector<PlannedCall> calls_;
    Tuned tuned_;
    std::vector<MeasuredCall> measured_;
    size_t measured_rules_ = 0;  // of tuned_.rules the first
    std::vector<PlannedCall> left_out_;
    // Than predicted calls of each collective were.
    std::vector<double> slower_ = std::vector<double>(TUTTI_COLLECTIVE_COUNT, 1);
    bool has_run_ = false;  // some candidate
    std::string refused_;   // why the first of those that could not
};

// What the first job wrote, and the calls that follow from it. Why not, or an empty text.
std::string CallsJob::plan() {
    const std::string& name = job_.options.from;
    const auto text = files::read_text_file(name, select::kRulesTextBytesMax);
    const auto rules = text ? select::Rules::parse(text.value(), name) : text.error();
    if (!rules) return "rank 0, on " + job_.hosts.front() + ": " + rules.error().message;
    tuned_ = job_.tuned();
    tuned_.parameters = rules.value().parameters();
    if (rules.value().has_fabric()) {
        auto switches = topo::read_topology(text.value(), name);
        if (!switches) return switches.error().message;
        tuned_.switches = std::move(switches.value());
    }
    if (job_.placement.nodes() > 1) {
        const auto tree = job_.described(tuned_.switches ? name : "");
        if (!tree) return tree.error().message;
        if (tree.value()) job_.placement.set_switches(*tree.value());
    }
    calls_ = plan_calls(
        job_.placement,
        select::cluster_of(job_.placement, tuned_.parameters.value_or(price::ClusterParameters())));
    return {};
}

// The first from there on that there is time for; their number: none.
uint32_t CallsJob::next_call(uint32_t at) {
    for (; at < calls_.size(); ++at) {
        if (expected_seconds(calls_[at]) * slower_[calls_[at].collective] < left()) break;
        left_out_.push_back(calls_[at]);
    }
    return at;
}

// All ranks measure the same.
bench::CellOrder CallsJob::order_of(uint32_t at) {
    struct {
        tutti_collective collective = TUTTI_BARRIER;
        uint64_t bytes = 0;
        double seconds = 0;
        double silence = 0;
        std::array<char, kTextBytesMax> algorithms{};
    } told;
    if (job_.speaks) {
        const PlannedCall& call = calls_[at];
        told.collective = call.collective;
        told.bytes = call.bytes;
        const auto cells = static_cast<double>(calls_.size() - at);
        told.seconds = std::clamp(left() / 2 / cells, 0.05, kCellSecondsMax);
        told.silence =
            kTuneSilenceSeconds + kDoubt * expected_seconds(call) * slower_[call.collective];
        std::string names;
        for (const Candidate& one : call.candidates) {
            names += (names.empty() ? "" : " ") + one.text();
        }
        TUTTI_ASSERT(names.size() < kTextBytesMax, "candidates are few");
        names.copy(told.algorithms.data(), told.algorithms.size() - 1);
    }
    job_.mpi.bcast(&told, sizeof told, 0);
    job_.audience.expect_word_within(told.silence);
    bench::CellOrder order{.collective = told.collective,
                           .bytes = told.bytes,
                           .batches_max = kBatchesMax,
                           .seconds = told.seconds,
                           .memory_bytes = job_.memory_bytes()};
    order.is_brief = true;
    for (const std::string_view name : split(told.algorithms.data(), ' ')) {
        order.algorithms.emplace_back(name);
    }
    return order;
}

Result<Done> CallsJob::measure(uint32_t at) {
    const uint64_t begun_ns = job_.clock.now_ns();
    const auto cell = bench::measure_cell(job_.mpi, page_, order_of(at), number_);
    if (!cell) return cell.error();
    if (!job_.speaks) return Done{};
    const PlannedCall& call = calls_[at];
    take(call, cell.value());
    const double took = seconds_of(job_.clock.now_ns() - begun_ns);
    // Short calls take as long as a cell does.
    if (took > 2 * kCellSecondsMax) {
        slower_[call.collective] = std::max(took / expected_seconds(call), 0.25);
    }
    return Done{};
}

void CallsJob::take(const PlannedCall& call, const bench::Cell& cell) {
    if (!cell.skipped.empty()) {
        left_out_.push_back(call);
        return;
    }
    MeasuredCall& measured =
        measured_.emplace_back(MeasuredCall{call.collective, call.bytes, cell.host.p50_us, {}});
    for (size_t i = 0; i < cell.algorithms.size() && i < call.candidates.size(); ++i) {
        if (const std::string& why = cell.algorithms[i].refused; !why.empty()) {
            if (refused_.empty()) refused_ = why;
            continue;
        }
        has_run_ = true;
        measured.ours.push_back({call.candidates[i], cell.algorithms[i].times.p50_us});
    }
}

// A broadcast's times are what one multicast takes.
void CallsJob::note_multicasts() {
    if (!tuned_.parameters) return;
    double few_us = 0;
    double most_us = 0;
    uint64_t most = 0;
    for (const MeasuredCall& call : measured_) {
        if (call.collective != TUTTI_BCAST) continue;
        for (const Timed& one : call.ours) {
            if (one.candidate.algorithm != "multicast") continue;
            if (few_us == 0) few_us = one.us;
            most_us = one.us;
            most = call.bytes;
        }
    }
    if (most_us <= few_us || few_us <= 0) return;
    tuned_.parameters->multicast.latency_ns = static_cast<uint64_t>(few_us * 1000);
    const double mbit = static_cast<double>(most) * 8 / (most_us - few_us);
    tuned_.parameters->multicast.mbit = std::max<uint64_t>(static_cast<uint64_t>(mbit), 1);
}

// What was measured by jobs of other shapes. What is there and no tuned file goes.
void CallsJob::keep_former() {
    const auto former = read_rules_file(job_.options.into);
    if (!former) return;
    for (select::Rule& rule : kept_rules(former.value(), tuned_.fingerprint, job_.shape())) {
        tuned_.rules.push_back(std::move(rule));
    }
}

std::string CallsJob::write() {
    if (measured_.empty()) return "no call could be measured in this time";
    if (!has_run_) return "Tutti could run no call: " + refused_;
    std::ranges::stable_sort(measured_, {}, &MeasuredCall::bytes);
    note_multicasts();
    tuned_.rules = rules_of(measured_, left_out_, job_.shape());
    measured_rules_ = tuned_.rules.size();
    keep_former();
    return job_.write(tuned_);
}

void CallsJob::tell() const {
    const auto hosts_own = std::ranges::count_if(
        std::span(tuned_.rules).first(measured_rules_),
        [](const select::Rule& rule) { return rule.algorithm == select::kHostMpi; });
    std::string text = fmt::format("calls       {} of {} measured in {:.0f} s", measured_.size(),
                                   calls_.size(), seconds_of(job_.clock.now_ns() - start_ns_));
    if (measured_.size() < calls_.size()) text += "; the others take too long or too much memory";
    job_.audience.say(text);
    text = fmt::format("rules       {}, of which {} leave calls to your MPI", measured_rules_,
                       hosts_own);
    if (tuned_.rules.size() > measured_rules_) {
        text += fmt::format("; {} stay, of other jobs", tuned_.rules.size() - measured_rules_);
    }
    job_.audience.say(text);
}

Result<Done> CallsJob::run() {
    job_.audience.expect_word_within(kTuneSilenceSeconds);
    if (!job_.mpi.has_tutti()) return Error{ErrorCode::kArgument, "Tutti is not here"};
    if (const auto planned = job_.agree(job_.speaks ? plan() : ""); !planned) return planned;
    bench::warm_up(job_.mpi, kWarmupCalls, number_);
    for (uint32_t at = 0;; ++at) {
        uint32_t all = 0;
        if (job_.speaks) {
            all = static_cast<uint32_t>(calls_.size());
            at = next_call(at);
            if (at < all) {
                job_.audience.show_progress(fmt::format("{} of {}: {} of {} ...", at + 1, all,
                                                        collective_name(calls_[at].collective),
                                                        format_bytes(calls_[at].bytes)));
            }
        }
        unsigned char more = at < all ? 1 : 0;
        job_.mpi.bcast(&more, 1, 0);
        if (more == 0) break;
        if (const auto done = measure(at); !done) return done;
    }
    const auto written = job_.agree(job_.speaks ? write() : "");
    if (written) tell();
    return written;
}

}  // namespace

Result<Done> tune_calls(TuneJob& job) { return CallsJob(job).run(); }

}  // namespace tutti::tune
