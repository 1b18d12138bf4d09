"""Relaxed atomics: a load may see an old value, and only where the memory model allows it.

Tests of prism/interpret/versions.py.
"""

# ruff: noqa: F821 -- names that kernels declare
from __future__ import annotations

import numpy as np
import pytest

from prism.interpret import run
from prism.lang import (
    atomic_add,
    block,
    constexpr,
    fence,
    grid,
    group,
    id,
    int32,
    load_acquire,
    load_relaxed,
    partition,
    prism,
    ptr,
    requires,
    store_relaxed,
    store_release,
    template,
    thread,
)  # fmt: skip

SEEDS = 40


@prism("global")
@requires(grid[1], block[1], thread[32])
@template(HOW=constexpr(int))
def message(w: ptr(int32) @ grid[1], y: ptr(int32) @ grid[1]):
    """Block 0 writes a word, then a flag; block 1 waits for the flag, then reads the word."""
    b: int32 @ block[1] = id()
    with partition(w, thread[1], offset=0) as word, partition(y, thread[1], offset=0) as out, group(block[1]):
        t: int32 @ thread[1] = id()
        with group(thread[1]):
            if t == 0:
                if b == 0:
                    store_relaxed(word[0], 7)
                    if HOW == 1:
                        store_release(word[1], 1)
                    else:
                        if HOW == 2:
                            fence("release")
                        store_relaxed(word[1], 1)
                else:
                    if HOW == 1:
                        while True:
                            if load_acquire(word[1]) == 1:
                                break
                    else:
                        while True:
                            if load_relaxed(word[1]) == 1:
                                break
                        if HOW == 2:
                            fence("acquire")
                    out[0] = load_relaxed(word[0])


def seen(program, **options):
    found = set()
    for seed in range(SEEDS):
        y = np.zeros(1, np.int32)
        run(program, 2, 32, [np.zeros(2, np.int32), y], schedule="random", seed=seed, **options)
        found.add(int(y[0]))
    return found


@pytest.mark.parametrize(("how", "wanted"), [(0, {0, 7}), (1, {7}), (2, {7})])
def test_what_a_message_needs(program, how, wanted):
    """Relaxed, the flag may be seen before the word; with a release and an acquire, or fences, it is not."""
    assert seen(program(message, HOW=how), check=True) == wanted
    assert seen(program(message, HOW=how)) == {7}


@prism("global")
@requires(grid[1], block[1], thread[32])
def counted(w: ptr(int32) @ grid[1], y: ptr(int32) @ grid[1]):
    """Block 0 counts up; block 1 reads again and again."""
    b: int32 @ block[1] = id()
    with partition(w, thread[1], offset=0) as word, partition(y, thread[1], offset=0) as out, group(block[1]):
        t: int32 @ thread[1] = id()
        with group(thread[1]):
            if t == 0:
                last: int32 @ thread[1] = 0
                while True:
                    now: int32 @ thread[1] = load_relaxed(word[0])
                    if b == 0:
                        now = atomic_add(word[0], 1) + 1
                    if now < last:
                        out[0] = 1
                    last = now
                    if now >= 5:
                        break


def test_one_word_never_goes_back(program):
    """Reads of one word see its values in their order, and an atomic update sees the newest."""
    for seed in range(SEEDS):
        w, y = np.zeros(1, np.int32), np.zeros(1, np.int32)
        run(program(counted), 2, 32, [w, y], schedule="random", seed=seed, check=True)
        assert (w[0], y[0]) == (5, 0)


@prism("global")
@requires(grid[1], block[1], thread[32])
@template(SC=constexpr(int))
def both(w: ptr(int32) @ grid[1], y: ptr(int32) @ grid[1]):
    """Each block writes a word of its own and reads the other's."""
    b: int32 @ block[1] = id()
    with partition(w, thread[1], offset=0) as word, partition(y, block[1], offset=b) as mine, group(block[1]):
        t: int32 @ thread[1] = id()
        with partition(mine, thread[1], offset=t) as out, group(thread[1]):
            if t == 0:
                store_relaxed(word[b], 1)
                if SC != 0:
                    fence("sc")
                else:
                    fence("acq_rel")
                out[0] = load_relaxed(word[1 - b])


@pytest.mark.parametrize(("one_order", "both_old"), [(0, True), (1, False)])
def test_fences_of_one_order(program, one_order, both_old):
    """After writing, both may read what was there before: unless each has a fence between that is `sc`."""
    found = set()
    for seed in range(SEEDS):
        y = np.zeros(33, np.int32)
        run(program(both, SC=one_order), 2, 32, [np.zeros(2, np.int32), y], schedule="random", seed=seed, check=True)
        found.add((int(y[0]), int(y[1])))
    assert ((0, 0) in found) == both_old
    assert (1, 1) in found or (0, 1) in found or (1, 0) in found
