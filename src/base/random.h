// SPDX-License-Identifier: BSD-3-Clause
// Random numbers that no one else can guess. A sandbox may deny the system call for them, or the
// device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti {

// Fills the bytes from the kernel's generator: by getrandom(), or else from /dev/urandom. Good for
// keys. False where neither is to be had.
[[nodiscard]] bool random_secret(std::span<std::byte> bytes);

// Not zero. Where the kernel's generator is not to be had, it is made of what the kernel gave this
// program when it started, of the process and of a count: good for names and tokens, not for keys.
uint64_t random_number();

}  // namespace tutti
