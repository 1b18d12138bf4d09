"""Operations on rows on the reference machine, with all its checks: each way to share a row, and each barrier left out.

Tests of kernels/rows: agree.py, backward.py, copied.py, elements.py, long.py, norms.py, own.py, prefetch.py, registers.py,
settle.py, settle_rows.py, skeleton.py, softmax.py, staged.py, sums.py.
"""

from __future__ import annotations

import functools
from typing import Any

import ml_dtypes  # noqa: F401 - NumPy knows bfloat16 then
import numpy as np
import pytest

import prism
from prism.interpret import MachineError, run
from prism.kernels import rows as kernels
from prism.kernels.rows.configurations import BESIDE, COPIED, HELD, LONG, NEXT, STAGED
from prism.lang import exp
from prism.lang.certify import ACCEPTED
from prism.lang.skeleton import certificate_of, describe
from prism.lib.lazy.closures import callable_of
from prism.lib.thread import operators
from tests.lib.oracles import SCHEDULES
from tests.mutation import without_barriers

# Blocks that share a row, threads of a block, lanes that do so where blocks have several rows (-1: all threads), how rows are
# read; and rows, elements of a row, elements of a vector.
LANES = (1, 64, 3, HELD, 21, 60, 4)
ONE = (1, 32, 0, HELD, 33, 8, 4)
BLOCK = (1, 64, -1, HELD, 3, 500, 4)
SINGLE = (1, 64, -1, HELD, 2, 333, 1)
CLUSTER = (2, 32, -1, HELD, 3, 500, 4)
FOUR = (4, 32, -1, HELD, 2, 700, 4)
IN_TURN = (1, 64, -1, NEXT, 5, 500, 4)
LANES_IN_TURN = (1, 64, 3, NEXT, 45, 60, 4)
CLUSTER_IN_TURN = (2, 32, -1, NEXT, 5, 500, 4)
STAGES = (1, 64, -1, STAGED, 5, 500, 4)
LANE_STAGES = (1, 64, 3, STAGED, 45, 60, 4)
CLUSTER_STAGES = (2, 64, -1, STAGED, 5, 1000, 4)
COPIES = (1, 64, -1, COPIED, 5, 500, 4)
CLUSTER_COPIES = (2, 64, -1, COPIED, 5, 1000, 4)
KEPT = (1, 64, -1, BESIDE, 13, 500, 4)
FULL = (1, 64, -1, BESIDE, 5, 1024, 8)
CLUSTER_FULL = (2, 64, -1, BESIDE, 13, 2048, 8)
FULL_WIDE = (1, 64, -1, BESIDE, 13, 512, 4)
CLUSTER_FULL_WIDE = (2, 64, -1, BESIDE, 13, 1024, 4)
CLUSTER_BESIDE = (2, 64, -1, BESIDE, 13, 1000, 4)
AGAIN = (1, 64, -1, LONG, 3, 1300, 4)
AGAIN_CLUSTER = (2, 32, -1, LONG, 2, 1300, 4)
SHAPES = {
    "lanes": LANES, "one": ONE, "block": BLOCK, "single": SINGLE, "cluster": CLUSTER, "four": FOUR, "long": AGAIN,
    "long cluster": AGAIN_CLUSTER, "in turn": IN_TURN, "lanes in turn": LANES_IN_TURN, "cluster in turn": CLUSTER_IN_TURN,
    "stages": STAGES, "lane stages": LANE_STAGES, "cluster stages": CLUSTER_STAGES,
    "copies": COPIES, "cluster copies": CLUSTER_COPIES,
    "kept": KEPT,
    "cluster beside": CLUSTER_BESIDE,
}  # fmt: skip
ITEMS = 8


def sizes(shape: tuple[Any, ...], threads: int = 512) -> dict[str, Any]:
    return {
        "ITEMS": ITEMS,
        "WIDTH": shape[6],
        "BLOCKS": shape[0],
        "WIDE": shape[2] < 0,
        "THREADS": threads,
        "RESIDENT": 1,
        "ROWS": 2 if shape[3] in (COPIED, BESIDE) else 1,
        "WAY": shape[3],
    }


def is_full(shape: tuple[Any, ...], items: int) -> bool:
    """Whether all threads have all vectors of a row that they have in turn."""
    return shape[3] == BESIDE and shape[5] == items * shape[1] * shape[0]


STEP = 2  # clusters that have rows in turn


def grid_of(shape: tuple[Any, ...]) -> tuple[int, int]:
    blocks, threads, lanes, way, rows, _, _ = shape
    if way in (NEXT, STAGED, BESIDE):
        return STEP * blocks, threads
    rows = -(-rows // sizes(shape)["ROWS"])
    return (blocks * rows if lanes < 0 else -(-(rows << lanes) // threads)), threads


def ahead_of(shape: tuple[Any, ...], otherwise: int = 0) -> int:
    return STEP if shape[3] in (NEXT, STAGED, BESIDE) else otherwise


def lanes_of(shape: tuple[Any, ...]) -> int:
    return max(shape[2], 0)


def numbers(shape: tuple[Any, ...], dtype: str = "float32", seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(shape[4], shape[5])).astype(dtype)


def softmax(x: np.ndarray, log: bool = False) -> np.ndarray:
    with np.errstate(invalid="ignore", divide="ignore"):
        wide = x.astype(np.float64) - x.astype(np.float64).max(axis=1, keepdims=True)
        total = np.exp(wide).sum(axis=1, keepdims=True)
        return wide - np.log(total) if log else np.exp(wide) / total


@functools.cache
def softmax_program(shape: tuple[Any, ...], dtype: str = "float32", log: bool = False):
    kinds = {
        "TI": dtype,
        "TO": dtype,
        "A": "float64" if dtype == "float64" else "float32",
        "LOG": log,
        "ONCE": dtype == "float16",
    }
    kinds["D"] = "float32" if dtype == "float16" else "float64"
    kinds["P"] = kernels.WidePair if dtype == "float64" else kernels.Pair
    return prism.check(kernels.softmax_rows, {**kinds, **sizes(shape)})


def run_softmax(
    shape: tuple[Any, ...], x: np.ndarray, log: bool = False, scale: float = 1.0, mutant: Any = None, **options
):
    y = np.full_like(x, 7)
    rows, n = x.shape
    program = mutant or softmax_program(shape, x.dtype.name, log)
    given = (x, y, rows, n, n, scale, -np.inf, lanes_of(shape), ahead_of(shape, 1))
    run(program, *grid_of(shape), given, check=True, **options)
    return y


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_softmax_by_all_who_may_share_a_row(shape: tuple[Any, ...], log: bool) -> None:
    x = numbers(shape)
    for schedule, seed in SCHEDULES[:3]:
        y = run_softmax(shape, x, log, schedule=schedule, seed=seed)
        # float32 rounds each exponential and sum: some units of its last place
        assert np.allclose(y, softmax(x, log), rtol=2e-6, atol=2e-6 if log else 0)


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_softmax_of_other_floats(dtype: str) -> None:
    shape = (*BLOCK[:6], 2)
    x = numbers(shape, dtype)
    near = (
        {"rtol": 1e-3, "atol": 1e-7} if dtype == "float16" else {"rtol": 1e-14}
    )  # half a unit of float16, or its smallest
    assert np.allclose(run_softmax(shape, x), softmax(x), **near)
    assert np.allclose(run_softmax(shape, x, scale=0.5), softmax(x / 2), **near)


@pytest.mark.parametrize(
    "shape",
    [LANES, BLOCK, CLUSTER, AGAIN, IN_TURN, STAGES],
    ids=["lanes", "block", "cluster", "long", "in turn", "stages"],
)
def test_rows_of_numbers_that_are_none(shape: tuple[Any, ...]) -> None:
    x = numbers((*shape[:4], 8, *shape[5:]))
    x[0, 5], x[1, 5], x[2] = np.nan, np.inf, -np.inf
    x[3, : shape[5] // 2] = -np.inf
    x[4, 7], x[5] = -np.inf, 3e38
    x[6] = np.where(np.arange(shape[5]) % 3, -1e4, 1e4)
    shape = (*shape[:4], 8, *shape[5:])
    for log in (False, True):
        assert np.allclose(
            run_softmax(shape, x, log), softmax(x, log), rtol=2e-6, atol=2e-6 if log else 0, equal_nan=True
        )


@functools.cache
def norm_program(shape: tuple[Any, ...], centred: bool, parts: tuple[bool, bool, bool], dtype: str = "float32"):
    weight, bias, residual = parts
    flags = {
        "CENTRED": centred,
        "WEIGHT": weight,
        "BIAS": bias,
        "RESIDUAL": residual,
        "S": kernels.WidePair if centred else "float64",
        "P": kernels.WidePair,
        "G": kernels.Three if dtype == "float32" else dtype,
    }
    return prism.check(
        kernels.norm_rows,
        {"TI": dtype, "W": "float32", "A": "float32", "D": "float64", **flags, **sizes(shape)},
    )


def run_norm(
    shape: tuple[Any, ...], centred: bool, parts: tuple[bool, bool, bool], mutant: Any = None, far: float = 0, **options
) -> None:
    x, z, (w, v) = numbers(shape) + 3, numbers(shape, seed=1), numbers((*shape[:4], 2, *shape[5:]), seed=2)
    x[:, :8] += np.float32(far)
    y, added = np.full_like(x, 7), np.full_like(x, 7)
    rows, n = x.shape
    program = mutant or norm_program(shape, centred, parts)
    given = (x, z, w, v, y, added, rows, n, n, n, 1e-5, 1 / n, lanes_of(shape), ahead_of(shape))
    run(program, *grid_of(shape), given, check=True, **options)
    wide = (x + z if parts[2] else x).astype(np.float64)
    if centred:
        wide -= wide.mean(axis=1, keepdims=True)
    wanted = wide / np.sqrt((wide * wide).mean(axis=1, keepdims=True) + 1e-5)
    wanted = wanted * (w if parts[0] else 1) + (v if parts[1] else 0)
    assert np.allclose(y, wanted, rtol=1e-5, atol=5e-6)
    assert (added == (x + z if parts[2] else 7)).all()


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_norms_by_all_who_may_share_a_row(shape: tuple[Any, ...], centred: bool) -> None:
    run_norm(shape, centred, (True, centred, False))
    run_norm(shape, centred, (False, False, True), schedule="random", seed=4)


@pytest.mark.parametrize("far", [1e3, -3e5])
@pytest.mark.parametrize("shape", [LANES, BLOCK, STAGES, COPIES, CLUSTER_COPIES, CLUSTER_BESIDE])
def test_norms_of_rows_that_begin_far_from_their_mean(shape: tuple[Any, ...], far: float) -> None:
    """What elements are off a guess is added up, which the first one must not be: the variance would suffer."""
    run_norm(shape, True, (True, True, False), far=far)


@pytest.mark.parametrize("shape", [COPIES, CLUSTER_BESIDE])
def test_norms_of_short_elements_and_wide_weights(shape: tuple[Any, ...]) -> None:
    """A vector of 8 elements has weights of 32 bytes, which are loaded as two."""
    shape = (*shape[:5], shape[5] // 8 * 8, 8)
    x, w, v = numbers(shape, "float16"), *numbers((*shape[:4], 2, *shape[5:]), seed=2)
    rows, n = x.shape
    y = np.full_like(x, 7)
    program = norm_program(shape, True, (True, True, False), "float16")
    given = (x, x, w, v, y, y, rows, n, n, n, 1e-5, 1 / n, lanes_of(shape), ahead_of(shape))
    run(program, *grid_of(shape), given, check=True)
    wide = x - x.mean(axis=1, keepdims=True, dtype=np.float64)
    wanted = wide / np.sqrt((wide * wide).mean(axis=1, keepdims=True) + 1e-5) * w + v
    assert np.allclose(y, wanted, rtol=1e-3, atol=1e-3)  # half a bit of float16 is 5e-4


@functools.cache
def own_program(shape: tuple[Any, ...]):
    functions = {
        "FIRST": callable_of(lambda x: x), "OP": operators.maximum, "SECOND": callable_of(lambda x, a: exp(x - a)),
        "OP2": operators.add, "FUNCTION": callable_of(lambda x, a, b, c, d: x / b * c + d),
    }  # fmt: skip
    kinds = dict.fromkeys(("TI", "TO", "A", "C", "D"), "float32")
    flags = {"STAGES": 2, "COLUMNS": 2, "KEEP": True, "MEAN": False, "MEAN2": True, "P": kernels.Pair}
    return prism.check(kernels.own_rows, {**kinds, **flags, **functions, **sizes(shape)})


@pytest.mark.parametrize(
    "shape",
    [LANES, BLOCK, CLUSTER, AGAIN, IN_TURN, STAGES],
    ids=["lanes", "block", "cluster", "long", "in turn", "stages"],
)
def test_an_operation_of_ones_own(shape: tuple[Any, ...]) -> None:
    x, (c, d) = numbers(shape), numbers((*shape[:4], 2, *shape[5:]), seed=2)
    y = np.full_like(x, 7)
    rows, n = x.shape
    given = (x, c, d, y, rows, n, n, 1 / n, -np.inf, 0.0, lanes_of(shape), ahead_of(shape))
    run(own_program(shape), *grid_of(shape), given, check=True)
    assert np.allclose(y, softmax(x) * n * c + d, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_gradients_of_softmax(shape: tuple[Any, ...]) -> None:
    for log in (False, True):
        x, dy = numbers(shape), numbers(shape, seed=1)
        y, dx = softmax(x, log).astype(np.float32), np.full_like(x, 7)
        kinds = {"TI": "float32", "TO": "float32", "A": "float32", "D": "float64", "LOG": log}
        program = prism.check(kernels.softmax_backward_rows, {**kinds, **sizes(shape)})
        rows, n = x.shape
        run(program, *grid_of(shape), (y, dy, dx, rows, n, n, n, 0.5, lanes_of(shape), ahead_of(shape)), check=True)
        share = softmax(x)
        wanted = dy - share * dy.sum(axis=1, keepdims=True)
        if not log:
            wanted = share * (dy - (share * dy).sum(axis=1, keepdims=True))
        assert np.allclose(dx, wanted / 2, rtol=1e-5, atol=2e-6)


def run_norm_backward(
    shape: tuple[Any, ...],
    centred: bool,
    step: int,
    mutant: Any = None,
    dtype: str = "float32",
    near: float = 1e-5,
    weighed: str = "float32",
    far: float = 1.0,
    **options,
) -> None:
    blocks, threads, lanes, _, rows, n, _ = shape
    x, dy, w = numbers(shape, dtype), numbers(shape, dtype, seed=1), numbers(shape, weighed, seed=2)[0]
    x = x + np.full(1, far, dtype)
    groups = step if lanes < 0 else step * (threads >> lanes)
    dx, dw, db = np.full_like(x, 7), *np.full((2, groups, n), 7, np.float32)
    given = (x, dy, w, dx, dw, db, rows, n, n, n, step, 1e-5, 1 / n, lanes_of(shape))
    run(
        mutant or norm_backward_program(shape, centred, dtype, weighed),
        blocks * step,
        threads,
        given,
        check=True,
        **options,
    )
    wide = x.astype(np.float64)
    if centred:
        wide -= wide.mean(axis=1, keepdims=True)
    factor = 1 / np.sqrt((wide * wide).mean(axis=1, keepdims=True) + 1e-5)
    normal, weighed = wide * factor, dy * w.astype(np.float64)
    mean = weighed.mean(axis=1, keepdims=True) if centred else 0
    wanted = factor * (weighed - mean - normal * (weighed * normal).mean(axis=1, keepdims=True))
    assert np.allclose(dx, wanted, rtol=near, atol=near)
    assert np.allclose(dw.sum(axis=0), (dy * normal).sum(axis=0), rtol=1e-5, atol=2e-5 * far)
    assert np.allclose(db.sum(axis=0), dy.sum(axis=0, dtype=np.float64), rtol=1e-5, atol=2e-5)


@functools.cache
def norm_backward_program(shape: tuple[Any, ...], centred: bool, dtype: str = "float32", weighed: str = "float32"):
    _, threads, _, way, _, _, width = shape
    wide, items = weighed == "float32", ITEMS * max(width // 4, 1)
    flags = {
        "CENTRED": centred, "WEIGHT": True, "BIAS": True, "FULL": is_full(shape, items),
        "D": "float64" if wide else "float32", "F": kernels.WideSlopes if wide else kernels.Slopes,
        "G": kernels.Three if dtype == "float32" else dtype,
    }  # fmt: skip
    pair = kernels.WidePair if wide else kernels.Pair
    found = sizes(shape, threads if flags["FULL"] else 512) | {"WAY": NEXT if way == HELD else way, "ITEMS": items}
    types = {"TI": dtype, "W": weighed, "A": "float32", "S": flags["F"] if centred else pair}
    return prism.check(kernels.norm_backward_rows, types | flags | found)


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize(
    "shape",
    [shape for shape in SHAPES.values() if shape[3] not in (COPIED, LONG, NEXT)],
    ids=[name for name, shape in SHAPES.items() if shape[3] not in (COPIED, LONG, NEXT)],
)
def test_gradients_of_norms(shape: tuple[Any, ...], centred: bool) -> None:
    for step, (schedule, seed) in zip((1, 2, 3), SCHEDULES, strict=False):
        run_norm_backward(shape, centred, step, schedule=schedule, seed=seed)


@pytest.mark.parametrize("far", [1.0, 300.0])
@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize(
    "shape", [(1, 64, -1, BESIDE, 5, 1000, 8), FULL, CLUSTER_FULL], ids=["some", "full", "cluster"]
)
def test_gradients_of_bfloat16(shape: tuple[Any, ...], centred: bool, far: float) -> None:
    """Where all threads have all vectors, and where some have not; far from 0, too."""
    run_norm_backward(shape, centred, 2, dtype="bfloat16", weighed="bfloat16", near=8e-3, far=far)  # a bit is 7.8e-3


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("shape", [FULL_WIDE, CLUSTER_FULL_WIDE], ids=["full", "cluster"])
def test_gradients_where_threads_have_all_vectors(shape: tuple[Any, ...], centred: bool) -> None:
    run_norm_backward(shape, centred, 3)


def test_gradients_of_short_elements_and_wide_weights() -> None:
    run_norm_backward((*CLUSTER_BESIDE[:6], 8), True, 2, dtype="float16", near=1e-3)  # half a bit of float16 is 5e-4


@pytest.mark.parametrize(
    "shape",
    [BLOCK, AGAIN, IN_TURN, STAGES],
    ids=["block", "long", "in turn", "stages"],
)
def test_no_barrier_can_be_left_out(shape: tuple[Any, ...]) -> None:
    x = numbers(shape)
    found = list(without_barriers(softmax_program(shape)))
    assert found
    for _, mutant in found:
        with pytest.raises((MachineError, AssertionError)):
            for schedule, seed in SCHEDULES:
                assert np.allclose(
                    run_softmax(shape, x, mutant=mutant, schedule=schedule, seed=seed), softmax(x), rtol=2e-6
                )


@pytest.mark.parametrize(
    "shape", [CLUSTER, AGAIN_CLUSTER, CLUSTER_IN_TURN, CLUSTER_STAGES, CLUSTER_COPIES, CLUSTER_BESIDE]
)
def test_blocks_of_a_cluster_never_meet(shape: tuple[Any, ...]) -> None:
    """They gather: tests/lang/intrinsics/test_gathers.py says what that waits for."""
    assert not any(plan.barriers for plan in softmax_program(shape).plans.values())


def test_no_barrier_between_rows_can_be_left_out() -> None:
    found = list(without_barriers(norm_backward_program(BLOCK, False)))
    assert len(found) >= 2
    for _, mutant in found:
        with pytest.raises((MachineError, AssertionError)):
            for schedule, seed in SCHEDULES:
                run_norm_backward(BLOCK, False, 1, mutant=mutant, schedule=schedule, seed=seed)


@pytest.mark.parametrize("centred", [False, True])
def test_certificates_of_wide_rows_that_ship_are_accepted(centred: bool) -> None:
    found = certificate_of(norm_program(CLUSTER_COPIES, centred, (True, centred, False)))
    assert found.finding.status == ACCEPTED, describe(found)
