// SPDX-License-Identifier: BSD-3-Clause
// Named numbers of an MPI, from our own declarations and from a real mpi.h, to be compared.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tutti::mpi {

namespace abi {
struct Abi;
}

using Values = std::vector<std::pair<std::string, int64_t>>;

Values our_values(const abi::Abi& abi);
Values real_values();

}  // namespace tutti::mpi
