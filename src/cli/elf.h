// SPDX-License-Identifier: BSD-3-Clause
// Which shared libraries a program needs: the few fields of an ELF file that say so.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tutti::cli {

struct ElfNeeds {
    std::vector<std::string> libraries;  // DT_NEEDED, in order
    std::string interpreter;             // empty in a static program
};

// Nothing where the bytes are not a well-formed 64-bit little-endian ELF file.
std::optional<ElfNeeds> read_elf_needs(std::span<const std::byte> file);

// The same for a file on disk.
std::optional<ElfNeeds> read_elf_file(const std::string& path);

}  // namespace tutti::cli
