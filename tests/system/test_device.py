# SPDX-License-Identifier: BSD-3-Clause
"""Device memory, by a stand-in for each runtime whose memory the processor cannot touch, and by
NVIDIA's own where there is a GPU. Without Tutti these programs end in a crash, since no MPI of this
machine knows such memory either."""
import ctypes
import functools
import subprocess

import pytest

from harness import BARE, PRELOAD, PROGRAMS, TUTTI, WORK

pytestmark = pytest.mark.skipif(BARE, reason="SYSTEST_BARE: there is no Tutti to stage")

LIBRARIES = {"CUDA": "libcuda.so.1", "HIP": "libamdhip64.so.6", "ZE": "libze_loader.so.1"}
REAL = "a real GPU"
NAMES = {"CUDA": "CUDA", "HIP": "HIP", "ZE": "Level Zero", REAL: "CUDA"}
# The host would get the first calls, and what the rules hand back, with the pointers as they are.
ON_ONE_NODE = ["--warmup=0"]
ACROSS = [*ON_ONE_NODE, "--hosts=2", "--barrier=dissemination", "--bcast=binomial",
          "--reduce=binomial", "--allreduce=ring", "--gather=binomial", "--scatter=binomial",
          "--allgather=ring", "--reduce-scatter-block=direct", "--alltoall=pairwise",
          "--scan=doubling", "--exscan=doubling", "--gatherv=direct", "--scatterv=direct",
          "--allgatherv=ring", "--alltoallv=pairwise", "--alltoallw=linear",
          "--reduce-scatter=direct"]


def build_library(target, source, *flags):
    sources = [PROGRAMS / source, PROGRAMS / "standin_gpu.h"]
    if not target.exists() or target.stat().st_mtime < max(s.stat().st_mtime for s in sources):
        target.parent.mkdir(parents=True, exist_ok=True)
        made = subprocess.run(["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O1", "-Wall", "-Wextra",
                               "-Werror", "-shared", "-fPIC", "-pthread", *flags, sources[0], "-o",
                               target, "-ldl"], capture_output=True, text=True)
        assert made.returncode == 0, made.stderr
    return target


def standin(kind):
    """The stand-in, under the name by which the loader knows the real one."""
    if kind == REAL:
        return build_library(WORK / "standin" / "real_cuda.so", "real_cuda.c")
    return build_library(WORK / "standin" / kind / LIBRARIES[kind], "standin_gpu.c",
                         f"-DSTANDIN_{kind}")


@functools.cache
def problem_with_gpu():
    """Why no NVIDIA GPU can be used here; empty where one can."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "no libcuda.so.1"
    status, count = driver.cuInit(0), ctypes.c_int()
    status = status or driver.cuDeviceGetCount(ctypes.byref(count))
    if status or not count.value:
        return f"libcuda.so.1 finds no GPU (status {status})"
    return ""


def run(mpi, kind, *words, ranks=3, options=ON_ONE_NODE, env=None):
    return mpi.launch("device", ranks, standin(kind), *words, options=options, env=env)


def numbers(outcome):
    words = next(line for line in outcome.out.splitlines() if line.startswith("queries")).split()
    return {name: int(count) for name, count in zip(words[::2], words[1::2])}


def expect_staged(outcome, kind):
    report = outcome.passed().report
    staged = report.data["device_memory"]
    assert staged["runtimes"] == NAMES[kind] and staged["staged"] > 0 and staged["bytes"] > 0, staged
    assert report.calls("host") == 0, report.rows


@pytest.mark.parametrize("options", [ON_ONE_NODE, ACROSS], ids=["node", "hosts"])
def test_every_collective(mpi, options):
    """In place, gaps, absolute addresses, user operators; some ranks pass the processor's memory."""
    expect_staged(run(mpi, "CUDA", "all", 7, options=options), "CUDA")


@pytest.mark.parametrize("options", [ON_ONE_NODE, ACROSS], ids=["node", "hosts"])
def test_vector_forms(mpi, options):
    """The same; each block is staged by itself."""
    expect_staged(run(mpi, "CUDA", "vectors", 13, options=options), "CUDA")


@pytest.mark.parametrize("kind", ["HIP", "ZE"])
def test_vector_forms_by_other_runtimes(debian_mpi, kind):
    expect_staged(run(debian_mpi, kind, "vectors", 14, ranks=4), kind)


@pytest.mark.skipif(problem_with_gpu() != "", reason=f"no NVIDIA GPU: {problem_with_gpu()}")
@pytest.mark.parametrize("options", [ON_ONE_NODE, ACROSS], ids=["node", "hosts"])
@pytest.mark.parametrize("words", [["all", 7], ["all", 12], ["vectors", 13], ["late", 10],
                                   ["reuse"], ["stream"], ["threads"], ["large"]], ids=lambda words: "-".join(map(str, words)))
def test_on_a_real_gpu(mpi, words, options):
    """What the stand-in is for, on the memory of a GPU; `mixed` and `idle`: below."""
    expect_staged(run(mpi, REAL, *words, options=options), REAL)


@pytest.mark.skipif(problem_with_gpu() != "", reason=f"no NVIDIA GPU: {problem_with_gpu()}")
def test_what_is_not_staged_on_a_real_gpu(mpi):
    """Pinned memory is the processor's; a datatype over both kinds of memory is one line."""
    assert "device_memory" not in run(mpi, REAL, "idle").passed().report.data
    outcome = run(mpi, REAL, "mixed").passed()
    assert any("spans device memory and other" in line for line in outcome.lines()), str(outcome)


@pytest.mark.parametrize("kind", ["HIP", "ZE"])
def test_other_runtimes(debian_mpi, kind):
    expect_staged(run(debian_mpi, kind, "all", 8, ranks=4), kind)


def test_hip_before_6(openmpi):
    """Other numbers for kinds of memory, and an error for every address that is not its own."""
    expect_staged(run(openmpi, "HIP", "all", 9, env={"STANDIN_HIP_VERSION": "50731921"}), "HIP")


@pytest.mark.parametrize("kind", LIBRARIES)
def test_loaded_late(openmpi, kind):
    """After MPI_Init and five calls, where nobody else sees it, as Python does."""
    outcome = run(openmpi, kind, "late", 10)
    expect_staged(outcome, kind)


def test_loaded_late_under_every_mpi(mpi):
    expect_staged(run(mpi, "CUDA", "late", 11), "CUDA")


@pytest.mark.parametrize("kind", LIBRARIES)
@pytest.mark.parametrize("options", [ON_ONE_NODE, ACROSS], ids=["node", "hosts"])
def test_address_reuse(debian_mpi, kind, options):
    """Memory is freed, and others' memory stands at its address."""
    expect_staged(run(debian_mpi, kind, "reuse", options=options), kind)


@pytest.mark.parametrize("kind", ["CUDA", "HIP"])
def test_behind_the_default_stream(openmpi, kind):
    """What a plain copy from pageable memory still has under way when it is back."""
    expect_staged(run(openmpi, kind, "stream"), kind)


@pytest.mark.parametrize("kind, function", [
    ("CUDA", "cuMemcpyAsync"), ("CUDA", "cuStreamCreate"), ("CUDA", "cuStreamSynchronize"),
    ("CUDA", "cuCtxPushCurrent"), ("HIP", "hipMemcpyAsync"), ("HIP", "hipStreamSynchronize"),
    ("ZE", "zeCommandListAppendMemoryCopy"), ("ZE", "zeCommandListCreateImmediate")])
@pytest.mark.sampled
def test_errors(openmpi, kind, function):
    outcome = run(openmpi, kind, "errors", function).passed()
    own = [line for line in outcome.lines() if "rank 1:" not in line]
    words = (f"MPI_Allreduce on rank 1 of 3: {NAMES[kind]}: ", function)
    assert len(own) == 1 and all(word in own[0] for word in words), str(outcome)


def test_one_datatype_for_two_kinds_of_memory(debian_mpi):
    """The processor's own twice is as without a GPU; with a device's among them it is one line."""
    outcome = run(debian_mpi, "CUDA", "mixed").passed()
    own = [line for line in outcome.lines() if "rank 1:" not in line]
    assert len(own) == 2 and all("spans device memory and other" in line for line in own), \
        str(outcome)


@pytest.mark.parametrize("kind", ["CUDA", "HIP"])
def test_from_two_threads(debian_mpi, kind):
    expect_staged(run(debian_mpi, kind, "threads"), kind)


def test_alike_runs_are_one_copy(openmpi):
    """Results with gaps go back by rows where the runtime has that; a copy a run were thousands."""
    copies = {kind: numbers(run(openmpi, kind, "all", 7).passed())["copies"]
              for kind in ("CUDA", "ZE")}
    assert copies["CUDA"] * 5 < copies["ZE"], copies


@pytest.mark.parametrize("kind", ["CUDA", "HIP"])
def test_what_is_pinned_serves_all_communicators(openmpi, kind):
    """A block for the large call, and one for a hundred small ones; the large one goes in between."""
    outcome = run(openmpi, kind, "large", ranks=2).passed()
    expect_staged(outcome, kind)
    found = numbers(outcome)
    assert found["registrations"] == 2 and found["pinned"] == 64 << 10, str(outcome)


@pytest.mark.parametrize("kind, function", [("CUDA", "cuMemHostRegister"),
                                            ("HIP", "hipHostRegister")])
def test_runtime_that_does_not_pin(openmpi, kind, function):
    outcome = run(openmpi, kind, "unpinned", function).passed()
    expect_staged(outcome, kind)
    assert numbers(outcome)["pinned"] == 0, str(outcome)


def test_who_passes_what_changes_no_plan(openmpi):
    """Two seeds: other ranks pass device memory. All that is decided is the same."""
    reports = [run(openmpi, "CUDA", "reuse", seed).passed().report for seed in (1, 2)]
    assert reports[0].plan() == reports[1].plan()
    assert reports[0].data["device_memory"] != reports[1].data["device_memory"]


def test_calls_of_the_host_ask_nothing(openmpi):
    """What the host gets it gets as the program gave it: it may know such memory itself."""
    outcome = run(openmpi, "CUDA", "idle", options=["--warmup=1000"]).passed()
    assert not any(numbers(outcome).values()), str(outcome)
    assert "device_memory" not in outcome.report.data


def test_memory_of_the_processor_is_not_copied(openmpi):
    outcome = run(openmpi, "CUDA", "idle").passed()
    found = numbers(outcome)
    assert found["queries"] > 0 and found["copies"] == found["pinned"] == 0, str(outcome)
    assert "device_memory" not in outcome.report.data


def test_needs_nothing_but_libc():
    shown = subprocess.run(["readelf", "-d", PRELOAD], capture_output=True, text=True, check=True)
    needed = {line.split("[")[1].rstrip("]") for line in shown.stdout.splitlines()
              if "(NEEDED)" in line}
    # Threads and the loader are libraries of their own in older glibcs.
    assert needed <= {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2",
                      "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}, needed
