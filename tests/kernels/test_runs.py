"""Runs of equal keys on the reference machine, with all its checks."""

import functools
import math

import numpy as np
import pytest

import prism
from prism.interpret import RaceError, run
from prism.kernels.scan import Configuration, for_runs, reduce_runs
from prism.lib.operators import BY_NAME
from tests.lib.oracles import CASES, SCHEDULES, Case
from tests.mutation import without_barriers
from tests.rarely import rarely

SMALL = Configuration(threads=64, items=4, width=2, blocks=1)
ADD = CASES[0]


@functools.cache
def program(kind: str, function, keyed: int = 1):
    template = {"T": kind, "TI": kind, "TO": kind, "K": "int32", "OP": function, "KEYED": keyed}
    return prism.check(reduce_runs, {**template, **SMALL.template()})


def check(case: Case, x, heads, *, blocks=3, initial=None, mutant=None, scratch=None, **options) -> None:
    """Reduce the runs that begin at `heads`, and compare with the definition."""
    kind, n = str(case.dtype), len(x)
    keys = np.cumsum(heads, dtype=np.int32) % 3
    unique, y, number = np.full(n, 77, np.int32), np.full(n, 77, case.dtype), np.zeros(1, np.int64)
    begin = case.identity if initial is None else initial
    words, marks, control = scratch or fresh(kind)
    code = mutant or program(kind, case.function)
    values = (keys, x, unique, y, number, n, False, case.identity, begin, words, marks, 64, control)
    run(code, blocks, SMALL.threads, values, check=True, **options)
    starts = np.flatnonzero(heads)
    parts = np.split(x, starts[1:])
    wanted = [case.inclusive(np.concatenate([np.array([begin], case.dtype), part]))[-1] for part in parts]
    assert number[0] == len(starts)
    assert np.array_equal(unique, np.concatenate([keys[starts], np.full(n - len(starts), 77)]))
    assert np.array_equal(y[: len(starts)], wanted) and (y[len(starts) :] == 77).all()


def fresh(kind: str):
    return (
        np.zeros(64 * (1 if np.dtype(kind).itemsize <= 4 else 2), np.uint64),
        np.zeros(64, np.uint64),
        np.zeros(1, np.uint64),
    )


def some_heads(size: int, gap: int, seed: int = 0):
    heads = np.random.default_rng(seed).random(size) < 1 / gap
    heads[0] = True
    return heads


@pytest.mark.parametrize("case", CASES, ids=str)
def test_operators(case: Case) -> None:
    for gap in (1, 7, 300):
        check(case, case.data(1397), some_heads(1397, gap))


@pytest.mark.parametrize("size", [1, 2, 31, 32, 33, 255, 256, 257, 511, 512, 513, 1000])
@pytest.mark.parametrize("gap", [1, 2, 40, 5000])
def test_sizes(size: int, gap: int) -> None:
    check(ADD, ADD.data(size), some_heads(size, gap, seed=size), initial=5)


@pytest.mark.parametrize("size", [1, 2, 255, 256, 257, 1000])
@pytest.mark.parametrize("gap", [1, 2, 40])
def test_keys_in_vectors(size: int, gap: int) -> None:
    mutant = program("int32", ADD.function, keyed=2)
    check(ADD, ADD.data(size), some_heads(size, gap, seed=size), mutant=mutant)


@pytest.mark.parametrize(("schedule", "seed"), SCHEDULES)
def test_schedules(schedule: str, seed: int) -> None:
    for blocks in (1, 2, 8):
        check(ADD, ADD.data(2100), some_heads(2100, 500), blocks=blocks, schedule=schedule, seed=seed)
    check(ADD, ADD.data(2100), some_heads(2100, 500), resident=1, schedule=schedule, seed=seed)


def test_nothing_is_cleared_between_launches() -> None:
    scratch = fresh("int32")
    for number in range(1, 8):
        check(ADD, ADD.data(200 * number), some_heads(200 * number, 30, number), blocks=number, scratch=scratch)
        assert scratch[2][0] == number << 32


def test_each_inferred_barrier_is_needed() -> None:
    found = list(without_barriers(program("int32", ADD.function)))
    assert found
    for _, mutant in found:
        with pytest.raises(RaceError):
            for schedule, seed in SCHEDULES:
                check(ADD, ADD.data(2300), some_heads(2300, 700), blocks=2, mutant=mutant, schedule=schedule, seed=seed)


@pytest.mark.parametrize(
    "kind", rarely(["int8", "int16", "int32", "int64", "float32", "float64"], but=["int8", "float64"])
)
@pytest.mark.parametrize("key", rarely(["int8", "int32", "int64"], but=["int64"]))
def test_the_kernels_for_the_device_do_not_spill(kind: str, key: str) -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    c = for_runs(np.dtype(kind).itemsize, np.dtype(key).itemsize)
    template = {"T": kind, "TI": kind, "TO": kind, "K": key, "OP": BY_NAME["add"].function}
    template |= {**c.template(), "KEYED": math.gcd(16 // np.dtype(key).itemsize, c.width)}
    assert prism.compile(reduce_runs, template).spills == 0
