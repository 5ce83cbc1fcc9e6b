// SPDX-License-Identifier: BSD-3-Clause
// What messages take between this job's hosts, and which switches these hang on.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "base/topo/fabric_of_tree.h"
#include "lab/bench/bench_limits.h"
#include "lab/bench/experiments.h"
#include "lab/tune/job/tune_job.h"
#include "run/node/kernels/kernels.h"

namespace tutti::tune {
namespace {

constexpr uint64_t kMoved = 64u << 10;  // bytes, of which a copy and a folding are timed
constexpr uint32_t kFoldings = 50;
// Fewer hosts have no switches that a survey could tell.
constexpr uint32_t kSurveyedMin = 4;
// Of the time that there is; what links take is measured in some seconds.
constexpr double kSurveyShare = 0.8;

// Bytes per second of a sum of doubles, the fastest of some.
uint64_t fold_bytes_per_s(Clock& clock) {
    const node::Kernel fold =
        node::find_kernel(TUTTI_DOUBLE, TUTTI_SUM, node::best_isa(IsaChoice::kAuto));
    std::vector<double> left(kMoved / sizeof(double), 1);
    std::vector<double> right(left);
    uint64_t best_ns = UINT64_MAX;
    for (uint32_t i = 0; i < kFoldings; ++i) {
        const uint64_t start_ns = clock.now_ns();
        fold(left.data(), left.data(), right.data(), left.size());
        best_ns = std::min(best_ns, clock.now_ns() - start_ns);
    }
    return kMoved * kNsPerSecond / std::max<uint64_t>(best_ns, 1);
}

// Collective; on rank 0.
price::NodeParameters node_parameters(TuneJob& job) {
    price::NodeParameters node;
    bench::SharedPage page(job.mpi);
    if (const auto flag = page.flag_us(job.mpi)) {
        node.flag_ns = std::max<uint64_t>(static_cast<uint64_t>(*flag * 1000), 1);
    }
    if (!job.speaks) return node;
    node.copy_bytes_per_s = static_cast<uint64_t>(static_cast<double>(kMoved) * 1e6 /
                                                  std::max(bench::copy_us(kMoved), 1e-3));
    node.reduce_bytes_per_s = fold_bytes_per_s(job.clock);
    return node;
}

// "4 with 4, 4, 4 and 4 hosts", at most some.
std::string groups_text(const topo::Fabric& fabric) {
    constexpr size_t kToldMax = 16;
    std::vector<uint32_t> sizes = fabric.hosts_of_switch();
    std::erase(sizes, 0u);
    const size_t all = sizes.size();
    sizes.resize(std::min(all, kToldMax));
    return fmt::format("{} with {}{} hosts", all, fmt::join(sizes, ", "),
                       all > kToldMax ? " ..." : "");
}

// What the survey said, for people.
std::string survey_text(const survey::Found& found) {
    switch (found.verdict) {
        case survey::Found::Verdict::kGroups:
            return groups_text(found.fabric) + ", found by measuring";
        case survey::Found::Verdict::kOneSwitch:
            return "one, as far as measuring shows";
        default:
            return "measuring does not show it: " + found.reason;
    }
}

class LinksJob {
  public:
    explicit LinksJob(TuneJob& job) : job_(job), hosts_(job.placement.nodes()) {}
    Result<Done> run();

  private:
    std::string read_description();
    Result<Done> decide();
    Result<Done> find_switches();
    Result<Done> measure();
    [[nodiscard]] std::string read_former() const;

    TuneJob& job_;
    const uint32_t hosts_;
    bench::SurveyBuffers buffers_;
    std::optional<bench::Experiments> experiments_;
    Tuned tuned_;
    topo::Fabric fabric_;  // as far as known
    bool is_described_ = false;
};

// A description goes before what can be measured. What is wrong with it, or an empty text.
std::string LinksJob::read_description() {
    const auto described = job_.described("");
    if (!described) return described.error().message;
    if (!described.value()) return {};
    const auto fabric = topo::fabric_of(*described.value(), {});
    if (!fabric) return fabric.error().message;
    fabric_ = fabric.value();
    is_described_ = true;
    return {};
}

Result<Done> LinksJob::find_switches() {
    if (is_described_) {
        job_.audience.say("switches    " + groups_text(fabric_) + ", as described");
        return Done{};
    }
    if (hosts_ < kSurveyedMin) return Done{};
    job_.audience.show_progress("looking for switches ...");
    survey::Limits limits;
    limits.ns_max = static_cast<uint64_t>(static_cast<double>(job_.options.seconds * kNsPerSecond) *
                                          kSurveyShare);
    const auto found = bench::find_groups(*experiments_, hosts_, limits, {});
    if (!found) return found.error();
    job_.audience.say("switches    " + survey_text(found.value()));
    if (found.value().verdict != survey::Found::Verdict::kGroups) return Done{};
    fabric_ = found.value().fabric;
    auto topology = topology_of(fabric_, job_.hosts);
    if (!topology) return topology.error();
    tuned_.switches = std::move(topology.value());
    return Done{};
}

Result<Done> LinksJob::measure() {
    job_.audience.show_progress("measuring links ...");
    const auto figures = survey::measure_links(
        fabric_, [&](const survey::Experiment& one) { return experiments_->make(one); });
    if (!figures) return figures.error();
    const survey::LinkFigures& f = figures.value();
    tuned_.parameters = parameters_of(f, *tuned_.parameters);
    std::string text =
        fmt::format("links       {}, {:.4g} Mbit/s, {} a message, eager up to {}",
                    format_duration(f.latency_ns), static_cast<double>(f.bits_per_s) / 1e6,
                    format_duration(f.post_ns), format_bytes(f.eager_bytes));
    if (f.burst_bytes != 0) text += fmt::format(", bursts of {} B", f.burst_bytes);
    if (f.both_ways_permille > 1000) {
        text += fmt::format(", both ways {:.2f}x", f.both_ways_permille / 1000.0);
    }
    if (f.long_both_ways_permille > 1000) {
        text += fmt::format(", of long messages {:.2f}x", f.long_both_ways_permille / 1000.0);
    }
    if (f.long_in_turn) text += ", long messages in turn";
    job_.audience.say(text);
    if (f.hop_ns != 0) {
        job_.audience.say(fmt::format("between     {} more a link, {}{:.4g} Mbit/s each",
                                      format_duration(f.hop_ns), f.is_trunk_full ? "" : "at least ",
                                      static_cast<double>(f.trunk_bits_per_s) / 1e6));
    }
    return Done{};
}

Result<Done> LinksJob::decide() {
    if (const auto done = find_switches(); !done) return done;
    return measure();
}

// Another cluster's, or another MPI's, is not written over unless it is named.
std::string LinksJob::read_former() const {
    if (job_.options.former.empty()) return {};
    const auto rules = read_rules_file(job_.options.former);
    if (!rules || !rules.value().tuned()) return {};
    const std::string other = select::difference(*rules.value().tuned(), tuned_.fingerprint);
    if (other.empty()) return {};
    return fmt::format("{}: {}; name a file by -o", printable(job_.options.former), other);
}

Result<Done> LinksJob::run() {
    const auto is_alive = [this] { job_.audience.expect_word_within(kTuneSilenceSeconds); };
    is_alive();
    tuned_ = job_.tuned();
    const auto former = job_.agree(job_.speaks ? read_former() : "");
    if (!former) return former;
    job_.audience.say(fmt::format("job         {}; {}", job_.text(), tuned_.fingerprint.mpi));
    if (hosts_ > 1) {
        fabric_ = topo::Fabric::one_switch(hosts_);
        const auto read = job_.agree(job_.speaks ? read_description() : "");
        if (!read) return read;
    }
    const price::NodeParameters node = node_parameters(job_);
    if (hosts_ > 1) {
        tuned_.parameters.emplace().node = node;
        experiments_.emplace(job_.mpi, job_.rank_of_host, survey::Limits().bytes_max,
                             bench::SurveyTimes{}, job_.clock, buffers_, is_alive);
        if (!experiments_->decides()) {
            if (const auto served = experiments_->serve(); !served) return served;
        } else {
            // The others have the same error, or are ended with this rank.
            if (const auto done = decide(); !done) return done;
            experiments_->end();
        }
    }
    return job_.agree(job_.speaks ? job_.write(tuned_) : "");
}

}  // namespace

Result<Done> tune_links(TuneJob& job) { return LinksJob(job).run(); }

}  // namespace tutti::tune
