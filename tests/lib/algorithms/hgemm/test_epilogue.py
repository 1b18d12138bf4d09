"""`hgemm` with an epilogue that is a function, on NumPy arrays; prism/lib/algorithms/hgemm: records, fused, product."""

from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

import prism
from prism.kernels.hgemm import configuration
from prism.lang import device, float32, int32, requires, thread
from prism.lib.algorithms.hgemm.api import decide_hgemm
from prism.lib.algorithms.hgemm.epilogue import asked_for
from prism.lib.epilogues import gelu, reduce, swiglu
from prism.runtime.arrays import describe

RNG = np.random.default_rng(0)


def small(*shape, kind=np.float16):
    return RNG.integers(-3, 4, shape).astype(kind)


A, B = small(70, 40), small(40, 50)
EXACT = A.astype(np.float64) @ B
BIAS, ROWS, BEFORE = small(50), small(70, 1), small(70, 50)


@device
@requires(thread[1])
def placed(x: float32 @ thread[1], i: int32 @ thread[1], j: int32 @ thread[1]) -> float32 @ thread[1]:
    return x + float32(2 * i - j)


def test_extras_stand_in_their_order() -> None:
    found = prism.lib.hgemm(A, B, epilogue=lambda x, r, b, e, k: (x + b) * r + e * k, extra=(ROWS, BIAS, BEFORE, 2))
    assert np.array_equal(found, (EXACT + BIAS) * ROWS + 2 * BEFORE)
    assert np.array_equal(
        prism.lib.hgemm(A, B, epilogue=lambda x, b: max(x, 0.0) + b, extra=BIAS[None]), EXACT.clip(0) + BIAS
    )


def test_rows_and_columns() -> None:
    wanted = EXACT + 2 * np.arange(70)[:, None] - np.arange(50)
    assert np.array_equal(prism.lib.hgemm(A, B, epilogue=placed), wanted)
    assert np.array_equal(
        prism.lib.hgemm(A, B, epilogue=lambda x, i, j, e: placed(x, i, j) + e, extra=BEFORE), wanted + BEFORE
    )


def test_numbers_that_a_lambda_names_are_arguments() -> None:
    for k in (2.0, 3.0):
        assert np.array_equal(prism.lib.hgemm(A, B, epilogue=lambda x: x * k), EXACT * k)
    scale = np.float32(0.5)
    assert np.array_equal(prism.lib.hgemm(A, B, epilogue=lambda x, e: x * scale + e, extra=BEFORE), EXACT / 2 + BEFORE)


@pytest.mark.parametrize("kind", ["int8", "uint16", "int32", "int64", "bool", "float32", "bfloat16", "float8_e4m3fn"])
def test_dtypes_of_extras(kind: str) -> None:
    """Floats come as float32, others as they are."""
    dtype = np.dtype(getattr(ml_dtypes, kind)) if hasattr(ml_dtypes, kind) else np.dtype(kind)
    extra = RNG.integers(0, 4, (70, 50)).astype(dtype)
    found = (
        prism.lib.hgemm(A, B, epilogue=lambda x, e: x + float32(e) if e > 0 else x, extra=extra)
        if kind != "bool"
        else (prism.lib.hgemm(A, B, epilogue=lambda x, e: x + 1.0 if e else x, extra=extra))
    )
    assert np.array_equal(found, EXACT + extra.astype(np.float32))


def test_what_else_hgemm_has_comes_before() -> None:
    """alpha, scales, beta * c and a bias, of which the sum is made that the epilogue is given."""
    scales = small(70, kind=np.float32), np.float32([2])
    found = prism.lib.hgemm(
        A, B, BEFORE, alpha=0.5, beta=2.0, scale_a=scales[0], scale_b=scales[1], bias=BIAS, epilogue=lambda x, e: x - e,
        extra=BEFORE,
    )  # fmt: skip
    assert np.array_equal(found, 0.5 * scales[0][:, None] * 2 * EXACT + 2 * BEFORE + BIAS - BEFORE)
    by_row = prism.lib.hgemm(A, B, bias=small(70, 1) * 0 + 1, epilogue=lambda x, b: x * b, extra=BIAS)
    assert np.array_equal(by_row, (EXACT + 1) * BIAS)


def test_two_products() -> None:
    other = small(40, 50)
    exact = A.astype(np.float64) @ other
    found = prism.lib.hgemm(A, (B, other), epilogue=lambda x, y, e: max(x, y) * e, extra=BEFORE)
    assert np.array_equal(found, np.maximum(EXACT, exact) * BEFORE)
    w = np.stack([B, other], 2).reshape(40, 100)  # column by column
    assert np.array_equal(prism.lib.hgemm(A, (w[:, ::2], w[:, 1::2]), epilogue=lambda x, y: x - y), EXACT - exact)
    gate, up = EXACT / 8, exact / 8
    found = prism.lib.hgemm(A, (B, other), alpha=0.125, epilogue=swiglu, out_dtype="float32")
    assert np.allclose(found, gate / (1 + np.exp(-gate)) * up, rtol=1e-5, atol=1e-5)


def test_several_results() -> None:
    y, z = prism.lib.hgemm(A, B, epilogue=(gelu, None))
    assert np.array_equal(z, EXACT) and np.array_equal(y, prism.lib.hgemm(A, B, epilogue=gelu))
    for axis in (0, 1):
        largest, y = prism.lib.hgemm(A, B, epilogue=(reduce(op="maximum", axis=axis), None))
        assert np.array_equal(y, EXACT) and np.array_equal(largest, EXACT.max(axis)) and largest.dtype == np.float32
    y, squares = prism.lib.hgemm(
        A, B, epilogue=(lambda x, e: x + e, reduce(lambda x, e: (x + e) * (x + e))), extra=BEFORE
    )
    assert np.array_equal(y, EXACT + BEFORE) and np.array_equal(squares, ((EXACT + BEFORE) ** 2).sum(1))


def test_results_that_are_given() -> None:
    out = np.zeros((70, 50), np.float16), np.zeros(70, np.float32)
    found = prism.lib.hgemm(A, B, epilogue=(None, reduce(lambda x: x * x)), out=out)
    assert all(one is given for one, given in zip(found, out, strict=True))
    assert np.array_equal(out[0], EXACT) and np.array_equal(out[1], (EXACT**2).sum(1))


def test_nothing_to_multiply_or_to_make() -> None:
    none = prism.lib.hgemm(A[:, :0], B[:0], epilogue=lambda x, b: x + b, extra=BIAS)
    assert np.array_equal(none, np.broadcast_to(BIAS, (70, 50)))
    assert prism.lib.hgemm(A[:0], B, epilogue=lambda x, b: x + b, extra=BIAS).shape == (0, 50)
    y, least = prism.lib.hgemm(A, B[:, :0], epilogue=(None, reduce(op="minimum")))
    assert y.shape == (70, 0) and (least == np.inf).all() and least.shape == (70,)


@pytest.mark.parametrize("kind", ["int8", "uint8", "float8_e4m3fn", "float8_e5m2"])
def test_results_of_eight_bits(kind: str) -> None:
    dtype = np.dtype(getattr(ml_dtypes, kind)) if hasattr(ml_dtypes, kind) else np.dtype(kind)
    scales = RNG.uniform(0.1, 2, (70, 1)).astype(np.float32)
    out = np.zeros((70, 50), dtype)
    assert prism.lib.hgemm(A, B, epilogue=lambda x, s: x * s, extra=scales, out=out) is out
    exact = EXACT.astype(np.float32) * scales
    ends = np.iinfo(kind) if dtype.kind in "iu" else ml_dtypes.finfo(dtype)
    wanted = exact.clip(float(ends.min), float(ends.max))
    assert np.array_equal(out, np.rint(wanted).astype(dtype) if dtype.kind in "iu" else wanted.astype(dtype))


def test_batches() -> None:
    x, y, rows, before = small(3, 20, 64), small(3, 64, 24), small(3, 20, 1), small(3, 20, 24)
    wanted = x.astype(np.float64) @ y
    found = prism.lib.hgemm(x, y, epilogue=lambda v, r, e, b: v * r + e + b, extra=(rows, before, BIAS[:24]))
    assert np.array_equal(found, wanted * rows + before + BIAS[:24])
    found = prism.lib.hgemm(x, y[0], epilogue=lambda v, i, j: v + i - j)
    assert np.array_equal(found, x.astype(np.float64) @ y[0] + np.arange(20)[:, None] - np.arange(24))


def test_tiles_that_have_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Records take it from slabs; where none is left, from a smaller tile, if there is one."""
    given = {"a": small(4096, 64), "b": small(4096, 64).T, "extra[0]": small(4096, 1)}
    infos = {name: describe(x, name) for name, x in given.items()}
    machine = SimpleNamespace(host=False, arch="", multiprocessors=132)
    decide = lambda: decide_hgemm(infos, None, machine, epilogue=asked_for(lambda x, r: x * r), extra=(None,))
    (step,) = decide().plan.steps
    tile = dict(step.instance.template)["TILE"]
    with monkeypatch.context() as patch:
        patch.setattr(configuration, "ROOM", configuration.ROOM - 40 * 1024)
        (step,) = decide().plan.steps
    less = dict(step.instance.template)["TILE"]
    assert (less.bm * less.bn, less.slab * less.slabs) < (tile.bm * tile.bn, tile.slab * tile.slabs)
    monkeypatch.setattr(configuration.Configuration, "result", lambda *_, **__: None)
    with pytest.raises(ValueError, match="`epilogue` is given more than there is room for"):
        decide()


def test_in_place_and_lazy() -> None:
    out = BEFORE.copy()
    assert prism.lib.hgemm(A, B, epilogue=lambda x, e: x + e, extra=out, out=out) is out
    assert np.array_equal(out, EXACT + BEFORE)
    twice = prism.lib.lazy.map(lambda e: e + e, BEFORE)
    assert np.array_equal(prism.lib.hgemm(A, B, epilogue=lambda x, e: x + e, extra=twice), EXACT + 2 * BEFORE)
    strided = np.repeat(BEFORE, 2, 1)[:, ::2]
    assert np.array_equal(prism.lib.hgemm(A, B, epilogue=lambda x, e: x + e, extra=strided), EXACT + BEFORE)


ONE = lambda x: x
TWO = lambda x, y: x + y


def of_python(x):
    return x


@pytest.mark.parametrize(
    "options, error, text",
    [
        ({"epilogue": TWO}, TypeError, "`epilogue` takes 2 arguments, and is given 1, the sum; or 3, with the row"),
        ({"epilogue": ONE, "extra": BIAS}, TypeError, "takes 1 argument, and is given 2, the sum and 1 extra value; or 4"),
        ({"epilogue": ONE, "b": (B, B)}, TypeError, "takes 1 argument, and is given 2, the two sums; or 4"),
        ({"epilogue": TWO, "extra": small(70)}, ValueError, "`extra[0]` has shape (70,), which broadcasts along columns: one"),
        ({"epilogue": TWO, "extra": small(3, 50)}, ValueError, "`extra[0]` must have shape (70, 50), (70, 1) (one a row), (50,)"),
        ({"epilogue": TWO, "extra": BEFORE.astype(float)}, TypeError, "`extra[0]` has dtype float64, and an epilogue is given"),
        ({"epilogue": TWO, "extra": BEFORE.astype(complex)}, TypeError, "`extra[0]` has dtype complex128"),
        ({"epilogue": of_python}, TypeError, "`of_python` is a function of Python's: mark it"),
        ({"epilogue": np.exp}, TypeError, "`epilogue` must be a device function, marked"),
        ({"epilogue": reduce()}, TypeError, "a reduction stands beside one, in a tuple"),
        ({"epilogue": (reduce(),)}, ValueError, "`epilogue` is one function, or a tuple of one or two"),
        ({"epilogue": (None, None, None)}, ValueError, "`epilogue` is one function, or a tuple of one or two"),
        ({"epilogue": (None, reduce(), reduce())}, ValueError, "and at most one reduction"),
        ({"epilogue": (None, reduce()), "a": A[None], "b": B}, ValueError, "a reduction is of one product, not of a batch"),
        ({"epilogue": (None, None), "out": BEFORE.copy()}, TypeError, "`out` must be a tuple of 2 arrays"),
        ({"epilogue": (None, None), "out": (BEFORE.copy(),)}, ValueError, "`out` is a tuple of 1, and `epilogue` makes 2"),
        ({"out": (BEFORE.copy(),)}, ValueError, "`out` is a tuple of 1, and `epilogue` makes 1 result"),
        ({"epilogue": ONE, "out": np.zeros((70, 51), np.float16)}, ValueError, "`out` must have shape (70, 50)"),
        ({"epilogue": lambda x: BIAS[0] + x}, TypeError, "the lambda names the array `BIAS`"),
        ({"epilogue": lambda x: x.real}, prism.lang.CompileError, "real"),
        ({"b": (B, B)}, ValueError, "of two products `epilogue` makes one result: it is missing"),
        ({"b": (B, B, B), "epilogue": TWO}, ValueError, "`b` is one array, or two, not 3"),
        ({"b": (B, B[:, :8]), "epilogue": TWO}, ValueError, "`b[1]` must have shape (40, 50), as `b[0]`, not (40, 8)"),
        ({"b": (B, B.astype(ml_dtypes.bfloat16)), "epilogue": TWO}, TypeError, "`b[1]` has dtype bfloat16, and `b[0]` float16"),
        ({"b": (B, B), "epilogue": TWO, "bias": BIAS}, ValueError, "of two products there is no `c`, `bias` or `scale_b`"),
        ({"out_dtype": "int16"}, TypeError, "`out_dtype` must be float16, bfloat16 or float32, or float8_e4m3fn"),
    ],
)  # fmt: skip
def test_what_is_refused(options, error, text: str) -> None:
    given = {"a": A, "b": B, **options}
    with pytest.raises(error) as caught:
        prism.lib.hgemm(given.pop("a"), given.pop("b"), **given)
    assert text in str(caught.value)
