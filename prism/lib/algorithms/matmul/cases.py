"""Calls of products: shapes are `(m, k, n)`."""

from __future__ import annotations

from typing import Any

from prism.lib.cases import Case, exact, numbers

SHAPES = ((17, 32, 8), (17, 33, 5), (0, 3, 2), (3, 0, 2), (1, 1, 1), (64, 64, 64), (65, 63, 66))
"""The first is none that 16-bit products copy: rows begin at multiples of 16 bytes, as a plan wants it."""
LARGE = ((130, 33, 70), (256, 256, 256), (64, 1024, 512))


def of_matrices(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any, Any]:
    """Return matrices of m x k and of k x n."""
    m, k, n = shape
    return (*numbers(random, (m, k), dtype), *numbers(random, (k, n), dtype))


def product(a: Any, b: Any) -> Any:
    """Return what a product must be, rounded once."""
    return (exact(a) @ exact(b)).astype(a.dtype)


def case(name: str, *dtypes: str) -> Case:
    """Return the calls of a product."""
    peers = {"cupy": lambda cupy, a, b: cupy.matmul(a, b), "torch": lambda torch, a, b: torch.matmul(a, b)}
    return Case(name, of_matrices, product, {}, dtypes, SHAPES, LARGE, peers)


CASES = (case("matmul", "float32", "float16"),)
