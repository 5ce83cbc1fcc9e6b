// SPDX-License-Identifier: BSD-3-Clause
#include "cli/discover.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/files/text_file.h"
#include "base/files/whole_file.h"
#include "base/text.h"
#include "base/topo/read/read.h"
#include "cli/child_process.h"
#include "cli/command_line.h"

namespace tutti::cli {
namespace {

// A folder that goes when this does.
class PrivateFolder {
  public:
    PrivateFolder() {
        std::error_code fault;
        const auto found = std::filesystem::temp_directory_path(fault);
        const std::string parent = fault ? "/tmp" : found.string();
        const std::string why = files::make_private_folder(parent, path_);
        if (!why.empty()) problem_ = fmt::format("no folder in {}: {}", printable(parent), why);
    }
    PrivateFolder(const PrivateFolder&) = delete;
    PrivateFolder& operator=(const PrivateFolder&) = delete;
    ~PrivateFolder() {
        std::error_code fault;
        if (!path_.empty()) std::filesystem::remove_all(path_, fault);
    }
    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] const std::string& problem() const { return problem_; }

  private:
    std::string path_;
    std::string problem_;
};

// What a program wrote to standard error.
struct Complaints {
    size_t lines = 0;
    std::string last;
};

Complaints read_complaints(const std::string& file) {
    Complaints read;
    const auto text = files::read_text_file(file, 1u << 20);
    if (!text) return read;
    for (const std::string_view line : split(text.value(), '\n')) {
        if (line.empty()) continue;
        ++read.lines;
        read.last = printable(line);
    }
    return read;
}

}  // namespace

std::string discovery_places(const char* path) {
    // Where Debian has it, and where not everybody looks. An empty place would be this folder.
    const std::string usual = "/usr/sbin:/sbin";
    return path && *path ? path + (":" + usual) : usual;
}

Result<topo::Topology> discover_fabric() {
    const auto program = find_program("ibnetdiscover", discovery_places(getenv("PATH")));
    if (!program) {
        return wrong("--discover: ibnetdiscover is not on PATH (Debian: infiniband-diags)");
    }
    const PrivateFolder folder;
    if (!folder.problem().empty()) {
        return wrong(fmt::format("--discover: {}", folder.problem()));
    }
    const std::string out = folder.path() + "/out";
    const std::string complaints = folder.path() + "/complaints";
    const auto status = run_and_wait(
        {"/bin/sh", "-c", "exec \"$0\" >\"$1\" 2>\"$2\" </dev/null", *program, out, complaints});
    if (!status) return status.error();
    const Complaints said = read_complaints(complaints);
    if (status.value() != 0) {
        return wrong(fmt::format("--discover: {} ended with status {}{}", printable(*program),
                                 status.value(), said.last.empty() ? "" : ": " + said.last));
    }
    // It goes on where a switch does not answer, and then a part of the fabric is missing.
    if (said.lines == 1) {
        fmt::print(stderr, "tutti: ibnetdiscover complained: {}\n", said.last);
    } else if (said.lines > 1) {
        fmt::print(stderr, "tutti: ibnetdiscover complained in {} lines, the last: {}\n",
                   said.lines, said.last);
    }
    const auto text = files::read_text_file(out, topo::kTopologyBytesMax);
    if (!text) return text.error();
    return topo::read_ib_text(text.value(), "ibnetdiscover");
}

}  // namespace tutti::cli
