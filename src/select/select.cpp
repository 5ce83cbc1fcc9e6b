// SPDX-License-Identifier: BSD-3-Clause
#include "select/select.h"
