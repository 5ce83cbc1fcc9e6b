// SPDX-License-Identifier: BSD-3-Clause
// An anonymous file in memory: what processes of a node share.
#pragma once

namespace tutti {

// Empty, never to be executed, closed on exec. -1 with errno where there is none.
int make_memory_file(const char* name);

}  // namespace tutti
