// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/live_facts.h"

#include <limits>
#include <string>

#include "base/collectives.h"

namespace tutti::select {

namespace {

// That calls run otherwise now gains so much in all, as measured; 0: they do not.
uint64_t gained_ns(const Live::Question& question) {
    if (question.in_use == 0) return 0;
    const Way& way = question.ways[question.in_use];
    if (way.instead_ns <= way.ns) return 0;
    const uint64_t gain_ns = way.instead_ns - way.ns;
    const bool is_too_much = question.calls > std::numeric_limits<uint64_t>::max() / 2 / gain_ns;
    return is_too_much ? std::numeric_limits<uint64_t>::max() / 2 : gain_ns * question.calls;
}

// Returns whether a trial has ended.
bool add_tried(FactRow& row, const Live::Question& question) {
    bool has_ended = false;
    row.add("tried/", nullptr);
    uint32_t listed = 0;
    for (size_t i = 0; i < question.ways.size(); ++i) {
        const Way& way = question.ways[i];
        const bool is_decided = way.outcome != Way::Outcome::kUntried;
        has_ended |= i > 0 && is_decided;
        if (way.ns == 0) continue;
        const bool is_in_use = question.in_use > 0 && i == question.in_use;
        const std::string at = "tried/" + std::to_string(listed++) + "/";
        row.add(at + "algorithm", way.name);
        row.add_seconds(at + "seconds", way.ns).say(is_in_use ? ", {}" : "");
        row.add_seconds(at + "instead_of_seconds", way.instead_ns)
            .say(is_in_use ? ", {} before" : "");
        row.add(at + "decided", is_decided);
    }
    return has_ended;
}

}  // namespace

// What has gained most stands first, then what is called most.
FactRow facts_of(const Live::Question& question, uint32_t rank, uint32_t ranks) {
    const CallKind& kind = question.kind;
    FactRow row;
    row.subject = "tuning/calls";
    row.weight = gained_ns(question) + question.calls;
    row.is_told = rank == 0 && question.ways.size() > 1;
    row.add("collective", std::string(collective_name(kind.collective))).say("live: {}");
    row.add("bytes", kind.bytes).say(kind.collective == TUTTI_BARRIER ? "" : " of {} bytes", 0);
    row.add("ranks", uint64_t{ranks}).say(", {:rank}: ");
    row.add("calls", question.calls);
    row.add("ways", uint64_t{question.ways.size()});
    if (question.ways.empty()) return row;
    const bool is_changed = question.in_use != 0;
    if (question.since > 0) {
        row.add("since_call", question.since).say(is_changed ? "{runs_by} from call {} on" : "");
    }
    const bool has_ended = add_tried(row, question);
    row.add("runs_by", question.ways[question.in_use].name)
        .say(is_changed  ? ""
             : has_ended ? "nothing was faster than {}"
                         : "no trial beside {} has ended");
    row.add("first", question.ways[0].name).say(is_changed ? "; first {}" : "");
    return row;
}

}  // namespace tutti::select
