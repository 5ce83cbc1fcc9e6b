// SPDX-License-Identifier: BSD-3-Clause
#include "cli/bench.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files/whole_file.h"
#include "base/settings.h"
#include "base/text.h"
#include "cli/bench_host.h"
#include "cli/bench_options.h"
#include "cli/bench_verbs.h"
#include "lab/bench/bench_buffers.h"
#include "lab/bench/bench_cell.h"
#include "lab/bench/bench_curves.h"
#include "lab/bench/bench_mpi.h"
#include "lab/bench/bench_report.h"
#include "plan/algo/registry.h"
#include "plan/select/fingerprint.h"
#include "run/site/site.h"

namespace tutti::cli {
namespace {

constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;

void say_wrong(const std::string& message) {
    // One write, so that lines of several ranks do not mix.
    const std::string line = "tutti bench: " + message + "\n";
    std::fwrite(line.data(), 1, line.size(), stderr);
}

// The first rank by the launcher's own count; also where there is no launcher.
bool speaks_before_init() { return launched_rank().value_or(0) == 0; }

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
            names.push_back(names.back() + std::string(bench::kApart));
        }
    }
    return names;
}

std::vector<bench::CellOrder> orders(const BenchOptions& options,
                                     const bench::RanksOfHosts& hosts) {
    std::vector<bench::CellOrder> all;
    const uint64_t memory = bench::memory_for_buffers();
    const std::vector<uint64_t> none{0};
    for (const tutti_collective collective : options.collectives) {
        for (const uint64_t bytes : collective == TUTTI_BARRIER ? none : options.bytes) {
            bench::CellOrder order{collective,      bytes,
                                   options.batches, options.seconds,
                                   memory,          algorithms_of(collective, options.algorithm),
                                   options.late,    options.fresh_buffers,
                                   options.paper};
            if (!options.skew) {
                all.push_back(order);
                continue;
            }
            for (const uint64_t most_ns : options.skew->most_ns) {
                order.skew = bench::CellSkew{options.skew->skew, most_ns, options.seed, &hosts,
                                             options.skew->recorded.get()};
                all.push_back(order);
            }
        }
    }
    return all;
}

class Session {
  public:
    Session(bench::BenchMpi& mpi, const BenchOptions& options, bool terminal)
        : mpi_(mpi),
          options_(options),
          speaks_(mpi.place().rank == 0),
          terminal_(terminal && speaks_) {}

    int run(uint64_t warmup_calls);

  private:
    void say(const std::string& text) {
        if (!speaks_) return;
        clear_progress();
        std::fwrite(text.data(), 1, text.size(), stdout);
        std::fflush(stdout);
    }
    void show_progress(const std::string& line) {
        if (!terminal_) return;
        std::fprintf(stderr, "\r\033[K%s", line.c_str());
        std::fflush(stderr);
    }
    void clear_progress() { show_progress(""); }
    int measure_all(bench::SharedPage& page);
    bool output_is_possible();
    int write_all();
    [[nodiscard]] std::string misfit() const;

    bench::BenchMpi& mpi_;
    const BenchOptions& options_;
    const bool speaks_;
    const bool terminal_;
    uint64_t number_ = 0;
    bench::RanksOfHosts hosts_;  // where calls are skewed
    bench::BenchRun report_;
};

int Session::measure_all(bench::SharedPage& page) {
    const std::vector<bench::CellOrder> all = orders(options_, hosts_);
    for (size_t i = 0; i < all.size(); ++i) {
        bench::Cell next;
        next.collective = all[i].collective;
        next.bytes = all[i].bytes;
        show_progress(bench::progress_line(i, all.size(), next));
        const auto cell = bench::measure_cell(mpi_, page, all[i], number_);
        if (!cell) {
            clear_progress();
            if (speaks_) say_wrong(cell.error().message);
            return kExitFailed;
        }
        say(bench::table_row(report_, cell.value()));
        report_.cells.push_back(cell.value());
    }
    clear_progress();
    return 0;
}

// What is to be written, each with its option.
std::vector<std::pair<std::string, std::string>> files_of(const BenchOptions& options) {
    std::vector<std::pair<std::string, std::string>> files;
    if (!options.json.empty()) files.emplace_back("--json: ", options.json);
    if (!options.svg.empty()) files.emplace_back("--svg: ", options.svg);
    return files;
}

// Looked at before anything is measured, by the one rank that will write.
bool Session::output_is_possible() {
    unsigned char possible = 1;
    if (speaks_) {
        for (const auto& [option, file] : files_of(options_)) {
            const std::string problem = files::obstacle(file);
            if (problem.empty()) continue;
            say_wrong(option + printable(file) + ": " + problem);
            possible = 0;
        }
    }
    mpi_.bcast(&possible, 1, 0);
    return possible != 0;
}

// What the command line asks of this job and it has not.
std::string Session::misfit() const {
    if (report_.has_algorithms && !report_.has_tutti) {
        return "--algorithm: Tutti is not here; start with `tutti run -- mpirun ...`";
    }
    if (report_.fresh_buffers && !bench::caches_can_be_flushed()) {
        return "--buffers fresh: on this processor no program can empty the caches";
    }
    if (report_.late && report_.late->rank >= report_.ranks) {
        return "--late " + std::to_string(report_.late->rank) + ": there are " +
               std::to_string(report_.ranks) + " ranks, counted from 0";
    }
    if (report_.skew && report_.skew->skew == adapt::Skew::kNode && hosts_.count() == 1) {
        return "--skew node: all ranks are on one host";
    }
    if (report_.skew) return report_.skew->obstacle(report_.ranks);
    return {};
}

int Session::write_all() {
    if (!speaks_) return 0;
    int status = 0;
    for (const auto& [option, file] : files_of(options_)) {
        const std::string text =
            file == options_.svg ? bench::draw_curves(report_) : bench::to_json(report_);
        const std::string problem = files::write_whole(file, text);
        if (problem.empty()) continue;
        say_wrong(option + printable(file) + ": " + problem);
        status = kExitFailed;
    }
    return status;
}

int Session::run(uint64_t warmup_calls) {
    report_.library = select::mpi_of(mpi_.library_version());
    report_.ranks = mpi_.place().size;
    report_.cores = cores();
    report_.has_tutti = mpi_.has_tutti();
    report_.late = options_.late;
    report_.skew = options_.skew;
    report_.seed = options_.seed;
    if (options_.skew) hosts_ = bench::hosts_of(mpi_);
    report_.fresh_buffers = options_.fresh_buffers;
    if (options_.paper) report_.paper_runs = options_.batches;
    report_.has_algorithms = !options_.algorithm.empty();
    if (auto problem = misfit(); !problem.empty()) {
        if (speaks_) say_wrong(problem);
        return kExitUsage;
    }
    if (!files_of(options_).empty() && !output_is_possible()) return kExitUsage;
    bench::SharedPage page(mpi_);
    bench::warm_up(mpi_, warmup_calls, number_);
    if (report_.ranks > report_.cores) report_.yield_barrier_us = page.yield_barrier_us(mpi_);
    const auto before_us = page.flag_us(mpi_);
    if (before_us) report_.flag = {*before_us, *before_us};
    say(bench::table_head(report_));
    const int status = measure_all(page);
    if (status != 0) return status;
    if (const auto after_us = page.flag_us(mpi_)) report_.flag->after_us = *after_us;
    say(bench::table_foot(report_));
    return write_all();
}

struct Start {
    Result<BenchOptions> options;
    Result<Settings> settings;
};

Start read_all(int argc, char** argv) {
    std::vector<std::string_view> arguments(argv + std::min(argc, 1), argv + argc);
    return {parse_bench_options(arguments),
            parse_settings(site::merge(site::read_site(), "", tutti_entries(environ)).entries)};
}

// A library that does not know the launcher's protocol makes each process a job of its own; empty
// where it did not.
std::string loneliness(bench::BenchMpi& mpi) {
    const uint64_t started = launched_size().value_or(1);
    if (mpi.place().size > 1 || started == 1) return {};
    return "each of the " + std::to_string(started) +
           " ranks is alone: " + select::mpi_of(mpi.library_version()) +
           " does not understand this launcher; name the right library: "
           "TUTTI_MPI_LIBRARY=/path/libmpi.so";
}

int run_under_mpi(int argc, char** argv) {
    const Start start = read_all(argc, argv);
    if (start.options && start.options.value().help) {
        if (speaks_before_init()) std::fputs(bench_usage().c_str(), stdout);
        return 0;
    }
    // A malformed command line is told after MPI_Init where there is an MPI: a rank that ends
    // without it makes launchers print pages about it.
    const std::string problem = !start.options    ? start.options.error().message
                                : !start.settings ? start.settings.error().message
                                                  : "";
    const auto above = ancestors();
    const std::string library = start.settings ? start.settings.value().command.mpi_library : "";
    const auto host = load_host(library, above);
    if (!host) {
        if (speaks_before_init()) say_wrong(problem.empty() ? host.error().message : problem);
        return kExitUsage;
    }
    auto mpi = bench::start_bench_mpi(host.value(), &argc, &argv);
    if (!mpi) {
        if (speaks_before_init()) say_wrong(mpi.error().message);
        return kExitFailed;
    }
    int status = kExitUsage;
    if (const std::string alone = loneliness(*mpi.value()); !alone.empty()) {
        if (speaks_before_init()) say_wrong(alone);
    } else if (!problem.empty()) {
        if (mpi.value()->place().rank == 0) say_wrong(problem);
    } else {
        Session session(*mpi.value(), start.options.value(), errors_reach_terminal(above));
        status = session.run(start.settings.value().warmup_calls);
    }
    mpi.value()->finalize();
    return status;
}

}  // namespace

int bench_main(int argc, char** argv) {
    const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    try {
        if (std::ranges::find(words, "--verbs") != words.end()) return bench_verbs_main(words);
        return run_under_mpi(argc, argv);
    } catch (const std::exception& error) {
        say_wrong(error.what());
        return kExitFailed;
    }
}

}  // namespace tutti::cli
