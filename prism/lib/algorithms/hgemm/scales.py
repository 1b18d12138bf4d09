"""Scales of `hgemm`'s operands: of all, of rows and columns, or of blocks of both and of K; checked."""

from __future__ import annotations

from collections.abc import Mapping

from prism.kernels.hgemm import Blocks, Configuration
from prism.kernels.hgemm.cut import DEPTH
from prism.lib.algorithms.hgemm.product import NO_BLOCKS, Product
from prism.lib.algorithms.matmul.arguments import eight_bits
from prism.lib.views import View, view_of
from prism.runtime.arrays import ArrayInfo

NAMES = "scale_a", "scale_b"
Scales = tuple[View | None, View | None]


def scales_of(arrays: Mapping[str, ArrayInfo], a: View, b: View) -> tuple[Scales, tuple[int, int]]:
    """Return the scales of `a` and of `b`; and of how many rows and columns they are, where they are of blocks.

    Those of blocks are matrices of rows of `a`, or columns of `b`, by K.

    Raises:
        TypeError, ValueError: as `hgemm`.
    """
    given = [arrays.get(name) for name in NAMES]
    for name, info in zip(NAMES, given, strict=True):
        if info is not None:
            _require(name, info, a, b)
    of_blocks = [None if info is None else _block_of(name, info, a, b) for name, info in zip(NAMES, given, strict=True)]
    usual = [info is None or _is_usual(name, info, a, b) for name, info in zip(NAMES, given, strict=True)]
    if all(usual):
        return _views(given), NO_BLOCKS
    for name, info, usually, block in zip(NAMES, given, usual, of_blocks, strict=True):
        if info is not None and block is None:
            raise ValueError(_wanted(name, info, a, b, both=not usually or all(x is not None for x in given)))
    if not eight_bits(a.scalar):
        raise TypeError(f"scales of blocks are for 8-bit floats, not for {a.scalar}: scale the operands, or the result")
    if None in given:
        missing, there = NAMES if given[0] is None else NAMES[::-1]
        raise ValueError(
            f"`{there}` has scales of blocks, and `{missing}` is missing: each step of K has scales of both"
        )
    left, right = _views(given)
    assert left is not None and right is not None and of_blocks[0] is not None and of_blocks[1] is not None
    return (left, right.turn()), (of_blocks[0], of_blocks[1])


def _views(given: list[ArrayInfo | None]) -> Scales:
    left, right = (None if info is None else view_of(name, info) for name, info in zip(NAMES, given, strict=True))
    return left, right


def _require(name: str, info: ArrayInfo, a: View, b: View) -> None:
    if info.scalar != "float32":
        raise TypeError(
            f"`{name}` must be an array of {info.library} of float32, not of {info.library} of {info.scalar}"
        )
    if len(a.shape) > 2 or len(b.shape) > 2:
        raise ValueError(
            f"`{name}` is for two matrices: give a batch as one, its rows below each other, or scale the result"
        )


def _extent(name: str, a: View, b: View) -> int:
    return a.shape[0] if name == NAMES[0] else b.shape[1]


def _is_usual(name: str, info: ArrayInfo, a: View, b: View) -> bool:
    """Whether scales are one, or one of each row or column."""
    many = _extent(name, a, b)
    return info.size == 1 or info.shape in ((many,), (many, 1) if name == NAMES[0] else (1, many))


def _block_of(name: str, info: ArrayInfo, a: View, b: View) -> int | None:
    """Return of how many rows, or columns, scales of blocks are; None where they can't be such."""
    many, steps = _extent(name, a, b), -(-a.shape[1] // DEPTH)
    for each in (1, DEPTH):
        shape = (-(-many // each), steps)
        if info.shape == (shape if name == NAMES[0] else shape[::-1]):
            return each
    return None


def _wanted(name: str, info: ArrayInfo, a: View, b: View, *, both: bool) -> str:
    """Return what scales must be."""
    many, steps, what = _extent(name, a, b), -(-a.shape[1] // DEPTH), "row" if name == NAMES[0] else "column"
    shapes = [(many, steps), (-(-many // DEPTH), steps)]
    shapes = shapes if name == NAMES[0] else [shape[::-1] for shape in shapes]
    each = (many,), (many, 1) if name == NAMES[0] else (1, many)
    blocks = f"of blocks of {DEPTH} of k {shapes[0]}, one a {what}, or {shapes[1]}"
    if both and _is_usual(name, info, a, b):
        return (
            f"`{name}` must have shape {shapes[0]} or {shapes[1]}, as the other scales are of blocks, not {info.shape}"
        )
    return (
        f"`{name}` must have one element, or shape {each[0]} or {each[1]}, one a {what}, or {blocks}, not {info.shape}"
    )


def blocks_of(product: Product, cut: Configuration) -> Blocks:
    """Return what scales of blocks a kernel finds."""
    if product.blocks == NO_BLOCKS:
        return Blocks()
    assert product.scale_a is not None and product.scale_b is not None
    outside = not product.scale_a.contiguous, not product.scale_b.contiguous
    return Blocks(*product.blocks, *outside).fit(cut.bm, cut.bn)
