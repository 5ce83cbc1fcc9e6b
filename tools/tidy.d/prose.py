# SPDX-License-Identifier: BSD-3-Clause
"""The prose of a page in Markdown: without code, tables, headings and the targets of links."""
import re

COLUMNS_MAX = 100
FENCE = re.compile(r"^\s*(```|~~~)")
TABLE = re.compile(r"^\s*\|")
LIST = re.compile(r"^\s*(?:[-*+]|\d+\.) +")
HEADING = re.compile(r"^#+ ")
# A link is one word to the eye, however long; so is code.
UNBREAKABLE = re.compile(r"!?\[[^\]]*\]\([^)]*\)|`[^`]*`|https?://\S+")


def prose_lines(text):
    """(number, line) of each line that is prose: not of code, of a table, a heading or blank."""
    in_code, in_list = False, False
    for number, line in enumerate(text.splitlines(), 1):
        if FENCE.match(line):
            in_code = not in_code
            continue
        if not line.strip():
            continue
        in_list = bool(LIST.match(line)) or (in_list and line.startswith("  "))
        is_code = in_code or (line.startswith("    ") and not in_list)
        if not (is_code or TABLE.match(line) or HEADING.match(line)):
            yield number, line


def too_long(line):
    """Whether a line could be broken at COLUMNS_MAX, and is not."""
    return len(line) > COLUMNS_MAX and " " in UNBREAKABLE.sub("x", line.strip())


def paragraphs(text):
    """The prose as plain sentences: words that a reader reads, one paragraph a string."""
    found, last = [], None
    for number, line in prose_lines(text):
        line = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", LIST.sub("", line))
        line = re.sub(r"`[^`]*`", "code", line).replace("*", "")
        if last is not None and number == last + 1 and not LIST.match(text.splitlines()[number - 1]):
            found[-1] += " " + line.strip()
        else:
            found.append(line.strip())
        last = number
    # A colon that ends a paragraph leads to a list or to code, and ends a sentence.
    return [re.sub(r"[:;,]?$", ".", one) if one[-1:] not in ".!?" else one for one in found]


def sentences(text):
    """The sentences of a page."""
    return [one for paragraph in paragraphs(text)
            for one in re.split(r"(?<=[.!?])\s+(?=[\"'(A-Z0-9])", paragraph) if one.strip(". ")]
