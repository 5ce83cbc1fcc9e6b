// SPDX-License-Identifier: BSD-3-Clause
// `tutti run` reads whatever file the user starts: damaged ones are refused, never believed.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "cli/elf.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
    const auto needs = tutti::cli::read_elf_needs(std::as_bytes(std::span(data, bytes)));
    if (needs) {
        for (const auto& library : needs->libraries) {
            if (library.size() >= bytes) std::abort();
        }
    }
    return 0;
}
