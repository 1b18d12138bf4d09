"""`keep_order`: the assembler keeps what stands before it before what stands after, and all but the first of them are gone."""

import re

import numpy as np

import prism
from prism.lang import (
    const,
    constexpr,
    float32,
    grid,
    group,
    id,
    int32,
    keep_order,
    partition,
    ptr,
    requires,
    template,
    thread,
)
from prism.lang import (
    prism as entry,
)
from prism.lang.intrinsics import TABLE, Binding


@entry("global")
@template(ORDERED=constexpr(bool))
@requires(grid[1], thread[32])
def powers(x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1], rounds: int32 @ grid[1]):
    """Eight chains of multiply-adds that do not depend on one another, four steps of one after four of another."""
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], 8 * i) as mine, group(thread[1]):
        sums: float32[8] = {0}
        for _ in range(rounds, unroll=False):
            for c in range(8):
                for _s in range(4):
                    sums[c] = sums[c] * x[i] + 1.0
                if ORDERED:  # noqa: F821 - a template parameter
                    keep_order()
        for c in range(8):
            mine[c] = sums[c]


def test_it_changes_no_value() -> None:
    x = np.linspace(-1, 1, 32, dtype=np.float32)
    found = []
    for keep in (False, True):
        y = np.zeros(256, np.float32)
        powers[1, 32](x, y, 3, template={"ORDERED": keep}, check=True)
        found.append(y)
    assert found[0].any() and np.array_equal(*found)
    assert TABLE["keep_order"].meaning(Binding(None)) is None


def test_it_is_an_exit_that_is_not_taken() -> None:
    compiled = prism.compile(powers, {"ORDERED": True}, arch="sm_90a")
    assert compiled.cuda.count("px_keep_order();") >= 1
    assert re.search(r"%lanemask_eq;\\n.*@none exit", compiled.cuda, re.DOTALL), "a lane's own bit is never 0"
    assert "keep_order" not in prism.compile(powers, {"ORDERED": False}, arch="sm_90a").cuda
