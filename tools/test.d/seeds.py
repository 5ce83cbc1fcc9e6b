# SPDX-License-Identifier: BSD-3-Clause
"""Where the seeds of a run begin, and those that have failed once (tests/kept_seeds.txt)."""
import os
import re
import subprocess

KEPT = re.compile(r"(\S+) (\d+)")


def first_seed(root):
    """TESTS_FIRST_SEED; else a number that follows from the commit; 1 where there is none."""
    told = os.environ.get("TESTS_FIRST_SEED")
    if told:
        return int(told)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    return int(head.stdout[:6], 16) + 1 if head.returncode == 0 else 1


def kept_seeds(path):
    """(case, seed) of each line `Suite.Case SEED why`; # begins a comment."""
    kept = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        found = KEPT.match(line)
        if not found:
            raise ValueError(f"{path}:{number}: expected 'Suite.Case SEED why', not '{line}'")
        kept.append((found.group(1), int(found.group(2))))
    return kept
