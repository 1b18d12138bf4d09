"""`a, b = b, a`: values first, then assignments, as in Python."""

# ruff: noqa: B007, F821 - loops that only count, locals that kernels declare

from __future__ import annotations

import numpy as np
import pytest

import prism as package
from prism.lang import (
    CompileError,
    block,
    const,
    constexpr,
    float4,
    float32,
    grid,
    group,
    id,
    int32,
    partition,
    prism,
    ptr,
    requires,
    shared,
    struct,
    template,
    thread,
)  # fmt: skip
from prism.lang.tree.plan import Barrier


@struct
class Pair:
    first: int32
    second: float32


@prism("global")
@requires(grid[1], thread[1])
def turned(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    with partition(y, thread[1], 12 * id()) as mine, group(thread[1]):
        a: int32 = 1
        b: int32 = 2
        a, b = b, a + b
        mine[0], mine[1] = a, b
        mine[0], mine[1] = mine[1], mine[0]
        v: int32[4] = {0}
        v[n], v[n + 1], v[3] = 7, v[n] + 8, n
        mine[2], mine[3], mine[4], mine[5] = v[0], v[1], v[2], v[3]
        p: Pair = Pair(1, 2.5)
        p.first, p.second = 5, 2 * p.second
        q: Pair = Pair()
        p, q = q, p
        mine[6], mine[7] = q.first, int32(p.first)
        w: float4 = float4(1, 2, 3, 4)
        w.x, w.y, w[3] = w.y, w.x, 9
        mine[8], mine[9], mine[10], mine[11] = int32(w.x), int32(w.y), int32(w.z), int32(w.w)


def test_values_come_before_assignments() -> None:
    y = np.zeros(24, np.int32)
    turned[1, 2](y, 1, check=True)
    assert y.reshape(2, 12).tolist() == 2 * [[3, 2, 0, 7, 8, 1, 5, 0, 2, 1, 3, 9]]
    assert package.compile(turned).cubin


@prism("global")
@template(STEPS=constexpr(int), AT_ONCE=constexpr(bool))
@requires(grid[1], block[1], thread[64])
def smoothed(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1]):
    with partition(y, block[1], 64 * id()) as out, group(block[1]):
        t: int32 @ thread[1] = id()
        one_: shared(int32[64])
        two: shared(int32[64])
        old: ptr(int32) @ block[1] = one_
        new: ptr(int32) @ block[1] = two
        with partition(old, thread[1], t) as mine, group(thread[1]):
            mine[0] = x[t]
        for k in range(STEPS):
            with partition(new, thread[1], t) as mine, group(thread[1]):
                mine[0] = old[t] + old[(t + 1) % 64]
            if AT_ONCE:
                old, new = new, old
            else:
                spare: ptr(int32) @ block[1] = old
                old = new
                new = spare
        with partition(out, thread[1], t) as mine, group(thread[1]):
            mine[0] = old[t]


def test_pointers_are_swapped() -> None:
    """The barriers are those of a swap by hand."""
    x, y = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    expected = x
    for _ in range(5):
        expected = expected + np.roll(expected, -1)
    barriers = []
    for at_once in (True, False):
        given = {"STEPS": 5, "AT_ONCE": at_once}
        smoothed[1, 64](x, y, template=given, check=True)
        assert np.array_equal(y, expected)
        program = package.check(smoothed, given)
        barriers.append(
            [(b.kind, b.unit, b.loop) for b in program.plans[program.entry].barriers if isinstance(b, Barrier)]
        )
        assert package.compile(smoothed, given).cubin
    assert barriers[0] == barriers[1] and barriers[0]


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("a, nothing = 1, 2", "`nothing` is assigned, but not declared"),
        ("a, b = 1", "unpacks int32"),
        ("a, b = 1, 2, 3", "has not a value for each variable"),
        ("a, v = 1, 2", "`v` is int32.2.: it cannot be assigned as a whole"),
        ("a, b = 1, 2.5", "expected int32, found float32"),
        ("(a, b), c = 1, 2", "has not a value for each variable"),
        ("a, c = 1, 2", "`c` is"),
    ],
)
def test_what_is_refused(line: str, fault: str, tmp_path) -> None:
    path = tmp_path / "refused.py"
    text = '@prism("global")\n@requires(grid[1], thread[1])\ndef f(c: const(int32) @ grid[1]):\n'
    text += "    with group(thread[1]):\n        a: int32 = 0\n        b: int32 = 0\n        v: int32[2]\n"
    path.write_text(
        f"from prism.lang import const, grid, group, int32, prism, requires, thread\n{text}        {line}\n"
    )
    scope: dict[str, object] = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    with pytest.raises(CompileError, match=fault):
        package.check(scope["f"])
