"""`strides_nest`: what it says of strides, and what is proved from it; and what else such proofs rest on, premise by premise.

Tests of prism/lang/facts/nesting.py; prism/lang/intrinsics/layouts.py.
"""

from __future__ import annotations

import importlib.util
import random
import sys
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest

import prism
from prism.lang import safety
from prism.lang.barriers.overlap import verdicts
from prism.lang.diagnostics import CompileError
from prism.lang.facts.assumptions import launch_assumptions
from prism.lang.facts.definitions import facts
from prism.lang.intrinsics import TABLE, Binding
from prism.lang.intrinsics.layouts import nest
from prism.lang.pipeline import build

HEAD = """
from prism.lang import (
    assume, block, count, grid, group, id, int32, int64, partition, prism, ptr, requires, strides_nest, thread, uint32, bool_,
)

@prism("global")
@requires(grid[1], thread[1])
def kernel(
    y: ptr(int32) @ grid[1], n: int32 @ grid[1], m: int32 @ grid[1], s: int64 @ grid[1], r: int64 @ grid[1],
    flag: bool_ @ grid[1], u: uint32 @ grid[1],
):
"""


def kernel(body: str, folder: Path, head: str = HEAD):
    """The kernel with this body, a line each."""
    path = folder / f"strides_{abs(hash(head + body))}.py"
    path.write_text(head + "".join(f"    {line}\n" for line in body.strip("\n").splitlines()))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module.kernel


def proved(body: str, folder: Path, head: str = HEAD) -> bool:
    """Whether the partitions of the kernel with this body are proved."""
    try:
        program = build(kernel(body, folder, head))
    except CompileError as error:
        assert "parts overlap" in str(error)
        return False
    found = [v.status for v in safety.verdicts(program) if v.kind == "partition"]
    assert found
    return set(found) == {"proved"}


def rows(
    assume: str = "n >= 1 and m >= 1 and strides_nest(n, s, m, r)",
    index: str = "i // m * s + i % m * r",
    guard: str = "i // m < n",
    before: str = "",
) -> str:
    """Rows of m elements: each thread writes one, somewhere."""
    lines = [before, f"assume({assume})", "i: int32 @ thread[1] = id()"]
    lines += ['with partition(y, thread[1], lambda at: at, races="none") as mine, group(thread[1]):']
    return "\n".join([*filter(None, lines), f"    if {guard}:", f"        mine[{index}] = i"])


OWN = '''
from prism.lang import assume, grid, group, id, int32, int64, intrinsic, partition, prism, ptr, requires, thread

@intrinsic("threadIdx.x / 2", meaning=lambda: 0)
def pair() -> int32:
    """Another number for each two threads."""

@prism("global")
@requires(grid[1], thread[1])
def kernel(y: ptr(int32) @ grid[1], n: int32 @ grid[1], m: int32 @ grid[1], s: int64 @ grid[1], r: int64 @ grid[1]):
'''


def test_an_intrinsic_of_the_users_own_may_be_another_number_each_time(tmp_path: Path) -> None:
    assert not proved(rows("n >= 1 and m >= 1", "i - pair()", "i >= 0"), tmp_path, OWN)


def test_a_launch_tests_it(tmp_path: Path) -> None:
    program = build(kernel(rows(), tmp_path))
    (held,) = launch_assumptions(program.entry).values()
    assert held.code[0] == "and" and held == type(held).from_json(held.to_json())
    assert [v.status for v in safety.verdicts(program) if v.kind == "assumption"] == ["checked"]


# -- the predicate ------------------------------------------------------------------------------------------------------------


def places(axes) -> list[int]:
    """Where all elements are."""
    return [sum(k * s for k, (_, s) in zip(at, axes, strict=True)) for at in product(*(range(n) for n, _ in axes))]


def test_what_nests_is_injective() -> None:
    rng, held = random.Random(1), 0
    for _ in range(4000):
        axes = tuple((rng.choice((0, 1, 2, 3, 4)), rng.randint(-14, 14)) for _ in range(rng.randint(1, 4)))
        found = places(axes)
        if nest(axes):
            held += 1
            assert len(set(found)) == len(found), axes
        elif len(axes) == 1 or len([n for n, _ in axes if n > 1]) == 1:
            assert len(set(found)) < len(found), axes
    assert held > 1000


def test_layouts_of_arrays_nest_whatever_their_order_signs_and_gaps() -> None:
    rng = random.Random(2)
    for _ in range(500):
        extents = [rng.randint(0, 4) for _ in range(4)]
        strides, step = [0] * 4, 1
        for k in rng.sample(range(4), 4):
            strides[k] = 10**9 * rng.randint(-1, 1) if extents[k] == 1 else step * rng.choice((-1, 1))
            step *= max(1, extents[k]) + rng.randint(0, 2)
        assert nest(tuple(zip(extents, strides, strict=True))), (extents, strides)


@pytest.mark.parametrize(
    "axes, held",
    [
        (((2, 0),), False), (((1, 0),), True), (((0, 0), (5, 0)), True), (((-1, 0), (5, 0)), True),
        (((3, 2), (2, 4)), False), (((3, 2), (2, 5)), True), (((2**62, 1), (2, 2**62 - 1)), False),
        (((2**62, 1), (2, 2**62)), True), (((2**62, 4), (2, 2**63 - 1)), False), (((2, -(2**63)), (2**62, 2)), True),
        (((2**63 - 1, 2**63 - 1), (2, 2**62)), True), (((3, 2**62), (2, 2**63 - 1)), False),
    ],
)  # fmt: skip
def test_limits(axes: tuple[tuple[int, int], ...], held: bool) -> None:
    for order in permutations(axes):
        assert nest(order) == held
        meaning = TABLE["strides_nest"].meaning(Binding(None), *(np.int64(v) for axis in order for v in axis))
        assert meaning.shape == () and bool(meaning) == held


def test_its_meaning_is_for_each_thread() -> None:
    found = TABLE["strides_nest"].meaning(
        Binding(None), np.array([3, 3, 1]), np.array([2, 0, 0]), np.int64(2), np.int64(5)
    )
    assert found.tolist() == [True, False, True]


def test_each_axis_has_an_extent_and_a_stride(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="an extent and a stride for each axis"):
        build(kernel(rows("strides_nest(n, s, m)"), tmp_path))


def test_a_launch_whose_strides_overlap_is_refused(tmp_path: Path) -> None:
    y = np.zeros(64, np.int32)
    made = kernel(rows(), tmp_path)
    for s, r in ((8, 1), (1, 4), (10, 3)):
        y[:] = 0
        made[2, 8](y, 4, 4, s, r, True, 0)
        assert all(y[i // 4 * s + i % 4 * r] == i for i in range(16))
    made[2, 8](y, 4, 1, 1, 0, True, 0)
    for n, m, s, r in ((4, 4, 3, 1), (4, 4, 0, 1), (4, 4, 1, 3), (2, 4, 1, 0)):
        with pytest.raises(prism.LaunchError, match="strides_nest"):
            made[2, 8](y, n, m, s, r, True, 0)


# -- what is proved from it, and what is not where one premise is missing --------------------------------------------------------

PROVED = {
    "two strides": rows(),
    "a stride of 1": rows("n >= 1 and m >= 1 and strides_nest(n, s, m, 1)", "i // m * s + i % m"),
    "another order": rows("n >= 1 and m >= 1 and strides_nest(m, r, n, s)", "i % m * r + i // m * s"),
    "a multiple of a stride": rows("n >= 1 and m >= 1 and strides_nest(n, 2 * s, m, 1)", "i // m * (2 * s) + i % m"),
    "an axis that is not used": rows("n >= 1 and m >= 1 and strides_nest(n, s, m, 1, 3, r)", "i // m * s + i % m"),
    "an extent of quotients": rows(
        "u >= 1 and n >= 1 and m >= 1 and strides_nest((n - 1) // m + 1, s, m, r)", guard="i < n"
    ),
    "an extent of a count": rows("m >= 1 and strides_nest((count(thread[1]) - 1) // m + 1, s, m, r)", guard="i >= 0"),
    "words of four": rows(
        "n >= 1 and m >= 1 and strides_nest((n - 1) // 4 + 1, s, 4, r)", "i // 4 * s + i % 4 * r", "i < n"
    ),
    "what is left of a division": rows(index="i // m * s + (i - i // m * m) * r"),
    "a division that is saved": rows(index="(i if m == 1 else i // m) * s + (i - (i if m == 1 else i // m) * m) * r"),
    "a condition in a name": rows(guard="inside >= 4", before="").replace(
        "with partition", "inside: int32 @ thread[1] = n - i // m + 3 if i >= 0 else 0\nwith partition"
    ),
}
NOT_PROVED = {
    "nothing is assumed": rows("n >= 1 and m >= 1"),
    "it is another stride": rows(index="i // m * s + i % m * (r + 1)"),
    "a stride that is not named": rows("n >= 1 and m >= 1 and strides_nest(n, s)"),
    "there is a term beside": rows(index="i // m * s + i % m * r + i % 3"),
    "an index reaches the extent": rows(guard="i // m <= n"),
    "an index has no bound": rows(guard="i >= 0"),
    "an index may be negative": rows(index="(i // m - 1) * s + i % m * r"),
    "a divisor may be 0 or less": rows("n >= 1 and strides_nest(n, s, m, r)"),
    "an index is beyond its axis": rows("n >= 1 and m >= 1 and strides_nest(n, s, m - 1, r)"),
    "extents are each thread's": rows().replace("strides_nest(n, s, m, r)", "strides_nest(n, s, m, r)").replace(
        "assume(n >= 1 and m >= 1 and strides_nest(n, s, m, r))\ni: int32 @ thread[1] = id()",
        "i: int32 @ thread[1] = id()\nassume(n >= 1 and m >= 1 and strides_nest(n, s, m + i % 2, r))",
    ),
    "strides are each thread's": rows(index="i // m * t + i % m * r").replace(
        "assume(n >= 1 and m >= 1 and strides_nest(n, s, m, r))\ni: int32 @ thread[1] = id()",
        "i: int32 @ thread[1] = id()\nt: int64 @ thread[1] = s + i\nassume(n >= 1 and m >= 1 and strides_nest(n, t, m, r))",
    ),
    "it is not held": rows("n >= 1 and m >= 1 and not strides_nest(n, s, m, r)"),
    "one of two": rows("n >= 1 and m >= 1 and (flag or strides_nest(n, s, m, r))"),
    "indices are not the thread": rows("n >= 1 and m >= 1 and strides_nest(n, s, m, r)", "i // m * s + i % m // 2 * r"),
    "an extent of quotients, too small": rows(
        "n >= 1 and m >= 1 and strides_nest((n - 1) // m, s, m, r)", guard="i < n"
    ),
    "quotients by two numbers": rows("n >= 1 and m >= 1 and strides_nest((n - 1) // (m + 1) + 1, s, m, r)", guard="i < n"),
    "an extent of words, too small": rows("n >= 4 and strides_nest(n // 4, s, 4, r)", "i // 4 * s + i % 4 * r", "i < n"),
    "what is left of another division": rows(index="i // m * s + (i - i // m * n) * r"),
    "a division that is saved where it is not 1": rows(index="(i if m == 2 else i // m) * s + i % m * r"),
    "another number where the divisor is 1": rows(index="(i + 1 if m == 1 else i // m) * s + i % m * r"),
    "another name is 1": rows(index="(i if n == 1 else i // m) * s + i % m * r"),
    "a condition that holds of both values": rows(guard="inside >= 4").replace(
        "with partition", "inside: int32 @ thread[1] = n - i // m + 3 if i >= 0 else 4\nwith partition"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROVED)
def test_proved(name: str, tmp_path: Path) -> None:
    assert proved(PROVED[name], tmp_path)


@pytest.mark.parametrize("name", NOT_PROVED)
def test_not_proved_where_a_premise_is_missing(name: str, tmp_path: Path) -> None:
    assert not proved(NOT_PROVED[name], tmp_path)


# -- conditions that all agree on ------------------------------------------------------------------------------------------------

BRANCHES = """
{before}i: int32 @ thread[1] = id()
with partition(y, thread[1], lambda at: at, races="none") as mine, group(thread[1]):
    if {one}:
        mine[i] = 1
    {between}
    if {two}:
        mine[i + {apart}] = 2
"""


@pytest.mark.parametrize(
    "one, two, held",
    [
        ("flag", "not flag", True), ("n < 3", "n >= 3", True), ("n < 3 and i > 2", "n > 7", True), ("flag", "flag", False),
        ("i < 3", "i >= 3", False), ("flag", "n > 0", False), ("flag or n > 3", "not flag", False),
    ],
)  # fmt: skip
def test_branches_that_exclude_each_other_are_never_both_taken(one: str, two: str, held: bool, tmp_path: Path) -> None:
    assert proved(BRANCHES.format(before="", one=one, two=two, between="pass", apart=-1), tmp_path) == held


def test_a_name_that_changes_between_is_not_the_same(tmp_path: Path) -> None:
    before = "j: int32 @ grid[1] = n\nk: int32 @ thread[1] = n\n"
    text = BRANCHES.format(before=before, one="j < 3", two="j >= 3", between="k = 5", apart=1)
    assert proved(text, tmp_path)
    text = BRANCHES.format(before=before, one="k < 3", two="k >= 3", between="k = 5", apart=1)
    assert not proved(text, tmp_path)


# -- against brute force -------------------------------------------------------------------------------------------------------


def written(index: str, guard: str, n: int, m: int, s: int, r: int) -> list[int]:
    """The places that threads write, divisions as C has them: all numbers are positive here."""
    names = {"n": n, "m": m, "s": s, "r": r}
    made = (compile(text, "", "eval") for text in (index, guard))
    at, there = made
    return [eval(at, {**names, "i": i}) for i in range(24) if eval(there, {**names, "i": i})]


def test_what_is_proved_of_random_indices_holds(tmp_path: Path) -> None:
    rng, counts = random.Random(3), [0, 0]
    first, second = (
        ("i // m", "i // 2", "(i if m == 1 else i // m)", "i"),
        ("i % m", "i % m", "(i - i // m * m)", "i % 2", "i % n", "i // m"),
    )
    extents = ("n", "m", "n - 1", "(n - 1) // m + 1", "2", "m * 2", "(n - 1) // 2 + 1")
    for _ in range(300):
        one, two = rng.choice(first), rng.choice(second)
        axes = [rng.choice(("n", "n", *extents)), "s", rng.choice((*"mmmm", *extents)), rng.choice(("r", "1"))]
        index = f"{one} * s + {two} * {rng.choice((axes[3], axes[3], axes[3], 's'))}"
        guard = rng.choice(("i < n", "i // m < n", "i // m < n", "i // 2 < n", "i >= 0", "i % m < n"))
        if not proved(rows(f"n >= 1 and m >= 1 and strides_nest({', '.join(axes)})", index, guard), tmp_path):
            counts[1] += 1
            continue
        counts[0] += 1
        for n, m, s, r in product((1, 2, 3, 5), (1, 2, 3, 4), range(0, 9), range(0, 6)):
            values = [eval(text, {"n": n, "m": m, "s": s, "r": r}) for text in axes]
            if nest(((values[0], values[1]), (values[2], values[3]))):
                found = written(index, guard, n, m, s, r)
                assert len(set(found)) == len(found), (axes, index, guard, n, m, s, r)
    assert counts[0] >= 5 and counts[1] >= 20, counts


def test_the_verdict_is_the_partitions(tmp_path: Path) -> None:
    function = build(kernel(rows(), tmp_path)).entry
    assert [v.status for _, v in verdicts(function, facts(function))] == ["disjoint"]


# -- warps and their lanes, and loops whose trips a bound leaves -------------------------------------------------------------

WARPS = """
from prism.lang import block, count, grid, group, id, int32, partition, prism, ptr, requires, thread, warp

@prism("global")
@requires(grid[1], block[1], thread[32])
def kernel(y: ptr(int32) @ grid[1], n: int32 @ grid[1], m: int32 @ grid[1]):
"""
LANES = """
w: int32 @ thread[32] = id()
with partition(y, thread[1], lambda at: at, races="none") as mine, group(block[1]):
    lane: int32 @ thread[1] = id() % 32
    with group(thread[1]):
        {guard}mine[{index}] = 1
"""
TRIPS = """
b: int32 @ block[1] = id()
warps: int32 @ grid[1] = count(thread[1], block[1]) // 32
with partition(y, thread[1], lambda at: at, races="none") as mine, group(block[1]):
    t: int32 @ thread[1] = id()
    step: int32 @ block[1] = 32 * count(warp[1])
    with group(thread[1]):
        for j in range(t, {stop}, {step}):
            mine[b * 16 + j] = 1
"""


@pytest.mark.parametrize(
    "index, guard, held",
    [
        ("w * 32 + lane", "", True), ("w * 32 + lane % 16", "", False), ("w", "", False), ("w", "if lane == 0: ", True),
        ("w // 2 * 32 + lane", "", False), ("w % 4 * 32 + lane", "", False), ("w * 4 + lane // 8", "if lane % 8 == 0: ", True),
    ],
)  # fmt: skip
def test_a_warp_of_the_grid_and_a_lane_of_it_are_a_thread(index: str, guard: str, held: bool, tmp_path: Path) -> None:
    assert proved(LANES.format(index=index, guard=guard), tmp_path, WARPS) == held


@pytest.mark.parametrize(
    "stop, step, held",
    [("16", "step", True), ("17", "step", False), ("n", "step", False), ("16", "n", False), ("16", "step - 32", False)],
)
def test_a_product_that_is_bounded_bounds_the_trips(stop: str, step: str, held: bool, tmp_path: Path) -> None:
    text = TRIPS.format(stop=stop, step=step).replace("warps: int32 @ grid[1] = count(thread[1], block[1]) // 32\n", "")
    assert proved(text, tmp_path, WARPS) == held
