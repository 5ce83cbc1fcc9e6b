// SPDX-License-Identifier: BSD-3-Clause
#include "cli/run.h"

#include <fmt/format.h>
#include <glob.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include "base/files/report_name.h"
#include "base/files/whole_file.h"
#include "base/settings.h"
#include "base/text.h"
#include "cli/bench_host.h"
#include "cli/child_process.h"
#include "cli/launch.h"
#include "cli/libraries.h"
#include "cli/options.h"
#include "cli/rewrite.h"
#include "run/site/site.h"

namespace tutti::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kUsageStatus = 2;
constexpr int kNotFoundStatus = 127;  // As a shell's.
constexpr const char* kMarkVariable = "TUTTI_REPORT_MARK";

int complain(std::string_view message, int status = kUsageStatus) {
    fmt::print(stderr, "tutti: {}\n", message);
    return status;
}

// A table on standard error, no file.
bool is_table(const std::string& report) { return report == "1" || report == "full"; }

// FILE.json of the report: an absolute path, since ranks may run in another directory, and known to
// be writable before anything runs, as far as its folder is known by then.
Result<std::string> report_file(const std::string& report) {
    std::error_code error;
    const fs::path file = fs::absolute(report, error).lexically_normal();
    const bool is_known = file.parent_path().string().find('%') == std::string::npos;
    const auto problem = is_known ? files::obstacle(report) : std::string();
    if (!problem.empty()) {
        return Error{ErrorCode::kArgument,
                     fmt::format("report file {}: {}", printable(report), problem)};
    }
    return file.string();
}

// A launcher may start this command, once for each rank; what all would say, one of them says.
bool is_first_rank() { return launched_rank().value_or(0) == 0; }

void set_entry(std::vector<std::string>& entries, std::string_view name, std::string_view value) {
    const std::string start = fmt::format("{}=", name);
    std::erase_if(entries, [&](const std::string& entry) { return entry.starts_with(start); });
    entries.push_back(start + std::string(value));
}

// A directory of our own in which the ranks make a file when they give a report.
class ReportMark {
  public:
    ReportMark() {
        std::error_code error;
        const fs::path parent = fs::temp_directory_path(error);
        std::string why = error ? error.message() : std::string();
        if (!error) why = files::make_private_folder(fs::absolute(parent, error), directory_);
        if (why.empty()) return;
        const std::string asked = environment_text("TMPDIR");
        problem_ = fmt::format("{}: {}", asked.empty() ? parent.string() : printable(asked), why);
    }
    ReportMark(const ReportMark&) = delete;
    ReportMark& operator=(const ReportMark&) = delete;
    ~ReportMark() {
        if (directory_.empty()) return;
        unlink(file().c_str());
        rmdir(directory_.c_str());
    }
    // Empty where there is a directory.
    [[nodiscard]] const std::string& problem() const { return problem_; }
    // Named after this process, which stands for %j in a report's name where there is no other job.
    [[nodiscard]] std::string file() const { return directory_ + "/" + std::to_string(getpid()); }
    [[nodiscard]] bool touched() const {
        std::error_code error;
        return !directory_.empty() && fs::exists(file(), error);
    }

  private:
    std::string directory_, problem_;
};

// The files that reports of this name may have gone to, and when each was last written.
using Written = std::map<std::string, fs::file_time_type>;
Written reports_at(const std::string& name) {
    Written written;
    if (name.empty()) return written;
    const files::NamePatterns patterns = files::name_patterns(name);
    for (const std::string& pattern : {patterns.first, patterns.numbered}) {
        glob_t found{};
        if (glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found) == 0) {
            for (size_t i = 0; i < found.gl_pathc; ++i) {
                std::error_code error;
                const auto time = fs::last_write_time(found.gl_pathv[i], error);
                if (!error) written[found.gl_pathv[i]] = time;
            }
        }
        globfree(&found);
    }
    return written;
}

std::vector<Variable> variables_of(const std::vector<std::string>& entries) {
    std::vector<Variable> variables;
    for (const std::string& entry : entries) {
        const size_t equals = entry.find('=');
        variables.push_back({entry.substr(0, equals), entry.substr(equals + 1)});
    }
    return variables;
}

// The loader separates preloads by colons and blanks and knows no quoting.
bool preloadable(const std::string& library) {
    return library.find_first_of(": \t\n") == std::string::npos;
}

Result<int> start(const RunArguments& arguments, const Launch& launch, const std::string& path) {
    if (!launch.closed_app_file.empty()) {
        fmt::print(stderr,
                   "tutti: {} sets variables by -x, beside which Open MPI 4 takes none of ours; it "
                   "runs without Tutti\n",
                   printable(launch.closed_app_file));
        return run_and_wait(arguments.command);
    }
    const auto library = find_tutti_library();
    if (!library) return library.error();
    if (!preloadable(library.value())) {
        return Error{
            ErrorCode::kArgument,
            fmt::format("{}: a path with a blank or colon cannot be preloaded", library.value())};
    }
    Passing passing;
    passing.style = launch.style;
    passing.launcher = launch.launcher;
    passing.library = library.value();
    passing.settings = variables_of(arguments.entries);
    passing.own_preload = environment_text("LD_PRELOAD");
    if (const char* value = getenv("SLURM_EXPORT_ENV")) passing.own_export = value;
    if (launch.has_env_list) passing.own_env_list = environment_text(std::string(kEnvList).c_str());
    const auto rewritten = rewrite_command(
        arguments.command, passing,
        [&](const std::string& word) { return find_program(word, path).has_value(); });
    for (const Variable& variable : rewritten.environment) {
        setenv(variable.name.c_str(), variable.value.c_str(), 1);
    }
    return run_and_wait(rewritten.command);
}

// Marks, files and settings that the report needs. Returns its file, empty for a table.
Result<std::string> prepare_report(RunArguments& arguments, const ReportMark& mark) {
    if (mark.problem().empty()) {
        set_entry(arguments.entries, kMarkVariable, mark.file());
    } else if (is_first_rank()) {
        fmt::print(stderr,
                   "tutti: no temporary directory ({}): if no report comes, nothing will be said\n",
                   mark.problem());
    }
    if (is_table(arguments.settings.watch.report)) return std::string();
    auto file = report_file(arguments.settings.watch.report);
    if (file) set_entry(arguments.entries, "TUTTI_REPORT", file.value());
    return file;
}

// Commands that hand a job to a queue and end.
bool is_submission(std::string_view program) {
    constexpr auto kNames = std::to_array<std::string_view>(
        {"sbatch", "qsub", "bsub", "msub", "pjsub", "llsubmit", "oarsub", "ccc_msub", "batch"});
    return std::ranges::count(kNames, base_name(program)) != 0;
}

// Why no report has come, as far as it can be told from here; empty where nothing can.
std::string missing_report(const RunArguments& arguments, const Launch& launch,
                           const ReportMark& mark, int status) {
    // A job that ends badly never comes to MPI_Finalize; that is no doubt about the program.
    if (status != 0) return fmt::format("no report: the command ended with status {}", status);
    if (is_submission(arguments.command[0])) {
        return fmt::format("{} hands the job in and ends; the report comes when the job runs",
                           printable(arguments.command[0]));
    }
    // The ranks of srun are on other hosts.
    if (!mark.problem().empty() || launch.style == Style::kSlurm) return {};
    return fmt::format(
        "no collective was seen on this host: no MPI program called MPI_Finalize under Tutti (is "
        "{} an MPI program, and its MPI not linked into it statically?)",
        printable(launch.application));
}

Result<int> run_with_report(RunArguments& arguments, const Launch& launch,
                            const std::string& path) {
    // Of a `tutti run` that has started this one.
    const std::string outer_mark = environment_text(kMarkVariable);
    const ReportMark mark;
    const auto file = prepare_report(arguments, mark);
    if (!file) return file.error();
    // On another host the ranks cannot reach the mark; a file that they wrote says the same.
    const Written former = reports_at(file.value());
    auto status = start(arguments, launch, path);
    if (!status) return status;
    const bool is_there = mark.touched() || reports_at(file.value()) != former;
    if (!is_there && is_first_rank()) {
        const std::string line = missing_report(arguments, launch, mark, status.value());
        if (!line.empty()) fmt::print(stderr, "tutti: {}\n", line);
    }
    // All there is to say about the report has been said.
    if (!outer_mark.empty()) static_cast<void>(files::make_mark(outer_mark));
    return status;
}

}  // namespace

int run_main(std::span<const std::string> words) {
    auto arguments = parse_run_arguments(words, tutti_entries(environ));
    if (!arguments) return complain(arguments.error().message);
    RunArguments& run = arguments.value();
    if (run.help || run.help_all) {
        fmt::print("{}", run.help ? run_help() : run_help_all());
        return 0;
    }
    // What every rank would refuse is refused here, once.
    if (const auto checked = check_settings(run.settings); !checked) {
        return complain(name_options(run, checked.error()).message);
    }
    const std::string path = environment_text("PATH");
    if (!find_program(run.command[0], path)) {
        const std::string word = printable(run.command[0]);
        const std::string hint =
            run.last_switch.empty()
                ? ""
                : fmt::format("; for a value of {0} write {0}={1}", run.last_switch, word);
        return complain(fmt::format("{}: no such program{}", word, hint), kNotFoundStatus);
    }
    const bool reports = run.settings.on && !run.settings.watch.report.empty();
    if (!reports && !run.settings.watch.report.empty()) {
        if (is_first_rank()) fmt::print(stderr, "tutti: no report: TUTTI=off\n");
        set_entry(run.entries, "TUTTI_REPORT", "0");  // the ranks need not say it again
    }
    if (reports && !is_table(run.settings.watch.report)) {
        const auto file = report_file(run.settings.watch.report);
        if (!file) return complain(file.error().message);
    }
    // The surest way. What else the site says is for rank 0, whose host may have another file.
    if (const auto site = site::read_site(); site && !site.value().enabled) {
        if (reports) fmt::print(stderr, "tutti: no report: {}\n", site.value().denial(""));
        const auto status = run_and_wait(run.command);
        return status ? status.value() : complain(status.error().message);
    }
    const auto launch = make_launch(run.command, path);
    if (!launch) return complain(launch.error().message);
    if (!launch.value().mpi_library.empty() && run.settings.command.mpi_library.empty()) {
        set_entry(run.entries, "TUTTI_MPI_LIBRARY", launch.value().mpi_library);
    }
    const auto status =
        reports ? run_with_report(run, launch.value(), path) : start(run, launch.value(), path);
    if (!status) return complain(status.error().message);
    return status.value();
}

}  // namespace tutti::cli
