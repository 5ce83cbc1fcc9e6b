// SPDX-License-Identifier: BSD-3-Clause
#include "cli/progress.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string_view>

namespace tutti::cli {
namespace {

uint64_t now_ns() {
    return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch() /
                                 std::chrono::nanoseconds(1));
}

void write_out(const std::string& text) {
    if (text.empty()) return;
    fmt::print(stderr, "{}", text);
    (void)std::fflush(stderr);
}

// Ends as it would have without this, on a clean line.
void end_on_clean_line(int signal_number) {
    constexpr std::string_view kClear = "\r\033[K";
    [[maybe_unused]] const auto written = write(STDERR_FILENO, kClear.data(), kClear.size());
    raise(signal_number);  // SA_RESETHAND has brought its usual action back
}

}  // namespace

std::string ProgressLine::next(const std::string& text, uint64_t now_ns) {
    if (is_terminal_) return kClear + text;
    if (now_ns - last_ns_ < kPauseNs) return {};
    last_ns_ = now_ns;
    return "tutti: " + text + "\n";
}

Progress::Progress() : line_(isatty(STDERR_FILENO) != 0, now_ns()) {
    if (isatty(STDERR_FILENO) == 0) return;
    struct sigaction action {};
    action.sa_handler = end_on_clean_line;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    for (const int signal_number : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction former {};
        sigaction(signal_number, nullptr, &former);
        if (former.sa_handler == SIG_DFL) sigaction(signal_number, &action, nullptr);
    }
}

void Progress::show(const std::string& text) { write_out(line_.next(text, now_ns())); }
void Progress::clear() const { write_out(line_.clear()); }

}  // namespace tutti::cli
