"""prism.lib.hgemm of other kinds beside cuBLASLt: integers, scales of blocks, symmetric products; one process, alternating turns.

    python asv_bench/hgemm_kinds.py [--kinds int8,blocks,rows,symmetric] [--shapes 4096,128x7168x4096] [--tune] [--json FILE]

Needs a Hopper GPU and torch. `int8`: `torch._int_mm`, sums in int32. `blocks`: `torch._scaled_mm` with scales of 1 x 128 of `a`
and of 128 x 128 of `b`; `rows`: of 1 x 128 of both; results in bfloat16. `symmetric`: a @ a.T of bfloat16, beside cuBLAS's and
Prism's whole product. As asv_bench/hgemm.py: CUDA graphs of launches, buffers rotated past the L2, long turns of large products;
every result is compared with float64 in the same run, at sampled rows. `--tune`: every configuration that may suit, too.
"""

from __future__ import annotations

import argparse
import functools
import json
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from benchmarks.hgemm_kinds import SHAPES
from hgemm import L2, Meter, compare, elapsed, graph_of, long_turns, ratio_of

import prism
from prism.host.call import call as host_call
from prism.kernels.hgemm import Configuration, cuts
from prism.kernels.hgemm import kinds as tiles
from prism.kernels.hgemm.candidates import PROCESSORS, parse_size
from prism.lib.algorithms.hgemm.api import decide_hgemm

KINDS = tuple(SHAPES)
TRIED = (
    Configuration(128, 128, 5, ahead=0, cluster_m=2), Configuration(256, 128, 3, ahead=0, cluster_n=2),
    Configuration(256, 64, 4, ahead=0), Configuration(192, 64, 5, 3, ahead=0), Configuration(192, 128, 4, 3, ahead=0),
)  # fmt: skip
"""What may suit scales of blocks, and is not in the library."""
EACH = {"blocks": 128, "rows": 1}
Set = dict[str, Any]


def operands(kind: str, m: int, n: int, k: int) -> list[Set]:
    """Enough operands, scales and room for results to pass the L2 twice."""
    out = torch.int32 if kind == "int8" else torch.bfloat16
    sets = max(1, min(1 + 2 * L2 // (out.itemsize * m * n + m * k + n * k), 40))
    return [_one(kind, m, n, k, out) for _ in range(sets)]


def _one(kind: str, m: int, n: int, k: int, out: Any) -> Set:
    room = torch.full((m, n), 77, device="cuda", dtype=out)
    if kind == "symmetric":
        a = torch.randn(m, k, device="cuda").to(torch.bfloat16)
        return {"a": a, "b": a.T, "symmetric": True, "out": room}
    if kind == "int8":
        a, b = (torch.randint(-128, 128, (rows, k), device="cuda", dtype=torch.int8) for rows in (m, n))
        return {"a": a, "b": b.T, "out": room}
    a, b = (torch.randn(rows, k, device="cuda").to(torch.float8_e4m3fn) for rows in (m, n))
    steps = -(-k // 128)
    scale_a = torch.rand(steps, m, device="cuda").T  # rows side by side, as cuBLASLt wants it
    if kind == "rows":
        return {"a": a, "b": b.T, "scale_a": scale_a, "scale_b": torch.rand(steps, n, device="cuda"), "out": room}
    padded = torch.rand(-(-n // 128), -(-steps // 4) * 4, device="cuda")  # cuBLASLt wants fours
    scale_b = padded[:, :steps]
    found = {"a": a, "b": b.T, "scale_a": scale_a, "scale_b": scale_b.T if steps % 4 == 0 else scale_b.contiguous().T}
    return {**found, "padded": padded.T, "out": room}


def library(sets: list[Set]) -> Callable[[int, int], None]:
    """Return a call of prism.lib.hgemm."""
    given = [{name: one for name, one in some.items() if name != "padded"} for some in sets]
    return lambda i, stream: prism.lib.hgemm(**given[i % len(given)])


def cut_into(sets: list[Set], cut: Configuration | None) -> Callable[[int, int], None]:
    """Return a call of one configuration; None: the library's."""
    symmetric = "both" if "symmetric" in sets[0] else None
    decide = functools.partial(decide_hgemm, cut=cut, symmetric=symmetric)
    given = [{name: one for name, one in some.items() if name not in ("padded", "out", "symmetric")} for some in sets]

    def call(i: int, stream: int) -> None:
        host_call(
            "hgemm", ("cut", cut, symmetric), given[i % len(sets)], decide, sets[i % len(sets)]["out"], captured=True
        )

    return call


def peer(kind: str, sets: list[Set]) -> Callable[[int, int], None]:
    """Return a call of torch's."""
    if kind == "int8":
        return lambda i, stream: torch._int_mm(
            *(sets[i % len(sets)][name] for name in "ab"), out=sets[i % len(sets)]["out"]
        )

    if kind == "symmetric":
        return lambda i, stream: torch.matmul(
            *(sets[i % len(sets)][name] for name in "ab"), out=sets[i % len(sets)]["out"]
        )

    def call(i: int, stream: int) -> None:
        one = sets[i % len(sets)]
        scale_b = one.get("padded", one["scale_b"])
        torch._scaled_mm(one["a"], one["b"], one["scale_a"], scale_b, out_dtype=torch.bfloat16, out=one["out"])

    return call


def error(kind: str, one: Set) -> float:
    """Return the largest difference from float64 of 64 rows, by the sums of products' sizes; of integers the wrong ones."""
    rows = torch.randint(0, one["a"].shape[0], (64,), device="cuda")
    left, right, found = one["a"][rows].double(), one["b"].double(), one["out"][rows].double()
    if kind == "int8":
        return float((found != left @ right).sum())
    if kind == "symmetric":
        return float(((found - left @ right).abs() / (left.abs() @ right.abs())).max())
    left *= one["scale_a"][rows].double().repeat_interleave(128, 1)[:, : left.shape[1]]
    scale = one["scale_b"].double().repeat_interleave(128, 0)[: right.shape[0]]
    right *= scale.repeat_interleave(EACH[kind], 1)[:, : right.shape[1]]
    return float(((found - left @ right).abs() / (left.abs() @ right.abs())).max())


def tried(kind: str, m: int, n: int, k: int) -> list[Configuration]:
    """Return configurations that may suit a shape."""
    deep = -(-k // 2)
    if kind == "symmetric":
        return list(tiles.SYMMETRIC_TILES)
    if kind == "int8":
        some = (*cuts((False, False)), *cuts((False, False), parted=True))
        times = {one: tiles.clocks(one, m, n, deep, PROCESSORS) for one in some if tiles.takes_integers(one)}
    else:
        narrow = (*tiles.BLOCK_NARROW, *tiles.BLOCK_NARROW_PARTED) if m <= 128 else ()
        some = (*tiles.BLOCK_TILES, *tiles.BLOCK_PARTED, *TRIED, *narrow)
        some = tuple(
            one for one in some if tiles.fits_blocks(one, (1, EACH[kind])) and (not one.trans or one.bn < m + 16)
        )
        times = {one: tiles.block_clocks(one, m, n, deep, PROCESSORS) for one in some}
    return sorted(times, key=lambda one: times[one])[:9]


def measure(kind: str, text: str, tune: bool, meter: Meter) -> dict[str, Any]:
    """Print and return the table of one shape."""
    m, n, k = parse_size(text)
    flops, sets = 2.0 * m * n * k, operands(kind, m, n, k)
    launches = max(len(sets), min(200, int(12e-3 * 1.2e15 / flops)), 2)
    calls = {"cuBLASLt": peer(kind, sets), "library": library(sets)}
    if kind == "symmetric":
        calls["whole"] = cut_into(
            [{name: one for name, one in some.items() if name != "symmetric"} for some in sets], None
        )
    if tune:
        calls |= {cut.name: cut_into(sets, cut) for cut in tried(kind, m, n, k)}
    graphs, errors = {}, {}
    for name, call in calls.items():
        sets[0]["out"].fill_(77)
        try:
            for i in range(len(sets)):
                call(i, 0)
        except Exception as refused:  # one that can't is a line of the table
            print(f"  {name}: {type(refused).__name__} {str(refused).splitlines()[0][:200]}")
            continue
        torch.cuda.synchronize()
        errors[name], graphs[name] = error(kind, sets[0]), graph_of(call, launches)
    if m * n * k < 3000**3 or tune:
        times = compare(graphs, launches, 6 if tune else 12)
    else:
        times = {name: one.seconds for name, one in long_turns(graphs, launches, meter, rounds=3).items()}
    print(f"{kind} {text}")
    table = []
    for name, seen in times.items():
        seconds = statistics.median(seen)
        ratio = ratio_of(times["cuBLASLt"], seen) if "cuBLASLt" in times else float("nan")
        row = {
            "name": name,
            "us": seconds * 1e6,
            "tflops": flops / seconds / 1e12,
            "ratio": ratio,
            "error": errors[name],
        }
        table.append({**row, "runs": seen})
        print(f"  {ratio:6.3f} {row['us']:9.2f} us {row['tflops']:5.0f} T {errors[name]:.1e}  {name}", flush=True)
    return {"kind": kind, "shape": text, "rows": table}


def main() -> int:
    """Measure, print tables, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--shapes", default="")
    parser.add_argument("--tune", action="store_true", help="time configurations too")
    parser.add_argument("--seconds", type=float, default=110.0, help="begin nothing more after this")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}; above 1: Prism is faster")
    meter, tables = Meter(), []
    for kind in options.kinds.split(","):
        for text in (options.shapes or SHAPES[kind]).split(","):
            if elapsed() > options.seconds:
                print(f"{kind} {text}: no time left")
                continue
            tables.append(measure(kind, text, options.tune, meter))
            torch.cuda.empty_cache()
    if options.json is not None:
        options.json.write_text(json.dumps(tables, indent=1) + "\n")
    print(f"{elapsed():.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
