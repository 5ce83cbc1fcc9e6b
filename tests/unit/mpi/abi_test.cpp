// SPDX-License-Identifier: BSD-3-Clause
// Our row of an ABI against an MPI's real header, and what we see in its library.
#include "mpi/abi/abi.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <map>

#include "mpi/abi/brands.h"
#include "mpi/abi/mpich.h"
#include "mpi/abi/ompi.h"
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
    for (const auto& [name, value] : our_values(abi::ABI_ROW)) ours[name] = value;
    ASSERT_FALSE(ours.empty());
    size_t compared = 0;
    for (const auto& [name, value] : real_values()) {
        ASSERT_TRUE(ours.count(name)) << name << " is not among ours";
        if (is_absent(name, value, ours["MPI_DATATYPE_NULL"])) continue;
        if (name.starts_with("MPI_MAX_")) {
            EXPECT_GE(ours[name], value) << name;
        } else {
            EXPECT_EQ(ours[name], value) << name;
        }
        ++compared;
    }
    EXPECT_GT(compared, 110u);
}

TEST(Abi, DistinctDatatypesAndOperators) {
    using abi::Named;
    const abi::Abi& row = abi::ABI_ROW;
    abi::Handles handles{};
    ASSERT_TRUE(row.load_handles(nullptr, handles));
    for (int i = 0; i < abi::kOpNames; ++i) {
        EXPECT_TRUE(row.may_be(Named::kOp, handles.op[i].bits, handles)) << i;
        for (int j = 0; j < i; ++j) EXPECT_NE(handles.op[i], handles.op[j]) << i << " " << j;
    }
    EXPECT_TRUE(row.may_be(Named::kType, handles.type[abi::kTypeInt].bits, handles));
    EXPECT_TRUE(row.may_be(Named::kComm, handles.comm_world.bits, handles));
    EXPECT_FALSE(row.may_be(Named::kType, handles.type_null.bits, handles));
    EXPECT_FALSE(row.may_be(Named::kComm, handles.comm_null.bits, handles));
    EXPECT_FALSE(row.may_be(Named::kOp, handles.op_null.bits, handles));
}

// Before MPI_Init, which is when the first call may come.
TEST(Abi, TheLibrarySaysWhichItIs) {
    void* library = dlopen(ABI_LIBRARY, RTLD_LAZY | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    char version[abi::kLibraryVersionMax + 1];
    abi::read_version(library, version);
    EXPECT_FALSE(abi::is_standard_abi(library));
    const abi::Abi* found = abi::find_abi(library, version);
    ASSERT_NE(found, nullptr) << version;
    EXPECT_STREQ(found->name, abi::ABI_ROW.name);
    EXPECT_STREQ(abi::find_brand(version)->rules_name, ABI_BRAND) << version;
    abi::Host host{};
    EXPECT_EQ(abi::load_host(library, "PMPI_", found->handles_are_ints, host), "");
}

TEST(Abi, ALibraryThatIsNoneIsOfNone) {
    void* library = dlopen(nullptr, RTLD_LAZY);
    EXPECT_EQ(abi::kMpichAbi.is(library, "An MPI 1.0"), false);
    EXPECT_EQ(abi::kMpichAbi.is(library, ""), false);
}

}  // namespace
}  // namespace tutti::mpi
