// SPDX-License-Identifier: BSD-3-Clause
// Output that cannot be written is an error: one line, and a status that is not 0.
#include <sys/stat.h>

#include "golden/transcript.h"

namespace tutti::golden {
namespace {

class Output : public Transcript, public testing::WithParamInterface<const char*> {};

TEST_P(Output, ThatCannotBeWrittenIsAnError) {
    const std::string full = std::string("\"$T\" ") + GetParam() + " >/dev/full";
    const Answer on_full = shell(full);
    EXPECT_EQ(on_full.status, 1) << full;
    EXPECT_EQ(on_full.err, "tutti: standard output: No space left on device\n") << full;
    const std::string closed = std::string("\"$T\" ") + GetParam() + " >&-";
    const Answer on_closed = shell(closed);
    EXPECT_EQ(on_closed.status, 1) << closed;
    EXPECT_EQ(on_closed.err, "tutti: standard output: Bad file descriptor\n") << closed;
}

INSTANTIATE_TEST_SUITE_P(
    Commands, Output,
    testing::Values("--version", "help", "help run", "help bench", "run --help", "info",
                    "info --help", "info --settings", "info --settings --markdown", "bench --help",
                    "bench --verbs --help", "explain --help",
                    "explain allreduce --bytes 1M --ranks 4",
                    "explain bcast --bytes 8 --ranks 8 --hosts 1", "check --help",
                    "check ring --ranks 2..4", "simulate --help", "simulate barrier --ranks 4",
                    "fabric --help", "fabric " TUTTI_GENERATED "/two_leaves.toml",
                    "fabric --toml " TUTTI_GENERATED "/two_leaves.toml",
                    "fabric --hosts 2 --ranks 4 " TUTTI_GENERATED "/two_leaves.toml",
                    "generate --help",
                    "generate allreduce --fabric " TUTTI_GENERATED "/two_leaves.toml",
                    // More than a buffer of output, so that a write fails in the middle.
                    "explain allreduce --bytes 1M --ranks 16 --schedule"),
    [](const auto& one) { return "Case" + std::to_string(one.index); });

// What is drawn goes to a file of its own; nothing of it may land where output was to go.
TEST_F(Transcript, ADrawingThatCannotBeWrittenIsAnError) {
    const Answer answer = tutti("explain bcast --bytes 1M --ranks 4 --svg /dev/full");
    EXPECT_EQ(answer.status, 2);
    EXPECT_EQ(answer.err, "tutti: --svg: /dev/full: No space left on device\n");
    const Answer beside = shell("\"$T\" explain bcast --bytes 1M --ranks 4 --svg a.svg >&-");
    EXPECT_NE(beside.status, 0);
    EXPECT_EQ(text_of(here() / "a.svg").find("runs:"), std::string::npos);
}

}  // namespace
}  // namespace tutti::golden
