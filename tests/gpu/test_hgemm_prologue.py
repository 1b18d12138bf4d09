"""Products with a function of what is multiplied, on a GPU: dtypes, layouts, edges, rows by an index, tiles that are chosen."""

import pytest

import prism
from prism.lang import float32
from prism.lib.epilogues import reduce, silu

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(
        not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0), reason="wgmma is Hopper's"
    ),
]
KINDS = (torch.float16, torch.bfloat16, torch.float32, torch.float8_e4m3fn, torch.float8_e5m2, torch.int8, torch.uint8)

SHAPES = (1, 8, 8), (77, 200, 1000), (300, 128, 72), (1111, 1000, 264), (8, 4096, 4096), (2048, 2048, 136)


def whole(*shape, kind=torch.float32, low=-2):
    return torch.randint(low, 3, shape, device="cuda").to(kind)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("gathered", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_exact(kind, gathered: bool, shape: tuple[int, int, int]) -> None:
    """Small integers, with extras of every kind: every sum is exact."""
    m, n, k = shape
    torch.manual_seed(m + n + k)
    for operand in (torch.float16, torch.bfloat16):
        a, b = (
            whole(2 * m if gathered else m, k, kind=kind, low=0 if kind == torch.uint8 else -2),
            whole(n, k, kind=operand).T,
        )
        b = b if m % 2 else b.contiguous()
        w, r, e = whole(k, kind=operand), whole(m, 1), whole(m, k, kind=torch.int32)
        rows = torch.randint(0, 2 * m, (m,), device="cuda") if gathered else None
        y = prism.lib.hgemm(
            a, b, prologue=lambda x, i, j, w, r, e, s: x * w * r + float32(e) * s + (1.0 if i == j else 0.0),
            prologue_extra=(w, r, e, 2), rows=rows, out_dtype="float32",
        )  # fmt: skip
        left = a.float()[rows] if gathered else a.float()
        left = (left * w.float() * r + 2 * e.float() + torch.eye(m, k, device="cuda")).to(operand).float()
        assert torch.equal(y, (left.double() @ b.double()).float())


def test_as_near_as_two_calls() -> None:
    """What a prologue makes is rounded as an array of it would be; float32's sums differ by their order alone."""
    torch.manual_seed(0)
    gate, up = (torch.randn(1000, 2048, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    w = torch.randn(3000, 2048, device="cuda", dtype=torch.bfloat16)
    y = prism.lib.hgemm(gate, w.T, prologue=lambda x, u: silu(x) * u, prologue_extra=up, out_dtype="float32")
    left = (torch.nn.functional.silu(gate.double()) * up.double()).bfloat16().double()
    exact, size = left @ w.double().T, left.abs() @ w.double().abs().T
    assert bool(((y - exact).abs() <= 2.0**-14 * size).all())  # an operand in many is rounded the other way


def test_with_a_reduction_and_captured() -> None:
    """A CUDA graph of a call, replayed with other numbers, of rows and of what is beside."""
    torch.manual_seed(1)
    a, b = whole(500, 256), whole(300, 256, kind=torch.bfloat16).T
    rows, r = torch.randint(0, 500, (700,), device="cuda", dtype=torch.int32), whole(700, 1)
    out = torch.empty(700, 300, device="cuda", dtype=torch.float32)

    def call():
        _, total = prism.lib.hgemm(
            a,
            b,
            rows=rows,
            prologue=lambda x, r: x * r,
            prologue_extra=r,
            epilogue=(None, reduce()),
            out_dtype="float32",
        )
        prism.lib.hgemm(a, b, rows=rows, prologue=lambda x, r: x * r, prologue_extra=r, out=out)
        return total

    call()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        total = call()
    rows.copy_(torch.randint(0, 500, (700,), device="cuda"))
    r.copy_(whole(700, 1))
    graph.replay()
    exact = (a[rows.long()] * r).double() @ b.double()
    assert torch.equal(out.double(), exact) and torch.equal(total.double(), exact.sum(1))
