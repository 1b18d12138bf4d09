"""prism.lib.attention of packed sequences beside torch's variable-length flash kernel: one process, all orders, medians.

    python asv_bench/attention_packed.py [--shapes equal2048,skewed] [--dims 128,64] [--dtype bfloat16] [--rounds 8] [--json FILE]

Needs a Hopper GPU and torch. 16,384 tokens, heads times their elements 2048. Kernels are timed as CUDA graphs of launches, on
buffers that are rotated past the L2; each follows each other one as often. Each result is compared with torch's own, and
where lengths are equal `batch` is prism.lib.attention of the same arrays with four axes.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attention import EPS, L2, compare
from benchmarks.attention import HIDDEN, TOKENS
from benchmarks.attention_packed import DIMS, LENGTHS
from hgemm import elapsed, graph_of, ratio_of

Set = tuple[Any, Any, Any, Any]


def flops(lengths: list[int], causal: bool) -> float:
    """Return the operations of two products of each sequence, of which causal ones need half."""
    return 4.0 * HIDDEN * sum(n * n for n in lengths) / (2 if causal else 1)


def calls(
    lengths: list[int], dim: int, causal: bool, sets: list[Set], made: dict[int, Any]
) -> dict[str, Callable[[int, int], Any]]:
    """Return what is measured: functions of the number of a set of arrays, and a stream; torch's results go to `made`.

    Who launches them from a graph keeps them: the offsets' memory is theirs.
    """
    import torch

    import prism.lib

    offsets = torch.tensor([0, *lengths], device="cuda").cumsum(0).int()
    longest = max(lengths)

    def ours(i: int, stream: int) -> None:
        q, k, v, out = sets[i % len(sets)]
        prism.lib.attention(q, k, v, causal=causal, offsets=offsets, out=out)

    def batch(i: int, stream: int) -> None:
        q, k, v, out = (x.view(len(lengths), longest, *x.shape[1:]) for x in sets[i % len(sets)])
        prism.lib.attention(q, k, v, causal=causal, layout="blhd", out=out)

    def torchs(i: int, stream: int) -> None:
        q, k, v, _ = sets[i % len(sets)]
        flash = torch.ops.aten._flash_attention_forward
        made[i % len(sets)] = flash(q, k, v, offsets, offsets, longest, longest, 0.0, causal, False, scale=dim**-0.5)[0]

    found = {"prism": ours, "torch": torchs}
    return {**found, "batch": batch} if len(set(lengths)) == 1 else found


def measure(name: str, dim: int, causal: bool, dtype: str, rounds: int) -> dict[str, Any]:
    """Print and return a row: microseconds, TFLOP/s, the largest difference from torch's, ratios of times to Prism's."""
    import torch

    lengths = LENGTHS[name]
    tokens, of = sum(lengths), {"device": "cuda", "dtype": getattr(torch, dtype)}
    shape, count = (tokens, HIDDEN // dim, dim), 1 + 2 * L2 // (4 * 2 * TOKENS * HIDDEN)
    sets: list[Set] = [(*(torch.randn(shape, **of) for _ in range(3)), torch.empty(shape, **of)) for _ in range(count)]
    work, graphs, results, made = flops(lengths, causal), {}, {}, {}
    every = calls(lengths, dim, causal, sets, made)
    launches = max(len(sets), min(20, int(6e-3 * 4e14 / work)))
    for who, call in every.items():
        sets[0][3].fill_(torch.nan)
        for i in range(len(sets)):  # nothing is made ready in a capture
            call(i, 0)
        torch.cuda.synchronize()
        results[who] = (made[0] if who == "torch" else sets[0][3]).float()
        graphs[who] = graph_of(call, launches)
    times = compare(graphs, launches, rounds)
    apart = float((results["prism"] - results["torch"]).abs().max() / results["torch"].abs().max())
    row: dict[str, Any] = {"lengths": name, "dim": dim, "causal": causal, "dtype": dtype, "apart": apart}
    row["us"] = {who: statistics.median(seen) * 1e6 for who, seen in times.items()}
    row["ratio"] = {who: ratio_of(seen, times["prism"]) for who, seen in times.items() if who != "prism"}
    row["fault"] = "" if apart <= 8 * EPS[dtype] else "results differ"
    cells = "  ".join(f"{who} {us:7.1f} us {work / us / 1e6:4.0f}" for who, us in row["us"].items())
    ratios = "  ".join(f"x {who} {ratio:.3f}" for who, ratio in row["ratio"].items())
    print(f"{name:>10} {dim}{'c' if causal else ' '}  {cells}  {ratios}  {apart:.1e} {row['fault']}", flush=True)
    return row


def main() -> int:
    """Measure, print a table, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", default=",".join(LENGTHS))
    parser.add_argument("--dims", default=",".join(map(str, DIMS)))
    parser.add_argument("--dtype", default="bfloat16", choices=list(EPS))
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=110.0, help="begin nothing more after this")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = []
    for name in options.shapes.split(","):
        for dim in map(int, options.dims.split(",")):
            for causal in (False, True):
                if elapsed() > options.seconds:
                    print(f"{name} {dim}: no time left")
                    continue
                rows.append(measure(name, dim, causal, options.dtype, options.rounds))
    if options.json is not None:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    print(f"{elapsed():.0f} s")
    return 1 if any(row["fault"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
