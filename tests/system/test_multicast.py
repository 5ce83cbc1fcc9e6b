# SPDX-License-Identifier: BSD-3-Clause
"""Hardware multicast under real MPIs: pretended hosts whose packets go over the loopback interface."""
import concurrent.futures

import pytest

import harness
from test_behaviour import swept
from test_hosts import quick

pytestmark = pytest.mark.skipif(harness.BARE, reason="SYSTEST_BARE: there is no Tutti to look at")

ON = ["--mcast=on", "--mcast-if=lo", "--mcast-teams=64"]
# Whatever has an algorithm by multicast runs by it, in teams that have multicast.
RULES = """
[[rule]]
collective = "barrier"
multicast = true
algorithm = "gather_multicast"
[[rule]]
collective = "bcast"
multicast = true
algorithm = "multicast"
[[rule]]
collective = "allreduce"
bytes = "..16K"
multicast = true
algorithm = "gather_multicast"
[[rule]]
collective = "allreduce"
multicast = true
algorithm = "multicast"
[[rule]]
collective = "allgather"
multicast = true
algorithm = "multicast"
"""


# Whoever comes last releases all.
FOLLOWING = """
[[rule]]
collective = "bcast"
multicast = true
algorithm = "multicast"
[[rule]]
collective = "barrier"
multicast = true
algorithm = "adaptive_multicast"
[[rule]]
collective = "allreduce"
multicast = true
algorithm = "adaptive_multicast"
"""


def ruled(tmp_path, rules):
    path = tmp_path / "rules.toml"
    path.write_text(rules)
    return [*ON, f"--rules={path}"]


@pytest.fixture
def on(tmp_path):
    return ruled(tmp_path, RULES)


@pytest.fixture
def following(tmp_path):
    return ruled(tmp_path, FOLLOWING)


def groups(outcome, state="on"):
    return [row for row in outcome.report.data["multicast"] if row["state"] == state]


def expect_multicast(outcome, hosts=4):
    rows = groups(outcome)
    assert rows and max(row["hosts"] for row in rows) == hosts, outcome.report.data["multicast"]
    assert sum(row["data_packets"] for row in rows) > 0, rows
    assert all(row["malformed"] == 0 for row in rows), rows
    return rows


def algorithms(outcome):
    return {row["algorithm"] for row in outcome.report.rows if row["run_by"] == "tutti"}


@pytest.mark.check
def test_random_mixed(mpi, on):
    outcome = mpi.launch("random_mixed", 4, "--seed", 11, "--calls", 200, "--threads", 1,
                         options=[*on, "--hosts=4", *quick(mpi)], timeout=120).passed()
    expect_multicast(outcome)
    assert {"gather_multicast", "multicast"} <= algorithms(outcome), algorithms(outcome)


def test_ranks_of_a_host_share_what_comes(openmpi, on):
    outcome = openmpi.launch("random_mixed", 4, "--seed", 12, "--calls", 200, "--threads", 1,
                             options=[*on, "--hosts=2"]).passed()
    expect_multicast(outcome, hosts=2)


def test_threads_with_communicators_of_their_own(mpi, on):
    outcome = mpi.launch("random_mixed", 4, "--seed", 13, "--calls", 200,
                         options=[*on, "--hosts=4", *quick(mpi)], timeout=120).passed()
    expect_multicast(outcome)


@pytest.mark.parametrize("secret", [0, 1])
def test_the_report_says_who_can_read_it(openmpi, on, secret):
    outcome = openmpi.launch("random_mixed", 4, "--seed", 16, "--calls", 100, "--threads", 1,
                             options=[*on, "--hosts=4", f"--mcast-secret={secret}"],
                             timeout=120).passed()
    assert all(row["encrypted"] == bool(secret) for row in expect_multicast(outcome))


@pytest.mark.parametrize("code", ["header", "none"])
def test_codes_over_less_than_all(openmpi, on, code):
    outcome = openmpi.launch("random_mixed", 4, "--seed", 17, "--calls", 100, "--threads", 1,
                             options=[*on, "--hosts=4", f"--mcast-code={code}"],
                             timeout=120, env={"TUTTI_FAULTS": "drop:0.02,seed:3"}).passed()
    rows = expect_multicast(outcome)
    assert all(row["code"] == code and not row["encrypted"] for row in rows), rows
    assert all(row["bytes_per_s"] <= row["code_bytes_per_s"] for row in rows), rows


def test_without_the_thread(openmpi, on):
    outcome = openmpi.launch("random_mixed", 4, "--seed", 14, "--calls", 100, "--threads", 1,
                             options=[*on, "--hosts=4", "--mcast-thread=0"], timeout=120).passed()
    rows = expect_multicast(outcome)
    assert all(row["wakeups"] == 0 for row in rows), rows


@pytest.mark.check
def test_losses_are_repaired_and_counted(openmpi, on):
    outcome = openmpi.launch("random_mixed", 4, "--seed", 15, "--calls", 200, "--threads", 1,
                             options=[*on, "--hosts=4"], timeout=120,
                             env={"TUTTI_FAULTS": "drop:0.05,dup:0.01,seed:3"}).passed()
    rows = expect_multicast(outcome)
    for what in ("losses", "repaired", "duplicates"):
        assert sum(row[what] for row in rows) > 0, rows


def test_losses_are_repaired_while_the_root_computes(openmpi, on, tmp_path):
    outcome = openmpi.launch("absent", 4, "computing", tmp_path / "arrived",
                             options=[*on, "--hosts=4"], timeout=120,
                             env={"TUTTI_FAULTS": "drop:0.05,seed:5"}).passed()
    assert sum(row["repaired"] for row in expect_multicast(outcome)) > 0


def test_a_host_that_stood_still_comes_back(openmpi, on):
    outcome = openmpi.launch("absent", 4, "stopped", options=[*on, "--hosts=4"],
                             timeout=120).passed()
    harness.expect_return(outcome)
    names = algorithms(outcome)
    # Before and after, and between.
    assert "multicast" in names and names - {"multicast", "gather_multicast"}, names


def test_off_and_not_wanted(openmpi):
    for options, said in ((["--mcast=off", "--hosts=4"], []), (["--hosts=4"], []),
                          (["--mcast=on"], ["tutti: without effect, since all ranks are on one "
                                            "host: TUTTI_MCAST=on"])):
        outcome = openmpi.launch("simple", 4, options=options).passed()
        assert outcome.report.data["multicast"] == [], outcome.report.data
        assert outcome.lines() == said, str(outcome)


def test_an_interface_that_is_not_there(openmpi):
    outcome = openmpi.launch("simple", 4, options=["--mcast=on", "--hosts=4",
                                                   "--mcast-if=nosuch0"]).passed()
    lines = outcome.lines()
    assert len(lines) == 1 and "pretended host 0" in lines[0] and "nosuch0" in lines[0], lines
    assert groups(outcome, "off")[0]["reason"] in lines[0], outcome.report.data


def test_two_jobs_share_address_and_port(openmpi, on):
    options = [*on, "--hosts=4", "--mcast-address=239.77.1.2", "--mcast-port=17999"]

    def job(seed):
        return openmpi.launch("random_mixed", 4, "--seed", seed, "--calls", 300, "--threads", 1,
                              options=options, timeout=180).passed()

    openmpi.compile("random_mixed")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for outcome in pool.map(job, (16, 17)):
            rows = expect_multicast(outcome)
            assert all(row["address"] == "239.77.1.2 port 17999" for row in rows), rows


def test_many_communicators(openmpi):
    outcome = openmpi.launch("comms", 2, 1000, timeout=180,
                             options=["--mcast=on", "--mcast-if=lo", "--hosts=2"]).passed()
    assert groups(outcome), outcome.report.data


def test_killed_rank_ends_the_job(openmpi):
    outcome = openmpi.launch("misuse", 3, "killed", timeout=60, wrap=(),
                             options=["--mcast=on", "--mcast-if=lo", "--hosts=3"])
    assert outcome.status != 0, str(outcome)


# By multicast alone: a mismatch is found, a late rank named, a message progressed; arguments that
# must not matter do not.
@pytest.mark.parametrize("what", ["collective", "root", "operator", "bytes", "vector"])
def test_check_names_the_ranks(openmpi, on, what):
    outcome = openmpi.launch("misuse", 3, what, timeout=60, wrap=swept(), with_report=False,
                             options=[*on, "--hosts=3", "--check=1"])
    assert outcome.status != 0 and "was not noticed" not in outcome.err, str(outcome)
    lines = outcome.lines()
    assert len(lines) == 1, str(outcome)
    assert "mismatch" in lines[0] and "rank 1:" in lines[0] and "ranks 0, 2:" in lines[0], lines


def test_check_passes_legal_programs(mpi, on):
    outcome = mpi.launch("misuse", 3, "legal", options=[*on, "--hosts=3", "--check=1"]).passed()
    expect_multicast(outcome, hosts=3)
    assert not outcome.lines(), str(outcome)


def test_stall_names_the_late_rank(debian_mpi, on):
    outcome = debian_mpi.launch("misuse", 3, "late",
                                options=[*on, "--hosts=3", "--stall=1"]).passed()
    expect_multicast(outcome, hosts=3)
    lines = outcome.lines()
    assert any("rank 1 (on pretended host 1)" in line and "barrier" in line for line in lines), \
        str(outcome)


def test_progress_while_waiting(mpi, on):
    outcome = mpi.launch("progress", 3, options=[*on, "--hosts=3"], timeout=60).passed()
    expect_multicast(outcome, hosts=3)
    assert {"gather_multicast", "multicast"} <= algorithms(outcome), outcome.report.rows


def expect_followed(outcome, hosts):
    """Nothing else by multicast has run a barrier or an allreduce."""
    expect_multicast(outcome, hosts)
    names = {(row["collective"], row["algorithm"]) for row in outcome.report.rows
             if row["run_by"] == "tutti"}
    assert (("barrier", "adaptive_multicast") in names or
            ("allreduce", "adaptive_multicast") in names), names


@pytest.mark.parametrize("hosts", [5, 2])
def test_random_mixed_that_follows_arrival(mpi, following, hosts):
    outcome = mpi.launch("random_mixed", 5, "--seed", 41, "--calls", 400, timeout=120,
                         options=[*following, f"--hosts={hosts}", *quick(mpi)]).passed()
    expect_followed(outcome, hosts)


@pytest.mark.parametrize("program, args", [("user_ops", []), ("reductions", [3, 1, 700])],
                         ids=lambda value: value if isinstance(value, str) else "")
@pytest.mark.check
def test_reductions_that_follow_arrival(mpi, following, program, args):
    outcome = mpi.launch(program, 4, *args, timeout=120,
                         options=[*following, "--hosts=4", *quick(mpi)]).passed()
    expect_followed(outcome, 4)


def test_the_variable_means_by_multicast(openmpi):
    options = [*ON, "--barrier=adaptive", "--allreduce=adaptive", "--hosts=3"]
    outcome = openmpi.launch("random_mixed", 5, "--seed", 43, "--calls", 300, timeout=120,
                             options=options).passed()
    expect_followed(outcome, 3)


def test_losses_while_following_arrival(openmpi, following):
    outcome = openmpi.launch("random_mixed", 4, "--seed", 43, "--calls", 200, "--threads", 1,
                             options=[*following, "--hosts=4"], timeout=120,
                             env={"TUTTI_FAULTS": "drop:0.05,dup:0.01,seed:9"}).passed()
    expect_followed(outcome, 4)


def test_without_the_thread_following_arrival(openmpi, following):
    outcome = openmpi.launch("random_mixed", 4, "--seed", 44, "--calls", 100, "--threads", 1,
                             options=[*following, "--hosts=4", "--mcast-thread=0"],
                             timeout=120).passed()
    expect_followed(outcome, 4)


def test_a_host_that_stood_still_comes_back_to_follow_arrival(openmpi, following):
    """Between, releases go along the tree, then other algorithms run."""
    outcome = openmpi.launch("absent", 4, "stopped", options=[*following, "--hosts=4"],
                             timeout=120).passed()
    harness.expect_return(outcome)
    expect_followed(outcome, 4)


def test_killed_rank_ends_the_job_that_follows_arrival(mpi, following):
    outcome = mpi.launch("misuse", 3, "killed", timeout=60, wrap=(),
                         options=[*following, "--hosts=3"])
    assert outcome.status != 0, str(outcome)


def test_stall_names_the_late_rank_where_all_wait_for_it(debian_mpi, following):
    outcome = debian_mpi.launch("misuse", 4, "late",
                                options=[*following, "--hosts=4", "--stall=1"]).passed()
    expect_followed(outcome, 4)
    lines = outcome.lines()
    assert any("rank 1 (on pretended host 1)" in line and "barrier" in line for line in lines), \
        str(outcome)


def test_check_passes_legal_programs_that_follow_arrival(mpi, following):
    outcome = mpi.launch("misuse", 3, "legal",
                         options=[*following, "--hosts=3", "--check=1"]).passed()
    expect_followed(outcome, 3)
    assert not outcome.lines(), str(outcome)


def test_progress_while_following_arrival(mpi, following):
    outcome = mpi.launch("progress", 3, options=[*following, "--hosts=3"], timeout=60).passed()
    expect_followed(outcome, 3)


def test_perturbed_arguments_same_plan(openmpi, on):
    options = [*on, "--hosts=2"]
    plain = openmpi.launch("perturb", 4, options=options).passed()
    perturbed = openmpi.launch("perturb", 4, "--perturbed", 5, options=options).passed()
    assert {"gather_multicast", "multicast"} <= algorithms(plain), plain.report.rows
    assert plain.report.plan() == perturbed.report.plan()
