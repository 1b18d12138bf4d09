"""prism.lib.matmul of float64 and of whole numbers on the GPU: exact, or near what NumPy and cuBLAS make."""

import itertools

import numpy as np
import pytest

import prism
from prism.kernels.matmul import HELPED, TILES, kernel_of

try:
    import torch
except ImportError:  # without a GPU these tests are skipped; with one they need it, and fail
    torch = None

SHAPES = [(1, 1, 1), (64, 32, 15), (129, 72, 208), (1000, 521, 271), (2048, 2048, 512), (33, 4096, 1700)]
KINDS = ["bool", "uint8", *(f"int{bits}" for bits in (8, 16, 32, 64))]


def numbers(whole: bool, *shape: int):
    if whole:
        return torch.randint(-9, 10, shape, device="cuda").double()
    return torch.randn(shape, device="cuda", dtype=torch.float64)


def near(found, a, b) -> bool:
    """Whether a product is as near as float64 sums of so many are."""
    size = a.abs() @ b.abs()
    return bool(((found - a @ b).abs() <= 2 * a.shape[-1] ** 0.5 * 2.0**-52 * size).all())


@pytest.mark.parametrize("along_a, along_b", list(itertools.product((False, True), (False, True))))
def test_float64(along_a: bool, along_b: bool) -> None:
    """Every layout; rows that begin at multiples of 16 bytes, and others; whole numbers are exact."""
    for m, n, k in SHAPES:
        for whole in (False, True):
            a, b = (numbers(whole, *shape) for shape in ((m, k), (k, n)))
            a = a if along_a else a.T.contiguous().T
            b = b.T.contiguous().T if along_b else b
            found = prism.lib.matmul(a, b)
            assert near(found, a, b) and (not whole or torch.equal(found, a @ b)), (m, n, k)


def test_every_tile_of_float64() -> None:
    m, n, k = 1000, 520, 136
    a, b = (torch.randint(-9, 10, shape, device="cuda").double() for shape in ((m, k), (k, n)))
    for cut in (HELPED, *TILES):
        out = torch.full((m, n), torch.nan, device="cuda", dtype=torch.float64)
        grid = -(-m // cut.bm) * -(-n // cut.bn)
        given = (a.view(-1), k, 0, b.view(-1), n, 0, out.view(-1), n, 0, m, n, k, 3)
        kernel_of(cut)[grid, cut.threads](*given, template={"CUT": cut})
        assert torch.equal(out, a @ b), cut


@pytest.mark.parametrize("along_a, along_b", list(itertools.product((False, True), (False, True))))
@pytest.mark.parametrize("kind", ["complex64", "complex128"])
def test_complex_numbers(kind: str, along_a: bool, along_b: bool) -> None:
    """Whole numbers are exact, of each layout, of few rows and of many; strides, a batch, `out`."""
    for m, n, k in (*SHAPES[:4], (16, 72, 208)):
        a, b = (torch.randint(-9, 10, (*s, 2), device="cuda").double() for s in ((m, k), (k, n)))
        a, b = (torch.view_as_complex(x).to(getattr(torch, kind)) for x in (a, b))
        wanted = (a.to(torch.complex128) @ b.to(torch.complex128)).to(a.dtype)
        a = a if along_a else a.T.contiguous().T
        b = b.T.contiguous().T if along_b else b
        assert torch.equal(prism.lib.matmul(a, b), wanted), (m, n, k)
        out = torch.zeros((n, m), device="cuda", dtype=a.dtype).T
        assert prism.lib.matmul(a, b, out=out) is out and torch.equal(out, wanted)
        assert torch.equal(prism.lib.matmul(torch.stack([a, -a]), b), torch.stack([wanted, -wanted]))


def test_batches_and_strides() -> None:
    a, b = (torch.randn(shape, device="cuda", dtype=torch.float64) for shape in ((3, 100, 64), (3, 64, 72)))
    for left, right in ((a, b), (a, b[0]), (a[0], b), (a[:, ::2, ::2], b[:, ::2]), (a[:, None], b[None])):
        assert near(prism.lib.matmul(left, right), left, right)
    out = torch.empty((72, 100), device="cuda", dtype=torch.float64).T
    assert prism.lib.matmul(a[0], b[0], out=out) is out and near(out, a[0], b[0])


@pytest.mark.parametrize("kind", KINDS)
def test_whole_numbers(kind: str) -> None:
    """As NumPy's, which wrap."""
    rng = np.random.default_rng(1)
    for m, n, k in ((1, 1, 1), (65, 63, 17), (300, 200, 1000)):
        if kind == "bool":
            a, b = (rng.integers(0, 2, shape).astype(bool) for shape in ((m, k), (k, n)))
        else:
            ends = np.iinfo(kind)
            a, b = (rng.integers(ends.min, ends.max, shape, kind, endpoint=True) for shape in ((m, k), (k, n)))
        found = prism.lib.matmul(*(torch.from_numpy(x).cuda() for x in (a, b)))
        assert np.array_equal(found.cpu().numpy(), a @ b), (m, n, k)
