# SPDX-License-Identifier: BSD-3-Clause
"""How large classes are: their data members, their methods, and the sources that define them."""
import re

DATA_MAX, METHODS_MAX, SOURCES_MAX = 20, 40, 2

CLASS = re.compile(r"\b(?:class|struct)\s+(?:alignas\([^)]*\)\s*)?([\w:]+)[^;{}()=]*\{")
TYPE = re.compile(r"(?:template\s*<[^{]*>\s*)?(?:class|struct|union|enum)\b")
METHOD = re.compile(r"^(?!\s)[^\n;{}()=]*?\b(\w+)::~?[\w ]+\(", re.MULTILINE)


def stripped(text):
    """Without attributes and access specifiers."""
    return re.sub(r"\[\[.*?\]\]|\balignas\([^)]*\)|\b(?:public|private|protected)\s*:", " ", text,
                  flags=re.DOTALL).strip()


def kind_of(text):
    """What a declaration in a class is: "data", "method" or nothing that counts."""
    if not text or TYPE.match(text) or re.match(r"(?:using|friend|typedef|static_assert)\b", text) \
            or re.search(r"=\s*(?:delete|default)$", text):
        return None
    head = re.split(r"[={]", text)[0]
    while re.search(r"<[^<>]*>", head):
        head = re.sub(r"<[^<>]*>", "", head)
    if "(" in head:
        return "method"
    return None if re.search(r"\b(?:static|constexpr)\b", head) else "data"


def members(body):
    """(data members, methods) that the body of a class declares."""
    found = {"data": 0, "method": 0, None: 0}
    at, depth, parentheses = 0, 0, 0
    for match in re.finditer(r"[{}();]", body):
        token = match.group()
        depth += {"{": 1, "}": -1}.get(token, 0)
        if depth > 0 or token == "{":
            continue
        parentheses += {"(": 1, ")": -1}.get(token, 0)
        if token == ";" and parentheses == 0:
            found[kind_of(stripped(body[at:match.start()]))] += 1
            at = match.end()
        elif token == "}" and parentheses == 0:
            # Behind the body of a method comes no semicolon, behind that of a type one does.
            head = stripped(body[at:match.start()].split("{")[0])
            is_method = re.search(r"\)[\s\w&>:<,()*.\[\]-]*$", head) and not TYPE.match(head)
            found["method"] += bool(is_method)
            if is_method or not head:  # no head: a body behind an initialiser in braces
                at = match.end()
    return found["data"], found["method"]


def classes(code):
    """(name, position, data members, methods) of each class in a masked source."""
    for found in CLASS.finditer(code):
        depth, end = 1, found.end()
        while depth > 0 and end < len(code):
            depth += {"{": 1, "}": -1}.get(code[end], 0)
            end += 1
        yield found.group(1), found.start(), *members(code[found.end():end - 1])


def defined(code):
    """The classes of which a masked source defines methods."""
    return set(METHOD.findall(code))
