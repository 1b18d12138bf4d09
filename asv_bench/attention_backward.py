"""prism.lib.attention_backward beside torch's cuDNN and flash back ends, and FlashAttention-4 where it is installed: TFLOP/s.

    python asv_bench/attention_backward.py [--shapes 128x16384,64x2048c] [--dtype float16] [--rounds 8] [--seconds 110] [--json F]
                                           [--held-out]

Needs a Hopper GPU and torch. What a shape says: benchmarks/attention.py. Arrays together are larger than the L2. Calls are
queued, and take a millisecond or more each, so that the host's time does not count; each follows each other one as often.
Then each is timed alone: one call after a product of cuBLAS. `again` is the library's call with `deterministic=True`. Gradients
of one head are compared with float64 in the same run, in parts of its rows. `--held-out`: shapes that nothing was chosen by.
"""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Callable, Iterator
from typing import Any

from attention import BACKENDS, arguments, compare, compare_alone, flash_attention_4, measure_all
from benchmarks.attention import PEERS, Shape, parse_shape
from benchmarks.attention_backward import HELD_OUT, SHAPES
from hgemm import ratio_of

PART = 2048
"""Rows of a head whose scores are held in float64 at once."""


def operations(shape: Shape) -> float:
    """Return the operations of five products, of which a causal one needs half."""
    return 2.5 * shape.operations


class Calls:
    """So many calls, one queued behind the other."""

    def __init__(self, call: Callable[[], Any], many: int) -> None:
        self.call, self.many = call, many

    def replay(self) -> None:
        """Queue them."""
        for _ in range(self.many):
            self.call()


def contenders(arrays: list[Any], dout: Any, shape: Shape) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield calls that return the gradients, by their names; a back end that refuses says so."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    import prism.lib

    causal, shared = shape.causal, shape.share > 1
    out, lse = prism.lib.attention(*arrays, causal=causal, lse=True)
    for name, again in (("prism", False), ("again", True)):
        how = {"causal": causal, "deterministic": again}
        yield name, lambda how=how: prism.lib.attention_backward(dout, *arrays, out, lse, **how)
    for name, backend in BACKENDS.items():
        leaves = [x.detach().requires_grad_() for x in arrays]
        try:
            with sdpa_kernel(getattr(SDPBackend, backend)):
                result = torch.nn.functional.scaled_dot_product_attention(*leaves, is_causal=causal, enable_gqa=shared)
            torch.autograd.grad(result, leaves, dout, retain_graph=True)
        except RuntimeError as refused:
            print(f"torch's {name} refuses: {str(refused).splitlines()[0]}")
            continue
        yield name, lambda result=result, leaves=leaves: torch.autograd.grad(result, leaves, dout, retain_graph=True)
    if (theirs := flash_attention_4()) is not None:
        given = [x.detach().requires_grad_() for x in arrays]
        made = theirs(*given, causal=causal)
        yield "fa4", lambda: torch.autograd.grad(made, given, dout, retain_graph=True)


def exact(arrays: list[Any], dout: Any, shape: Shape) -> list[Any]:
    """Return in float64 gradients of the last batch: of its last head of keys, and of the last one of queries."""
    import torch

    k, v = (x[-1, -1].double() for x in arrays[1:])
    length, dim, causal = shape.length, shape.dim, shape.causal
    found = [torch.zeros_like(x) for x in (k, k, v)]
    steps = range(0, length, PART)
    for head, first in ((head, first) for head in range(-shape.share, 0) for first in steps):
        q, given = (x[-1, head].double() for x in (arrays[0], dout))
        rows = slice(first, min(first + PART, length))
        scores = q[rows] @ k.T / math.sqrt(dim)
        if causal:
            places = torch.arange(length, device="cuda")
            scores.masked_fill_(places > places[rows, None], -math.inf)
        weights = scores.softmax(-1)
        slopes = weights * (given[rows] @ v.T - (given[rows] * (weights @ v)).sum(-1, keepdim=True)) / math.sqrt(dim)
        found[0][rows] = slopes @ k
        found[1] += slopes.T @ q[rows]
        found[2] += weights.T @ given[rows]
    return found


def measure(text: str, dtype: str, rounds: int) -> dict[str, Any]:
    """Print and return a shape's row: microseconds, TFLOP/s, errors, and ratios of the peers' times to Prism's."""
    import torch

    shape = parse_shape(text)
    of = {"device": "cuda", "dtype": torch.float16 if shape.half else getattr(torch, dtype)}
    own, work = shape.heads // shape.share, operations(shape)
    q, k, v, dout = (
        torch.randn((shape.batches, heads, shape.length, shape.dim), **of)
        for heads in (shape.heads, own, own, shape.heads)
    )
    arrays, wanted = [q, k, v], exact([q, k, v], dout, shape)
    row: dict[str, Any] = {"shape": text, "dtype": dtype, "us": {}, "alone": {}, "tflops": {}, "error": {}, "fault": ""}
    calls = dict(contenders(arrays, dout, shape))
    for name, call in calls.items():
        pairs = list(zip(call(), wanted, strict=True))
        row["error"][name] = max(float((x[-1, -1].double() - y).norm() / y.norm()) for x, y in pairs)
    best = min(row["error"][name] for name in calls if name in PEERS)
    # All round the same factors to 16 bits: their errors differ by chance alone, some percent.
    row["fault"] = "".join(
        f"{n}: error {off:.1e} " for n, off in row["error"].items() if n not in PEERS and not off <= 1.1 * best
    )
    launches = max(2, int(12e-3 * 5e14 / work))
    times = compare({name: Calls(call, launches) for name, call in calls.items()}, launches, rounds)
    alone = compare_alone({name: Calls(call, 1) for name, call in calls.items()}, rounds)
    row["ratio"] = {name: ratio_of(seen, times["prism"]) for name, seen in times.items() if name != "prism"}
    row["ratio_alone"] = {name: ratio_of(seen, alone["prism"]) for name, seen in alone.items() if name != "prism"}
    for name, seen in times.items():
        row["us"][name] = statistics.median(seen) * 1e6
        row["alone"][name] = statistics.median(alone[name]) * 1e6
        row["tflops"][name] = work / statistics.median(seen) / 1e12
    cells = "  ".join(f"{name} {row['tflops'][name]:4.0f} ({row['error'][name]:.2e})" for name in times)
    ratios = "  ".join(
        f"x {name} {ratio:.3f} alone {row['ratio_alone'][name]:.3f}" for name, ratio in row["ratio"].items()
    )
    print(f"{text:>12}  {cells}  {ratios}  {row['fault']}", flush=True)
    return row


def main() -> int:
    parser = arguments(__doc__, SHAPES)
    parser.add_argument("--held-out", action="store_true", help="the shapes that nothing was chosen by, alone")
    options = parser.parse_args()
    if options.held_out:
        options.shapes = ",".join(HELD_OUT)
    return measure_all(options, "TFLOP/s", measure)


if __name__ == "__main__":
    sys.exit(main())
