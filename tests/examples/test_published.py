"""Faults that others have published: Prism orders what they forgot to, and without what it inferred the machine finds theirs.

The programs are in tests/examples/published.py, the table of them in docs/published.md.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from prism.interpret import MachineError, run, schedules
from prism.lang import CompileError
from prism.lang.emit import emit
from prism.lang.pipeline import build, lower
from tests.examples import published
from tests.lang.plans import words

PAGE = Path(__file__).parents[2] / "docs" / "published.md"
RANDOM = np.random.default_rng(0)


def some(*shape: int) -> Any:
    return RANDOM.integers(-3, 4, shape).astype(np.float32)


def bits(x: Any) -> Any:
    """Whole numbers as bfloat16's bits."""
    return (x.view(np.uint32) >> 16).astype(np.uint16)


def fragments(c: Any) -> Any:
    """A product as the threads of a warpgroup have it, each its own elements."""
    t, i = np.meshgrid(np.arange(128), np.arange(c.shape[1] // 2), indexing="ij")
    return c[t // 32 * 16 + t % 32 // 4 + i // 2 % 2 * 8, i // 4 * 8 + t % 4 * 2 + i % 2].reshape(-1)


@dataclass(frozen=True)
class Ordered:
    """A program, what it is launched with, of which `wanted` is the last array, and the steps of its plan that others lack."""

    kernel: str
    lacking: tuple[str, ...]
    given: tuple[Any, ...]
    wanted: Any
    threads: int
    blocks: int = 1


def of_products() -> Ordered:
    a, b = some(3 * 64, 16), some(3 * 16, 16)
    wanted = sum(a[64 * k : 64 * k + 64] @ b[16 * k : 16 * k + 16].T for k in range(3))
    lacking = ("pending wgmma 0", "wait a_b_read of the last lap")
    return Ordered("released", lacking, (bits(a), bits(b), np.zeros(1024, np.float32), 3), fragments(wanted), 256)


def of_weights() -> Ordered:
    p, v = some(64, 16), some(16, 16)
    given = bits(p).reshape(-1), bits(v).reshape(-1), np.zeros(1024, np.float32)
    return Ordered("weights_in_memory", ("fence", "block block[1]"), given, fragments(p @ v.T), 128)


X, TILES = some(128), some(3 * 128)
PARTS = TILES.reshape(3, 4, 32)
ORDERED = [
    Ordered("epilogue", ("block block[1]",), (X, np.zeros(128, np.float32)), 2 * X[::-1], 128),
    Ordered(
        "handed_over", ("wait weights_filled", "wait weights_read of the last lap"), (TILES, np.zeros(128, np.float32), 6),
        np.full(128, TILES.sum()), 160,
    ),
    Ordered(
        "staged", ("block block[1]", "fence", "pending bulk 0 read"), (TILES, np.zeros(64, np.float32), 6),
        TILES.reshape(6, 64).sum(0), 64,
    ),
    Ordered("halves", ("cluster block[2]",), (X[:64], np.zeros(64, np.float32)), np.tile(X[:32] + X[32:64], 2), 32, 2),
    of_products(),
    of_weights(),
    Ordered("state", ("fence", "block block[1]", "pending bulk 0 read"), (TILES, np.zeros(384, np.float32), 6), 3 * TILES, 64),
    Ordered(
        "quantized", ("block block[1]",), (np.arange(32, dtype=np.int32), np.zeros(32, np.int32)),
        np.array([*range(16), *[0] * 14, 101, 100]), 32,
    ),
    Ordered(
        "normalized", ("block block[1]",), (TILES, np.zeros(384, np.float32), 3),
        (PARTS * PARTS.sum((1, 2), keepdims=True)).reshape(-1), 128,
    ),
    Ordered(
        "cleared", ("block block[1]",), (X, np.zeros(128, np.float32)), np.tile([*X[:4], *[0] * 28], 4), 128,
    ),
    Ordered("left_behind", ("pending bulk 0 read",), (X[:64], np.zeros(64, np.float32)), X[:64], 64),
]  # fmt: skip


def launch(program: Any, one: Ordered, tries: int) -> None:
    """Run under several schedules, checked, and compare each time.

    Raises:
        MachineError: the machine reports a fault.
        AssertionError: a result is wrong.
    """
    for schedule, seed in schedules(tries):
        given = [x.copy() if isinstance(x, np.ndarray) else x for x in one.given]
        run(program, one.blocks, one.threads, given, check=True, schedule=schedule, seed=seed)
        made = next(x for x in given[::-1] if isinstance(x, np.ndarray))
        assert np.array_equal(made, one.wanted)


@pytest.mark.parametrize("one", ORDERED, ids=lambda one: one.kernel)
def test_what_others_lack_is_inferred_and_found_when_it_is_taken_out(one: Ordered) -> None:
    program = build(getattr(published, one.kernel))
    plan = program.plans[program.entry]
    launch(program, one, 6)
    for lacking in one.lacking:
        steps = [step for step in (*plan.barriers, *plan.operations) if words(step) == lacking]
        assert steps, (one.kernel, lacking)
        for step in steps:
            with pytest.raises((MachineError, AssertionError)):
                launch(program.with_plan(plan.drop_step(step)), one, 12)


def test_a_lane_that_arrives_for_all_comes_after_them() -> None:
    """Of cudnn-frontend #426: the warp meets before one of its lanes arrives, in what is emitted."""
    text = emit(lower(build(published.handed_over))).source
    arrival = text.partition("void px_arrive_warp(")[2].partition("\n}")[0]
    assert 0 <= arrival.index("__syncwarp()") < arrival.index("px_mbarrier_arrive(")
    stored, arrived = (
        text.index(what) for what in ("filled_[filled_offset_ + 32] =", "px_arrive_warp(px_bar_weights_filled")
    )
    assert stored < arrived


def test_a_kernel_waits_for_the_one_before_it_before_it_reads() -> None:
    """Where it was launched early, in what is emitted: flash-attention #2481, cutlass #2760."""
    text = emit(lower(build(published.follower))).source.partition("prism_follower(")[2]
    assert 0 <= text.index("px_follow()") < text.index("dout_[")


REFUSED = {"some_warps_meet": "cond", "padded": "race", "one_for_all": "ptr-write"}


@pytest.mark.parametrize("kernel", REFUSED)
def test_refused(kernel: str) -> None:
    with pytest.raises(CompileError) as refused:
        build(getattr(published, kernel))
    assert [error.code for error in refused.value.errors] == [REFUSED[kernel]]


def test_the_page_has_each_program() -> None:
    """And no other one."""
    table = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")][1:]
    told = {name for line in table for name in re.findall(r"`(\w+)`", line.split(" | ")[2])}
    assert told == {one.kernel for one in ORDERED} | {"follower"} | REFUSED.keys()
    assert all("](http" in line or "the same" in line for line in table)
