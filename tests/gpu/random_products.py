"""Random products beside float64, at the edges of every tile, in several processes.

    python -m tests.gpu.random_products [--kinds 147] [--calls 2000] [--jobs 8] [--seconds 60] [FUNCTION ...]

Needs a GPU and torch; `tiles` a Hopper GPU. Seeds and numbers are as of tests/gpu/random_orders.py. `tiles` and `ring` take each
tile of products of 16-bit and 32-bit floats in turn, by the seed; sizes are a few tiles, and more or less by a few elements. The
others run what the library chooses, near a shape that the seed draws. Half of the calls are of small integers, whose results are
exact. The others are of normal numbers: an error may be a rounding of the result, and of float32 sums of k products in any order.
Results lie inside larger arrays, of NaN, which must stay.
"""

from __future__ import annotations

import functools
import math
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np

from tests.gpu.random_orders import main

LAYOUTS = {"NN": (False, True), "NT": (False, False), "TN": (True, True), "TT": (True, False)}  # K outside, of a and b
NEAR = (-9, -8, -7, -1, 0, 0, 1, 7, 8, 9)
MOST = 1 << 28
"""Products of two elements, at most."""


class Drawn:
    """What a seed and a number choose."""

    def __init__(self, seed: int, number: int) -> None:
        import torch

        self.seed, self.number = seed, number
        self.kind, self.random = np.random.default_rng(seed), np.random.default_rng([seed, number])
        self.whole = number % 2 == 0
        self.generator = torch.Generator("cuda").manual_seed(1000 * seed + number)

    def matrix(self, layout: str, rows: int, columns: int, dtype: str) -> Any:
        """Return numbers, row-major where `layout` is N; rows may have elements behind them."""
        import torch

        m, n = (rows, columns) if layout == "N" else (columns, rows)
        room = (m, n + int(self.random.choice([0, 0, 8, 3])))
        kind = getattr(torch, dtype)
        if self.whole:
            of = torch.int8 if kind == torch.int8 else torch.float32
            found = torch.randint(-2, 3, room, device="cuda", dtype=of, generator=self.generator).to(kind)
        else:
            found = torch.randn(room, device="cuda", generator=self.generator).to(kind)
        return found[:, :n] if layout == "N" else found[:, :n].T

    def beside(self, extents: tuple[int, ...], step: int = 1) -> tuple[int, ...]:
        """Return extents that differ by a few elements; of two thirds of calls all are multiples of `step`."""
        found = [max(1, size + int(self.random.choice(NEAR))) for size in extents]
        if self.random.integers(3):
            found = [-(-size // step) * step for size in found]
        return tuple(found)

    def shape(self, step: int) -> tuple[int, ...]:
        """Return a shape near the one that the seed draws log-uniformly."""
        while True:
            extents = tuple(int(2 ** self.kind.uniform(low, 13)) for low in (0, 4, 4))
            if math.prod(extents) <= MOST:
                return self.beside(extents, step)


def inside(m: int, n: int, dtype: str) -> tuple[Any, Any]:
    """Return room for a result, and the array of NaN around it."""
    import torch

    room = torch.full((m + 2, n + 16), torch.nan, device="cuda", dtype=getattr(torch, dtype))
    return room[1 : m + 1, 8 : n + 8], room


def compare(draw: Drawn, a: Any, b: Any, out: Any, told: str) -> None:
    """Compare a result with float64."""
    import torch

    exact = a.double() @ b.double()
    has = torch.finfo(out.dtype)
    # to nearest, also below the normal numbers; less than 1 where a whole number has all of its bits
    bound = has.eps / 2 * exact.abs().clamp(min=has.smallest_normal)
    if not draw.whole:
        unit = 2.0**-52 if out.dtype == torch.float64 else 2.0**-23
        bound += 2 * a.shape[1] ** 0.5 * unit * (a.double().abs() @ b.double().abs())  # KERNELS.md 6
    off = (out.double() - exact).abs()
    assert bool((off <= bound).all()), f"{told}: off by {float((off - bound).max())} at {int((~(off <= bound)).sum())}"


def check(draw: Drawn, a: Any, b: Any, out: Any, room: Any, told: str) -> None:
    """Compare a result with float64, and look that nothing around it was written."""
    import torch

    m, n = out.shape
    compare(draw, a, b, out, told)
    room[1 : m + 1, 8 : n + 8] = torch.nan
    assert bool(room.isnan().all()), f"{told}: written outside"


@functools.cache
def tiles() -> list[tuple[str, Any]]:
    """Return every tile of `hgemm` that is chosen for some shape, with each layout that it is for."""
    from prism.kernels.hgemm import cuts

    return [(layout, cut) for layout, of in LAYOUTS.items() for way in (False, True) for cut in cuts(of, parted=way)]


def check_tiles(seed: int, number: int) -> None:
    """Of 16-bit floats, with a result of 16 or of 32 bits, by the tile that the seed says."""
    from prism.host.call import call
    from prism.lib.algorithms.hgemm.api import decide_hgemm

    draw = Drawn(seed, number)
    layout, cut = tiles()[seed % len(tiles())]
    dtype = ("bfloat16", "float16")[int(draw.kind.integers(2))]
    wanted = (dtype, "float32")[int(draw.kind.integers(2))]
    many = draw.random.integers(0, 4, 3)
    extents = (
        cut.bm * many[0],
        cut.bn * many[1],
        cut.bk * cut.parts * cut.shares * (many[2] + draw.random.integers(4)),
    )
    m, n, k = draw.beside(extents, 8)
    k = max(k, cut.bk * cut.parts) if cut.parts > 1 else k  # no part is empty
    a, b = draw.matrix(layout[0], m, k, dtype), draw.matrix(layout[1], k, n, dtype)
    out, room = inside(m, n, wanted)
    call("hgemm", ("cut", cut), {"a": a, "b": b}, lambda *asked: decide_hgemm(*asked, cut=cut), out)
    check(draw, a, b, out, room, f"{layout} {cut.name} {m} x {n} x {k} {dtype} {wanted}")


def check_ring(seed: int, number: int) -> None:
    """Of float32, by the tile of the ring that the seed says, whole or in shares of K."""
    from prism.host.call import call
    from prism.kernels.sgemm import ring_configurations as rings
    from prism.lib.algorithms.sgemm.api import decide_sgemm

    draw, every = Drawn(seed, number), [*rings.TILES, *rings.ASYNC_TILES]
    found, layout = every[seed % len(every)], list(LAYOUTS)[seed // len(every) % 4]
    many = draw.random.integers(0, 4, 3)
    m, n, k = draw.beside((found.bm * many[0], found.bn * many[1], found.bk * (1 + 4 * many[2])), 4)
    cut = rings.cut_in(found, m, n, k, int(draw.random.choice([1, 2, 3, 10_000])), 0)
    way = "ring" if isinstance(found, rings.RingConfiguration) else "async"
    a, b = draw.matrix(layout[0], m, k, "float32"), draw.matrix(layout[1], k, n, "float32")
    out, room = inside(m, n, "float32")
    decide = lambda *asked: decide_sgemm(*asked, 1.0, 0.0, way, cut)
    call("sgemm", ("cut", cut), {"a": a, "b": b}, decide, out)
    check(draw, a, b, out, room, f"{layout} {found.name} {m} x {n} x {k}")


def check_warps(seed: int, number: int) -> None:
    """Of 16-bit floats by `mma`, as GPUs without `wgmma` make them, by the tile that the seed says."""
    from prism.host.call import call
    from prism.kernels.hgemm.warps import TILES
    from prism.lib.algorithms.hgemm import by_warps
    from prism.lib.algorithms.hgemm.api import decide_hgemm

    draw, cut = Drawn(seed, number), TILES[seed % len(TILES)]
    layout, dtype = list(LAYOUTS)[seed // len(TILES) % 4], ("bfloat16", "float16")[int(draw.kind.integers(2))]
    many = draw.random.integers(0, 4, 3)
    m, n, k = draw.beside((cut.bm * many[0], cut.bn * many[1], cut.bk * (1 + many[2])), 8)
    a, b = draw.matrix(layout[0], m, k, dtype), draw.matrix(layout[1], k, n, dtype)
    out, room = inside(m, n, dtype)

    def decide(arrays: Any, result: Any, machine: Any) -> Any:
        there = SimpleNamespace(host=False, arch="sm_80", multiprocessors=machine.multiprocessors, wave=machine.wave)
        chosen, by_warps.choose_warps = by_warps.choose_warps, lambda *_: cut
        try:
            return decide_hgemm(arrays, result, there)
        finally:
            by_warps.choose_warps = chosen

    call("hgemm", ("by warps", cut), {"a": a, "b": b}, decide, out)
    check(draw, a, b, out, room, f"{layout} by warps {cut.bm} x {cut.bn} {m} x {n} x {k} {dtype}")


def matmul(seed: int, number: int, kinds: tuple[str, ...], step: int) -> None:
    """What the library chooses, of any layout."""
    from prism import lib

    draw = Drawn(seed, number)
    dtype, layout = kinds[int(draw.kind.integers(len(kinds)))], list(LAYOUTS)[int(draw.kind.integers(4))]
    m, n, k = draw.shape(step)
    a, b = draw.matrix(layout[0], m, k, dtype), draw.matrix(layout[1], k, n, dtype)
    out, room = inside(m, n, dtype)
    lib.matmul(a, b, out=out)
    check(draw, a, b, out, room, f"{layout} {m} x {n} x {k} {dtype}")


def check_halves(seed: int, number: int) -> None:
    """Of 16-bit floats."""
    matmul(seed, number, ("bfloat16", "float16"), 8)


def check_floats(seed: int, number: int) -> None:
    """Of float32."""
    matmul(seed, number, ("float32",), 4)


def check_doubles(seed: int, number: int) -> None:
    """Of float64."""
    matmul(seed, number, ("float64",), 2)


def check_float8(seed: int, number: int) -> None:
    """Of 8-bit floats, results of bfloat16, whole numbers: sums of other ones keep fewer bits."""
    from prism import lib

    draw = Drawn(seed, 2 * number)
    dtype = ("float8_e4m3fn", "float8_e5m2")[int(draw.kind.integers(2))]
    m, n, k = draw.shape(16)
    a, b = draw.matrix("N", m, k, dtype), draw.matrix("T", k, n, dtype)
    out, room = inside(m, n, "bfloat16")
    lib.hgemm(a, b, out=out)
    check(draw, a, b, out, room, f"{m} x {n} x {k} {dtype}")


def check_integers(seed: int, number: int) -> None:
    """Of 8-bit integers: exact."""
    import torch

    from prism import lib

    draw = Drawn(seed, 2 * number)
    m, n, k = draw.shape(16)
    a, b = draw.matrix("N", m, k, "int8"), draw.matrix("T", k, n, "int8")
    assert torch.equal(lib.hgemm(a, b).double(), a.double() @ b.double()), f"{m} x {n} x {k}"


def check_groups(seed: int, number: int) -> None:
    """Of groups of any lengths, by the tile that the seed says: each group is compared."""
    import torch

    from prism.host.call import call
    from prism.kernels.grouped.configurations import DEEP, FEW, MANY, WIDE
    from prism.lib.algorithms.grouped.api import decide_grouped

    draw, every = Drawn(seed, number), (*FEW, MANY, WIDE, DEEP)
    cut, inside_b = every[seed % len(every)], seed // len(every) % 2
    groups = int(draw.random.integers(1, 40))
    lengths = draw.random.choice([0, 1, 7, 63, 64, 65, 127, 128, 129, 200, 256, 300], groups)
    n, k = (8 * int(draw.random.integers(1, most)) for most in (90, 60))
    k = -(-k // 128) * 128 if cut.bk == 128 else k  # whole steps
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    offsets, m = torch.tensor(ends, device="cuda"), max(1, int(ends[-1]))
    a = draw.matrix("N", m, k, "bfloat16")
    b = torch.stack([draw.matrix("N", k, n, "bfloat16") for _ in range(groups)])
    b = b.transpose(1, 2).contiguous().transpose(1, 2) if inside_b else b
    decide = lambda infos, out, machine: decide_grouped(infos, out, machine, cut=cut)
    found = call("grouped", ("tiles", cut), {"a": a, "b": b, "offsets": offsets}, decide)
    for g, (begin, end) in enumerate(zip(ends, ends[1:], strict=False)):
        told = f"{cut.name} group {g} of {groups}, rows {begin} to {end}, {n} x {k}"
        compare(draw, a[begin:end], b[g], found[begin:end], told)


CHECKS = {
    "tiles": check_tiles,
    "ring": check_ring,
    "warps": check_warps,
    "halves": check_halves,
    "floats": check_floats,
    "doubles": check_doubles,
    "float8": check_float8,
    "integers": check_integers,
    "groups": check_groups,
}


if __name__ == "__main__":
    sys.exit(main(CHECKS, __doc__))
