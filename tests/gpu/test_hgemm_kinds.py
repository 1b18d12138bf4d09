"""prism.lib.hgemm of 8-bit integers, of scales of blocks, and of symmetric products, on the GPU: exact on small numbers."""

from dataclasses import replace

import pytest

import prism
from prism.host.call import call as host_call
from prism.kernels.hgemm import kinds
from prism.lib.algorithms.hgemm.api import decide_hgemm

try:
    import torch
except ImportError:  # without a GPU these tests are skipped; with one they need it, and fail
    torch = None

SHAPES = [
    (1, 1, 1),
    (64, 40, 100),
    (129, 72, 208),
    (1000, 520, 272),
    (2048, 2048, 512),
    (33, 4096, 1700),
    (5, 256, 4096),
]
BLOCKS = [(1, 128), (128, 1), (1, 1), (128, 128)]


def integers(dtype, *shape: int):
    found = torch.iinfo(dtype)
    return torch.randint(found.min, found.max + 1, shape, device="cuda", dtype=dtype)


@pytest.mark.parametrize("kind", ["int8", "uint8"])
def test_integers_are_exact(kind: str) -> None:
    for m, n, k in SHAPES:
        a, w = (integers(getattr(torch, kind), rows, k) for rows in (m, n))
        how = {"dtype": kind} if kind == "uint8" else {}
        found = prism.lib.hgemm(a, w.T, **how)
        assert found.dtype == torch.int32 and torch.equal(found.double(), a.double() @ w.double().T), (m, n, k)
        columns = torch.full((n, m), 7, device="cuda", dtype=torch.int32).T
        assert torch.equal(prism.lib.hgemm(a, w.T, out=columns, **how), found), "made as the transpose"


def test_every_tile_of_integers_is_exact() -> None:
    m, n, k = 1000, 520, 1296
    a, w = integers(torch.int8, m, k), integers(torch.int8, n, k)
    wanted = a.double() @ w.double().T
    inside = (False, False)
    for cut in (*kinds.cuts(inside), *kinds.cuts(inside, parted=True)):
        if kinds.takes_integers(cut):
            assert torch.equal(made({"a": a, "b": w.T}, cut).double(), wanted), cut.name


def made(arrays, cut, **how):
    def decide(given, out, machine):
        return decide_hgemm(given, out, machine, cut=cut, **how)

    return host_call("hgemm", ("cut", cut, *how), arrays, decide, None, captured=True)


def test_integers_that_become_floats() -> None:
    m, n, k = 1000, 520, 272
    a, w = integers(torch.int8, m, k), integers(torch.int8, n, k)
    exact = a.double() @ w.double().T
    rows, columns = (2.0 ** torch.randint(-3, 3, (many,), device="cuda").float() for many in (m, n))
    found = prism.lib.hgemm(a, w.T, scale_a=rows, scale_b=columns, out_dtype="bfloat16")
    assert torch.equal(found, (exact * rows[:, None] * columns).to(torch.bfloat16))
    found = prism.lib.hgemm(a, w.T, epilogue=lambda x, s: x * s, extra=(2.0**-12,), out_dtype="int8")
    assert torch.equal(found.double(), (exact * 2.0**-12).round().clamp(-128, 127))


def operands(m: int, n: int, k: int, each: tuple[int, int], outside: bool):
    """Small numbers and powers of two, so that nothing is rounded; the exact product."""
    arrays, factors = [], []
    for many, of in zip((m, n), each, strict=True):
        x = torch.randint(-2, 3, (many, k), device="cuda").to(torch.float8_e4m3fn)
        scale = 2.0 ** torch.randint(-2, 3, (-(-many // of), -(-k // 128)), device="cuda").float()
        arrays += [x, scale.T.contiguous().T if outside else scale]
        factors.append(x.double() * scale.double().repeat_interleave(of, 0)[:many].repeat_interleave(128, 1)[:, :k])
    a, scale_a, w, scale_b = arrays
    return {"a": a, "b": w.T, "scale_a": scale_a, "scale_b": scale_b.T}, factors[0] @ factors[1].T


@pytest.mark.parametrize("outside", [False, True])
@pytest.mark.parametrize("each", BLOCKS)
def test_scales_of_blocks_are_exact(each: tuple[int, int], outside: bool) -> None:
    for m, n, k in SHAPES:
        given, wanted = operands(m, n, k, each, outside)
        assert torch.equal(prism.lib.hgemm(**given).double(), wanted), (m, n, k)


@pytest.mark.parametrize("each", [(1, 128), (1, 1)])
def test_every_tile_of_blocks_is_exact(each: tuple[int, int]) -> None:
    given, wanted = operands(392, 520, 1296, each, True)
    few, wanted_few = operands(40, 520, 1296, each, True)
    for cut in (*kinds.BLOCK_TILES, *kinds.BLOCK_PARTED, *kinds.BLOCK_NARROW, *kinds.BLOCK_NARROW_PARTED):
        for one in (cut, replace(cut, cluster_m=2)) if cut.parts == 1 and cut.consumers == 2 else (cut,):
            if kinds.fits_blocks(one, each):
                assert torch.equal(made(given, one).double(), wanted), one.name
                assert torch.equal(made(few, one).double(), wanted_few), one.name


def test_what_comes_after_scales_of_blocks() -> None:
    given, exact = operands(1000, 520, 272, (1, 128), True)
    bias = torch.randint(-9, 9, (520,), device="cuda").float()
    found = prism.lib.hgemm(**given, bias=bias)
    assert torch.equal(found.double(), exact + bias)
    found = prism.lib.hgemm(**given, epilogue=lambda x, b: max(x + b, 0.0), extra=bias)
    assert torch.equal(found.double(), (exact + bias).clamp(min=0))


def test_errors_are_those_of_float32_sums_of_steps() -> None:
    """Of 8-bit floats' sums of 128 about 14 bits are kept; of those of K all that float32 has: K does not make it worse."""
    for k in (128, 1024, 16384):
        a, w = (torch.randn(rows, k, device="cuda").abs().to(torch.float8_e4m3fn) for rows in (256, 256))
        ones = {"scale_a": torch.ones(256, k // 128, device="cuda"), "scale_b": torch.ones(k // 128, 2, device="cuda")}
        exact = a.double() @ w.double().T
        assert bool(((prism.lib.hgemm(a, w.T, **ones) - exact).abs() <= 2.0**-9 * exact).all()), k


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_symmetric_products_are_exact(kind: str) -> None:
    for n, k in ((1, 1), (64, 40), (129, 72), (1000, 520), (2048, 512), (3001, 64)):
        a = torch.randint(-2, 3, (n, k), device="cuda").to(getattr(torch, kind))
        wanted = (a.double() @ a.double().T).to(a.dtype)  # whole numbers below 2^9: bfloat16 rounds some
        assert torch.equal(prism.lib.hgemm(a, a.T, symmetric=True), wanted), n
        across = torch.randint(-2, 3, (k, n), device="cuda").to(a.dtype)
        c = wanted.clone()
        found = prism.lib.hgemm(across.T, across, c, alpha=2.0, beta=-1.0, symmetric=True, out_dtype=a.dtype)
        assert torch.equal(found, (2 * (across.double().T @ across.double()) - c.double()).to(a.dtype)), n


def test_every_symmetric_tile_is_exact() -> None:
    n, k = 1304, 264
    a = torch.randint(-2, 3, (n, k), device="cuda").to(torch.bfloat16)
    wanted = (a.double() @ a.double().T).to(a.dtype).double()  # those of the diagonal, past 256, are rounded
    for cut in (*kinds.SYMMETRIC_TILES, *kinds.ADDED_TILES):
        assert torch.equal(made({"a": a, "b": a.T}, cut, symmetric="both").double(), wanted), cut.name
    for name, part in (("lower", torch.tril), ("upper", torch.triu)):
        out = torch.full((n, n), 7, device="cuda", dtype=torch.bfloat16)
        prism.lib.hgemm(a, a.T, symmetric=name, out=out)
        assert torch.equal(part(out).double(), part(wanted)) and bool((out == 7).any()), name


def test_symmetric_results_have_the_same_bits_on_both_sides() -> None:
    """Not those of squares on the diagonal by promise, but by the order of K: of normal numbers too."""
    a = torch.randn(2048, 1000, device="cuda").to(torch.bfloat16)
    found = prism.lib.hgemm(a, a.T, symmetric=True)
    assert torch.equal(found, found.T)
    exact = a.double() @ a.double().T
    assert bool(((found - exact).abs() <= 2.0**-8 * exact.abs() + 1e-3).all())
