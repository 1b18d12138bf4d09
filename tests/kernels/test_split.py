"""float32 as three bfloat16, on the reference machine with all its checks: nothing is lost, or written beside the planes."""

import functools

import numpy as np
import pytest

import prism
from prism.interpret import SCHEDULES, run, schedules
from prism.kernels.sgemm.split import PLANES, SIDE, THREADS, WORD, settle, split
from prism.runtime.build import entry_of
from prism.runtime.compile import compile_cubin

TOP, LARGEST = np.float32(3.3895314e38), np.finfo(np.float32).max
GUARD = 8  # words behind each plane


@functools.cache
def program(left: bool, transposed: bool):
    return prism.check(split, {"LEFT": left, "TRANSPOSE": transposed})


def planes(x, rows: int, columns: int, *, left=True, transposed=False, **options):
    """Run the kernel on a matrix of positive strides, checked; return x1, 1', x2, x3, of rows x columns, in float32."""
    apart = rows * columns // WORD + GUARD
    out = np.full(PLANES * apart, 2**64 - 1, np.uint64)
    steps = [stride // 4 for stride in x.strides]
    memory = np.lib.stride_tricks.as_strided(
        x, (sum((e - 1) * s for e, s in zip(x.shape, steps, strict=True)) + 1,), (4,)
    )
    blocks = -(-rows // SIDE) * -(-columns // SIDE)
    arguments = (memory, *steps, *x.shape, rows, columns, columns // WORD, apart, out)
    run(program(left, transposed), blocks, THREADS, arguments, check=True, **options)
    lying = out.reshape(PLANES, apart)
    assert (lying[:, -GUARD:] == 2**64 - 1).all(), "written beside a plane"
    bits = np.ascontiguousarray(lying[:, :-GUARD]).view(np.uint16).reshape(PLANES, rows, columns)
    found = (bits.astype(np.uint32) << 16).view(np.float32)
    order = (1, 3, 2, 1, 2, 0) if left else (3, 1, 2, 2, 1, 0)  # which of the four each plane is
    one = [found[order.index(which)] for which in range(4)]
    assert all(np.array_equal(found[p], one[which], equal_nan=True) for p, which in enumerate(order))
    return one


def wide(rng, *shape):
    """Numbers of all signs and magnitudes whose three parts bfloat16 has: 2^-110 and more."""
    return np.ldexp(rng.uniform(1, 2, shape), rng.integers(-110, 127, shape)).astype(np.float32) * rng.choice(
        (-1, 1), shape
    )


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("transposed", [False, True])
def test_the_three_parts_are_all_of_it(left: bool, transposed: bool) -> None:
    x = wide(np.random.default_rng(0), 70, 101).astype(np.float32)
    given = np.asfortranarray(x) if transposed else x
    whole, first, second, third = planes(given, 80, 112, left=left, transposed=transposed)
    assert np.array_equal(whole, first)
    assert np.array_equal(first[:70, :101].astype(np.float64) + second[:70, :101] + third[:70, :101], x)
    # Rounded to nearest: half a unit in the last of 8 bits, and of what is left again.
    assert (np.abs(second[:70, :101]) <= 2.0**-8 * np.abs(x)).all()
    assert (np.abs(third[:70, :101]) <= 2.0**-16 * np.abs(x)).all()
    for plane in (whole, first, second, third):
        assert (plane[70:] == 0).all() and (plane[:, 101:] == 0).all()


@pytest.mark.parametrize(
    "shape, written", [((1, 1), (1, 4)), ((64, 64), (64, 64)), ((65, 3), (72, 4)), ((3, 129), (16, 132))]
)
def test_edges(shape, written) -> None:
    x = np.random.default_rng(1).integers(-255, 256, shape).astype(np.float32)
    whole, _, second, third = planes(x, *written)
    assert np.array_equal(whole[: shape[0], : shape[1]], x), "small integers are in the first plane"
    assert not second.any() and not third.any()


def test_any_strides() -> None:
    x = wide(np.random.default_rng(2), 90, 200).astype(np.float32)[3:73:2, 5:155:3]
    whole, _, second, third = planes(x, 35, 52)
    assert np.array_equal((whole.astype(np.float64) + second + third)[:, :50], x)


def test_what_is_not_finite_counts_once() -> None:
    x = np.array([[np.inf, -np.inf, np.nan, 1, 0, -0.0, 7, 9]], np.float32)
    whole, first, second, third = planes(x, 1, 8)
    assert np.array_equal(whole[0, :3], x[0, :3], equal_nan=True) and whole[0, 3] == 1
    assert not first[0, :3].any() and not second[0, :3].any() and not third[0, :3].any() and first[0, 3] == 1


def test_what_would_be_rounded_to_infinity() -> None:
    x = np.array([[LARGEST, -LARGEST, np.nextafter(TOP, np.inf), TOP, -TOP, 3.397e38, np.inf, LARGEST]], np.float32)
    whole, first, second, third = planes(x, 1, 8)
    finite = np.isfinite(x[0])
    assert np.array_equal(whole[0, finite], np.sign(x[0, finite]) * TOP)
    assert np.array_equal((first.astype(np.float64) + second + third)[0, finite], x[0, finite])


def test_what_is_too_small() -> None:
    """Below 2^-110 the last part may be below bfloat16's smallest, 2^-133: at most half of that is lost."""
    rng = np.random.default_rng(3)
    x = np.ldexp(rng.uniform(1, 2, (8, 16)), rng.integers(-149, -110, (8, 16))).astype(np.float32)
    whole, _, second, third = planes(x, 8, 16)
    assert (np.abs(whole.astype(np.float64) + second + third - x) <= 2.0**-134).all()


@pytest.mark.parametrize(("schedule", "seed"), schedules(len(SCHEDULES) + 1))
def test_schedules(schedule: str, seed: int) -> None:
    x = wide(np.random.default_rng(seed), 66, 70).astype(np.float32)
    for transposed in (False, True):
        given = np.asfortranarray(x) if transposed else x
        whole, *_ = planes(given, 72, 80, transposed=transposed, schedule=schedule, seed=seed)
        assert (np.abs(whole[:66, :70] - x) <= 2.0**-8 * np.abs(x)).all()
    out, wanted = settled(66, 70, -0.5, schedule=schedule, seed=seed)
    assert np.array_equal(out, wanted, equal_nan=True)


def settled(m: int, n: int, beta: float, **options) -> tuple[np.ndarray, np.ndarray]:
    """Run `settle`, checked, on small integers; return what it wrote, with the NaN around it, and what it should have."""
    rng = np.random.default_rng(4)
    x, before = (rng.integers(-9, 10, (m, n)).astype(np.float32) for _ in range(2))
    pitched, out, wanted = (np.full((m, n + pad), np.nan, np.float32) for pad in (3, 5, 5))
    pitched[:, :n] = x
    if beta:
        out[:, :n] = before
    wanted[:, :n] = x + (beta * before if beta else 0)
    blocks = -(-m // SIDE) * -(-n // SIDE)
    arguments = (pitched.reshape(-1), n + 3, m, n, out.reshape(-1), n + 5, beta)
    run(prism.check(settle, {"BETA": beta != 0}), blocks, THREADS, arguments, check=True, **options)
    return out, wanted


@pytest.mark.parametrize("beta", [0.0, -0.5])
@pytest.mark.parametrize("m, n", [(1, 1), (64, 64), (67, 131)])
def test_settle(m: int, n: int, beta: float) -> None:
    out, wanted = settled(m, n, beta)
    assert np.array_equal(out, wanted, equal_nan=True)


@pytest.mark.parametrize("kernel, flag", [(split, "LEFT"), (settle, "BETA")])
def test_no_spills(kernel, flag: str) -> None:
    template = {flag: True} | ({"TRANSPOSE": True} if kernel is split else {})
    entry = entry_of(prism.check(kernel, template), "sm_90a")
    assert compile_cubin(entry.source, "sm_90a").spills == 0
