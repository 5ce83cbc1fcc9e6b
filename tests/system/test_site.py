# SPDX-License-Identifier: BSD-3-Clause
"""A site's settings, /etc/tutti/settings.toml, in a mount namespace that has an /etc of its own."""
import subprocess

import pytest

from harness import BARE, PRELOAD, TUTTI, run_command

pytestmark = pytest.mark.skipif(BARE, reason="SYSTEST_BARE: there is no Tutti that a site could set")

# A copy of /etc in memory, with the site's file in it.
SCRIPT = """set -e
d=$(mktemp -d); cp -a /etc "$d/old"
mount -t tmpfs tmpfs /etc; cp -a "$d/old/." /etc; rm -rf "$d"
mkdir -p /etc/tutti; printf %s "$0" >/etc/tutti/settings.toml
exec "$@" """


def under(text):
    """The prefix of a command that runs where the site says so."""
    prefix = ["unshare", "--mount", "bash", "-c", SCRIPT, text]
    probe = subprocess.run([*prefix, "true"], capture_output=True, text=True)
    if probe.returncode:
        pytest.skip("no /etc of one's own: " + probe.stderr.strip())
    return prefix


def expect_all_of_the_hosts(outcome):
    outcome.passed()
    assert outcome.report is None or outcome.report.calls("tutti") == 0, str(outcome)


def test_defaults_hold_for_all_ranks(debian_mpi):
    site = under('[settings]\nTUTTI_BCAST = "chain"\nTUTTI_HOSTS = 3\n')
    outcome = debian_mpi.launch("simple", 3, 8, wrap=site).passed()
    assert not outcome.lines(), str(outcome)  # nor any talk of differences
    assert any(row.get("algorithm", "").startswith("chain") for row in outcome.report.rows
               if row["collective"] == "bcast"), outcome.report.rows


def test_variables_and_options_beat_defaults(debian_mpi):
    site = under('[settings]\nTUTTI_BCAST = "chain"\nTUTTI_HOSTS = 3\n')
    outcome = debian_mpi.launch("simple", 3, 8, wrap=site, options=["--bcast=binomial"]).passed()
    names = {row.get("algorithm", "") for row in outcome.report.rows
             if row["collective"] == "bcast" and row["run_by"] == "tutti"}
    assert names and all(name.startswith("binomial") for name in names), outcome.report.rows


def test_a_default_that_a_variable_contradicts_is_left_out(debian_mpi):
    site = under('[settings]\nTUTTI_HOSTS = 3\nTUTTI_ALLREDUCE = "ring"\n')
    outcome = debian_mpi.launch("simple", 3, 8, wrap=site, options=["--reproducible=1"]).passed()
    lines = outcome.lines()
    assert len(lines) == 1, str(outcome)
    assert "/etc/tutti/settings.toml:3: TUTTI_ALLREDUCE=ring is left out" in lines[0], str(outcome)
    assert outcome.report.calls("tutti", "allreduce") > 0, outcome.report.rows


@pytest.mark.parametrize("text, words", [
    ("enabled = false\n", "for all programs by /etc/tutti/settings.toml:1"),
    ('why = "too old"\ndeny = ["simp?e"]\n', "/simple by /etc/tutti/settings.toml:2 (too old)"),
    ('deny = ["*/systest/*"]\n', "/simple by /etc/tutti/settings.toml:1"),
])
def test_switched_off(debian_mpi, text, words):
    outcome = debian_mpi.launch("simple", 3, 8, wrap=under(text), env={"TUTTI": "on"})
    expect_all_of_the_hosts(outcome)
    lines = outcome.lines()
    assert len(lines) == 1 and "no report: switched off" in lines[0], str(outcome)
    assert words in lines[0], str(outcome)


def test_switched_off_without_a_word(debian_mpi):
    """Also where the library was preloaded in another way than by `tutti run`."""
    preload = {"ompi": ["-x", f"LD_PRELOAD={PRELOAD}"],
               "mpich": ["-genv", "LD_PRELOAD", PRELOAD]}[debian_mpi.flavour]
    for text in ("enabled = false\n", 'deny = ["simple"]\n'):
        outcome = debian_mpi.launch("simple", 3, 8, tutti=False, wrap=under(text),
                                    launcher_flags=preload)
        expect_all_of_the_hosts(outcome)
        assert not outcome.lines(), str(outcome)


def test_a_broken_file_ends_no_job(debian_mpi):
    for text, words in (("[settings]\nTUTTI_STAL = 1\n", ":2:1: unknown key TUTTI_STAL"),
                        ("deny = [\n", "/etc/tutti/settings.toml:")):
        outcome = debian_mpi.launch("simple", 3, 8, wrap=under(text))
        expect_all_of_the_hosts(outcome)
        lines = outcome.lines()
        assert len(lines) == 1 and words in lines[0], str(outcome)
        assert "everything stays with your MPI" in lines[0], str(outcome)


def test_info_names_origins():
    site = under('deny = ["gmx*"]\n[settings]\nTUTTI_STALL = 60\nTUTTI_CHUNK = "8K"\n')
    outcome = run_command([*site, TUTTI, "info"], env={"TUTTI_CHUNK": "16K", "TUTTI_STALL": ""})
    assert outcome.status == 0, str(outcome)
    for words in ("60 (/etc/tutti/settings.toml:3)", "16K (environment)", "others            as",
                  "denied: gmx*"):
        assert words in outcome.out, str(outcome)
    broken = run_command([*under("enabled = 2\n"), TUTTI, "info"])
    assert broken.status == 2 and broken.out == "", str(broken)
    assert broken.err.startswith("tutti: /etc/tutti/settings.toml:1:11: enabled: expected"), broken
    site = under('[settings]\nTUTTI_ALLREDUCE = "ring"\n')
    outcome = run_command([*site, TUTTI, "info"], env={"TUTTI_REPRODUCIBLE": "1"})
    assert outcome.status == 0 and "ring (/etc" not in outcome.out, str(outcome)
    assert "/etc/tutti/settings.toml:2: TUTTI_ALLREDUCE=ring is left out" in outcome.out, str(outcome)
    off = run_command([*under("enabled = false\n"), TUTTI, "info"], env={"TUTTI": "on"})
    assert "switched off for all programs by /etc/tutti/settings.toml:1" in off.out, str(off)


def test_rules_of_the_site_hold_for_explain(tmp_path):
    site = under('[settings]\nTUTTI_ALLREDUCE = "ring"\n')
    outcome = run_command([*site, TUTTI, "explain", "allreduce", "--bytes=8", "--ranks=4"])
    assert "runs:  ring" in outcome.out, str(outcome)
