# SPDX-License-Identifier: BSD-3-Clause
"""Cases that a binary has passed. One that has not changed since passes them again."""
import hashlib
import json
import os
import pathlib
import threading

from binaries import Case, case_of, property_of

# Variables that change what is tried; what passed under others has not passed. But not the seeds of
# a run.
TELLING = ("ASAN_", "FUZZ_", "LSAN_", "SYSTEST_", "TESTS_", "TSAN_", "TUTTI_", "UBSAN_")
NOT_TELLING = {"TESTS_FIRST_SEED"}


class Passed:
    """Kept in a file, by binary. Not concurrent ones (label tsan), which may find something new each
    time."""

    def __init__(self, file, environment=os.environ):
        self.file = file
        told = {name: value for name, value in environment.items()
                if name.startswith(TELLING) and name not in NOT_TELLING}
        self.told = json.dumps(told, sort_keys=True).encode()
        self.digests, self.lock = {}, threading.Lock()

    def digest(self, binary):
        with self.lock:
            if binary not in self.digests:
                content = hashlib.blake2b(self.told, digest_size=16)
                content.update(pathlib.Path(binary).read_bytes())
                self.digests[binary] = content.hexdigest()
            return self.digests[binary]

    def kept(self):
        try:
            return json.loads(self.file.read_text())
        except (OSError, ValueError):
            return {}

    def split(self, tests):
        """(those to be run, cases that have passed before)."""
        kept, left, cases = self.kept(), [], []
        for test in tests:
            binary, name = test.get("command", [""])[0], case_of(test)
            known = kept.get(binary, {}) if name and pathlib.Path(binary).exists() else {}
            if name in known.get("cases", ()) and known["digest"] == self.digest(binary) and \
                    "tsan" not in property_of(test, "LABELS", []):
                cases.append(Case(name, "passed", ""))
            else:
                left.append(test)
        return left, cases

    def add(self, binary, cases):
        """Those of a part that has been run."""
        names = [case.name for case in cases if case.outcome == "passed"]
        if not names:
            return
        digest = self.digest(binary)
        with self.lock:
            kept = self.kept()
            known = kept.get(binary, {})
            before = known["cases"] if known.get("digest") == digest else []
            kept[binary] = {"digest": digest, "cases": sorted({*before, *names})}
            part = self.file.with_suffix(".part")
            part.write_text(json.dumps(kept))
            part.replace(self.file)
