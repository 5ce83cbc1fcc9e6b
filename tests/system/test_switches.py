# SPDX-License-Identifier: BSD-3-Clause
"""Jobs that know which hosts share a switch, under real MPIs. Hosts are pretended ones; on an
emulated cluster: test_lab_switches.py."""
import pytest

from harness import BARE
from test_hosts import expect_across, quick
from test_site import under

pytestmark = pytest.mark.skipif(BARE, reason="SYSTEST_BARE: there is no Tutti that knows switches")

# Neighbours in the order of ranks share no switch, or some do.
CROSSED = """
[[switch]]
name = "a"
hosts = "pretended-host-[0,2]"
[[switch]]
name = "b"
hosts = "pretended-host-[1,3]"
[[switch]]
name = "top"
switches = "a,b"
"""


@pytest.fixture
def fabric(tmp_path):
    def write(text, name="fabric.toml"):
        file = tmp_path / name
        file.write_text(text)
        return str(file)
    return write


@pytest.mark.parametrize("placement, ranks", [("--hosts=4", 4), ("--hosts=4:round-robin", 6)])
@pytest.mark.check
def test_random_mixed(mpi, fabric, placement, ranks):
    file = fabric(CROSSED)
    outcome = mpi.launch("random_mixed", ranks, "--seed", 14, "--calls", 600,
                         options=[placement, f"--fabric={file}", *quick(mpi)]).passed()
    expect_across(outcome.report, ranks, ())
    assert outcome.report.data["fabric"] == {"file": file, "hosts": 4, "switches": 2}
    assert not outcome.lines(), str(outcome)


@pytest.mark.parametrize("program, args", [
    ("moves", ["edges"]), ("user_ops", []), ("layouts", []), ("reductions", [3, 1, 700]),
], ids=lambda value: value if isinstance(value, str) else "")
def test_collectives(openmpi, fabric, program, args):
    options = ["--hosts=4", f"--fabric={fabric(CROSSED)}"]
    expect_across(openmpi.launch(program, 4, *args, options=options).passed().report, 4, ())


def test_perturbed_arguments_same_plan(openmpi, fabric):
    """Invariant 1, with switches known."""
    options = ["--hosts=4", f"--fabric={fabric(CROSSED)}"]
    plain = openmpi.launch("perturb", 4, options=options).passed()
    perturbed = openmpi.launch("perturb", 4, "--perturbed", 3, options=options).passed()
    assert plain.report.plan() == perturbed.report.plan()


def test_hosts_that_are_not_there(mpi, fabric):
    file = fabric(CROSSED.replace("[1,3]", "3"))
    outcome = mpi.launch("simple", 4, options=["--hosts=4", f"--fabric={file}"]).passed()
    assert outcome.report.data["fabric"]["switches"] == 3
    assert outcome.lines() == [
        f"tutti: switches: {file}: not there, each on a switch of its own: pretended-host-1"]


def test_a_file_about_other_hosts(openmpi, fabric):
    file = fabric(CROSSED.replace("pretended-host-", "n"))
    outcome = openmpi.launch("simple", 4, options=["--hosts=4", f"--fabric={file}"]).passed()
    assert "fabric" not in outcome.report.data
    assert len(outcome.lines()) == 1 and "pretended-host-[0-3]" in outcome.lines()[0], str(outcome)


@pytest.mark.parametrize("text, name, words", [
    (None, "none.toml", "none.toml: cannot be read"),
    (CROSSED + "rate = 0", "f.toml", "f.toml:"),
    ("[[switch]]\nname = 1\n", "f.toml", "f.toml:2:"),
    (CROSSED.replace('"a,b"', '"a"'), "f.toml", "f.toml:"),
    ("\0" * 1000, "f.conf", "f.conf:1"),
    ("- topology: x\n", "f.yaml", "f.yaml:1: runs read no YAML"),
])
def test_wrong_files_are_one_line(openmpi, fabric, tmp_path, text, name, words):
    file = fabric(text, name) if text is not None else str(tmp_path / name)
    outcome = openmpi.launch("simple", 4, options=["--hosts=4", f"--fabric={file}"]).passed()
    assert "fabric" not in outcome.report.data
    assert len(outcome.lines()) == 1 and words in outcome.lines()[0], str(outcome)


def test_slurms_yaml_is_not_passed_over_in_silence(openmpi, fabric):
    file = fabric("- topology: x\n", "topology.yaml")
    slurm = file.replace("topology.yaml", "slurm.conf")
    outcome = openmpi.launch("simple", 4, options=["--hosts=4"], env={"SLURM_CONF": slurm}).passed()
    assert "fabric" not in outcome.report.data
    assert outcome.lines() == [f"tutti: switches: {file}:1: runs read no YAML; "
                               "tutti fabric FILE --toml prints what they do read"], str(outcome)
    fabric("SwitchName=a Nodes=pretended-host-[0-1]\nSwitchName=b Nodes=pretended-host-[2-3]\n"
           "SwitchName=c Switches=a,b\n", "topology.conf")
    outcome = openmpi.launch("simple", 4, options=["--hosts=4"], env={"SLURM_CONF": slurm}).passed()
    assert outcome.report.data["fabric"]["switches"] == 2
    assert not outcome.lines(), str(outcome)


def test_the_sites_own_file_and_off(debian_mpi):
    """Found without being named; and one that a user does without."""
    site = under("")
    script = site.index(next(word for word in site if 'exec "$@"' in word))
    site[script] = site[script].replace(
        'exec "$@"', 'printf %s "$TEST_FABRIC" >/etc/tutti/fabric.toml; exec "$@"')
    env = {"TEST_FABRIC": CROSSED}
    outcome = debian_mpi.launch("simple", 4, wrap=site, env=env, options=["--hosts=4"]).passed()
    assert outcome.report.data["fabric"]["file"] == "/etc/tutti/fabric.toml"
    outcome = debian_mpi.launch("simple", 4, wrap=site, env=env,
                                options=["--hosts=4", "--fabric=off"]).passed()
    assert "fabric" not in outcome.report.data
