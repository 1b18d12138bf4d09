"""What asv had rows for at revision 05680c6, as calls that any tree can make: scans, reductions, segments, products.

A cell's `make(small)` makes its arrays, few of them where nothing is timed, and says how a tree is called and how a result is
compared with a reference that is made on the GPU, once for both trees.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import cupy
import numpy as np

Call = Callable[[int], Any]
L2 = 60 << 20


@dataclass(frozen=True, kw_only=True)
class Case:
    """A cell with its arrays: `call(tree)` returns a tree's call; `fault()` says how the last result is wrong, or nothing."""

    call: Callable[[Any], Call]
    clear: Callable[[], Any]
    fault: Callable[[], str]
    launches: int
    captured: bool = True


@dataclass(frozen=True)
class Cell:
    """What is measured; `alike`: another cell takes the same kernels, and less memory."""

    group: str
    name: str
    make: Callable[[bool], Case]
    alike: bool = False


def rows_of(bytes_: int, small: bool) -> int:
    """Return how many arrays of so many bytes are taken in turn."""
    return 1 if small else max(1, min(1 + 2 * L2 // bytes_, (2 << 30) // bytes_))


def launches_of(bytes_: int) -> int:
    """Return how many launches a graph has."""
    return 40 if bytes_ < 1 << 26 else 20 if bytes_ < 1 << 28 else 6 if bytes_ < 1 << 30 else 3


def random_bits(kind: str, rows: int, size: int) -> Any:
    """Random elements over the dtype's whole range; normal ones, of floats."""
    random = cupy.random.default_rng(0)
    if np.dtype(kind).kind == "f":
        return random.standard_normal((rows, size), dtype=cupy.float32).astype(kind)
    return random.integers(0, 256, (rows, size * np.dtype(kind).itemsize), dtype=cupy.uint8).view(kind)


def small_wholes(kind: str, shape: tuple[int, ...]) -> Any:
    """Whole numbers of -8 to 8, 0 on average: sums of 2^26 of them stay below 2^24, and are exact in float32."""
    found = cupy.random.default_rng(0).integers(0, 17, shape, dtype=cupy.uint8).astype(kind)
    found -= cupy.asarray(8).astype(kind)
    return found


def said(right: Any) -> str:
    """Return nothing where a result is right."""
    return "" if bool(right) else "differs"


# -- scans ------------------------------------------------------------------------------------------------------------------


def scans() -> Iterator[Cell]:
    """Cumulative sums of one dimension: benchmarks/scan.py, Latency."""
    for kind, log in itertools.product(
        ("int32", "int64", "float32", "float64", "int16", "int8"), (16, 20, 22, 24, 26, 28)
    ):
        yield Cell("scan", f"{kind} 2^{log}", lambda small, kind=kind, log=log: scan_case(kind, 1 << log, small))


def scan_case(kind: str, size: int, small: bool) -> Case:
    """A cumulative sum. Floats are compared with sums in float64."""
    bytes_ = size * np.dtype(kind).itemsize
    rows = rows_of(bytes_, small)
    x = random_bits(kind, rows, size)
    y = cupy.empty_like(x)

    def fault() -> str:
        if np.dtype(kind).kind != "f":
            return said((y[0] == cupy.cumsum(x[0], dtype=kind)).all())
        exact = cupy.cumsum(x[0], dtype="float64")
        bound = 4 * np.finfo(kind).eps * np.log2(size + 2) * cupy.cumsum(cupy.abs(x[0]), dtype="float64")
        return said((cupy.abs(y[0] - exact) <= bound).all())

    return Case(
        call=lambda tree: with_library(tree, lambda lib: lambda i: lib.scan(x[i % rows], out=y[i % rows])),
        clear=lambda: y.fill(0), fault=fault, launches=launches_of(bytes_),
    )  # fmt: skip


def with_library(tree: Any, make: Callable[[Any], Call]) -> Call:
    """Return a call of a tree's library."""
    return make(tree.lib)


def scan_axes() -> Iterator[Cell]:
    """Cumulative sums along an axis of 2^26 float32: benchmarks/scan.py, Axis."""
    for axis, k in itertools.product((0, 1), range(0, 26, 4)):
        shape = (1 << k, 1 << (26 - k))
        yield Cell(
            "scan axis",
            f"(2^{k}, 2^{26 - k}) axis {axis}",
            lambda small, shape=shape, axis=axis: axis_case(shape, axis),
        )


def axis_case(shape: tuple[int, int], axis: int) -> Case:
    """A cumulative sum along an axis, whose differences are the elements."""
    x = small_wholes("float32", shape)
    y = cupy.empty_like(x)

    def fault() -> str:
        given, found = cupy.moveaxis(x, axis, 0), cupy.moveaxis(y, axis, 0)
        return said((found[:1] == given[:1]).all() and (found[1:] - found[:-1] == given[1:]).all())

    return Case(
        call=lambda tree: with_library(tree, lambda lib: lambda i: lib.scan(x, axis=axis, out=y)),
        clear=lambda: y.fill(0), fault=fault, launches=6,
    )  # fmt: skip


def planned(tree: Any, script: str, name: str, x: Any, y: Any) -> Call:
    """Return a tree's call of a scan of one of the kinds of a script of its own, as that script makes it."""
    import importlib

    kinds, peers = importlib.import_module(script), importlib.import_module("scan_peers")
    operator, key, _ = kinds.KINDS[name]
    peers.measure.beside_copy = lambda calls, *_: calls  # the calls themselves, not their times
    found: Any = peers.compared(kinds.Task(operator, key, key), x, {}, y, lambda *_: None, 0)
    call: Call = found["prism"]
    return call


KINDS = (
    "uint8", "int16", "int32", "int64", "uint64", "float16", "bfloat16", "float64", "max_uint8", "max_int32", "max_float32",
    "product_int32", "product_float32", "product_float64",
)  # fmt: skip


def scan_kinds() -> Iterator[Cell]:
    """Long scans of every type and with every operator: benchmarks/scan.py, Kinds."""
    for log, name in itertools.product((28, 30), KINDS):
        yield Cell(
            "scan kind", f"{name} 2^{log}", lambda small, name=name, log=log: kind_case(name, 1 << log), log == 30
        )


def kind_case(name: str, size: int) -> Case:
    """A scan of which each result is the operator of the one before it and the element, on data for which that is exact."""
    x = kind_data(name, size)
    y = cupy.empty_like(x)

    def fault() -> str:
        part = 1 << 26
        for start in range(0, size, part):
            first = max(start, 1)
            before, here, found = y[first - 1 : start + part - 1], x[first : start + part], y[first : start + part]
            if name == "bfloat16":
                before, here, found = ((a.astype("uint32") << 16).view("float32") for a in (before, here, found))
            if name.startswith("max"):
                expected = cupy.maximum(before, here)
            else:
                expected = before * here if name.startswith("product") else before + here
            if not bool((found == expected).all()):
                return f"differs from {start} on"
        return said(y[0] == x[0])

    return Case(
        call=lambda tree: planned(tree, "scan_kinds", name, x[None], y[None]), clear=lambda: y.fill(0), fault=fault,
        launches=launches_of(x.nbytes),
    )  # fmt: skip


def kind_data(name: str, size: int) -> Any:
    """Random elements as scan_kinds.py has them: floats that are added are followed by their opposites."""
    kind = name.split("_")[-1]
    random = cupy.random.default_rng(0)
    if name.startswith("product"):
        x = random.integers(0, 256, size, dtype=cupy.uint8)
        return 2 * x.astype(kind) + 1 if kind == "int32" else 1 - 2 * (x & 1).astype(kind)
    if name.startswith("max") or kind.startswith(("u", "i")):
        bits = random.integers(0, 256, size * np.dtype(kind).itemsize, dtype=cupy.uint8)
        return bits.view("int32").astype(kind) if kind == "float32" else bits.view(kind)
    whole = random.integers(0, 129, (size // 2, 1), dtype=cupy.uint8).astype("float32") - 64
    whole = cupy.concatenate([whole, -whole], axis=1).reshape(size)
    return (whole.view("uint32") >> 16).astype("uint16") if kind == "bfloat16" else whole.astype(kind)


def scan_structs() -> Iterator[Cell]:
    """Scans of maps x -> a * x + b, and of complex numbers: benchmarks/scan.py, Structs."""
    names = {
        "affine_float32": "float32",
        "affine_float64": "float64",
        "sum_complex64": "float32",
        "sum_complex128": "float64",
    }
    for (name, kind), log in itertools.product(names.items(), (16, 20, 24, 27, 28)):
        yield Cell(
            "scan pairs", f"{name} 2^{log}",
            lambda small, name=name, kind=kind, log=log: struct_case(name, kind, 1 << log, small), log == 28,
        )  # fmt: skip


def struct_case(name: str, kind: str, size: int, small: bool) -> Case:
    """A scan of pairs: sums are compared with CuPy's in float64, maps with a loop over the first ones."""
    bytes_ = 2 * size * np.dtype(kind).itemsize
    x = cupy.random.default_rng(0).standard_normal((rows_of(bytes_, small), size, 2), dtype=cupy.float32)
    if name.startswith("affine"):
        x[..., 0] = 1 - cupy.abs(x[..., 0]) / 64
    x = x.astype(kind)
    y = cupy.empty_like(x)
    eps = float(np.finfo(kind).eps)

    def fault() -> str:
        if name.startswith("sum"):
            exact = cupy.cumsum(x[0], axis=0, dtype="float64")
            bound = 8 * eps * np.log2(size + 2) * cupy.cumsum(cupy.abs(x[0]), axis=0, dtype="float64")
            return said((cupy.abs(y[0] - exact) <= bound).all())
        first = 20_000
        given, found = cupy.asnumpy(x[0, :first]).astype(np.float64), cupy.asnumpy(y[0, :first])
        a, b, total = 1.0, 0.0, 0.0
        for (s, t), (scale, shift) in zip(given.tolist(), found.tolist(), strict=True):
            a, b, total = a * s, b * s + t, total * abs(s) + abs(t)
            if abs(scale - a) > 100 * eps or abs(shift - b) > 100 * eps * (total + 1):
                return "differs"
        return ""

    return Case(
        call=lambda tree: planned(tree, "scan_structs", name, x, y), clear=lambda: y.fill(0), fault=fault,
        launches=launches_of(bytes_),
    )  # fmt: skip


# -- reductions and segments ------------------------------------------------------------------------------------------------


def reductions() -> Iterator[Cell]:
    """Sums of whole arrays, and along an axis of 2^26 float32: benchmarks/reduce.py."""
    for kind, log in itertools.product(("int32", "float32"), (16, 20, 24, 28)):
        yield Cell(
            "reduce", f"{kind} 2^{log}", lambda small, kind=kind, log=log: sum_case(kind, (1 << log,), None, small)
        )
    for axis, k in itertools.product((0, 1), range(2, 24, 4)):
        shape = (1 << k, 1 << (26 - k))
        yield Cell(
            "reduce", f"(2^{k}, 2^{26 - k}) axis {axis}",
            lambda small, shape=shape, axis=axis: sum_case("float32", shape, axis, small),
        )  # fmt: skip


def sum_case(kind: str, shape: tuple[int, ...], axis: int | None, small: bool) -> Case:
    """A sum, compared with CuPy's in float64 or in integers."""
    size = int(np.prod(shape))
    bytes_ = size * np.dtype(kind).itemsize
    rows = rows_of(bytes_, small)
    x = random_bits(kind, rows, size).reshape(rows, *shape)
    out = cupy.zeros((rows, *(() if axis is None else (shape[1 - axis],))), kind)

    def fault() -> str:
        if np.dtype(kind).kind != "f":
            return said((out[0] == cupy.sum(x[0], axis=axis, dtype=kind)).all())
        exact = cupy.sum(x[0], axis=axis, dtype="float64")
        bound = 4 * np.finfo(kind).eps * np.log2(size + 2) * cupy.sum(cupy.abs(x[0]), axis=axis, dtype="float64")
        return said((cupy.abs(out[0] - exact) <= bound).all())

    def made(lib: Any) -> Call:
        if axis is None:
            return lambda i: lib.reduce(x[i % rows], out=out[i % rows])
        return lambda i: lib.sum(x[i % rows], axis=axis, out=out[i % rows])

    return Case(
        call=lambda tree: with_library(tree, made), clear=lambda: out.fill(0), fault=fault, launches=launches_of(bytes_)
    )


def segments() -> Iterator[Cell]:
    """Segments and keys of 2^26 float32: benchmarks/segments.py."""
    for length, name in itertools.product(
        (51, 250, 1000, 4417), ("segmented_reduce", "segmented_scan", "scan_by_key", "reduce_by_key")
    ):
        yield Cell("segments", f"{name} {length}", lambda small, length=length, name=name: segment_case(name, length))


def segment_case(name: str, length: int) -> Case:
    """A function of segments of random lengths, whose sums are exact."""
    size = 1 << 26
    x = small_wholes("float32", (size,))
    cuts = np.cumsum(np.random.default_rng(0).integers(0, 2 * length + 1, size // length + 1)).astype(np.int64)
    cuts = np.concatenate([[0], cuts[cuts < size], [size]])
    offsets, y = cupy.asarray(cuts.astype(np.int32)), cupy.zeros(size, "float32")
    heads = cupy.zeros(size, bool)
    heads[offsets[:-1][offsets[:-1] < size]] = True
    keys, sums = cupy.cumsum(heads, dtype="int32"), cupy.zeros(len(cuts) - 1, "float32")
    last: list[Any] = []

    def made(lib: Any) -> Call:
        def by_key(i: int) -> None:
            last[:] = lib.reduce_by_key(keys, x, count=True)

        return {
            "segmented_reduce": lambda i: lib.segmented_reduce(x, offsets, out=sums),
            "segmented_scan": lambda i: lib.segmented_scan(x, offsets, out=y),
            "scan_by_key": lambda i: lib.scan_by_key(keys, x, out=y),
            "reduce_by_key": by_key,
        }[name]

    def fault() -> str:
        if name in ("segmented_scan", "scan_by_key"):
            return said(y[0] == x[0] and (y[1:] == cupy.where(heads[1:], 0, y[:-1]) + x[1:]).all())
        total = cupy.concatenate([cupy.zeros(1, "int64"), cupy.cumsum(x, dtype="int64")])
        expected = (total[offsets[1:].astype("int64")] - total[offsets[:-1].astype("int64")]).astype("float32")
        if name == "segmented_reduce":
            return said((sums == expected).all())
        full = expected[offsets[1:] > offsets[:-1]]
        _, found, count = last
        return said(int(count[0]) == len(full) and (found[: len(full)] == full).all())

    def clear() -> None:
        y.fill(0)
        sums.fill(0)
        last.clear()

    return Case(
        call=lambda tree: with_library(tree, made),
        clear=clear,
        fault=fault,
        launches=4,
        captured=name != "reduce_by_key",
    )


# -- products ---------------------------------------------------------------------------------------------------------------


def parse_size(text: str) -> tuple[int, int, int]:
    """Return m, n, k."""
    sizes = [int(size) for size in text.split("x")]
    m, n, k = sizes * 3 if len(sizes) == 1 else sizes
    return m, n, k


def float32_products() -> Iterator[Cell]:
    """Products of float32: benchmarks/sgemm.py."""
    shapes = (
        "256",
        "512",
        "1000",
        "1024",
        "2048",
        "4096",
        "8192",
        "4097x4095x4093",
        "8192x128x1024",
        "4096x64x4096",
        "64x4096x4096",
    )
    for text in shapes:
        yield Cell("sgemm", text, lambda small, text=text: sgemm_case(text, "auto", small))
    for way in ("naive", "coalesced", "tiled", "vectorized", "warps"):
        yield Cell("sgemm", f"2048 {way}", lambda small, way=way: sgemm_case("2048", way, small))


def sgemm_case(text: str, way: str, small: bool) -> Case:
    """A product, as each tree's asv_bench/sgemm.py makes it; sampled rows are compared with float64."""
    m, n, k = parse_size(text)
    size = 4 * (m * n + m * k + n * k)
    sets = [
        tuple(cupy.random.standard_normal(shape, dtype=cupy.float32) for shape in ((m, k), (k, n), (m, n)))
        for _ in range(1 if small else min(60, 1 + 2 * L2 // size))
    ]

    def call(tree: Any) -> Call:
        import importlib

        script: Any = importlib.import_module("sgemm")
        found: Call = script.call_of(way if way == "auto" else script.LESSON[way], sets)
        return found

    def fault() -> str:
        a, b, out = sets[0]
        rows = cupy.random.randint(0, m, 32)
        left, right = a[rows].astype(cupy.float64), b.astype(cupy.float64)
        wanted, total = left @ right, cupy.abs(left) @ cupy.abs(right)
        bound = 2.0**-23 * cupy.abs(wanted) + 2 * k**0.5 * 2.0**-23 * total
        return said((cupy.abs(out[rows] - wanted) <= bound).all())

    return Case(
        call=call, clear=lambda: sets[0][2].fill(cupy.nan), fault=fault,
        launches=max(2, min(len(sets), 16), min(60, int(2e-3 * 4e13 / (2.0 * m * n * k)))),
    )  # fmt: skip


def bfloat16_products() -> Iterator[Cell]:
    """Products of bfloat16: benchmarks/hgemm.py."""
    shapes = (
        "512", "768", "1024", "1280", "1536", "2048", "2304", "2560", "3072", "4096", "5120", "8192", "16384", "4096x14336x4096",
        "8192x1024x8192", "64x8192x8192", "256x4096x4096", "4104x4096x4104",
    )  # fmt: skip
    for text in shapes:
        yield Cell("hgemm", text, lambda small, text=text: product_case(text, "NN", small))


def float8_products() -> Iterator[Cell]:
    """Products of 8-bit floats, also with scales: benchmarks/hgemm_float8.py."""
    squares = ("512", "1024", "2048", "2560", "3072", "4096", "5120", "8192", "16384")
    for text in (*squares, "8192x1024x8192", "256x4096x4096", "64x8192x8192"):
        yield Cell("float8", text, lambda small, text=text: product_case(text, "NT", small, kind="float8_e4m3fn"))
    for text in squares:
        yield Cell(
            "float8", f"{text} scales",
            lambda small, text=text: product_case(text, "NT", small, kind="float8_e4m3fn", scales=True),
        )  # fmt: skip


LAYERS = (
    "6144x4096", "4096x4096", "28672x4096", "4096x14336", "10240x8192", "8192x8192", "57344x8192", "8192x28672",
    "1280x8192", "8192x1024", "7168x8192", "8192x3584", "4608x3584", "3584x3584", "37888x3584", "3584x18944",
)  # fmt: skip


def layers() -> Iterator[Cell]:
    """Layers of language models, weights n x k: benchmarks/hgemm_layers.py."""
    for layer, m in itertools.product(LAYERS, (1, 8, 16, 32, 64, 128, 256, 512, 1024)):
        yield Cell("layers", f"{m}x{layer}", lambda small, m=m, layer=layer: product_case(f"{m}x{layer}", "NT", small))


def product_case(text: str, layout: str, small: bool, kind: str = "bfloat16", scales: bool = False) -> Case:
    """A product by prism.lib.hgemm; sampled rows are compared with float64. `layout`: NT has b's columns one after the other."""
    import torch

    m, n, k = parse_size(text)
    dtype = getattr(torch, kind)
    size = dtype.itemsize * (m * k + n * k) + 2 * m * n

    def normal(rows: int, columns: int) -> Any:
        return torch.randn(rows, columns, device="cuda").to(dtype)

    def one() -> tuple[Any, Any, Any]:
        b = normal(k, n) if layout == "NN" else normal(n, k).T
        return normal(m, k), b, torch.empty((m, n), device="cuda", dtype=torch.bfloat16)

    sets = [one() for _ in range(1 if small else max(1, min(1 + 2 * L2 // size, (1 << 29) // size, 30)))]
    more = {}
    if scales:
        more = {"scale_a": torch.rand((m, 1), device="cuda") + 0.5, "scale_b": torch.rand((1, n), device="cuda") + 0.5}

    def made(lib: Any) -> Call:
        def library(i: int) -> None:
            a, b, out = sets[i % len(sets)]
            lib.hgemm(a, b, out=out, **more)

        return library

    def fault() -> str:
        a, b, out = sets[0]
        rows = torch.randint(0, m, (16,), device="cuda")
        left, right = a[rows].float().double(), b.double()
        if scales:
            left, right = left * more["scale_a"][rows].double(), right * more["scale_b"].double()
        exact, total = left @ right, left.abs() @ right.abs()
        # the result is rounded to bfloat16; 8-bit products are added in sums of 14 bits, as by torch with its fast accumulation
        bound = 2.0**-8 * exact.abs() + (2 * k**0.5 * 2.0**-23 if kind == "bfloat16" else 2.0**-9) * total
        return said(((out[rows].double() - exact).abs() <= bound).all())

    seconds = size / 3.5e12 + 2.0 * m * n * k / (6e14 if kind == "bfloat16" else 1.2e15)
    return Case(
        call=lambda tree: with_library(tree, made), clear=lambda: sets[0][2].fill_(torch.nan), fault=fault,
        launches=max(2, min(len(sets), 30), min(30, int(1e-3 / seconds))),
    )  # fmt: skip


GROUPS: dict[str, Callable[[], Iterator[Cell]]] = {
    "scan": scans, "scan_axis": scan_axes, "reduce": reductions, "segments": segments, "sgemm": float32_products,
    "hgemm": bfloat16_products, "float8": float8_products, "layers": layers, "pairs": scan_structs, "kinds": scan_kinds,
}  # fmt: skip
