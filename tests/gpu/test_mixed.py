"""prism.lib.quantized_matmul on the GPU: exact on small numbers, of torch and CuPy, on streams, captured; every tile."""

import pytest

import prism
from prism.host.call import call as host_call
from prism.kernels import mixed as kernels
from prism.kernels.mixed import FewCut
from prism.lib.algorithms.mixed.api import decide_mixed

try:
    import torch
except ImportError:  # without a GPU these tests are skipped; with one they need it, and fail
    torch = None

SHAPES = [
    (1, 16, 64, 64),
    (8, 40, 192, 64),
    (17, 100, 256, 128),
    (33, 264, 320, 64),
    (130, 520, 640, 640),
    (300, 72, 96, 32),
]
BITS = [4, 8]


def given(m, n, k, size, bits, kind="float16", *, zeros=True):
    """Operands whose products are exact in 16 bits, and the product."""
    q = torch.randint(0, 2**bits, (k, n), device="cuda", dtype=torch.uint8)
    points = torch.randint(0, 2**bits, (k // size, n), device="cuda", dtype=torch.uint8)
    scales = 2.0 ** torch.randint(-2, 1, (k // size, n), device="cuda")
    x = torch.randint(-1, 2, (m, k), device="cuda") * (torch.rand(m, k, device="cuda") < 0.05)
    arrays = {"x": x.to(getattr(torch, kind)), "weights": prism.lib.pack_weights(q, bits)}
    arrays["scales"] = scales.to(getattr(torch, kind))
    if zeros:
        arrays["zeros"] = points
    less = points if zeros else torch.full_like(points, 2 ** (bits - 1))
    dense = (q.double() - less.double().repeat_interleave(size, 0)) * scales.double().repeat_interleave(size, 0)
    return arrays, (x.double() @ dense).to(getattr(torch, kind))


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
@pytest.mark.parametrize("bits", BITS)
def test_products_are_exact(bits: int, kind: str, zeros: bool) -> None:
    for m, n, k, size in SHAPES:
        arrays, wanted = given(m, n, k, size, bits, kind, zeros=zeros)
        found = prism.lib.quantized_matmul(**arrays)
        assert found.dtype == wanted.dtype and torch.equal(found, wanted), (m, n, k, size)


@pytest.mark.parametrize("bits", BITS)
def test_every_tile_is_exact(bits: int) -> None:
    arrays, wanted = given(70, 264, 320, 64, bits)
    few = [FewCut(bits, tiles, strips, ahead=ahead) for tiles in (1, 2, 4) for strips in (1, 2, 4) for ahead in (1, 2)]
    for cut in (*few, FewCut(bits, 2, 4, 16, blocks=1), *kernels.TILES):

        def decide(infos, out, machine, cut=cut):
            return decide_mixed(infos, out, machine, cut)

        found = host_call("quantized_matmul", ("cut", cut), arrays, decide, None, captured=True)
        assert torch.equal(found, wanted), cut


@pytest.mark.parametrize("bits", BITS)
def test_numbers_come_back(bits: int) -> None:
    for kind in ("int8", "uint8"):
        low = -(2 ** (bits - 1)) if kind == "int8" else 0
        q = torch.randint(low, low + 2**bits, (200, 100), device="cuda", dtype=torch.int16).to(getattr(torch, kind))
        for some in (q, q[::2], q.T):
            packed = prism.lib.pack_weights(some, bits)
            assert torch.equal(prism.lib.unpack_weights(packed, *some.shape, dtype=kind), some)


@pytest.mark.parametrize("m", [5, 100])
def test_other_places(m: int) -> None:
    """Strides, `out`, a batch, a stream, a graph: the same product."""
    arrays, wanted = given(m, 104, 128, 64, 4)
    apart = torch.full((m, 136), 7, device="cuda", dtype=torch.float16)
    assert torch.equal(prism.lib.quantized_matmul(**arrays, out=apart[:, :104]), wanted)
    assert torch.equal(apart[:, 104:], torch.full_like(apart[:, 104:], 7)), "written beside the result"
    turned = {**arrays, "scales": arrays["scales"].T.contiguous().T, "x": arrays["x"].T.contiguous().T}
    assert torch.equal(prism.lib.quantized_matmul(**turned), wanted)
    columns = torch.full((104, m), 7, device="cuda", dtype=torch.float16).T
    assert torch.equal(prism.lib.quantized_matmul(**arrays, out=columns), wanted)
    batch = {**arrays, "x": arrays["x"].reshape(m, 1, 128)}
    assert torch.equal(prism.lib.quantized_matmul(**batch), wanted.reshape(m, 1, 104))
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        found = prism.lib.quantized_matmul(**arrays)
    stream.synchronize()
    assert torch.equal(found, wanted)
    out, graph = torch.empty_like(wanted), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        prism.lib.quantized_matmul(**arrays, out=out)
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(out, wanted)


def test_arrays_of_cupy() -> None:
    cupy = pytest.importorskip("cupy")
    arrays, wanted = given(20, 48, 128, 64, 4)
    found = prism.lib.quantized_matmul(**{name: cupy.asarray(one) for name, one in arrays.items()})
    assert bool((found == cupy.asarray(wanted)).all())
