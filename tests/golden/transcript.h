// SPDX-License-Identifier: BSD-3-Clause
// Runs the built command in an empty directory of its own and keeps what it said.
#pragma once

#include <gtest/gtest.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace tutti::golden {

struct Answer {
    int status = -1;
    std::string out;
    std::string err;
};

inline size_t lines(const std::string& text) {
    return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

inline std::string text_of(const std::filesystem::path& file) {
    std::ifstream stream(file);
    return {std::istreambuf_iterator<char>(stream), {}};
}

class Transcript : public testing::Test {
  protected:
    void SetUp() override {
        std::string name =
            (std::filesystem::temp_directory_path() / "tutti-golden-XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        root_ = name;
        std::filesystem::create_directories(here());
    }
    void TearDown() override { std::filesystem::remove_all(root_); }

    // Where the command runs; whatever it leaves there is seen.
    [[nodiscard]] std::filesystem::path here() const { return root_ / "here"; }

    // `before` stands in front of the command: variables, "exec" and the like.
    Answer tutti(const std::string& arguments, const std::string& before = "") const {
        return shell(before + " \"$T\" " + arguments);
    }

    [[nodiscard]] Answer shell(const std::string& script) const {
        const std::string line = "cd '" + here().string() + "' && T='" TUTTI_COMMAND "'; (" +
                                 script + ") >../out 2>../err </dev/null";
        const int status = system(line.c_str());
        Answer answer;
        if (WIFEXITED(status)) answer.status = WEXITSTATUS(status);
        answer.out = text_of(root_ / "out");
        answer.err = text_of(root_ / "err");
        return answer;
    }

    // A launcher of our own: prints its version where asked, else every argument on a line.
    void make_launcher(const std::string& name, const std::string& version) const {
        const auto file = here() / "bin" / name;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << "#!/bin/sh\n"
                               "if [ \"$1\" = --version ]; then echo '"
                            << version
                            << "'; exit; fi\n"
                               "for word; do printf '%s\\n' \"$word\"; done\n"
                               "exit ${STATUS:-0}\n";
        std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    }

    std::filesystem::path root_;
};

}  // namespace tutti::golden
