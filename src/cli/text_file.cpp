// SPDX-License-Identifier: BSD-3-Clause
#include "cli/text_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "cli/command_line.h"

namespace tutti::cli {

Result<std::string> read_text_file(const std::string& name, uint64_t bytes_max) {
    std::error_code fault;
    if (std::filesystem::is_directory(name, fault)) {
        return wrong(fmt::format("{}: is a directory", printable(name)));
    }
    std::ifstream file(name, std::ios::binary);
    if (!file) return wrong(fmt::format("{}: cannot be read", printable(name)));
    // Piece by piece: it may be a device that never ends.
    std::string text;
    std::string piece(1 << 20, '\0');
    while (file) {
        file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
        text.append(piece, 0, static_cast<size_t>(file.gcount()));
        if (text.size() > bytes_max) {
            return wrong(fmt::format("{}: more than {}", printable(name), format_bytes(bytes_max)));
        }
    }
    return text;
}

}  // namespace tutti::cli
