// SPDX-License-Identifier: BSD-3-Clause
#include "base/random.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/fd.h"
#include "base/prng.h"

namespace tutti {
namespace {

using Source = ssize_t (*)(int file, void* bytes, size_t count);

bool fill(std::span<std::byte> bytes, Source source, int file) {
    while (!bytes.empty()) {
        const ssize_t got = source(file, bytes.data(), bytes.size());
        if (got > 0) {
            bytes = bytes.subspan(static_cast<size_t>(got));
        } else if (got == 0 || errno != EINTR) {
            return false;
        }
    }
    return true;
}

ssize_t ask_kernel(int, void* bytes, size_t count) { return getrandom(bytes, count, 0); }

bool read_device(std::span<std::byte> bytes) {
    const Fd file(open("/dev/urandom", O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat info {};
    // A file that somebody put there is no generator.
    if (file.get() < 0 || fstat(file.get(), &info) != 0 || !S_ISCHR(info.st_mode)) return false;
    return fill(bytes, read, file.get());
}

uint64_t number_of_process() {
    static std::atomic<uint64_t> count{0};
    uint64_t given[2] = {};
    if (const auto at = getauxval(AT_RANDOM); at != 0) {
        std::memcpy(given, reinterpret_cast<const void*>(at), sizeof given);
    }
    uint64_t number = 0;
    for (const uint64_t word : {given[0], given[1], static_cast<uint64_t>(getpid()), ++count}) {
        number = Prng(number ^ word).next();
    }
    return number;
}

}  // namespace

bool random_secret(std::span<std::byte> bytes) {
    return fill(bytes, ask_kernel, -1) || read_device(bytes);
}

uint64_t random_number() {
    uint64_t number = 0;
    if (!random_secret(std::as_writable_bytes(std::span(&number, 1)))) number = number_of_process();
    return number != 0 ? number : 1;
}

}  // namespace tutti
