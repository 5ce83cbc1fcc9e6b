// SPDX-License-Identifier: BSD-3-Clause
#include "cli/tune_rank.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "base/settings.h"
#include "cli/bench_host.h"
#include "run/site/site.h"

namespace tutti::cli {
namespace {

// Rank 0 says first that nothing goes on; the others, should its host be the one that is gone.
constexpr unsigned kOthersWaitSeconds = 5;

void say_failed(const std::string& message) {
    const std::string line = "tutti tune: " + message + "\n";
    std::fwrite(line.data(), 1, line.size(), stderr);
}

void end_what_hangs(int) {
    constexpr std::string_view kLine =
        "tutti tune: no progress: is a host gone? The job is ended, no file was written\n";
    [[maybe_unused]] const auto written = write(STDERR_FILENO, kLine.data(), kLine.size());
    _exit(kTuneFailed);
}

void arm(double seconds, bool speaks) {
    struct sigaction action {};
    action.sa_handler = end_what_hangs;
    sigaction(SIGALRM, &action, nullptr);
    alarm(static_cast<unsigned>(seconds) + 1 + (speaks ? 0 : kOthersWaitSeconds));
}

// has_terminal: lines about progress may be overwritten.
tune::TuneAudience audience(bool speaks, bool has_terminal) {
    const auto show_progress = [shown = speaks && has_terminal](const std::string& line) {
        if (!shown) return;
        fmt::print(stderr, "\r\033[K{}", line);
        std::fflush(stderr);
    };
    const auto say = [speaks, show_progress](const std::string& line) {
        if (!speaks) return;
        show_progress("");
        fmt::print("{}\n", line);
        std::fflush(stdout);
    };
    return {say, show_progress, [speaks](double seconds) { arm(seconds, speaks); }};
}

}  // namespace

int tune_rank_main(const tune::TuneOptions& options, int argc, char** argv) {
    const bool speaks_before_init = launched_rank().value_or(0) == 0;
    const auto settings =
        parse_settings(site::merge(site::read_site(), "", tutti_entries(environ)).entries);
    const std::string library = settings ? settings.value().command.mpi_library : "";
    const auto above = ancestors();
    const auto host = load_host(library, above);
    if (!host) {
        if (speaks_before_init) say_failed(host.error().message);
        return kTuneUsage;
    }
    arm(tune::kTuneSilenceSeconds, speaks_before_init);
    auto mpi = bench::start_bench_mpi(host.value(), &argc, &argv);
    if (!mpi) {
        if (speaks_before_init) say_failed(mpi.error().message);
        return kTuneFailed;
    }
    const bool speaks = mpi.value()->place().rank == 0;
    const tune::TuneAudience told = audience(speaks, errors_reach_terminal(above));
    const Result<Done> done = tune::run_tune_job(*mpi.value(), options, told);
    told.show_progress("");
    if (!done) {
        if (speaks) say_failed(done.error().message);
        std::fflush(nullptr);
        // Then messages may be under way still.
        if (done.error().code == ErrorCode::kNetwork) _exit(kTuneFailed);
    }
    alarm(0);
    mpi.value()->finalize();
    return done ? 0 : kTuneFailed;
}

}  // namespace tutti::cli
