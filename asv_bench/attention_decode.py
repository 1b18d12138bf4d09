"""prism.lib.attention_decode beside torch's cuDNN and flash back ends: one process, rotated rounds, medians, GB/s.

    python asv_bench/attention_decode.py [--shapes 1x8x16384,128x8x1024] [--dtype bfloat16] [--rounds 9] [--json FILE]

Needs a Hopper GPU and torch. A shape is sequences x heads of keys x keys; there are 32 heads of queries, of 128 elements, and one
query each. Kernels are timed as CUDA graphs of launches, on keys and values that are rotated past the L2; who begins a round is
another one each time. The last sequence of each result is compared with float64 in the same run.
"""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Callable, Iterator
from typing import Any

from attention import EPS, arguments, compare, measure_all
from hgemm import graph_of, ratio_of

SHAPES = (
    "1x8x1024", "1x8x4096", "1x8x16384", "1x8x65536", "1x4x16384", "1x2x32768", "1x1x65536", "4x8x4096", "8x8x4096", "8x8x16384",
    "16x8x8192", "16x4x8192", "16x1x16384", "32x8x2048", "32x8x8192", "64x8x1024", "64x4x4096", "64x2x8192", "128x8x1024",
    "128x1x4096",
)  # fmt: skip
BACKENDS = {"cudnn": "CUDNN_ATTENTION", "flash": "FLASH_ATTENTION"}
HEADS, DIM = 32, 128
PAST = 1 << 28
"""Bytes of keys and values that are gone through before they come again, and so are no longer in the L2."""


def size_of(text: str) -> int:
    """Return the bytes of a shape's keys and values."""
    return 4 * math.prod(map(int, text.split("x"))) * DIM


def contenders(q: Any, sets: list[tuple[Any, Any]]) -> Iterator[tuple[str, Callable[[int, int], Any]]]:
    """Yield calls on the i-th keys and values by their names. Flash has a head's queries as rows: that way it is faster."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    import prism.lib

    room, rows = torch.empty_like(q), q.view(q.shape[0], sets[0][0].shape[1], -1, DIM)
    yield "prism", lambda i, stream: prism.lib.attention_decode(q, *sets[i % len(sets)], out=room)
    for name, backend in BACKENDS.items():

        def call(i: int, stream: int, packed: bool = name == "flash", backend: str = backend) -> Any:
            with sdpa_kernel(getattr(SDPBackend, backend)):
                return torch.nn.functional.scaled_dot_product_attention(
                    rows if packed else q, *sets[i % len(sets)], enable_gqa=not packed
                )

        yield name, call


def error(result: Any, q: Any, k: Any, v: Any, dtype: str) -> tuple[float, str]:
    """Return the root of the mean square of the last sequence's errors, and how many are too large, or nothing."""
    share = q.shape[1] // k.shape[1]
    rows, keys, values = (x[-1].double() for x in (q, k, v))
    weights = (rows.view(k.shape[1], share, DIM) @ keys.mT / math.sqrt(DIM)).softmax(-1)
    exact, size = weights @ values, weights @ values.abs()
    lost = (result[-1].double().view(exact.shape) - exact).abs()
    wrong = int((~(lost <= (EPS[dtype] + 2.0**-17) * size + EPS[dtype] * exact.abs() + 2.0**-24 * k.shape[2])).sum())
    return math.sqrt(float(lost.square().mean())), f"{wrong} of {lost.numel()} elements are wrong " if wrong else ""


def measure(text: str, dtype: str, rounds: int) -> dict[str, Any]:
    """Print and return a shape's row: microseconds, GB/s, errors, and ratios of the peers' times to Prism's."""
    import torch

    (batches, heads, keys), of = map(int, text.split("x")), {"device": "cuda", "dtype": getattr(torch, dtype)}
    many = max(2, min(40, PAST // size_of(text)))
    q = torch.randn((batches, HEADS, 1, DIM), **of)
    sets = [tuple(torch.randn((2, batches, heads, keys, DIM), **of)) for _ in range(many)]
    row: dict[str, Any] = {"shape": text, "dtype": dtype, "us": {}, "gbs": {}, "error": {}, "fault": ""}
    graphs, launches = {}, max(many, 6)
    for name, call in contenders(q, sets):
        try:
            row["error"][name], fault = error(call(0, 0), q, *sets[0], dtype)
        except RuntimeError as refused:
            print(f"{text}: torch's {name} refuses: {str(refused).splitlines()[0]}")
            continue
        row["fault"] += f"{name}: {fault}" if fault else ""
        graphs[name] = graph_of(call, launches)
    times = compare(graphs, launches, rounds)
    row["ratio"] = {name: ratio_of(seen, times["prism"]) for name, seen in times.items() if name != "prism"}
    for name, seen in times.items():
        row["us"][name] = statistics.median(seen) * 1e6
        row["gbs"][name] = size_of(text) / statistics.median(seen) / 1e9
    cells = "  ".join(f"{name} {row['gbs'][name]:5.0f} ({row['error'][name]:.2e})" for name in times)
    ratios = "  ".join(f"x {name} {ratio:.3f}" for name, ratio in row["ratio"].items())
    print(f"{text:>12}  {cells}  {ratios}  {row['fault']}", flush=True)
    return row


if __name__ == "__main__":
    sys.exit(measure_all(arguments(__doc__, SHAPES).parse_args(), "GB/s", measure))
