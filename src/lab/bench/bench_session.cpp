// SPDX-License-Identifier: BSD-3-Clause
#include "lab/bench/bench_session.h"

#include <unistd.h>

#include "lab/bench/bench_buffers.h"
#include "plan/algo/registry.h"
#include "plan/select/fingerprint.h"

namespace tutti::bench {
namespace {

uint32_t cores() {
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? static_cast<uint32_t>(online) : 1;
}

std::vector<std::string> algorithms_of(tutti_collective collective, const std::string& choice) {
    if (choice.empty()) return {};
    if (choice != "all") return {choice};
    std::vector<std::string> names;
    for (const algo::Algorithm& algorithm : algo::algorithms()) {
        if (algorithm.collective != collective) continue;
        names.emplace_back(algorithm.name);
        if (algorithm.name == "multicast") {
            names.push_back(names.back() + std::string(kApart));
        }
    }
    return names;
}

}  // namespace

BenchSession::BenchSession(BenchMpi& mpi, const BenchPlan& plan, const BenchAudience& audience)
    : mpi_(mpi), plan_(plan), audience_(audience) {
    found_.library = select::mpi_of(mpi_.library_version());
    found_.ranks = mpi_.place().size;
    found_.cores = cores();
    found_.has_tutti = mpi_.has_tutti();
    found_.late = plan_.late;
    found_.skew = plan_.skew;
    found_.seed = plan_.seed;
    if (plan_.skew) hosts_ = hosts_of(mpi_);
    found_.fresh_buffers = plan_.fresh_buffers;
    found_.ragged_blocks = plan_.ragged_blocks;
    if (plan_.paper) found_.paper_runs = plan_.batches;
    found_.has_algorithms = !plan_.algorithm.empty();
}

std::vector<CellOrder> BenchSession::orders() const {
    std::vector<CellOrder> all;
    const uint64_t memory = memory_for_buffers();
    const std::vector<uint64_t> none{0};
    for (const tutti_collective collective : plan_.collectives) {
        for (const uint64_t bytes : collective == TUTTI_BARRIER ? none : plan_.bytes) {
            CellOrder order{collective,    bytes,
                            plan_.batches, plan_.seconds,
                            memory,        algorithms_of(collective, plan_.algorithm),
                            plan_.late,    plan_.fresh_buffers,
                            plan_.paper,   plan_.ragged_blocks};
            if (!plan_.skew) {
                all.push_back(order);
                continue;
            }
            for (const uint64_t most_ns : plan_.skew->most_ns) {
                order.skew = CellSkew{plan_.skew->skew, most_ns, plan_.seed, &hosts_,
                                      plan_.skew->recorded.get()};
                all.push_back(order);
            }
        }
    }
    return all;
}

Result<Done> BenchSession::measure_all(SharedPage& page) {
    const std::vector<CellOrder> all = orders();
    for (size_t i = 0; i < all.size(); ++i) {
        Cell next;
        next.collective = all[i].collective;
        next.bytes = all[i].bytes;
        audience_.show_progress(progress_line(i, all.size(), next));
        const auto cell = measure_cell(mpi_, page, all[i], number_);
        audience_.show_progress("");
        if (!cell) return cell.error();
        audience_.say(table_row(found_, cell.value()));
        found_.cells.push_back(cell.value());
    }
    return Done{};
}

std::string BenchSession::misfit() const {
    if (found_.has_algorithms && !found_.has_tutti) {
        return "--algorithm: Tutti is not here; start with `tutti run -- mpirun ...`";
    }
    if (found_.fresh_buffers && !caches_can_be_flushed()) {
        return "--buffers fresh: on this processor no program can empty the caches";
    }
    if (found_.late && found_.late->rank >= found_.ranks) {
        return "--late " + std::to_string(found_.late->rank) + ": there are " +
               std::to_string(found_.ranks) + " ranks, counted from 0";
    }
    if (found_.skew && found_.skew->skew == adapt::Skew::kNode && hosts_.count() == 1) {
        return "--skew node: all ranks are on one host";
    }
    if (found_.skew) return found_.skew->obstacle(found_.ranks);
    return {};
}

Result<Done> BenchSession::run(uint64_t warmup_calls) {
    SharedPage page(mpi_);
    warm_up(mpi_, warmup_calls, number_);
    if (found_.ranks > found_.cores) found_.yield_barrier_us = page.yield_barrier_us(mpi_);
    const auto before_us = page.flag_us(mpi_);
    if (before_us) found_.flag = {*before_us, *before_us};
    audience_.say(table_head(found_));
    if (const auto done = measure_all(page); !done) return done;
    if (const auto after_us = page.flag_us(mpi_)) found_.flag->after_us = *after_us;
    audience_.say(table_foot(found_));
    return Done{};
}

}  // namespace tutti::bench
