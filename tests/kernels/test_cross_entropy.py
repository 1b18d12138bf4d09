"""Cross-entropy and its gradient on the reference machine, with all its checks, beside float64.

Kernels: kernels/losses: cross_entropy. Tests of prism/lib/algorithms/losses: api, cases.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from prism import lib
from prism.interpret import SCHEDULES, RaceError, run
from prism.kernels.losses import cross_entropy_backward, sum_exponentials
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


def parts(x: Any, chunks: int, program: Program | None = None, **options: Any) -> Any:
    """The parts of rows of float32, by vectors of 4."""
    one = instance(sum_exponentials, (("T", "float32"), ("VECTORS", 2), ("WIDTH", 4)))
    found = np.zeros(len(x) * chunks, [(name, np.float32) for name in ("highest", "total", "plain")])
    run(
        program or one.program,
        len(x) * chunks,
        256,
        [x.ravel(), found, x.shape[1], x.shape[1], chunks],
        check=True,
        **options,
    )
    return found.reshape(len(x), chunks)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_rows_in_parts(schedule: str) -> None:
    x = aligned(2 * 5000, "float32").reshape(2, 5000)
    x[...] = np.random.default_rng(0).normal(0, 5, x.shape)
    found = parts(x, 3, schedule=schedule)
    sums = (found["total"] * np.exp(found["highest"].astype(np.float64))).sum(axis=1)
    assert np.allclose(sums, np.exp(x.astype(np.float64)).sum(axis=1), rtol=1e-5)
    assert np.array_equal(found["highest"].max(axis=1), x.max(axis=1))
    assert np.allclose(found["plain"].sum(axis=1), x.sum(axis=1), atol=1e-2)


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
