"""prism.lib.hgemm of 8-bit floats on NumPy arrays: the reference machine's products, what is taken and what is refused.

Tests of prism/lib/algorithms/hgemm: api, plan.
"""

import itertools

import ml_dtypes
import numpy as np
import pytest

import prism
from prism.host import memory
from prism.kernels.hgemm import TILES, identity
from prism.lib.algorithms.hgemm.api import decide_hgemm
from prism.lib.algorithms.hgemm.plan import program_for
from prism.runtime.arrays import describe
from prism.runtime.build import entry_of
from prism.runtime.compile import compile_cubin, compile_ptx
from tests.kernels.test_hgemm import relu
from tests.lib.algorithms.sgemm.test_ring import gpu

KINDS = [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2]
RNG = np.random.default_rng(8)


def normal(rows, columns, kind=KINDS[0]):
    return RNG.normal(size=(rows, columns)).astype(kind)


def product(a, w):
    return a.astype(np.float64) @ w.astype(np.float64).T


@pytest.mark.parametrize("left, right", list(itertools.product(KINDS, KINDS)))
@pytest.mark.parametrize("m, n, k", [(100, 72, 208), (64, 33, 1), (1, 1, 17), (3, 5, 0), (0, 4, 8)])
def test_products(left, right, m, n, k) -> None:
    """Sums in float64, rounded once a step of 128 along K."""
    a, w = normal(m, k, left), normal(n, k, right)
    found = prism.lib.hgemm(a, w.T, alpha=0.5)
    assert found.dtype == np.float32 and found.shape == (m, n)
    sizes = product(np.abs(a), np.abs(w))
    assert (np.abs(found - 0.5 * product(a, w)) <= 2.0**-22 * sizes).all()
    names = tuple(np.dtype(kind).name for kind in (left, right))
    assert np.array_equal(prism.lib.hgemm(a.view(np.uint8), w.view(np.uint8).T, alpha=0.5, dtype=names), found)


@pytest.mark.parametrize("kind", [np.float16, np.float32, ml_dtypes.bfloat16])
def test_results_and_what_comes_after(kind) -> None:
    """Small whole numbers, so that nothing is rounded."""
    a, w = (RNG.integers(-2, 3, shape).astype(KINDS[0]) for shape in ((40, 24), (24, 24)))
    c, bias = RNG.integers(-2, 3, (40, 24)).astype(kind), RNG.integers(-2, 3, 24).astype(kind)
    wanted = np.maximum(product(a, w) - 2 * c.astype(np.float64) + bias.astype(np.float64), 0)
    found = prism.lib.hgemm(a, w.T, c, beta=-2.0, bias=bias, out_dtype=kind, epilogue=relu)
    assert found.dtype == kind and np.array_equal(found.astype(np.float64), wanted)
    columns = np.zeros((24, 40), kind).T
    assert prism.lib.hgemm(a, w.T, out=columns) is columns and np.array_equal(columns.astype(np.float64), product(a, w))


def test_scales() -> None:
    """Of rows and of columns, of one element for all, and read where they lie apart; a bias is not scaled."""
    a, w = (RNG.integers(-2, 3, shape).astype(KINDS[0]) for shape in ((40, 24), (33, 24)))
    rows, columns, bias = (RNG.integers(-2, 3, n).astype(np.float32) for n in (40, 33, 33))
    wanted = 2.0 * rows[:, None] * columns * product(a, w) + bias
    found = prism.lib.hgemm(a, w.T, alpha=2.0, scale_a=rows, scale_b=columns, bias=bias)
    assert np.array_equal(found, wanted)
    apart = np.repeat(rows, 3)[::3].reshape(40, 1), columns.reshape(1, 33)
    for out in (np.zeros((40, 33), np.float32), np.zeros((33, 40), np.float32).T):
        prism.lib.hgemm(a, w.T, alpha=2.0, scale_a=apart[0], scale_b=apart[1], bias=bias, out=out)
        assert np.array_equal(out, wanted)
    assert np.array_equal(prism.lib.hgemm(a, w.T, scale_a=np.float32([3.0])), 3.0 * product(a, w))
    whole, half = np.array(-2.0, np.float32), np.array([[0.5]], np.float32)
    assert np.array_equal(prism.lib.hgemm(a, w.T, scale_a=half, scale_b=whole), -product(a, w))


def test_scales_of_16_bit_floats() -> None:
    a, b = (RNG.integers(-2, 3, shape).astype(np.float16) for shape in ((40, 24), (24, 33)))
    rows = RNG.integers(-2, 3, 40).astype(np.float32)
    assert np.array_equal(prism.lib.hgemm(a, b, scale_a=rows), rows[:, None] * (a @ b))


def step_of(arrays, out, cut):
    """What a product of these arrays launches, in tiles of a configuration."""
    (step,) = decide_hgemm({name: describe(x) for name, x in arrays.items()}, describe(out), gpu(), cut=cut).plan.steps
    return step.arguments, dict(step.instance.template)


@pytest.mark.parametrize("cut", TILES[:4], ids=lambda cut: cut.name)
def test_turned_products_exchange_their_operands(cut) -> None:
    """Whether the kernel turns them, or the result has its elements along columns."""
    kinds = {"a": "float8_e4m3fn", "b": "float8_e5m2"}
    given = {"a": normal(64, 32), "b": normal(48, 32).astype(KINDS[1]).T}
    for out in (np.zeros((64, 48), np.float32), np.zeros((48, 64), np.float32).T):
        arguments, template = step_of(given, out, cut)
        first, second = (arguments[name].buffer.name for name in ("map_a", "map_b"))
        assert {first, second} == {"a", "b"} and (template["T"], template["TB"]) == (kinds[first], kinds[second])
        assert (first == "a") == (arguments["m"] == 64)


@pytest.mark.parametrize("cut", TILES[:4], ids=lambda cut: cut.name)
def test_turned_products_exchange_their_scales(cut) -> None:
    given = {"a": np.zeros((64, 32), np.float16), "b": np.zeros((32, 48), np.float16)}
    given |= {"scale_a": np.ones(64, np.float32), "scale_b": np.ones(48, np.float32), "bias": np.ones(48, np.float16)}
    for out in (np.zeros((64, 48), np.float16), np.zeros((48, 64), np.float16).T):
        arguments, template = step_of(given, out, cut)
        first, second = (arguments[name].buffer.name for name in ("map_a", "map_b"))
        assert (arguments["scale_a"].name, arguments["scale_b"].name) == (f"scale_{first}", f"scale_{second}")
        assert template["TERMS"].bias == (1 if first == "a" else 2)


def test_batches() -> None:
    a, w = (RNG.integers(-2, 3, shape).astype(KINDS[1]) for shape in ((2, 1, 9, 20), (3, 5, 20)))
    found = prism.lib.hgemm(a, w.swapaxes(-1, -2))
    assert np.array_equal(found, a.astype(np.float32) @ w.astype(np.float32).swapaxes(-1, -2))


def test_operands_are_given_as_they_lie_or_copied_with_k_inside() -> None:
    """What the kernel's tensor maps have: rows of K, which begin at multiples of 16 bytes."""
    whole = np.zeros((64, 208), KINDS[0])
    for a, w, copied in ((whole[:, :48], whole[:9, 16:64], ()), (whole[:, 3:40], whole[:, 1:38], ("a", "b"))):
        given = {"a": describe(a), "b": describe(w.T)}
        decision = decide_hgemm(given, None, gpu())
        assert decision.copied == copied
        for name in copied:
            given[name] = describe(memory.copy(given[name], name in decision.columns, decision.pad))
        (step,) = decide_hgemm(given, None, gpu()).plan.steps
        for name in ("map_a", "map_b"):
            taken = step.arguments[name]
            assert taken.shape[1] == a.shape[1] and taken.strides[1] == 1 and taken.strides[0] % 16 == 0
        cut = dict(step.instance.template)["CUT"]
        assert not cut.transpose_a and not cut.transpose_b


SQUARE, ONES = normal(16, 16), np.ones(16, np.float32)


@pytest.mark.parametrize(
    "a, b, options, error, text",
    [
        (SQUARE, SQUARE, {}, ValueError, "`b` of float8_e4m3fn must be the transpose of a row-major n x k array, as `w.T`"),
        (SQUARE.T, SQUARE.T, {}, ValueError, "`a` of float8_e4m3fn must be row-major: the tensor cores"),
        (SQUARE, SQUARE.astype(np.float16).T, {}, TypeError, "`a` has dtype float8_e4m3fn and `b` float16"),
        (SQUARE.view(np.uint8), SQUARE.view(np.uint8).T, {}, TypeError, "`a` has dtype uint8, and hgemm takes"),
        (SQUARE, SQUARE.T, {"dtype": "float16"}, TypeError, "`dtype` says which 8-bit floats uint8 holds"),
        (SQUARE, SQUARE.T, {"dtype": KINDS[1]}, TypeError, "`dtype` is float8_e5m2, and `a` has dtype float8_e4m3fn, not uint8"),
        (SQUARE, SQUARE.T, {"dtype": KINDS * 2}, TypeError, "`dtype` is one dtype, or those of `a` and of `b`, not 4"),
        (SQUARE, SQUARE.T, {"out_dtype": "int16"}, TypeError, "`out_dtype` must be float16, bfloat16 or float32, or float8"),
        (SQUARE, SQUARE.T, {"bias": SQUARE[0]}, TypeError, "`bias` must be an array of numpy of float32, the result's dtype"),
        (SQUARE, SQUARE.T, {"scale_a": ONES.astype(float)}, TypeError, "`scale_a` must be an array of numpy of float32, not"),
        (SQUARE, SQUARE.T, {"scale_a": ONES[None]}, ValueError, "must have one element, or shape (16,) or (16, 1), one a row"),
        (SQUARE, SQUARE.T, {"scale_b": ONES[:3]}, ValueError, "must have one element, or shape (16,) or (1, 16), one a column"),
        (SQUARE[None], SQUARE.T, {"scale_b": ONES}, ValueError, "`scale_b` is for two matrices: give a batch as one"),
        (SQUARE.astype(ml_dtypes.float8_e4m3), SQUARE.T, {}, TypeError, "`a` has dtype float8_e4m3, and hgemm takes"),
    ],
)  # fmt: skip
def test_what_is_refused(a, b, options, error, text) -> None:
    with pytest.raises(error) as caught:
        prism.lib.hgemm(a, b, **options)
    assert text in str(caught.value)


@pytest.mark.parametrize("function", [prism.lib.matmul, prism.lib.sgemm])
def test_others_do_not_take_them(function) -> None:
    with pytest.raises(TypeError, match="float8_e4m3fn"):
        function(SQUARE, SQUARE.T)
    with pytest.raises(TypeError, match="has dtype float8_e4m3fn, which sum does not support"):
        prism.lib.sum(SQUARE)


def test_machine_code() -> None:
    """Nothing spills; a step takes as many products as one of 16-bit floats does, of the same bytes."""
    counts = []
    for kind, depth in (("float8_e4m3fn", 32), ("bfloat16", 16)):
        entry = entry_of(program_for(kind, "bfloat16", (False, False), False, False, 0, identity, TILES[0]), "sm_90a")
        made = compile_cubin(entry.source, "sm_90a")
        assert made.spills == made.stack == 0
        ptx = compile_ptx(entry.source, "sm_90a")
        counts.append(ptx.count(f"wgmma.mma_async.sync.aligned.m64n{TILES[0].bn}k{depth}"))
    assert counts[0] == counts[1] > 0
