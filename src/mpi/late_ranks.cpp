// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/late_ranks.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/collectives.h"
#include "mpi/amount.h"
#include "mpi/report.h"

namespace tutti::mpi {

namespace {

constexpr const char* kSampled = "arrivals/calls";

bool is_blocking(uint8_t form) { return Form{form} == Form::kBlocking; }

// Of the collectives that Tutti runs; only their calls are sampled.
bool all_await_all(uint32_t kind) {
    return kind < TUTTI_COLLECTIVE_COUNT && awaits_all(static_cast<tutti_collective>(kind));
}

// Whose calls these are: of one collective, and of communicators of one size.
using Shape = std::pair<std::string, uint64_t>;

Shape shape_of(const FactRow& row) {
    return {std::get<std::string>(row.find("collective")->value),
            std::get<uint64_t>(row.find("ranks")->value)};
}

double& waited_s(FactRow& row) { return std::get<double>(row.get("waited_s")->value); }

// The first that are not small beside the worst, nor beside the run.
class Worst {
  public:
    explicit Worst(double run_s) : run_s_(run_s) {}
    void say(FactRow& row) {
        const double all_s = waited_s(row);
        const double each_s = all_s / static_cast<double>(shape_of(row).second);
        worst_s_ = std::max(worst_s_, all_s);
        const bool matters = all_s > 0 && lines_ < kLinesMax && all_s >= kShareMin * worst_s_ &&
                             each_s >= kRunShareMin * run_s_;
        if (!matters || row.text().empty()) {
            for (Fact& fact : row.facts) fact.phrase.clear();
            return;
        }
        ++lines_;
        char share[32];
        snprintf(share, sizeof share, "%.0f", run_s_ > 0 ? 100 * each_s / run_s_ : 0);
        row.get("waited_s")
            ->say("; in all each rank waited some " + rough(each_s) + " for others, " + share +
                  " % of the run");
    }

  private:
    static constexpr uint32_t kLinesMax = 3;
    static constexpr double kShareMin = 0.1;
    static constexpr double kRunShareMin = 0.01;

    const double run_s_;
    double worst_s_ = 0;
    uint32_t lines_ = 0;
};

}  // namespace

void bound_own_wait(FactLog& log, std::span<const ReportRecord> own) {
    double inside_s = 0;
    for (const ReportRecord& record : own) {
        if (!is_blocking(record.form) || !all_await_all(record.kind)) continue;
        inside_s += static_cast<double>(record.nanoseconds) * 1e-9;
    }
    log.change("arrivals", [&](FactRow& row) {
        Fact* waited = row.get("waited_s_by_rank");
        if (waited == nullptr) return;
        waited->value = std::min(std::get<double>(waited->value), inside_s);
    });
}

void bound_waits(FactLog& log, std::span<const ReportRow> calls, double run_s) {
    std::map<Shape, double> inside_s;  // of all ranks together
    for (const ReportRow& row : calls) {
        if (!is_blocking(row.form)) continue;
        inside_s[{kind_name(static_cast<Kind>(row.kind)), row.ranks}] += row.seconds * row.ranks;
    }
    log.change(kSampled, [&](FactRow& row) {
        double& left_s = inside_s[shape_of(row)];
        waited_s(row) = std::min(waited_s(row), left_s);
        left_s -= waited_s(row);
        row.weight = static_cast<uint64_t>(waited_s(row) * 1e9);
    });
    Worst worst(run_s);
    log.change(kSampled, [&](FactRow& row) { worst.say(row); });
}

}  // namespace tutti::mpi
