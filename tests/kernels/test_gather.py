"""Elements at indices on the reference machine, with all its checks: of every size, in range and out of it.

Tests of kernels/transform: gather; prism/lib/algorithms/take: plan, ships.
"""

from typing import Any

import numpy as np
import pytest

import prism
from prism.interpret import run
from prism.interpret.errors import MachineError
from prism.kernels.transform import gather
from prism.lib.algorithms.take import plan, ships
from tests.lib.oracles import SCHEDULES

TILE = 256


def take(x: Any, places: Any, *, skew: int = -1, **options: Any) -> Any:
    """Take elements by as many blocks as there are tiles; what is behind the result stays."""
    template = {"T": x.dtype.name, "I": places.dtype.name, "THREADS": 64, "ITEMS": 4, "WIDTH": 2}
    y = np.full(places.size + 5, 77).astype(x.dtype)
    given = (x, places, y, x.size, places.size, skew, False)
    run(prism.check(gather, template), -(-places.size // TILE), 64, given, check=True, **options)
    assert (y[places.size :] == 77).all()
    return y[: places.size]


@pytest.mark.parametrize("index", plan.INDICES)
@pytest.mark.parametrize("kind", ["uint8", "uint16", "uint32", "uint64", "complex128"])
def test_every_size(kind: str, index: str) -> None:
    random = np.random.default_rng(0)
    for n, extent in ((1, 1), (255, 3), (256, 1000), (257, 200), (1100, 7)):
        x = random.integers(0, 200, extent).astype(kind)
        places = random.integers(-extent, extent, n).astype(index)
        assert np.array_equal(take(x, places), np.take(x, places))


@pytest.mark.parametrize(("schedule", "seed"), SCHEDULES)
def test_what_is_out_of_range_wraps(schedule: str, seed: int) -> None:
    x, least = np.arange(7, dtype=np.uint32), np.iinfo(np.int64).min
    places = np.array([-8, -7, -1, 0, 6, 7, 20, 1 << 40, least, least + 1, -(least + 1)] * 40)
    assert np.array_equal(take(x, places, schedule=schedule, seed=seed), x[places % 7])


def test_indices_that_are_loaded_by_vectors() -> None:
    x = np.arange(500, dtype=np.uint32)
    for past in (0, 1):
        room = np.zeros(700, np.int64)
        begin = room.ctypes.data % 16 // 8 + past
        places = room[begin : begin + 600]
        places[:] = np.random.default_rng(1).integers(0, 500, 600)
        assert np.array_equal(take(x, places, skew=past), x[places])


def test_an_element_beyond_the_end_is_seen() -> None:
    """The machine would report a place that is not wrapped: so the tests above could fail."""
    x, places, y = np.zeros(4, np.uint32), np.full(4, 5), np.zeros(4, np.uint32)
    template = {"T": "uint32", "I": "int64", "THREADS": 64, "ITEMS": 4, "WIDTH": 2}
    with pytest.raises(MachineError):
        run(prism.check(gather, template), 1, 64, (x, places, y, 9, 4, -1, False), check=True)


def test_which_arrays_have_it() -> None:
    """Whole arrays, or those with one long axis, by indices of 32 and 64 bits; all that is asked for ships."""
    known = {tuple(sorted(dict(one.template).items(), key=str)) for one in ships.instances(None)}
    for moved in ("uint8", "complex128"):
        for index in plan.INDICES:
            found = {name: value for name, value in plan.template_of(moved, index).items()}
            assert tuple(sorted(found.items(), key=str)) in known and found["ITEMS"] % found["WIDTH"] == 0
