"""Epilogues that are functions on the GPU: exact on small integers, in all layouts, at edges, of every kind of extra."""

import random

import numpy as np
import pytest

import prism
from prism.host.call import call
from prism.kernels.hgemm import cuts
from prism.kernels.hgemm.configurations import SPAN
from prism.lib.algorithms.hgemm.api import decide_hgemm
from prism.lib.epilogues import dropout, gelu, gelu_fast, gelu_tanh, reduce, relu, silu, silu_fast, swiglu
from tests.gpu.test_hgemm import LAYOUTS, laid, product, small
from tests.rarely import rarely

try:
    import torch
except ImportError:  # without a GPU these tests are skipped; with one they need it, and fail
    torch = None

SHAPES = ((8, 8, 8), (264, 520, 72), (1000, 1032, 520), (63, 65, 100), (640, 2056, 200), (300, 1, 64), (1, 300, 64))


def terms(m: int, n: int, kind: str = "bfloat16"):
    """A bias a column, a factor a row, what is added to each element."""
    return small(n, kind=kind), small(m, 1, kind="float32"), small(m, n, kind=kind)


def combined(x, bias, rows, before):
    return (x + bias.double()).clamp(min=0) * rows.double() + before.double()


AFTER = lambda x, bias, rows, before: max(x + bias, 0.0) * rows + before


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("result", ["bfloat16", "float32"])
def test_extras_of_every_kind(layout: str, result: str) -> None:
    """What is added comes by tensor copies where it is of the result's dtype, and else by element."""
    for m, n, k in SHAPES:
        a, b, extra = laid(m, k, layout[0]), laid(k, n, layout[1]), terms(m, n)
        found = prism.lib.hgemm(a, b, epilogue=AFTER, extra=extra, out_dtype=result)
        wanted = combined(product(a, b), *extra)
        assert torch.equal(found, wanted.to(getattr(torch, result))), (m, n, k)


CUTS = [
    (cut, layout)
    for layout, outside in LAYOUTS.items()
    for cut in cuts(outside)
    if cut.transposes_out(outside) or not outside[1] or cut.span_b == SPAN  # of narrow spans there are none
]


@pytest.mark.parametrize(("cut", "layout"), rarely(CUTS, but=CUTS[::6]), ids=lambda x: getattr(x, "name", x))
def test_tiles(cut, layout: str) -> None:
    """Each tile that the library has, with what is by row, by column and by element; of two products where tiles can be."""
    for m, n, k in ((264, 520, 72), (1000, 1032, 520)):
        a, b, (bias, rows, before) = laid(m, k, layout[0]), laid(k, n, layout[1]), terms(m, n)
        out = torch.full((m, n), torch.nan, device="cuda", dtype=torch.bfloat16)
        arrays = {"a": a, "b": b, "extra[0]": bias, "extra[1]": rows, "extra[2]": before}
        decide = lambda *asked: decide_hgemm(*asked, cut=cut, epilogue=AFTER_OF, extra=(bias, rows, before))
        call("hgemm", ("cut", cut, layout), arrays, decide, out)
        assert torch.equal(out, combined(product(a, b), bias, rows, before).bfloat16()), (m, n, k)
        turned = cut.transposes_out(LAYOUTS[layout])
        fits = cut.bm // cut.consumers == 128 if turned else cut.bn % 16 == 0
        if layout[1] == "T" and cut.cluster == 1 and fits:
            other = laid(k, n, "T")
            decide = lambda *asked: decide_hgemm(*asked, cut=cut, epilogue=LARGER, extra=(before,))
            arrays = {"a": a, "b": b, "b[1]": other, "extra[0]": before}
            call("hgemm", ("cut, pair", cut, layout), arrays, decide, out)
            assert torch.equal(out, (torch.maximum(product(a, b), product(a, other)) + before).bfloat16()), (m, n, k)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_long_k(layout: str) -> None:
    """In parts of K, where the library takes these."""
    for m, n, k in ((64, 1024, 4096), (100, 504, 8000), (20, 1024, 16384), (1, 64, 65536)):
        a, b, extra = laid(m, k, layout[0]), laid(k, n, layout[1]), terms(m, n)
        for result in ("float32", "bfloat16"):
            found = prism.lib.hgemm(a, b, epilogue=AFTER, extra=extra, out_dtype=result)
            assert torch.equal(found, combined(product(a, b), *extra).to(getattr(torch, result))), (m, n, k, result)


def test_arrays_of_cupy() -> None:
    import cupy

    a, b, rows = (cupy.random.randint(-2, 3, shape).astype(cupy.float16) for shape in ((200, 72), (72, 136), (200, 1)))
    exact, stream = a.astype(float) @ b.astype(float), cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()
    for k in (2.0, 3.0):  # a number that the lambda names
        found = prism.lib.hgemm(a, b, epilogue=lambda x, r: x * r * k, extra=rows, stream=stream)
        stream.synchronize()
        assert bool((found == exact * rows * k).all())
    y, total = prism.lib.hgemm(a, b, epilogue=(relu, reduce(lambda x: x * x)), out_dtype="int8")
    assert (
        y.dtype == cupy.int8 and bool((y == exact.clip(0, 127)).all()) and bool((total == (exact * exact).sum(1)).all())
    )


def test_two_products() -> None:
    for m, n, k in SHAPES:
        for columns in (slice(0, n), slice(n, None)), (slice(0, None, 2), slice(1, None, 2)):
            a, w = small(m, k), small(2 * n, k)
            pair = tuple(w.T[:, part] for part in columns)
            found = prism.lib.hgemm(a, pair, epilogue=lambda x, y, i, j: max(x, y) + i - j, out_dtype="float32")
            places = torch.arange(m, device="cuda")[:, None] - torch.arange(n, device="cuda")
            wanted = torch.maximum(product(a, pair[0]), product(a, pair[1])) + places
            assert torch.equal(found.double(), wanted.double()), (m, n, k)
    a, pair = small(200, 72), (small(72, 136), small(72, 136))  # row-major: they are copied
    assert torch.equal(
        prism.lib.hgemm(a, pair, epilogue=lambda x, y: x - y).double(), product(a, pair[0]) - product(a, pair[1])
    )


@pytest.mark.parametrize("layout", ["NT", "TN"])
@pytest.mark.parametrize(("axis", "op"), [(0, "maximum"), (1, "add")])
def test_several_results(layout: str, axis: int, op: str) -> None:
    for m, n, k in (*SHAPES[1:6], (2000, 1000, 64)):
        a, b, bias = laid(m, k, layout[0]), laid(k, n, layout[1]), small(n)
        exact = product(a, b)
        epilogue = (lambda x, c: x + c, lambda x, c: x - c, reduce(lambda x, c: x * c + 1, op, axis))
        y, z, combined = prism.lib.hgemm(a, b, epilogue=epilogue, extra=bias, out_dtype="float32")
        wanted = exact * bias.double() + 1
        wanted = wanted.sum(axis) if op == "add" else wanted.amax(axis)
        assert torch.equal(y.double(), exact + bias.double()) and torch.equal(z.double(), exact - bias.double())
        assert torch.equal(combined.double(), wanted), (m, n, k, op)
    a, b = laid(136, 64, layout[0]), laid(64, 72, layout[1])
    out = torch.zeros(136, 72, device="cuda", dtype=torch.bfloat16), torch.zeros((72, 136)[axis], device="cuda")
    assert prism.lib.hgemm(a, b, epilogue=(None, reduce(op="maximum", axis=axis)), out=out)[1] is out[1]
    assert torch.equal(out[0].double(), product(a, b)) and torch.equal(out[1].double(), product(a, b).amax(axis))
    x, w, before = small(300, 64), small(512, 64), small(300, 256)
    gated = lambda g, u, r: max(g, u) + r
    y, squares = prism.lib.hgemm(
        x,
        (w[:256].T, w[256:].T),
        epilogue=(gated, reduce(lambda g, u, r: (max(g, u) + r) * (max(g, u) + r))),
        extra=before,
    )
    wanted = torch.maximum(product(x, w[:256].T), product(x, w[256:].T)) + before
    assert torch.equal(y.double(), wanted) and torch.equal(squares.double(), wanted.square().sum(1))


def test_eight_bits() -> None:
    """Results of 8 bits are rounded to the nearest, and saturate; operands of 8 bits have the same epilogues."""
    for m, n, k in ((264, 528, 72), (100, 72, 520), (63, 65, 100)):
        a, b, scale = small(m, k), small(k, n), torch.rand(m, 1, device="cuda") + 0.01
        exact = product(a, b)
        for kind, low, high in (("int8", -128, 127), ("uint8", 0, 255)):
            found = prism.lib.hgemm(a, b, epilogue=lambda x, s: x * s * 20.0, extra=scale, out_dtype=kind)
            wanted = (exact.float() * scale * 20.0).round().clamp(low, high)
            assert int((found.float() != wanted).sum()) == 0, (kind, m, n, k)
        found = prism.lib.hgemm(a, b, out_dtype="float8_e4m3fn", epilogue=relu)
        assert torch.equal(found.float(), exact.float().clamp(min=0).to(torch.float8_e4m3fn).float()), (m, n, k)
    x, w = (small(*shape).to(torch.float8_e4m3fn) for shape in ((200, 128), (96, 128)))
    bias = small(96, kind="float32")
    found = prism.lib.hgemm(
        x, w.T, epilogue=lambda v, b: max(v + b, 0.0), extra=bias, scale_a=torch.tensor([2.0]).cuda()
    )
    assert torch.equal(found.double(), (2 * product(x.float(), w.T.float()) + bias.double()).clamp(min=0))


def test_batches_graphs_streams_and_in_place() -> None:
    m, n, k = 136, 72, 64
    x, y, r = small(3, m, k), small(3, k, n), small(3, m, n, kind="float32")
    wanted = product(x, y) + r + torch.arange(m, device="cuda")[:, None]
    after = lambda v, i, j, before: v + before + i
    assert torch.equal(prism.lib.hgemm(x, y, epilogue=after, extra=r, out_dtype="float32").double(), wanted.double())
    shared = prism.lib.hgemm(x, y[0], epilogue=lambda v, s: v * s, extra=r[:, :, :1], out_dtype="float32")
    assert torch.equal(shared.double(), product(x, y[:1]) * r[:, :, :1])
    stream, graph, out = torch.cuda.Stream(), torch.cuda.CUDAGraph(), r[0].clone()
    a, b = x[0].contiguous(), y[0].contiguous()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream), torch.cuda.graph(graph, stream=stream):
        prism.lib.hgemm(a, b, epilogue=lambda v, before: v + before, extra=out, out=out)
    for times in range(1, 4):
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(out.double(), r[0] + times * product(a, b))
    run = prism.lib.plan(prism.lib.hgemm, a, b, epilogue=relu)
    run()
    torch.cuda.synchronize()


def test_activations() -> None:
    a, b = torch.randn(500, 264, device="cuda").bfloat16(), torch.randn(264, 520, device="cuda").bfloat16()
    exact, F = product(a, b), torch.nn.functional
    tanh = lambda x: F.gelu(x, approximate="tanh")
    for mine, theirs in ((gelu, F.gelu), (gelu_tanh, tanh), (silu, F.silu)):
        found = prism.lib.hgemm(a, b, epilogue=mine, out_dtype="float32")
        assert bool(((found - theirs(exact)).abs() <= 4e-6 * (1 + product(a.abs(), b.abs()))).all()), mine.__name__
    for mine, theirs in ((gelu_fast, tanh), (silu_fast, F.silu)):
        found = prism.lib.hgemm(a, b, epilogue=mine, out_dtype="float32")
        error = 2.0**-12 * exact.abs() + 4e-6 * (1 + product(a.abs(), b.abs()))
        assert bool(((found - theirs(exact)).abs() <= error).all()), mine.__name__
    found = prism.lib.hgemm(a, (b, b * 0.5), epilogue=swiglu, out_dtype="float32")
    wanted = F.silu(exact) * product(a, b * 0.5)
    assert bool(((found - wanted).abs() <= 1e-4 + 1e-5 * wanted.abs()).all())
    dropped = [prism.lib.hgemm(a, b, epilogue=dropout, extra=(0.25, 7), out_dtype="float32") for _ in range(2)]
    on_host = prism.lib.hgemm(
        *(x.float().cpu().numpy().astype(np.float16) for x in (a, b)), epilogue=dropout, extra=(0.25, 7)
    )
    assert torch.equal(*dropped) and np.array_equal(dropped[0].cpu().numpy() == 0, on_host == 0)


def test_random_shapes() -> None:
    rng = random.Random(0)
    for _ in range(16):  # most take a kernel of their own, which is compiled
        m, n, k = (round(2 ** rng.uniform(0, 10.5)) for _ in range(3))
        layout, result = rng.choice(list(LAYOUTS)), rng.choice(["bfloat16", "float16", "float32"])
        kind = rng.choice(["bfloat16", "float16"])
        a, b = laid(m, k, layout[0], kind), laid(k, n, layout[1], kind)
        extra = terms(m, n, rng.choice(["bfloat16", "float16", "float32"]))
        found = prism.lib.hgemm(a, b, epilogue=AFTER, extra=extra, out_dtype=result)
        wanted = combined(product(a, b), *extra)
        assert torch.equal(found, wanted.to(getattr(torch, result))), (m, n, k, layout, result, kind)


def _opened(function):
    from prism.lib.algorithms.hgemm.epilogue import asked_for

    return asked_for(function)


AFTER_OF = _opened(AFTER)
LARGER = _opened(lambda x, y, before: max(x, y) + before)
