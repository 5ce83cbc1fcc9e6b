// SPDX-License-Identifier: BSD-3-Clause
// What transfers get of a fabric's links when all are made at once: max-min fair shares.
//
// Source: progressive filling, Bertsekas, Gallager 1992, "Data Networks", section 6.5.2: the link
// that has least for each of its transfers fixes these, is taken away, and so on.
#pragma once

#include <span>
#include <vector>

#include "base/topo/fabric.h"
#include "lab/survey/experiment.h"

namespace tutti::survey {

// Bytes per nanosecond of each.
std::vector<double> fair_shares(const topo::Fabric& fabric, std::span<const Transfer> transfers);

}  // namespace tutti::survey
