"""prism.lib.hgemm on the GPU: exact on small integers, near float64 on normal numbers, at every edge, layout and epilogue."""

import random

import numpy as np
import pytest

import prism
from prism.host.call import call
from prism.kernels.hgemm import Configuration, cuts
from prism.kernels.hgemm.candidates import all_cuts
from prism.kernels.hgemm.singles import forms
from prism.lib.algorithms.hgemm.api import decide_hgemm
from tests.kernels.test_hgemm import relu

try:
    import torch
except ImportError:  # without a GPU these tests are skipped; with one they need it, and fail
    torch = None

EDGES = [1, 7, 8, 63, 64, 65, 127, 128, 129, 255, 257, 500]
EPS = {"bfloat16": 2.0**-8, "float16": 2.0**-11, "float32": 2.0**-24}


def small(*shape, kind="bfloat16"):
    return torch.randint(-2, 3, shape, device="cuda").to(getattr(torch, kind))


def product(a, b):
    """The exact product, in float64."""
    return a.double() @ b.double()


def near(found, a, b, kind: str = "bfloat16") -> bool:
    """KERNELS.md 6: one rounding of the result, and float32 sums of k products in any order."""
    exact, size = product(a, b), product(a.abs(), b.abs())
    bound = EPS[kind] * exact.abs() + 2 * a.shape[1] ** 0.5 * 2.0**-23 * size
    return bool(((found.double() - exact).abs() <= bound).all())


def cut(a, b, out, configuration: Configuration, stream=None) -> None:
    """Run a certain configuration, whatever the library would choose."""
    decide = lambda *asked: decide_hgemm(*asked, cut=configuration)
    call("hgemm", ("cut", configuration), {"a": a, "b": b}, decide, out, stream)


def laid(rows: int, columns: int, how: str, kind: str = "bfloat16"):
    """Small integers, with the elements of a row side by side ("N"), or those of a column ("T")."""
    return small(rows, columns, kind=kind) if how == "N" else small(columns, rows, kind=kind).T


LAYOUTS = {
    "NN": (False, True),
    "NT": (False, False),
    "TN": (True, True),
    "TT": (True, False),
}  # K outside, of a and of b
CASES = [
    (cut, layout) for layout, outside in LAYOUTS.items() for way in (False, True) for cut in cuts(outside, parted=way)
]


@pytest.mark.parametrize(("configuration", "layout"), CASES, ids=[f"{layout} {found.name}" for found, layout in CASES])
def test_configurations(configuration: Configuration, layout: str) -> None:
    """Of two row-major operands some tiles make the transposed product (`Configuration.turns`)."""
    for m, n, k in ((8, 8, 8), (264, 520, 72), (1000, 1032, 520), (4096, 64, 64), (640, 5000, 200)):
        a, b = laid(m, k, layout[0]), laid(k, n, layout[1])
        out = torch.full((m, n), torch.nan, device="cuda", dtype=torch.float32)
        cut(a, b, out, configuration)
        assert torch.equal(out.double(), product(a, b)), (m, n, k)
        a, b = torch.randn(m, k, device="cuda").half(), torch.randn(k, n, device="cuda").half()
        half = torch.full((m, n), torch.nan, device="cuda", dtype=torch.float16)
        cut(a, b, half, configuration)
        assert near(half, a, b, "float16"), (m, n, k)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_single_products_have(layout: str) -> None:
    """Clusters, tiles of any width, more numbers of parts, shares of K, copied operands, with what comes after: some."""
    first = list(LAYOUTS).index(layout)
    for m, n, k in ((16, 264, 4104), (264, 520, 2056)):
        a, b, bias = laid(m, k, layout[0]), laid(k, n, layout[1]), small(n)
        some = [one for one in forms(m, n, k, 132, LAYOUTS[layout]).some if one.shares in (1, 3)]
        for one in some[7 * first :: 37]:
            out = torch.full((m, n), torch.nan, device="cuda", dtype=torch.float32)
            cut(a, b, out, one)
            assert torch.equal(out.double(), product(a, b)), (m, n, k, one.name)
            if one.shares == 1:
                continue
            decide = lambda *asked, one=one: decide_hgemm(*asked, alpha=2.0, epilogue=relu, cut=one)
            call("hgemm", ("after", one), {"a": a, "b": b, "bias": bias}, decide, out)
            assert torch.equal(out.double(), (2 * product(a, b) + bias.double()).relu()), (m, n, k, one.name)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_long_k(layout: str) -> None:
    """In parts, as the library chooses: made again, in a graph, with what comes after, and rows that are not aligned."""
    for m, n, k in ((64, 1024, 4096), (256, 256, 8192), (100, 504, 16000), (20, 1024, 16384), (1, 64, 65536)):
        a, b, bias = laid(m, k, layout[0]), laid(k, n, layout[1]), small(1, n)[0]
        wanted, out = product(a, b), torch.empty(m, n + 1, device="cuda", dtype=torch.float32)[:, :n]
        for _ in range(3):
            out.fill_(torch.nan)
            prism.lib.hgemm(a, b, bias=bias, out=out)
            assert torch.equal(out.double(), wanted + bias.double()), (m, n, k)
        stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
        with torch.cuda.stream(stream), torch.cuda.graph(graph, stream=stream):
            for _ in range(20):
                prism.lib.hgemm(a, b, out=out)
        out.fill_(torch.nan)
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(out.double(), wanted), (m, n, k)
        rows, columns = torch.rand(m, device="cuda"), torch.rand(n, device="cuda")
        found = prism.lib.hgemm(a, b, scale_a=rows, scale_b=columns, alpha=0.5, out_dtype="float32")
        exact = 0.5 * rows.double()[:, None] * columns.double() * wanted
        assert bool(((found.double() - exact).abs() <= 4 * 2.0**-24 * exact.abs()).all()), (m, n, k)  # four roundings


def test_edges() -> None:
    for m in EDGES:
        for n in EDGES:
            for k in (1, 8, 64, 100, 257):
                a, b = small(m, k), small(k, n)
                assert torch.equal(prism.lib.hgemm(a, b, out_dtype="float32").double(), product(a, b)), (m, n, k)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
def test_layouts(layout: str, kind: str) -> None:
    for m, n, k in ((512, 384, 640), (1000, 520, 264), (2048, 2048, 2048)):
        a, b = laid(m, k, layout[0], kind), laid(k, n, layout[1], kind)
        assert torch.equal(prism.lib.hgemm(a, b, out_dtype="float32").double(), product(a, b))
        columns = torch.full((n, m), torch.nan, device="cuda", dtype=torch.float32).T
        assert prism.lib.hgemm(a, b, out=columns) is columns
        assert torch.equal(columns.double(), product(a, b))


@pytest.mark.parametrize("size", [512, 1024, 2048, 3072, 4096, 8192])
def test_normal_numbers(size: int) -> None:
    a, b = (torch.randn(size, size, device="cuda").to(torch.bfloat16) for _ in range(2))
    out = torch.full((size, size), torch.nan, device="cuda", dtype=torch.bfloat16)
    prism.lib.hgemm(a, b, out=out)
    rows = torch.randint(0, size, (64,), device="cuda")
    assert near(out[rows], a[rows], b)
    again = prism.lib.hgemm(a, b)
    assert torch.equal(out, again), "the same call gives the same bits"


def test_nothing_outside_is_written() -> None:
    for m, n, wide in ((129, 250, 256), (129, 251, 259), (200, 8, 8), (65, 130, 131)):
        room = torch.full((m + 2, wide), 7.0, device="cuda", dtype=torch.bfloat16)
        a, b = small(m, 72), small(72, n)
        prism.lib.hgemm(a, b, out=room[1 : m + 1, :n])
        assert torch.equal(room[1 : m + 1, :n].double(), product(a, b).to(torch.bfloat16).double())
        room[1 : m + 1, :n] = 7.0
        assert bool((room == 7.0).all()), (m, n, wide)


def test_any_strides_and_addresses() -> None:
    whole = small(700, 900)
    for a in (
        whole[3:503, 5:405],
        whole[::2, ::3][:300, :200],
        whole[:300, 1:201],
        whole.T[:400, 1:301],
        whole[:1, :40],
        whole[:40, :1],
    ):
        b = small(a.shape[1], 136)
        assert torch.equal(prism.lib.hgemm(a, b, out_dtype="float32").double(), product(a, b))
        assert torch.equal(prism.lib.hgemm(b.T, a.T, out_dtype="float32").double(), product(b.T, a.T))


@pytest.mark.parametrize("kind", ["bfloat16", "float32"])
def test_what_comes_after(kind: str) -> None:
    for m, n, k in ((256, 512, 128), (1000, 264, 136), (333, 251, 72), (2560, 2560, 64), (2552, 2299, 64)):
        a, b, c = small(m, k), small(k, n), small(m, n, kind=kind)
        wanted = 0.5 * product(a, b) - 2 * c.double()
        for bias in (None, small(n), small(m, 1)):
            total = wanted if bias is None else wanted + bias.double()
            found = prism.lib.hgemm(a, b, c, alpha=0.5, beta=-2.0, bias=bias, out_dtype=kind)
            assert torch.equal(found, total.to(getattr(torch, kind)))
            found = prism.lib.hgemm(a, b, c, alpha=0.5, beta=-2.0, bias=bias, out_dtype=kind, epilogue=relu)
            assert torch.equal(found, total.clamp(min=0).to(getattr(torch, kind)))
        assert prism.lib.hgemm(a, b, c, alpha=0.5, beta=-2.0, out=c) is c
        assert torch.equal(c, wanted.to(getattr(torch, kind)))


def test_an_operand_may_be_the_result() -> None:
    a, b = small(256, 256, kind="float16"), small(256, 256, kind="float16")
    wanted = product(a, b)
    prism.lib.hgemm(a, b, out=a)
    assert torch.equal(a.double(), wanted)


@pytest.mark.parametrize("m, n, k", [(0, 0, 0), (0, 5, 3), (5, 0, 3), (300, 200, 0)])
def test_nothing(m: int, n: int, k: int) -> None:
    a, b = (torch.ones(s, device="cuda", dtype=torch.bfloat16) for s in ((m, k), (k, n)))
    assert torch.equal(prism.lib.hgemm(a, b), torch.zeros(m, n, device="cuda", dtype=torch.bfloat16))


def test_cupy() -> None:
    cupy = pytest.importorskip("cupy")
    a, b = (cupy.random.randint(-2, 3, s).astype(cupy.float16) for s in ((300, 136), (136, 264)))
    found = prism.lib.hgemm(a, b, out_dtype=np.float32)
    assert isinstance(found, cupy.ndarray) and found.dtype == np.float32
    assert cupy.array_equal(found, a.astype(cupy.float32) @ b.astype(cupy.float32))


def test_streams_and_graphs() -> None:
    a, b = small(1024, 1024), small(1024, 1024)
    out, wanted = torch.zeros(1024, 1024, device="cuda"), product(a, b)
    prism.lib.hgemm(a, b, out=out)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        prism.lib.hgemm(a, b, out=out)
    out.zero_()
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(out.double(), wanted)
    side, other = torch.cuda.Stream(), torch.zeros_like(out)
    side.wait_stream(torch.cuda.current_stream())
    for _ in range(100):
        prism.lib.hgemm(a, b, out=out)
        prism.lib.hgemm(a, b, out=other, stream=side)
    torch.cuda.synchronize()
    assert torch.equal(out, other) and torch.equal(out.double(), wanted)


@pytest.mark.parametrize("call", [prism.lib.hgemm, prism.lib.matmul])
def test_batches(call) -> None:
    """One launch where `b` is one, else one each; again, with results of before in the way."""
    for x, y in (
        ((3, 200, 72), (72, 136)),
        ((3, 200, 72), (3, 72, 136)),
        ((2, 1, 64, 64), (5, 64, 40)),
        ((1, 9), (4, 9, 8)),
        ((3, 256, 128), (3, 128, 136)),  # from here on a launch each, of whole tiles down, and of others
        ((2, 3, 100, 64), (2, 3, 64, 72)),
        ((4, 200, 192), (4, 192, 8)),
        ((200, 64), (5, 64, 520)),
    ):
        a, b = small(*x), small(*y)
        for given in ((a, b), (a.transpose(-1, -2).contiguous().transpose(-1, -2), b), (a[..., ::2], b[..., ::2, :])):
            wanted = product(*given).to(a.dtype)
            assert torch.equal(call(*given), wanted)
            out = torch.empty(wanted.shape, device="cuda", dtype=torch.bfloat16)
            for _ in range(3):
                out.fill_(torch.nan)
                assert call(*given, out=out) is out and torch.equal(out, wanted)
    x = small(4, 64, 64)
    wanted = product(x, x[0]).to(x.dtype)
    assert call(x, x[0], out=x) is x and torch.equal(x, wanted)


def test_warm_calls() -> None:
    """What is made again is what is asked for: on other streams and data, in a graph, of vectors, of a module's weights."""
    a, b = small(256, 136), torch.nn.Parameter(small(136, 264), requires_grad=False)
    out, side = torch.empty(256, 264, device="cuda", dtype=torch.bfloat16), torch.cuda.Stream()
    for number in range(6):
        a.copy_(small(256, 136))
        torch.cuda.synchronize()
        with torch.cuda.stream(side if number % 2 else torch.cuda.default_stream()):
            (prism.lib.hgemm if number < 3 else prism.lib.matmul)(a, b, out=out)
        torch.cuda.synchronize()
        assert torch.equal(out.double(), product(a, b).to(out.dtype).double())
    for number in range(3):
        assert torch.equal(
            prism.lib.matmul(a[number], b).double(), product(a[number : number + 1], b)[0].to(a.dtype).double()
        )
        assert torch.equal(prism.lib.hgemm(a, b, alpha=number).double(), (number * product(a, b)).to(a.dtype).double())


@pytest.mark.slow
def test_soak() -> None:
    """10^5 launches of all configurations over random shapes, on two streams: no hang, no wrong tile, nothing left unwritten."""
    rng = random.Random(0)
    streams = [torch.cuda.Stream() for _ in range(2)]
    configurations = [*cuts(LAYOUTS["NN"]), *(found for found in all_cuts() if found.cluster > 1)]
    cases = []
    for number in range(160):
        m, n, k = rng.randint(1, 900), 8 * rng.randint(1, 110), 8 * rng.randint(1, 120)
        a, b = torch.randint(-1, 2, (m, k), device="cuda").half(), torch.randint(-1, 2, (k, n), device="cuda").half()
        outs = [torch.empty(m, n, device="cuda", dtype=torch.float16) for _ in streams]
        cases.append((a, b, outs, configurations[number % len(configurations)]))
    launches = 0
    while launches < 100_000:
        for *_, outs, _ in cases:
            for out in outs:
                out.fill_(torch.nan)
        torch.cuda.synchronize()
        for a, b, outs, configuration in cases:
            for out, stream in zip(outs, streams, strict=True):
                cut(a, b, out, configuration, stream)
        for _ in range(5000):
            a, b, outs, configuration = cases[rng.randrange(len(cases))]
            which = launches % 2
            cut(a, b, outs[which], configuration, streams[which])
            launches += 1
        torch.cuda.synchronize()
        for a, b, outs, configuration in cases:
            wanted = product(a, b)
            assert all(torch.equal(out.double(), wanted) for out in outs), (a.shape, b.shape, configuration.name)
