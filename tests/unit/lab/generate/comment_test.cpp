// SPDX-License-Identifier: BSD-3-Clause
#include "lab/generate/comment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "base/prng.h"

namespace tutti::generate {
namespace {

TEST(Comment, ControlCharactersAndMarksAreTold) {
    EXPECT_EQ(in_comment("a\nb\x7f"), "a\\x0ab\\x7f");
    EXPECT_EQ(in_comment("*/*"), "* / *");
    EXPECT_EQ(in_comment("?"
                         "?/"),
              "? ?/");
    EXPECT_EQ(in_comment(std::string(5000, 'x')), std::string(5000, 'x'));
}

TEST(Comment, WordsAreQuotedWhereAShellWouldReadThem) {
    EXPECT_EQ(for_shell("--hosts=n1,n2"), "--hosts=n1,n2");
    EXPECT_EQ(for_shell("n[0-3]"), "'n[0-3]'");
    EXPECT_EQ(for_shell("a b"), "'a b'");
    EXPECT_EQ(for_shell("~/x"), "'~/x'");
    EXPECT_EQ(for_shell(""), "''");
    EXPECT_EQ(for_shell("it's"), "'it'\\''s'");
    EXPECT_EQ(for_shell("a\nb"), "'a'$'\\012''b'");
    EXPECT_EQ(for_shell("*/"), "'*''/'");
}

// As a shell reads what for_shell and command_lines write: words of a text without the lines'
// beginnings.
std::vector<std::string> words_of(const std::string& text) {
    std::vector<std::string> words;
    std::string word;
    bool has_word = false;
    for (size_t at = 0; at < text.size(); ++at) {
        if (text[at] == ' ') {
            if (has_word) words.push_back(word);
            word.clear();
            has_word = false;
        } else if (text[at] == '\\' && text[at + 1] == '\n') {
            ++at;
        } else if (text[at] == '\\') {
            word += text[++at];
        } else if (text.substr(at, 3) == "$'\\") {
            word += static_cast<char>(std::stoi(text.substr(at + 3, 3), nullptr, 8));
            at += 6;
        } else if (text[at] == '\'') {
            const size_t end = text.find('\'', at + 1);
            word += text.substr(at + 1, end - at - 1);
            at = end;
            has_word = true;
        } else {
            word += text[at];
            has_word = true;
        }
    }
    if (has_word) words.push_back(word);
    return words;
}

std::string drawn_word(Prng& random) {
    const std::string_view letters = random.below(2) == 0 ? "abc,019-" : "a,'*/?\\\n \"$[]\xc3\xa4";
    std::string word;
    const uint64_t bytes = random.below(8) == 0 ? random.below(600) : random.below(30);
    while (word.size() < bytes) word += letters[random.below(letters.size())];
    return word;
}

TEST(Comment, AShellReadsTheCommandAgain) {
    for (uint64_t seed = 0; seed < 2000; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        Prng random(seed);
        std::vector<std::string> words(1 + random.below(8));
        std::ranges::generate(words, [&] { return drawn_word(random); });
        std::istringstream lines(command_lines("Made by:", words, "and more"));
        std::string text;
        for (std::string line; std::getline(lines, line);) {
            ASSERT_LE(line.size(), kLineBytesMax);
            ASSERT_EQ(line.substr(0, 3), " * ");
            for (const char* mark : {"*/", "/*",
                                     "?"
                                     "?"}) {
                ASSERT_EQ(line.find(mark), std::string::npos) << line;
            }
            text += (text.empty() ? "" : "\n") + line.substr(3);
        }
        std::vector<std::string> expected{"Made", "by:"};
        expected.insert(expected.end(), words.begin(), words.end());
        expected.insert(expected.end(), {"and", "more"});
        ASSERT_EQ(words_of(text), expected) << text;
    }
}

TEST(Comment, LinesPartWhatIsLongerBehindCommas) {
    Lines lines("first ", "then  ");
    lines.add("short");
    lines.add(std::string(60, 'a') + "," + std::string(60, 'b'));
    lines.add("end");
    EXPECT_EQ(lines.text(), "first short\nthen  " + std::string(60, 'a') + ",\nthen  " +
                                std::string(60, 'b') + " end");
}

TEST(Comment, LettersOfSeveralBytesStayWhole) {
    Lines lines("");
    std::string word = "a";
    for (int i = 0; i < 60; ++i) word += "\xc3\xa4";
    lines.add(word);
    const std::string text = lines.text();
    EXPECT_EQ(text.find('\n') % 2, 1u) << text;
}

}  // namespace
}  // namespace tutti::generate
