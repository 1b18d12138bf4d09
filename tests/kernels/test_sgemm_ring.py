"""The product by a ring of tiles on the reference machine, with all its checks: layouts, edges, parts, and what is chosen."""

import functools

import numpy as np
import pytest

import prism
from prism.interpret import SCHEDULES, run
from prism.kernels.sgemm.ring import combine, ring
from prism.kernels.sgemm.ring_configurations import LARGE, MEASURED, TILES, Cut, RingConfiguration, choose, clocks, grid
from prism.runtime.build import entry_of
from prism.runtime.compile import compile_cubin

HOST = RingConfiguration(64, 64, stages=2, columns=4, registers=200, unroll=1)


@functools.cache
def program(cut, transpose_a, wide, beta):
    return prism.check(ring, cut.template(transpose_a=transpose_a, wide=wide, beta=beta))


@functools.cache
def adder(wide, beta):
    return prism.check(combine, {"WIDE": wide, "BETA": beta})


def multiplied(
    m, n, k, cut=HOST, *, transpose_a=False, wide=True, beta=0.0, length=None, blocks=2, pad=4, **options,
):  # fmt: skip
    """Run the kernel, checked, on small integers, whose sums are exact; return what it makes, and what it should."""
    rng = np.random.default_rng(m + n + k)
    a, b, before = (rng.integers(-3, 4, shape).astype(np.float32) for shape in ((m, k), (k, n), (m, n)))
    whole = -(-k // cut.bk) * cut.bk
    length = length or whole
    parts = -(-k // length)
    out = np.full((m, n + pad), np.nan, np.float32)
    if beta:
        out[:, :n] = before
    given = np.ascontiguousarray(a.T) if transpose_a else a
    if parts == 1:
        arguments = (given, b, out.reshape(-1), n + pad, m, n, k, length, 2, 2.0, beta)
        run(program(cut, transpose_a, wide, beta != 0), blocks, cut.threads, arguments, check=True, **options)
    else:
        added = np.full(parts * m * n, np.nan, np.float32)
        arguments = (given, b, added, n, m, n, k, length, 2, 1.0, 0.0)
        run(program(cut, transpose_a, wide, False), blocks, cut.threads, arguments, check=True, **options)
        threads = m * n // (4 if wide else 1)
        arguments = (added, parts, out.reshape(-1), n + pad, m, n, 2.0, beta)
        run(adder(wide, beta != 0), -(-threads // 64), 64, arguments, check=True)
    assert np.isnan(out[:, n:]).all(), "written beside the result"
    return out[:, :n], 2 * (a @ b) + (beta * before if beta else 0)


def exact(*shape, **options) -> bool:
    found, wanted = multiplied(*shape, **options)
    return np.array_equal(found, wanted)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_schedules(schedule: str) -> None:
    assert exact(68, 72, 100, schedule=schedule, seed=1)


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("shape", [(4, 4, 4), (64, 64, 32), (68, 132, 36), (132, 60, 96)])
def test_edges(shape, transpose_a: bool) -> None:
    assert exact(*shape, transpose_a=transpose_a)


def test_rows_that_are_no_multiple_of_16_bytes_apart() -> None:
    assert exact(66, 68, 36, wide=False, beta=0.5, pad=1)


@pytest.mark.parametrize("transpose_a", [False, True])
def test_two_spans_of_k(transpose_a: bool) -> None:
    cut = RingConfiguration(64, 64, bk=64, stages=2, columns=4, registers=200, unroll=1)
    assert exact(68, 68, 132, cut, transpose_a=transpose_a)


@pytest.mark.parametrize("cut", [RingConfiguration(64, 128, columns=8, registers=200, stages=2, unroll=1), LARGE])
def test_wider_threads(cut: RingConfiguration) -> None:
    assert exact(64, 260, 40, cut)


@pytest.mark.parametrize("beta", [0.0, 0.5])
@pytest.mark.parametrize("wide", [False, True])
def test_parts(wide: bool, beta: float) -> None:
    assert exact(68, 68, 100, length=32, wide=wide, beta=beta)


def test_old_values_are_read_where_beta_is_not_0_alone() -> None:
    assert exact(64, 64, 32, beta=0.5)
    assert exact(64, 64, 32), "NaN in `out` counts for nothing"


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("cut", sorted({cut for cuts in TILES.values() for cut in cuts}, key=lambda cut: cut.name))
def test_machine_code(cut: RingConfiguration, transpose_a: bool) -> None:
    """No sum is kept in memory, and the shared memory is what the configuration says, and the barriers."""
    entry = entry_of(prism.check(ring, cut.template(transpose_a=transpose_a, wide=True, beta=False)), "sm_90a")
    assert cut.shared_bytes < entry.shared_bytes <= cut.shared_bytes + 128
    assert "px_keep_order();" in entry.source
    assert compile_cubin(entry.source, "sm_90a").spills == 0


@pytest.mark.parametrize("shape", [(1, 1, 1), (256, 256, 256), (1000, 1000, 1000), (5, 70000, 33), (8192, 8192, 8192)])
def test_what_is_chosen_adds_up_all_of_k_once(shape) -> None:
    m, n, k = shape
    cut = choose(m, n, k)
    assert (cut.parts - 1) * cut.length < k <= cut.parts * cut.length
    assert cut.length % cut.configuration.bk == 0
    assert 1 <= grid(cut, m, n, 132) <= 132 * cut.configuration.blocks


@pytest.mark.parametrize("shape", MEASURED)
def test_the_model_is_near_what_was_measured(shape) -> None:
    m, n, k, transpose_a = shape
    found, parts, rate, _ = MEASURED[shape]
    length = -(-k // parts // found.bk) * found.bk
    measured = 2 * m * n * k / rate / 1e12 * 1.98e9
    near = pytest.approx(measured, rel=0.05)  # runs differ by 1 %; the rest is the model's
    assert clocks(Cut(found, length, parts), m, n, 132) == near
    best = choose(m, n, k, transpose_a)
    assert clocks(best, m, n, 132) <= clocks(Cut(found, length, parts), m, n, 132)
