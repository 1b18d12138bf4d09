"""The product with an epilogue that is a function, on the reference machine, with all its checks: tiles, layouts, extras."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import prism
from prism.host.machine import run_step
from prism.host.plan import OUT, Buffer
from prism.interpret import SCHEDULES, schedules
from prism.kernels import hgemm as kernels
from prism.kernels.hgemm import NN, SHARING, TILES, Configuration, cuts, identity
from prism.kernels.hgemm.configurations import NARROW, NARROW_PARTED, PADDED, SPAN, STRAIGHT
from prism.lang import float32
from prism.lang.types.structs import dtype_called
from prism.lib.algorithms.hgemm.api import decide_hgemm
from prism.lib.algorithms.hgemm.epilogue import REDUCED, SECOND, asked_for
from prism.lib.epilogues import gelu, reduce
from prism.lib.lazy.closures import Applied
from prism.runtime.arrays import describe
from tests.rarely import rarely

SMALL = Configuration(128, 64, 2, slabs=1)
WIDEST = Configuration(256, 200, 3, ahead=0, span=80)
LOW = Configuration(256, 64, 2, ahead=0, slabs=1)
LAYOUTS = {"NN": (False, True), "NT": (False, False), "TN": (True, True), "TT": (True, False)}
GPU = SimpleNamespace(host=False, arch="", multiprocessors=2, wave=lambda *_: 2)
AFTER = asked_for(lambda x, bias, rows, before, k: max(x + bias, 0.0) * rows + before * k)


def made(arrays, results, cut, epilogue, extra=(), **options) -> None:
    """Run what a GPU would be given, on NumPy arrays and parts of them, which lie in memory as they do; `results`: by name."""
    infos = {name: describe(x, name) for name, x in arrays.items()}
    how = {name: options.pop(name) for name in ("alpha", "beta", "out_dtype", "dtype") if name in options}
    out = describe(results[OUT]) if len(results) == 1 else None
    decision = decide_hgemm(infos, out, GPU, cut=cut, epilogue=epilogue, extra=extra, **how)
    assert decision.plan is not None, decision.copied
    room = np.full(decision.plan.scratch, 255, np.uint8)

    def found(buffer: Buffer, scalar: str):
        given = {**arrays, **results}.get(buffer.name, room)
        base = given if given.base is None else given.base
        begin = given.__array_interface__["data"][0] - base.__array_interface__["data"][0] + buffer.offset
        return base.reshape(-1).view(np.uint8)[begin:].view(dtype_called(scalar))

    for step in decision.plan.steps:
        run_step(step, found, check=True, **options)


def small(rng, *shape, kind=np.float16):
    return rng.integers(-2, 3, shape).astype(kind)


def laid(rng, rows: int, columns: int, how: str):
    """Small integers, with room behind each row (column): extents of matrices are no multiples of 8."""
    m, n = (rows, columns) if how == "N" else (columns, rows)
    wide = small(rng, m, (n + 7) // 8 * 8 + 8)[:, :n]
    return wide if how == "N" else wide.T


def exact(m, n, k, cut=SMALL, *, layout="NT", result=np.float16, each=np.float16, **options) -> bool:
    """Whether a product with extras of every kind is what it should be."""
    rng = np.random.default_rng(m + n + k)
    a, b = laid(rng, m, k, layout[0]), laid(rng, k, n, layout[1])
    bias, rows, before = small(rng, n), small(rng, m, 1, kind=np.float32), small(rng, m, n, kind=each)
    room = np.full((m, (n + 7) // 8 * 8 + 8), np.nan, np.float32).astype(result)
    arrays = {"a": a, "b": b, "extra[0]": bias, "extra[1]": rows, "extra[2]": before}
    made(arrays, {OUT: room[:, :n]}, cut, AFTER, (bias, rows, before, 2), **options)
    wanted = np.maximum(a.astype(np.float32) @ b.astype(np.float32) + bias, 0) * rows + 2.0 * before
    assert np.isnan(room[:, n:]).all(), "written beside the result"
    return np.array_equal(room[:, :n], wanted)


@pytest.mark.parametrize(("schedule", "seed"), schedules(len(SCHEDULES) + 1))
def test_schedules(schedule: str, seed: int) -> None:
    assert exact(136, 72, 72, schedule=schedule, seed=seed)


@pytest.mark.parametrize("k", [1, 64, 65, 200])
def test_every_number_of_rounds(k: int) -> None:
    assert exact(72, 72, k)


@pytest.mark.parametrize("m, n", [(1, 1), (1, 130), (63, 64), (64, 65), (127, 8), (128, 64), (129, 63), (260, 200)])
def test_edges(m: int, n: int) -> None:
    assert exact(m, n, 72)
    assert exact(m, n, 72, cut=WIDEST)


@pytest.mark.covering(1)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("result", [np.float16, np.float32])
@pytest.mark.parametrize("each", [np.float16, np.float32])
@pytest.mark.parametrize("cut", [SMALL, WIDEST], ids=["small", "widest"])
def test_layouts(layout: str, result: type, each: type, cut: Configuration) -> None:
    """Extras by element come by tensor copies where they are of the result's dtype, and else are read by who needs them."""
    assert exact(136, 72, 72, cut, layout=layout, result=result, each=each)


OFTEN = [*TILES[:2], TILES[5], TILES[-1], STRAIGHT[0], PADDED[0], NARROW[0], SHARING[0]]
EVERY = list(dict.fromkeys([*cuts((False, False)), *cuts(NN), *SHARING]))


@pytest.mark.parametrize("cut", rarely(EVERY, but=OFTEN), ids=lambda cut: cut.name)
def test_tiles(cut: Configuration) -> None:
    assert exact(136, 72, 72, cut, layout="NN" if cut in cuts(NN) else "NT", schedule="random")


PARTED = list(dict.fromkeys([*cuts((False, False), parted=True), *cuts(NN, parted=True)]))


@pytest.mark.parametrize("cut", rarely(PARTED, but=[PARTED[0], PARTED[-1], NARROW_PARTED[0]]), ids=lambda cut: cut.name)
def test_in_parts_of_k(cut: Configuration) -> None:
    """What tensor copies would bring is read by element, and where the product is turned as its transpose lies."""
    assert exact(72, 40, 520, cut, result=np.float32, each=np.float32)
    assert exact(17, 72, 1100, cut, layout="TT", schedule="random")


@pytest.mark.parametrize("m, n", [(64, 32), (130, 96), (256, 160), (512, 512), (8, 8), (1000, 1032)])
def test_of_narrow_spans_there_are_none(m: int, n: int) -> None:
    """Where both operands have K outside the maps of a tile of 32, 96 or 160 columns would be of 64 bytes: others are taken."""
    rng = np.random.default_rng(0)
    given = {"a": laid(rng, m, 72, "T"), "b": laid(rng, 72, n, "N"), "extra[0]": small(rng, n)}
    infos = {name: describe(x) for name, x in given.items()}
    machine = SimpleNamespace(**{**vars(GPU), "multiprocessors": 132})
    decision = decide_hgemm(infos, None, machine, epilogue=asked_for(lambda x, c: x + c), extra=(None,))
    (step,) = decision.plan.steps
    assert dict(step.instance.template)["CUT"].span_b == SPAN
    step.instance.program


def test_a_batch() -> None:
    """In one launch, a matrix each; with one `b`; and by launches of their own, each with its rows of the extras."""
    rng = np.random.default_rng(0)
    for m, k, one in ((72, 64, False), (72, 72, True), (71, 40, False)):
        a, b = small(rng, 3, m, k), small(rng, *(() if one else (3,)), k, 64)
        rows, before = small(rng, 3, m, 1), small(rng, 3, m, 64, kind=np.float32)
        y = np.full((3, m, 64), np.nan, np.float16)
        arrays = {"a": a, "b": b, "extra[0]": rows, "extra[1]": before}
        cut = SMALL if (m, k) != (71, 40) else replace(SMALL, bk=64)
        made(arrays, {OUT: y}, cut, asked_for(lambda x, r, e: x * r + e), (rows, before))
        assert np.array_equal(y, (a.astype(np.float32) @ b.astype(np.float32)) * rows + before)


def pairs(m, n, k, cut, result=np.float16, **options) -> bool:
    """Whether two products are, the second's `b` being every other column: their own, and beside places and an array."""
    rng = np.random.default_rng(m + n + k)
    a, w, before = laid(rng, m, k, "N"), small(rng, 2 * n, (k + 7) // 8 * 8)[:, :k], small(rng, m, n)
    left, right = w[::2].T, w[1::2].T
    y = np.full((m, n), np.nan, np.float32).astype(result)
    arrays = {"a": a, "b": left, "b[1]": right, "extra[0]": before}
    made(arrays, {OUT: y}, cut, asked_for(lambda x, z, i, j, e: max(x, z) * e + float32(i - j)), (before,), **options)
    products = [a.astype(np.float32) @ x.astype(np.float32) for x in (left, right)]
    return np.array_equal(y, np.maximum(*products) * before + np.arange(m)[:, None] - np.arange(n))


FITTING = [
    cut
    for cut in cuts((False, False))
    if (cut.bm // cut.consumers == 128 if cut.transposes_out((False, False)) else cut.bn % 16 == 0)
]


@pytest.mark.parametrize("cut", rarely(FITTING, but=[*FITTING[:2], FITTING[5]]), ids=lambda cut: cut.name)
def test_two_products(cut: Configuration) -> None:
    """Side by side in a tile, or, turned, 64 rows of each by turns."""
    assert pairs(136, 72, 72, cut)


@pytest.mark.parametrize("m, n", [(1, 8), (130, 40), (260, 200)])
def test_two_products_at_edges(m: int, n: int) -> None:
    for cut in (SMALL, WIDEST):
        assert pairs(m, n, 136, cut, np.float32, schedule="random")


def several(m: int, n: int, cut: Configuration, axis: int, result: type, op: str, k: int = 72) -> None:
    """Check two arrays, and what is combined along rows or columns: nothing beyond the edges counts."""
    rng = np.random.default_rng(m)
    a, b, bias = laid(rng, m, k, "N"), laid(rng, k, n, "T"), small(rng, n)
    y, z = (np.full((m, n), np.nan, np.float32).astype(result) for _ in range(2))
    combined = np.full((n, m)[axis], np.nan, np.float32)
    results = {OUT: y, REDUCED: combined, SECOND: z}
    made({"a": a, "b": b, "extra[0]": bias}, results, cut, SEVERAL[op, axis], (bias,), out_dtype=y.dtype.name)
    exact = a.astype(np.float32) @ b.astype(np.float32)
    function = np.sum if op == "add" else np.max
    assert np.array_equal(y, exact + bias) and np.array_equal(z, exact - bias)
    assert np.array_equal(combined, function(exact * bias + 1, axis)), (m, n)


SEVERAL = {
    (op, axis): asked_for((lambda x, c: x + c, reduce(lambda x, c: x * c + 1, op, axis), lambda x, c: x - c))
    for op in ("add", "maximum")
    for axis in (0, 1)
}


@pytest.mark.covering(1)
@pytest.mark.parametrize("cut", [SMALL, WIDEST, LOW], ids=["small", "widest", "low"])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("result", [np.float16, np.float32])
@pytest.mark.parametrize("op", ["add", "maximum"])
def test_several_results(cut: Configuration, axis: int, result: type, op: str) -> None:
    for m, n in ((136, 72), (40, 200), (1, 8)):
        several(m, n, cut, axis, result, op)


def test_the_sum_as_it_is_takes_nothing_besides() -> None:
    """None beside a function that is given extras, also as what is reduced."""
    rng = np.random.default_rng(0)
    a, b, bias = small(rng, 8, 16), small(rng, 16, 24), small(rng, 24)
    plain, positive, most = prism.lib.hgemm(
        a, b, epilogue=(None, lambda x, c: max(x + c, 0.0), reduce(op="maximum", axis=1)), extra=bias
    )
    assert np.array_equal(plain, a @ b) and np.array_equal(positive, np.maximum(a @ b + bias, 0))
    assert np.array_equal(most, (a @ b).max(1).astype(np.float32))
    with pytest.raises(TypeError, match="`epilogue` takes 1 argument"):
        prism.lib.hgemm(a, b, extra=bias)


@pytest.mark.parametrize("cut", [SMALL, WIDEST], ids=["small", "widest"])
@pytest.mark.parametrize("kind", ["int8", "uint8"])
def test_results_of_eight_bits(cut: Configuration, kind: str) -> None:
    """Rounded to the nearest, halves to even, and to the nearest end of the range."""
    for m, n in ((136, 80), (40, 9)):
        rng = np.random.default_rng(m)
        a, b, scale = laid(rng, m, 72, "N"), laid(rng, 72, n, "T"), small(rng, m, 1, kind=np.float32)
        room = np.full((m, (n + 15) // 16 * 16 + 16), 77, kind)
        after = asked_for(lambda x, s: x * s * 2.5)
        made({"a": a, "b": b, "extra[0]": scale}, {OUT: room[:, :n]}, cut, after, (scale,))
        ends = np.iinfo(kind)
        wanted = np.rint(a.astype(np.float32) @ b.astype(np.float32) * scale * 2.5).clip(ends.min, ends.max)
        assert np.array_equal(room[:, :n], wanted) and (room[:, n:] == 77).all()


@pytest.mark.parametrize(
    "epilogue", [identity, asked_for(gelu), asked_for(lambda x: x + 1.0)], ids=["none", "gelu", "lambda"]
)
def test_a_function_of_one_sum_takes_the_plain_kernel(epilogue) -> None:
    """Which has nothing of what others need: it is the one that ships, where there is no epilogue."""
    rng = np.random.default_rng(0)
    a, b = describe(small(rng, 256, 64)), describe(small(rng, 64, 256))
    decision = decide_hgemm({"a": a, "b": b}, None, GPU, epilogue=epilogue)
    (step,) = decision.plan.steps
    assert step.instance.kernel in (kernels.hgemm, kernels.hgemm_in_parts)
    asked = dict(step.instance.template)["EPILOGUE"]
    assert asked is (epilogue.what if isinstance(epilogue, Applied) else epilogue)
