// SPDX-License-Identifier: BSD-3-Clause
// Sanitizers bring a malloc and system calls of their own, and take more addresses than a limit
// leaves: what counts those is not tested under them.
#pragma once

#if defined(TUTTI_SANITIZED)
#define TUTTI_TEST_SANITIZED 1
#else
#define TUTTI_TEST_SANITIZED 0
#endif
