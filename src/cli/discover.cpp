// SPDX-License-Identifier: BSD-3-Clause
#include "cli/discover.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/text.h"
#include "cli/process.h"
#include "cli/text_file.h"
#include "cli/words.h"
#include "files/whole_file.h"
#include "topo/read/read.h"

namespace tutti::cli {
namespace {

// A folder that goes when this does.
class PrivateFolder {
  public:
    PrivateFolder() {
        std::error_code fault;
        const auto parent = std::filesystem::temp_directory_path(fault);
        problem_ = files::make_private_folder(fault ? "/tmp" : parent.string(), path_);
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

std::string last_line(const std::string& text) {
    std::string last;
    for (const std::string_view line : split(text, '\n')) {
        if (!line.empty()) last = line;
    }
    return last;
}

}  // namespace

Result<topo::Topology> discover_fabric() {
    const char* path = getenv("PATH");
    // Where Debian has it, and where not everybody looks.
    const std::string places = fmt::format("{}:/usr/sbin:/sbin", path ? path : "");
    const auto program = find_program("ibnetdiscover", places);
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
    if (status.value() != 0) {
        const auto said = read_text_file(complaints, 1u << 20);
        const std::string last = said ? last_line(said.value()) : "";
        return wrong(fmt::format("--discover: {} ended with status {}{}", printable(*program),
                                 status.value(), last.empty() ? "" : ": " + printable(last)));
    }
    const auto text = read_text_file(out, topo::kTopologyBytesMax);
    if (!text) return text.error();
    return topo::read_ib_text(text.value(), "ibnetdiscover");
}

}  // namespace tutti::cli
