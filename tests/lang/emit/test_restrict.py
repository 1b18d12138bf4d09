"""What is read past the caches that keep up with stores: only what nobody writes while the kernel runs.

Tests of prism/lang/emit/restrict.py.
"""

from __future__ import annotations

import prism
from prism.lang import (
    block,
    const,
    grid,
    group,
    id,
    int32,
    load_vector,
    may_alias,
    partition,
    ptr,
    requires,
    thread,
    vector,
)
from prism.lang.emit import emit
from prism.lang.pipeline import lower

READ_ONLY = "ld.global.nc.L1::no_allocate"
COHERENT = "ld.global.L1::no_allocate"


@prism.device
@requires(thread[1])
def two(x: ptr(const(int32)) @ thread[1]) -> int32 @ thread[1]:
    pair: vector(int32, 2) = load_vector(x[0], 2, cache="no_allocate")
    return pair[0] + pair[1]


@prism.device
@requires(thread[1])
def inside(x: ptr(const(int32)) @ thread[1]) -> int32 @ thread[1]:
    return two(x)


def loads(kernel: object) -> tuple[bool, bool]:
    """Whether a kernel's text has loads by the read-only path, and others that leave the L1 out."""
    text = emit(lower(prism.check(kernel))).source
    return READ_ONLY in text, COHERENT in text


def test_what_nobody_writes() -> None:
    @prism.kernel
    @requires(grid[1], thread[1])
    def sums(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1]):
        i: int32 @ thread[1] = id()
        with partition(x, thread[1], 2 * i) as here, partition(y, thread[1], i) as mine, group(thread[1]):
            mine[0] = inside(here)

    assert loads(sums) == (True, False)


def test_what_the_kernel_has_just_written() -> None:
    """Through a function, whose own pointer is const; and through one more."""

    @prism.kernel
    @requires(grid[1], thread[1])
    def sums(x: ptr(int32) @ grid[1], y: ptr(int32) @ grid[1]):
        i: int32 @ thread[1] = id()
        with partition(x, thread[1], 2 * i, races="none") as here, partition(y, thread[1], i) as mine, group(thread[1]):
            here[0] = i
            here[1] = 1
            mine[0] = inside(here)

    assert loads(sums) == (False, True)


def test_a_function_that_is_given_both() -> None:
    @prism.kernel
    @requires(grid[1], thread[1])
    def sums(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1]):
        i: int32 @ thread[1] = id()
        with (
            partition(x, thread[1], 2 * i) as here,
            partition(y, thread[1], 2 * i, races="none") as mine,
            group(thread[1]),
        ):
            mine[0] = two(here)
            mine[1] = two(mine)

    assert loads(sums) == (False, True)


def test_what_has_another_name() -> None:
    @prism.kernel
    @may_alias("x", "y")
    @requires(grid[1], block[1], thread[1], cooperative=True)
    def sums(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1]):
        i: int32 @ thread[1] = id()
        first: int32 @ thread[1] = 0
        with group(thread[1]):
            pair: vector(int32, 2) = load_vector(x[2 * i], 2, cache="no_allocate")
            first = pair[0]
        with partition(y, thread[1], 2 * i) as mine, group(thread[1]):
            mine[0] = first

    assert loads(sums) == (False, True)


def test_a_name_that_is_set() -> None:
    """A pointer of the kernel's own may stand for what is written."""

    @prism.kernel
    @requires(grid[1], thread[1])
    def sums(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1]):
        now: ptr(const(int32)) @ grid[1] = x
        i: int32 @ thread[1] = id()
        with partition(y, thread[1], i) as mine, group(thread[1]):
            pair: vector(int32, 2) = load_vector(now[2 * i], 2, cache="no_allocate")
            mine[0] = pair[0]

    assert loads(sums) == (False, True)
