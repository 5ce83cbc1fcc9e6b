# SPDX-License-Identifier: BSD-3-Clause
"""What pytest reports, and the Python that runs it."""
import subprocess
import xml.etree.ElementTree as ElementTree

from binaries import Case

# The outcome of a case that make nightly runs.
AT_NIGHT = "at night"


def left_out(case):
    """The same, where it was skipped because it takes long."""
    is_late = case.outcome == "skipped" and "TESTS_LONG" in case.detail
    return case._replace(outcome=AT_NIGHT) if is_late else case


def read_junit(path, stage):
    """The cases of a report by pytest."""
    cases = []
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = f"{stage}: {case.get('classname', '')}.{case.get('name', '')}"
        trouble = [case.find(tag) for tag in ("failure", "error")]
        trouble = [node for node in trouble if node is not None]
        skipped = case.find("skipped")
        if trouble:
            detail = (trouble[0].text or "") + (case.findtext("system-out") or "")
            cases.append(Case(name, "failed", detail or trouble[0].get("message", "")))
        elif skipped is not None:
            cases.append(left_out(Case(name, "skipped", skipped.get("message", ""))))
        else:
            cases.append(Case(name, "passed", ""))
    return cases


def python_with(*modules):
    """The first interpreter that has these modules: that of the machine's packages may not be the
    first on PATH. Nothing where none has."""
    for python in ("python3", "/usr/bin/python3"):
        tried = subprocess.run([python, "-c", f"import {','.join(modules)}"], check=False,
                               stdin=subprocess.DEVNULL, capture_output=True)
        if tried.returncode == 0:
            return python
    return None
