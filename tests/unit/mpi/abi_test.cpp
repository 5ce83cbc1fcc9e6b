// SPDX-License-Identifier: BSD-3-Clause
// Our declarations of an MPI against its real header.
#include "mpi/abi/abi.h"

#include <gtest/gtest.h>

#include <map>

#include "unit/mpi/values.h"

namespace tutti::mpi {
namespace {

// MPICH stands for a datatype that it was built without by the null handle; ours then never matches
// what a program passes, which is as it should be.
bool is_absent(const std::string& name, int64_t real, int64_t null_type) {
    return name != "MPI_DATATYPE_NULL" && real == null_type;
}

TEST(Abi, EveryValueIsThatOfTheRealHeader) {
    std::map<std::string, int64_t> ours;
    for (const auto& [name, value] : our_values()) ours[name] = value;
    ASSERT_FALSE(ours.empty());
    size_t compared = 0;
    for (const auto& [name, value] : real_values()) {
        ASSERT_TRUE(ours.count(name)) << name << " is not among ours";
        if (is_absent(name, value, ours["MPI_DATATYPE_NULL"])) continue;
        EXPECT_EQ(ours[name], value) << name;
        ++compared;
    }
    EXPECT_GT(compared, 110u);
}

TEST(Abi, DistinctDatatypesAndOperators) {
    abi::Handles handles;
    ASSERT_TRUE(abi::load_handles(nullptr, handles));
    for (int i = 0; i < abi::kOpNames; ++i) {
        EXPECT_TRUE(abi::may_be_op(handles.op[i], handles)) << i;
        for (int j = 0; j < i; ++j) EXPECT_NE(handles.op[i], handles.op[j]) << i << " " << j;
    }
    EXPECT_TRUE(abi::may_be_type(handles.type[abi::kTypeInt], handles));
    EXPECT_TRUE(abi::may_be_comm(handles.comm_world, handles));
    EXPECT_FALSE(abi::may_be_type(handles.type_null, handles));
    EXPECT_FALSE(abi::may_be_comm(handles.comm_null, handles));
    EXPECT_FALSE(abi::may_be_op(handles.op_null, handles));
}

}  // namespace
}  // namespace tutti::mpi
