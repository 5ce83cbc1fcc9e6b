// SPDX-License-Identifier: BSD-3-Clause
#include "run/engine/arrival_facts.h"

#include <algorithm>

#include "base/collectives.h"

namespace tutti::engine {
namespace {

void add_times(FactRow& row, const std::string& name, uint64_t sum_ns, uint64_t count,
               uint64_t max_ns) {
    const double mean_s = static_cast<double>(sum_ns) * 1e-9 / static_cast<double>(count);
    row.add(name + "/mean_s", mean_s).in(TUTTI_UNIT_SECONDS);
    row.add_seconds(name + "/max_s", max_ns);
}

// The ranks that were last most often, each with a lower bound of its samples.
void add_last(FactRow& row, const adapt::LastOnes& last_ones, const HostOf& host_of) {
    row.add("last/", nullptr);
    uint32_t listed = 0;
    for (const adapt::LastOnes::Place& place : last_ones.places()) {
        if (place.at_least() == 0) break;
        const std::string name = "last/" + std::to_string(listed++);
        row.add(name + "/rank", uint64_t{place.rank}).in(TUTTI_UNIT_RANK);
        row.add(name + "/host", host_of(place.rank));
        row.add(name + "/samples", place.at_least());
    }
}

}  // namespace

// In rooted calls nobody knows who waited for whom, so there are no words for people.
FactRow facts_of(const ArrivalStory& story, const HostOf& host_of) {
    const adapt::ArrivalFigures& figures = story.figures;
    const double waited_ns = static_cast<double>(figures.waited_ns) * story.calls_per_sample;
    FactRow row;
    row.subject = "arrivals/calls";
    row.weight = static_cast<uint64_t>(waited_ns);
    row.is_told = story.rank == 0;
    row.add("collective", std::string(collective_name(story.collective)));
    row.add("ranks", uint64_t{story.ranks});
    row.add("samples", figures.samples);
    row.add("calls_per_sample", story.calls_per_sample);
    add_times(row, "spread", figures.spread_ns, figures.samples, figures.spread_ns_max);
    if (figures.delay_samples > 0) {
        add_times(row, "synchronization_delay", figures.delay_ns, figures.delay_samples,
                  figures.delay_ns_max);
    }
    row.add("waited_s", waited_ns * 1e-9).in(TUTTI_UNIT_SECONDS);
    row.add_seconds("clock_error_s", story.clock_error_ns);
    add_last(row, figures.last_ones, host_of);
    if (story.follows_since > 0) row.add("follows_since_call", story.follows_since);
    if (figures.waited_ns == 0 || row.find("last/0/rank") == nullptr) return row;
    row.get("collective")
        ->say(
            "late: rank {last/0/rank} on {last/0/host} was last in {last/0/samples} of {samples} "
            "sampled {}s of {ranks:rank}, on average {spread/mean_s} after the first");
    if (Fact* since = row.get("follows_since_call")) {
        since->say("; from call {} on short ones are released by the last rank to come");
    }
    return row;
}

FactRow own_wait(double waited_ns) {
    FactRow row;
    row.subject = "arrivals";
    row.key = "waited";
    row.by_rank = true;
    row.add("waited_s_by_rank", waited_ns * 1e-9).in(TUTTI_UNIT_SECONDS).sum();
    return row;
}

// What was sampled most speaks.
FactRow own_lateness(tutti_collective collective, const adapt::ArrivalFigures& figures) {
    constexpr uint64_t kMax = adapt::ArrivalFigures::kRecentMax;
    FactRow row;
    row.subject = "arrivals";
    row.key = "recorded";
    row.weight = figures.samples;
    row.by_rank = true;
    row.add("recorded/collective", std::string(collective_name(collective)));
    const uint64_t recent = std::min(figures.samples, kMax);
    for (uint64_t i = 0; i < recent; ++i) {
        const uint64_t sample = figures.samples - recent + i;
        row.add_seconds("recorded/late_s/" + std::to_string(i),
                        figures.recent_late_ns[sample % kMax]);
    }
    return row;
}

}  // namespace tutti::engine
