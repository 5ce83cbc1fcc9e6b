// SPDX-License-Identifier: BSD-3-Clause
#include "base/memory_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <iterator>

namespace tutti {
namespace {

constexpr unsigned kNoExecSeal = 0x8;
constexpr int kNoFilter = 77;

// A kernel that answers memfd_create with `error` where the flag is there, or where it is not.
bool pretend_kernel(bool where_there, int error) {
    const unsigned char if_set = where_there ? 0 : 1;
    const unsigned char if_clear = where_there ? 1 : 0;
    sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 3),
        // The low half of the second argument; little-endian, as all that Tutti is built for.
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[1])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, kNoExecSeal, if_set, if_clear),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program{static_cast<unsigned short>(std::size(code)), code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// The errno of make_memory_file in a process under such a kernel; 0 where it works.
int outcome(bool where_there, int error) {
    const pid_t child = fork();
    if (child == 0) {
        if (!pretend_kernel(where_there, error)) _exit(kNoFilter);
        const int file = make_memory_file("test");
        _exit(file >= 0 ? 0 : errno);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(MemoryFile, IsClosedOnExec) {
    const int file = make_memory_file("test");
    ASSERT_GE(file, 0);
    EXPECT_EQ(fcntl(file, F_GETFD), FD_CLOEXEC);
    close(file);
}

// vm.memfd_noexec=2 refuses who does not say that the file is never executed.
TEST(MemoryFile, WhereTheKernelDemandsNoExecution) {
    const int got = outcome(false, EACCES);
    if (got == kNoFilter) GTEST_SKIP() << "no system call filter can be installed";
    EXPECT_EQ(got, 0);
}

TEST(MemoryFile, WhereTheKernelDoesNotKnowTheFlag) {
    const int got = outcome(true, EINVAL);
    if (got == kNoFilter) GTEST_SKIP() << "no system call filter can be installed";
    EXPECT_EQ(got, 0);
}

TEST(MemoryFile, OtherErrorsAreTheCallers) {
    const int got = outcome(true, ENFILE);
    if (got == kNoFilter) GTEST_SKIP() << "no system call filter can be installed";
    EXPECT_EQ(got, ENFILE);
}

}  // namespace
}  // namespace tutti
