// SPDX-License-Identifier: BSD-3-Clause
// TUTTI_ variables of all ranks: rank 0's hold, and a line names differences.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace tutti::mpi {

// "NAME=value", sorted; without those that are empty, which means unset. TUTTI_REPORT_MARK is left
// out: it names a file of the command on one host.
std::vector<std::string> tutti_variables(const char* const* environment);

// Into rank 0's, which hold, what each process says for itself: hosts differ in their RDMA devices,
// and processes of one host may be given different ones. What was sorted stays so.
void put_own_first(std::vector<std::string>& held, std::span<const std::string> mine);

// Names of the variables in which the two differ, "A, B", or an empty string. Both are sorted.
std::string differing_names(std::span<const std::string> mine, std::span<const std::string> theirs);

// "ranks 1, 3: A differs; rank 0's value holds". The index of `names` is the rank; ranks with an
// empty text agree. Long lists are cut and counted. Empty where all agree.
std::string describe_differences(std::span<const std::string> names);

// Entries separated by null characters, and back.
std::string join_entries(std::span<const std::string> entries);
std::vector<std::string> split_entries(const std::string& text);

}  // namespace tutti::mpi
