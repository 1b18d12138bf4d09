"""prism.lib.attention_backward beside torch's cuDNN and flash back ends: one process, alternating rounds, medians, TFLOP/s.

    python asv_bench/attention_backward.py [--shapes 128x16384,64x2048c] [--dtype float16] [--rounds 9] [--seconds 110] [--json F]

Needs a Hopper GPU and torch. A shape is the elements of a head and the length, with a c where it is causal; batches times length
are 16,384 tokens, heads times their elements 2048. Each array is larger than the L2. Calls are queued, and take a millisecond or
more each, so that the host's time does not count; who begins a round is another one each time. `again` is the library's call with
`deterministic=True`. Gradients of one head are compared with float64 in the same run, in parts of its rows.
"""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Callable, Iterator
from typing import Any

from attention import arguments, compare, measure_all
from hgemm import ratio_of

SHAPES = (
    "128x16384", "128x16384c", "64x16384", "64x16384c", "128x4096", "128x4096c", "128x2048", "128x2048c", "64x2048", "64x2048c",
    "256x16384", "256x16384c",
)  # fmt: skip
BACKENDS = {"cudnn": "CUDNN_ATTENTION", "flash": "FLASH_ATTENTION"}
TOKENS, HIDDEN = 16_384, 2048
PART = 2048
"""Rows of a head whose scores are held in float64 at once."""


def parse_shape(text: str) -> tuple[int, int, bool]:
    """Return the elements of a head, the length, and whether it is causal."""
    dim, length = text.rstrip("c").split("x")
    return int(dim), int(length), text.endswith("c")


def operations(dim: int, length: int, causal: bool) -> float:
    """Return the operations of five products, of which a causal one needs half."""
    return 10.0 * TOKENS * length * HIDDEN / (2 if causal else 1)


class Calls:
    """So many calls, one queued behind the other."""

    def __init__(self, call: Callable[[], Any], many: int) -> None:
        self.call, self.many = call, many

    def replay(self) -> None:
        """Queue them."""
        for _ in range(self.many):
            self.call()


def contenders(arrays: list[Any], dout: Any, causal: bool) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield calls that return the gradients, by their names; a back end that refuses says so."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    import prism.lib

    out, lse = prism.lib.attention(*arrays, causal=causal, lse=True)
    for name, again in (("prism", False), ("again", True)):
        how = {"causal": causal, "deterministic": again}
        yield name, lambda how=how: prism.lib.attention_backward(dout, *arrays, out, lse, **how)
    for name, backend in BACKENDS.items():
        leaves = [x.detach().requires_grad_() for x in arrays]
        try:
            with sdpa_kernel(getattr(SDPBackend, backend)):
                result = torch.nn.functional.scaled_dot_product_attention(*leaves, is_causal=causal)
            torch.autograd.grad(result, leaves, dout, retain_graph=True)
        except RuntimeError as refused:
            print(f"torch's {name} refuses: {str(refused).splitlines()[0]}")
            continue
        yield name, lambda result=result, leaves=leaves: torch.autograd.grad(result, leaves, dout, retain_graph=True)


def exact(arrays: list[Any], dout: Any, causal: bool) -> list[Any]:
    """Return the gradients of the last head of the last batch in float64."""
    import torch

    q, k, v, given = (x[-1, -1].double() for x in (*arrays, dout))
    (length, dim), found = q.shape, [torch.zeros_like(x) for x in (q, k, v)]
    for first in range(0, length, PART):
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

    dim, length, causal = parse_shape(text)
    shape, of = (TOKENS // length, HIDDEN // dim, length, dim), {"device": "cuda", "dtype": getattr(torch, dtype)}
    *arrays, dout = (torch.randn(shape, **of) for _ in range(4))
    work, wanted = operations(dim, length, causal), exact(arrays, dout, causal)
    row: dict[str, Any] = {"shape": text, "dtype": dtype, "us": {}, "tflops": {}, "error": {}, "fault": ""}
    calls = dict(contenders(arrays, dout, causal))
    for name, call in calls.items():
        pairs = list(zip(call(), wanted, strict=True))
        row["error"][name] = max(float((x[-1, -1].double() - y).norm() / y.norm()) for x, y in pairs)
    best = min(row["error"][name] for name in calls if name in BACKENDS)
    # All round the same factors to 16 bits: their errors differ by chance alone, some percent.
    row["fault"] = "".join(
        f"{n}: error {row['error'][n]:.1e} " for n in ("prism", "again") if not row["error"][n] <= 1.1 * best
    )
    launches = max(2, int(12e-3 * 5e14 / work))
    times = compare({name: Calls(call, launches) for name, call in calls.items()}, launches, rounds)
    row["ratio"] = {name: ratio_of(seen, times["prism"]) for name, seen in times.items() if name != "prism"}
    for name, seen in times.items():
        row["us"][name] = statistics.median(seen) * 1e6
        row["tflops"][name] = work / statistics.median(seen) / 1e12
    cells = "  ".join(f"{name} {row['tflops'][name]:4.0f} ({row['error'][name]:.2e})" for name in times)
    ratios = "  ".join(f"x {name} {ratio:.3f}" for name, ratio in row["ratio"].items())
    print(f"{text:>12}  {cells}  {ratios}  {row['fault']}", flush=True)
    return row


if __name__ == "__main__":
    sys.exit(measure_all(arguments(__doc__, SHAPES).parse_args(), "TFLOP/s", measure))
