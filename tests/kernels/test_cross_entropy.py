"""Cross-entropy and its gradient on the reference machine, with all its checks, beside float64.

Kernels: kernels/losses: anywhere, cross_entropy, flat, rows. Tests of prism/lib/algorithms/losses: api, cases.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from prism import lib
from prism.interpret import SCHEDULES, RaceError, run
from prism.kernels.losses import (
    cross_entropy_backward,
    cross_entropy_backward_flat,
    loss_rows,
    sum_exponentials,
    sum_exponentials_anywhere,
)
from prism.lang.tree.plan import Program
from prism.runtime.instance import instance
from tests.kernels.test_move_tiles import aligned
from tests.mutation import without_barriers


def wanted(x: Any, labels: Any, smoothing: float, ignored: int = -100) -> tuple[Any, Any, Any]:
    """The losses, the logarithms and the gradient of the sum of losses, by float64."""
    x = x.astype(np.float64)
    top = x.max(axis=1, keepdims=True)
    logs = (top + np.log(np.exp(x - top).sum(axis=1, keepdims=True)))[:, 0]
    rows, there = np.arange(len(x)), labels != ignored
    losses = (1 - smoothing) * (logs - x[rows, np.where(there, labels, 0)]) + smoothing * (logs - x.mean(axis=1))
    gradient = np.exp(x - logs[:, None]) - smoothing / x.shape[1]
    gradient[rows, np.where(there, labels, 0)] -= 1 - smoothing
    return np.where(there, losses, 0), logs, np.where(there[:, None], gradient, 0)


@pytest.mark.parametrize("smoothing", [0.0, 0.25])
@pytest.mark.parametrize(("rows", "classes"), [(1, 1), (3, 7), (5, 1000), (2, 9001), (1, 40_000)])
def test_losses_and_gradients(rows: int, classes: int, smoothing: float) -> None:
    rng = np.random.default_rng(classes)
    x, labels = rng.normal(0, 4, (rows, classes)).astype(np.float32), rng.integers(0, classes, rows)
    labels[rows // 2] = -100
    losses, logs = lib.cross_entropy(x, labels, label_smoothing=smoothing)
    of, about, gradient = wanted(x, labels, smoothing)
    assert np.abs(losses - of).max() < 1e-5 and np.abs(logs - about).max() < 1e-5
    d = rng.normal(size=rows).astype(np.float32)
    found = lib.cross_entropy_backward(d, x, labels, logs, label_smoothing=smoothing)
    assert np.abs(found - d[:, None] * gradient).max() < 1e-5
    mean = lib.cross_entropy_backward(np.full(1, 0.5, np.float32), x, labels, logs, label_smoothing=smoothing, out=x)
    assert mean is x and np.abs(x - gradient / 2).max() < 1e-5


def test_scores_at_the_ends_and_labels_that_are_no_class() -> None:
    low, top = -np.inf, np.finfo(np.float32).max
    x = np.array([[low, 0, 0], [1e30, -1e30, 0], [top, top, low], [0, np.nan, 0], [0, 0, 0], [0, 0, 0]], np.float32)
    losses, logs = lib.cross_entropy(x, np.array([1, 0, 0, 0, 3, -1]))
    assert (
        np.allclose(losses[:3], [np.log(2), 0, 0])
        and np.isnan(losses[3:]).all()
        and np.isfinite(logs[[0, 1, 2, 4]]).all()
    )
    assert np.isinf(lib.cross_entropy(x[:1], np.array([0]))[0][0])
    rows = np.zeros((0, 5), np.float32)
    assert lib.cross_entropy(rows, np.zeros(0, int))[0].shape == (0,)


def parts(x: Any, chunks: int, program: Program | None = None, past: int = -1, **options: Any) -> Any:
    """The parts of rows of float32, by vectors of 4; they begin `past` elements behind a multiple of that, if not at one."""
    kernel = sum_exponentials if past < 0 else sum_exponentials_anywhere
    one = instance(kernel, (("T", "float32"), ("VECTORS", 2), ("WIDTH", 4)))
    found = np.zeros(len(x) * chunks, [(name, np.float32) for name in ("highest", "total", "plain")])
    run(
        program or one.program,
        len(x) * chunks,
        256,
        [x.ravel(), found, x.shape[1], x.shape[1], chunks, *(() if past < 0 else (past, 100, x.size))],
        check=True,
        **options,
    )
    return found.reshape(len(x), chunks)


@pytest.mark.parametrize(
    ("schedule", "n", "past"),
    [
        *((one, 5000, -1) for one in SCHEDULES), *((one, 5003, 1) for one in SCHEDULES), (SCHEDULES[0], 9, 3),
        *((SCHEDULES[0], n, 2) for n in (13, 14, 15, 5005, 5007)),
    ],
)  # fmt: skip
def test_rows_in_parts(schedule: str, n: int, past: int) -> None:
    """Also rows whose whole vectors are as many in each part: then the last part has what is no whole vector."""
    x = aligned(max(past, 0) + 2 * n, "float32")[max(past, 0) :].reshape(2, n)
    x[...] = np.random.default_rng(0).normal(0, 5, x.shape)
    found = parts(x, 3, past=past, schedule=schedule)
    sums = (found["total"] * np.exp(found["highest"].astype(np.float64))).sum(axis=1)
    assert np.allclose(sums, np.exp(x.astype(np.float64)).sum(axis=1), rtol=1e-5)
    assert np.array_equal(found["highest"].max(axis=1), x.max(axis=1))
    assert np.allclose(found["plain"].sum(axis=1), x.sum(axis=1), atol=1e-2)


@pytest.mark.parametrize(("lanes", "threads", "n"), [(3, 64, 60), (-1, 64, 500), (-1, 32, 256)])
def test_rows_that_are_held(lanes: int, threads: int, n: int) -> None:
    x, rows = aligned(5 * n, "float32").reshape(5, n), np.array([3, -100, 0, n - 1, n], np.int32)
    x[...] = np.random.default_rng(0).normal(0, 5, x.shape)
    losses, logs = np.full((2, 5), 7, np.float32)
    sizes = {"ITEMS": 8, "WIDTH": 4, "BLOCKS": 1, "WIDE": lanes < 0, "THREADS": 64, "RESIDENT": 1, "ROWS": 1, "WAY": 0}
    one = instance(loss_rows, tuple(sorted({"T": "float32", "L": "int32", **sizes}.items())))
    given = [x.ravel(), rows, losses, logs, 5, n, n, 0.1, -100, -np.inf, max(lanes, 0), 1]
    run(one.program, 5 if lanes < 0 else -(-(5 << lanes) // threads), threads, given, check=True)
    of, about, _ = wanted(x, np.where(rows == n, 0, rows), 0.1)
    assert np.abs(logs - about).max() < 1e-5 and np.abs(losses - of)[:4].max() < 1e-5 and np.isnan(losses[4])


def test_the_barrier_is_needed() -> None:
    x = aligned(600, "float32").reshape(1, 600)
    x[...] = np.random.default_rng(0).normal(size=600)
    one = instance(sum_exponentials, (("T", "float32"), ("VECTORS", 2), ("WIDTH", 4)))
    found = list(without_barriers(one.program))
    assert found
    for _, mutant in found:
        with pytest.raises(RaceError):
            for schedule in SCHEDULES:
                parts(x, 1, mutant, schedule=schedule, seed=0)


def test_gradients_by_vectors() -> None:
    x, dx = (aligned(3 * 2056, "float32") for _ in range(2))
    x[:] = np.random.default_rng(0).normal(size=x.size)
    labels = np.array([5, 2055, -1], np.int32)
    _, logs, gradient = wanted(x.reshape(3, -1), labels, 0.1, ignored=-1)
    template = {"T": "float32", "L": "int32", "EACH": 2, "WIDTH": 4}
    cross_entropy_backward[4, 256](
        np.ones(3, np.float32),
        x,
        labels,
        logs.astype(np.float32),
        dx,
        3,
        2056,
        1,
        2056,
        2056,
        0.1,
        -1,
        template=template,
        check=True,
    )
    assert np.abs(dx.reshape(3, -1) - gradient).max() < 1e-5


def test_what_is_refused() -> None:
    x, labels = np.zeros((3, 4), np.float32), np.zeros(3, int)
    for error, text, call in (
        (TypeError, "must be of bfloat16", lambda: lib.cross_entropy(np.zeros((3, 4), int), labels)),
        (TypeError, "int32 or int64", lambda: lib.cross_entropy(x, labels.astype(np.int8))),
        (ValueError, "one for each row", lambda: lib.cross_entropy(x, labels[:2])),
        (ValueError, "from 0 to 1", lambda: lib.cross_entropy(x, labels, label_smoothing=2)),
        (ValueError, "must have classes", lambda: lib.cross_entropy(x[:, :0], labels)),
        (ValueError, "`logs` must have shape", lambda: lib.cross_entropy_backward(x[:, 0], x, labels, x[:2, 0])),
        (TypeError, "`d` must be of float32", lambda: lib.cross_entropy_backward(np.ones(3), x, labels, x[:, 0])),
    ):
        with pytest.raises(error, match=text):
            call()


@pytest.mark.parametrize("n", [4, 7, 1001])
def test_gradients_by_vectors_of_two_rows(n: int) -> None:
    x, dx = (aligned(5 * n, "float32") for _ in range(2))
    x[:] = np.random.default_rng(n).normal(size=x.size)
    labels = np.array([0, n - 1, -1, 2, n], np.int32)
    _, logs, gradient = wanted(x.reshape(5, n), np.where(labels == n, 0, labels), 0.1, ignored=-1)
    gradient[4, 0] += 0.9  # what is no class has no place
    template = {"T": "float32", "L": "int32", "EACH": 2, "WIDTH": 4}
    given = [np.ones(5, np.float32), x, labels, logs.astype(np.float32), dx, 5, n, 1, 0.1, -1]
    cross_entropy_backward_flat[-(-5 * n // 2048), 256](*given, template=template, check=True)
    assert np.abs(dx.reshape(5, n) - gradient).max() < 1e-5
    given[4] = x  # in place
    cross_entropy_backward_flat[-(-5 * n // 2048), 256](*given, template=template, check=True)
    assert np.array_equal(x, dx)
