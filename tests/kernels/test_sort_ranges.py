"""Sorts by ranges of keys on the reference machine, with all its checks.

Tests of kernels/sort/ranges.py, kernels/sort/choose.py, kernels/sort/buckets.py, prism/lib/algorithms/sort/ranges.py,
prism/lib/algorithms/sort/elements.py.
"""

import functools
from pathlib import Path

import numpy as np
import pytest

import prism
from prism.interpret import RaceError, UninitialisedError, run
from prism.kernels.sort import FLOAT, GIVEN, INTEGER, NONE, POSITIONS, ranges_of, sort_ranges
from prism.lib.algorithms.sort import plan
from prism.lib.algorithms.sort_rows.plan import Kind, Names
from tests.kernels.test_sort import MODES, Device, hard, kind_of
from tests.lib.oracles import SCHEDULES
from tests.mutation import without_barriers
from tests.rarely import rarely

THREADS, ITEMS = 256, 1
MOST = 8 * THREADS * ITEMS
"""Elements of a launch at most."""


@functools.cache
def program(key: str, word: str, mode: int, room: int = 2, kind: int = INTEGER):
    sizes = {"THREADS": THREADS, "ITEMS": ITEMS, "MOST": room, "BATCH": min(room, 2), "SAMPLES": 256, "BUCKETS": 8}
    types = {"K": key, "W": word, "V": "uint32", "VO": "int64"}
    return prism.check(sort_ranges, {**types, "VALUES": mode, "KIND": kind, **sizes})


def check(x, mode: int, *, descending=False, level=4, room=2, mutant=None, **how) -> None:
    """Sort an array, and compare with NumPy."""
    keys = plan.keys_of(kind_of(x.dtype.name, mode, descending))
    key, n = np.dtype(keys.type).type, len(x)
    floats = x.dtype.kind == "f"
    word = keys.type if mode == NONE and keys.size >= 4 else "uint64"
    y, values = np.zeros(n, key), np.arange(n, dtype=np.uint32) + 7
    moved, places = np.zeros(n, np.uint32), np.zeros(n, np.int64)
    arguments = (x.view(keys.type), y, values, moved, places, n, level, key(keys.flip), key(keys.lowest))
    one = mutant or program(keys.type, word, mode, room, FLOAT if floats else INTEGER)
    run(one, 1 << level, THREADS, arguments, check=True, **how)
    order = np.argsort((-x if floats else ~x) if descending else x, kind="stable")
    if mode == POSITIONS:
        assert np.array_equal(places, order)
        return
    assert y.tobytes() == x[order].tobytes()
    assert mode == NONE or np.array_equal(moved, order + 7)


@pytest.mark.parametrize(
    ("scalar", "mode"),
    rarely(
        [(scalar, mode) for scalar in ("int16", "uint32", "int32") for mode in MODES] + [("int64", NONE)],
        but=[("uint32", NONE), ("int16", GIVEN)],
    ),
)
def test_numbers_of_all_kinds(scalar: str, mode: int) -> None:
    check(hard(scalar, MOST - 77), mode)


@pytest.mark.parametrize("mode", rarely([NONE, POSITIONS], but=[NONE]))
def test_falling_orders(mode: int) -> None:
    check(hard("int32", 1700), mode, descending=True)


RUNS = [("half", 900, 3), ("uniform", 600, 3), ("uniform", MOST, 3)]
SPARE = [("ranges.py", name) for name in ("mine[...]", "own[...]", "sorted[...]", "sort_by_digits(sorted=...)")]
"""Around words that were not put into buckets: of one word a thread."""
DATA = {
    "uniform": lambda random, n: random.integers(0, 1 << 32, n),
    "equal": lambda random, n: np.full(n, 77),
    "half": lambda random, n: np.where(random.random(n) < 0.5, 1 << 20, random.integers(0, 1 << 32, n)),
    "few": lambda random, n: random.integers(0, 5, n) << 29,
    "narrow": lambda random, n: random.integers(1 << 20, 1 << 21, n),
    "sorted": lambda random, n: np.sort(random.integers(0, 1 << 32, n)),
    "clustered": lambda random, n: random.integers(0, 9, n) << 28 | random.integers(0, 9, n),
}


@pytest.mark.parametrize(
    ("data", "scalar", "mode"),
    rarely(
        [(data, *how) for data in DATA for how in (("uint32", NONE), ("uint32", POSITIONS), ("uint64", NONE))],
        but=[("half", "uint32", NONE), ("few", "uint32", POSITIONS), ("equal", "uint64", NONE)],
    ),
)
def test_data_of_all_kinds(data: str, scalar: str, mode: int) -> None:
    """Buckets of very many equal words are sorted by digits, those of the sample by a network."""
    check(DATA[data](np.random.default_rng(1), 1500).astype(scalar), mode)


FLOATS = {
    "normal": lambda random, n: random.standard_normal(n),
    "hard": lambda random, n: hard("float32", n),
    "small": lambda random, n: random.standard_normal(n) * 1e-40,
    "many decades": lambda random, n: np.exp(random.uniform(-80, 80, n)) * random.choice([-1, 1], n),
    "half": lambda random, n: np.where(random.random(n) < 0.5, 1.5, random.standard_normal(n)),
    "zeros": lambda random, n: random.choice([0.0, -0.0], n),
    "infinite": lambda random, n: random.choice([np.inf, -np.inf, 1.0, np.nan], n),
}


@pytest.mark.parametrize(
    ("data", "mode", "descending"),
    rarely(
        [(data, mode, falls) for data in FLOATS for mode in MODES for falls in (False, True)],
        but=[("hard", NONE, True), ("normal", POSITIONS, False)],
    ),
)
def test_floats(data: str, mode: int, descending: bool) -> None:
    """Both zeros, and all NaNs, are equal, and stand as they stood; buckets are even parts of numbers, not of bits."""
    check(FLOATS[data](np.random.default_rng(4), 900).astype(np.float32), mode, descending=descending, level=3)


@pytest.mark.parametrize("scalar", rarely(["uint32", "int16", "uint64", "float32"], but=["uint32"]))
def test_a_part_that_is_too_full(scalar: str) -> None:
    """The cluster sorts all of them, and writes its range."""
    check(hard(scalar, MOST), NONE, level=3, room=1)
    check(hard(scalar, MOST), NONE, level=4, room=1)


def test_sizes() -> None:
    for n in (256, 257, MOST):
        check(hard("uint32", n, n), NONE, level=3)


@pytest.mark.parametrize(("schedule", "seed"), rarely(SCHEDULES, but=[SCHEDULES[-1]]))
def test_every_schedule(schedule: str, seed: int) -> None:
    check(DATA["half"](np.random.default_rng(2), 900).astype(np.uint32), NONE, level=3, schedule=schedule, seed=seed)


@pytest.mark.slow
@pytest.mark.parametrize("part", rarely(range(3), but=[0]))
def test_each_inferred_barrier_is_needed(part: int) -> None:
    """But for those that mend what no additions have disordered, and `SPARE`."""
    random, missed = np.random.default_rng(3), []
    some = [(DATA[kind](random, n).astype(np.uint32), level) for kind, n, level in RUNS]
    for barrier, mutant in [*without_barriers(program("uint32", "uint32", NONE, 1))][part::3]:
        try:
            for x, level in some:
                check(x, NONE, level=level, room=1, mutant=mutant)
            missed.append((Path(barrier.second.span.file).name, barrier.second.text))
        except (RaceError, UninitialisedError, AssertionError):
            pass
    assert not [
        one for one in missed if one[0] in ("ranges.py", "choose.py", "buckets.py", "cluster.py") and one not in SPARE
    ]


def test_which_sorts_are_by_ranges() -> None:
    def launched(n: int, many: int = 1, *, in_place: bool = False, **kind) -> set[str]:
        names = Names() if kind.get("elements", True) else Names(places=prism.host.plan.Buffer(prism.host.plan.OUT))
        steps = plan.rows(Kind(**kind), many, n, Device(), aligned=True, names=names, in_place=in_place).steps
        return {step.instance.kernel.__name__ for step in steps if hasattr(step, "instance")}

    by_ranges = {"sort_ranges"}
    for n in (20_000, 1 << 15, 1 << 16):
        assert launched(n, scalar="int32") == by_ranges
    assert launched(1 << 16, scalar="int16") == launched(1 << 16, scalar="int64") == by_ranges
    assert launched(1 << 16, scalar="int32", elements=False, places="int64") == by_ranges
    assert launched(1 << 16, scalar="int32", values="uint32") == by_ranges
    assert launched(1 << 16, scalar="float32") == launched(1 << 16, scalar="float32", values="uint32") == by_ranges
    assert launched(1 << 16, scalar="float32", elements=False, places="int64") == by_ranges
    assert launched(1 << 16, scalar="int32", in_place=True) == {"sort_resident"}
    assert (
        launched(1 << 16, scalar="float64") == launched(1 << 17, scalar="int32", values="uint32") == {"sort_resident"}
    )
    assert (
        launched((1 << 16) + 1, scalar="int32")
        == launched(1 << 20, scalar="int32")
        == launched(1 << 19, scalar="float32")
        == {"sort_shares", "sort_resident"}
    )
    assert launched(1 << 20, scalar="float32") == {"sort_resident"}
    assert launched(1 << 16, 3, scalar="int32") == {"sort_cluster"}
    assert "sort_ranges" not in launched(1 << 16, scalar="int64", elements=False, places="int64")
    assert ranges_of(4, INTEGER, GIVEN, (1 << 16) + 1) is None is ranges_of(8, FLOAT, NONE, 1 << 16)
