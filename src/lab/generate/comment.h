// SPDX-License-Identifier: BSD-3-Clause
// Text of others in a C comment: whole, in lines of a limited length, and such that they neither
// end the comment nor begin one.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace tutti::generate {

inline constexpr size_t kLineBytesMax = 98;

// Control characters as \x0a. A blank parts what would end a comment, begin one, or be a trigraph.
std::string in_comment(std::string_view text);

// A word of a POSIX shell (2024: control characters are $'\012'): as it is, or in quotes. Two empty
// quotes part what would end a comment, begin one, or be a trigraph.
std::string for_shell(std::string_view word);

// A command in lines that begin with " * ", the first of them with the title, too: without these
// beginnings a shell reads the words again. `tail` is behind them as it is, and short.
std::string command_lines(std::string_view title, std::span<const std::string> words,
                          std::string_view tail = "");

// Words one behind the other, in lines that begin alike, or all but the first. What is longer than
// a line is parted, behind a comma where there is one.
class Lines {
  public:
    explicit Lines(std::string indent) : Lines(indent, indent) {}
    Lines(std::string first_indent, std::string indent)
        : first_indent_(std::move(first_indent)), indent_(std::move(indent)) {}
    void add(std::string_view word);
    std::string text();

  private:
    [[nodiscard]] size_t indent_size() const {
        return text_.empty() && line_.empty() ? first_indent_.size() : indent_.size();
    }
    void begin_line(std::string_view word);
    void end_line();

    std::string first_indent_;
    std::string indent_;
    std::string line_;
    std::string text_;
};

}  // namespace tutti::generate
