// SPDX-License-Identifier: BSD-3-Clause
#include "base/memory_file.h"

#include <sys/mman.h>

#include <cerrno>

namespace tutti {
namespace {

// Of Linux 6.3; headers of today's distributions are older.
constexpr unsigned kNoExecSeal = 0x8;

}  // namespace

// Kernels before 6.3 do not know the flag. The first that do refuse a file without it under
// vm.memfd_noexec=2; later ones think it there, and say in their log that it was missing.
int make_memory_file(const char* name) {
    const int descriptor = memfd_create(name, MFD_CLOEXEC | kNoExecSeal);
    if (descriptor >= 0 || errno != EINVAL) return descriptor;
    return memfd_create(name, MFD_CLOEXEC);
}

}  // namespace tutti
