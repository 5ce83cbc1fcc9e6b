# SPDX-License-Identifier: BSD-3-Clause
"""tools/vmlab: a virtual machine boots with hosts and their RDMA devices, programs built here run
in it, and nothing stays, however the tool ends. Booting takes some ten seconds of two processors."""
import os
import signal
import subprocess
import time
import uuid

import pytest

import harness
from guests import GUESTS, HOSTS, VMLAB, emulators, on, vmlab, well


def wait_for(condition, what, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(0.02)


@pytest.mark.parametrize("words, line", [
    ([], "the following arguments are required: ACTION"),
    (["run", "--hosts", "9", "--", "ls"], "argument --hosts: '9' is no number from 1 to 8"),
    (["run", "--mtu", "100", "--", "ls"], "argument --mtu: '100' is no number from 1280 to 9000"),
    (["run", "--loss", "much", "--", "ls"],
     "argument --loss: 'much' is no percentage from 0 to 100"),
    (["run", "--writable", "/nowhere", "--", "ls"],
     "argument --writable: '/nowhere' is no folder"),
    (["run"], "run: no command; it stands behind --"),
    (["start", "--", "ls"], "start takes no command"),
    (["stop", "--name", "../x"], "argument --name: '../x': up to 30 small letters, digits and "
     "hyphens"),
    (["exec", "--name", "nobody", "--", "ls"], "no guest is up under the name 'nobody'"),
])
def test_bad_words_get_one_line(words, line):
    done = vmlab(*words)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"vmlab: {line}\n")


def test_what_is_missing_is_named():
    script = (f"import sys; sys.path.insert(0, '{harness.ROOT}/tools/vmlab.d'); import kernel; "
              "kernel.find = lambda tool: None; print(kernel.why_not())")
    told = subprocess.run(["python3", "-c", script], capture_output=True, text=True, check=True)
    assert told.stdout == ("the command qemu-system-x86_64 is missing (Debian: apt-get install "
                           "qemu-system-x86)\n")


def test_each_host_has_a_name_and_a_device(guest):
    told = well(on(guest, "cat /sys/class/infiniband/rxe*/ports/1/state; "
                          f"for k in $(seq 0 {HOSTS - 1}); do "
                          "as-host --host $k sh -c 'hostname; echo $VMLAB_DEVICE'; done"))
    assert told.splitlines() == ["4: ACTIVE"] * HOSTS + [
        line for k in range(HOSTS) for line in (f"h{k}", f"rxe{k}:1")]


def test_output_and_exit_status_come_through(guest):
    done = on(guest, "echo out; echo err >&2; exit 7")
    assert (done.returncode, done.stdout, done.stderr) == (7, "out\n", "err\n")
    done = on(guest, "sh", "-c", "echo \"$1\"; pwd", "sh", "two  words")
    assert well(done) == f"two  words\n{harness.ROOT}\n"


def test_a_command_that_takes_too_long_is_ended_with_all_it_started(guest):
    done = on(guest, "setsid sleep 7777 & echo begun; sleep 8888", options=["--timeout", "2"])
    assert (done.returncode, done.stdout) == (124, "begun\n")
    assert well(on(guest, "ps -eo args | grep -c '^sleep [78]' || true")) == "0\n"


def test_only_what_may_be_written_stays(guest, results):
    word = uuid.uuid4().hex
    elsewhere = harness.ROOT / "build" / f"vmlab-{word}"
    well(on(guest, f"echo {word} >{results}/kept; echo {word} >{elsewhere}; cat {elsewhere}"))
    assert (results / "kept").read_text() == f"{word}\n" and not elsewhere.exists()


def test_a_link_goes_down_and_up(guest):
    told = well(on(guest, "state=/sys/class/infiniband/rxe1/ports/1/state; ip link set p1 down; "
                          "until grep DOWN $state; do sleep 0.1; done; ip link set p1 up; "
                          "until grep ACTIVE $state; do sleep 0.1; done",
                   options=["--timeout", "60"]))
    assert told == "1: DOWN\n4: ACTIVE\n"


def test_devices_carry_reliable_connections_and_datagrams(guest):
    if not well(on(guest, "command -v ibv_rc_pingpong || true")):
        pytest.skip("the command ibv_rc_pingpong is missing (Debian: ibverbs-utils)")
    for kind in ("rc", "ud"):
        command = f"ibv_{kind}_pingpong -g 1 -n 20 -s 1000"
        # The second of the two is refused until the first one listens.
        told = well(on(guest, f"{command} -d rxe1 >/dev/null & "
                              f"until {command} -d rxe2 127.0.0.1; do :; done && wait $!",
                       options=["--timeout", "60"]))
        assert "20 iters" in told and "GID ::ffff:10.78.0.2" in told, told


def test_tuttis_messages_run_over_these_devices(guest):
    """libibverbs itself, of which other tests have a fake."""
    program = harness.TUTTI.parent / "transport_verbs_test"
    if not program.exists():
        pytest.skip(f"{program.name} is not built")
    told = well(on(guest, f"TUTTI_TEST_VERBS='rxe1 rxe2' {program} "
                          "--gtest_filter='Library*:Ports/Rules*'",
                   options=["--timeout", "120"]))
    assert "PASSED" in told and "SKIPPED" not in told, told


def test_multicast_runs_over_these_devices(guest):
    """The same of unreliable datagrams, with librdmacm and the kernel's groups."""
    program = harness.TUTTI.parent / "transport_ud_test"
    if not program.exists():
        pytest.skip(f"{program.name} is not built")
    told = well(on(guest, f"TUTTI_TEST_VERBS='rxe1 rxe2' {program} --gtest_filter='Library*'",
                   options=["--timeout", "120"]))
    assert "PASSED" in told and "SKIPPED" not in told, told


def test_what_is_built_here_runs_there(guest):
    harness.need_tutti()
    here = subprocess.run([harness.TUTTI, "--version"], capture_output=True, text=True, check=True)
    assert well(on(guest, str(harness.TUTTI), "--version")) == here.stdout


@pytest.mark.parametrize("ports, named", [("rxe1", "rxe1:1 and itself"),
                                          ("rxe1,rxe2", "rxe1:1 and rxe2:1")])
def test_bench_counts_what_writes_and_sends_take(guest, ports, named):
    """Writes beside sends, without an MPI. Times are those of emulation."""
    told = well(on(guest, str(harness.TUTTI), "bench", "--verbs", "--device", ports,
                   "--bytes", "1,4K,64K", "--exchanges", "16", options=["--timeout", "60"]))
    assert told.startswith(f"RDMA between {named}, packets of "), told
    rows = {words[0]: words[1:3] for words in map(str.split, told.splitlines()) if words}
    assert [rows[way] for way in ("write", "write+imm", "send")] == [
        ["2.00", "0.00"], ["2.00", "2.00"], ["2.00", "2.00"]], told
    assert "of 144 plain writes the end was seen before all the rest" in told, told


def test_bench_counts_what_multicasts_take(guest):
    """One request a packet, and one receive at each who is to have it."""
    told = well(on(guest, str(harness.TUTTI), "bench", "--verbs", "--multicast", "--device",
                   "rxe0,rxe1,rxe2", "--bytes", "8,1K", "--exchanges", "16",
                   options=["--timeout", "60"]))
    assert told.startswith("multicast between rxe0:1 and 2 others, packets of "), told
    rows = [line.split() for line in told.splitlines() if line.strip().startswith("to ")]
    assert [row[1:3] for row in rows if row[-1] == "0"] == [["1", "1.00"], ["2", "1.00"]], told
    assert [row[3] for row in rows if row[-1] == "0"] == ["1.00", "2.00"], told


def test_ranks_are_on_hosts_of_their_own(guest, openmpi, results):
    """Tutti takes the guest's hosts for hosts."""
    program = openmpi.compile("simple")
    done = on(guest, str(harness.TUTTI), "run", f"--report={results}/report.json",
              "--barrier=dissemination", "--", openmpi.launcher, "-n", "2", "as-host",
              str(program), "10", options=["--timeout", "150"])
    assert [line for line in well(done).splitlines() if line.startswith("ok ")], done.stderr
    if not harness.BARE:
        report = harness.Report(results / "report.json")
        # An algorithm across hosts: within one the name would say nothing.
        assert "dissemination" in {row.get("algorithm") for row in report.rows}, report.data


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_a_tool_that_is_killed(able, number):
    """Here while it boots; a guest that is up is kept or ended by the same lifeline."""
    tool = subprocess.Popen([str(VMLAB), "run", "--", "sleep 1000"], stderr=subprocess.DEVNULL)
    name = f"run-{tool.pid}"
    wait_for(lambda: emulators(name), "the guest starts")
    tool.send_signal(number)
    tool.wait()
    wait_for(lambda: not emulators(name) and not (GUESTS / name).exists(), "it is gone")


def test_the_guest_ends_with_its_keeper(able):
    """Where the keeper is killed as well, the kernel ends qemu, and the next one clears away."""
    tool = subprocess.Popen([str(VMLAB), "run", "--", "sleep 1000"], stderr=subprocess.DEVNULL)
    name = f"run-{tool.pid}"
    wait_for(lambda: (GUESTS / name / "console").exists(), "the guest starts")
    keeper = int((GUESTS / name / "keeper").read_text())
    for pid in (tool.pid, keeper):
        os.kill(pid, signal.SIGKILL)
    tool.wait()
    wait_for(lambda: not emulators(name), "qemu is gone")
    assert name not in vmlab("status").stdout
    assert not (GUESTS / name).exists()
