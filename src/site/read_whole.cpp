// SPDX-License-Identifier: BSD-3-Clause
#include "site/read_whole.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace tutti::site {

std::optional<std::string> read_whole(int file, size_t bytes_max) {
    constexpr size_t kPieceBytes = size_t{64} << 10;
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

}  // namespace tutti::site
