"""Kernels whose blocks meet at barriers of the grid, on the GPU: full devices, many launches, streams, graphs, refusals."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import prism
from prism.launcher import device_entry, instance
from prism.runtime.device import device
from prism.runtime.launch import LaunchError, prepare
from prism.runtime.scratch import SCRATCH
from tests.examples import cooperative as c
from tests.examples import trips
from tests.examples.programs import Launch

try:
    import cupy
except ImportError:  # without a GPU these tests are skipped; with one they need it, and fail
    cupy = None


def most(kernel: Any, threads: int, **template: Any) -> int:
    """Return how many blocks the device holds at once."""
    program = instance(kernel, tuple(sorted(template.items())))
    gpu = device()
    return prepare(device_entry(program, gpu.arch, gpu.shared_limit), gpu.ordinal).resident_blocks(threads)


@pytest.mark.parametrize("blocks", [1, 2, 3, 17, 132, 500])
@pytest.mark.parametrize("threads", [32, 256])
@pytest.mark.parametrize("kernel", [c.smooth, c.swapped])
def test_neighbours(kernel: Any, blocks: int, threads: int) -> None:
    c.ring_sums(kernel, blocks, threads, 10).compare(cupy.asarray)


@pytest.mark.parametrize("threads", [32, 96, 512, 1024])
def test_a_full_device(threads: int) -> None:
    blocks = most(c.smooth, threads)
    assert blocks >= device().sm_count
    c.ring_sums(c.smooth, blocks, threads, 6).compare(cupy.asarray)
    with pytest.raises(LaunchError, match=f"holds {blocks} of {threads} threads each, not {blocks + 1}"):
        c.ring_sums(c.smooth, blocks + 1, threads, 6).compare(cupy.asarray)
    c.ring_sums(c.smooth, blocks, threads, 2).compare(cupy.asarray)  # nothing was launched, nothing is broken


OTHERS = {
    **{f"total-{b}-{t}": lambda b=b, t=t: c.less_total(b, t) for b, t in ((1, 64), (7, 64), (132, 128), (264, 256))},
    **{f"function-{b}-{n}": lambda b=b, n=n: c.in_a_function(b, 32, n) for b, n in ((1, 1), (5, 7), (132, 12))},
    **{f"settled-{b}-{t}": lambda b=b, t=t: c.until_settled(b, t) for b, t in ((1, 32), (17, 64), (132, 256))},
    **{f"clusters-{n}": lambda n=n: c.clustered(n) for n in (1, 3, 33)},
    **{f"ring-{b}-{k}": lambda b=b, k=k: c.through_a_ring(b, k) for b, k in ((1, 1), (2, 3), (40, 2), (132, 4))},
}


@pytest.mark.parametrize("name", OTHERS)
def test_against_numpy(name: str) -> None:
    OTHERS[name]().compare(cupy.asarray)


@pytest.mark.parametrize("blocks", [1, 3, 33, 132])
def test_odd_even_transposition_sort(blocks: int) -> None:
    """In each step a thread has another pair: a barrier of the grid between the steps, round the loop."""
    trips.sorted_pairs(blocks, rest=3).compare(cupy.asarray)


@pytest.mark.parametrize("blocks", [1, 2, 40, 132])
@pytest.mark.parametrize("kernel", trips.KERNELS, ids=lambda kernel: kernel.__name__)
def test_parts_that_move_from_trip_to_trip(kernel: Any, blocks: int) -> None:
    for _ in range(20):
        trips.moved(kernel, blocks, 25).compare(cupy.asarray)


def test_10000_launches_of_changing_size() -> None:
    """Each leaves the word at which blocks meet as it is: with either value of its top bit, for any number of blocks."""
    start, n = time.monotonic(), 4096
    x, y = cupy.zeros(n, dtype="i4"), cupy.zeros(n, dtype="i4")
    x[5] = 1
    expected = np.zeros(n, np.int32)
    expected[5] = 1
    random = np.random.default_rng(0)
    for k in range(10_000):
        blocks, steps = int(random.integers(1, 129)), int(random.integers(1, 4))
        size = 32 * blocks
        c.smooth[blocks, 32](x, y, np.int32(size), np.int32(steps))
        for _ in range(steps):
            expected[:size] = expected[:size] + np.roll(expected[:size], -1)
        if k % 1000 == 999:
            np.testing.assert_array_equal(x.get(), expected)
    assert time.monotonic() - start < 120


def test_two_streams_at_once() -> None:
    blocks = most(c.smooth, 128) // 2
    launches: list[tuple[Any, Any, Any, Launch]] = []
    for _ in range(2):
        launch = c.ring_sums(c.smooth, blocks, 128, 20)
        stream = cupy.cuda.Stream(non_blocking=True)
        launches.append((stream, cupy.asarray(launch.arguments[0]), cupy.asarray(launch.arguments[1]), launch))
    cupy.cuda.Device().synchronize()
    for stream, x, y, launch in launches:
        c.smooth[launch.shape](x, y, *launch.arguments[2:], stream=stream)
    for stream, x, _, launch in launches:
        stream.synchronize()
        np.testing.assert_array_equal(x.get(), launch.results[0])


def test_a_graph_is_captured_and_replayed() -> None:
    launch = c.ring_sums(c.smooth, 64, 64, 3)
    x, y = (cupy.asarray(a) for a in launch.arguments[:2])
    rest, first = launch.arguments[2:], x.copy()
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()
    with stream:
        c.smooth[launch.shape](x, y, *rest)  # allocates the word of this stream
        stream.synchronize()
        x[:] = first
        stream.begin_capture()
        c.smooth[launch.shape](x, y, *rest)
        graph = stream.end_capture()
        for _ in range(5):
            x[:] = first
            graph.launch(stream)
            stream.synchronize()
            np.testing.assert_array_equal(x.get(), launch.results[0])
        x[:] = first
        c.smooth[launch.shape](x, y, *rest)  # outside the graph again, on the same word
        np.testing.assert_array_equal(x.get(), launch.results[0])


def test_a_capture_on_a_stream_without_a_launch_before() -> None:
    launch = c.ring_sums(c.swapped, 2, 32, 2)
    x, y = (cupy.asarray(a) for a in launch.arguments[:2])
    launch.compare(cupy.asarray)  # compiled and loaded
    first = x.copy()
    known = {key[1] for key in SCRATCH._blocks}  # of streams, by handles that the driver may give again to new ones
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(len(known) + 1)]
    stream = next(s for s in streams if s.ptr not in known)
    cupy.cuda.Device().synchronize()
    with stream:
        stream.begin_capture()
        c.swapped[launch.shape](x, y, *launch.arguments[2:])
        graph = stream.end_capture()
        for _ in range(3):
            x[:] = first
            graph.launch(stream)
            stream.synchronize()
            np.testing.assert_array_equal(x.get(), launch.results[0])


def test_the_cost_of_a_barrier(capsys: pytest.CaptureFixture[str]) -> None:
    """Two barriers a step, and hardly anything else: a few microseconds on any device that this is meant for."""
    blocks = device().sm_count
    x, y = cupy.zeros(32 * blocks, dtype="i4"), cupy.zeros(32 * blocks, dtype="i4")

    def run(steps: int) -> float:
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        c.smooth[blocks, 32](x, y, np.int32(32 * blocks), np.int32(steps))
        end.record()
        end.synchronize()
        return float(cupy.cuda.get_elapsed_time(begin, end)) * 1e3

    run(10)
    each = (min(run(2100) for _ in range(5)) - min(run(100) for _ in range(5))) / 4000
    with capsys.disabled():
        print(f" {each:.2f} us a barrier of {blocks} blocks", end="")
    assert 0 < each < 20


def test_what_ships_says_that_it_is_cooperative() -> None:
    compiled = prism.compile(c.smooth)
    assert compiled.entry.cooperative and compiled.spills == 0
