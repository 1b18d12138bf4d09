"""The product whose K is in shares that blocks make one by one, on the reference machine with all its checks."""

import functools
from math import ceil

import numpy as np
import pytest

import prism
from prism.interpret import SCHEDULES, run
from prism.kernels.hgemm import Configuration, Terms, identity
from prism.kernels.hgemm.cut import IN_SHARES
from prism.kernels.hgemm.shares import EACH, THREADS, add_shares
from prism.lang import device, float32, requires, thread
from prism.lang.types.shorts import bf16_bits
from prism.lib.algorithms.hgemm.plan import program_for

CUT = Configuration(64, 64, 2, 1, slabs=1, shares=3)
LAYOUTS = ((False, False), (False, True), (True, False), (True, True))


@device
@requires(thread[1])
def relu(x: float32 @ thread[1]) -> float32 @ thread[1]:
    return x if x > 0.0 else 0.0


@functools.cache
def program(layout):
    return program_for("bfloat16", "float32", layout, False, False, 0, identity, CUT, IN_SHARES)


def exact(m, n, k, *, layout=(False, True), bias=0, scales=0, epilogue=identity, count=3, blocks=2, **options) -> bool:
    """Whether small integers, whose sums are exact, come out right, and nothing beside them is written."""
    rng = np.random.default_rng(m + n + k)
    a, b, add = rng.integers(-2, 3, (m, k)), rng.integers(-2, 3, (k, n)), rng.integers(-2, 3, max(m, n))
    share = ceil(ceil(k / CUT.bk) / count) * CUT.bk
    count = -(-k // share)
    rows, pitch = -(-m // CUT.bm) * CUT.bm, -(-n // 16) * 16
    given = [x.T if turned else x for x, turned in ((a, layout[0]), (b, not layout[1]))]
    room = np.full((count * rows, pitch), np.nan, np.float32)
    one = np.ones(1, np.float32)
    arguments = (
        *(bf16_bits(np.ascontiguousarray(x, np.float32)) for x in given), room[:, :n], room[:, :n], room.reshape(-1), pitch,
        bf16_bits(one), rows * count, n, share, rows, 0, 1.0, 0.0, one, one,
    )  # fmt: skip
    run(program(layout), blocks, CUT.threads, arguments, check=True, **options)
    wide, out = n % EACH == 0, np.full((m, n + 4), np.nan, np.float32)
    terms = Terms(scales, scales, bias)
    facts = {"OUT": "float32", "TBIAS": "bfloat16", "TERMS": terms, "EPILOGUE": epilogue, "WIDE": wide}
    by = [np.arange(1, 1 + (extent if scales == 2 else 1), dtype=np.float32) for extent in (m, n)]
    arguments = (
        room.reshape(-1), count, rows, pitch, out.reshape(-1), n + 4, m, n, 2.0, bf16_bits(add.astype(np.float32)), *by,
    )  # fmt: skip
    run(prism.check(add_shares, facts), -(-m * -(-n // EACH) // THREADS), THREADS, arguments, check=True, **options)
    wanted = 2 * (a @ b) * (by[0][:, None] * by[1] if scales else 1)
    wanted = wanted + (add[:n] if bias == 1 else add[:m, None] if bias == 2 else 0)
    assert np.isnan(out[:, n:]).all(), "written beside the result"
    return np.array_equal(out[:, :n], np.maximum(wanted, 0) if epilogue is relu else wanted)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_schedules(schedule: str) -> None:
    assert exact(70, 72, 300, schedule=schedule, seed=1)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout) -> None:
    """With edges of tiles, of the last share, and of K."""
    assert exact(72, 136, 392, layout=layout)


@pytest.mark.parametrize(("k", "count"), [(8, 3), (64, 2), (72, 2), (512, 8), (320, 4)])
def test_shares_of_few_steps(k: int, count: int) -> None:
    """And fewer shares than asked for, where there are fewer steps."""
    assert exact(8, 24, k, count=count)


@pytest.mark.parametrize(("bias", "scales", "epilogue"), [(1, 0, relu), (2, 1, identity), (0, 2, relu)])
def test_what_comes_after(bias: int, scales: int, epilogue) -> None:
    assert exact(67, 40, 200, bias=bias, scales=scales, epilogue=epilogue)


@pytest.mark.parametrize("n", [8, 33, 61])
def test_columns_that_are_no_whole_vectors(n: int) -> None:
    assert exact(5, n, 136, layout=(False, False), bias=1)


def test_any_number_of_blocks() -> None:
    assert all(exact(130, 72, 200, blocks=blocks) for blocks in (1, 5, 20))
