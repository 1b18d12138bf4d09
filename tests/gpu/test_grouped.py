"""Products of groups on the GPU: exact on small integers, in every form, at edges of tiles, in graphs whose groups change."""

import numpy as np
import pytest

import prism
from prism.host.call import call
from prism.kernels.grouped.configurations import DEEP, FEW, MANY, WIDE
from prism.kernels.hgemm import Configuration
from prism.lib.algorithms.grouped.api import decide_grouped
from tests.gpu.test_hgemm import small

cupy = pytest.importorskip("cupy")
try:
    import torch
except ImportError:  # without a GPU these tests are skipped; with one they need it, and fail
    torch = None

UNTOUCHED = 77.0
GROUPS = (
    ((5, 0, 70, 1, 64, 300, 128), 200, 136),
    ((0, 0, 0, 700), 64, 520),
    ((1,) * 70 + (0, 2), 1000, 1032),
    ((130, 5), 72, 77),
)
grouped = prism.lib.grouped_matmul


def bounds(lengths, dtype="int32"):
    return torch.tensor(np.concatenate([[0], np.cumsum(lengths)]).astype(dtype), device="cuda")


def products(a, b, ends, out):
    """What `out` is, once rows up to each end have been multiplied by its matrix."""
    ends = ends.tolist()
    for g in range(len(b)):
        rows = slice(ends[g], ends[g + 1])
        out[rows] = (a[rows].double() @ b[g].double()).to(out.dtype)
    return out


def room(*shape, kind="bfloat16"):
    return torch.full(shape, UNTOUCHED, device="cuda", dtype=getattr(torch, kind))


def inside(b):
    """The same matrices, K innermost."""
    return b.transpose(1, 2).contiguous().transpose(1, 2)


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
@pytest.mark.parametrize(("lengths", "k", "n"), GROUPS)
def test_contiguous(lengths, k, n, kind) -> None:
    """Both layouts; what is behind the last group is neither read nor written."""
    offsets = bounds(lengths)
    m = int(offsets[-1])
    a, b = small(m + 9, k, kind=kind), small(len(lengths), k, n, kind=kind)
    a[m:] = float("nan")
    wanted = products(a, b, offsets, room(m + 9, n, kind=kind))
    for matrices in (b, inside(b)):
        assert torch.equal(grouped(a, matrices, offsets, out=room(m + 9, n, kind=kind)), wanted)
    found = grouped(a[:m], b, offsets[1:].long(), out_dtype="float32")
    assert torch.equal(found, products(a, b, offsets, room(m, n, kind="float32")))


TILES = [*FEW, MANY, WIDE, DEEP, Configuration(128, 128, 6)]


@pytest.mark.parametrize("cut", TILES, ids=lambda cut: cut.name)
def test_tiles(cut) -> None:
    """Tiles of each size, and none of a warpgroup's rows in some."""
    offsets = bounds((1, 127, 128, 129, 0, 300))
    a, b = small(int(offsets[-1]), 256), inside(small(6, 256, 520))
    arrays = {"a": a, "b": b, "offsets": offsets}
    decide = lambda infos, out, machine: decide_grouped(infos, out, machine, cut=cut)
    found = call("grouped", ("tiles", cut), arrays, decide)
    assert torch.equal(found, products(a, b, offsets, room(*found.shape)))


@pytest.mark.parametrize(
    "offsets", [(0, 700, 5, 99, 200, 5000, -4), (-5, 10, 3, 50, 60, 70, 90), (500, 20, 600, 75, 1, 2, 3)]
)
def test_any_offsets(offsets) -> None:
    a, b = small(900, 136), small(6, 136, 264)
    rising = np.maximum.accumulate(np.clip(offsets, 0, 900))
    found = grouped(a, b, torch.tensor(offsets, device="cuda"), out=room(900, 264))
    assert torch.equal(found, products(a, b, rising, room(900, 264)))


def test_room_of_their_own() -> None:
    a, b, counts = small(5, 200, 136), small(5, 136, 264), (3, 0, 70, 999, -4)
    found = grouped(a, b, counts=torch.tensor(counts, device="cuda", dtype=torch.int32), out=room(5, 200, 264))
    for g, count in enumerate(np.clip(counts, 0, 200)):
        assert torch.equal(found[g, :count].double(), a[g, :count].double() @ b[g].double())
        assert bool((found[g, count:] == UNTOUCHED).all())


@pytest.mark.parametrize(("m", "n"), [(264, 392), (40, 40), (136, 1032), (8, 8)])
def test_along_k(m, n) -> None:
    """Of rows that are no group's nothing is read, and pieces of tiles lie outside of the arrays."""
    lengths = (5, 0, 295, 1, 699)
    offsets = bounds(lengths)
    x, y = small(1010, m), small(1010, n)
    x[1000:], y[1000:] = float("nan"), float("inf")
    found = grouped(x.T, y, offsets, out_dtype="float32")
    ends = offsets.tolist()
    for g in range(len(lengths)):
        rows = slice(ends[g], ends[g + 1])
        assert torch.equal(found[g].double(), x[rows].double().T @ y[rows].double())


@pytest.mark.parametrize("k", [64, 136, 1000])
@pytest.mark.parametrize("index", ["int32", "int64"])
def test_gathered(k, index) -> None:
    """Rows by an index, which may lead out; groups of few rows and of many."""
    for lengths in ((5, 0, 70, 0, 225, 600), (1,) * 64):
        offsets = bounds(lengths)
        m = int(offsets[-1])
        x, b = small(500, k), inside(small(len(lengths), k, 520))
        rows = torch.randint(-9, 520, (m,), device="cuda", dtype=getattr(torch, index))
        found = grouped(x, b, offsets, rows=rows)
        assert torch.equal(found, products(x[rows.long().clamp(0, 499)], b, offsets, room(m, 520)))


def test_extras() -> None:
    """By element, by row, by column of each group, and a number."""
    offsets = bounds((5, 0, 70, 0, 225, 600))
    a, b, bias, more = small(900, 136), small(6, 136, 520), small(6, 1, 520), small(900, 520)
    scale = small(900, 1, kind="float32")
    after = lambda x, b, s, r, by: max(x + b, 0.0) * s + r * by
    found = grouped(a, b, offsets, epilogue=after, extra=(bias, scale, more, 2.0))
    sums = products(a, b, offsets, room(900, 520, kind="float64"))
    group = torch.searchsorted(offsets[1:].long(), torch.arange(900, device="cuda"), right=True)
    assert torch.equal(found, ((sums + bias[group, 0]).clamp(min=0) * scale + 2.0 * more).bfloat16())


def test_pairs() -> None:
    """Two products of the same rows: halves of one array of weights, or two arrays, which are copied."""
    offsets = bounds((5, 0, 70, 0, 225, 600))
    a, w = small(900, 264), small(6, 1040, 264).transpose(1, 2)
    halves = w[:, :, :520], w[:, :, 520:]
    wanted = torch.ones(900, 520, device="cuda", dtype=torch.float64)
    for half in halves:
        wanted *= products(a, half, offsets, room(900, 520, kind="float64"))
    for pair in (halves, tuple(half.contiguous() for half in halves)):
        assert torch.equal(grouped(a, pair, offsets, epilogue=lambda g, u: g * u), wanted.bfloat16())


def test_eight_bits() -> None:
    a, b = small(300, 144).to(torch.float8_e4m3fn), small(3, 264, 144).to(torch.float8_e4m3fn).transpose(1, 2)
    offsets = bounds((100, 1, 199))
    assert torch.equal(grouped(a, b, offsets), products(a, b, offsets, room(300, 264, kind="float32")))


def test_a_graph_goes_by_what_offsets_hold() -> None:
    offsets, a, b, out = bounds((5, 0, 70, 0, 225, 600)), small(900, 136), small(6, 136, 520), room(900, 520)
    grouped(a, b, offsets, out=out)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        grouped(a, b, offsets, out=out)
    for lengths in ((200, 5, 0, 295, 300, 100), (900, 0, 0, 0, 0, 0), (0, 0, 0, 0, 0, 900)):
        offsets.copy_(bounds(lengths))
        graph.replay()
        assert torch.equal(out, products(a, b, offsets, room(900, 520)))


def test_cupy() -> None:
    a, b = (cupy.asarray(small(*shape, kind="float16")) for shape in ((900, 136), (6, 136, 520)))
    offsets = cupy.asarray([0, 5, 5, 75, 75, 300, 900])
    found, stream = cupy.zeros((900, 520), cupy.float16), cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()
    grouped(a, b, offsets, out=found, stream=stream)
    stream.synchronize()
    ends = offsets.tolist()
    for g in range(6):
        rows = slice(ends[g], ends[g + 1])
        assert bool(
            (found[rows] == (a[rows].astype(cupy.float32) @ b[g].astype(cupy.float32)).astype(cupy.float16)).all()
        )


@pytest.mark.parametrize(("lengths", "k", "n"), GROUPS)
def test_two_results(lengths, k, n) -> None:
    """Of rows as they lie and of gathered ones, in both layouts; along K too."""
    offsets = bounds(lengths)
    m = int(offsets[-1])
    a, b, rows = small(m, k), small(len(lengths), k, n), torch.arange(m, device="cuda")
    wanted, two = products(a, b, offsets, room(m, n, kind="float32")), (lambda x: max(x, 0.0), lambda x: x + 1.0)
    for matrices in (b, inside(b)):
        for more in ({}, {"rows": rows}):
            first, other = grouped(a, matrices, offsets, epilogue=two, out_dtype="float32", **more)
            assert torch.equal(first, wanted.clamp(min=0)) and torch.equal(other, wanted + 1)
    y = small(m, 40)
    first, other = grouped(a.T, y, offsets, epilogue=(None, lambda x: 2 * x), out_dtype="float32")
    assert torch.equal(2 * first, other) and torch.equal(first, grouped(a.T, y, offsets, out_dtype="float32"))
