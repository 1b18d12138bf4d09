"""Softmax, norms, their gradients and operations of one's own, on NumPy arrays: options, views, errors, and how rows are shared.

Tests of prism/lib/algorithms/rows: api, softmax, norms, own, backward, wide, plan, axis, masks, cases, ships; kernels/rows:
configurations.py.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import prism
from prism import lib
from prism.kernels.rows.configurations import BESIDE, CLUSTERS, COPIED, HELD, LONG, NEXT, STAGED, Sharing, share
from prism.lang import exp, rsqrt, tanh
from prism.lib.algorithms.rows import plan as plans
from prism.lib.algorithms.rows import ships

RANDOM = np.random.default_rng(0)
L = lib.lazy


class Gpu:
    """A GPU, as plans ask for one."""

    host, multiprocessors = False, 132

    def __init__(self, arch: str = "sm_90a") -> None:
        self.arch = arch


def softmax(x: Any, axis: int = -1) -> Any:
    wide = x.astype(np.float64) - x.astype(np.float64).max(axis, keepdims=True)
    return np.exp(wide) / np.exp(wide).sum(axis, keepdims=True)


def normal(x: Any, centred: bool, eps: float = 1e-5) -> Any:
    wide = x.astype(np.float64)
    wide = wide - wide.mean(-1, keepdims=True) if centred else wide
    return wide / np.sqrt((wide * wide).mean(-1, keepdims=True) + eps)


def numbers(*shape: int, dtype: str = "float32") -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(dtype)


def near(found: Any, wanted: Any) -> bool:
    """Whether results are as right as their dtype lets them be: some units of the last place of what is of size 1."""
    return np.allclose(found, wanted, rtol=0, atol=16 * np.finfo(found.dtype).eps, equal_nan=True)


@pytest.mark.parametrize("axis", [0, 1, 2, -3])
def test_any_axis(axis: int) -> None:
    x, out = numbers(4, 5, 6), np.zeros((4, 5, 6), np.float32)
    assert near(lib.softmax(x, axis), softmax(x, axis))
    assert near(lib.log_softmax(x, axis), np.log(softmax(x, axis)))
    assert lib.softmax(x, axis, out=out) is out and near(out, softmax(x, axis))
    dout, y = numbers(4, 5, 6), softmax(x, axis).astype(np.float32)
    wanted = y * (dout - (dout * y).sum(axis, keepdims=True))
    assert near(lib.softmax_backward(dout, y, axis), wanted)
    assert near(lib.log_softmax_backward(dout, np.log(y), axis), dout - y * dout.sum(axis, keepdims=True))


def test_masks_and_scale() -> None:
    x, mask = numbers(3, 4, 70), RANDOM.random((4, 70)) < 0.6
    added = numbers(3, 1, 70)
    assert near(lib.softmax(x, scale=0.5), softmax(x / 2))
    assert near(lib.softmax(x, mask=mask, scale=0.5), softmax(np.where(mask, x / 2, -np.inf)))
    assert near(lib.softmax(x, mask=added), softmax(x + added))
    with np.errstate(invalid="ignore"):  # the mask is the same along this axis: some rows have nothing
        assert near(lib.softmax(x, 0, mask=mask), softmax(np.where(mask, x, -np.inf), 0))
    half = lib.softmax(x.astype(np.float16), mask=mask)
    assert half.dtype == np.float16 and (half[~np.broadcast_to(mask, x.shape)] == 0).all()
    none = lib.softmax(x, mask=np.zeros(70, bool))
    assert np.isnan(none).all()


def test_dtypes_of_results() -> None:
    x = numbers(3, 40, dtype="float16")
    assert lib.softmax(x, dtype=np.float32).dtype == np.float32
    out = np.zeros((3, 40), np.float64)
    assert lib.softmax(x, out=out) is out and near(out.astype(np.float32), softmax(x))
    weight = numbers(40)
    assert lib.rms_norm(x, weight).dtype == np.float16
    assert near(lib.rms_norm(x, weight), normal(x, False) * weight)


@pytest.mark.parametrize("name", ["rms_norm", "layer_norm"])
def test_norms(name: str) -> None:
    x, added, weight, bias = numbers(5, 300), numbers(5, 300), numbers(300), numbers(300)
    norm, centred = getattr(lib, name), name == "layer_norm"
    assert near(norm(x), normal(x, centred))
    assert near(norm(x, eps=1.0), normal(x, centred, 1.0))
    y, total = norm(x, weight, residual=added)
    assert np.array_equal(total, x + added) and near(y, normal(x + added, centred) * weight)
    outs = np.zeros_like(x), np.zeros_like(x)
    assert norm(x, weight, residual=added, out=outs) == outs
    assert np.array_equal(outs[0], y) and np.array_equal(outs[1], total)
    if centred:
        assert near(norm(x, weight, bias), normal(x, True) * weight + bias)
        assert near(norm(x, None, bias), normal(x, True) + bias)
        far = (1000 + x[:, :100]).astype(np.float32)
        # the mean of such numbers is off by a unit of their last place, 6e-5
        assert np.allclose(norm(far), normal(far, True), atol=2e-4)


def test_views_and_lazy_arrays() -> None:
    x = numbers(6, 90)
    for view in (x[:, 5:80], x[::2], x.T, x[:, ::-1], x[None, ::3, :50]):
        assert near(lib.softmax(view), softmax(view))
        assert near(lib.layer_norm(view), normal(view, True))
    assert near(lib.softmax(L.map(lambda a: tanh(a) * 3, x)), softmax(np.tanh(x) * 3))
    assert near(lib.rms_norm(L.of(x) * 2, x[0]), normal(x * 2, False) * x[0])


def test_sizes_at_which_others_share_a_row() -> None:
    for n in (1, 2, 7, 8, 9, 63, 128, 129, 255, 257, 4096, 8191, 16384, 16390):
        x = numbers(2, n)
        assert near(lib.softmax(x), softmax(x)), n
        assert near(lib.layer_norm(x), normal(x, True)), n


def test_rows_that_are_empty() -> None:
    for shape in ((0, 5), (5, 0), (2, 0, 3), (0,)):
        x = np.zeros(shape, np.float32)
        weight = np.zeros(shape[-1], np.float32)
        assert lib.softmax(x).shape == lib.layer_norm(x, weight, weight).shape == lib.softmax(x, 0).shape == shape
        dx, dweight = lib.rms_norm_backward(x, x, weight)
        assert dx.shape == shape and not dweight.any() and dweight.shape == weight.shape


def test_numbers_that_are_none() -> None:
    x = numbers(4, 50)
    x[0, 3], x[1, 4], x[2] = np.nan, np.inf, -np.inf
    for y in (lib.softmax(x), lib.log_softmax(x)):
        assert np.isnan(y[:3]).all() and np.isfinite(y[3]).all()
    y = lib.layer_norm(x)
    assert np.isnan(y[:3]).all() and np.isfinite(y[3]).all()


def test_gradients_of_norms() -> None:
    for centred in (False, True):
        x, dout, weight = (
            numbers(2, 3, 60, dtype="float64"),
            numbers(2, 3, 60, dtype="float64"),
            numbers(60, dtype="float64"),
        )
        if centred:
            dx, dweight, dbias = lib.layer_norm_backward(dout, x, weight, bias=True)
            assert np.allclose(dbias, dout.sum((0, 1)))
        else:
            dx, dweight = lib.rms_norm_backward(dout, x, weight)
        assert np.allclose(dweight, (dout * normal(x, centred)).sum((0, 1)))
        step = 1e-6
        for place in ((0, 0, 0), (1, 2, 59), (0, 1, 30)):
            more, less = x.copy(), x.copy()
            more[place] += step
            less[place] -= step
            slope = ((normal(more, centred) - normal(less, centred)) * weight * dout).sum() / (2 * step)
            assert np.isclose(dx[place], slope, rtol=1e-4, atol=1e-7)
        assert np.array_equal(dx, (lib.layer_norm_backward if centred else lib.rms_norm_backward)(dout, x, weight)[0])


def test_gradients_of_norms_of_rows_that_nobody_holds() -> None:
    x, dout, weight = numbers(3, 20_000), numbers(3, 20_000), numbers(20_000)
    for centred in (False, True):
        wide, weighed = normal(x, centred), dout.astype(np.float64) * weight
        factor = wide[:, :1] / (x - x.mean(-1, keepdims=True, dtype=np.float64) if centred else x)[:, :1]
        mean = weighed.mean(-1, keepdims=True) if centred else 0
        wanted = factor * (weighed - mean - wide * (weighed * wide).mean(-1, keepdims=True))
        if centred:
            dx, dweight, dbias = lib.layer_norm_backward(dout, x, weight, bias=True)
            assert near(dbias, dout.sum(0, dtype=np.float64))
        else:
            dx, dweight = lib.rms_norm_backward(dout, x, weight)
        assert near(dx, wanted) and near(dweight, (dout * wide).sum(0)) and dx.dtype == dweight.dtype == np.float32
    assert lib.rms_norm_backward(dout.astype(np.float16), x.astype(np.float16)).dtype == np.float16
    with pytest.raises(ValueError, match="`dout` has shape"):
        lib.rms_norm_backward(dout[:2], x)


def test_operations_of_ones_own() -> None:
    x, weight, bias = numbers(4, 100), numbers(100), numbers(100)
    eps = 1e-5
    y = lib.rows(x, lambda e, top, total: e / total, "max", ("sum", lambda x, top: exp(x - top)), keep=True)
    assert near(y, softmax(x))
    y = lib.rows(x, lambda x, m, w, b: x * rsqrt(m + eps) * w + b, ("mean", lambda x: x * x), columns=(weight, bias))
    assert near(y, normal(x, False) * weight + bias)
    y = lib.rows(
        x,
        lambda x, least, product: x - least + product,
        "min",
        ("prod", lambda x, least: 1 + (x - least) * 0),
        dtype="float64",
    )
    assert y.dtype == np.float64 and np.allclose(y, x - x.min(-1, keepdims=True) + 1)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: lib.softmax(x.astype(int)), TypeError, "`x` must be of float16, bfloat16, float32 or float64"),
        (lambda x: lib.softmax(x, 2), np.exceptions.AxisError, "axis 2"),
        (lambda x: lib.softmax(np.array(1.0)), ValueError, "no axes"),
        (lambda x: lib.softmax(x, scale="1"), TypeError, "`scale` must be a number, not str"),
        (lambda x: lib.softmax(x, mask=np.zeros((5, 6), bool)), ValueError, "`mask` of shape"),
        (lambda x: lib.softmax(x, mask=np.zeros(6, int)), TypeError, "`mask` must be of bool or of a float type"),
        (lambda x: lib.softmax(x, dtype=int), TypeError, "`dtype` must be of a float type"),
        (lambda x: lib.softmax(x, out=np.zeros(6, np.float32)), ValueError, "`out` must have shape"),
        (lambda x: lib.softmax(x, out=np.zeros((4, 6), int)), TypeError, "`out` must be of a float type"),
        (lambda x: lib.rms_norm(x, x), ValueError, "`weight` must have shape"),
        (lambda x: lib.rms_norm(x, np.zeros(6, int)), TypeError, "`weight` must be of a float type"),
        (
            lambda x: lib.layer_norm(x, x[0], x[0].astype(np.float64)),
            TypeError,
            "`bias` must be of the dtype of `weight`",
        ),
        (lambda x: lib.rms_norm(x, residual=x[0]), ValueError, "`residual` has shape"),
        (lambda x: lib.rms_norm(x, residual=x.astype(np.float64)), TypeError, "`residual` is of float64"),
        (lambda x: lib.rms_norm(x, residual=x, out=x), (TypeError, ValueError), "out"),
        (lambda x: lib.softmax_backward(x[0], x), ValueError, "`dout` has shape"),
        (lambda x: lib.rms_norm_backward(x.astype(np.float16), x), TypeError, "`dout` is of float16"),
        (lambda x: lib.rows(x, lambda x, a: x, "most"), ValueError, "`first` is 'sum', 'mean'"),
        (lambda x: lib.rows(x, lambda x, a: x, "max", ("sum", abs, 3)), ValueError, "`second` is how"),
        (lambda x: lib.rows(x, lambda x, a: x, "max", keep=True), ValueError, "`keep` is of what"),
        (lambda x: lib.rows(x, lambda x, a: x, "max", columns=(x, x, x)), ValueError, "`columns` are at most 2"),
        (lambda x: lib.rows(x, lambda x, a, c: x, "max", columns=(x,)), ValueError, r"`columns\[0\]` must have shape"),
        (lambda x: lib.rows(x, 3, "max"), TypeError, "device function"),
    ],
)
def test_what_is_wrong_is_named(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call(numbers(4, 6))


def test_random_calls() -> None:
    for seed in range(40):
        random = np.random.default_rng(seed)
        shape = (*random.integers(1, 6, random.integers(3)), random.integers(1, (5, 40, 300)[random.integers(3)]))
        dtype = ("float16", "float32", "float64")[seed % 3]
        room = random.standard_normal((*shape[:-1], shape[-1] + 3)).astype(dtype)
        first = random.integers(4)
        x = room[..., first : first + shape[-1]]
        scale = float(random.choice([1, 0.125, -3]))
        assert near(lib.softmax(x, scale=scale), softmax(scale * x.astype(np.float64))), seed
        weight, bias = random.standard_normal((2, shape[-1])).astype(dtype)
        # a row of few numbers that are nearly alike is divided by what rounding has left of them
        if shape[-1] > 4:
            found, wanted = lib.layer_norm(x, weight, bias), normal(x, True) * weight + bias
            assert np.allclose(found, wanted, rtol=4 * np.finfo(dtype).eps, atol=64 * np.finfo(dtype).eps), seed


def test_who_shares_a_row() -> None:
    def shared(n: int, scalar: str = "float32", width: int = 8, arch: str = "sm_90a", inputs: int = 1) -> Any:
        return plans.sharing(n, width, scalar, Gpu(arch), inputs=inputs)

    for n in (1, 8, 100, 1024, 1032, 5000, 16_384, 16_392, 65_536, 131_072, 131_080, 262_144, 262_152, 1 << 20):
        for arch in ("sm_90a", "sm_80"):
            for inputs in (1, 2):
                width = 8 if n % 8 == 0 else 1
                found = shared(n, width=width, arch=arch, inputs=inputs)
                team = found.threads * found.blocks if found.wide else 1 << found.lanes
                assert found.way == LONG or team * found.items >= n
                assert found.threads % 32 == 0 and found.threads <= found.most and found.items % found.width == 0
                assert found.blocks == 1 or arch == "sm_90a"
    assert shared(256).wide is False and shared(4096).wide and shared(65_536).blocks > 1 and shared(1 << 20).way == LONG
    assert share(40, 4, 32, 512, CLUSTERS, 8).lanes == 3


def test_parts_of_wide_rows_are_copied() -> None:
    def rows_of(n: int, scalar: str = "bfloat16", inputs: int = 1, **other: Any) -> list[plans.Rows]:
        return [plans.Rows(500, n, n, scalar, 0, **other)] * inputs

    def of(n: int, scalar: str = "bfloat16", inputs: int = 1, arch: str = "sm_90a", **other: Any) -> Any:
        rows = rows_of(n, scalar, inputs, **other)
        return plans.sharing_wide(rows, plans.width_of(rows, None), "float32", Gpu(arch))

    for n in (8192, 16_384, 16_392, 20_000, 32_768, 32_776, 50_264, 65_536, 65_544, 131_072, 131_080, 262_144):
        for scalar in ("bfloat16", "float32"):
            for inputs in (1, 2):
                rows = rows_of(n, scalar, inputs)
                width = plans.width_of(rows, None)
                turns = [plans.in_turn(rows, width, "float32", Gpu())] if inputs == 2 else []
                for found in (
                    of(n, scalar, inputs),
                    plans.sharing_wide(rows, width, "float32", Gpu(), weights=2),
                    *turns,
                ):
                    assert found.way == LONG or found.threads * found.blocks * found.items >= n
                    assert found.threads <= found.most
                    held = found.resident * found.rows * found.most * found.items * inputs * plans.size_of(scalar)
                    assert (
                        found.way not in (STAGED, COPIED, BESIDE) or held * (1 + (found.way == BESIDE)) <= 208 << 10
                    ), "bytes of shared memory"
                    assert found.resident * found.most <= 1280, "48 registers for each thread"
    assert [of(n).way for n in (16_384, 32_768, 65_536, 131_072, 262_144, 524_288)] == [HELD, *[COPIED] * 4, LONG]
    assert [of(n).blocks for n in (32_768, 50_264, 65_536, 131_072)] == [2, 4, 4, 8]
    for found in (of(65_532), of(65_536, ready=False), of(32_768, "float64")):
        assert found.way == HELD and found.blocks > 1, "vectors of fewer bytes are not copied"
    assert of(65_536, arch="sm_80").way == plans.sharing(65_536, 8, "float32", Gpu("sm_80")).way
    weighed = [
        plans.sharing_wide(rows_of(n, "bfloat16"), 8, "float32", Gpu(), weights=weights)
        for weights in (1, 2)
        for n in (32_768, 65_536, 131_072, 262_144)
    ]
    ways = [COPIED, COPIED, COPIED, BESIDE, COPIED, COPIED, BESIDE, BESIDE]
    assert [found.way for found in weighed] == ways, "weights stay in registers where that was faster"
    two = rows_of(16_384, inputs=2)
    assert plans.in_turn(two, 8, "float32", Gpu()).way == BESIDE
    assert plans.in_turn(two, 8, "float32", Gpu("sm_80")).way == NEXT
    assert plans.in_turn(rows_of(4096, inputs=2), 8, "float32", Gpu()).way == STAGED
    few = [plans.in_turn(rows_of(n, inputs=2), 8, "float32", Gpu(), sums=2) for n in (1024, 2048, 4096, 8192, 16_384)]
    assert [(one.way, one.most) for one in few] == [(STAGED, 128), *[(BESIDE, most) for most in (64, 256, 256, 256)]]
    wide = [plans.in_turn(rows_of(4096, "float32", 2), 4, "float32", Gpu(), sums=sums) for sums in (0, 1, 2)]
    assert [(one.way, one.most) for one in wide] == [(STAGED, 256), (BESIDE, 512), (BESIDE, 256)]
    assert plans.in_turn(rows_of(4000, "float32", 2), 4, "float32", Gpu(), sums=2).way == STAGED
    crowded = plans.sharing_wide(rows_of(24_576), 8, "float32", Gpu(), weights=2)
    assert (crowded.threads, crowded.most, crowded.resident) == (192, 192, 4)


def test_who_has_all_vectors_of_a_row() -> None:
    def full(n: int, sums: int) -> tuple[int, bool]:
        rows = [plans.Rows(500, n, n, "bfloat16", 0)] * 2
        found, whole = plans.fill(n, plans.in_turn(rows, 8, "float32", Gpu(), sums=sums), sums=sums, short=True)
        return found.most, whole

    assert full(24_576, 2) == (384, True) and full(24_568, 2) == (512, False)
    assert full(4096, 2) == (256, True) and full(65_536, 2) == (512, True)
    assert [full(n, 2)[1] for n in (2048, 8192, 131_072)] == [False] * 3, "kernels that would spill"
    assert full(8192, 1) == (256, True)


def test_clusters_that_have_rows_in_turn_run_at_once() -> None:
    gpu = Gpu()
    gpu.wave = lambda kernel, threads: 250  # type: ignore[attr-defined]
    beside = Sharing(32, 8, 256, 4, way=BESIDE, most=256)
    assert plans.clusters_of(beside, None, gpu) == 62
    assert plans.clusters_of(replace(beside, blocks=8), None, gpu) == 31
    assert plans.clusters_of(Sharing(32, 8, 256, way=STAGED, most=512, resident=1), None, gpu) == 264


def test_vectors_are_as_wide_as_places_allow() -> None:
    def width(n: int, stride: int, begins: int = 0, scalar: str = "float16", out: Any = None) -> int:
        return plans.width_of([plans.Rows(7, n, stride, scalar, begins)], out)

    assert width(64, 64) == 8 and width(64, 64, scalar="float32") == 4 and width(64, 64, scalar="float64") == 2
    assert width(60, 60) == 4 and width(62, 62) == 2 and width(63, 63) == 1
    assert width(64, 68) == 4 and width(64, 64, 8) == 4 and width(64, 64, 2) == 1


def test_what_ships() -> None:
    found = list(ships.instances(Gpu()))
    assert 0 < len(found) == len(set(found)) <= 60
    assert list(ships.instances(Gpu("sm_80")))


def test_plans_are_made_again() -> None:
    x = numbers(4, 50)
    again = lib.plan(lib.softmax, x)
    x[...] = numbers(4, 50)
    assert near(again(), softmax(x))
    assert prism.lib.softmax is lib.softmax
