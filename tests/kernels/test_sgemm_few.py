"""Products of few rows on the reference machine, with all its checks: layouts, edges, parts of K, what comes after."""

import functools

import numpy as np
import pytest

import prism
from prism.interpret import SCHEDULES, run
from prism.kernels.hgemm import Terms, identity
from prism.kernels.sgemm.cut import FEW_THREADS, FewCut
from prism.kernels.sgemm.few import few
from prism.lang import device, float32, requires, thread
from prism.lang.types.shorts import bf16_bits
from prism.runtime.build import entry_of
from prism.runtime.compile import compile_cubin
from tests.rarely import rarely

ONE = FewCut(1, 1, True, True)
CUTS = [
    FewCut(rows, parts, along, wide)
    for rows, parts in ((1, 1), (2, 4), (8, 2))
    for along in (False, True)
    for wide in (True, False)
]
SHORT = [FewCut(4, 2, along, True, 8) for along in (False, True)]


@device
@requires(thread[1])
def relu(x: float32 @ thread[1]) -> float32 @ thread[1]:
    return x if x > 0.0 else 0.0


@functools.cache
def program(kind, cut, terms, epilogue):
    facts = {"T": kind, "TBIAS": kind, "OUT": "float32", "CUT": cut, "TERMS": terms, "EPILOGUE": epilogue}
    return prism.check(few, facts)


def exact(
    m, n, k, cut=ONE, *, kind="float32", beta=0.0, bias=0, scales=0, epilogue=identity, gap=0, down=False, **options
) -> bool:
    """Whether small integers, whose sums are exact, come out right, and nothing beside them is written.

    `gap`: elements between rows of B, or its columns, of NaN, as behind it. `down`: A is column-major.
    """
    rng = np.random.default_rng(m + n + k)
    a, b, before = (rng.integers(-3, 4, shape).astype(np.float32) for shape in ((m, k), (k, n), (m, n)))
    more, by = (
        rng.integers(-3, 4, max(m, n)).astype(np.float32),
        [np.arange(1, 1 + size, dtype=np.float32) for size in (m, n)],
    )
    bits = bf16_bits if kind == "bfloat16" else lambda x: x
    lying = b.T if cut.along else b
    held = np.full((lying.shape[0], lying.shape[1] + gap), np.nan, np.float32)
    held[:, : lying.shape[1]] = lying
    step = held.shape[1]
    out = np.full((m, n + 1), np.nan, np.float32)
    out[:, :n] = before
    left = np.ascontiguousarray(a.T if down else a)
    arguments = (
        bits(left).reshape(-1), *((1, m) if down else (k, 1)), bits(held).reshape(-1), *((1, step) if cut.along else (step, 1)),
        out.reshape(-1), n + 1, m, n, k, 2.0, beta, bits(more), *by,
    )  # fmt: skip
    code = program(kind, cut, Terms(scales, scales, bias, beta != 0), epilogue)
    run(code, -(-n // cut.width) * cut.parts, FEW_THREADS, arguments, check=True, **options)
    wanted = 2 * (a @ b) * (by[0][:, None] * by[1] if scales else 1) + (beta * before if beta else 0)
    wanted = wanted + (more[:n] if bias == 1 else more[:m, None] if bias == 2 else 0)
    assert np.isnan(out[:, n:]).all(), "written beside the result"
    return np.array_equal(out[:, :n], np.maximum(wanted, 0) if epilogue is relu else wanted)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("along", [False, True])
def test_schedules(along: bool, schedule: str) -> None:
    assert exact(2, 40, 600, FewCut(2, 2, along, True), schedule=schedule, seed=1)


@pytest.mark.parametrize("cut", CUTS, ids=lambda cut: f"{cut.name} {'along' * cut.along} {'wide' * cut.wide}")
def test_edges(cut: FewCut) -> None:
    """Of rows, columns, and K: of the last step, of a part, of what shared memory has."""
    shapes = [(cut.rows, 132, 1028), (max(1, cut.rows - 1), 36, 4)] if cut.wide else [(cut.rows, 131, 515), (1, 3, 1)]
    assert all(exact(*shape, cut) for shape in shapes)


@pytest.mark.parametrize("cut", SHORT, ids=["across", "along"])
def test_floats_of_16_bits(cut: FewCut) -> None:
    assert exact(3, 264, 520, cut, kind="bfloat16", gap=8)


@pytest.mark.parametrize(
    ("along", "wide", "gap"), [(False, True, 4), (False, False, 3), (True, True, 4), (True, False, 1)]
)
def test_rows_apart(along: bool, wide: bool, gap: int) -> None:
    """What lies between rows is not read; A may be column-major."""
    assert exact(3, 36, 200, FewCut(4, 1, along, wide), gap=gap, down=True)


@pytest.mark.parametrize(
    ("beta", "bias", "scales", "epilogue"), [(0.5, 0, 0, identity), (0.0, 1, 2, relu), (1.0, 2, 0, identity)]
)
def test_what_comes_after(beta: float, bias: int, scales: int, epilogue) -> None:
    assert exact(3, 40, 72, FewCut(4, 2, False, True), beta=beta, bias=bias, scales=scales, epilogue=epilogue)


FULL = [
    (rows, along, wide, each)
    for rows in (1, 8, 16)
    for along in (False, True)
    for wide, each in ((True, 4), (False, 4), (True, 8))
]


@pytest.mark.parametrize(("rows", "along", "wide", "each"), rarely(FULL, but=FULL[::5]))
def test_machine_code_spills_nothing(rows: int, along: bool, wide: bool, each: int) -> None:
    code = program("float32" if each == 4 else "bfloat16", FewCut(rows, 4, along, wide, each), Terms(), identity)
    assert compile_cubin(entry_of(code, "sm_90a").source, "sm_90a").spills == 0
