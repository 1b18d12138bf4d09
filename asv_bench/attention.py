"""prism.lib.attention beside torch's cuDNN and flash back ends: one process, alternating rounds, medians, TFLOP/s.

    python asv_bench/attention.py [--shapes 128x16384,64x2048c] [--dtype bfloat16] [--rounds 9] [--seconds 110] [--json FILE]

Needs a Hopper GPU and torch. A shape is the elements of a head and the length, with a c where it is causal; batches times length
are 16,384 tokens, heads times their elements 2048, as in the papers' tables. Kernels are timed as CUDA graphs of launches, so
that the host's time a call does not count; buffers are rotated past the L2; who begins a round is another one each time: power
binds, and what runs is slowed by what ran before it. Each result is compared with float64 in the same run (sampled rows of
sampled heads), and the root of the mean square of its errors is told.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hgemm import elapsed, graph_of, ratio_of

SHAPES = (
    "128x16384", "128x16384c", "128x4096", "128x4096c", "128x2048", "128x2048c", "64x16384", "64x16384c", "64x2048", "64x2048c",
    "256x16384", "256x16384c", "256x4096", "256x4096c",
)  # fmt: skip
PEERS = {"cudnn": "CUDNN_ATTENTION", "flash": "FLASH_ATTENTION"}
TOKENS, HIDDEN, L2 = 16_384, 2048, 60 << 20
EPS = {"bfloat16": 2.0**-8, "float16": 2.0**-11}
Set = tuple[Any, Any, Any, Any]
"""Queries, keys, values, and room for the result."""


def parse_shape(text: str) -> tuple[int, int, bool]:
    """Return the elements of a head, the length, and whether it is causal."""
    dim, length = text.rstrip("c").split("x")
    return int(dim), int(length), text.endswith("c")


def flops(dim: int, length: int, causal: bool) -> float:
    """Return the operations of two products, of which a causal one needs half."""
    return 4.0 * TOKENS * length * HIDDEN / (2 if causal else 1)


def arrays(dim: int, length: int, dtype: str) -> list[Set]:
    """Return enough of them to pass the L2 twice."""
    import torch

    shape = (TOKENS // length, HIDDEN // dim, length, dim)
    sets = 1 + 2 * L2 // (4 * 2 * TOKENS * HIDDEN)
    of = {"device": "cuda", "dtype": getattr(torch, dtype)}
    return [(*(torch.randn(shape, **of) for _ in range(3)), torch.empty(shape, **of)) for _ in range(sets)]


def ours(sets: list[Set], causal: bool) -> Callable[[int, int], None]:
    """Return a call of the library's on the i-th arrays."""
    import prism.lib

    def call(i: int, stream: int) -> None:
        q, k, v, out = sets[i % len(sets)]
        prism.lib.attention(q, k, v, causal=causal, out=out)

    return call


def torch_by(backend: str, sets: list[Set], causal: bool) -> Callable[[int, int], None]:
    """Return a call of torch's, by one of its back ends; its result takes the room's place."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    def call(i: int, stream: int) -> None:
        q, k, v, _ = sets[i % len(sets)]
        with sdpa_kernel(getattr(SDPBackend, backend)):
            out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
        sets[i % len(sets)] = q, k, v, out

    return call


def error(of: Set, causal: bool, dtype: str) -> tuple[float, str]:
    """Return the root of the mean square of errors, and how many are too large, of 64 rows of two heads, or nothing."""
    import torch

    q, k, v, out = of
    (_, _, length, dim), squares, wrong = q.shape, [], 0
    for batch, head in ((0, 0), (q.shape[0] - 1, q.shape[1] - 1)):
        rows = torch.randint(0, length, (64,), device="cuda")
        rows[0], rows[1] = 0, length - 1
        scores = q[batch, head, rows].double() @ k[batch, head].double().T / math.sqrt(dim)
        if causal:
            scores.masked_fill_(torch.arange(length, device="cuda") > rows[:, None], -math.inf)
        weights, values = scores.softmax(-1), v[batch, head].double()
        exact, size = weights @ values, weights @ values.abs()
        lost = (out[batch, head, rows].double() - exact).abs()
        bound = (EPS[dtype] + 2.0**-17) * size + EPS[dtype] * exact.abs() + 2.0**-24 * (1 + values.abs().sum(0).max())
        wrong += int((~(lost <= bound)).sum())
        squares.append(float(lost.square().mean()))
    return math.sqrt(sum(squares) / 2), f"{wrong} of {128 * dim} sampled elements are wrong" if wrong else ""


def compare(graphs: Mapping[str, Any], launches: int, rounds: int) -> dict[str, list[float]]:
    """Return the seconds of a call in each round; a round begins with another one than that before."""
    import torch

    times: dict[str, list[float]] = {name: [] for name in graphs}
    names = list(graphs)
    for number in range(rounds + 1):
        at = number % len(names)
        for name in names[at:] + names[:at]:
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            graphs[name].replay()
            begin.record()
            graphs[name].replay()
            end.record()
            end.synchronize()
            if number:
                times[name].append(begin.elapsed_time(end) / launches / 1e3)
    return times


def measure(text: str, dtype: str, rounds: int) -> dict[str, Any]:
    """Print and return a shape's row: microseconds, TFLOP/s, errors, and ratios of the peers' times to Prism's."""
    import torch

    dim, length, causal = parse_shape(text)
    work, sets = flops(dim, length, causal), arrays(dim, length, dtype)
    launches = max(len(sets), min(20, int(12e-3 * 6e14 / work)))
    graphs, row = {}, {"shape": text, "dtype": dtype, "us": {}, "tflops": {}, "error": {}, "fault": ""}
    for name, call in {
        "prism": ours(sets, causal),
        **{name: torch_by(backend, sets, causal) for name, backend in PEERS.items()},
    }.items():
        sets[0][3].fill_(torch.nan)
        try:
            for i in range(len(sets)):  # nothing is made ready in a capture
                call(i, 0)
        except RuntimeError as refused:
            print(f"{text}: torch's {name} refuses: {str(refused).splitlines()[0]}")
            continue
        torch.cuda.synchronize()
        row["error"][name], fault = error(sets[0], causal, dtype)
        row["fault"] += f"{name}: {fault}" if fault else ""
        graphs[name] = graph_of(call, launches)
    times = compare(graphs, launches, rounds)
    row["ratio"] = {name: ratio_of(seen, times["prism"]) for name, seen in times.items() if name != "prism"}
    for name, seen in times.items():
        row["us"][name] = statistics.median(seen) * 1e6
        row["tflops"][name] = work / statistics.median(seen) / 1e12
    cells = "  ".join(f"{name} {row['tflops'][name]:4.0f} ({row['error'][name]:.2e})" for name in times)
    ratios = "  ".join(f"x {name} {ratio:.3f}" for name, ratio in row["ratio"].items())
    print(f"{text:>12}  {cells}  {ratios}  {row['fault']}", flush=True)
    return row


def main() -> int:
    """Measure, print a table, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--dtype", default="bfloat16", choices=list(EPS))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=110.0, help="begin nothing more after this")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()

    import torch

    print(
        f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {options.dtype}; TFLOP/s (error); above 1: Prism is faster"
    )
    rows = []
    for text in options.shapes.split(","):
        if elapsed() > options.seconds:
            print(f"{text}: no time left")
            continue
        rows.append(measure(text, options.dtype, options.rounds))
        torch.cuda.empty_cache()
    if options.json is not None:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    print(f"{elapsed():.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
