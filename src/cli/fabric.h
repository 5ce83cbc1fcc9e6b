// SPDX-License-Identifier: BSD-3-Clause
// The fabric on which `tutti simulate` runs a call, as its options tell it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "cli/words.h"
#include "topo/fabric.h"

namespace tutti::cli {

std::span<const OptionDoc> fabric_options();
// hosts: of the call.
Result<topo::Fabric> read_fabric(const Words& words, uint32_t hosts);
// "100000 Mbit/s, 1 us", and what is told of leaves.
std::string text_of(const topo::Fabric& fabric);

}  // namespace tutti::cli
