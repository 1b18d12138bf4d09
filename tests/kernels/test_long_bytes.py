"""Selections and splits of long arrays of bytes, on the reference machine, with all its checks.

Tests of prism/lib/algorithms/select: plan.
"""

import functools
from typing import Any

import numpy as np
import pytest

import prism
from prism.interpret import RaceError, run
from prism.kernels.select import is_set, select_bytes, split_bytes
from prism.lang import dtype, int32, requires, template, thread
from prism.lang import prism as mark
from tests.lib.oracles import SCHEDULES
from tests.mutation import without_barriers
from tests.rarely import rarely

SIZES = {"THREADS": 64, "ITEMS": 64, "PARTS": 2, "WIDTH": 16, "BLOCKS": 1, "WORDS": 1}
FORMS = ("mask", "own", "edges", "odd")


@mark("device")
@requires(thread[1])
@template(T=dtype)
def is_below_40(x: T @ thread[1]) -> bool @ thread[1]:
    return x < 40


@mark("device")
@requires(thread[1])
@template(T=dtype)
def is_above_200(x: T @ thread[1]) -> bool @ thread[1]:
    return x > 200


@mark("device")
@requires(thread[1])
@template(T=dtype)
def is_odd(x: T @ thread[1]) -> bool @ thread[1]:
    return x % 2 != 0


@functools.cache
def selecting(form: str, parts: int = 2) -> Any:
    test = {"own": is_below_40, "odd": is_odd}.get(form, is_set)
    kind = {"M": "uint8", "C": "uint8", "TEST": test, "OWN": form != "mask", "EDGES": form == "edges"}
    return prism.check(select_bytes, {**kind, **SIZES, "PARTS": parts, "ITEMS": 32 * parts})


def fresh(n: int) -> tuple[Any, Any]:
    return np.zeros(n // 1000 + 8, np.uint64), np.zeros(1, np.uint64)


def select(
    form: str, n: int, share: float = 0.3, *, blocks: int = 3, room: int | None = None, y_skew: int = 0, skew: int = 0,
    code: Any = None, scratch: Any = None, **options: Any,
) -> None:  # fmt: skip
    """Select of `n` bytes, and compare with the definition; what is before and behind stays."""
    random = np.random.default_rng(n)
    mask = (random.random(n) < share).astype(np.uint8)
    x = (np.cumsum(mask) % 7).astype(np.uint8) if form == "edges" else random.integers(0, 256, n).astype(np.uint8)
    flags = {"mask": mask != 0, "own": x < 40, "odd": x % 2 != 0, "edges": np.append(True, x[1:] != x[:-1])}[form]
    wanted, room = x[flags], n if room is None else room
    y, kept = np.full(room + 18, 77, np.uint8)[max(y_skew, 0) :], np.zeros(1, np.int64)
    words, control = scratch or fresh(n)
    given = (x, mask, y, kept, n, room, skew, skew, y_skew, np.uint8(0), np.uint8(0), words, words.size, control)
    run(code or selecting(form), blocks, 64, given, check=True, **options)
    assert kept[0] == wanted.size
    there = min(room, wanted.size)
    assert np.array_equal(y[:there], wanted[:there]) and (y[there:] == 77).all()


@functools.cache
def splitting(ways: int, own: bool, parts: int = 2) -> Any:
    tests = {"TEST": is_below_40, "OTHER": is_above_200} if own else {"TEST": is_set, "OTHER": is_set}
    kind = {"M": "uint8", "C": "uint8", "O": "uint8", "D": "uint8", "OWN": own, "WAYS": ways, **tests}
    return prism.check(
        split_bytes, {**kind, "W": "uint32" if ways == 2 else "uint64", **SIZES, "PARTS": parts, "ITEMS": 32 * parts}
    )


def split(
    ways: int, own: bool, n: int, *, blocks: int = 3, skew: int = 0, out_skew: int = 0, code: Any = None, times: int = 1,
    **options: Any,
) -> None:  # fmt: skip
    """Each part is where it must be, and nothing behind it is written."""
    random = np.random.default_rng(n)
    x = random.integers(0, 256, n).astype(np.uint8)
    masks = [(random.random(n) < share).astype(np.uint8) for share in (0.4, 0.5)]
    first, second = (x < 40, x > 200) if own else (masks[0] != 0, masks[1] != 0)
    second = second & ~first & (ways == 3)
    wanted = [x[first], x[second], x[~first & ~second]]
    words, control = fresh(2 * n)
    for _ in range(times):
        outs, kept = [np.full(n + 16, 77, np.uint8)[max(out_skew, 0) :] for _ in range(3)], np.full(2, -5)
        zeros = (np.uint8(0), np.uint8(0), np.uint8(0))
        numbers = (n, skew, skew, skew, out_skew, *zeros, words, words.size // 2, control)
        run(
            code or splitting(ways, own),
            blocks,
            64,
            (x, *masks, *outs, kept[:1], kept[1:], *numbers),
            check=True,
            **options,
        )
        for k, (out, part) in enumerate(zip(outs, wanted, strict=True)):
            assert np.array_equal(out[: part.size], part), k
            assert (out[part.size :] == 77).all()
        assert kept.tolist() == [first.sum(), second.sum() if ways == 3 else -5]


@pytest.mark.parametrize("form", FORMS)
def test_what_is_kept(form: str) -> None:
    for n in (1, 31, 4095, 4096, 4097, 9000):
        for share, skew in ((0, 0), (0.05, -1), (0.6, 0), (1, 0)):
            select(form, n, share, skew=skew)
    for parts in (1, 3):
        select(form, 9000, code=selecting(form, parts))


@pytest.mark.parametrize("form", rarely(FORMS, but=["mask"]))
def test_what_is_kept_goes_to_any_place(form: str) -> None:
    for y_skew in (-1, 1, 6, 15):
        select(form, 5000, 0.7, y_skew=y_skew)
    for room in (0, 1, 5, 300, 2000):
        select(form, 5000, 0.7, room=room)


@pytest.mark.parametrize(("schedule", "seed"), SCHEDULES)
def test_schedules(schedule: str, seed: int) -> None:
    select("mask", 9000, blocks=2, schedule=schedule, seed=seed)
    split(3, False, 9000, blocks=2, schedule=schedule, seed=seed)


def test_nothing_is_cleared_between_launches() -> None:
    scratch = fresh(9000)
    for number in range(1, 6):
        select("edges", 1500 * number, blocks=number, scratch=scratch)
        assert scratch[1][0] == number << 32
    split(3, False, 9000, times=3)


@pytest.mark.parametrize("ways", [2, 3])
@pytest.mark.parametrize("own", [False, True])
def test_parts(ways: int, own: bool) -> None:
    for n in (1, 4095, 4096, 4097, 9000):
        split(ways, own, n)
    for out_skew in (-1, 1, 6, 15):
        split(ways, own, 5000, out_skew=out_skew, skew=-1)
    for parts in (1, 3):
        split(ways, own, 9000, code=splitting(ways, own, parts))


@mark("device")
@requires(thread[1])
@template(T=dtype)
def is_within(x: T @ thread[1], bounds: int32 @ thread[1]) -> bool @ thread[1]:
    low: int32 = bounds & 255
    high: int32 = bounds >> 8 & 511
    if bounds < 0:
        return x % 2 != 0
    y: int32 = int32(x)
    return low <= y < high if low <= high else y >= low or y < high


@pytest.mark.parametrize(("items", "width", "n"), [(64, 16, 4096), (128, 32, 9000)])
def test_a_function_of_bytes_is_asked_of_four_at_once(items: int, width: int, n: int) -> None:
    """Where it is true of bytes that follow each other, also of more than half, of none and of all; and where it is not."""
    kind = {"M": "int32", "C": "uint8", "TEST": is_within, "OWN": True, "EDGES": False, "GIVEN": True}
    code = prism.check(select_bytes, {**kind, **SIZES, "ITEMS": items, "WIDTH": width})
    x = np.random.default_rng(0).integers(0, 256, n).astype(np.uint8)
    x[:256] = np.arange(256)
    ranges = [
        (0, 0),
        (0, 256),
        (0, 1),
        (255, 256),
        (7, 8),
        (0, 128),
        (128, 256),
        (1, 129),
        (0, 129),
        (100, 250),
        (250, 10),
        (0, 200),
        (200, 256),
        (128, 255),
        (1, 256),
    ]
    for low, high in (*ranges, (3, 2), (-1, 0)):
        y, kept, (words, control) = np.full(n, 77, np.uint8), np.zeros(1, np.int64), fresh(n)
        bounds = -1 if low < 0 else low | high << 8
        numbers = (n, n, 0, 0, 0, np.uint8(0), np.uint8(0), words, words.size, control)
        run(code, 2, 64, (x, np.array([bounds], np.int32), y, kept, *numbers), check=True)
        there = x % 2 != 0 if low < 0 else (low <= x) & (x < high) if low <= high else (x >= low) | (x < high)
        assert np.array_equal(y[: kept[0]], x[there]), (low, high)


@pytest.mark.parametrize("form", rarely(("mask", "edges"), but=["edges"]))
def test_each_inferred_barrier_is_needed(form: str) -> None:
    found = list(without_barriers(selecting(form)))
    assert found
    for _, mutant in found:
        with pytest.raises((RaceError, AssertionError)):
            for schedule, seed in SCHEDULES:
                select(form, 14000, 0.8, blocks=2, code=mutant, schedule=schedule, seed=seed)


@pytest.mark.parametrize("ways", rarely((2, 3), but=[3]))
def test_each_inferred_barrier_of_parts_is_needed(ways: int) -> None:
    found = list(without_barriers(splitting(ways, own=False)))
    assert found
    for _, mutant in found:
        with pytest.raises((RaceError, AssertionError)):
            for schedule, seed in SCHEDULES:
                split(ways, own=False, n=14000, blocks=2, code=mutant, schedule=schedule, seed=seed)
