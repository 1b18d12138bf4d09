"""prism.lib.attention_decode beside torch's cuDNN and flash back ends: one process, rounds in all orders, medians, GB/s.

    python asv_bench/attention_decode.py [--shapes 1x8x16384,64x8x4096r] [--held-out] [--rounds 8] [--json FILE]

Needs a Hopper GPU and torch. A shape is sequences x heads of keys x keys; there are 32 heads of queries, of 128 elements, and one
query each. r: sequences have any lengths up to that, which torch takes packed, by its flash kernel. Kernels are timed as CUDA
graphs of launches, on keys and values that are rotated past the L2, and one launch after another library's kernel; each
follows each other one as often. The last sequence of each result is compared with float64 in the same run. `--lines` prints each
row as JSON.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
from collections.abc import Callable, Iterator
from typing import Any

from attention import EPS, arguments, compare, compare_alone, measure_all
from benchmarks.attention_decode import HELD_OUT, SHAPES
from hgemm import graph_of, ratio_of

BACKENDS = {"cudnn": "CUDNN_ATTENTION", "flash": "FLASH_ATTENTION"}
HEADS, DIM = 32, 128
PAST = 1 << 28
"""Bytes of keys and values that are gone through before they come again, and so are no longer in the L2."""
Call = Callable[[int, int], Any]


def parse_shape(text: str) -> tuple[int, int, list[int]]:
    """Return how many sequences and heads of keys a shape has, and the sequences' lengths."""
    batches, heads, keys = map(int, text.rstrip("r").split("x"))
    if not text.endswith("r"):
        return batches, heads, [keys] * batches
    return batches, heads, [1 + 7919 * (i + 1) % keys for i in range(batches)]


def size_of(text: str) -> int:
    """Return the bytes of a shape's keys and values, as far as sequences have them."""
    _, heads, lengths = parse_shape(text)
    return 4 * heads * sum(lengths) * DIM


def contenders(text: str, q: Any, sets: list[tuple[Any, Any]]) -> Iterator[tuple[str, Call]]:
    """Yield calls on the i-th keys and values by their names. Flash has a head's queries as rows: that way it is faster."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    import prism.lib

    _, heads, lengths = parse_shape(text)
    room, rows = torch.empty_like(q), q.view(q.shape[0], heads, -1, DIM)
    if text.endswith("r"):
        yield from ragged(q, sets, lengths)
        return
    yield "prism", lambda i, stream: prism.lib.attention_decode(q, *sets[i % len(sets)], out=room)
    for name, backend in BACKENDS.items():

        def call(i: int, stream: int, packed: bool = name == "flash", backend: str = backend) -> Any:
            with sdpa_kernel(getattr(SDPBackend, backend)):
                return torch.nn.functional.scaled_dot_product_attention(
                    rows if packed else q, *sets[i % len(sets)], enable_gqa=not packed
                )

        yield name, call


def ragged(q: Any, sets: list[tuple[Any, Any]], lengths: list[int]) -> Iterator[tuple[str, Call]]:
    """Yield calls for sequences of these lengths, which torch's flash kernel takes one after the other."""
    import torch

    import prism.lib

    room, of = torch.empty_like(q), {"device": "cuda", "dtype": torch.int32}
    many = torch.tensor(lengths, **of)
    starts, own = (torch.tensor([0, *x], **of).cumsum(0).int() for x in (lengths, [1] * len(lengths)))
    packed = [[torch.cat([x[b, :, :n].swapaxes(0, 1) for b, n in enumerate(lengths)]) for x in one] for one in sets]
    yield "prism", lambda i, stream: prism.lib.attention_decode(q, *sets[i % len(sets)], lengths=many, out=room)

    def call(i: int, stream: int) -> Any:
        flash, (k, v) = torch.ops.aten._flash_attention_forward, packed[i % len(packed)]
        return flash(q[:, :, 0], k, v, own, starts, 1, max(lengths), 0.0, False, False)[0]

    yield "flash", call


def error(result: Any, q: Any, k: Any, v: Any, length: int, dtype: str) -> tuple[float, str]:
    """Return the root of the mean square of the last sequence's errors, and how many are too large, or nothing."""
    share = q.shape[1] // k.shape[1]
    rows, keys, values = (x[-1].double() for x in (q, k[:, :, :length], v[:, :, :length]))
    weights = (rows.view(k.shape[1], share, DIM) @ keys.mT / math.sqrt(DIM)).softmax(-1)
    exact, size = weights @ values, weights @ values.abs()
    lost = (result[-1].double().view(exact.shape) - exact).abs()
    wrong = int((~(lost <= (EPS[dtype] + 2.0**-17) * size + EPS[dtype] * exact.abs() + 2.0**-24 * length)).sum())
    return math.sqrt(float(lost.square().mean())), f"{wrong} of {lost.numel()} elements are wrong " if wrong else ""


def shorten(row: dict[str, Any]) -> str:
    """Return a row as JSON in one line, of numbers with five digits."""
    return json.dumps(json.loads(json.dumps(row), parse_float=lambda x: float(f"{float(x):.5g}")))


def measure(text: str, dtype: str, rounds: int) -> dict[str, Any]:
    """Print and return a shape's row: microseconds, GB/s, errors, and ratios of the peers' times to Prism's."""
    import torch

    (batches, heads, lengths), of = parse_shape(text), {"device": "cuda", "dtype": getattr(torch, dtype)}
    many = max(2, min(40, PAST // size_of(text)))
    q = torch.randn((batches, HEADS, 1, DIM), **of)
    sets = [tuple(torch.randn((2, batches, heads, max(lengths), DIM), **of)) for _ in range(many)]
    row: dict[str, Any] = {"shape": text, "dtype": dtype, "us": {}, "alone": {}, "gbs": {}, "error": {}, "fault": ""}
    graphs, single, launches = {}, {}, max(many, 6)
    for name, call in contenders(text, q, sets):
        try:
            row["error"][name], fault = error(call(0, 0), q, *sets[0], lengths[-1], dtype)
        except RuntimeError as refused:
            print(f"{text}: torch's {name} refuses: {str(refused).splitlines()[0]}")
            continue
        row["fault"] += f"{name}: {fault}" if fault else ""
        graphs[name], single[name] = graph_of(call, launches), graph_of(call, 1)
    times, alone = compare(graphs, launches, rounds), compare_alone(single, rounds)
    for kind, found in (("ratio", times), ("ratio_alone", alone)):
        row[kind] = {name: ratio_of(seen, found["prism"]) for name, seen in found.items() if name != "prism"}
    for name, seen in times.items():
        row["us"][name] = statistics.median(seen) * 1e6
        row["alone"][name] = statistics.median(alone[name]) * 1e6
        row["gbs"][name] = size_of(text) / statistics.median(seen) / 1e9
    cells = "  ".join(f"{name} {row['gbs'][name]:5.0f} ({row['error'][name]:.2e})" for name in times)
    ratios = "  ".join(
        f"x {name} {ratio:.3f} alone {row['ratio_alone'][name]:.3f}" for name, ratio in row["ratio"].items()
    )
    print(shorten(row) if LINES else f"{text:>12}  {cells}  {ratios}  {row['fault']}", flush=True)
    return row


LINES = False
if __name__ == "__main__":
    parser = arguments(__doc__, SHAPES)
    parser.add_argument("--held-out", action="store_true", help="the shapes that nothing was chosen by, alone")
    parser.add_argument("--lines", action="store_true", help="print each row as JSON")
    options = parser.parse_args()
    options.shapes, LINES = ",".join(HELD_OUT) if options.held_out else options.shapes, options.lines
    sys.exit(measure_all(options, "GB/s", measure))
