"""8-bit floats on the GPU: conversions as torch's; prism.lib.hgemm is exact on small integers, near float64 on normal numbers."""

# ruff: noqa: F821 - template parameters

import numpy as np
import pytest

import prism
from prism.kernels.hgemm.singles import choose_single
from prism.lang import (
    block,
    const,
    dtype,
    grid,
    group,
    id,
    pack_e4m3x4,
    pack_e5m2x4,
    partition,
    ptr,
    requires,
    template,
    thread,
)  # fmt: skip
from tests.kernels.test_hgemm import relu

try:
    import torch
except ImportError:  # without a GPU these tests are skipped; with one they need it, and fail
    torch = None

KINDS = ["float8_e4m3fn", "float8_e5m2"]
LARGEST = {"float8_e4m3fn": 448.0, "float8_e5m2": 57344.0}
EPS = {"bfloat16": 2.0**-8, "float16": 2.0**-11, "float32": 2.0**-24}
SHAPES = [(1, 1, 1), (64, 40, 100), (129, 72, 208), (1000, 520, 272), (2048, 2048, 512), (33, 4096, 17)]


@prism.lang.prism("global")
@requires(grid[1], block[1], thread[256])
@template(T=dtype, U=dtype)
def convert(x: ptr(const(U)) @ grid[1], y: ptr(T) @ grid[1], z: ptr(U) @ grid[1]):
    with partition(y, thread[1], id()) as out, partition(z, thread[1], id()) as back:
        i: int @ thread[1] = id()
        with group(thread[1]):
            v: T = T(x[i])
            out[0] = v
            back[0] = U(v)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wide", ["float16", "bfloat16", "float32", "float64"])
def test_conversions(kind: str, wide: str) -> None:
    """Of all 16-bit floats, and of random bits; beyond the largest number it saturates, and NaN is 0x7F."""
    if wide in ("float16", "bfloat16"):
        x = torch.arange(1 << 16, device="cuda", dtype=torch.int32).to(torch.int16).view(getattr(torch, wide))
    else:
        x = torch.randint(-(1 << 31), 1 << 31, (1 << 22,), device="cuda").to(torch.int32).view(torch.float32)
        x = x.to(getattr(torch, wide))
    y = torch.zeros(x.shape, device="cuda", dtype=getattr(torch, kind))
    z = torch.zeros_like(x)
    convert[x.numel() // 256, 256](x, y, z)
    wanted = x.float().clamp(-LARGEST[kind], LARGEST[kind]).to(y.dtype)
    known = ~x.isnan()
    assert torch.equal(y.view(torch.uint8)[known], wanted.view(torch.uint8)[known])
    assert bool((y.view(torch.uint8)[~known] == 0x7F).all())
    assert torch.equal(z[known], wanted[known].to(z.dtype)) and bool(z[~known].isnan().all())


@prism.kernel
@requires(grid[1], block[1], thread[256])
def pack(x: ptr(const(float)) @ grid[1], y: ptr(int) @ grid[1], z: ptr(int) @ grid[1]):
    i: int @ thread[1] = id()
    with partition(y, thread[1], i) as out, partition(z, thread[1], i) as others, group(thread[1]):
        out[0] = int(pack_e4m3x4(x[4 * i], x[4 * i + 1], x[4 * i + 2], x[4 * i + 3]))
        others[0] = int(pack_e5m2x4(x[4 * i], x[4 * i + 1], x[4 * i + 2], x[4 * i + 3]))


@pytest.mark.parametrize("kind", KINDS)
def test_four_in_a_word(kind: str) -> None:
    """As one by one, of random bits: NaN and infinities too."""
    x = torch.randint(-(1 << 31), 1 << 31, (1 << 22,), device="cuda").to(torch.int32).view(torch.float32)
    words = torch.zeros(2, x.numel() // 4, device="cuda", dtype=torch.int32)
    pack[x.numel() // 1024, 256](x, *words)
    alone = torch.zeros(x.shape, device="cuda", dtype=getattr(torch, kind))
    convert[x.numel() // 256, 256](x, alone, torch.zeros_like(x))
    assert torch.equal(words[KINDS.index(kind)].view(torch.uint8), alone.view(torch.uint8))


def small(*shape: int, kind: str = KINDS[0]):
    return torch.randint(-2, 3, shape, device="cuda").to(getattr(torch, kind))


def product(a, b):
    """The exact product, in float64."""
    return a.double() @ b.double()


@pytest.mark.parametrize("left", KINDS)
@pytest.mark.parametrize("right", KINDS)
def test_exact(left: str, right: str) -> None:
    for m, n, k in SHAPES:
        a, w = small(m, k, kind=left), small(n, k, kind=right)
        assert torch.equal(prism.lib.hgemm(a, w.T).double(), product(a, w.T)), (m, n, k)
        columns = torch.full((n, m), torch.nan, device="cuda", dtype=torch.float32).T
        assert torch.equal(prism.lib.hgemm(a, w.T, out=columns).double(), product(a, w.T)), "made as the transpose"


def test_results_and_what_comes_after() -> None:
    m, n, k = 1000, 520, 272
    a, w = small(m, k), small(n, k)
    for kind in EPS:
        c = torch.randint(-2, 3, (m, n), device="cuda").to(getattr(torch, kind))
        bias = torch.randint(-2, 3, (n,), device="cuda").to(c.dtype)
        wanted = 0.5 * product(a, w.T)
        assert torch.equal(prism.lib.hgemm(a, w.T, alpha=0.5, out_dtype=kind), wanted.to(c.dtype))
        wanted = (wanted - 2 * c.double() + bias.double()).clamp(min=0)
        found = prism.lib.hgemm(a, w.T, c, alpha=0.5, beta=-2.0, bias=bias, out_dtype=kind, epilogue=relu)
        assert torch.equal(found, wanted.to(c.dtype))
        columns = torch.full((n, m), torch.nan, device="cuda", dtype=c.dtype).T
        assert prism.lib.hgemm(a, w.T, out=columns) is columns
        assert torch.equal(columns, product(a, w.T).to(c.dtype))


def power(x):
    """The exponent of each number's power of two, and for 0 one below all others."""
    return torch.where(x == 0, torch.full_like(x, -300.0), torch.frexp(x)[1].double() - 1)


def added(a, b):
    """The product as Hopper adds it (docs/intrinsics.md, wgmma), in float64, which holds each step exactly."""
    a, b = a.double(), b.double()
    total = torch.zeros(a.shape[0], b.shape[1], device=a.device, dtype=torch.float64)
    for first in range(0, a.shape[1], 32):
        left, right = a[:, first : first + 32, None], b[None, first : first + 32]
        unit = torch.exp2(torch.maximum((power(left) + power(right)).amax(1), power(total)) - 13)
        total = (torch.trunc(left * right / unit[:, None]).sum(1) + torch.trunc(total / unit)) * unit
        unit = torch.exp2(power(total) - 13)
        total = torch.trunc(total / unit) * unit
    return total


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [32, 64, 1024])
def test_the_very_bits(k: int, kind: str) -> None:
    """Of sums of normal numbers; so nothing says what a number below the smallest normal one would count as.

    Each sum is one chain of instructions: of fewer rows the tile that suits has blocks that add parts of K.
    """
    processors = torch.cuda.get_device_properties(0).multi_processor_count
    assert choose_single(128, 128, k // 2, processors, (False, False)).parts == 1  # `k` in elements of 16 bits
    x, y = (torch.randn(128, k, device="cuda") for _ in range(2))
    a, w = x.to(getattr(torch, kind)), y.to(torch.float8_e4m3fn)
    found, wanted = prism.lib.hgemm(a, w.T).double(), added(a, w.T)
    assert torch.equal(found, wanted)
    assert not torch.equal(found, product(a, w.T)), "in fewer bits than a float's"


def lost_at_most(a, b):
    """The most that Hopper's sums may lose of each element, by `a` and `b` alone.

    An instruction adds 32 products to the sum before it. Of each of these 33 it keeps what is at least 2^-13 of the largest one,
    measured with powers of two, and cuts off the rest. So a step loses less than 33 * 2^-13 times the largest product or the sum,
    and then 2^-13 of the sum that it makes, whose first 14 bits are kept.
    """
    m, k = a.shape
    exact, lost = (torch.zeros(m, b.shape[1], device="cuda", dtype=torch.float64) for _ in range(2))
    for first in range(0, k, 32):
        left, right = a[:, first : first + 32].double(), b[first : first + 32].double()
        largest = (left.abs()[:, :, None] * right.abs()[None]).amax(1)
        lost += 33 * 2.0**-13 * torch.maximum(largest, exact.abs() + lost)
        exact += left @ right
        lost += 2.0**-13 * (exact.abs() + lost)
    return lost


def difference(found, exact) -> float:
    """The root of the mean square of what a result is away from the exact one."""
    return float((found.double() - exact).square().mean().sqrt())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [512, 4096])
def test_normal_numbers(size: int, kind: str) -> None:
    """No element of some loses more than it may; all together no more than by cuBLASLt's fast way, which adds likewise.

    What is cut off is of either sign, so sums are far better than the worst case. The root of the mean square says that: of so
    many elements it repeats within 1 %, and 10 % are room for another order of the instructions.
    """
    a, w = (torch.randn(size, size, device="cuda").to(getattr(torch, kind)) for _ in range(2))
    b = w.to(torch.float8_e4m3fn).T  # cuBLASLt takes no two of float8_e5m2
    found, exact = prism.lib.hgemm(a, b), product(a, b)
    rows = torch.arange(0, size, size // 32)
    assert bool(((found[rows].double() - exact[rows]).abs() <= lost_at_most(a[rows], b)).all())
    one = torch.ones((), device="cuda")
    peer = torch._scaled_mm(a, b, one, one, out_dtype=torch.float32, use_fast_accum=True)
    assert difference(found, exact) <= 1.1 * difference(peer, exact)
    assert torch.equal(found, prism.lib.hgemm(a, b)), "the same call gives the same bits"


@pytest.mark.parametrize("kind", EPS)
def test_scales(kind: str) -> None:
    """Of rows and of columns, read anew by each call; exact, as they are whole numbers."""
    m, n, k = 1000, 520, 272
    a, w = small(m, k), small(n, k)
    rows, columns, bias = (torch.empty(size, device="cuda") for size in (m, n, n))
    columns_first = torch.empty((n, m), device="cuda", dtype=getattr(torch, kind)).T
    for _ in range(3):
        for x in (rows, columns, bias):
            x.copy_(torch.randint(-1, 3, x.shape, device="cuda"))
        last = bias.to(columns_first.dtype)
        wanted = (rows.double()[:, None] * columns.double() * product(a, w.T) + bias.double()).to(columns_first.dtype)
        scales = {"scale_a": rows[:, None], "scale_b": columns}
        assert torch.equal(prism.lib.hgemm(a, w.T, bias=last, out_dtype=kind, **scales), wanted)
        assert torch.equal(prism.lib.hgemm(a, w.T, bias=last, out=columns_first, **scales), wanted)
    one = torch.full((), 0.5, device="cuda")
    wanted = 0.25 * rows.double()[:, None] * product(a, w.T)
    assert torch.equal(prism.lib.hgemm(a, w.T, scale_a=rows, scale_b=one, alpha=0.5).double(), wanted)


def test_scales_of_16_bit_floats() -> None:
    """In all layouts, those that are made as their transposes among them."""
    for m, n, k in ((200, 136, 72), (2560, 2560, 64)):
        a, b = small(m, k).half(), small(k, n).half()
        rows, columns = (torch.randint(-1, 3, (size,), device="cuda").float() for size in (m, n))
        wanted = rows.double()[:, None] * columns.double() * product(a, b)
        for x in (a, a.T.contiguous().T):
            for y in (b, b.T.contiguous().T):
                found = prism.lib.hgemm(x, y, scale_a=rows, scale_b=columns, out_dtype="float32")
                assert torch.equal(found.double(), wanted)


def test_rows_that_must_be_copied_and_what_is_not_written() -> None:
    whole = small(300, 530)
    for a, w in (
        (whole[:200, 3:203], small(40, 200)),
        (whole[:200, :205], small(40, 205)),
        (small(64, 16), whole[:200, :16]),
    ):
        room = torch.full((a.shape[0] + 2, w.shape[0] + 5), 7.0, device="cuda", dtype=torch.float16)
        inside = room[1:-1, : w.shape[0]]
        prism.lib.hgemm(a, w.T, out=inside)
        assert torch.equal(inside.double(), product(a, w.T))
        inside.fill_(7.0)
        assert bool((room == 7.0).all())


def test_batches() -> None:
    for x, y in (
        ((3, 200, 80), (3, 136, 80)),
        ((3, 200, 80), (136, 80)),
        ((3, 256, 128), (3, 128, 128)),
        ((80, 48), (4, 24, 48)),
    ):
        a, w = small(*x), small(*y)
        wanted = product(a, w.mT)
        for _ in range(2):
            assert torch.equal(prism.lib.hgemm(a, w.mT).double(), wanted)
        out = torch.empty(wanted.shape, device="cuda")
        for _ in range(3):
            out.fill_(torch.nan)
            assert prism.lib.hgemm(a, w.mT, out=out) is out and torch.equal(out.double(), wanted)


@pytest.mark.parametrize("m, n, k", [(0, 0, 0), (0, 5, 3), (5, 0, 3), (300, 200, 0)])
def test_nothing(m: int, n: int, k: int) -> None:
    a, w = (torch.ones(s, device="cuda").to(torch.float8_e4m3fn) for s in ((m, k), (n, k)))
    assert torch.equal(prism.lib.hgemm(a, w.T), torch.zeros(m, n, device="cuda"))


def test_bits() -> None:
    """Arrays of uint8, with a dtype: of torch, and of CuPy, which has no 8-bit floats."""
    a, w = small(200, 72), small(40, 72, kind=KINDS[1])
    wanted = product(a, w.T)
    x, y = a.view(torch.uint8), w.view(torch.uint8)
    assert torch.equal(prism.lib.hgemm(x, y.T, dtype=KINDS).double(), wanted)
    cupy = pytest.importorskip("cupy")
    found = prism.lib.hgemm(
        cupy.asarray(x), cupy.asarray(y).T, dtype=(torch.float8_e4m3fn, "float8_e5m2"), out_dtype=np.float16
    )
    assert isinstance(found, cupy.ndarray) and np.array_equal(cupy.asnumpy(found), wanted.cpu().numpy())


def test_what_is_refused() -> None:
    a, w = small(64, 64), small(64, 64)
    for given, text in (
        ((a, w), "`b` of float8_e4m3fn must be the transpose"),
        ((a.T, w.T), "`a` of float8_e4m3fn must be row-major"),
    ):
        with pytest.raises(ValueError, match=text):
            prism.lib.hgemm(*given)
    with pytest.raises(TypeError, match="`b` float16: hgemm multiplies matrices of one dtype"):
        prism.lib.hgemm(a, w.half().T)
