"""prism.lib.hgemm of 8-bit floats beside cuBLASLt (torch._scaled_mm): one process, alternating turns, medians, normal numbers.

    python asv_bench/hgemm_float8.py [--shapes 4096,8192x1024x8192] [--tune] [--json FILE]

Needs a Hopper GPU and torch. As asv_bench/hgemm.py: CUDA graphs of launches, buffers rotated past the L2, long turns from 2048
up. torch is asked for its fast accumulation, which adds as Prism does; the errors of both, and of torch's other way, are printed.
The floor is the H200's 1,979 TFLOP/s of dense 8-bit floats.
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
from hgemm import L2, Meter, compare, elapsed, graph_of, long_turns, ratio_of

import prism
from prism.host.call import call as host_call
from prism.kernels.hgemm import Configuration, choose
from prism.kernels.hgemm.candidates import PROCESSORS, parse_size
from prism.lib.algorithms.hgemm.api import decide_hgemm

FLOOR = 1979.0
SHAPES = "512,1024,2048,2560,3072,4096,5120,8192,16384,8192x1024x8192,256x4096x4096,64x8192x8192"
DEEP = Configuration(128, 256, 2, ahead=0, bk=128)
TRIED = (
    DEEP, replace(DEEP, cluster_n=2), Configuration(256, 128, 2, ahead=0, slabs=1, bk=128),
    Configuration(256, 200, 3, ahead=0, span=80), Configuration(256, 200, 3, span=80),
    Configuration(256, 176, 3, ahead=0, slabs=1), Configuration(192, 192, 2, 3, ahead=0, slabs=1, bk=128),
)  # fmt: skip
Set = tuple[Any, Any, Any]


def matrices(m: int, n: int, k: int) -> list[Set]:
    """Enough triples of a (m x k), b (k x n, column-major) and room for the result to pass the L2 twice."""

    def normal(rows: int, columns: int) -> Any:
        return torch.randn(rows, columns, device="cuda").to(torch.float8_e4m3fn)

    sets = max(1, min(1 + 2 * L2 // (2 * m * n + m * k + n * k), 40))
    room = torch.full((m, n), torch.nan, device="cuda", dtype=torch.bfloat16)
    return [(normal(m, k), normal(n, k).T, room.clone()) for _ in range(sets)]


def library(sets: list[Set], **more: Any) -> Callable[[int, int], None]:
    """Return a call of prism.lib.hgemm."""
    return lambda i, stream: prism.lib.hgemm(*sets[i % len(sets)][:2], out=sets[i % len(sets)][2], **more)


def cut_into(sets: list[Set], cut: Configuration) -> Callable[[int, int], None]:
    """Return a call of one configuration."""
    decide = functools.partial(decide_hgemm, cut=cut)

    def one(i: int, stream: int) -> None:
        a, b, out = sets[i % len(sets)]
        host_call("hgemm", ("cut", cut), {"a": a, "b": b}, decide, out, captured=True)

    return one


def peer(sets: list[Set], scales: tuple[Any, Any] | None = None, fast: bool = True) -> Callable[[int, int], None]:
    """Return a call of torch's: of cuBLASLt where there are no scales of rows and columns."""
    one = torch.ones((), device="cuda")
    left, right = scales or (one, one)

    def call(i: int, stream: int) -> None:
        a, b, c = sets[i % len(sets)]
        torch._scaled_mm(a, b, left, right, out_dtype=c.dtype, use_fast_accum=fast, out=c)

    return call


def error(of: Set) -> tuple[float, float]:
    """Return the largest difference from float64 of 64 rows, and the root of the mean square, by the sums of products' sizes."""
    a, b, c = of
    rows = torch.randint(0, a.shape[0], (64,), device="cuda")
    left, right = a[rows].double(), b.double()
    lost = ((c[rows].double() - left @ right) / (left.abs() @ right.abs())).abs()
    return float(lost.max()), float(lost.square().mean().sqrt())


def measure(text: str, cuts: tuple[Configuration, ...], meter: Meter) -> dict[str, Any]:
    """Print and return the table of one shape."""
    m, n, k = parse_size(text)
    flops, sets = 2.0 * m * n * k, matrices(m, n, k)
    launches = max(len(sets), min(200, int(12e-3 * 1.2e15 / flops)), 2)
    rows, columns = torch.ones((m, 1), device="cuda"), torch.ones((1, n), device="cuda")
    calls = {"cuBLASLt": peer(sets), "library": library(sets)} | {cut.name: cut_into(sets, cut) for cut in cuts}
    if not cuts:
        calls["library, scales"] = library(sets, scale_a=rows, scale_b=columns)
        scaled = peer(sets, (rows, columns))
        try:
            scaled(0, 0)
            calls["torch, scales"] = scaled
        except RuntimeError as refused:  # it has them for some dtypes and versions only
            print(f"torch refuses scales of rows and columns: {str(refused).splitlines()[0]}")
    graphs, errors = {}, {}
    for name, call in calls.items():
        sets[0][2].fill_(torch.nan)
        for i in range(len(sets)):
            call(i, 0)
        torch.cuda.synchronize()
        errors[name] = error(sets[0])
        graphs[name] = graph_of(call, launches)
    peer(sets, None, False)(0, 0)
    slow = error(sets[0])
    if m * n * k < 2048**3:
        times = compare(graphs, launches, 12)
    else:
        times = {
            name: one.seconds for name, one in long_turns(graphs, launches, meter, rounds=2 if cuts else 3).items()
        }
    chosen = choose(m, n, -(-k // 2), PROCESSORS).name  # as much work as so many of 16 bits
    print(f"\n{text}: the library takes {chosen}; error of cuBLASLt's slow way {slow[0]:.2e} {slow[1]:.2e}")
    table = []
    for name, seen in times.items():
        seconds = statistics.median(seen)
        rate, ratio = flops / seconds / 1e12, ratio_of(times["cuBLASLt"], seen)
        table.append(
            {"name": name, "us": seconds * 1e6, "tflops": rate, "ratio": ratio, "error": errors[name], "runs": seen}
        )
        print(
            f"  {ratio:6.3f} {seconds * 1e6:9.2f} us {rate:5.0f} TFLOP/s {rate / FLOOR:5.2f} of the floor  error "
            f"{errors[name][0]:.2e} {errors[name][1]:.2e}  {name}", flush=True,
        )  # fmt: skip
    return {"shape": text, "chosen": chosen, "slow": slow, "rows": table}


def main() -> int:
    """Measure, print tables, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", default=SHAPES)
    parser.add_argument("--tune", action="store_true", help="time configurations too")
    parser.add_argument("--seconds", type=float, default=110.0, help="begin nothing more after this")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}; above 1: Prism is faster")
    meter, tables = Meter(), []
    for text in options.shapes.split(","):
        if elapsed() > options.seconds:
            print(f"{text}: no time left")
            continue
        tables.append(measure(text, TRIED if options.tune else (), meter))
        torch.cuda.empty_cache()
    if options.json is not None:
        options.json.write_text(json.dumps(tables, indent=1) + "\n")
    print(f"{elapsed():.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
