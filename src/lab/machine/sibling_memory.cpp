// SPDX-License-Identifier: BSD-3-Clause
#include "lab/machine/sibling_memory.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "base/fd.h"
#include "run/arena/process_memory.h"

namespace tutti::machine {
namespace {

// In the child that is read; elsewhere there is another number at this address.
constexpr uint64_t kToken = 0x7475'7474'69u;

struct Pipe {
    Fd read_end;
    Fd write_end;
    bool open() {
        int ends[2];
        if (pipe(ends) != 0) return false;
        read_end = Fd(ends[0]);
        write_end = Fd(ends[1]);
        return true;
    }
};

bool await_byte(const Fd& fd) {
    char byte = 0;
    ssize_t got = 0;
    do {
        got = read(fd.get(), &byte, 1);
    } while (got < 0 && errno == EINTR);
    return got == 1;
}

// The child that is read: stands there until nobody holds `end` open for writing.
[[noreturn]] void stand(bool opens, volatile uint64_t& token, Pipe& ready, Pipe& end) {
    if (opens) arena::allow_readers();
    token = kToken;
    end.write_end = Fd();
    const bool is_told = write(ready.write_end.get(), "", 1) == 1;
    if (is_told) await_byte(end.read_end);
    _exit(0);
}

// The child that reads; its exit status is an errno.
[[noreturn]] void look(pid_t sibling, const volatile uint64_t& token, Pipe& ready) {
    if (!await_byte(ready.read_end)) _exit(ECHILD);
    arena::ProcessMemory memory({sibling});
    uint64_t read = 0;
    const auto address = reinterpret_cast<uint64_t>(&token);
    if (!memory.read(0, reinterpret_cast<std::byte*>(&read), address, sizeof(read))) {
        _exit(memory.failure());
    }
    _exit(read == kToken ? 0 : EFAULT);
}

int wait_for_child(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) return errno;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : ECHILD;
}

// An errno; 0: one child has read in the other.
int try_siblings(bool opens) {
    volatile uint64_t token = 0;  // a child's lies where it lay here
    Pipe ready;
    Pipe end;
    if (!ready.open() || !end.open()) return errno;
    const pid_t standing = fork();
    if (standing < 0) return errno;
    if (standing == 0) stand(opens, token, ready, end);
    ready.write_end = Fd();
    const pid_t looking = fork();
    const int failure = looking < 0 ? errno : 0;
    if (looking == 0) look(standing, token, ready);
    const int found = looking < 0 ? failure : wait_for_child(looking);
    end.write_end = Fd();
    wait_for_child(standing);
    return found;
}

}  // namespace

std::string sibling_memory_obstacle(const Settings& settings) {
    if (settings.node.single_copy == SingleCopyChoice::kOff) return "TUTTI_SINGLE_COPY=off";
    const bool allows = settings.node.single_copy == SingleCopyChoice::kAllow;
    const int failure = try_siblings(allows);
    if (failure == 0) return {};
    std::array<char, 160> text{};
    arena::tell_denial(text, "a process cannot read its sibling's memory", failure, allows);
    return text.data();
}

}  // namespace tutti::machine
