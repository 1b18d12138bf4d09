"""Run lengths on the reference machine, with all its checks: runs of any length, room for fewer, schedules, barriers.

Tests of prism/lib/algorithms/select: plan.
"""

import functools
from typing import Any

import numpy as np
import pytest

import prism
from prism.interpret import RaceError, run
from prism.kernels.select.encode import encode
from prism.lib.algorithms.select.plan import Kind, encode_configurations, encode_for
from tests.lib.oracles import SCHEDULES
from tests.mutation import without_barriers
from tests.rarely import rarely

SIZES = {"THREADS": 64, "ITEMS": 4, "WIDTH": 2, "BLOCKS": 1, "WORDS": 1}
KINDS = {"float32": {"H": "float32", "C": "float32"}, "uint8": {"H": "uint32", "C": "uint8"}}


@functools.cache
def program(name: str) -> Any:
    return prism.check(encode, {"T": name, "TI": name, **KINDS[name], **SIZES})


WORDS = {**SIZES, "ITEMS": 8, "WIDTH": 4}  # rows of four bytes, as they are held


def check(
    n: int, most: int, *, room: int | None = None, blocks: int = 3, name: str = "float32", code: Any = None,
    scratch: Any = None, skew: int = -1, y_skew: int = 0, **options: Any,
) -> None:  # fmt: skip
    """Find the runs of `n` elements, up to `most` long, and compare with the definition; what is behind them stays."""
    random = np.random.default_rng(n + most)
    x = np.repeat(np.arange(n) % 3, random.integers(1, most + 1, n))[:n].astype(name)
    starts = np.flatnonzero(np.append(True, x[1:] != x[:-1]))
    wanted, room = np.diff(starts, append=n), n if room is None else room
    y, lengths, kept = (
        np.full(room + 18, 77, name)[max(y_skew, 0) :],
        np.full(room + 18, 77, np.int64)[max(y_skew, 0) :],
        np.zeros(1, np.int64),
    )
    words, control = scratch or (np.zeros(64, np.uint64), np.zeros(1, np.uint64))
    zero = np.zeros((), name)[()]
    given = (x, y, lengths, kept, n, room, skew, y_skew, zero, zero, words, 64, control)
    run(code or program(name), blocks, 64, given, check=True, **options)
    there = min(room, starts.size)
    assert kept[0] == starts.size
    assert np.array_equal(y[:there], x[starts][:there]) and (y[there:] == 77).all()
    assert np.array_equal(lengths[:there], wanted[:there]) and (lengths[there:] == 77).all()


@pytest.mark.parametrize("name", KINDS)
def test_runs(name: str) -> None:
    for n in (1, 2, 255, 256, 257, 511, 512, 513, 3000):
        for most in (1, 3, 2000):
            check(n, most, name=name)


def test_bytes_in_words() -> None:
    code = prism.check(encode, {"T": "uint8", "TI": "uint8", **KINDS["uint8"], **WORDS})
    for n, most, skew in ((512, 1, 0), (2100, 3, 0), (2100, 90, 0), (2100, 3, 3), (513, 3, -1)):
        check(n, most, name="uint8", code=code, skew=skew)
        for y_skew in (-1, 1, 7):
            check(n, most, name="uint8", code=code, skew=skew, y_skew=y_skew)


def test_tiles_of_the_reference_machine() -> None:
    """Of 2^15 elements, each a run."""
    x = np.arange(1 << 17, dtype=np.uint8)
    values, lengths = prism.lib.run_length_encode(x)
    assert np.array_equal(values, x) and (lengths == 1).all()
    values, lengths = prism.lib.run_length_encode(np.repeat(x[:5], 30000))
    assert values.tolist() == [0, 1, 2, 3, 4] and (lengths == 30000).all()


def test_no_more_than_there_is_room_for() -> None:
    for most in (1, 3, 900):
        for room in (0, 1, 2, 255, 256, 257):
            check(1397, most, room=room)


@pytest.mark.parametrize(("schedule", "seed"), SCHEDULES)
def test_schedules(schedule: str, seed: int) -> None:
    for blocks, most in ((1, 3), (2, 400), (8, 2)):
        check(2100, most, blocks=blocks, schedule=schedule, seed=seed)


def test_nothing_is_cleared_between_launches() -> None:
    scratch = np.zeros(64, np.uint64), np.zeros(1, np.uint64)
    for number in range(1, 6):
        check(200 * number, 1 + number % 3, blocks=number, scratch=scratch)
        assert scratch[1][0] == number << 32


def test_each_inferred_barrier_is_needed() -> None:
    found = list(without_barriers(program("float32")))
    assert found
    for _, mutant in found:
        with pytest.raises(RaceError):
            for schedule, seed in SCHEDULES:
                check(1200, 2, blocks=2, code=mutant, schedule=schedule, seed=seed)


@pytest.mark.parametrize("name", rarely(["uint8", "uint16", "uint32", "uint64", "float64"], but=["uint32"]))
def test_the_kernels_for_the_device_do_not_spill(name: str) -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    kind = Kind(name, name, compared=name, own=True, edges=True)
    for c in encode_configurations(kind):
        instance = encode_for(kind, c)
        assert prism.compile(instance.kernel, dict(instance.template)).spills == 0
