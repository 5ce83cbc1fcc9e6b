// SPDX-License-Identifier: BSD-3-Clause
#include "cli/elf.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

namespace tutti::cli {
namespace {

using Bytes = std::span<const std::byte>;

constexpr size_t kHeadersMax = 4096;
constexpr size_t kEntriesMax = 65536;
constexpr size_t kNameBytesMax = 4096;

// A copy of the T at offset, since the file promises no alignment.
template <class T>
std::optional<T> read_at(Bytes file, uint64_t offset) {
    if (offset > file.size() || file.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, file.data() + offset, sizeof value);
    return value;
}

std::optional<std::string> text_at(Bytes file, uint64_t offset) {
    std::string text;
    while (text.size() < kNameBytesMax) {
        const auto letter = read_at<char>(file, offset + text.size());
        if (!letter) return std::nullopt;
        if (*letter == '\0') return text;
        text += *letter;
    }
    return std::nullopt;
}

bool is_elf64(const Elf64_Ehdr& header) {
    return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
           header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB &&
           header.e_phentsize == sizeof(Elf64_Phdr) && header.e_phnum <= kHeadersMax;
}

// Where in the file the byte stands that the program sees at this address.
std::optional<uint64_t> file_offset(std::span<const Elf64_Phdr> segments, uint64_t address) {
    for (const Elf64_Phdr& segment : segments) {
        if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
        const uint64_t distance = address - segment.p_vaddr;
        if (distance < segment.p_filesz) return segment.p_offset + distance;
    }
    return std::nullopt;
}

// The names of the dynamic section; nothing where it is malformed.
std::optional<std::vector<std::string>> needed_names(Bytes file, const Elf64_Phdr& dynamic,
                                                     std::span<const Elf64_Phdr> segments) {
    std::vector<uint64_t> offsets;
    uint64_t strings_address = 0;
    for (size_t i = 0; i < kEntriesMax && i < dynamic.p_filesz / sizeof(Elf64_Dyn); ++i) {
        const auto entry = read_at<Elf64_Dyn>(file, dynamic.p_offset + i * sizeof(Elf64_Dyn));
        if (!entry) return std::nullopt;
        if (entry->d_tag == DT_NULL) break;
        if (entry->d_tag == DT_NEEDED) offsets.push_back(entry->d_un.d_val);
        if (entry->d_tag == DT_STRTAB) strings_address = entry->d_un.d_ptr;
    }
    std::vector<std::string> names;
    if (offsets.empty()) return names;
    const auto strings = file_offset(segments, strings_address);
    if (!strings) return std::nullopt;
    for (const uint64_t offset : offsets) {
        if (offset > file.size()) return std::nullopt;
        auto name = text_at(file, *strings + offset);
        if (!name) return std::nullopt;
        names.push_back(std::move(*name));
    }
    return names;
}

}  // namespace

std::optional<ElfNeeds> read_elf_needs(Bytes file) {
    const auto header = read_at<Elf64_Ehdr>(file, 0);
    if (!header || !is_elf64(*header)) return std::nullopt;
    std::vector<Elf64_Phdr> segments;
    for (size_t i = 0; i < header->e_phnum; ++i) {
        const auto segment = read_at<Elf64_Phdr>(file, header->e_phoff + i * sizeof(Elf64_Phdr));
        if (!segment) return std::nullopt;
        segments.push_back(*segment);
    }
    ElfNeeds needs;
    for (const Elf64_Phdr& segment : segments) {
        if (segment.p_type == PT_INTERP) {
            auto interpreter = text_at(file, segment.p_offset);
            if (!interpreter) return std::nullopt;
            needs.interpreter = std::move(*interpreter);
        }
        if (segment.p_type == PT_DYNAMIC) {
            auto names = needed_names(file, segment, segments);
            if (!names) return std::nullopt;
            needs.libraries = std::move(*names);
        }
    }
    return needs;
}

std::optional<ElfNeeds> read_elf_file(const std::string& path) {
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return std::nullopt;
    std::optional<ElfNeeds> needs;
    struct stat status {};
    if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
        const auto bytes = static_cast<size_t>(status.st_size);
        void* data = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (data != MAP_FAILED) {
            needs = read_elf_needs({static_cast<const std::byte*>(data), bytes});
            munmap(data, bytes);
        }
    }
    close(descriptor);
    return needs;
}

}  // namespace tutti::cli
