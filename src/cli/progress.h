// SPDX-License-Identifier: BSD-3-Clause
// The progress of a command that may take long, on standard error: on a terminal one line that is
// written over; elsewhere (a log) a line now and then, and none of what is soon done.
#pragma once

#include <cstdint>
#include <string>

namespace tutti::cli {

class ProgressLine {
  public:
    static constexpr uint64_t kPauseNs = 10'000'000'000;

    ProgressLine(bool is_terminal, uint64_t now_ns) : is_terminal_(is_terminal), last_ns_(now_ns) {}

    // What is to be written now; mostly empty where there is no terminal.
    [[nodiscard]] std::string next(const std::string& text, uint64_t now_ns);
    // Before anything else is written: takes the line away.
    [[nodiscard]] std::string clear() const { return is_terminal_ ? kClear : ""; }

  private:
    static constexpr const char* kClear = "\r\033[K";

    bool is_terminal_;
    uint64_t last_ns_;  // when there was a line, or the start
};

// The same on this process's standard error. On a terminal a signal that ends the command takes the
// line away first.
class Progress {
  public:
    Progress();
    void show(const std::string& text);
    void clear() const;

  private:
    ProgressLine line_;
};

}  // namespace tutti::cli
