// SPDX-License-Identifier: BSD-3-Clause
#include "base/files/text_file.h"

#include <filesystem>
#include <fstream>

#include "base/text.h"

namespace tutti::files {
namespace {

Error wrong(const std::string& name, const std::string& what) {
    return {ErrorCode::kArgument, printable(name) + ": " + what};
}

}  // namespace

Result<std::string> read_text_file(const std::string& name, uint64_t bytes_max) {
    std::error_code fault;
    if (std::filesystem::is_directory(name, fault)) {
        return wrong(name, "is a directory");
    }
    std::ifstream file(name, std::ios::binary);
    if (!file) return wrong(name, "cannot be read");
    // Piece by piece: it may be a device that never ends.
    std::string text;
    std::string piece(1 << 20, '\0');
    while (file) {
        file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
        text.append(piece, 0, static_cast<size_t>(file.gcount()));
        if (text.size() > bytes_max) {
            return wrong(name, "more than " + format_bytes(bytes_max));
        }
    }
    return text;
}

}  // namespace tutti::files
