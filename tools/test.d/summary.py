# SPDX-License-Identifier: BSD-3-Clause
"""What tools/test prints of its cases."""
import collections

from pytests import AT_NIGHT


def show(name, cases, seconds, note=""):
    counts = collections.Counter(case.outcome for case in cases)
    print(f"{name:<11}{counts['passed']:>6} passed{counts['failed']:>5} failed"
          f"{counts['skipped']:>5} skipped{seconds:>7.0f} s{note}", flush=True)


def summarise(cases):
    """Prints what was skipped and why, what failed and how, and the sum."""
    reasons = collections.defaultdict(list)
    for case in cases:
        if case.outcome == "skipped":
            reasons[case.detail].append(case.name)
    for reason, names in reasons.items():
        shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        print(f"skipped {len(names)}: {reason}\n    {shown}")
    for case in cases:
        if case.outcome == "failed":
            print(f"FAILED {case.name}")
            print("    " + "\n    ".join(case.detail.strip().splitlines()[-25:]))
    counts = collections.Counter(case.outcome for case in cases)
    if counts[AT_NIGHT]:
        print(f"{counts[AT_NIGHT]} at night (make nightly)")
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 0 if counts["passed"] and not counts["failed"] else 1
