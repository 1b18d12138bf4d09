"""Products with a function of what is multiplied, and of rows by an index, on the reference machine, with all its checks.

Tests kernels/hgemm/prologue.py, kernels/hgemm/prologue_configurations.py and prism/lib/algorithms/hgemm/prologue.py.
"""

from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

import prism
from prism.host.machine import run_step
from prism.host.plan import OUT, Buffer
from prism.interpret import SCHEDULES, schedules
from prism.kernels.hgemm import Configuration, identity
from prism.kernels.hgemm.prologue_configurations import TILES, choose_gathered
from prism.lang.types.structs import dtype_called
from prism.lib.algorithms.hgemm.api import decide_hgemm
from prism.lib.algorithms.hgemm.epilogue import asked_for
from prism.lib.algorithms.matmul.epilogues import asked_for_prologue
from prism.lib.epilogues import reduce, swiglu
from prism.runtime.arrays import describe
from tests.rarely import rarely

GPU = SimpleNamespace(host=False, arch="sm_90a", multiprocessors=2, wave=lambda *_: 2)
SMALL = Configuration(128, 64, 2, slabs=1)
KINDS = (np.float16, ml_dtypes.bfloat16, np.float32, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, np.int8, np.uint8)
EVERY = lambda x, i, j, w, r, e, s: x * w * r + e * s + (1.0 if i == j else 0.0)


def small(rng, *shape, kind=np.float16):
    low = 0 if np.dtype(kind) == np.uint8 else -2
    return rng.integers(low, 3, shape).astype(kind)


def apart(x):
    """The same in rows that begin at multiples of 32 bytes, and have room behind them."""
    m, n = x.shape
    each = 32 // x.itemsize
    room = np.full((m, (n + each - 1) // each * each + each), 1, np.int8).astype(x.dtype)
    room[:, :n] = x
    return room[:, :n]


def made(arrays, results, cut, prologue, extra=(), *, epilogue=identity, after=(), **options) -> list[str]:
    """Run what a GPU would be given, on NumPy arrays and parts of them, which lie in memory as they do; `results`: by name.

    Return the kernels' names.
    """
    infos = {name: describe(x, name) for name, x in arrays.items()}
    given = {"prologue": None if prologue is None else asked_for_prologue(prologue)[0]}
    given["prologue_extra"] = tuple(None if isinstance(one, np.ndarray) else one for one in extra)
    out = describe(results[OUT]) if len(results) == 1 else None
    decision = decide_hgemm(infos, out, GPU, cut=cut, epilogue=asked_for(epilogue), extra=after, **given)
    assert decision.plan is not None, decision.copied
    room = np.full(decision.plan.scratch, 255, np.uint8)

    def found(buffer: Buffer, scalar: str):
        one = {**arrays, **results}.get(buffer.name, room)
        base = one if one.base is None else one.base
        begin = one.__array_interface__["data"][0] - base.__array_interface__["data"][0] + buffer.offset
        return base.reshape(-1).view(np.uint8)[begin:].view(dtype_called(scalar))

    for step in decision.plan.steps:
        run_step(step, found, check=True, **options)
    return [step.instance.kernel.__qualname__ for step in decision.plan.steps]


def exact(
    m, n, k, cut=SMALL, *, kind=np.float16, layout="T", rows=0, operand=np.float16, result=np.float32, **options
) -> bool:
    """Whether a product with extras of every kind is what it should be; `rows`: so many there are to take m of."""
    rng = np.random.default_rng(m + n + k)
    a, b = apart(small(rng, rows or m, k, kind=kind)), small(rng, k, n, kind=operand)
    b = apart(np.ascontiguousarray(b.T)).T if layout == "T" else apart(b)
    extra = small(rng, k), small(rng, m, 1, kind=np.float32), small(rng, m, k, kind=np.float32), 2
    arrays = {"a": a, "b": b, **{f"prologue_extra[{e}]": x for e, x in enumerate(extra[:3])}}
    left = a.astype(np.float32)
    if rows:
        arrays["rows"] = rng.integers(0, rows, m).astype(np.int32)
        left = left[arrays["rows"]]
    room = np.full((m, (n + 7) // 8 * 8 + 8), np.nan, np.float32).astype(result)
    names = made(arrays, {OUT: room[:, :n]}, cut, EVERY, extra, **options)
    w, r, e, s = extra
    left = (left * w * r + e * s + np.eye(m, k)).astype(operand).astype(np.float32)
    assert np.isnan(room[:, n:]).all(), "written beside the result"
    return names == ["make_operand", "hgemm"] and np.array_equal(
        room[:, :n], (left @ b.astype(np.float32)).astype(result)
    )


@pytest.mark.parametrize(("schedule", "seed"), schedules(len(SCHEDULES) + 1))
def test_schedules(schedule: str, seed: int) -> None:
    assert exact(72, 72, 136, schedule=schedule, seed=seed)
    assert exact(72, 72, 136, rows=30, schedule=schedule, seed=seed)


@pytest.mark.parametrize("k", [1, 63, 64, 65, 200])
def test_every_number_of_steps(k: int) -> None:
    assert exact(72, 72, k)
    assert exact(40, 40, k, rows=100, kind=np.float32)


@pytest.mark.parametrize("m, n", [(1, 1), (1, 130), (63, 64), (64, 65), (65, 8), (130, 136)])
def test_edges(m: int, n: int) -> None:
    assert exact(m, n, 72)
    assert exact(m, n, 72, rows=7)


@pytest.mark.covering(1)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: np.dtype(kind).name)
@pytest.mark.parametrize("layout", "NT")
@pytest.mark.parametrize("rows", [0, 90])
@pytest.mark.parametrize("operand", [np.float16, ml_dtypes.bfloat16], ids=["float16", "bfloat16"])
def test_numbers(kind: type, layout: str, rows: int, operand: type) -> None:
    assert exact(72, 48, 72, kind=kind, layout=layout, rows=rows, operand=operand, result=operand)


def gathered(m, n, k, cut, kind=np.float16, layout="N", index=np.int32, **options) -> bool:
    """Whether rows that a product gathers are those of an index, also of numbers that are no row's."""
    rng = np.random.default_rng(m + n + k)
    a, b = apart(small(rng, 30, k, kind=kind)), small(rng, k, n, kind=kind)
    b = apart(np.ascontiguousarray(b.T)).T if layout == "T" else apart(b)
    rows = rng.integers(-3, 33, m).astype(index)
    rows[:1] = np.iinfo(index).max
    bias, out = small(rng, n), np.full((m, n), np.nan, np.float32)
    arrays = {"a": a, "b": b, "rows": rows, "extra[0]": bias}
    names = made(arrays, {OUT: out}, cut, None, epilogue=lambda x, c: x + c, after=(None,), **options)
    exact = a[np.clip(rows, 0, 29)].astype(np.float32) @ b.astype(np.float32) + bias
    return names == ["hgemm_gathered"] and np.array_equal(out, exact)


@pytest.fixture
def few(monkeypatch):
    """Rows are gathered in a product however few they are."""
    monkeypatch.setattr("prism.lib.algorithms.hgemm.prologue.FEW", 1)


@pytest.mark.parametrize("cut", rarely(TILES, but=[TILES[0], TILES[-1]]), ids=lambda cut: cut.name)
def test_gathered_by_all_tiles(cut: Configuration, few) -> None:
    for layout in "NT":
        assert gathered(140, 72, 72, cut, layout=layout, schedule="random")


@pytest.mark.parametrize(("schedule", "seed"), schedules(len(SCHEDULES) + 1))
def test_gathered_schedules(schedule: str, seed: int, few) -> None:
    cut = Configuration(128, 64, 2, ahead=0, slabs=1)
    assert gathered(136, 72, 200, cut, ml_dtypes.bfloat16, index=np.int64, schedule=schedule, seed=seed)


@pytest.mark.parametrize("m, n, k", [(1, 1, 1), (1, 130, 63), (63, 64, 64), (129, 65, 65)])
def test_gathered_edges(m: int, n: int, k: int, few) -> None:
    assert gathered(m, n, k, Configuration(64, 64, 3, 1, ahead=0, slabs=1))


def test_nothing_is_made_of_what_is_beyond_k() -> None:
    """What tensor copies bring there are zeros: a function of these may be NaN, which would spoil every sum."""
    a, b = np.ones((8, 5), np.float16), np.ones((5, 8), np.float16)
    assert (prism.lib.hgemm(a, b, prologue=lambda x: 1.0 / x) == 5).all()
    assert (prism.lib.hgemm(a, b, prologue=lambda x: 1.0 / x, rows=np.zeros(3, np.int32)) == 5).all()


def test_with_epilogues() -> None:
    """Whatever may come after a product comes after this one: results, reductions, terms."""
    rng = np.random.default_rng(2)
    a, b, c = small(rng, 40, 24, kind=np.float32), small(rng, 24, 40), small(rng, 40, 40)
    scale, bias = small(rng, 40, kind=np.float32), small(rng, 40)
    sums = (2 * a) @ b.astype(np.float32)
    y, z, most = prism.lib.hgemm(
        a, b, prologue=lambda x: 2 * x, epilogue=(None, lambda x, e: x + e, reduce(op="maximum", axis=0)), extra=bias,
    )  # fmt: skip
    assert np.array_equal(y, sums) and np.array_equal(z, sums + bias) and np.array_equal(most, sums.max(axis=0))
    y = prism.lib.hgemm(a, b, c, beta=2.0, alpha=0.5, scale_a=scale, bias=bias, prologue=lambda x: 2 * x)
    assert np.array_equal(y, 0.5 * scale[:, None] * sums + 2 * c.astype(np.float32) + bias)
    assert np.array_equal(prism.lib.hgemm(a, b, c, beta=2.0, prologue=lambda x: 2 * x, out=c), y * 0 + c)
    _, total = prism.lib.hgemm(
        a, b, prologue=lambda x: 2 * x, epilogue=(None, reduce()), rows=np.arange(40)[::-1].copy()
    )
    assert np.array_equal(total, sums.sum(axis=1)[::-1])


def test_any_layout() -> None:
    """What tensor copies do not take is copied first."""
    rng = np.random.default_rng(3)
    a, b = small(rng, 24, 40, kind=np.int8).T, small(rng, 48, 40)[::2, ::2]
    out = np.zeros((20, 40), np.float32).T
    assert prism.lib.hgemm(a, b, prologue=lambda x: x + 1, out=out) is out
    assert np.array_equal(out, (a.astype(np.float32) + 1) @ b.astype(np.float32))
    rows = np.arange(80)[::2]
    found = prism.lib.hgemm(a.astype(np.float16), b, rows=rows % 40, out_dtype="float32")
    assert np.array_equal(found, a[rows % 40].astype(np.float32) @ b.astype(np.float32))


@pytest.mark.parametrize("m, n, k", [(0, 8, 8), (8, 0, 8), (8, 8, 0)])
def test_nothing(m: int, n: int, k: int) -> None:
    a, b = np.ones((m, k), np.float32), np.ones((k, n), np.float16)
    y = prism.lib.hgemm(a, b, prologue=lambda x: 1.0 / x, epilogue=lambda x: x + 1)
    assert y.shape == (m, n) and (y == 1).all()


def test_functions() -> None:
    """A device function stands where a lambda does; what a lambda names is a number of the call."""
    rng = np.random.default_rng(4)
    gate, up, b = rng.standard_normal((9, 24)).astype(np.float16), small(rng, 9, 24), small(rng, 24, 8)
    y = prism.lib.hgemm(gate, b, prologue=swiglu, prologue_extra=up, out_dtype="float32")
    g = gate.astype(np.float32)
    assert np.allclose(y, (g / (1 + np.exp(-g)) * up).astype(np.float16).astype(np.float32) @ b, atol=2e-2)
    for factor in (2.0, 3.0):  # one kernel, two numbers
        y = prism.lib.hgemm(up, b, prologue=lambda x: x * factor, out_dtype="float32")
        assert np.array_equal(y, factor * up.astype(np.float32) @ b)


A, B = np.ones((8, 16), np.float16), np.ones((16, 8), np.float16)
DOUBLE = lambda x: 2 * x
TWO = lambda x, y: x
SOME = np.zeros(3, int)


def product(a=A, b=B, **how):
    return lambda: prism.lib.hgemm(a, b, **how)


@pytest.mark.parametrize(("error", "match", "call"), [
    (TypeError, "`prologue` must be a device function", product(prologue=2)),
    (TypeError, "`prologue` must be a device function.*not tuple", product(prologue=(DOUBLE,))),
    (TypeError, "`prologue` takes 2 arguments, and is given 1, an element", product(prologue=TWO)),
    (TypeError, "`a` has dtype float64", product(A.astype(float), prologue=DOUBLE)),
    (TypeError, "`b` has dtype float32", product(A, B.astype(np.float32), prologue=DOUBLE)),
    (TypeError, "`a` has dtype int8 and `b` float16: a `prologue`", product(A.astype(np.int8), rows=SOME)),
    (TypeError, "`rows` must be int32 or int64, not float16", product(rows=A[0])),
    (ValueError, "`rows` must have one axis", product(rows=SOME[None])),
    (ValueError, "`rows` takes rows of `a`, which has none", product(A[:0], rows=SOME)),
    (ValueError, "`prologue_extra` is given to `prologue`", product(prologue_extra=A)),
    (ValueError, r"`prologue_extra.0.` must have shape .8, 16.", product(prologue=TWO, prologue_extra=B[:3])),
    (ValueError, "`a` must have 2 axes", product(A[None], prologue=DOUBLE)),
    (ValueError, "a `symmetric` product has no", product(b=A.T, prologue=DOUBLE, symmetric=True)),
    (ValueError, "shapes don't fit", product(b=A, prologue=DOUBLE)),
    (ValueError, "`out` must have shape", product(rows=SOME, out=A)),
])  # fmt: skip
def test_refused(error: type, match: str, call) -> None:
    with pytest.raises(error, match=match):
        call()


def test_rows_beyond_the_ends() -> None:
    """A number of no row is the nearest row's, also where the pass takes rows."""
    rng = np.random.default_rng(7)
    a, b = small(rng, 30, 72), small(rng, 72, 24)
    rows = np.array([-7, 0, 29, 30, 2**40])
    assert np.array_equal(prism.lib.hgemm(a, b, prologue=DOUBLE, rows=rows), 2 * a[[0, 0, 29, 29, 29]] @ b)


def test_of_two_products_and_elsewhere() -> None:
    """One operand is made for both products, and for GPUs whose products are others."""
    rng = np.random.default_rng(6)
    a, b = small(rng, 40, 72, kind=np.int8), (small(rng, 72, 24), small(rng, 72, 24))
    y = prism.lib.hgemm(a, b, prologue=DOUBLE, epilogue=lambda x, y: x - y, rows=np.arange(40)[::-1].copy())
    left = 2 * a[::-1].astype(np.float32)
    assert np.array_equal(y, left @ b[0].astype(np.float32) - left @ b[1].astype(np.float32))
    infos = {"a": describe(a, "a"), "b": describe(np.ascontiguousarray(b[0]), "b")}
    old = SimpleNamespace(host=False, arch="sm_80", multiprocessors=2, wave=lambda *_: 2)
    plan = decide_hgemm(infos, None, old, prologue=asked_for_prologue(DOUBLE)[0]).plan
    assert [step.instance.kernel.__qualname__ for step in plan.steps] == ["make_operand", "hgemm_by_warps"]


def test_tiles_gather_few_rows() -> None:
    for m, n, k in ((512, 64, 64), (600, 8192, 8192), (4096, 4096, 4096), (16384, 16384, 8192)):
        assert choose_gathered(m, n, k, 132).bm <= 128
