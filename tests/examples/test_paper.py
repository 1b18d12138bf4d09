"""The paper's programs: the barriers that are inferred, NVRTC's opinion, and the reference machine's with all its checks."""

# ruff: noqa: F821 - kernels declare shared memory and registers without a value
from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import prism
from examples.paper import add, load_store, mma, scan, sgemm
from prism.interpret import RaceError, run
from prism.lang import (
    Kernel,
    block,
    claim,
    const,
    float32,
    grid,
    group,
    id,
    int32,
    kernel,
    partition,
    ptr,
    requires,
    shared,
    split,
    thread,
    warp,
)
from prism.lang.tree import For
from prism.lang.tree.plan import Barrier
from prism.lang.tree.walk import statements
from tests.examples import programs as p
from tests.examples import spelled
from tests.mutation import without_barriers

SCHEDULES = [("round-robin", 0), ("random", 1), ("reversed", 0)]
PROGRAMS: dict[str, tuple[Kernel, dict[str, Any], str]] = {
    "add_m": (add.add_m, {}, "sm_75"),
    "copy": (load_store.copy, load_store.EXAMPLES["copy"], "sm_75"),
    "reverse": (load_store.reverse, load_store.EXAMPLES["reverse"], "sm_75"),
    "sgemm-1": (sgemm.naive, {}, "sm_89"),
    "sgemm-2": (sgemm.coalesced, sgemm.EXAMPLES["coalesced"], "sm_89"),
    "sgemm-3": (sgemm.tiled, sgemm.EXAMPLES["tiled"], "sm_89"),
    "sgemm-4": (sgemm.vectorized, sgemm.EXAMPLES["vectorized"], "sm_89"),
    "sgemm-5": (sgemm.warps, sgemm.EXAMPLES["warps"], "sm_89"),
    "scan": (scan.scan, scan.EXAMPLES["scan"], "sm_90a"),
    "tf32": (mma.tf32, {}, "sm_80"),
}
LAUNCHES = {
    "add_m-0": lambda: p.add_m(0),
    "add_m-1": lambda: p.add_m(1),
    "add_m-1000": lambda: p.add_m(1000),
    "copy": lambda: p.copy(3, 96, 5, "int32"),
    "copy-bytes": lambda: p.copy(2, 32, 3, "uint8"),
    "reverse": lambda: p.reverse(3, 96, 5),
    "scan-1": lambda: p.scanned(1, 2),
    "scan-tile": lambda: p.scanned(2048, 2),
    "scan-part": lambda: p.scanned(3 * 2048 - 7, 2),
    "scan-a-warp": lambda: p.scanned(5 * 1024 + 1, 1),
    "scan-far": lambda: p.scanned(35 * 1024, 1),
    "tf32-tile": lambda: p.tf32(16, 8, 8),
    "tf32-part": lambda: p.tf32(17, 9, 13),
    "tf32-many": lambda: p.tf32(40, 24, 33, threads=96),
    **{
        f"sgemm-{number}-{m}x{n}x{k}": lambda make=make, sizes=(m, n, k): make(*sizes)
        for number, make, any_size in (
            (1, p.naive, True),
            (2, p.coalesced, True),
            (3, lambda *sizes: p.tiles(sgemm.tiled, *sizes, p.SMALL), True),
            (4, lambda *sizes: p.tiles(sgemm.vectorized, *sizes, p.SMALL), False),
            (5, lambda *sizes: p.tiles(sgemm.warps, *sizes, p.SMALL_WARPS), False),
        )
        for m, n, k in ((33, 20, 12), (64, 64, 32), (1, 4, 4), (33, 19, 13), (3, 5, 7))
        if any_size or n % 4 == k % 4 == 0
    },
}


def forced(barrier: Barrier) -> tuple[str, ...]:
    """Who joins, and the two accesses that force a barrier: `("block", "write a", "read a")`, and `loop` by a back-edge."""
    pair = [f"{access.kind} {access.root.name}" for access in (barrier.first, barrier.second)]
    return (barrier.kind, *pair, *(["loop"] if barrier.loop else []))


def all_forced(kernel: Kernel, template: dict[str, Any]) -> dict[str, list[tuple[str, ...]]]:
    """The barriers of each function that has some."""
    program = prism.check(kernel, template)
    found = {function.name: [forced(b) for b in plan.barriers] for function, plan in program.plans.items()}
    return {name: barriers for name, barriers in found.items() if barriers}


# -- barriers -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["add_m", "copy", "sgemm-1", "sgemm-2"])
def test_no_barrier(name: str) -> None:
    kernel, template, _ = PROGRAMS[name]
    assert all_forced(kernel, template) == {}


def test_a_load_needs_a_barrier_only_before_its_memory_is_written() -> None:
    kernel, template, _ = PROGRAMS["reverse"]
    assert all_forced(kernel, template) == {"reverse": [("block", "read x", "write x")]}


@pytest.mark.parametrize("name", ["sgemm-3", "sgemm-4", "sgemm-5"])
def test_tiled_products_have_two_barriers_a_step(name: str) -> None:
    """T7: as printed they have none between filling and reading; one before each is right, and enough."""
    kernel, template, _ = PROGRAMS[name]
    found = all_forced(kernel, template)
    assert found == {kernel.__name__: [("block", "read a", "write a", "loop"), ("block", "write a", "read a")]}
    program = prism.check(kernel, template)
    steps = [st for st in statements(program.entry.body) if isinstance(st, For) and st.symbol.name == "first"]
    assert len(steps) == 1
    inside = set(statements(steps[0].body))
    assert all(barrier.before in inside for barrier in program.plans[program.entry].barriers)


def test_tf32_has_the_barriers_of_the_figure() -> None:
    """T6: the mark before `B`'s tile coincides with the one before `A`'s; the last is after the loop, not inside."""
    kernel, template, _ = PROGRAMS["tf32"]
    assert all_forced(kernel, template) == {
        "tf32": [
            ("block", "read a", "write a", "loop"),
            ("block", "write a", "read a"),
            ("block", "write c", "read c"),
        ]
    }
    assert prism.compile(kernel, template).shared_bytes == 1280


def test_scan_has_one_barrier_a_step_of_the_ping_pong() -> None:
    """T10: found although the two buffers' names change places."""
    kernel, template, _ = PROGRAMS["scan"]
    found = all_forced(kernel, template)
    assert [b[0] for b in found["scan_warp_ends"]] == ["block"]
    assert found["scan_warp_ends"][0][3:] == ("loop",)
    assert set(found) == {"scan", "scan_warp_ends", "reduce"}


@kernel
@requires(grid[1], block[1], warp[1])
def after_mma(y: ptr(float32) @ grid[1]):
    with partition(y, block[1]) as out:
        with group(block[1]):
            a: shared(float32[128]) @ block[1]
            b: shared(float32[64]) @ block[1]
            c: shared(float32[128]) @ block[1]
            t: int32 @ thread[1] = id()
            with partition(a, thread[1], offset=t) as mine:
                with group(thread[1]):
                    for i in range(0, 128, 32):
                        mine[i] = 1.0
            with partition(b, thread[1], offset=t) as mine:
                with group(thread[1]):
                    for i in range(0, 64, 32):
                        mine[i] = 2.0
            with partition(c, thread[1], offset=t) as mine:
                with group(thread[1]):
                    for i in range(0, 128, 32):
                        mine[i] = 0.5
            with claim(c, warp[1]) as own:
                match split(warp):
                    case 1:
                        mma.simple_mma(a, b, own)
                        lane: int32 @ thread[1] = id()
                        found: float32 @ thread[1] = own[127 - lane]
                        with partition(own, thread[1], offset=lane) as mine:
                            with group(thread[1]):
                                mine[0] = found
            with partition(out, thread[1], offset=t) as mine:
                with group(thread[1]):
                    mine[0] = c[t]


def test_simple_mma_is_followed_by_a_barrier_of_the_warp() -> None:
    found = all_forced(after_mma, {})["after_mma"]
    assert [b for b in found if b[0] == "warp"] == [("warp", "write c", "read c"), ("warp", "read c", "write c")]
    for schedule, seed in SCHEDULES:
        y = np.zeros(32, np.float32)
        after_mma[1, 32](y, check=True, schedule=schedule, seed=seed)
        assert np.array_equal(y, np.full(32, 16.5))


# -- NVRTC ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROGRAMS)
def test_nvrtc_compiles_it_without_spills(name: str) -> None:
    kernel, template, arch = PROGRAMS[name]
    compiled = prism.compile(kernel, template, arch=arch)
    assert compiled.spills == 0
    assert 0 < compiled.registers <= 255


# -- the reference machine ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("schedule", "seed"), SCHEDULES)
@pytest.mark.parametrize("name", LAUNCHES)
def test_reference_machine(name: str, schedule: str, seed: int) -> None:
    LAUNCHES[name]().compare(p.aligned, check=True, schedule=schedule, seed=seed)


def test_scan_again_on_the_same_words() -> None:
    launch = p.scanned(3000, 1)
    for epoch in (1, 2, 9):
        x = launch.arguments[1].copy()
        arguments = (*launch.arguments[:1], x, *launch.arguments[2:5], np.uint32(epoch))
        scan.scan[3, 32](*arguments, template={"WARPS": 1}, check=True)
        assert np.array_equal(x, launch.results[1])


@pytest.mark.parametrize(
    "name", ["reverse", "sgemm-3-64x64x32", "sgemm-4-64x64x32", "sgemm-5-64x64x32", "tf32-many", "scan-part"]
)
def test_every_barrier_is_needed(name: str) -> None:
    launch = LAUNCHES[name]()
    for _, mutant in without_barriers(prism.check(launch.kernel, launch.template)):
        with pytest.raises(RaceError):
            for schedule, seed in SCHEDULES:
                given = [p.aligned(a) if isinstance(a, np.ndarray) else a for a in launch.arguments]
                run(mutant, *launch.shape, given, check=True, schedule=schedule, seed=seed)


# -- as printed -----------------------------------------------------------------------------------------------------------


@kernel
@requires(grid[1], block[1], thread[64])
def load_as_printed(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1]):
    with partition(y, block[1]) as target:
        with group(block[1]):
            items: int32[4] @ thread[1]
            w: int32 @ warp[1] = id()
            with partition(x, warp[1], offset=w * 4) as run:
                with group(warp[1]):
                    load_store.warp_load(run, items)
            load_store.block_store(items, target)


@kernel
@requires(grid[1], block[1], thread[64])
def store_as_printed(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1]):
    with partition(y, block[1]) as target:
        with group(block[1]):
            items: int32[4] @ thread[1]
            load_store.block_load(x, items)
            w: int32 @ warp[1] = id()
            with partition(target, warp[1], offset=w * 4) as run:
                with group(warp[1]):
                    load_store.warp_store(items, run)


def test_the_overlapping_runs_of_warps_are_found() -> None:
    """T9: the load brings the wrong elements; the store is a race, which the reference machine reports."""
    x, y = np.arange(256, dtype=np.int32), np.zeros(256, np.int32)
    load_as_printed[1, 64](x, y, check=True)
    assert not np.array_equal(y, x)
    with pytest.raises(RaceError):
        store_as_printed[1, 64](x, y, check=True)


# -- in the paper's spelling ----------------------------------------------------------------------------------------------


def test_the_papers_spelling() -> None:
    """Its names of types, keywords and intrinsics; `match warp`, `out=`, and index functions with a name."""
    template = {"STEPS": 3, "N": 8}
    assert [b[:3] for b in all_forced(spelled.product, template)["product"]] == [
        ("block", "read A_smem", "write A_smem"),
        ("block", "write A_smem", "read A_smem"),
        ("block", "write C_smem", "read C_smem"),
    ]
    random = np.random.default_rng(0)
    a, b = (random.integers(-8, 8, shape).astype(np.float32) for shape in ((48, 24), (24, 8)))
    for schedule, seed in SCHEDULES:
        c = p.aligned(np.zeros(48 * 8, np.float32))
        spelled.product[3, 32](
            a.ravel(), b.ravel(), c, np.int32(24), template=template, check=True, schedule=schedule, seed=seed
        )
        assert np.array_equal(c.reshape(48, 8), a @ b * np.array([2, 1, 1, 1, 2, 1, 1, 1]))
    assert prism.compile(spelled.product, template, arch="sm_80").spills == 0


def test_the_readme_s_example_runs() -> None:
    text = (Path(scan.__file__).parent / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 1
    exec(blocks[0], {})
