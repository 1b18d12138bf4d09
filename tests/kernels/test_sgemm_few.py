"""Products of few rows on the reference machine, with all its checks: layouts, edges, parts of K, what comes after."""

import functools

import numpy as np
import pytest

import prism
from prism.interpret import SCHEDULES, run
from prism.kernels.sgemm.cut import FEW_THREADS, FewCut
from prism.kernels.sgemm.few import few
from prism.runtime.build import entry_of
from prism.runtime.compile import compile_cubin
from tests.rarely import rarely

ONE = FewCut(1, 1, True, 4)
CUTS = [
    FewCut(rows, parts, along, vector)
    for rows, parts in ((1, 1), (2, 4), (8, 2))
    for along in (False, True)
    for vector in (4, 0)
] + [FewCut(4, 2, along, vector, lanes=8, side=1) for along in (False, True) for vector in (4, 2, 1)]


@functools.cache
def program(cut, beta):
    return prism.check(few, {"CUT": cut, "BETA": beta})


def exact(m, n, k, cut=ONE, *, beta=0.0, gap=0, down=False, **options) -> bool:
    """Whether small integers, whose sums are exact, come out right, and nothing beside them is written.

    `gap`: elements between rows of B, or its columns, of NaN, as behind it. `down`: A is column-major.
    """
    rng = np.random.default_rng(m + n + k)
    a, b, before = (rng.integers(-3, 4, shape).astype(np.float32) for shape in ((m, k), (k, n), (m, n)))
    lying = b.T if cut.along else b
    held = np.full((lying.shape[0], lying.shape[1] + gap), np.nan, np.float32)
    held[:, : lying.shape[1]] = lying
    step = held.shape[1]
    out = np.full((m, n + 1), np.nan, np.float32)
    out[:, :n] = before
    left = np.ascontiguousarray(a.T if down else a)
    arguments = (
        left.reshape(-1), *((1, m) if down else (k, 1)), held.reshape(-1), *((1, step) if cut.along else (step, 1)),
        out.reshape(-1), n + 1, m, n, k, 2.0, beta,
    )  # fmt: skip
    run(program(cut, beta != 0), -(-n // cut.width) * cut.parts, FEW_THREADS, arguments, check=True, **options)
    assert np.isnan(out[:, n:]).all(), "written beside the result"
    return np.array_equal(out[:, :n], 2 * (a @ b) + (beta * before if beta else 0))


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("along", [False, True])
def test_schedules(along: bool, schedule: str) -> None:
    assert exact(2, 40, 600, FewCut(2, 2, along, 4), schedule=schedule, seed=1)


@pytest.mark.parametrize(
    "cut", rarely(CUTS, but=CUTS[::2]), ids=lambda cut: f"{cut.name} {'along' * cut.along} {cut.vector}"
)
def test_edges(cut: FewCut) -> None:
    """Of rows, columns, and K: of the last step, of a part, of what shared memory has."""
    odd = [(cut.rows, 131, 515), (1, 3, 1)] if cut.vector < 2 else [(cut.rows, 34, 530)]
    shapes = [(cut.rows, 132, 1028), (max(1, cut.rows - 1), 36, 4)] if cut.vector == 4 else odd
    assert all(exact(*shape, cut) for shape in shapes)


@pytest.mark.parametrize(("along", "vector", "gap"), [(False, 4, 4), (False, 1, 3), (True, 2, 2), (True, 0, 1)])
def test_rows_apart(along: bool, vector: int, gap: int) -> None:
    """What lies between rows is not read; A may be column-major."""
    assert exact(3, 36, 200, FewCut(4, 1, along, vector), gap=gap, down=True)


def test_what_was_there_is_added() -> None:
    assert exact(3, 40, 72, FewCut(4, 2, False, 4), beta=0.5)


FULL = [(rows, along, vector) for rows in (1, 8, 16) for along in (False, True) for vector in (4, 2, 0)]


@pytest.mark.parametrize(("rows", "along", "vector"), rarely(FULL, but=FULL[::5]))
def test_machine_code_spills_nothing(rows: int, along: bool, vector: int) -> None:
    code = program(FewCut(rows, 4, along, vector), False)
    assert compile_cubin(entry_of(code, "sm_90a").source, "sm_90a").spills == 0
