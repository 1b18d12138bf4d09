"""prism.lib.quantized_matmul beside bfloat16 products of as many weights: one process, alternating turns, medians.

    python asv_bench/mixed.py [--shapes 1x8192x8192,4096] [--bits 4,8] [--group 128] [--tune] [--seconds 110] [--json FILE]

Needs a GPU and torch. Beside it are cuBLAS's product (torch.matmul) of weights in bfloat16, Prism's, and of 4 bits and few rows
`torch._weight_int4pack_mm`. As asv_bench/hgemm.py: CUDA graphs of launches, buffers rotated past the L2, long turns of large
products; shapes are m x n x k. Every result is compared with float64 in the same run, at sampled rows, by the sums of products'
sizes. `TB/s` counts the packed weights and scales. `--tune`: every tile that may suit, too.
"""

from __future__ import annotations

import argparse
import functools
import json
import statistics
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from benchmarks.mixed import SHAPES
from hgemm import L2, Meter, compare, elapsed, graph_of, long_turns, ratio_of

import prism
from prism.host.call import call as host_call
from prism.kernels import mixed as kernels
from prism.kernels.hgemm import Configuration as C
from prism.kernels.hgemm.candidates import parse_size
from prism.kernels.mixed import FewCut
from prism.lib.algorithms.mixed.api import decide_mixed

PEER = "cuBLAS bf16"
TINY = 128  # rows up to which torch's product of packed weights is measured
TRIED = (C(192, 128, 4, 3, ahead=0), C(192, 64, 5, 3, ahead=0))
"""What may suit, and is not in the library."""
Call = Callable[[int, int], None]


def operands(m: int, n: int, k: int, bits: int, group: int) -> list[dict[str, Any]]:
    """Enough rows, weights and room for results to pass the L2 twice."""
    sets = max(1, min(1 + 2 * L2 // (n * k * bits // 8 + 2 * m * (n + k)), 40))
    found = []
    for _ in range(sets):
        q = torch.randint(0, 2**bits, (k, n), device="cuda", dtype=torch.uint8)
        scales = (torch.rand(k // group, n, device="cuda") + 0.5).to(torch.bfloat16) / 2 ** (bits - 1)
        one = {"x": torch.randn(m, k, device="cuda").to(torch.bfloat16), "weights": prism.lib.pack_weights(q, bits)}
        out = torch.full((m, n), torch.nan, device="cuda", dtype=torch.bfloat16)
        found.append({**one, "scales": scales, "q": q, "out": out})
    return found


def dense(one: dict[str, Any], bits: int) -> Any:
    """Return the weights of a set in float32."""
    group = one["q"].shape[0] // one["scales"].shape[0]
    return (one["q"].float() - 2 ** (bits - 1)) * one["scales"].float().repeat_interleave(group, 0)


def library(sets: list[dict[str, Any]], cut: Any = None) -> Call:
    """Return a call of the library's product; `cut`: of other tiles."""
    names = ("x", "weights", "scales")
    if cut is None:
        given = [{name: one[name] for name in (*names, "out")} for one in sets]
        return lambda i, stream: prism.lib.quantized_matmul(**given[i % len(given)])
    decide = functools.partial(decide_mixed, cut=cut)

    def call(i: int, stream: int) -> None:
        one = sets[i % len(sets)]
        arrays = {name: one[name] for name in names}
        host_call("quantized_matmul", ("cut", cut), arrays, decide, one["out"], captured=True)

    return call


def peers(sets: list[dict[str, Any]], m: int, bits: int, group: int) -> dict[str, Call]:
    """Return calls of what it is beside."""
    some = sets[: 1 + L2 // (2 * sets[0]["q"].numel())]
    wide = [dense(one, bits).to(torch.bfloat16) for one in some]
    room = sets[0]["out"].clone()
    calls: dict[str, Call] = {
        PEER: lambda i, stream: torch.matmul(sets[i % len(sets)]["x"], wide[i % len(wide)], out=room),
        "hgemm": lambda i, stream: prism.lib.hgemm(sets[i % len(sets)]["x"], wide[i % len(wide)], out=room),
    }
    if bits == 4 and m <= TINY and group in (32, 64, 128, 256):
        packed, both = [], []
        for one in sets:
            rows = one["q"].T.contiguous()
            halves = (rows[:, ::2] << 4 | rows[:, 1::2]).contiguous()
            packed.append(torch._convert_weight_to_int4pack(halves, 8))
            both.append(torch.stack([one["scales"], torch.zeros_like(one["scales"])], dim=-1).contiguous())
        calls["tinygemm"] = lambda i, stream: torch._weight_int4pack_mm(
            sets[i % len(sets)]["x"], packed[i % len(packed)], group, both[i % len(both)]
        )
    return calls


def error(one: dict[str, Any], bits: int) -> float:
    """Return the largest difference from float64 of 32 rows, by the sums of products' sizes."""
    rows = torch.randint(0, one["x"].shape[0], (32,), device="cuda")
    left, right = one["x"][rows].double(), dense(one, bits).double()
    return float(((one["out"][rows].double() - left @ right).abs() / (left.abs() @ right.abs())).max())


def tried(m: int, n: int, bits: int) -> list[Any]:
    """Return tiles that may suit a shape."""
    found: list[Any] = []
    if m <= 64:
        tiles = next((count for count in (1, 2) if m <= 8 * count), 4)
        base = FewCut(bits, tiles, 1)
        for strips, warps, ahead, blocks in ((4, 16, 1, 1), (4, 8, 2, 1), (2, 8, 2, 1), (2, 8, 2, 2), (2, 16, 2, 1)):
            found.append(replace(base, strips=strips, warps=warps, ahead=ahead, blocks=blocks))
    return found + ([] if m <= 8 else [cut for cut in (*kernels.TILES, *TRIED) if cut.bn <= max(64, 2 * m)])


def measure(text: str, bits: int, group: int, tune: bool, meter: Meter) -> dict[str, Any]:
    """Print and return the table of one shape."""
    m, n, k = parse_size(text)
    group = group if k % group == 0 else k
    sets = operands(m, n, k, bits, group)
    flops, bytes_ = 2.0 * m * n * k, n * k * bits / 8 + 2 * n * k / group
    launches = max(len(sets), min(200, int(12e-3 * 6e14 / flops)), 2)
    calls: dict[str, Call] = {**peers(sets, m, bits, group), "library": library(sets)}
    if tune:
        calls |= {getattr(cut, "name", str(cut)): library(sets, cut) for cut in tried(m, n, bits)}
    graphs, errors = {}, {}
    for name, call in calls.items():
        sets[0]["out"].fill_(torch.nan)
        try:
            for i in range(len(sets)):
                call(i, 0)
            torch.cuda.synchronize()
            errors[name] = error(sets[0], bits)
            graphs[name] = graph_of(call, launches)
        except Exception as refused:  # one that can't is a line of the table
            print(f"  {name}: {type(refused).__name__} {str(refused).splitlines()[0][:200]}")
    if m * n * k < 3000**3 or tune:
        times = compare(graphs, launches, 5 if tune else 12)
    else:
        times = {name: one.seconds for name, one in long_turns(graphs, launches, meter, rounds=3).items()}
    print(f"{bits} bits {text}, groups of {group}")
    table = []
    for name, seen in times.items():
        seconds = statistics.median(seen)
        row = {"name": name, "us": seconds * 1e6, "ratio": ratio_of(times[PEER], seen), "tb": bytes_ / seconds / 1e12}
        table.append({**row, "error": errors[name], "runs": seen})
        print(f"  {row['ratio']:6.3f} {row['us']:9.2f} us {row['tb']:5.2f} TB/s {errors[name]:.1e}  {name}", flush=True)
    return {"bits": bits, "shape": text, "group": group, "rows": table}


def main() -> int:
    """Measure, print tables, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", default=SHAPES)
    parser.add_argument("--bits", default="4,8")
    parser.add_argument("--group", type=int, default=128)
    parser.add_argument("--tune", action="store_true", help="time other tiles too")
    parser.add_argument("--seconds", type=float, default=110.0, help="begin nothing more after this")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}; above 1: faster than cuBLAS in bfloat16")
    meter, tables = Meter(), []
    for bits in map(int, options.bits.split(",")):
        for text in options.shapes.split(","):
            if elapsed() > options.seconds:
                print(f"{bits} bits {text}: no time left")
                continue
            tables.append(measure(text, bits, options.group, options.tune, meter))
            torch.cuda.empty_cache()
    if options.json is not None:
        options.json.write_text(json.dumps(tables, indent=1) + "\n")
    print(f"{elapsed():.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
