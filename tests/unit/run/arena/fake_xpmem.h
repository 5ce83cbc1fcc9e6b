// SPDX-License-Identifier: BSD-3-Clause
// A libxpmem within one process, for tests: owners are numbers, their memory is what the test says.
//
// As the kernel module does, it checks alignment, range and permission but not whether anything is
// mapped there; what an owner unmaps or maps later is seen through windows that are attached. What
// is unmapped cannot be accessed: SIGSEGV here, SIGBUS there, and a system call fails at both.
//
// FAKE_XPMEM_FAILS in the environment names calls that are to fail: "make get attach".
#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti::test {

// The end of the address space that owners have, as on x86-64: no multiple of a window.
inline constexpr uint64_t kFakeSpaceEnd = 0x7ffffffff000;

struct FakeXpmem {
    // Calls that succeeded.
    size_t makes = 0;
    size_t removes = 0;
    size_t gets = 0;
    size_t releases = 0;
    size_t attaches = 0;
    size_t detaches = 0;
    size_t attached_bytes_last = 0;
    uint64_t make_mode_last = 0;
    // What is there now.
    size_t segments = 0;
    size_t permits = 0;
    size_t attachments = 0;
};

FakeXpmem fake_xpmem();
// An owner with this number, as another process would have made it; anew where one has gone.
void fake_xpmem_owner(int64_t segment);
// The owner maps so much of the file, from its beginning.
void fake_xpmem_map(int64_t segment, uint64_t address, int fd, size_t bytes);
void fake_xpmem_unmap(int64_t segment, uint64_t address, size_t bytes);
// The owner ends.
void fake_xpmem_end(int64_t segment);

}  // namespace tutti::test
