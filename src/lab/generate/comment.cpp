// SPDX-License-Identifier: BSD-3-Clause
#include "lab/generate/comment.h"

#include <algorithm>

#include "base/assert.h"

namespace tutti::generate {
namespace {

constexpr std::string_view kBegin = " * ";
constexpr std::string_view kDigits = "0123456789abcdef";

bool is_control(char letter) {
    const auto code = static_cast<unsigned char>(letter);
    return code < 0x20 || code == 0x7f;
}

bool is_mark(char last, char letter) {
    return (last == '*' && letter == '/') || (last == '/' && letter == '*') ||
           (last == '?' && letter == '?');
}

// What no shell makes anything of, wherever it stands in a word.
bool is_plain(char letter) {
    constexpr std::string_view kPlain = "_-./:,=+@%";
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || kPlain.find(letter) != std::string_view::npos;
}

// How much of a text that is longer goes into `bytes_max`: up to a comma in their second half, else
// all of them, but no part of a letter of UTF-8.
size_t piece_bytes(std::string_view text, size_t bytes_max) {
    TUTTI_ASSERT(bytes_max > 0 && bytes_max < text.size(), "a piece is a part");
    const size_t comma = text.substr(0, bytes_max).rfind(',');
    if (comma != std::string_view::npos && comma >= bytes_max / 2) return comma + 1;
    constexpr size_t kFollowersMax = 3;
    size_t bytes = bytes_max;
    const auto follows = [&] { return (static_cast<unsigned char>(text[bytes]) & 0xc0) == 0x80; };
    while (bytes > 1 && bytes_max - bytes < kFollowersMax && follows()) --bytes;
    return bytes;
}

}  // namespace

std::string in_comment(std::string_view text) {
    std::string safe;
    for (const char letter : text) {
        if (is_control(letter)) {
            const auto code = static_cast<unsigned char>(letter);
            safe += "\\x";
            safe += kDigits[code >> 4];
            safe += kDigits[code & 15];
            continue;
        }
        if (!safe.empty() && is_mark(safe.back(), letter)) safe += ' ';
        safe += letter;
    }
    return safe;
}

std::string for_shell(std::string_view word) {
    if (!word.empty() && std::ranges::all_of(word, is_plain)) return std::string(word);
    std::string quoted = "'";
    char last = ' ';
    for (const char letter : word) {
        if (is_mark(last, letter)) quoted += "''";
        if (letter == '\'') {
            quoted += "'\\''";
        } else if (is_control(letter)) {
            const auto code = static_cast<unsigned char>(letter);
            quoted += "'$'\\";
            for (const int shift : {6, 3, 0}) quoted += kDigits[(code >> shift) & 7];
            quoted += "''";
        } else {
            quoted += letter;
        }
        last = letter;
    }
    return quoted + "'";
}

std::string command_lines(std::string_view title, std::span<const std::string> words,
                          std::string_view tail) {
    // Behind a line's beginning, with the sign that the command goes on.
    constexpr size_t kRoom = kLineBytesMax - kBegin.size() - 1;
    std::string text;
    std::string line = std::string(kBegin) + std::string(title);
    const auto make_room = [&](size_t bytes) {
        if (line.size() + 1 + bytes + 2 <= kLineBytesMax) {
            line += ' ';
            return;
        }
        text += line + " \\\n";
        line = kBegin;
    };
    for (const std::string& word : words) {
        std::string_view rest = word;
        std::string quoted = for_shell(rest);
        make_room(quoted.size());
        while (line.size() + quoted.size() + 2 > kLineBytesMax) {
            size_t bytes = std::min(rest.size() - 1, kRoom);
            while (for_shell(rest.substr(0, bytes)).size() > kRoom) --bytes;
            bytes = piece_bytes(rest, bytes);
            text += line + for_shell(rest.substr(0, bytes)) + "\\\n";
            rest.remove_prefix(bytes);
            quoted = for_shell(rest);
            line = kBegin;
        }
        line += quoted;
    }
    if (!tail.empty()) {
        make_room(tail.size());
        line += tail;
    }
    return text + line;
}

void Lines::begin_line(std::string_view word) {
    const std::string& indent = text_.empty() && line_.empty() ? first_indent_ : indent_;
    std::string begun = indent + std::string(word);
    end_line();
    line_ = std::move(begun);
}

void Lines::add(std::string_view word) {
    if (!line_.empty() && line_.size() + 1 + word.size() <= kLineBytesMax) {
        line_ += ' ';
        line_ += word;
        return;
    }
    while (indent_size() + word.size() > kLineBytesMax) {
        const size_t bytes = piece_bytes(word, kLineBytesMax - indent_size());
        begin_line(word.substr(0, bytes));
        word.remove_prefix(bytes);
    }
    begin_line(word);
}

std::string Lines::text() {
    end_line();
    return text_;
}

void Lines::end_line() {
    if (!line_.empty() && !text_.empty()) text_ += '\n';
    text_ += line_;
    line_.clear();
}

}  // namespace tutti::generate
