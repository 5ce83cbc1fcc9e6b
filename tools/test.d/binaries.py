# SPDX-License-Identifier: BSD-3-Clause
"""The cases that ctest lists, run by few processes: of a GoogleTest binary some fifty cases each. A
process for each case, as ctest has it, takes longer than most cases do."""
import collections
import concurrent.futures
import json
import pathlib
import re
import subprocess
import tempfile
import threading
import time
import zlib

from processes import running

CASES_A_PART = 50
LIMIT_S = 240  # of one case, where its test says nothing else
FILTER = "--gtest_filter="

Case = collections.namedtuple("Case", "name outcome detail")
# names: of the binary's cases; none where the command is one case. skips: what it prints then. seed:
# the only one of a case whose seeds are kept; else None.
Part = collections.namedtuple("Part", "name command names limit_s skips seed", defaults=((), None))

BEGIN = re.compile(r"^\[ RUN      \] (\S+)$")
END = re.compile(r"\[  (     OK|SKIPPED|FAILED ) \] ([^\s,]+)(?:, where .*)? \(\d+ ms\)$")
OUTCOMES = {"     OK": "passed", "SKIPPED": "skipped", "FAILED ": "failed"}


class OutOfTime(Exception):
    """The time for the whole suite is used up: something hangs."""


def first_reason(text):
    """Why GoogleTest skipped: the line behind `file:line: Skipped`."""
    found = re.search(r": Skipped\n(.+)", text)
    return found.group(1).strip() if found else "no reason given"


def listed(directory, *options):
    """The tests of a build folder as ctest describes them."""
    done = subprocess.run(["ctest", "--test-dir", str(directory), "--show-only=json-v1", *options],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return json.loads(done.stdout)["tests"] if done.returncode == 0 else []


def property_of(test, name, otherwise):
    """What ctest says of a test under this name."""
    return next((one["value"] for one in test.get("properties", []) if one["name"] == name), otherwise)


def share_of(tests, label, turn, shares):
    """(those to be run, those left): of the tests with this label one of so many shares, another one
    each turn; of the others all."""
    def is_left(test):
        place = zlib.crc32(test["name"].encode()) + turn
        return label in property_of(test, "LABELS", []) and place % shares != 0

    return [one for one in tests if not is_left(one)], [one for one in tests if is_left(one)]


def case_of(test):
    """The name of a test that is a case of a GoogleTest binary; else nothing."""
    command = test.get("command", [])
    is_case = len(command) > 1 and command[1].startswith(FILTER)
    return command[1].removeprefix(FILTER) if is_case else None


def binaries_by_case(tests):
    """{case: its binary} of those tests that are cases."""
    return {case_of(test): test["command"][0] for test in tests if case_of(test)}


def parts_of(tests, kept=(), every=()):
    """What is to be run, the largest binaries first; and the cases of tests that cannot be. kept:
    (case, seed), cases of `every` to be run by this seed as well."""
    binaries, parts, cases = collections.defaultdict(list), [], []
    for test in tests:
        limit_s = float(property_of(test, "TIMEOUT", LIMIT_S))
        command = test.get("command", [])
        if not command or not pathlib.Path(command[0]).exists():
            cases.append(Case(test["name"], "failed", "its binary was not built"))
        elif case_of(test):
            binaries[command[0], limit_s].append(case_of(test))
        else:
            skips = property_of(test, "SKIP_REGULAR_EXPRESSION", [])
            parts.append(Part(test["name"], command, (), limit_s, tuple(skips)))
    known = binaries_by_case(every or tests)
    parts += [Part(f"seed {seed}", [known[case]], (case,), LIMIT_S, seed=seed)
              for case, seed in kept if case in known]
    for (binary, limit_s), names in sorted(binaries.items(), key=lambda one: -len(one[1])):
        count = -(-len(names) // CASES_A_PART)
        parts += [Part(pathlib.Path(binary).name, [binary], tuple(names[at::count]), limit_s)
                  for at in range(count)]
    return parts, cases


def read_output(text):
    """(cases by name, the name of one that has begun and not ended)."""
    found, name, lines = {}, None, []
    for line in text.splitlines():
        begin, end = BEGIN.match(line), END.search(line)
        if begin:
            name, lines = begin.group(1), []
        elif end and name == end.group(2):
            outcome, detail = OUTCOMES[end.group(1)], "\n".join(lines)
            if outcome == "skipped":
                detail = first_reason(detail)
            found[name] = Case(name, outcome, detail if outcome != "passed" else "")
            name = None
        elif name:
            lines.append(line)
    return found, name


def run_command(command, directory, limit_s, end, environment, stop=None):
    """(exit status, output). None as its status: it said nothing for so long, or the suite's time
    was used up, and it was ended. OutOfTime where `stop` is set meanwhile."""
    with tempfile.TemporaryFile() as out:
        with running(command, cwd=directory, stdout=out, env=environment) as child:
            said, since = 0, time.monotonic()
            while child.poll() is None:
                try:
                    child.wait(timeout=0.2)
                except subprocess.TimeoutExpired:
                    now, size = time.monotonic(), out.seek(0, 2)
                    if stop is not None and stop.is_set():
                        raise OutOfTime from None
                    if now > end:
                        break
                    if size != said:
                        said, since = size, now
                    elif now - since > limit_s:
                        break
            status = child.poll()
        out.seek(0)
        return status, out.read().decode(errors="replace")


def of_status(status, limit_s):
    if status is None:
        return f"no end within {limit_s:.0f} s"
    return f"ended by signal {-status}" if status < 0 else f"exit status {status}"


def run_part(part, directory, end, environment, stop=None):
    """The cases of a part. Where one ends its process, those behind it run in another."""
    if not part.names:
        status, text = run_command(part.command, directory, part.limit_s, end, environment, stop)
        if any(re.search(skip, text) for skip in part.skips):
            return [Case(part.name, "skipped", text.strip().removeprefix("skipped: "))], text
        outcome = "passed" if status == 0 else "failed"
        return [Case(part.name, outcome, "" if status == 0 else
                     f"{text}\n{of_status(status, part.limit_s)}")], text
    if part.seed is not None:
        environment = {**environment, "TUTTI_SEED": str(part.seed)}
    cases, left, output = [], list(part.names), ""
    while left:
        command = [*part.command, FILTER + ":".join(left), "--gtest_also_run_disabled_tests"]
        status, text = run_command(command, directory, part.limit_s, end, environment, stop)
        output += text
        found, broken = read_output(text)
        why = of_status(status, part.limit_s)
        if broken:
            found[broken] = Case(broken, "failed", "\n".join([*text.splitlines()[-25:], why]))
        elif status != 0 and not any(case.outcome == "failed" for case in found.values()):
            cases.append(Case(f"{part.name}: {why}", "failed", "\n".join(text.splitlines()[-25:])))
        cases += found.values()
        rest = [name for name in left if name not in found]
        if not broken or len(rest) == len(left) or time.monotonic() > end:
            cases += [Case(name, "failed", f"it did not run: {why}") for name in rest]
            break
        left = rest
    if part.seed is not None:
        cases = [case._replace(name=f"{case.name} ({part.name})") for case in cases]
    return cases, output


def run_tests(tests, directory, jobs, end, environment, log, kept=(), every=(), passed=None):
    """The cases of these tests. end: by the clock time.monotonic(); what has not ended by then has
    failed. every: of which the kept ones are, where not all of them are to be run. passed(binary,
    cases) hears of the cases of each part of a binary."""
    parts, cases = parts_of(tests, kept, every or tests)
    stop = threading.Event()
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool, open(log, "ab") as out:
        waiting = {pool.submit(run_part, part, directory, end, environment, stop): part
                   for part in parts}
        try:
            for one in concurrent.futures.as_completed(waiting):
                of_part, output = one.result()
                cases += of_part
                part = waiting[one]
                if passed and part.names and part.seed is None:
                    passed(part.command[0], of_part)
                out.write(output.encode())
        finally:
            stop.set()  # also where somebody ends this: what runs has a session of its own
            for one in waiting:
                one.cancel()
    return cases
