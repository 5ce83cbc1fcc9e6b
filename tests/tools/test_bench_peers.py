# SPDX-License-Identifier: BSD-3-Clause
"""tools/bench-peers: what is compared with what, and what its tables make of figures. No MPI."""
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools/bench-peers.d"), str(ROOT / "tools/bench.d")]
import peer_book  # noqa: E402  pylint: disable=wrong-import-position
from peer_book import Book, Job, Where  # noqa: E402  pylint: disable=wrong-import-position

NEAR, FAR, MOVED = (0.06, 0.07), (0.26, 0.25), (0.06, 0.26)


def cell(flag, host=1.0, tutti=None):
    found = {"flag_before_us": flag[0], "flag_after_us": flag[1], "host": {"p50_us": host},
             "moved": max(flag) > 1.6 * min(flag)}
    if tutti:
        found["tutti"] = {"p50_us": tutti}
    return found


def job_of(collective, *sizes, buffers="reused", ranks=2):
    return Job(ranks, buffers, tuple((collective, size) for size in sizes))


def book_of(*runs, bare=("A", "B"), tutti=("A",)):
    """Each run is (peer, job, cells), through Tutti where the cells have its figures."""
    book = Book("p50_us", list(bare), list(tutti))
    for peer, job, cells in runs:
        book.add(job, peer, dict(zip(job.cells, cells)), "tutti" in cells[0])
    return book


@pytest.mark.parametrize("words, line", [
    (["--rounds", "0"], "--rounds: at least 1"),
    (["--collectives", "bcast,x"], "unknown collective 'x'"),
    (["--buffers", "old"], "argument --buffers: invalid choice: 'old' (choose from "),
    (["--json", "/nowhere/x.json"], "--json: cannot write in /nowhere")])
def test_bad_words_get_one_line(words, line):
    done = subprocess.run([ROOT / "tools/bench-peers", *words], capture_output=True, text=True,
                          check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1].startswith(f"tools/bench-peers: error: {line}")


@pytest.mark.parametrize("flag, regime", [
    ((0.03, 0.03), "one core"), ((0.043, 0.043), "near"), ((0.06, 0.08), "near"),
    ((0.22, 0.28), "far"), ((5, 6), "far"), (MOVED, None), (MOVED[::-1], None)])
def test_the_flag_tells_where_the_cores_were(flag, regime):
    assert peer_book.regime_of(cell(flag)) == regime
    assert peer_book.regime_of({"host": {}}) == "unknown"


def test_what_a_run_is_told():
    assert job_of("bcast", 8, 1024).arguments(0.2) == [
        "bcast", "--bytes", "8,1024", "--buffers", "reused", "--seconds", "0.2"]
    assert job_of("barrier", 0, buffers="fresh").arguments(1) == [
        "barrier", "--buffers", "fresh", "--seconds", "1"]
    crowd = Job(8, "reused", (("barrier", 0), ("allreduce", 8)))
    assert crowd.arguments(1)[:4] == ["barrier", "allreduce", "--bytes", "8"]


def settle(job, *runs):
    """Gives these flags, run by run and cell by cell; returns also what was asked for."""
    asked, runs = [], list(runs)

    def measure(part):
        asked.append([size for _, size in part.cells])
        flags = runs.pop(0)
        return (None, "no end") if flags is None else (
            {key: cell(flag) for key, flag in zip(part.cells, flags)}, None)
    return *peer_book.settle(job, measure), asked


def test_only_cells_that_moved_are_measured_anew():
    kept, moved, error, asked = settle(job_of("bcast", 8, 256, 1024), [NEAR, MOVED, MOVED],
                                       [FAR, MOVED], [NEAR])
    assert asked == [[8, 256, 1024], [256, 1024], [1024]]
    assert [peer_book.regime_of(kept["bcast", size]) for size in (8, 256, 1024)] == \
        ["near", "far", "near"]
    assert (moved, error) == ([], None)


def test_a_cell_that_moves_each_time_is_given_up():
    kept, moved, error, asked = settle(job_of("bcast", 8, 256), [MOVED, NEAR], *[[MOVED]] * 3)
    assert (list(kept), moved, error) == ([("bcast", 256)], [("bcast", 8)], None)
    assert asked == [[8, 256], [8], [8], [8]]


def test_a_failure_ends_the_repeats_and_keeps_what_there_is():
    kept, moved, error, _ = settle(job_of("bcast", 8, 256), [MOVED, NEAR], None)
    assert (list(kept), moved, error) == ([("bcast", 256)], [], "no end")


def test_what_was_skipped_is_not_asked_for_again():
    def measure(_):
        return {("bcast", 8): cell(NEAR)}, None  # 16 MiB found no memory
    kept, moved, error = peer_book.settle(job_of("bcast", 8, 16 << 20), measure)
    assert (list(kept), moved, error) == ([("bcast", 8)], [], None)


def both_places():
    """Between near cores Tutti takes half as long as the best, between far ones twice as long."""
    job = job_of("bcast", 1024)
    return book_of(("A", job, [cell(NEAR, 1.0)]), ("B", job, [cell(NEAR, 1.2)]),
                   ("A", job, [cell(NEAR, 1.0, 0.5)]), ("A", job, [cell(FAR, 4.0)]),
                   ("B", job, [cell(FAR, 3.0)]), ("A", job, [cell(FAR, 4.0, 6.0)]))


def test_goals_by_size():
    def least(size):
        return peer_book.goal_of(2, "reduce", size)[0]
    assert [least(size << 10) for size in (1, 8, 16, 256, 512, 1024)] == [
        2.0, 2.0, 1 / 1.3, 1 / 1.3, 1.3, 1.3]


def test_each_place_is_compared_with_itself():
    rows = both_places().rows()
    assert [(row["regime"], row["best_peer"], row["ratio"], row["verdict"]) for row in rows] == [
        ("near", "A", 2.0, "yes"), ("far", "B", 0.5, "no")]
    assert [row["over_host"] for row in rows] == [{"A": 0.5}, {"A": 1.5}]


def test_each_place_has_its_table_and_counts():
    book = both_places()
    lines = peer_book.report_lines(book.rows(), book)
    near = lines.index("reused buffers, cores near (flag latency 0.06 to 0.07 us)")
    far = lines.index("reused buffers, cores far (flag latency 0.25 to 0.26 us)")
    assert near < far
    assert lines[near + 3].split() == ["2", "bcast", "1", "KiB", "1.000", "1.200", "0.500",
                                       "0.500", "2.00", "2.00", "2.00", "-", "yes"]
    assert lines[near + 5:near + 7] == [
        "1 of 1 goals met",
        "0 of 1 calls (a cell on an MPI) slower than that MPI's own by more than 10%"]
    assert lines[far + 5:far + 8] == [
        "0 of 1 goals met",
        "1 of 1 calls (a cell on an MPI) slower than that MPI's own by more than 10%",
        "  2 ranks, bcast 1 KiB, A: 1.50 times its own"]
    assert not any("given up" in line for line in lines)
    book.moved = ["A, bare: bcast 8 B"]
    lines = peer_book.report_lines(book.rows(), book)
    assert lines[-2].startswith("1 of 7 measurements given up") and book.moved[0] in lines[-1]


def test_fresh_and_reused_buffers_are_apart():
    runs = [("A", job_of("bcast", 8, buffers=kind), [cell(NEAR, us, *mine)])
            for kind, us in (("fresh", 2.0), ("reused", 1.0)) for mine in ((), (us / 4,))]
    book = book_of(*runs, bare=["A"])
    assert [(row["buffers"], row["best_us"], row["tutti_us"]) for row in book.rows()] == [
        ("reused", 1.0, 0.25), ("fresh", 2.0, 0.5)]


def test_rounds_make_a_median():
    job = job_of("bcast", 1024)
    book = book_of(*[("A", job, [cell(NEAR, us)]) for us in (1.0, 9.0, 3.0)],
                   *[("A", job, [cell(NEAR, us, us / 2)]) for us in (2.0, 4.0, 40.0)], bare=["A"])
    assert [(row["best_us"], row["tutti_us"]) for row in book.rows()] == [(3.0, 2.0)]


def test_no_goal_is_met_without_every_peer():
    job = job_of("bcast", 1024)
    book = book_of(("A", job, [cell(NEAR, 4.0)]), ("B", job, [cell(FAR, 1.0)]),
                   ("A", job, [cell(NEAR, 4.0, 1.0)]))
    row, = book.rows()
    assert (row["regime"], row["ratio"], row["met"], row["complete"], row["verdict"]) == (
        "near", 4.0, False, False, "open, lacks B")
    assert peer_book.counts_of([row])[0] == \
        "0 of 0 goals met; open, since not every MPI was met here: 1"
    assert book.place == "near"
    assert book.gaps() == [("near", "B", False, job), ("far", "A", False, job),
                           ("far", "A", True, job)]
    book.failed.add(("B", False))
    assert [gap[:3] for gap in book.gaps()] == [("far", "A", False), ("far", "A", True)]


def test_limits_that_will_do_instead_are_those_of_the_place():
    job = job_of("barrier", 0)
    book = book_of(("A", job, [cell(NEAR, 0.2)]), ("A", job, [cell(NEAR, 0.2, 0.1)]),
                   ("A", job, [cell(FAR, 0.8)]), ("A", job, [cell(FAR, 0.8, 0.6)]), bare=["A"])
    near, far = book.rows()
    assert near["limit_us"] == pytest.approx(1.6 * 0.065) and near["verdict"] == "yes, limit"
    assert far["limit_us"] == pytest.approx(1.6 * 0.255) and far["verdict"] == "no"


def test_a_crowd_is_held_against_bare_yields():
    job = job_of("barrier", 0, ranks=8)
    crowd = {**cell(FAR, 10.0, 5.0), "yield_barrier_us": 6.0}
    book = book_of(("A", job, [cell(FAR, 10.0)]), ("A", job, [crowd]), bare=["A"])
    row, = book.rows()
    assert (row["limit_us"], row["verdict"]) == (6.0, "yes, limit")


def test_long_messages_must_not_be_slower_than_the_host():
    job = job_of("bcast", 64 << 10)
    book = book_of(("A", job, [cell(NEAR, 9.0)]), ("A", job, [cell(NEAR, 1.0, 1.06)]), bare=["A"])
    row, = book.rows()
    assert (row["met"], row["verdict"]) == (False, "no, slower than A")
    assert Where("reused", "near", 2, "bcast", 64 << 10) in book.tutti
