// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/carrier/waker.h"

#include <unistd.h>

#include <cerrno>

namespace tutti::transport::carrier {

void PipeWaker::wake() {
    const char byte = 1;
    // A full pipe wakes as well as one byte more would.
    while (write(fd_, &byte, 1) < 0 && errno == EINTR) continue;
}

}  // namespace tutti::transport::carrier
