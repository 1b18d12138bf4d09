"""Rows sorted by clusters on the reference machine, with all its checks.

Tests of kernels/sort/cluster.py, prism/lib/algorithms/sort/cluster.py.
"""

import functools

import numpy as np
import pytest

import prism
from prism.interpret import RaceError, UninitialisedError, run
from prism.kernels.sort import CLUSTER_BLOCKS, GIVEN, NONE, POSITIONS, cluster_of, sort_cluster
from prism.lib.algorithms.sort import plan
from prism.lib.algorithms.sort_rows.plan import Kind, Names
from tests.kernels.test_sort import MODES, Device, hard, kind_of
from tests.lib.oracles import SCHEDULES
from tests.mutation import without_barriers
from tests.rarely import rarely

BLOCKS, THREADS, ITEMS = 2, 256, 4
MOST = BLOCKS * THREADS * ITEMS


@functools.cache
def program(key: str, kind: int, mode: int):
    sizes = {"BLOCKS": BLOCKS, "THREADS": THREADS, "ITEMS": ITEMS, "BATCH": 2}
    return prism.check(sort_cluster, {"K": key, "V": "uint32", "VO": "int64", "KIND": kind, "VALUES": mode, **sizes})


def check(x, mode: int, *, descending=False, mutant=None, **options) -> None:
    """Sort the rows of a matrix, and compare."""
    keys = plan.keys_of(kind_of(x.dtype.name, mode, descending))
    rows, n = x.shape
    key = np.dtype(keys.type).type
    y, values = np.zeros(x.size, key), np.arange(x.size, dtype=np.uint32)
    moved, places = np.zeros(x.size, np.uint32), np.zeros(x.size, np.int64)
    arguments = (x.reshape(-1).view(keys.type), y, values, moved, places, n, key(keys.flip), key(keys.lowest))
    one = mutant or program(keys.type, keys.kind, mode)
    run(one, BLOCKS * rows, THREADS, arguments, check=True, **options)
    with np.errstate(invalid="ignore"):  # signalling NaNs
        wide = x.astype(np.float64)
    order = np.argsort(-wide if descending else wide, axis=1, kind="stable")  # NaN last; of what a float64 holds
    if mode == POSITIONS:
        assert np.array_equal(places.reshape(rows, n), order)
        return
    found, wanted = y.view(x.dtype).reshape(rows, n), np.take_along_axis(x, order, 1)
    assert np.array_equal(found, wanted, equal_nan=x.dtype.kind == "f")
    numbers = wanted == wanted  # NaNs alone stand in the order of their bits
    assert np.array_equal(found[numbers].view(np.uint8), wanted[numbers].view(np.uint8))
    assert mode == NONE or np.array_equal(moved.reshape(rows, n), order + n * np.arange(rows)[:, None])


@pytest.mark.parametrize(
    ("scalar", "mode"),
    rarely(
        [(scalar, mode) for scalar in ("uint8", "int16", "float16", "uint32", "float32") for mode in MODES],
        but=[("uint32", NONE), ("float32", NONE), ("float16", POSITIONS), ("int16", GIVEN)],
    ),
)
def test_numbers_of_all_kinds(scalar: str, mode: int) -> None:
    check(hard(scalar, 2 * 1999).reshape(2, -1), mode)


def test_sizes() -> None:
    for n in (1, 31, 1023, 1024, 1025, MOST - 1, MOST):
        check(hard("uint8", n, n).reshape(1, n), NONE if n % 3 else POSITIONS)


@pytest.mark.parametrize("mode", MODES)
def test_a_falling_order_keeps_that_of_equals(mode: int) -> None:
    check(hard("float16", 1500).reshape(1, -1), mode, descending=True)


@pytest.mark.parametrize("share", [0.3, 0.97, 1])
def test_one_number_very_often(share: float) -> None:
    random = np.random.default_rng(1)
    x = np.where(random.random(1900) < share, 255, random.integers(0, 256, 1900)).astype(np.uint8)
    for mode in MODES:
        check(x.reshape(1, -1), mode)


@pytest.mark.parametrize(("schedule", "seed"), SCHEDULES)
def test_schedules(schedule: str, seed: int) -> None:
    """Lanes add in many orders: what stands wrong is mended."""
    for mode in MODES:
        check(hard("int16", 1700).reshape(1, -1), mode, schedule=schedule, seed=seed)


@pytest.mark.parametrize("mode", rarely(list(MODES), but=[GIVEN]))
def test_each_inferred_barrier_is_needed(mode: int) -> None:
    x = hard("uint16", 2000)
    often = np.where(np.random.default_rng(0).random(2000) < 0.5, x[7], x[::-1]).astype("uint16")
    keys = plan.keys_of(kind_of("uint16", mode))
    found = list(without_barriers(program(keys.type, keys.kind, mode)))
    assert found
    for barrier, mutant in found:
        with pytest.raises((RaceError, UninitialisedError, AssertionError)):
            for schedule, seed in SCHEDULES:
                for data in (x, often):
                    check(data.reshape(1, -1), mode, mutant=mutant, schedule=schedule, seed=seed)
            print(barrier.first.span, barrier.second.span)


def test_which_sorts_are_clusters() -> None:
    def name(scalar: str, many: int, n: int, arch: str = "sm_90a", **more) -> str:
        device = Device()
        device.arch = arch
        return plan.rows(Kind(scalar, **more), many, n, device, names=Names()).steps[-1].instance.kernel.__name__

    assert name("uint32", 1, 1 << 14) == name("float32", 1, 1 << 14) == name("uint32", 64, 1 << 17) == "sort_cluster"
    assert name("uint32", 1, (1 << 16) + 1) == name("uint32", 1, 1 << 21) == "sort_resident"
    assert name("uint32", 1, 1 << 20, values="uint32") == name("uint32", 1, 1 << 20, places="int64", elements=False)
    assert (
        name("uint32", 1, 1 << 22) == name("uint64", 1, 1 << 21) == name("uint32", 1, 1 << 16, "sm_89") == "sort_digit"
    )
    assert name("uint32", 2, 1 << 18) == name("uint32", 1, 1 << 21, values="uint32") == "sort_digit"
    assert name("uint32", 1000, 1 << 14) != "sort_cluster" != name("uint32", 1, 1 << 13)
    assert name("uint32", 64, 1 << 16, "sm_89") != "sort_cluster" == name("uint16", 2, 40_000, values="uint64")


@pytest.mark.parametrize(("key", "value", "mode"), [(1, 4, 0), (2, 4, 1), (4, 4, 0), (4, 8, 2), (8, 8, 2), (8, 4, 1)])
def test_tiles_fit_into_shared_memory(key: int, value: int, mode: int) -> None:
    for n in (1, 1 << 14, 1 << 15, 1 << 16, 1 << 17):
        if c := cluster_of(key, value, mode, n, 2):
            tile = c.threads * c.items
            moved = 0 if mode == NONE else value
            beside = (c.threads // 32 + 4) * 256 * 4 + (2 * tile if mode == GIVEN else 0)
            assert n <= CLUSTER_BLOCKS * tile and 2 * tile * (key + moved) + beside <= 227 << 10


KEYS = [("uint32", {}), ("float32", {"elements": False, "places": "int64"}), ("int64", {"values": "uint64"})]


@pytest.mark.parametrize(
    ("scalar", "more", "n"),
    rarely(
        [(s, m, n) for s, m in KEYS for n in (1 << 13, 1 << 14, 1 << 15, 1 << 16, 1 << 17)],
        but=[("uint32", {}, 1 << 17)],
    ),
)
def test_the_kernels_for_the_device_do_not_spill(scalar: str, more: dict, n: int) -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    found = plan.rows(Kind(scalar, **more), 2, n, Device(), names=Names())
    one = found.steps[-1].instance
    assert prism.compile(one.kernel, dict(one.template)).spills == 0
