// SPDX-License-Identifier: BSD-3-Clause
#include "base/files/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>

#include "base/files/walk.h"
#include "base/random.h"

namespace tutti::files {
namespace {

constexpr mode_t kNewFileMode = 0666;  // less what the umask takes
constexpr mode_t kNewFolderMode = 0777;

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

bool is_special(const Target& target) {
    return target.is_there && !S_ISREG(target.info.st_mode) && !S_ISDIR(target.info.st_mode);
}

// A name that nobody can guess and make first. It begins as the file does, so that one can tell
// what a process that was killed has left.
std::string random_name(std::string_view start) {
    constexpr size_t kStartMax = 200;  // a name has at most 255 bytes
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx",
                  static_cast<unsigned long long>(random_number()));
    return std::string(start.substr(0, kStartMax)) + digits;
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

// The permissions of the file that is replaced. One that was another user's keeps what is private
// and gives nobody the right to write; none gives its owner's rights to whoever runs it.
mode_t kept_mode(const struct stat& former) {
    const mode_t mode = former.st_mode & 0777;
    return former.st_uid == geteuid() ? mode : mode & ~static_cast<mode_t>(S_IWGRP | S_IWOTH);
}

std::string replace(const Target& target, std::string_view text) {
    const int folder = target.folder.get();
    const std::string partial = random_name(target.name + ".") + ".tmp";
    constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    const int descriptor = openat(folder, partial.c_str(), kFlags, kNewFileMode);
    if (descriptor < 0) return std::strerror(errno);
    if (target.is_there) {
        // Not to be able to is no reason to lose what is to be written.
        static_cast<void>(fchmod(descriptor, kept_mode(target.info)));
    }
    std::string problem = write_and_close(descriptor, text);
    if (problem.empty() && renameat(folder, partial.c_str(), folder, target.name.c_str()) != 0) {
        problem = std::strerror(errno);
    }
    if (!problem.empty()) unlinkat(folder, partial.c_str(), 0);
    return problem;
}

std::string write_as_it_is(const Target& target, std::string_view text) {
    const int links = target.is_on_proc ? 0 : O_NOFOLLOW;
    const int descriptor =
        openat(target.folder.get(), target.name.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC | links);
    if (descriptor < 0) return std::strerror(errno);
    struct stat info {};
    const bool is_same = fstat(descriptor, &info) == 0 && info.st_dev == target.info.st_dev &&
                         info.st_ino == target.info.st_ino;
    if (is_same) return write_and_close(descriptor, text);
    close(descriptor);
    return "it was exchanged meanwhile";
}

// Refuses where the directory is not this user's alone.
Walk walk_to_private(const std::string& path) {
    Walk found = walk(path);
    struct stat folder {};
    const bool is_private = found.is_good() && fstat(found.target.folder.get(), &folder) == 0 &&
                            folder.st_uid == geteuid() &&
                            (folder.st_mode & (S_IWGRP | S_IWOTH)) == 0;
    if (found.is_good() && !is_private) found.problem = "its directory is not private";
    return found;
}

// Where a folder that is not there yet is to be.
Walk walk_to_new(std::string path) {
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    Walk found = walk(path);
    if (found.error == ENOENT || found.error == ENOTDIR) found.problem = "no such directory";
    if (!found.is_good()) return found;
    if (found.target.is_there || found.target.name.empty()) found.problem = "is there already";
    return found;
}

std::string write_new(int folder, const NamedText& file) {
    const int descriptor =
        openat(folder, file.name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kNewFileMode);
    return descriptor < 0 ? std::strerror(errno) : write_and_close(descriptor, file.text);
}

// Under a name of its own, until all is there.
std::string write_folder(const Target& target, std::span<const NamedText> texts) {
    const int parent = target.folder.get();
    const std::string partial = random_name(target.name + ".") + ".tmp";
    if (mkdirat(parent, partial.c_str(), kNewFolderMode) != 0) return std::strerror(errno);
    const Handle folder(
        openat(parent, partial.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    std::string problem = folder.is_open() ? std::string() : std::strerror(errno);
    for (const NamedText& file : texts) {
        if (problem.empty()) problem = write_new(folder.get(), file);
    }
    if (problem.empty() && renameat(parent, partial.c_str(), parent, target.name.c_str()) != 0) {
        problem = std::strerror(errno);
    }
    if (problem.empty()) return problem;
    if (folder.is_open()) {
        for (const NamedText& file : texts) unlinkat(folder.get(), file.name.c_str(), 0);
    }
    unlinkat(parent, partial.c_str(), AT_REMOVEDIR);
    return problem;
}

}  // namespace

std::string write_whole(const std::string& path, std::string_view text) {
    if (const auto is_open = open_already(path)) {
        const int descriptor = fcntl(*is_open, F_DUPFD_CLOEXEC, 0);
        return descriptor < 0 ? std::strerror(errno) : write_and_close(descriptor, text);
    }
    const Walk found = walk(path);
    if (!found.is_good()) return found.problem;
    const Target& target = found.target;
    if (target.name.empty() || (target.is_there && S_ISDIR(target.info.st_mode))) {
        return std::strerror(EISDIR);
    }
    return is_special(target) || target.is_on_proc ? write_as_it_is(target, text)
                                                   : replace(target, text);
}

std::string obstacle(const std::string& path) {
    if (open_already(path)) return {};
    const Walk found = walk(path);
    if (found.error == ENOENT || found.error == ENOTDIR) return "no such directory";
    if (!found.is_good()) return found.problem;
    const Target& target = found.target;
    if (target.name.empty() || (target.is_there && S_ISDIR(target.info.st_mode))) {
        return std::strerror(EISDIR);
    }
    if (target.is_there && faccessat(target.folder.get(), target.name.c_str(), W_OK, 0) != 0) {
        return std::strerror(errno);
    }
    if (is_special(target) || target.is_on_proc) return {};
    if (faccessat(target.folder.get(), ".", W_OK | X_OK, 0) == 0) return {};
    return std::string("its directory: ") + std::strerror(errno);
}

std::string write_whole_folder(const std::string& path, std::span<const NamedText> texts) {
    const Walk found = walk_to_new(path);
    return found.is_good() ? write_folder(found.target, texts) : found.problem;
}

std::string folder_obstacle(const std::string& path) {
    const Walk found = walk_to_new(path);
    if (!found.is_good()) return found.problem;
    if (faccessat(found.target.folder.get(), ".", W_OK | X_OK, 0) == 0) return {};
    return std::string("its directory: ") + std::strerror(errno);
}

std::string make_private_folder(const std::string& parent, std::string& path) {
    const Walk found = walk(parent + "/.");
    if (!found.is_good()) return found.problem;
    if (found.target.is_strange) return parent + " belongs to another user";
    const std::string name = random_name("tutti-");
    if (mkdirat(found.target.folder.get(), name.c_str(), S_IRWXU) != 0) return std::strerror(errno);
    path = parent + "/" + name;
    return {};
}

std::string make_mark(const std::string& path) {
    const Walk found = walk_to_private(path);
    if (!found.is_good()) return found.problem;
    const Handle made(openat(found.target.folder.get(), found.target.name.c_str(),
                             O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK,
                             S_IRUSR | S_IWUSR));
    return made.is_open() ? std::string() : std::strerror(errno);
}

}  // namespace tutti::files
