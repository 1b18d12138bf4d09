"""Plans on both machines: arguments by their names, memory beside the call's arrays, and what keeps it.

Tests of prism/host: machine, plan.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from prism.host import machine, memory
from prism.host.machine import Ready, machine_of, run_on_host
from prism.host.plan import OUT, SCRATCH, WORDS, Buffer, Clear, Plan, Scratch, Step, X, Y, instance_of, nothing
from prism.lang import const, float32, grid, group, id, int32, int64, partition, prism, ptr, requires, thread, uint32
from prism.runtime.arrays import describe
from tests.host.stand_ins import WORDS as KEPT
from tests.host.stand_ins import Gpu, array, stand_in


@prism("global")
@requires(grid[1], thread[32])
def add(x: ptr(const(float32)) @ grid[1], n: int64 @ grid[1], count: ptr(uint32) @ grid[1], y: ptr(float32) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i) as mine, group(thread[1]):
        if i < n:
            mine[0] = x[i] + float32(count[i])


def step(x: Buffer = X, y: Buffer = Y, count: Buffer | None = None) -> Step:
    counted = Buffer(SCRATCH, 256, "uint32", 64) if count is None else count
    return Step(instance_of(add, {}), 2, 32, {"y": y, "x": x, "count": counted, "n": 64})


PLAN = Plan((Clear(Buffer(SCRATCH, 256, "uint32", 64)), step()), scratch=512)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gpu]:
    with stand_in(monkeypatch) as found:
        yield found


def test_on_the_reference_machine() -> None:
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    run_on_host(PLAN, {"x": describe(x), OUT: describe(y)}, check=True)
    assert np.array_equal(x, y)
    later = step(Buffer("x", 4 * 3), count=Buffer(WORDS, 0, "uint32", 64))  # zeros, too
    run_on_host(
        Plan((replace(later, arguments={**later.arguments, "n": 61}),), words=256), {"x": describe(x), OUT: describe(y)}
    )
    assert np.array_equal(y[:61], x[3:])
    assert machine_of(describe(x)).host and machine_of(describe(x)).wave(step().instance, 32) == 1


def test_on_a_gpu(gpu: Gpu) -> None:
    x, y = array(64), array(64)
    ready = Ready(PLAN, ("x", OUT), describe(x))
    for stream in (0, 5, 0):
        ready((x.data.ptr, y.data.ptr), stream)
    assert gpu.cleared == [(KEPT + 256, 256, stream) for stream in (0, 5, 0)]
    assert [launch[1:] for launch in gpu.launched] == [
        (2, 32, stream, (x.data.ptr, 64, KEPT + 256, y.data.ptr)) for stream in (0, 5, 0)
    ]
    assert not machine_of(describe(x)).host and machine_of(describe(x)).wave(step().instance, 32) == 264
    alone = Ready(Plan((step(count=nothing("uint32")),)), ("x", OUT), describe(x))
    alone.launch()((x.data.ptr, y.data.ptr), 1)
    assert gpu.launched[-1][-1] == (x.data.ptr, 64, 0, y.data.ptr)


def test_streams_that_end_are_asked_for_their_memory_each_time(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    """The default streams' memory is kept: they live as long as the process. Another handle may be of a new stream."""
    asked: list[int] = []
    moved = {77: 0}  # a stream whose memory is another one from some launch on

    def get(ordinal: int, stream: int, nbytes: int, tag: str) -> int:
        asked.append(stream)
        return KEPT + 4096 * stream + moved.get(stream, 0)

    monkeypatch.setattr(machine.KEPT, "get", get)
    x = array(64)
    ready = Ready(replace(PLAN, steps=PLAN.steps[1:]), ("x", OUT), describe(x))
    for stream in (0, 0, 2, 77, 77, 0, 77):
        before = len(asked)
        ready((x.data.ptr, x.data.ptr), stream)
        assert stream == 0 or len(asked) > before
        moved[77] += 64 * (len(gpu.launched) == 5)
    assert [launch[4][2] - KEPT - 256 for launch in gpu.launched] == [4096 * k for k in (0, 0, 2, 77, 77, 0)] + [
        4096 * 77 + 64
    ]


def test_steps_take_the_same_memory_when_a_stream_has_more_of_it(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another call may outgrow a stream's scratch memory. The next call clears the new one, and its kernels read that.

    On a stream that lives as long as the process both go on with the old one, which is kept.
    """
    where = [KEPT]
    monkeypatch.setattr(machine.KEPT, "get", lambda *given: where[0])
    x = array(64)
    ready = Ready(PLAN, ("x", OUT), describe(x))
    for stream, lasting in ((7, False), (0, True)):
        for place in (KEPT, KEPT, 2 * KEPT, 2 * KEPT):
            where[0] = place
            ready((x.data.ptr, x.data.ptr), stream)
            assert gpu.cleared[-1][0] == gpu.launched[-1][4][2] == (KEPT if lasting else place) + 256


def test_threads_do_not_share_what_one_step_leaves_for_the_next(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    """They may launch on the same stream, one between the two steps of the other. A kernel by itself has it to itself."""
    tags: list[str] = []
    monkeypatch.setattr(machine.KEPT, "get", lambda ordinal, stream, nbytes, tag: tags.append(tag) or KEPT)
    x, one = array(64), replace(PLAN, steps=PLAN.steps[1:])
    for plan in (PLAN, one):
        ready = Ready(plan, ("x", OUT), describe(x))
        for _ in range(2):
            thread = threading.Thread(target=ready, args=((x.data.ptr, x.data.ptr), 7))
            thread.start()
            ready((x.data.ptr, x.data.ptr), 7)
            thread.join()
    assert "scratch" in tags and len(set(tags)) >= 3  # a thread's number may be given again


def test_large_scratch_memory_is_the_librarys_for_one_call(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    rooms: list[int] = []
    monkeypatch.setattr(memory, "scratch", lambda info, nbytes, stream: rooms.append(nbytes) or (object(), 1 << 30))
    x = array(64)
    ready = Ready(replace(PLAN, scratch=2 << 20), ("x", OUT), describe(x))
    for _ in range(2):
        ready((x.data.ptr, x.data.ptr), 0)
    assert rooms == [2 << 20] * 2 and gpu.launched[-1][4][2] == (1 << 30) + 256


def test_few_bytes_are_lent_to_graphs_alone(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    """Maps are of the stream's memory, which stays where it is; each captured graph has its own."""
    rooms: list[int] = []
    monkeypatch.setattr(memory, "scratch", lambda info, nbytes, stream: rooms.append(stream) or (object(), 1 << 30))
    monkeypatch.setattr(machine, "capture_of", lambda stream: 3 if gpu.capturing else None)
    x = array(64)
    ready = Ready(replace(PLAN, lent=True), ("x", OUT), describe(x))
    for stream, capturing in ((0, False), (7, False), (7, True), (0, True), (7, False)):
        gpu.capturing = capturing
        ready((x.data.ptr, x.data.ptr), stream)
        assert gpu.launched[-1][4][2] == (1 << 30 if (stream, capturing) == (7, True) else KEPT) + 256
    assert rooms == [7]


@pytest.mark.parametrize("change", [{"count": None}, {"m": 3}])
def test_arguments_are_the_kernels(gpu: Gpu, change: dict[str, Any]) -> None:
    arguments = {name: value for name, value in {**step().arguments, **change}.items() if value is not None}
    wrong, x = Plan((replace(step(), arguments=arguments),), scratch=512), np.zeros(64, np.float32)
    with pytest.raises(TypeError, match="`add` takes x, n, count, y, and is given"):
        run_on_host(wrong, {"x": describe(x), OUT: describe(x)})
    with pytest.raises(TypeError, match="`add` takes x, n, count, y, and is given"):
        Ready(wrong, ("x", OUT), describe(array(64)))


def test_scratch_memory_is_dealt_out_aligned() -> None:
    scratch = Scratch()
    first, second, third = scratch.take("uint8", 3), scratch.take("float64", 40), scratch.take("int32", 1)
    assert (first.offset, second.offset, third.offset, scratch.used) == (0, 256, 768, 1024)
