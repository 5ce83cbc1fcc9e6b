// SPDX-License-Identifier: BSD-3-Clause
#include "cli/bench.h"

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
#include "lab/bench/bench_curves.h"
#include "lab/bench/bench_mpi.h"
#include "lab/bench/bench_report.h"
#include "lab/bench/bench_session.h"
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

// A run on this rank: what it says, and the files that the speaking one writes.
class Session {
  public:
    Session(bench::BenchMpi& mpi, const BenchOptions& options, bool terminal)
        : mpi_(mpi),
          options_(options),
          speaks_(mpi.place().rank == 0),
          terminal_(terminal && speaks_),
          session_(mpi, options, audience_) {}
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    int run(uint64_t warmup_calls);

  private:
    void say(const std::string& text) const {
        if (!speaks_) return;
        std::fwrite(text.data(), 1, text.size(), stdout);
        std::fflush(stdout);
    }
    void show_progress(const std::string& line) const {
        if (!terminal_) return;
        std::fprintf(stderr, "\r\033[K%s", line.c_str());
        std::fflush(stderr);
    }
    bool output_is_possible();
    int write_all();

    bench::BenchMpi& mpi_;
    const BenchOptions& options_;
    const bool speaks_;
    const bool terminal_;
    const bench::BenchAudience audience_{[this](const std::string& text) { say(text); },
                                         [this](const std::string& line) { show_progress(line); }};
    bench::BenchSession session_;
};

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

int Session::write_all() {
    if (!speaks_) return 0;
    int status = 0;
    for (const auto& [option, file] : files_of(options_)) {
        const std::string text = file == options_.svg ? bench::draw_curves(session_.found())
                                                      : bench::to_json(session_.found());
        const std::string problem = files::write_whole(file, text);
        if (problem.empty()) continue;
        say_wrong(option + printable(file) + ": " + problem);
        status = kExitFailed;
    }
    return status;
}

int Session::run(uint64_t warmup_calls) {
    if (auto problem = session_.misfit(); !problem.empty()) {
        if (speaks_) say_wrong(problem);
        return kExitUsage;
    }
    if (!files_of(options_).empty() && !output_is_possible()) return kExitUsage;
    if (const auto done = session_.run(warmup_calls); !done) {
        if (speaks_) say_wrong(done.error().message);
        return kExitFailed;
    }
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
