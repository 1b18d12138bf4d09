"""Barriers of the whole grid, in cooperative launches: placed where blocks conflict, needed, enough, and refused elsewhere.

Tests of prism/lang/emit/restrict.py.
"""

# ruff: noqa: F821 -- kernels: names that they declare
from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import prism
from prism.interpret import DeadlockError, run, schedules
from prism.lang import (
    CompileError,
    atomic_add,
    block,
    bulk_load,
    claim,
    const,
    grid,
    group,
    id,
    int32,
    one,
    partition,
    ptr,
    requires,
    roles,
    shared,
    thread,
    warp,
)  # fmt: skip
from prism.lang.emit import emit
from prism.lang.emit.restrict import kinds
from prism.lang.pipeline import lower
from prism.lang.tree.plan import Program
from tests.examples import cooperative as c
from tests.examples.programs import Launch
from tests.mutation import TRIED, caught, score, without_barriers

LAUNCHES: dict[str, Callable[[], Launch]] = {
    "smooth": lambda: c.ring_sums(c.smooth, 3, 32, 3),
    "swapped": lambda: c.ring_sums(c.swapped, 3, 64, 4),
    "no step": lambda: c.ring_sums(c.smooth, 3, 32, 0),
    "one block": lambda: c.ring_sums(c.smooth, 1, 64, 2),
    "total": lambda: c.less_total(3, 64),
    "in a function": lambda: c.in_a_function(3, 32, 3),
    "settled": lambda: c.until_settled(3, 32),
    "clusters": lambda: c.clustered(2),
    "ring": lambda: c.through_a_ring(3, 2),
}


def program_of(launch: Launch) -> Program:
    return prism.check(launch.kernel, launch.template)


def barriers(program: Program) -> list[str]:
    """The kinds of all barriers, and for the grid's whether a loop's back-edge forces it."""
    return [f"{b.kind}{' round the loop' * b.loop}" for p in program.plans.values() for b in p.barriers]


def right(launch: Launch) -> Callable[..., bool]:
    """Return what runs a program on the launch's arguments, and compares."""

    def go(program: Program, **options: Any) -> bool:
        given = [a.copy() if isinstance(a, np.ndarray) else a for a in launch.arguments]
        run(program, *launch.shape, given, **options)
        return all(np.array_equal(given[place], expected) for place, expected in launch.results.items())

    return go


# -- where they stand ---------------------------------------------------------------------------------------------------


def test_the_least_number_of_them() -> None:
    assert barriers(program_of(LAUNCHES["smooth"]())) == ["grid round the loop", "grid"]
    assert barriers(program_of(LAUNCHES["swapped"]())) == ["grid round the loop"]
    assert barriers(program_of(LAUNCHES["total"]())) == ["block", "grid"]
    assert sorted(barriers(program_of(LAUNCHES["settled"]()))) == ["grid", "grid", "grid"]
    assert barriers(program_of(LAUNCHES["clusters"]())) == ["cluster", "grid"]
    assert barriers(program_of(LAUNCHES["ring"]())) == ["grid", "grid"]


def test_a_callees_barriers_count_for_its_caller() -> None:
    program = program_of(LAUNCHES["in a function"]())
    (inner,) = program.plans[program.functions[0]].barriers
    (outer,) = program.plans[program.entry].barriers
    assert (inner.kind, outer.kind, outer.loop) == ("grid", "grid", True)


@prism("global")
@requires(grid[1], block[1], thread[32], cooperative=True)
def nothing_between_blocks(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], z: ptr(int32) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i) as mine, group(thread[1]):
        mine[0] = x[i]
    with partition(y, thread[1], i) as mine, group(thread[1]):
        mine[0] += x[i + 1]
    with partition(y, thread[1], i) as mine, partition(z, thread[1], races="allow") as there, group(thread[1]):
        there[i // 2] = 1
        mine[0] += there[i + 96]


@prism("global")
@requires(grid[1], block[1], thread[32], cooperative=True)
def allowed_to_overlap(z: ptr(int32) @ grid[1], y: ptr(int32) @ grid[1]):
    i: int32 @ thread[1] = id()
    for k in range(3):
        with partition(z, thread[1], (i + k) // 2, races="allow") as mine, group(thread[1]):
            mine[0] = k
    with partition(y, thread[1], i) as mine, group(thread[1]):
        mine[0] += z[i]


def test_an_overlap_is_allowed_while_the_partition_is_open() -> None:
    """Not from trip to trip, nor for who reads by another name: there is the barrier that there is for others."""
    assert barriers(prism.check(allowed_to_overlap)) == ["grid round the loop", "grid"]
    z, y = np.zeros(97, np.int32), np.zeros(96, np.int32)
    allowed_to_overlap[3, 32](z, y, check=True)
    assert y[:49].tolist() == [1, *[2] * 48] and not y[49:].any()


def test_none_where_none_is_needed() -> None:
    assert barriers(prism.check(nothing_between_blocks)) == []


@prism("global")
@requires(grid[1], block[1], thread[32], cooperative=True)
def counted(n: ptr(int32) @ grid[1], y: ptr(int32) @ grid[1]):
    i: int32 @ thread[1] = id()
    with group(thread[1]):
        atomic_add(n[0], 1)
    with partition(y, thread[1], i) as mine, group(thread[1]):
        mine[0] = n[0] + i


def test_atomics_and_then_a_plain_read() -> None:
    assert barriers(prism.check(counted)) == ["grid"]
    n, y = np.zeros(1, np.int32), np.zeros(96, np.int32)
    counted[3, 32](n, y, check=True)
    assert np.array_equal(y, 96 + np.arange(96))


# -- refused ------------------------------------------------------------------------------------------------------------


@prism("global")
@requires(grid[1], block[1], thread[32])
def not_asked_for(x: ptr(int32) @ grid[1], y: ptr(int32) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(x, thread[1], i) as mine, group(thread[1]):
        mine[0] = i
    with partition(y, thread[1], i) as mine, group(thread[1]):
        mine[0] = x[i + 1]


@prism("global")
@requires(grid[1], block[1], thread[32], cooperative=True)
def by_each_block(x: ptr(int32) @ grid[1], y: ptr(int32) @ grid[1]):
    with partition(x, block[1], 32 * id()) as part, partition(y, block[1], 32 * id()) as out, group(block[1]):
        t: int32 @ thread[1] = id()
        with partition(part, thread[1], t) as mine, group(thread[1]):
            mine[0] = t
        with partition(out, thread[1], t) as mine, group(thread[1]):
            mine[0] = x[t]


def test_refused_where_it_is_not_asked_for() -> None:
    with pytest.raises(CompileError) as caught:
        prism.check(not_asked_for)
    assert caught.value.code == "grid-sync" and "`cooperative=True`" in str(caught.value)


def test_refused_in_code_of_one_block() -> None:
    with pytest.raises(CompileError) as caught:
        prism.check(by_each_block)
    assert caught.value.code in ("race", "hide")


def test_the_option_is_a_bool() -> None:
    with pytest.raises(TypeError, match="`cooperative` is True or False"):
        requires(grid[1], thread[32], cooperative=1)  # type: ignore[arg-type]


# -- beside asynchronous copies -------------------------------------------------------------------------------------------


@prism("global")
@requires(grid[1], block[1], thread[160])
def written_by_its_loader(x: ptr(int32) @ grid[1], y: ptr(int32) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(x, thread[1], 4 * i) as own, partition(y, block[1], 128 * id()) as out, group(block[1]):
        ring: shared(int32[4], ring=1) @ block[1]
        readers, loader = roles(warp, 4, 1)
        with claim(ring, loader) as tile, one(thread):
            bulk_load(tile, own[0], n=4)
        with claim(ring, readers) as tile, claim(out, readers) as part:
            t: int32 @ thread[1] = id()
            with partition(part, thread[1], t) as mine, group(thread[1]):
                mine[0] = tile[t % 4]
        with loader, one(thread):
            own[0] = 7


def test_who_loads_does_not_know_that_it_has_ended() -> None:
    """Those who wait for the copy do: the loading thread writes its source again after it has met them."""
    program = prism.check(written_by_its_loader)
    assert barriers(program) == ["block"]
    x, y = np.arange(640, dtype=np.int32), np.zeros(128, np.int32)
    launch = Launch(written_by_its_loader, (1, 160), (x, y), {1: np.tile(x[512:516], 32)})
    for schedule, seed in schedules(12):
        assert right(launch)(program, check=True, schedule=schedule, seed=seed)
    (without,) = (mutant for _, mutant in without_barriers(program))
    assert caught(without, right(launch)) == "machine-race"


# -- on the reference machine ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LAUNCHES)
@pytest.mark.parametrize("schedule", schedules(8), ids=str)
def test_on_the_reference_machine(name: str, schedule: tuple[str, int]) -> None:
    LAUNCHES[name]().compare(np.copy, check=True, schedule=schedule[0], seed=schedule[1])


@pytest.mark.parametrize("name", LAUNCHES)
def test_unchecked(name: str) -> None:
    LAUNCHES[name]().compare(np.copy)


@pytest.mark.parametrize("name", ["smooth", "swapped", "total", "settled", "in a function", "clusters", "ring"])
def test_every_mutant_is_caught(name: str) -> None:
    launch = LAUNCHES[name]()
    found = score(program_of(launch), right(launch), launch.shape[1], TRIED)
    assert found.wrong > 0 and found.survivors == [], found.survivors


@pytest.mark.parametrize("resident", [1, 2])
@pytest.mark.parametrize("schedule", ["round-robin", "reversed", "random"])
def test_fewer_blocks_at_once_than_the_grid_has(resident: int, schedule: str) -> None:
    launch = LAUNCHES["smooth"]()
    with pytest.raises(DeadlockError) as caught:
        right(launch)(program_of(launch), schedule=schedule, resident=resident)
    assert "not begun yet: fewer blocks run at once than the grid has" in str(caught.value)
    assert right(launch)(program_of(launch), schedule=schedule, resident=3)


# -- in C++ and in words --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["smooth", "swapped", "total", "settled", "in a function", "clusters", "ring"])
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_machine_code(name: str, arch: str, nvrtc: Any) -> None:
    launch = LAUNCHES[name]()
    text = emit(lower(program_of(launch))).source
    if arch == "sm_90a" or name not in ("clusters", "ring"):
        ptx = nvrtc(text, arch).ptx
        assert "atom.add.release.gpu.u32" in ptx and "ld.acquire.gpu.u32" in ptx


def test_the_word_is_the_last_parameter() -> None:
    emitted = emit(lower(program_of(LAUNCHES["in a function"]())), comments=False)
    assert [name for name, _ in emitted.parameters] == ["x", "n", "steps"]
    assert "prism_shifted(int* x_, int n_, int steps_, unsigned int* px_grid) {" in emitted.source
    assert re.search(r"doubled_and_shifted\(x_, n_, [^;]*, px_grid\);", emitted.source)
    assert emitted.source.count("px_grid_barrier(px_grid);") == 2


def test_explained() -> None:
    text = prism.explain(c.smooth)
    assert text.count("grid barrier  joins the whole grid") == 2
    assert "2 grid barriers" in text or "2 barriers" in text


# -- what C++ is told of pointers -------------------------------------------------------------------------------------------


def test_a_pointer_that_is_read_and_written_is_not_restricted() -> None:
    assert "prism_smooth(int* x_, int* y_," in emit(lower(prism.check(c.smooth))).source
    assert "(const int* __restrict__ x_, int* sums_, int* __restrict__ y_," in emit(
        lower(prism.check(c.total, {"THREADS": 64}))
    ).source  # fmt: skip
    program = program_of(LAUNCHES["in a function"]())
    assert {symbol.name: found for symbol, found in kinds(program.entry).items() if found} == {"x": {"read", "write"}}


def test_loads_are_not_merged_across_a_barrier(nvrtc: Any) -> None:
    """NVRTC does so where a pointer is `__restrict__`, although other threads write: then it does not know of them."""
    kernel = """extern "C" __global__ void k(int* %s x, int* %s y) {
        int s = x[5];
        __syncthreads();
        s += x[5];
        if (threadIdx.x == 7u) x[threadIdx.x] = s;
        y[threadIdx.x] = s;
    }"""
    loads = [nvrtc(kernel % (word, word)).ptx.count("ld.global") for word in ("", "__restrict__")]
    assert loads == [2, 1]
