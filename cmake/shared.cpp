// SPDX-License-Identifier: BSD-3-Clause
// A shared library needs one source of its own; all else comes from the engine's archive. Reading
// the header here proves that it compiles by itself.
#include "tutti/tutti.h"

static_assert(TUTTI_OK == 0);
