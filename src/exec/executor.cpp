// SPDX-License-Identifier: BSD-3-Clause
#include "exec/executor.h"
