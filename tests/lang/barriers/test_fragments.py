"""Fragments that wgmmas have under way: all that touches their registers waits, wherever it stands and whoever does it."""

from __future__ import annotations

import textwrap
from pathlib import Path

import numpy as np
import pytest

from prism.interpret import SCHEDULES, MachineError, run
from prism.lang.diagnostics import CompileError
from prism.lang.tree.plan import WaitGroup
from tests.lang.from_text import kernel_of
from tests.lang.plans import entry_plan
from tests.mutation import mutants

TEXT = """from __future__ import annotations
from prism.lang import attr, bf16, block, const, count, device, extern, fragment, grid, group, id, partition, prism, ptr
from prism.lang import requires, shared, thread, unsafe, warpgroup, wgmma


@prism("device")
@requires(warpgroup[1])
def add_first(sums: fragment(float, 64, 64) @ warpgroup[1], found: float[1] @ thread[1]):
    with group(thread[1]):
        found[0] += sums[0]


@prism("device")
@requires(warpgroup[1])
def add_some(sums: fragment(float, 64, 64) @ warpgroup[1], found: float[1] @ thread[1], n: int @ grid[1]):
    if n > 1:
        add_first(sums, found)


@prism("device")
@requires(warpgroup[1])
def clear(sums: fragment(float, 64, 64) @ warpgroup[1]):
    with group(thread[1]):
        for i in range(count(sums)):
            sums[i] = 0.0


@prism("device")
@requires(warpgroup[1])
def fill(sums: fragment(float, 64, 64) @ warpgroup[1]):
    sums = 0


@prism("device")
@requires(warpgroup[1])
def take(factor: fragment(bf16, 64, 64) @ warpgroup[1], sums: fragment(float, 64, 64) @ warpgroup[1]):
    with group(thread[1]):
        for i in range(count(sums)):
            factor[i] = bf16(sums[i])


@extern("found[0] += sums[0];")
@device
@requires(thread[1])
def add_in_cuda(sums: fragment(float, 64, 64) @ warpgroup[1], found: float[1] @ thread[1]):
    pass


@prism("device")
@requires(block[1], warpgroup[1])
def multiply(
    sums: fragment(float, 64, 64) @ warpgroup[1], others: fragment(float, 64, 64) @ warpgroup[1], found: float[1] @ thread[1]
):
    own: shared(bf16[64, 64], swizzle=128)
    with group(warpgroup[1]):
        wgmma(sums, own, own)
    with group(thread[1]):
        found[0] += others[0]


@prism("global")
@attr("__launch_bounds__(128)")
@requires(grid[1], block[1], warpgroup[1])
def k(x: ptr(const(bf16)) @ grid[1], y: ptr(float) @ grid[1], n: int @ grid[1]):
    t: int @ thread[1] = id()
    with partition(y, thread[1], offset=t) as out, group(block[1]):
        a: shared(bf16[64, 64], swizzle=128)
        sums: fragment(float, 64, 64) @ warpgroup[1] = 0
        factor: fragment(bf16, 64, 64) @ warpgroup[1] = 0
        found: float[1] @ thread[1] = {0}
        u: int @ thread[1] = id()
        with partition(a, thread[1], lambda r, c: (r + u // 2, c + u % 2 * 32), races="allow") as mine, group(thread[1]):
            for j in range(32):
                mine[0, j] = x[32 * u + j]
        with group(warpgroup[1]):
STEPS
        with group(thread[1]):
            out[0] = found[0]
"""

# What is done three times at most, and what it leaves in the first thread: each product adds 64 there.
STEPS = {
    "lent": ("wgmma(sums, a, a)\nclear(sums)\nwgmma(sums, a, a)\nadd_first(sums, found)", 64),
    "passed on": ("wgmma(sums, a, a)\nadd_some(sums, found, n)", 64),
    "under a condition": ("wgmma(sums, a, a)\nif n > 0:\n    add_first(sums, found)", 64),
    "in a loop": ("wgmma(sums, a, a)\nfor i in range(n):\n    add_first(sums, found)", 192),
    "at its end": ("for i in range(n):\n    add_first(sums, found)\n    wgmma(sums, a, a)", 64 + 128),
    "in some trips": (
        "for i in range(n):\n    if i > 1:\n        add_first(sums, found)\n    if i < 2:\n        wgmma(sums, a, a)", 128
    ),
    "filled": ("wgmma(sums, a, a)\nsums = 0\nwgmma(sums, a, a)\nadd_first(sums, found)", 64),
    "filled in trips": ("for i in range(n):\n    sums = 0\n    wgmma(sums, a, a)\nadd_first(sums, found)", 64),
    "filled in some": ("for i in range(n):\n    if i > 0:\n        sums = 0\n    wgmma(sums, a, a)\nadd_first(sums, found)", 64),
    "lent and filled": ("wgmma(sums, a, a)\nif n > 2:\n    fill(sums)\nwgmma(sums, a, a)\nadd_first(sums, found)", 64),
    "an operand": (
        "for i in range(n):\n    wgmma(sums, a, a)\n    take(factor, sums)\n    wgmma(sums, factor, a)\nadd_first(sums, found)",
        896,
    ),
    "an operand is filled": ("for i in range(n):\n    factor = 0\n    wgmma(sums, factor, a)\nadd_first(sums, found)", 0),
}  # fmt: skip


@pytest.mark.parametrize("name", STEPS)
def test_registers_are_waited_for(name: str, tmp_path: Path) -> None:
    """The result is right on every schedule; and without any of the waits for wgmmas the machine finds a fault."""
    steps, wanted = STEPS[name]
    program, plan = entry_plan(kernel_of(tmp_path, TEXT.replace("STEPS", textwrap.indent(steps, " " * 12))))
    x = np.zeros(4096, np.uint16)
    x[:64] = 0x3F80  # ones in the first row

    def first(program: object, schedule: str, seed: int) -> float:
        y = np.zeros(128, np.float32)
        run(program, 1, 128, [x, y, np.int32(3)], check=True, schedule=schedule, seed=seed)
        return float(y[0])

    assert {first(program, schedule, seed) for seed, schedule in enumerate(SCHEDULES)} == {wanted}
    without = [m.plan for m in mutants(plan) if isinstance(m.step, WaitGroup) and not m.harmless]
    assert without
    for mutant in without:
        with pytest.raises(MachineError):
            first(program.with_plan(mutant), "round-robin", 0)


@pytest.mark.parametrize("use", ['unsafe("found[0] = sums[0];")', "add_in_cuda(sums, found)"])
def test_texts_are_taken_to_touch_what_they_name(use: str, tmp_path: Path) -> None:
    """A text of CUDA that names a fragment, or is lent one, is waited for: nobody knows what it does."""
    steps = f"wgmma(sums, a, a)\nwith group(thread[1]):\n    {use}"
    _, plan = entry_plan(kernel_of(tmp_path, TEXT.replace("STEPS", textwrap.indent(steps, " " * 12))))
    (wait,) = (op for op in plan.operations if isinstance(op, WaitGroup))
    assert (wait.kind, wait.side) == ("wgmma", "before")


def test_one_fragment_is_not_lent_twice_to_wgmmas(tmp_path: Path) -> None:
    """What a function does to the one does not wait for its wgmmas on the other, so they must not be the same."""
    text = TEXT.replace("        with group(warpgroup[1]):\nSTEPS", "        multiply(sums, sums, found)")
    with pytest.raises(CompileError, match="both as `sums` and as `others`, and wgmmas there use it"):
        entry_plan(kernel_of(tmp_path, text))
