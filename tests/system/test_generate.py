# SPDX-License-Identifier: BSD-3-Clause
"""`tutti generate`: the C files are compiled and run against MPI_Allreduce under real MPIs."""
import random
import re

import pytest

from harness import ROOT, TUTTI, run_command

STRICT = ["-std=c99", "-O1", "-Wall", "-Wextra", "-pedantic", "-Wshadow", "-Wconversion", "-Werror"]


def switch(name, hosts="", others=""):
    lines = ["[[switch]]", f'name = "{name}"']
    lines += [f'hosts = "{hosts}"'] if hosts else []
    lines += [f'switches = "{others}"'] if others else []
    return "\n".join(lines) + "\n"


def drawn_tree(seed):
    """A tree of switches with some hosts on each, as TOML."""
    draw = random.Random(seed)
    switches = draw.randint(2, 7)
    spots = [draw.randrange(switches) for _ in range(draw.randint(3, 6))]
    text = ""
    for at in range(switches):
        hosts = ",".join(f"n{host}" for host, spot in enumerate(spots) if spot == at)
        text += switch(f"s{at}", hosts, f"s{draw.randrange(at)}" if at else "")
    return text


LEAVES = switch("leaf0", "n[0-1]") + switch("leaf1", "n[2-3]") + switch("spine", "", "leaf[0-1]")
CHAIN = "".join(switch(f"s{at}", f"n{at}", f"s{at - 1}" if at else "") for at in range(5))
LAB = """{"leaves":[2,1],"rate_bits":25000000,"uplink_bits":50000000,"hosts":[
    {"name":"h0","leaf":0},{"name":"h1","leaf":0},{"name":"h2","leaf":1}]}"""
SLURM = ("SwitchName=s1 Nodes=tux[0-2]\nSwitchName=s2 Nodes=tux[3-4]\n"
         "SwitchName=s3 Switches=s[1-2]\nSwitchName=s4 Switches=s[1-2]\n")
IB8 = (ROOT / "tests" / "golden" / "fabrics" / "ib8.out").read_text()

# name, the description's file, its text, options, ranks
CASES = [
    ("one_switch", "f.toml", switch("s", "n[0-3]"), [], 4),
    ("two_leaves", "f.toml", LEAVES, ["--ranks-per-host=2"], 8),
    ("round_robin", "f.toml", LEAVES, ["--ranks-per-host=2", "--placement=round-robin"], 8),
    ("at_random", "f.toml", LEAVES, ["--ranks-per-host=2", "--placement=random:3"], 8),
    ("as_listed", "f.toml", LEAVES, ["--placement=n2,n0,n0,n3,n2"], 5),
    ("hosts_backwards", "f.toml", LEAVES, ["--hosts=n3,n0,n2,n1"], 4),
    ("a_host_that_is_not_there", "f.toml", LEAVES, ["--hosts=n0,x,n3", "--ranks-per-host=2"], 6),
    ("chain", "f.toml", CHAIN, [], 5),
    ("many_ranks", "f.toml", CHAIN, ["--hosts=n0,n4,n2", "--ranks-per-host=4"], 12),
    ("one_host", "f.toml", LEAVES, ["--hosts=n1", "--ranks-per-host=3"], 3),
    ("one_rank", "f.toml", LEAVES, ["--hosts=n1"], 1),
    ("two_ranks", "f.toml", LEAVES, ["--hosts=n1,n2"], 2),
    ("infiniband", "ib8.out", IB8, [], 8),
    ("slurm", "topology.conf", SLURM, [], 5),
    ("lab", "lab.json", LAB, ["--ranks-per-host=2", "--placement=round-robin"], 6),
    *((f"drawn_{seed}", "f.toml", drawn_tree(seed), [f"--ranks-per-host={1 + seed % 2}"], None)
      for seed in range(4)),
]


def generated(folder, name, file, text, options):
    """The C file, and how many ranks it is for."""
    (folder / file).write_text(text)
    source = folder / f"{name}.c"
    outcome = run_command([TUTTI, "generate", "allreduce", "--fabric", file, f"--name={name}",
                           "-o", source.name, *options], cwd=folder)
    assert outcome.status == 0 and outcome.out == "", outcome
    return source, int(re.search(r"RANKS = (\d+)", source.read_text()).group(1))


def compiled(mpi, source, *flags):
    """Without a warning."""
    target = source.with_suffix(f".{mpi.name}")
    compiler = [mpi.compiler]
    if mpi.root:
        lib = mpi.root / "lib"
        compiler = ["gcc", f"-I{mpi.root / 'include'}", f"-L{lib}", f"-Wl,-rpath,{lib}"]
    outcome = run_command([*compiler, *STRICT, *flags, source, "-o", target,
                           *(["-lmpi"] if mpi.root else [])])
    assert outcome.status == 0 and outcome.err == "", outcome
    return target


@pytest.mark.parametrize("name, file, text, options, ranks", CASES, ids=[case[0] for case in CASES])
@pytest.mark.sampled
def test_against_the_host(debian_mpi, tmp_path, name, file, text, options, ranks):
    source, found = generated(tmp_path, name, file, text, options)
    assert ranks in (None, found)
    program = compiled(debian_mpi, source, "-DSELFTEST")
    outcome = debian_mpi.launch(program, found, tutti=False).passed()
    assert outcome.out.endswith(f" checks of tutti_allreduce_{name} on {found} ranks\n"), outcome


@pytest.mark.check
def test_it_compiles_without_a_warning(mpi, tmp_path):
    source, _ = generated(tmp_path, "two_leaves", "f.toml", LEAVES, [])
    compiled(mpi, source, "-DSELFTEST")
    compiled(mpi, source, "-c")


def test_a_command_of_many_lines_compiles(openmpi, tmp_path):
    """With words that are quoted, and lines that end in a backslash."""
    hosts = ",".join(["n[0-3]", *(f"x{at}" for at in range(100))])
    source, _ = generated(tmp_path, "many", "a $f.toml", LEAVES,
                          ["--hosts=" + hosts])
    assert source.read_text().count("\\\n") > 1
    compiled(openmpi, source, "-c")


def test_below_tutti(openmpi, tmp_path):
    """What it hands on goes to Tutti, which runs it or hands it on."""
    source, ranks = generated(tmp_path, "two_leaves", "f.toml", LEAVES, [])
    openmpi.launch(compiled(openmpi, source, "-DSELFTEST"), ranks).passed()


def test_a_wrong_number_of_ranks_is_told(openmpi, tmp_path):
    source, _ = generated(tmp_path, "two_leaves", "f.toml", LEAVES, [])
    outcome = openmpi.launch(compiled(openmpi, source, "-DSELFTEST"), 2, tutti=False)
    assert outcome.status != 0 and "FAILED 2 ranks: start it with 4\n" in outcome.out, outcome


def test_a_wrong_ring_is_told(openmpi, tmp_path):
    """The test in the file can fail: here a rank never hands its vector on."""
    source, ranks = generated(tmp_path, "two_leaves", "f.toml", LEAVES, [])
    text = source.read_text()
    wrong = text.replace("for (j = 1; j < RANKS; ++j) {", "for (j = 1; j < RANKS - 1; ++j) {", 1)
    assert wrong != text
    source.write_text(wrong)
    outcome = openmpi.launch(compiled(openmpi, source, "-DSELFTEST"), ranks, tutti=False)
    assert outcome.status != 0 and outcome.out.startswith("FAILED bits of int, 1 elements\n")
