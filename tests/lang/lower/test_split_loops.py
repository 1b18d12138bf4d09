"""Loops split at their conditions: the same results, and nothing conditional in the middle; or the loop as it was.

Tests of prism/lang/lower: cuts, split_loops.
"""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest

import prism
from prism.interpret import SCHEDULES, run
from prism.lang import pipeline
from prism.lang.diagnostics import CompileError
from prism.lang.tree import For, If
from prism.lang.tree.walk import statements
from tests.examples.trimmed import SIDE, between, follow


def as_written(kernel, template):
    """Return a kernel's program with its loops as they were written. Raises CompileError."""
    return pipeline.synchronise(pipeline.check(kernel, template))


# -- each ring in its own part of the range -------------------------------------------------------------------------------------


def rows_between(start, stop, step, low, high):
    x = np.random.default_rng(0).integers(0, 2**31, (max(stop, 1), 64), np.int32)
    total = np.ones(64, np.uint32)
    for j in range(start, stop, step):
        if j >= low:
            total = 3 * total + x[j].astype(np.uint32)
        total = 7 * total
        if j < high:
            total = 5 * total + x[j].astype(np.uint32)
    return x, total.view(np.int32)


def test_rounds_without_visits_are_refused_as_they_are_written():
    with pytest.raises(CompileError, match="apart from its other scopes"):
        as_written(between, {"STEP": 1})


@pytest.mark.parametrize("step", [1, 3])
def test_each_piece_makes_the_trips_that_are_its_own(step):
    program = prism.check(between, {"STEP": step})
    ends = (-3, 0, 1, 4, 5, 9)
    for start, stop, low, high in product((0, 1), (0, 1, 2, 7), ends, ends):
        x, wanted = rows_between(start, stop, step, low, high)
        y = np.zeros(64, np.int32)
        run(program, 1, 96, [x, y, start, stop, low, high], check=True)
        assert np.array_equal(y, wanted), (start, stop, low, high)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_pieces_under_each_schedule(schedule):
    x, wanted = rows_between(0, 9, 1, 3, 7)
    y = np.zeros(64, np.int32)
    run(prism.check(between, {"STEP": 1}), 1, 96, [x, y, 0, 9, 3, 7], check=True, schedule=schedule)
    assert np.array_equal(y, wanted)


def test_cuts_far_from_the_range():
    """The places of cuts are computed without wrapping round: these are beyond the range by more than 2**31."""
    program = prism.check(between, {"STEP": 3})
    for low, high in product((-(2**31), 2**31 - 1), repeat=2):
        x, wanted = rows_between(1, 8, 3, low, high)
        y = np.zeros(64, np.int32)
        run(program, 1, 96, [x, y, 1, 8, low, high], check=True)
        assert np.array_equal(y, wanted)


# -- a pipeline of two products --------------------------------------------------------------------------------------------------


def product_of(end, near, step=SIDE):
    q, k, v = (
        np.random.default_rng(1).integers(-2, 3, (rows, SIDE)).astype(np.float16)
        for rows in (SIDE, end + SIDE, end + SIDE)
    )
    trips = -(-end // step)
    k[trips * step :] = 0
    wide = np.float32(q) @ np.float32(k).T
    wide *= np.where(np.arange(wide.shape[1]) >= near, 2, 1)
    return q, k, v, np.float32(np.float16(wide)) @ np.float32(v)


@pytest.mark.parametrize("claims", [False, True])
@pytest.mark.parametrize("end", [0, 1, 64, 100, 128, 192])
def test_two_products_that_follow_each_other(claims, end):
    for near in (0, 65, 128, 1000):
        q, k, v, wanted = product_of(end, near)
        o = np.zeros((SIDE, SIDE), np.float32)
        run(prism.check(follow, {"CLAIMS": claims, "STEP": SIDE}), 1, 256, [q, k, v, o, end, near], check=True)
        assert np.array_equal(o, wanted if end else 0 * wanted)


def steps_of(text):
    """Return what the consumers do with wgmmas in each of their loops, in order."""
    text = text[text.index("sums_[SIDE") if "sums_[SIDE" in text else text.index("k_now") :]
    text = text[: text.index("} else {  // threads")]
    pieces = re.split(r"\n\s*(?:for \(int|if \().*\bj\w*\b.*\{", text)
    words = {"commit_group": "commit", "wait_group.sync.aligned 1": "wait 1", "wait_group.sync.aligned 0": "wait 0"}
    return [[words[m] for m in re.findall("|".join(words), piece)] for piece in pieces]


def test_the_middle_has_no_condition():
    program = prism.check(follow, {"CLAIMS": True, "STEP": SIDE})
    loops = [s for s in program.entry.body[0].body[0].body if isinstance(s, For)]
    assert [loop.once for loop in loops] == [True, False, False, True]
    conditions = [[s for s in statements(loop.body) if isinstance(s, If)] for loop in loops]
    assert [len(found) for found in conditions] == [1, 0, 0, 0]  # the first may be where `near` begins


def test_text(golden):
    golden(prism.compile(follow, arch="sm_90a", template={"CLAIMS": False, "STEP": SIDE}).cuda)
