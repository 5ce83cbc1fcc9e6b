// SPDX-License-Identifier: BSD-3-Clause
#include "base/read_whole.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/fd.h"

namespace tutti {
namespace {

std::optional<std::string> read_from(int file, size_t bytes_max) {
    constexpr size_t kPieceBytes = size_t{64} << 10;
    struct stat info {};
    if (fstat(file, &info) != 0) return std::nullopt;
    if (S_ISFIFO(info.st_mode)) {
        errno = ENOTSUP;
        return std::nullopt;
    }
    std::string text;
    size_t bytes = 0;
    while (bytes <= bytes_max) {
        text.resize(std::min(bytes + kPieceBytes, bytes_max + 1));
        const ssize_t got = read(file, text.data() + bytes, text.size() - bytes);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return std::nullopt;
        if (got == 0) break;
        bytes += static_cast<size_t>(got);
    }
    text.resize(bytes);
    return text;
}

}  // namespace

std::optional<std::string> read_whole(const std::string& path, size_t bytes_max) {
    int error = 0;
    std::optional<std::string> text;
    {
        const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
        if (file.get() >= 0) text = read_from(file.get(), bytes_max);
        error = errno;
    }
    errno = error;  // not close()'s
    return text;
}

}  // namespace tutti
