"""Products of bfloat16 as GPUs without `wgmma` make them, on a Hopper GPU: beside cuBLAS, also where it has no tensor copies.

    python asv_bench/hgemm_warps.py [--shapes 4096x4096x4096,...] [--layouts NT,NN] [--rounds 5] [--tune]

Needs a Hopper GPU and torch. One process, alternating rounds, medians, CUDA graphs, random normal data, buffers rotated past the
L2. Each result is compared with float64 in the same run (sampled rows). "unaligned": cuBLAS's time where rows begin at multiples
of 8 bytes, as no tensor copy takes them, so that it multiplies by `mma` too. "mma": the fastest of all algorithms of cuBLASLt
whose kernels multiply by `mma`, with K whole (`cublas_algorithms.py`), of operands that are aligned.
"""

from __future__ import annotations

import argparse
import functools
import math
import sys
from types import SimpleNamespace
from typing import Any

import torch

from asv_bench.cublas_algorithms import Product, by_mma
from asv_bench.prologues import FASTEST, L2, SECONDS, graph_of, seconds
from prism.host.call import call as host_call
from prism.kernels.hgemm.warps import TILES
from prism.lib.algorithms.hgemm import by_warps
from prism.lib.algorithms.hgemm.api import decide_hgemm

SHAPES = "4096x4096x4096,8192x8192x8192,2048x2048x2048,1024x1024x1024,512x4096x4096,64x8192x8192"
ARCH = "sm_100a"  # no `wgmma`, and as much shared memory as the GPU at hand


def elsewhere(machine: Any) -> Any:
    """Return what a plan knows of a machine, of another architecture."""
    return SimpleNamespace(host=False, arch=ARCH, multiprocessors=machine.multiprocessors, wave=machine.wave)


def decide(arrays: Any, out: Any, machine: Any, cut: Any = None) -> Any:
    """Return what a GPU of another architecture would be given; `cut`: of these tiles."""
    chosen = by_warps.choose_warps
    if cut is not None:
        by_warps.choose_warps = lambda *_: cut
    try:
        return decide_hgemm(arrays, out, elsewhere(machine))
    finally:
        by_warps.choose_warps = chosen


def product(a: Any, b: Any, out: Any, cut: Any = None) -> Any:
    """The product, by warps."""
    made = functools.partial(decide, cut=cut)
    return host_call("hgemm", ("by warps", cut), {"a": a, "b": b}, made, out, captured=True)


def operand(layout: str, rows: int, columns: int, more: int = 0) -> Any:
    """Return normal numbers, row-major where `layout` is N; `more`: elements that a row has behind it."""
    m, n = (rows, columns) if layout == "N" else (columns, rows)
    made = torch.randn(m, n + more, device="cuda", dtype=torch.bfloat16)[:, :n]
    return made if layout == "N" else made.T


def measure(shape: str, layout: str, rounds: int, tune: bool) -> bool:
    """Print the times of a shape; return whether the result was right."""
    m, n, k = map(int, shape.split("x"))
    flops, many = 2.0 * m * n * k, max(2, min(8, 1 + 2 * L2 // (2 * (m * k + n * k))))
    sets = [(operand(layout[0], m, k), operand(layout[1], k, n)) for _ in range(many)]
    odd = [(operand(layout[0], m, k, 4), operand(layout[1], k, n, 4)) for _ in range(many)]
    out = torch.full((m, n), math.nan, device="cuda", dtype=torch.bfloat16)
    room = torch.empty_like(out)
    calls: dict[str, Any] = {
        "prism": lambda i: product(*sets[i % many], out),
        "cublas": lambda i: torch.mm(*sets[i % many], out=room),
        "unaligned": lambda i: torch.mm(*odd[i % many], out=room),
    }
    peers = Product(m, n, k, layout)
    ways = by_mma(peers, layout, *sets[0], room)
    for number, way in enumerate(ways):
        calls[f"mma{number}"] = functools.partial(_peer, peers, way.data, sets, room)
    if tune:
        calls |= {
            f"{c.bm}x{c.bn} s{c.stages} {c.down}x{c.across} b{c.blocks}": functools.partial(_tuned, sets, out, c)
            for c in TILES
        }
    calls["prism"](0)
    rows = torch.randint(0, m, (32,), device="cuda")
    a, b = sets[0]
    exact, size = a[rows].double() @ b.double(), a[rows].double().abs() @ b.double().abs()
    right = bool(((out[rows].double() - exact).abs() <= 2.0**-8 * exact.abs() + 2.0**-16 * size).all())
    launches = max(2, min(200, math.ceil(SECONDS * FASTEST / 2 / flops)))
    found = seconds({name: graph_of(one, launches) for name, one in calls.items()}, launches, rounds)
    mine, peer = found["prism"], min((f"mma{i}" for i in range(len(ways))), key=lambda name: found[name])
    found["mma"] = found[peer]
    ratios = ", ".join(
        f"{name} {value / mine:.2f}"
        for name, value in found.items()
        if name.rstrip("0123") not in ("prism", "mma") or name == "mma"
    )
    wrong = "" if right else "WRONG"
    print(
        f"{shape:16} {layout} {mine * 1e6:8.1f} us {flops / mine / 1e12:5.0f} TFLOP/s; x {ratios} {wrong}", flush=True
    )
    print(f"{'':16}    mma: {ways[int(peer[3:])].kernel[:110]}")
    return right


def _tuned(sets: Any, out: Any, cut: Any, i: int) -> Any:
    return product(*sets[i % len(sets)], out, cut)


def _peer(peers: Product, data: bytes, sets: Any, out: Any, i: int) -> int:
    return peers.run(data, *sets[i % len(sets)], out)


def main() -> int:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", default=SHAPES)
    parser.add_argument("--layouts", default="NT")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tune", action="store_true", help="print the times of all tiles too")
    options = parser.parse_args()
    right = [
        measure(shape, layout, options.rounds, options.tune)
        for shape in options.shapes.split(",")
        for layout in options.layouts.split(",")
    ]
    return int(not all(right))


if __name__ == "__main__":
    sys.exit(main())
