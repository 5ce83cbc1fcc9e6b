// SPDX-License-Identifier: BSD-3-Clause
#include "files/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>

namespace tutti::files {
namespace {

namespace fs = std::filesystem;

// More files left by processes that were killed while writing than this are no accident.
constexpr int kNamesMax = 100;
constexpr mode_t kNewFileMode = 0666;

// The descriptor that such a name means. Opening the name anew would not share its place in the
// file, and replacing the file would part it from whoever has it open.
std::optional<int> open_already(std::string_view path) {
    if (path == "/dev/stdout") return STDOUT_FILENO;
    if (path == "/dev/stderr") return STDERR_FILENO;
    for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
        if (!path.starts_with(folder)) continue;
        const std::string_view digits = path.substr(folder.size());
        int number = -1;
        const auto [end, error] =
            std::from_chars(digits.data(), digits.data() + digits.size(), number);
        if (error == std::errc() && end == digits.data() + digits.size()) return number;
    }
    return std::nullopt;
}

bool is_special(const std::string& path) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    return fs::exists(status) && !fs::is_regular_file(status);
}

// An empty text where all of it was written and the descriptor closed.
std::string write_and_close(int descriptor, std::string_view text) {
    int problem = 0;
    while (!text.empty() && problem == 0) {
        const ssize_t written = write(descriptor, text.data(), text.size());
        if (written >= 0) {
            text.remove_prefix(static_cast<size_t>(written));
        } else if (errno != EINTR) {
            problem = errno;
        }
    }
    if (close(descriptor) != 0 && problem == 0) problem = errno;
    return problem == 0 ? std::string() : std::strerror(problem);
}

std::string replace(const std::string& path, std::string_view text) {
    std::error_code error;
    const fs::path followed = fs::canonical(path, error);
    const std::string file = error ? path : followed.string();
    std::string partial;
    int descriptor = -1;
    for (int number = 0; descriptor < 0 && number < kNamesMax; ++number) {
        partial = file + "." + std::to_string(getpid()) + "-" + std::to_string(number) + ".tmp";
        descriptor = open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kNewFileMode);
        if (descriptor < 0 && errno != EEXIST) break;
    }
    if (descriptor < 0) return std::strerror(errno);
    struct stat former {};
    if (stat(file.c_str(), &former) == 0) {
        // Not to be able to is no reason to lose what is to be written.
        static_cast<void>(fchmod(descriptor, former.st_mode & 07777));
    }
    std::string problem = write_and_close(descriptor, text);
    if (problem.empty() && rename(partial.c_str(), file.c_str()) != 0) {
        problem = std::strerror(errno);
    }
    if (!problem.empty()) unlink(partial.c_str());
    return problem;
}

}  // namespace

std::string write_whole(const std::string& path, std::string_view text) {
    const auto is_open = open_already(path);
    if (!is_open && !is_special(path)) return replace(path, text);
    const int descriptor = is_open ? fcntl(*is_open, F_DUPFD_CLOEXEC, 0)
                                   : open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
    return descriptor < 0 ? std::strerror(errno) : write_and_close(descriptor, text);
}

std::string obstacle(const std::string& path) {
    std::error_code error;
    if (fs::is_directory(path, error)) return std::strerror(EISDIR);
    if (fs::exists(path, error) && access(path.c_str(), W_OK) != 0) return std::strerror(errno);
    if (open_already(path) || is_special(path)) return {};
    const fs::path followed = fs::canonical(path, error);
    const fs::path folder =
        fs::absolute(error ? fs::path(path) : followed, error).lexically_normal().parent_path();
    if (!fs::is_directory(folder, error)) return "no such directory";
    if (!fs::path(path).has_filename()) return std::strerror(EISDIR);
    if (access(folder.c_str(), W_OK | X_OK) == 0) return {};
    return std::string("its directory: ") + std::strerror(errno);
}

}  // namespace tutti::files
