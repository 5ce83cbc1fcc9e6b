// SPDX-License-Identifier: BSD-3-Clause
#include "cli/tune.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/files/text_file.h"
#include "base/files/whole_file.h"
#include "base/settings.h"
#include "base/text.h"
#include "cli/bench_host.h"
#include "cli/child_process.h"
#include "cli/command_line.h"
#include "cli/launch.h"
#include "cli/libraries.h"
#include "cli/run.h"
#include "cli/tune_rank.h"
#include "run/site/site.h"
#include "run/site/tuned_search.h"

namespace tutti::cli {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kSecondsMin = 5;
constexpr uint64_t kSecondsMax = 3600;
constexpr uint64_t kSecondsUsual = 110;
// Of the time, for the job that measures links and looks for switches.
constexpr uint64_t kLinksShare = 3;

constexpr auto kTuneOptions = std::to_array<OptionDoc>({
    {"-o", "FILE",
     "Write the tuned file there (default: tuned.toml in $XDG_CONFIG_HOME/tutti, ~/.config/tutti)"},
    {"--seconds", "N", "About how long to measure in all (default: 110)"},
});
// What the jobs are told beside these.
constexpr auto kJobOptions = std::to_array<OptionDoc>({
    {"--job", "links|calls", "internal"},
    {"--into", "FILE", "internal"},
    {"--from", "FILE", "internal"},
    {"--former", "FILE", "internal"},
    {"--seconds", "N", "internal"},
});

constexpr std::string_view kTuneSummary =
    "Measures this cluster and its MPI, and writes what follows: what messages take, which hosts\n"
    "share a switch where no file tells it, and rules that say which algorithm runs which call,\n"
    "or that your MPI runs it. Programs that run under Tutti later find the file by themselves\n"
    "(docs/formats/tuned.md). Behind -- stands the launcher as for a program on all hosts of the\n"
    "allocation, with as many ranks as programs will have, but without a program.";

int say_wrong_use(const std::string& message, int status = kTuneUsage) {
    fmt::print(stderr, "tutti tune: {}\n", message);
    return status;
}

site::TunedSearch own_search() {
    return site::tuned_search({}, std::getenv("XDG_CONFIG_HOME"), std::getenv("HOME"));
}

// Where a tuned file is found by itself.
Result<std::string> usual_file() {
    const auto search = own_search();
    // The last one is the site's.
    if (search.folders.size() < 2) return wrong("HOME is not set: say where to write, by -o FILE");
    const std::string& folder = search.folders.front();
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) return wrong(printable(folder) + ": " + error.message());
    return folder + "/tuned.toml";
}

// Runs take the first file that fits.
void tell_what_comes_before(const std::string& output) {
    const auto files = site::tuned_files(own_search());
    const auto own = std::ranges::find(files, output);
    if (own == files.end() || own == files.begin()) return;
    fmt::print("before it   {} is tried\n", printable(files.front()));
}

// Ranks may start in another directory.
Result<std::string> output_file(const CommandLine& command_line) {
    const std::string* named = command_line.find("-o");
    const auto file = named ? Result<std::string>(*named) : usual_file();
    if (!file) return file;
    if (const auto problem = files::obstacle(file.value()); !problem.empty()) {
        return wrong(printable(file.value()) + ": " + problem);
    }
    std::error_code error;
    if (fs::exists(file.value(), error) && !fs::is_regular_file(file.value(), error)) {
        return wrong(printable(file.value()) + ": no file");
    }
    return fs::absolute(file.value(), error).lexically_normal().string();
}

// Between the two jobs; gone when this process is done.
class Between {
  public:
    explicit Between(const std::string& output)
        : file_(fmt::format("{}.{}.links", output, getpid())) {}
    Between(const Between&) = delete;
    Between& operator=(const Between&) = delete;
    ~Between() { unlink(file_.c_str()); }
    [[nodiscard]] const std::string& file() const { return file_; }

  private:
    std::string file_;
};

// What stands behind "--"; without it the first launcher on PATH, which knows its allocation.
Result<std::vector<std::string>> launcher_arguments(std::span<const std::string> behind) {
    const std::string path = environment_text("PATH");
    if (behind.empty()) {
        const auto found = first_launcher(path);
        if (!found) {
            return wrong("no mpirun on PATH; name the launcher: tutti tune -- mpirun -n 64");
        }
        return std::vector<std::string>{found->file};
    }
    if (!find_program(behind.front(), path)) {
        return wrong(printable(behind.front()) + ": no such program");
    }
    return std::vector<std::string>(behind.begin(), behind.end());
}

// What would slow Tutti's calls alone, or forbid some of them, in a job that measures.
void leave_out_settings() {
    constexpr auto kLeftOut = std::to_array<const char*>(
        {"TUTTI", "TUTTI_CHECK", "TUTTI_VERIFY", "TUTTI_STALL", "TUTTI_REPRODUCIBLE",
         "TUTTI_WARMUP", "TUTTI_REPORT", "TUTTI_RULES", "TUTTI_FAULTS"});
    for (const char* variable : kLeftOut) {
        if (environment_text(variable).empty()) continue;
        fmt::print(stderr, "tutti tune: {} is left out while it measures\n", variable);
        unsetenv(variable);
    }
}

// By the user or by the site.
bool says_multicast() {
    const auto merged = site::merge(site::read_site(), "", tutti_entries(environ));
    return std::ranges::any_of(
        merged.entries, [](const std::string& entry) { return entry.starts_with("TUTTI_MCAST="); });
}

// The job that has written this file: its fingerprint says in words what it was (TuneJob::text).
bool was_on_one_host(const std::string& file) {
    constexpr uint64_t kFileBytesMax = uint64_t{1} << 26;
    const auto text = files::read_text_file(file, kFileBytesMax);
    return text && text.value().find("\nabout = \"1 host, ") != std::string::npos;
}

// A program behind the launcher, which would be run with Tutti's own words as its arguments; empty
// where there is none. The value of an option that is not known passes.
std::string program_of(const std::vector<std::string>& command_line) {
    const std::string path = environment_text("PATH");
    const IsProgram is_program = [&](const std::string& word) {
        return find_program(word, path).has_value();
    };
    const auto launch = make_launch(command_line, path);
    if (!launch || launch.value().style == Style::kInherit) return {};
    const Style style = launch.value().style;
    for (const AppContext& context :
         split_contexts(command_line, launch.value().launcher, style, is_program)) {
        if (context.application != context.end) return command_line[context.application];
        for (size_t i = context.begin; i < context.end; ++i) {
            if (!command_line[i].starts_with('-')) return command_line[i];
            const std::string next = i + 1 < context.end ? command_line[i + 1] : "";
            const size_t values = option_values(style, command_line[i], next);
            const bool may_have_one = values == 0 &&
                                      command_line[i].find('=') == std::string::npos &&
                                      !next.starts_with('-') && next.find('/') == std::string::npos;
            i += may_have_one ? 1 : values;
        }
    }
    return {};
}

int run_job(const std::vector<std::string>& launcher, const tune::TuneOptions& options) {
    std::vector<std::string> command_line;
    // A former file, of this cluster or of another one, has no part in it.
    command_line.push_back("--tuned=" + (options.from.empty() ? "off" : options.from));
    if (!options.from.empty()) {
        // Tried before it is known whether it wins.
        if (!says_multicast() && !was_on_one_host(options.from))
            command_line.emplace_back("--mcast=on");
    }
    command_line.emplace_back("--");
    command_line.insert(command_line.end(), launcher.begin(), launcher.end());
    command_line.insert(command_line.end(),
                        {own_path(), "tune", "--job=" + options.job, "--into=" + options.into,
                         fmt::format("--seconds={}", options.seconds)});
    if (!options.from.empty()) command_line.push_back("--from=" + options.from);
    if (!options.former.empty()) command_line.push_back("--former=" + options.former);
    return run_main(command_line);
}

Result<uint64_t> tuning_seconds(const CommandLine& command_line) {
    const std::string* text = command_line.find("--seconds");
    if (!text) return kSecondsUsual;
    const auto value = parse_seconds(*text);
    if (!value || *value < kSecondsMin || *value > kSecondsMax || *value != std::floor(*value)) {
        return wrong_value("--seconds", *text,
                           fmt::format("a number from {} to {}", kSecondsMin, kSecondsMax));
    }
    return static_cast<uint64_t>(*value);
}

int tune_cluster(const CommandLine& command_line, std::span<const std::string> behind) {
    if (!command_line.others().empty()) {
        return say_wrong_use(
            fmt::format("unexpected word {}; the launcher stands behind --: tutti tune -- mpirun "
                        "-n 64",
                        printable(command_line.others().front())));
    }
    const auto seconds = tuning_seconds(command_line);
    if (!seconds) return say_wrong_use(seconds.error().message);
    const auto launcher = launcher_arguments(behind);
    if (!launcher) return say_wrong_use(launcher.error().message);
    if (const std::string program = program_of(launcher.value()); !program.empty()) {
        return say_wrong_use(fmt::format(
            "{}: it measures the cluster, not a program; leave it away: tutti tune -- mpirun -n 64",
            printable(program)));
    }
    const auto output = output_file(command_line);
    if (!output) return say_wrong_use(output.error().message);

    leave_out_settings();
    const Between between(output.value());
    tune::TuneOptions options;
    options.job = "links";
    options.into = between.file();
    if (!command_line.has("-o")) options.former = output.value();
    options.seconds = std::max<uint64_t>(seconds.value() / kLinksShare, 1);
    const auto start = std::chrono::steady_clock::now();
    int status = run_job(launcher.value(), options);
    if (status == 0 && !fs::exists(between.file())) {
        return say_wrong_use(fmt::format("nothing was measured: is {} a launcher of MPI programs?",
                                         printable(launcher.value().front())));
    }
    if (status == 0) {
        // What is left, and half of all at least; starting a job takes some, too.
        const auto took = std::chrono::duration_cast<std::chrono::seconds>(
            std::chrono::steady_clock::now() - start);
        const uint64_t gone = std::min(static_cast<uint64_t>(took.count()), seconds.value() / 2);
        options = {.job = "calls",
                   .into = output.value(),
                   .former = {},
                   .from = between.file(),
                   .seconds = seconds.value() - gone};
        status = run_job(launcher.value(), options);
    }
    if (status != 0) {
        return say_wrong_use(fmt::format("ended with status {}; {} was not written", status,
                                         printable(output.value())),
                             status);
    }
    fmt::print("written     {}\n", printable(output.value()));
    tell_what_comes_before(output.value());
    return 0;
}

Result<tune::TuneOptions> job_options(const CommandLine& command_line) {
    tune::TuneOptions options;
    const auto text = [&](std::string_view name) {
        const std::string* value = command_line.find(name);
        return value ? *value : std::string();
    };
    options.job = text("--job");
    options.into = text("--into");
    options.from = text("--from");
    options.former = text("--former");
    if (options.job != "links" && options.job != "calls")
        return wrong_value("--job", options.job, "links or calls");
    const auto seconds = command_line.count("--seconds", 1, 1, kSecondsMax);
    if (!seconds) return seconds.error();
    options.seconds = seconds.value();
    return options;
}

int tune_with(int argc, char** argv) {
    const std::vector<std::string> all(argv + std::min(argc, 1), argv + argc);
    const bool is_job = !all.empty() && all.front().starts_with("--job");
    const auto split = std::ranges::find(all, "--");
    const std::vector<std::string> own(all.begin(), split);
    if (is_job) {
        const auto command_line = CommandLine::parse("tune", own, kJobOptions);
        const auto options =
            command_line ? job_options(command_line.value()) : command_line.error();
        return options ? tune_rank_main(options.value(), argc, argv)
                       : say_wrong_use(options.error().message);
    }
    const auto command_line = CommandLine::parse("tune", own, kTuneOptions);
    if (!command_line) return say_wrong_use(command_line.error().message);
    if (command_line.value().wants_help()) {
        fmt::print("{}",
                   help_text(kTuneSummary, "tutti tune [options] [-- LAUNCHER...]", kTuneOptions));
        return 0;
    }
    // A batch script of Slurm's has a rank, too, but is in no step.
    const bool is_rank = launched_rank() && (std::getenv("SLURM_PROCID") == nullptr ||
                                             std::getenv("SLURM_STEP_ID") != nullptr);
    if (is_rank) {
        if (launched_rank().value() != 0) return kTuneUsage;
        return say_wrong_use("it starts the job itself: tutti tune -- mpirun ...");
    }
    const std::vector<std::string> behind(split == all.end() ? split : split + 1, all.end());
    return tune_cluster(command_line.value(), behind);
}

}  // namespace

int tune_main(int argc, char** argv) {
    try {
        return tune_with(argc, argv);
    } catch (const std::exception& error) {
        return say_wrong_use(error.what(), kTuneFailed);
    }
}

}  // namespace tutti::cli
