"""Histograms of NumPy arrays, against NumPy: at the limits of types, with weights, lazy arrays, errors; random calls.

Tests of prism/lib/algorithms/histogram: api, arguments, calls, plan, rules, ships, cases.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from prism import interpret, lib
from prism.lib import lazy
from prism.lib.algorithms.histogram import arguments, plan, rules
from tests.host.stand_ins import Gpu, array, stand_in
from tests.rarely import rarely

KINDS = (
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float16",
    "float32",
    "float64",
)
FUZZ = int(os.environ.get("FUZZ_EXAMPLES", "10000"))


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gpu]:
    with stand_in(monkeypatch) as found:
        yield found


def same(found: Any, wanted: Any, *, close: bool = False) -> None:
    """Compare counts and edges: dtypes, and every element, or nearly."""
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == other.dtype
        assert np.allclose(one, other, equal_nan=True) if close else np.array_equal(one, other, equal_nan=True)


def check(x: Any, **options: Any) -> None:
    same(lib.histogram(x, **options), np.histogram(x, **options))


@pytest.mark.parametrize("kind", rarely(KINDS[1:9], but=["int8", "uint32", "int64"]))
def test_limits_of_integers(kind: str) -> None:
    """CUB counts the whole range of int8 in bin 0, and writes beyond the bins where there are more than values."""
    low, high = (int(getattr(np.iinfo(kind), name)) for name in ("min", "max"))
    x = np.array([low, low + 1, low // 2, 0, 1, high // 2, high - 1, high], kind)
    for bins in (1, 2, 3, 255, 256, 300):
        check(x, bins=bins)
    check(x, bins=7, range=(x.min(), x.max()))
    if np.iinfo(kind).bits < 64:  # NumPy has no larger ones
        check(x, bins=7, range=(low - 10, high + 10))
        check(x, bins=5, range=(high + 2, high + 7))
    check(x, bins=6, range=(float(low) / 2 + 0.5, 3.25))
    check(x, bins=np.array([low, 0, high], kind))
    check(x, bins=sorted([float(low), -0.5, 0.0, float(high)]))


@pytest.mark.parametrize("kind", rarely(KINDS[3:], but=["int16", "uint32", "int64", "float16", "float32"]))
def test_edges_of_other_types(kind: str) -> None:
    """Elements are compared as they are, with what is not below an edge: at their limits, beyond them, between two of them."""
    random, dtype = np.random.default_rng(0), np.dtype(kind)
    x = (random.standard_normal(500) * 40).astype(np.int64).astype(dtype)
    ends = [np.nan, np.inf, -np.inf, -0.0, 0.1] if dtype.kind == "f" else [np.iinfo(dtype).min, np.iinfo(dtype).max]
    x = np.append(x, np.array(ends, dtype))
    for edges in (
        np.sort(random.standard_normal(41) * 30), np.array([-np.inf, -3, -3, 0.1, 7, np.inf]), np.array([0.5, 0.6]),
        np.array([-(2.0**70), -(2.0**31), 0, 2.0**31 - 1, 2.0**31, 2.0**70]), np.array([2.0**80, 2.0**81]),
        np.array([-(2.0**15), 5, 2.0**15 - 1]), np.array([0.1, 0.2], np.float32), np.array([-4, 0, 90], np.int64),
        np.geomspace(1e-3, 90, 300),
    ):  # fmt: skip
        assert np.array_equal(lib.histogram(x, edges)[0], np.histogram(x, edges)[0])


@pytest.mark.parametrize("size", [10, 49, 100, 1000, 4095])
def test_integers_on_edges(size: int) -> None:
    """Where edges are whole numbers, or nearly: `49 * (1 / 49)` is less than 1."""
    x = np.arange(-5, 4200, dtype=np.int32)
    for high in (size, size - 1, 3 * size, 7, 30):
        check(x, bins=size, range=(0, high))
        check(x.astype(np.float32), bins=size, range=(0, high))


@pytest.mark.parametrize("kind", KINDS[9:])
def test_floats_whose_bins_are_powers_of_two(kind: str) -> None:
    """Nothing is rounded then: each bin is sure, those of numbers on an edge and beside one too."""
    dtype = np.dtype(kind)
    for high, size in ((1, 256), (256, 256), (256, 64), (3, 3), (3, 24), (0.75, 3), (100, 8)):
        edges = np.linspace(0, high, size + 1).astype(dtype)
        beside = [np.nextafter(edges, dtype.type(end)) for end in (high + 1, -1)]
        rest = np.array([np.nan, np.inf, -np.inf, -0.0, 1e-7, -1e-7, 2 * high], dtype)
        assert rules.even_bins(dtype, 0, high, size).sure == (high != 100)
        check(np.concatenate([edges, *beside, rest]), bins=size, range=(0, high))
    assert not rules.even_bins(dtype, 0.5, 1.5, 4).sure


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_limits_of_floats(kind: str) -> None:
    tiny, most = np.finfo(kind).tiny, np.finfo(kind).max
    x = np.array([-most, -1, -tiny, -0.0, 0, tiny, 1, most / 4, np.nan, np.inf, -np.inf], kind)
    check(x, bins=4, range=(-1, 1))
    check(x, bins=3, range=(0.0, float(tiny) * 4))
    check(x, bins=5, range=(np.float64(-0.3), np.float32(0.7)))
    check(x, bins=2, range=(0.5, 0.5))
    smallest = np.finfo(kind).smallest_subnormal
    check(np.array([-smallest, -0.0, 0, smallest], kind), bins=3, range=(0.0, 5e4))
    check(x, bins=[-np.inf, -1, 0, 0, 1, np.inf])
    check(x[:6], bins=100)


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_numbers_at_the_edges(kind: str) -> None:
    """On each edge, as near to it as there are numbers, and beside the outermost ones, which the kind may not have."""
    for limits, size, low, high in (
        (np.float64, 3, -0.011384046795932093, 0.005196776036471551), (np.float64, 64, -0.7, 0.3), (float, 3, -0.7, 0.3),
        (float, 64, -0.011384046795932093, 0.005196776036471551), (float, 2, -0.3, 0.0), (np.float32, 1, -0.7, 0.3),
    ):  # fmt: skip
        given = limits(low), limits(high)
        edges = np.histogram_bin_edges(np.zeros(1, kind), size, given).astype(kind)
        above = np.nextafter(edges, edges.dtype.type(np.inf))
        below = np.nextafter(edges, edges.dtype.type(-np.inf))
        check(
            np.concatenate([edges, above, below, np.nextafter(below, below.dtype.type(-np.inf))]),
            bins=size,
            range=given,
        )


def test_the_type_of_a_range_decides() -> None:
    random = np.random.default_rng(0)
    x = random.random(400)
    for kind in ("float16", "float32", "float64", "int16"):
        y = (x * 10).astype(kind)
        for low, high in (
            (0.1, 9.7),
            (np.float32(0.1), np.float32(9.7)),
            (np.float64(0.1), 9),
            (np.float16(1), 5),
            (np.int64(0), 7),
        ):
            check(y, bins=30, range=(low, high))


def test_weights_and_densities() -> None:
    random = np.random.default_rng(1)
    for kind, heavy in (
        ("float32", "float32"),
        ("uint8", "int8"),
        ("int32", "float64"),
        ("int64", "uint64"),
        ("uint8", "float16"),
    ):
        x, weights = random.integers(0, 50, 600).astype(kind), random.integers(0, 2, 600).astype(heavy)
        for bins in (7, [0, 3, 10, 60]):
            check(x, bins=bins, weights=weights)
            same(lib.histogram(x, bins, density=True), np.histogram(x, bins, density=True), close=True)
            options: dict[str, Any] = {"weights": weights, "density": True}
            same(lib.histogram(x, bins, **options), np.histogram(x, bins, **options), close=True)


def test_more_bins_than_there_is_room_for() -> None:
    x = np.random.default_rng(2).random(900)
    check(x, bins=70_000)
    check((x * 1e6).astype(np.int32), bins=5000, range=(0, 1 << 20))
    check(x, bins=np.linspace(0, 1, 40_000))
    assert np.array_equal(lib.bincount((x * 1e5).astype(np.int64)), np.bincount((x * 1e5).astype(np.int64)))


@pytest.mark.parametrize("kind", rarely(KINDS[:9], but=["bool", "int8", "int32", "uint64"]))
def test_bincount(kind: str) -> None:
    random = np.random.default_rng(3)
    for high in (2, 120, 9000):
        x = random.integers(0, 2 if kind == "bool" else min(high, np.iinfo(kind).max), 700).astype(kind)
        whole = x.astype(np.int64)
        assert np.array_equal(lib.bincount(x), np.bincount(whole))
        for least in (8000, 20_000):  # in zeros that are kept, and in ones that are made
            assert np.array_equal(lib.bincount(x, minlength=least), np.bincount(whole, minlength=least))
        assert np.array_equal(lib.bincount(x, length=50), np.bincount(whole, minlength=50)[:50])
        weights = random.random(700)
        found = lib.bincount(x, weights)
        assert found.dtype == np.float64 and np.allclose(found, np.bincount(whole, weights))
    if kind.startswith("int"):
        x[5] = -1
        with pytest.raises(ValueError, match="`x` must have no negative elements"):
            lib.bincount(x)
        with pytest.raises(ValueError, match="`x` must have no negative elements"):
            lib.bincount(x, weights)
        assert lib.bincount(x, length=3).sum() == ((x >= 0) & (x < 3)).sum()


def test_several_dimensions() -> None:
    random = np.random.default_rng(4)
    x, y = random.random(500), random.integers(0, 20, 500)
    every: tuple[dict[str, Any], ...] = (
        {}, {"bins": 5}, {"bins": (3, 7)}, {"bins": [0, 0.2, 0.9]}, {"bins": ([0, 0.5, 1], 4), "range": ((0, 1), None)},
        {"bins": 4, "density": True}, {"weights": x}, {"bins": np.array([0.0, 0.5, 30])},
    )  # fmt: skip
    for options in every:
        same(
            lib.histogram2d(x, y, **options),
            np.histogram2d(x, y, **options),
            close="density" in options or "weights" in options,
        )
    points = random.standard_normal((400, 3)).astype(np.float32)
    found, wanted = lib.histogramdd(points, bins=(3, 4, 5)), np.histogramdd(points, bins=(3, 4, 5))
    same((found[0], *found[1]), (wanted[0], *wanted[1]))
    found, wanted = lib.histogramdd([points[:, 0], points[:, 2]], 2), np.histogramdd([points[:, 0], points[:, 2]], 2)
    same((found[0], *found[1]), (wanted[0], *wanted[1]))


def test_nothing() -> None:
    check(np.zeros(0, np.float32))
    check(np.zeros((0, 3), np.int8), bins=4)
    check(np.zeros(0), bins=[1, 2])
    check(np.arange(5), bins=[2])
    assert (
        lib.bincount(np.zeros(0, np.int32)).size == 0
        and lib.bincount(np.zeros(0, np.int32), minlength=3).tolist() == [0] * 3
    )
    assert lib.bincount(np.arange(3), length=0).size == 0
    found, _ = lib.histogramdd(np.zeros((0, 2)), bins=(2, 3))
    assert found.shape == (2, 3) and not found.any()


def test_lists_numbers_and_lazy_arrays() -> None:
    same(lib.histogram([1, 2, 1, 4], 3), np.histogram([1, 2, 1, 4], 3))
    same(lib.histogram(3.5), np.histogram(3.5))
    x = np.random.default_rng(5).random(300).astype(np.float32)
    lazy = lib.lazy.of(x) * 2 + 1
    same(lib.histogram(lazy, 9), np.histogram(x * 2 + 1, 9))
    same(lib.histogram(lib.lazy.arange(100), 7, (0, 100)), np.histogram(np.arange(100), 7, (0, 100)))
    assert (
        lib.bincount(lib.lazy.map(lambda e: e % 7, lib.lazy.arange(100))).tolist()
        == np.bincount(np.arange(100) % 7).tolist()
    )
    cells = lib.histogramdd([lazy, lib.lazy.of(x)], 3)[0]
    assert np.array_equal(cells, np.histogramdd([x * 2 + 1, x], 3)[0])
    with pytest.raises(TypeError, match="pass a list of its coordinates"):
        lib.histogramdd(lib.lazy.of(np.ones((3, 2))))
    ones = lib.histogram(x, 5, weights=lib.lazy.full(300, 2))[0]
    assert np.array_equal(ones, 2 * np.histogram(x, 5)[0])
    with pytest.warns(RuntimeWarning, match="bool"):
        lib.histogram(x > 0.5)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: lib.histogram(x, 0), ValueError, "`bins` must be positive"),
        (lambda x: lib.histogram(x, 2.5), TypeError, "`bins` must be an integer"),
        (lambda x: lib.histogram(x, "auto"), TypeError, "`bins` is 'auto'"),
        (lambda x: lib.histogram(x, [3, 1]), ValueError, "`bins` must increase monotonically"),
        (lambda x: lib.histogram(x, [1, np.nan]), ValueError, "`bins` must increase monotonically"),
        (lambda x: lib.histogram(x, [[1, 2]]), ValueError, "`bins` must be 1d"),
        (lambda x: lib.histogram(x, [1j, 2j]), TypeError, "`bins` has dtype complex128"),
        (lambda x: lib.histogram(x, range=(3, 1)), ValueError, "max must be larger than min in range"),
        (lambda x: lib.histogram(x, range=(0, np.inf)), ValueError, "supplied range of"),
        (lambda x: lib.histogram(x / 0), ValueError, "autodetected range of"),
        (lambda x: lib.histogram(x.astype(complex)), TypeError, "`a` has dtype complex128"),
        (lambda x: lib.histogram(x, 1000, (1.0, 1.0 + 1e-15)), ValueError, "Too many bins"),
        (lambda x: lib.histogram(x, weights=x[:3]), ValueError, "`weights` should have the same shape"),
        (
            lambda x: lib.bincount(x.astype(int), x * 1j),
            TypeError,
            "Cannot cast array data of `weights` from complex128 to float64",
        ),
        (
            lambda x: lib.histogramdd([x], weights=x * 1j),
            TypeError,
            "Cannot cast array data of `weights` from complex128",
        ),
        (lambda x: lib.histogram(x, stream=0), ValueError, "`stream`"),
        (lambda x: lib.bincount(x), TypeError, "`x` from float64 to int64"),
        (lambda x: lib.bincount(np.ones((2, 2), int)), ValueError, "`x`: object too deep"),
        (lambda x: lib.bincount(np.arange(3), minlength=-1), ValueError, "`minlength` must not be negative"),
        (lambda x: lib.bincount(np.arange(3), length=1.5), TypeError, "`length` must be an integer"),
        (
            lambda x: lib.bincount(np.arange(3), np.arange(4)),
            ValueError,
            "`weights` and `x` don't have the same length",
        ),
        (lambda x: lib.bincount(np.array([1 << 40])), ValueError, "`x` asks for"),
        (lambda x: lib.histogram2d(x, x[:3]), ValueError, "`x` and `y` must have the same length"),
        (lambda x: lib.histogram2d(x, x, [[1, 2], [2, 1]]), ValueError, r"`bins\[1\]` must increase"),
        (lambda x: lib.histogramdd([x, x], (1, 2, 3)), ValueError, "dimension of `bins`"),
        (lambda x: lib.histogramdd([x, x], 2, ((0, 1),)), ValueError, "`range` must have one entry"),
        (lambda x: lib.histogramdd([x, x], (40_000, 40_000)), ValueError, "`bins` asks for"),
    ],
)
def test_bad_input(call: Any, error: type[Exception], message: str) -> None:
    with np.errstate(all="ignore"), pytest.raises(error, match=message):
        call(np.arange(6.0))


def test_whole_numbers_that_linspace_puts_below_their_edge_are_looked_at_again() -> None:
    """Else nothing that is on an edge is: see `rules`."""
    for size, high, exact in ((256, 256, True), (49, 49, True), (10, 3, None)):
        bins = rules.even_bins(np.dtype("int32"), 0, high, size)
        edges = np.linspace(0, high, size + 1)
        below = any(edges[k] > k * high // size for k in range(size) if k * high % size == 0)
        assert bool(bins.rule["offset"] > 0) == (not below) and exact in (None, not below)


def test_warm_calls_on_a_gpu(gpu: Gpu) -> None:
    """Decided once for each kind of call; with a range, or a length, in a graph too."""
    x, whole = array(5000), array(5000, "int32")
    for _ in range(3):
        counts, edges = lib.histogram(x, 10, (0.0, 1.0))
        assert counts.shape == (10,) and edges.shape == (11,) and str(edges.dtype) == "float32"
        assert lib.bincount(whole, length=70).shape == (70,)
        gpu.capturing = gpu.decided == 2
    assert gpu.decided == 2 and len(gpu.launched) == 12


def test_a_warm_call_with_edges_on_a_gpu(gpu: Gpu) -> None:
    """Found by both arrays' facts; what the kernel says of the edges is looked at each time."""
    x, edges, gpu.count = array(5000), array(11), 10
    for _ in range(3):
        counts, same = lib.histogram(x, edges)
        assert counts.shape == (10,) and same is edges
    assert gpu.decided == 1
    gpu.count = 0
    with pytest.raises(ValueError, match="`bins` must increase monotonically"):
        lib.histogram(x, edges)
    assert gpu.decided == 1


def test_bools_are_warned_of_in_each_call(gpu: Gpu) -> None:
    x, edges, gpu.count = array(5000, "bool"), array(11), 10
    for _ in range(3):
        with pytest.warns(RuntimeWarning, match="from bool to uint8"):
            lib.histogram(x, 10, (0, 1))
        with pytest.warns(RuntimeWarning, match="from bool to uint8"):
            lib.histogram(x, edges)


# -- Random calls ---------------------------------------------------------------------------------------------------------


def draw(random: Any, kind: str, n: int) -> Any:
    """Numbers of a dtype, at its limits, in a narrow range far from 0, on a grid, or with what is not finite."""
    dtype, way = np.dtype(kind), random.integers(6)
    if dtype.kind == "b":
        return random.random(n) < 0.3
    if dtype.kind in "iu":
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        match way:
            case 0:
                return random.integers(low, high, n, dtype=dtype, endpoint=True)
            case 1:
                return random.choice(np.array([low, low + 1, 0, 1, high - 1, high], dtype), n)
            case 2:
                return random.integers(low, high - 60, dtype=dtype) + random.integers(0, 60, n).astype(dtype)
            case _:
                return random.integers(max(low, -50) if way == 3 else 0, 100, n).astype(dtype)
    x = random.standard_normal(n)
    scaled = (np.round(x * 10), x * (float(np.finfo(dtype).max) * 0.1), 1000 + x * 0.01, np.round(x * 16) / 16, x, x)[
        way
    ].astype(dtype)
    if n and random.random() < 0.3:
        scaled[random.integers(0, n, 3)] = random.choice([np.nan, np.inf, -np.inf])
    return scaled


def limits(random: Any, x: Any) -> Any:
    """A range: none, what there is, in several types, or something else."""
    finite = x[np.isfinite(x)]
    low, high = (finite.min(), finite.max()) if finite.size else (x.dtype.type(0), x.dtype.type(1))
    every = (
        None, None, (low, high), (low.item(), high.item()), (float(low), float(high)),
        (int(random.integers(-20, 5)), int(random.integers(5, 300))), (float(random.normal()), float(random.normal() + 5)),
        (np.float64(random.normal() * 3), np.float32(random.normal() + 9)),
    )  # fmt: skip
    return every[random.integers(len(every))]


def random_call(seed: int) -> None:
    """Make a call that is drawn, and compare it with NumPy's."""
    random = np.random.default_rng(seed)
    x = draw(random, KINDS[random.integers(len(KINDS))], int(random.choice([0, 1, 2, 50, 300, 700])))
    options: dict[str, Any] = {}
    match random.integers(7):
        case 0:
            options["bins"] = np.sort(random.standard_normal(int(random.integers(2, 80))) * 20)
        case 1:
            options["bins"] = sorted(set(random.integers(-20, 100, int(random.integers(2, 40))).tolist()))
        case 2:
            options["bins"] = np.unique(x[x == x]) if x.dtype.kind != "b" and x.size else [0, 1]
        case _:
            options["bins"] = int(random.choice([1, 2, 3, 7, 10, 49, 64, 100, 255, 256, 300, 1000, 5000]))
            options["range"] = limits(random, x)
    if random.random() < 0.25:
        heavy = random.choice(["int8", "int32", "int64", "uint8", "float32", "float64"])
        options["weights"] = random.integers(0, 9, x.size).astype(heavy)
    options["density"] = bool(random.random() < 0.15)
    if random.random() < 0.2:
        x = x[::2]
        options |= {"weights": options["weights"][::2]} if "weights" in options else {}
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            wanted = np.histogram(x, **options)
        except (IndexError, OverflowError):
            return  # what NumPy can't compute
        except (ValueError, TypeError) as error:
            if "negative elements" not in str(error):  # NumPy's own slip: an element below the first edge
                with pytest.raises((ValueError, TypeError)):
                    lib.histogram(x, **options)
            return
        same(lib.histogram(x, **options), wanted, close=options["density"])


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_weights(dtype: str) -> None:
    """The sums of both parts, in their dtype."""
    random = np.random.default_rng(0)
    x = random.integers(-5, 90, (30, 20))
    weights = (random.integers(-9, 9, x.shape) + 1j * random.integers(-9, 9, x.shape)).astype(dtype)
    for bins, more in ((10, {}), (7, {"range": (0, 50)}), ([1, 5, 20, 60], {}), (4, {"density": True})):
        wanted, edges = np.histogram(x, bins, weights=weights, **more)
        for one, other in ((x, weights), (x.T, weights.T), (lazy.of(x), lazy.of(weights)), (x, weights[::-1][::-1])):
            counts, found = lib.histogram(one, bins, weights=other, **more)
            assert counts.dtype == wanted.dtype and np.allclose(counts, wanted, rtol=1e-14, atol=0)
            assert np.array_equal(found, edges)
    assert lib.histogram(x[:0], 3, weights=weights[:0])[0].dtype == dtype


def test_the_range_of_the_elements_is_found_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """By one pass over them, and counted by another."""
    made: list[str] = []
    run = interpret.run

    def note(program: Any, *rest: Any, **more: Any) -> None:
        made.append(program.entry.name)
        run(program, *rest, **more)

    monkeypatch.setattr(interpret, "run", note)
    lib.histogram(np.arange(1000), 5)
    assert [name for name in made if "prepare" not in name] == ["reduce", "histogram"]


def test_random_calls() -> None:
    for seed in range(40):
        random_call(seed)


class Device:
    """A GPU, as plans ask for one."""

    host, arch, multiprocessors = False, "sm_90a", 132

    def wave(self, instance: Any, threads: int) -> int:
        return 3


@pytest.mark.parametrize("kind", ["int8", "bool"])
def test_what_a_gpu_is_given(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU's plans, run by the reference machine: tiles, copies and widths are not those of the host's plans."""
    count = plan.count
    monkeypatch.setattr(plan, "count", lambda task, n, machine, *rest: count(task, n, Device(), *rest))
    x = np.random.default_rng(0).integers(0, 2 if kind == "bool" else 90, 701).astype(kind)
    for heavy in ("float64", "int16"):  # bytes are loaded four at once, whatever their weights take
        check(x, bins=13, range=(0, 77), weights=np.arange(701).astype(heavy))
    if kind == "int8":
        for seed in range(20_020, 20_040):
            random_call(seed)


@pytest.mark.fuzz
@pytest.mark.parametrize("part", range(10))
def test_many_random_calls(part: int) -> None:
    for seed in range(1000 + part * FUZZ // 10, 1000 + (part + 1) * FUZZ // 10):
        random_call(seed)


def test_edges_that_a_kernel_looks_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU: counting is under way while the host learns whether edges increase, and reads nothing outside meanwhile."""
    monkeypatch.setattr(arguments, "are_checked_later", lambda bins, info: True)
    random = np.random.default_rng(0)
    for dtype in (np.float32, np.int32, np.uint8):
        x = (random.random(3000) * 200).astype(dtype)
        for edges in (np.sort(random.random(40) * 180), np.array([0, 5, 5, 90]), np.array([3.0, 7.0]), np.arange(3000)):
            counts, same = lib.histogram(x, edges)
            assert same is edges and np.array_equal(counts, np.histogram(x, edges)[0])
            weights = np.arange(3000)
            found, _ = lib.histogram(x, edges, weights=weights)
            assert np.array_equal(found, np.histogram(x, edges, weights=weights)[0])
        for wrong in (
            random.random(40) * 180,
            np.array([5, 3]),
            np.array([1, np.nan, 3]),
            np.array([np.nan] * 5),
            -np.arange(3000),
        ):
            with pytest.raises(ValueError, match="`bins` must increase monotonically"):
                lib.histogram(x, wrong)
    assert lib.histogram(x[:0], np.arange(4.0))[0].tolist() == [0, 0, 0]
