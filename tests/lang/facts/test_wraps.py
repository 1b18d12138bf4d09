"""Values that drop bits: what is proved of them is what the machine computes, not what their text says of whole numbers."""

from __future__ import annotations

import numpy as np
import pytest

import prism
from prism.interpret import SCHEDULES, run
from prism.lang import CompileError
from prism.lang.barriers.overlap import verdicts
from prism.lang.facts.budget import most_threads
from prism.lang.facts.definitions import facts
from prism.lang.tree.plan import Program
from tests.generated.programs import LANGUAGE, loaded

KERNEL = """
@prism("global")
@requires(grid[1], block[1], thread[64])
@attr("__launch_bounds__(64)")
def kernel(u: uint32 @ grid[1], v: uint64 @ grid[1], n: int32 @ grid[1], big: int64 @ grid[1]):
    with group(block[1]):
        s: shared(int32[64])
        t: int32 @ thread[1] = id()
        m: uint32 @ thread[1] = uint32(t)
        with partition(s, thread[1], {offset}) as mine, group(thread[1]):
            {guard}mine[{index}] = t
"""


def built(offset: str, index: str = "0", guard: str = "") -> Program:
    with loaded(KERNEL.format(offset=offset, index=index, guard=guard), LANGUAGE | {"prism": prism}) as names:
        return prism.check(names["kernel"])


def status(program: Program) -> str:
    function = program.entry
    ((_, verdict),) = verdicts(function, facts(function, most_threads(function)))
    return verdict.status


@pytest.mark.parametrize(
    "offset",
    [
        "u + m << 27 >> 27",
        "u + m << 24 >> 24",
        "m << 28 >> 28",
        "n + t << 27 >> 27",
        "int32(int64(t) * 4294967296 + 5)",
        "int32(big * t)",
        "(u + m) * 67108864 // 67108864",
        "uint8(u + m) // 4",
        "int32(v + uint64(m) << 60 >> 60)",
        "uint8(8 * t)",
        "int16(t * 2048)",
        "(m - 4) // 4",
        "m * u",
        "u * m + m",
    ],
)
def test_what_drops_bits_is_not_proved(offset: str) -> None:
    try:
        assert status(built(offset)) == "unknown"
    except CompileError as error:  # that two units meet may even be proved
        assert error.code == "race"


@pytest.mark.parametrize(
    ("offset", "index", "guard"),
    [
        ("m << 3 >> 3", "0", ""),
        ("u + m", "0", ""),  # modulo 2^32, 64 numbers in a row are still 64
        ("m - 5 + u", "0", ""),
        ("u - m", "0", ""),
        ("int32(u + m)", "0", ""),
        ("int32(big + t)", "0", ""),
        ("v + m", "0", ""),
        ("m - 1", "0", "if m > 0: "),
        ("m - 1", "0", "if 1 <= m and m < u: "),
        ("int64(t) * 4294967296", "0", ""),
        ("uint64(m) * 4294967296", "0", ""),
        ("lambda j: 4 * t + j", "m & 3", ""),
        ("uint8(t)", "0", ""),
        ("n + t", "0", ""),  # signed: what is sure to be computed does not overflow
        ("n * 64 + t", "0", ""),
    ],
)
def test_what_drops_none_is_proved(offset: str, index: str, guard: str) -> None:
    assert status(built(offset, index, guard)) == "disjoint"


def test_a_lambda_computes_in_the_index_own_type() -> None:
    """`4 * j` is unsigned where j is: 16 of the threads' elements are one."""
    assert status(built("lambda j: 4 * j", "m")) == "disjoint"
    assert status(built("lambda j: 4 * j", "m * 268435456")) == "unknown"
    assert status(built("lambda j: 4 * j", "t * 268435456")) == "unknown"


@pytest.mark.parametrize("guard", ["if u * 128 < u: ", "if m < u and u < m: ", "if t < 0: ", "if u < 0: "])
@pytest.mark.parametrize("offset", ["m >> u", "m << u", "(m ^ u) >> (u & 31)", "t"])
def test_conditions_that_contradict_one_another_end_in_a_verdict(guard: str, offset: str) -> None:
    assert status(built(offset, guard=guard)) in ("unknown", "disjoint")


LOOP = """
@prism("global")
@requires(grid[1], block[1], thread[32])
@attr("__launch_bounds__(32)")
def kernel(y: ptr(int32) @ grid[1], u: uint32 @ grid[1]):
    with partition(y, thread[1], id()) as out, group(block[1]):
        s: shared(int32[32])
        t: int32 @ thread[1] = id()
        m: uint32 @ thread[1] = uint32(t)
        with partition(s, thread[1], t) as mine, group(thread[1]):
            mine[0] = t
        with partition(s, thread[1], {index}, races="allow") as one, group(thread[1]):
            out[0] = one[0]
"""


@pytest.mark.parametrize(("index", "barriers"), [("u + m << 27 >> 27", 1), ("m << 27 >> 27", 0), ("m << 28 >> 28", 1)])
def test_a_read_of_what_lost_bits_waits(index: str, barriers: int) -> None:
    """An element that is the thread's own needs no barrier; one that may be another's does."""
    with loaded(LOOP.format(index=index), LANGUAGE | {"prism": prism}) as names:
        program = prism.check(names["kernel"])
    assert len(program.plans[program.entry].barriers) == barriers
    for schedule in SCHEDULES:
        y = np.zeros(32, np.int32)
        run(program, 1, 32, (y, 3), check=True, schedule=schedule, seed=1)
        shift = int(index[-2:])
        base = 3 if "u" in index else 0
        assert y.tolist() == [(base + t) % 2 ** (32 - shift) for t in range(32)]


def test_a_narrow_cast_does_not_lie_side_by_side() -> None:
    """A pointer to `part[0]` goes on behind element 255, where the lambda begins again."""
    text = """
@prism("device")
@requires(thread[1])
def reads(p: ptr(const(int32)) @ thread[1]) -> int32 @ thread[1]:
    return p[100]

@prism("global")
@requires(grid[1], thread[1])
def kernel(x: ptr(int32) @ grid[1], y: ptr(int32) @ grid[1]):
    with partition(x, thread[1], lambda j: {index}) as part, partition(y, thread[1], id()) as mine, group(thread[1]):
        mine[0] = reads(part)
"""
    with loaded(text.format(index="int64(j) + 200"), LANGUAGE | {"prism": prism}) as names:
        prism.check(names["kernel"])
    with loaded(text.format(index="uint8(j + 200)"), LANGUAGE | {"prism": prism}) as names, pytest.raises(CompileError):
        prism.check(names["kernel"])


# -- promises that nothing keeps ----------------------------------------------------------------------------------------------

GRID_WIDE = """
@prism("global")
@requires(grid[1], block[1], thread[64])
@attr("__launch_bounds__(64)")
def kernel(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    u: {type} @ thread[1] = id()
    with partition(y, thread[1], {offset}) as mine, group(thread[1]):
        mine[0] = 1
"""


@pytest.mark.parametrize(
    ("type_", "offset"),
    [
        ("int32", "u * 2**30 * 4"),
        ("int32", "u * 65536 * 65536"),
        ("int32", "u * 2**25 * 2"),  # of 64 threads of a block, the last 32 have what the first have
        ("int32", "(u + 2147483647) * 2"),
        ("int64", "u * 2**62 * 4"),
    ],
)
def test_a_number_that_does_not_fit_in_the_smallest_launch_is_not_taken_to_fit(type_: str, offset: str) -> None:
    """All threads write one element, where 32 bits are left of it: it was taken for proved that each has its own."""
    text = GRID_WIDE.format(type=type_, offset=offset)
    with loaded(text, LANGUAGE | {"prism": prism}) as names:
        assert status(prism.check(names["kernel"])) == "unknown"


@pytest.mark.parametrize(
    ("type_", "offset"), [("int64", "u * 2**30 * 4"), ("int32", "u * 256"), ("int32", "u * 64 + n")]
)
def test_a_number_that_fits_there_is_a_promise(type_: str, offset: str) -> None:
    with loaded(GRID_WIDE.format(type=type_, offset=offset), LANGUAGE | {"prism": prism}) as names:
        assert status(prism.check(names["kernel"])) == "disjoint"


TRIPS = """
@prism("global")
@requires(grid[1], block[1], thread[64])
@attr("__launch_bounds__(64)")
def kernel(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    with partition(y, block[1], 64 * id()) as out, group(block[1]):
        s: shared(int32[64])
        t: int32 @ thread[1] = id()
        for i in range(0, n):
            with partition(s, thread[1], {offset}) as mine, group(thread[1]):
                mine[0] = i
        with partition(out, thread[1], t) as mine, group(thread[1]):
            mine[0] = s[t]
"""


@pytest.mark.parametrize(("offset", "barriers"), [("i * 2**30 * 4 + (t ^ i % 64)", 2), ("i * 64 + (t ^ i % 64)", 1)])
def test_trips_are_not_told_apart_by_what_no_second_trip_keeps(offset: str, barriers: int) -> None:
    """Of the first, 32 bits leave `t ^ i`: in two trips two threads write one element, and no barrier was between them."""
    with loaded(TRIPS.format(offset=offset), LANGUAGE | {"prism": prism}) as names:
        program = prism.check(names["kernel"])
    assert len(program.plans[program.entry].barriers) == barriers
