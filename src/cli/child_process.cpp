// SPDX-License-Identifier: BSD-3-Clause
#include "cli/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "base/text.h"

namespace tutti::cli {
namespace {

constexpr size_t kCaptureBytesMax = 64 << 10;
constexpr int kLinksMax = 40;  // As the kernel: beyond it the chain is a loop.

bool is_program(const std::string& path) {
    struct stat status {};
    return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
           access(path.c_str(), X_OK) == 0;
}

std::vector<char*> pointers(const std::vector<std::string>& command) {
    std::vector<char*> words;
    words.reserve(command.size() + 1);
    for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    return words;
}

int exit_status(int status) {
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// Reads until the end, the limit or the deadline.
std::string read_until(int descriptor, int timeout_ms) {
    using std::chrono::milliseconds;
    using std::chrono::steady_clock;
    const auto deadline = steady_clock::now() + milliseconds(timeout_ms);
    std::string text;
    while (text.size() < kCaptureBytesMax) {
        const auto left = std::chrono::duration_cast<milliseconds>(deadline - steady_clock::now());
        pollfd wanted{descriptor, POLLIN, 0};
        const int wait_ms = static_cast<int>(std::max<int64_t>(left.count(), 0));
        const int ready = poll(&wanted, 1, wait_ms);
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) break;
        char buffer[4096];
        const ssize_t got = read(descriptor, buffer, sizeof buffer);
        if (got <= 0) break;
        text.append(buffer, static_cast<size_t>(got));
    }
    return text;
}

[[noreturn]] void become(const std::vector<std::string>& command, int error_pipe) {
    auto words = pointers(command);
    execvp(words[0], words.data());
    const int error = errno;
    // Nothing can be done where even this fails: the parent then sees status 127.
    [[maybe_unused]] const ssize_t written = write(error_pipe, &error, sizeof error);
    _exit(127);
}

sigset_t passed_on_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD}) {
        sigaddset(&set, number);
    }
    return set;
}

// Waits for the child. What a terminal sends (Ctrl-C) reaches the child by itself, since it is in
// the same foreground group; passing it on would make it two, which launchers take for "at once".
int wait_and_pass_on(pid_t child, const sigset_t& signals) {
    for (;;) {
        siginfo_t info{};
        const int number = sigwaitinfo(&signals, &info);
        if (number > 0 && number != SIGCHLD && info.si_code != SI_KERNEL) kill(child, number);
        int status = 0;
        const pid_t ended = waitpid(child, &status, WNOHANG);
        if (ended == child && (WIFEXITED(status) || WIFSIGNALED(status))) {
            return exit_status(status);
        }
        if (ended < 0 && errno != EINTR) return 127;
    }
}

Error system_error(const std::string& what) {
    return {ErrorCode::kSystem, what + ": " + std::strerror(errno)};
}

}  // namespace

std::string environment_text(const char* name) {
    const char* value = getenv(name);
    return value ? value : "";
}

std::optional<std::string> find_program(std::string_view word, std::string_view path) {
    if (word.empty()) return std::nullopt;
    if (word.find('/') != std::string_view::npos) {
        std::string file(word);
        if (is_program(file)) return file;
        return std::nullopt;
    }
    for (const std::string_view directory : split(path, ':')) {
        std::string file(directory.empty() ? "." : directory);
        file += '/';
        file += word;
        if (is_program(file)) return file;
    }
    return std::nullopt;
}

std::vector<std::string> link_chain(const std::string& path) {
    namespace fs = std::filesystem;
    std::error_code error;
    fs::path current = fs::absolute(path, error).lexically_normal();
    std::vector<std::string> chain{current.string()};
    for (int i = 0; i < kLinksMax; ++i) {
        const fs::path target = fs::read_symlink(current, error);
        if (error) break;
        current = (current.parent_path() / target).lexically_normal();
        chain.push_back(current.string());
    }
    const fs::path file = fs::canonical(path, error);
    if (!error && file.string() != chain.back()) chain.push_back(file.string());
    return chain;
}

std::string captured_output(const std::vector<std::string>& command, int timeout_ms) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return {};
    const pid_t child = fork();
    if (child == 0) {
        setpgid(0, 0);  // So that a script's own children end with it.
        const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        dup2(null, STDIN_FILENO);
        dup2(null, STDERR_FILENO);
        dup2(ends[1], STDOUT_FILENO);
        become(command, null);
    }
    close(ends[1]);
    std::string text;
    if (child > 0) {
        setpgid(child, child);
        text = read_until(ends[0], timeout_ms);
        kill(-child, SIGKILL);
        while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
        }
    }
    close(ends[0]);
    return text;
}

Result<int> run_and_wait(const std::vector<std::string>& command) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return system_error("cannot make a pipe");
    const sigset_t signals = passed_on_signals();
    sigset_t former;
    sigprocmask(SIG_BLOCK, &signals, &former);
    // An ignored SIGCHLD, which a parent may have left to us, would lose the exit status.
    signal(SIGCHLD, SIG_DFL);
    const pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        sigprocmask(SIG_SETMASK, &former, nullptr);
        become(command, ends[1]);
    }
    const Error fork_error = system_error("cannot start a process");
    close(ends[1]);
    int start_error = 0;
    const bool failed = child > 0 && read(ends[0], &start_error, sizeof start_error) > 0;
    close(ends[0]);
    if (child < 0) {
        sigprocmask(SIG_SETMASK, &former, nullptr);
        return fork_error;
    }
    const int status = wait_and_pass_on(child, signals);
    sigprocmask(SIG_SETMASK, &former, nullptr);
    if (failed) {
        return Error{ErrorCode::kSystem, printable(command[0]) + ": " + std::strerror(start_error)};
    }
    return status;
}

}  // namespace tutti::cli
