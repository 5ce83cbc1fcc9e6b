// SPDX-License-Identifier: BSD-3-Clause
// What drawings have in common: a white sheet with a title, and a line of SVG for each thing on it.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

namespace tutti::explain {

// In turn, of what is to be told apart, also by people who see few colours (Okabe, Ito 2008).
inline constexpr auto kColours = std::to_array<std::string_view>(
    {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#444444"});

// As a text of SVG.
inline std::string escaped(std::string_view text) {
    std::string result;
    for (const char letter : text) {
        if (letter == '<') {
            result += "&lt;";
        } else if (letter == '&') {
            result += "&amp;";
        } else {
            result += letter;
        }
    }
    return result;
}

// As much as fits.
inline std::string shortened(const std::string& text, size_t letters_max) {
    return text.size() <= letters_max ? text : text.substr(0, letters_max - 3) + "...";
}

class Svg {
  public:
    static constexpr int kMargin = 16;  // pixels

    void begin(int width, int height, const std::string& title) {
        put(R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" )"
            R"(viewBox="0 0 {0} {1}" font-family="sans-serif" font-size="11">)",
            width, height);
        put(R"(<title>{}</title>)", escaped(title));
        put(R"(<rect width="{}" height="{}" fill="#ffffff"/>)", width, height);
        put(R"(<text x="{}" y="24" font-size="14">{}</text>)", kMargin, escaped(title));
    }
    // The whole text.
    std::string end() {
        put("</svg>");
        return std::move(text_);
    }

    template <class... Arguments>
    void put(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
        fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
        text_ += '\n';
    }

  private:
    std::string text_;
};

}  // namespace tutti::explain
