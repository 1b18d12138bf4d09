"""Products that are symmetric: which tiles of a triangle make one, and what its launch takes."""

from __future__ import annotations

from typing import Any

from prism.host.plan import NO_MAP, Machine, Step, instance_of, nothing
from prism.kernels import hgemm as kernels
from prism.kernels.hgemm import HOST, Configuration
from prism.lang.types import SCALARS
from prism.lib.algorithms.hgemm.product import NO_BIAS, NO_BLOCKS, Laid, Product
from prism.runtime.instance import Instance
from prism.runtime.tensor_maps import PIECE

BOTH, LOWER, UPPER = "both", "lower", "upper"
TRIANGLES = BOTH, LOWER, UPPER
"""Where the tiles of the one triangle that is made are stored."""
KINDS = "float16", "bfloat16"


def require_sayable(product: Product, asked: Any) -> None:
    """Check what a product that is called symmetric has besides.

    Raises:
        TypeError, ValueError: it has what such products don't take.
    """
    if asked not in TRIANGLES:
        raise ValueError(f"`symmetric` must be True or one of {', '.join(map(repr, TRIANGLES))}, not {asked!r}")
    if product.a.scalar not in KINDS:
        raise TypeError(f"`symmetric` is for products of {' or '.join(KINDS)}, not of {product.a.scalar}")
    m, n = product.a.shape[-2], product.b.shape[-1]
    if m != n:
        raise ValueError(f"`symmetric` is for square results, and this one is {m} x {n}")
    scaled = product.scale_a is not None or product.scale_b is not None or product.blocks != NO_BLOCKS
    if scaled or product.per != NO_BIAS or product.other is not None:
        raise ValueError(
            "a product that is `symmetric` takes no bias, no scales and no second `b`: they would make it another"
        )


def step_of(laid: Laid, machine: Machine, cut: Configuration | None) -> Step:
    """Return the launch of a symmetric product of two matrices."""
    product, (n, _, k) = laid.product, laid.shape
    out, before = product.out, product.c
    deep = -(-k * laid.a.size // 2)
    if cut is None and not machine.host:
        cut = kernels.choose_symmetric(n, deep, machine.multiprocessors, laid.outside, added=before is not None)
    cut = cut or HOST
    plain = not machine.host and (not out.fits_tensor_copy(1) or out.shape[1] * out.size % PIECE != 0)
    map_c, map_out = NO_MAP if before is None else before.map, NO_MAP if plain else out.map
    given: dict[str, Any] = {"map_a": laid.a.map, "map_b": laid.b.map, "map_c": map_c, "unread": NO_MAP}
    given |= {"map_out": map_out, "mirror_out": map_out, "out": out.buffer, "stride": out.strides[0] // out.size}
    given |= {"n": n, "k": k, "high": kernels.band(cut, n, machine.multiprocessors), "alpha": product.alpha}
    given |= {"beta": product.beta, "none": nothing("float32")}
    facts = laid.a.scalar, out.scalar, laid.outside, plain, before is not None, product.triangle, product.epilogue
    instance = instance_for(*facts, cut)
    tiles = kernels.triangle_tiles(cut, n)
    return Step(instance, min(tiles, 2 if machine.host else machine.multiprocessors), cut.threads, given)


def instance_for(
    kind: str, result: str, outside: tuple[bool, bool], plain: bool, beta: bool, triangle: str, epilogue: Any, cut: Configuration
) -> Instance:  # fmt: skip
    """Return the kernel for dtypes and layouts, cut into tiles by a configuration."""
    terms = kernels.Terms(beta=beta)
    straight, mirror = kernels.symmetric_cuts(cut, outside, SCALARS[result].bytes, terms)
    facts: dict[str, Any] = {
        "T": kind,
        "OUT": result,
        "CUT": straight,
        "MIRROR": mirror,
        "TERMS": terms,
        "PLAIN": plain,
    }
    facts |= {"BOTH": triangle == BOTH, "UPPER": triangle == UPPER, "EPILOGUE": epilogue}
    return instance_of(kernels.hgemm_symmetric, facts)
