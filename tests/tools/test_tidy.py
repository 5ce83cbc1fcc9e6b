# SPDX-License-Identifier: BSD-3-Clause
"""tools/tidy finds each breach of the house rules, and only that."""
import pathlib
import subprocess

import pytest

TIDY = pathlib.Path(__file__).resolve().parents[2] / "tools" / "tidy"
SPDX = "// SPDX-License-Identifier: BSD-3-Clause\n"

HOUSE = {
    "src/base/CMakeLists.txt": "tutti_room(base SOURCES base.cpp)\n",
    "src/base/base.h": SPDX + "#pragma once\n",
    "src/base/base.cpp": SPDX + '#include "base/base.h"\n',
    "src/run/node/CMakeLists.txt": "tutti_room(node ALLOW base SOURCES node.cpp LINK other)\n",
    "src/run/node/node.h": SPDX + "#pragma once\n",
    "src/run/node/node.cpp": SPDX + '#include "base/base.h"\n#include "run/node/node.h"\n',
    "src/run/node/deep/CMakeLists.txt": "tutti_room(node_deep ALLOW base node SOURCES deep.cpp)\n",
    "src/run/node/deep/deep.h": SPDX + "#pragma once\n",
    "src/run/node/deep/deep.cpp": SPDX + '#include "run/node/deep/deep.h"\n#include "run/node/node.h"\n',
    "src/run/engine/CMakeLists.txt": "tutti_room(engine ALLOW base node\n  SOURCES engine.cpp)\n",
    "src/run/engine/engine.cpp": SPDX + '#include "run/node/node.h"\nvoid f() { steady_clock::now(); }\n',
    "src/mpi/CMakeLists.txt": "add_library(tutti_ompi SHARED front.cpp)\n",
    "src/mpi/front.cpp": SPDX + '#include "tutti/tutti.h"\n',
    "include/tutti/tutti.h": "/* SPDX-License-Identifier: BSD-3-Clause */\n",
    "tools/helper": "#!/bin/sh\n# SPDX-License-Identifier: BSD-3-Clause\n",
}


def body(lines, head="int long_one(int a) {", indent=""):
    """A function of exactly so many lines."""
    return f"{indent}{head}\n" + f"{indent}    a += 1;\n" * (lines - 2) + f"{indent}}}\n"


def breaches(root, changes):
    for name, text in {**HOUSE, **changes}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    done = subprocess.run([TIDY, root], capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""
    assert done.returncode == (1 if done.stdout else 0)
    return done.stdout.splitlines()


def test_a_clean_house(tmp_path):
    assert breaches(tmp_path, {}) == []


def test_an_empty_house_is_no_clean_house(tmp_path):
    done = subprocess.run([TIDY, tmp_path], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1


@pytest.mark.parametrize("name, text, expected", [
    ("src/base/base.cpp", '#include "base/base.h"\n', "no SPDX"),
    ("tools/helper", "#!/bin/sh\n", "no SPDX"),
    ("src/base/base.cpp", SPDX + '#include "base/base.h"\n#include "run/node/node.h"\n',
     "base.cpp:3: room base may not include run/node/node.h"),
    ("src/run/node/node.cpp", SPDX + '#include "run/node/node.h"\n#include "run/node/deep/deep.h"\n',
     "node.cpp:3: room node may not include run/node/deep/deep.h"),
    ("src/run/node/more.h", SPDX + "#include <sodium.h>\n", "sodium.h belongs to transport/carrier"),
    ("src/mpi/front.cpp", SPDX + '#include "base/base.h"\n', "room mpi may not include base"),
    ("src/lost/lost.cpp", SPDX + '#include <vector>\n', "lost.cpp:1: stands in no room"),
    ("src/run/node/more.h", SPDX + "#include <infiniband/verbs.h>\n", "verbs headers"),
    ("src/run/node/node.cpp", SPDX + '#include "run/node/node.h"\nauto t = std::chrono::steady_clock::now();',
     "node.cpp:3: steady_clock"),
    ("src/run/node/node.cpp", SPDX + '#include "run/node/node.h"\nvoid f() {\n    goto end;\n}\n',
     "node.cpp:4: goto"),
    ("src/run/node/node.cpp", SPDX + '#include "run/node/node.h"\n// TO' 'DO: mend it\n',
     "without an issue number"),
    ("src/run/node/node.cpp", SPDX + '#include "run/node/node.h"\n' + body(71), "long_one has 71 lines"),
    ("src/run/node/node.cpp", SPDX + '#include "run/node/node.h"\nnamespace a {\nstruct S {\n' +
     body(71, "int get(int a) const {", "    ") + "};\n}\n", "get has 71 lines"),
    ("src/run/node/node.cpp", SPDX + '#include "run/node/node.h"\n' +
     body(71, "S::S(int a) : b_{a}, c_(a) {"), "S has 71 lines"),
    ("src/run/node/node.cpp", SPDX + '#include "run/node/node.h"\n' + "int a;\n" * 499, "501 lines"),
    ("tools/long.py", "# SPDX-License-Identifier: BSD-3-Clause\ndef f():\n" + "    a = 1\n" * 70,
     "f has 71 lines"),
    ("src/run/node/forgotten.cpp", SPDX, "no CMakeLists.txt names this source"),
    ("src/run/node/forgotten.h", SPDX, "nobody includes this header"),
    ("src/run/node/base.h", SPDX, "src/base/base.cpp has the same name, in another room"),
])
def test_a_breach_is_found(tmp_path, name, text, expected):
    lines = breaches(tmp_path, {name: text})
    assert [line for line in lines if expected in line], lines
    assert all(line.startswith(name) for line in lines)


def large_class(data, methods):
    members = "".join(f"    int a{i}_ = 0;\n" for i in range(data))
    return SPDX + '#pragma once\nclass Large {\n  public:\n    Large() : a_{0} {}\n' + "".join(
        f"    [[nodiscard]] int f{i}(int a) const {{ return a; }}\n" for i in range(methods - 1)) + \
        "    using Call = int (*)(int);\n    enum Kind { kA };\n    static constexpr int kB = 1;\n" \
        f"\n  private:\n{members}}};\n"


@pytest.mark.parametrize("data, methods, expected", [
    (20, 40, None),
    (21, 40, "21 data members, 40 methods in 0 sources"),
    (20, 41, "20 data members, 41 methods in 0 sources"),
])
def test_sizes_of_classes(tmp_path, data, methods, expected):
    lines = breaches(tmp_path, {"src/base/base.h": large_class(data, methods)})
    assert ([line for line in lines if expected in line] if expected else not lines), lines


def test_a_class_in_three_sources(tmp_path):
    changes = {f"src/base/{name}.cpp": SPDX + '#include "base/base.h"\nint Spread::' + name +
               "() { return 1; }\n" for name in ("one", "two", "three")}
    changes["src/base/base.h"] = SPDX + "#pragma once\nclass Spread {\n    int one();\n};\n"
    changes["src/base/CMakeLists.txt"] = "tutti_room(base SOURCES base.cpp one.cpp two.cpp three.cpp)\n"
    assert [line for line in breaches(tmp_path, changes) if "in 3 sources" in line]


@pytest.mark.parametrize("text", [
    body(70),
    "int a;\n" * 490,
    'const char* text = "goto steady_clock";  // goto steady_clock\n',
    "// TODO(#12): mend it\n",
    "constexpr auto kTable = make({\n" + '    {"a", [](int v) { return v; }},\n' * 90 + "});\n",
    "enum Table {\n" + "    kA,\n" * 90 + "};\n",
])
def test_what_is_allowed(tmp_path, text):
    assert breaches(tmp_path, {
        "src/run/node/node.cpp": SPDX + '#include "run/node/node.h"\n' + text}) == []


def two_sources(first, second):
    """A target of two sources, each with an unnamed namespace."""
    return {"src/base/CMakeLists.txt": "tutti_room(base SOURCES base.cpp more.cpp)\n",
            "src/base/base.cpp": SPDX + f"namespace tutti {{\nnamespace {{\n\n{first}\n}}\n}}\n",
            "src/base/more.cpp": SPDX + '#include "base/base.h"\n'
                                 f"namespace tutti {{\nnamespace {{\n{second}\n}}\n}}\n"}


@pytest.mark.parametrize("first, second, name", [
    ("Error failed(const char* what) {\n    return {what};\n}",
     "Error failed(const std::string& what) { return {what}; }", "failed"),
    ("constexpr int kMax = 3;", "constexpr unsigned long kMax = sizeof(int) * (2 + 1);", "kMax"),
    ("constexpr int kTable[] = {1, 2};", "constexpr std::array<int, 2> kTable = {1, 2};", "kTable"),
    ("struct Offer {\n    int a = 0;\n};", "class Offer final : public Base {\n};", "Offer"),
    ("enum class Way { kOne };", "using Way = int;", "Way"),
    ("template <class T>\nT half(T a) { return a / 2; }", "[[gnu::noinline]] int half() {}", "half"),
])
def test_names_that_meet_in_a_unity_build(tmp_path, first, second, name):
    lines = breaches(tmp_path, two_sources(first, second))
    assert lines == [f"src/base/more.cpp:5: {name} stands in an unnamed namespace of "
                     "src/base/base.cpp, too"]
    apart = two_sources(first, second)
    apart["src/base/CMakeLists.txt"] = ("tutti_room(base SOURCES base.cpp)\n"
                                        "add_executable(more more.cpp)\n")
    assert breaches(tmp_path, apart) == []
    alone = two_sources(first, second)
    alone["src/base/CMakeLists.txt"] += ("set_source_files_properties(more.cpp PROPERTIES "
                                         "SKIP_UNITY_BUILD_INCLUSION ON)\n")
    assert breaches(tmp_path, alone) == []


def test_names_that_may_stand_twice(tmp_path):
    members = "struct {0} {{\n    int run();\n    int failed = 0;\n}};\nint {0}::run() {{ return 1; }}\n"
    changes = two_sources(members.format("One"), members.format("Two"))
    assert breaches(tmp_path, changes) == []
    changes = two_sources("using sched::Rank;", "using sched::Rank;")
    assert breaches(tmp_path, changes) == []


@pytest.mark.parametrize("page, text, gone", [
    ("HACKING.md", "See `src/run/node/gone.cpp`.\n", "src/run/node/gone.cpp"),
    ("docs/page.md", "The file\n`run/node/gone.h` does it.\n", "run/node/gone.h"),
    ("docs/deep/page.md", "[there](../gone.md)\n", "../gone.md"),
    ("README.md", "`make` runs tools/gone.\n", "tools/gone"),
])
def test_a_page_that_names_a_file_which_is_not_there(tmp_path, page, text, gone):
    line = text[:text.index(gone)].count("\n") + 1
    assert breaches(tmp_path, {page: text}) == [f"{page}:{line}: there is no {gone}"]


@pytest.mark.parametrize("page, text", [
    ("HACKING.md", "`src/run/node/node.cpp`, run/node/node.h, `src/run/node`, tools/helper, `tutti/tutti.h`\n"),
    ("docs/node.md", "deep/deep.h, and [its page](node.md), src/run/node/deep/deep.h:12.\n"),
    ("docs/page.md", "src/run/node/*.cpp, `fuzz/fuzz_<what>.cpp`, /etc/tutti/settings.toml, ~/x/a.py,\n"
                     "https://example.org/src/a.md, build/bin/a.sh, `src/run/node/node.{h,cpp}`\n"),
    ("docs/plan.d/study.md", "src/run/node/gone.cpp\n"),
    ("CHANGELOG.md", "src/run/node/gone.cpp\n"),
])
def test_pages_that_name_what_is_there(tmp_path, page, text):
    assert breaches(tmp_path, {page: text}) == []


@pytest.mark.parametrize("page, text, line", [
    ("docs/page.md", "[x](other.txt)\n", "docs/page.md:1: there is no other.txt"),
    ("examples/page.md", "[x](gone.md)\n", "examples/page.md:1: there is no gone.md"),
    ("docs/page.md", "# One\n\n[x](#two)\n", "docs/page.md:3: docs/page.md has no heading #two"),
    ("docs/page.md", "a\n" + "word " * 30 + "\n", "docs/page.md:2: prose of more than 100 columns"),
    ("docs/page.md", "- " + "word " * 30 + "\n", "docs/page.md:1: prose of more than 100 columns"),
])
def test_links_to_nothing_and_long_lines(tmp_path, page, text, line):
    assert breaches(tmp_path, {page: text}) == [line]


@pytest.mark.parametrize("text", [
    "# One two, `three`\n\n[x](#one-two-three) [y](https://example.org) [z](page.md#one-two-three)\n",
    "```sh\n$ " + "word " * 30 + "\n```\n",
    "| " + "word " * 30 + "|\n",
    "[" + "long " * 20 + "](https://example.org/" + "a" * 100 + ")\n",
])
def test_links_and_lines_that_are_right(tmp_path, text):
    assert breaches(tmp_path, {"docs/page.md": text}) == []
