// SPDX-License-Identifier: BSD-3-Clause
// A cluster's tree as a drawing: the root on top, hosts below their switches. Written as SVG
// directly: where everything stands follows from the tree.
#pragma once

#include <string>

#include "base/result.h"
#include "lab/explain/fabric_text.h"

namespace tutti::explain {

// The text of the drawing; an error where there is too much of it to be seen.
Result<std::string> draw_fabric(const std::string& title, const FabricView& view);

}  // namespace tutti::explain
