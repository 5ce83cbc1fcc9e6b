// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/report_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/files/report_name.h"
#include "base/files/whole_file.h"

namespace tutti::mpi {

namespace {

// A run with more programs than that overwrites the last one's.
constexpr int kNumbersMax = 10'000;

// That of the batch system, else of `tutti run`, else of the launcher: rank 0's parent.
std::string job_id(const RunOfMark& run) {
    for (const char* variable : {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"}) {
        const char* value = getenv(variable);
        if (value != nullptr && *value != '\0') return value;
    }
    return run.process.empty() ? std::to_string(getppid()) : run.process;
}

// By the second entry of the file (report_json()). What is no regular file is no report.
bool is_of_run(const std::string& name, const std::string& run) {
    constexpr std::streamsize kHeadBytes = 1024;
    struct stat info {};
    if (stat(name.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
    std::string head(kHeadBytes, '\0');
    std::ifstream file(name);
    file.read(head.data(), kHeadBytes);
    head.resize(static_cast<size_t>(file.gcount()));
    return head.find("\"run\": " + nlohmann::json(run).dump()) != std::string::npos;
}

}  // namespace

RunOfMark run_of_mark(const char* mark) {
    if (mark == nullptr || *mark == '\0') return {};
    const std::string_view text(mark);
    const size_t slash = text.rfind('/');
    if (slash == std::string_view::npos) return {};
    const size_t before = text.rfind('/', slash - 1);
    return {std::string(text.substr(before == std::string_view::npos ? 0 : before + 1)),
            std::string(text.substr(slash + 1))};
}

std::string report_name(const char* setting, const RunOfMark& run) {
    char host[256] = {};
    gethostname(host, sizeof host - 1);
    return files::fill_name(setting, {job_id(run), std::to_string(getpid()), host});
}

std::string write_report(std::string& name, const RunOfMark& run, const std::string& text) {
    const std::string first = name;
    for (int number = 2; number < kNumbersMax && !run.name.empty(); ++number) {
        if (!is_of_run(name, run.name)) break;
        name = files::numbered_name(first, number);
    }
    return files::write_whole(name, text);
}

}  // namespace tutti::mpi
