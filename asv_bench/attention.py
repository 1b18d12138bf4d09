"""prism.lib.attention beside torch's cuDNN and flash back ends, and FlashAttention-4 where its package is installed: TFLOP/s.

    python asv_bench/attention.py [--shapes 128x16384,64x2048c] [--held-out] [--dtype bfloat16] [--rounds 8] [--seconds 110]
                                  [--json FILE]

Needs a Hopper GPU and torch. What a shape says: benchmarks/attention.py; batches times length are 16,384 tokens, heads times
their elements 2048, as in the papers' tables. Kernels are timed as CUDA graphs of launches, so that the host's time a call does
not count; buffers are rotated past the L2. Each contender follows each other one as often: power binds, and what runs is slowed
by what ran before it. Then each is timed alone: one launch after a product of cuBLAS. Each result is compared with float64 in
the same run (sampled rows of sampled heads), and the root of the mean square of its errors is told. `--dtype` is of those
shapes that don't name theirs; `--held-out`: shapes that nothing was chosen by.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import statistics
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.attention import HELD_OUT, SHAPES, Shape, parse_shape
from hgemm import elapsed, graph_of, ratio_of

BACKENDS = {"cudnn": "CUDNN_ATTENTION", "flash": "FLASH_ATTENTION"}
"""torch's, of the peers."""
L2 = 60 << 20
EPS = {"bfloat16": 2.0**-8, "float16": 2.0**-11}
Set = tuple[Any, Any, Any, Any]
"""Queries, keys, values, and room for the result, which Prism's graphs hold: so nothing else may take its place."""
Call = Callable[..., Any]
"""A call on the i-th arrays, on a stream; it returns the result."""


def arrays(shape: Shape, dtype: str) -> list[Set]:
    """Return enough of them to pass the L2 twice; of 8-bit floats their numbers, as `dtype`."""
    import torch

    def normal(heads: int) -> Any:
        made = torch.randn((shape.batches, heads, shape.length, shape.dim), device="cuda", dtype=getattr(torch, dtype))
        return made.to(torch.float8_e4m3fn).to(made.dtype) if shape.bytes else made

    own, result = shape.heads // shape.share, shape.batches * shape.heads * shape.length * shape.dim
    sets = 1 + 2 * L2 // (4 * result)
    return [(*map(normal, (shape.heads, own, own)), torch.empty_like(normal(shape.heads))) for _ in range(sets)]


def ours(sets: list[Set], shape: Shape) -> Call:
    """Return a call of the library's on the i-th arrays."""
    import torch

    import prism.lib

    given = [tuple(x.to(torch.float8_e4m3fn) if shape.bytes else x for x in one[:3]) for one in sets]

    def call(i: int, stream: int) -> Any:
        k = i % len(sets)
        return prism.lib.attention(*given[k], causal=shape.causal, out=sets[k][3])

    return call


def torch_by(backend: str, sets: list[Set], shape: Shape) -> Call:
    """Return a call of torch's, by one of its back ends."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    how = {"is_causal": shape.causal, "enable_gqa": shape.share > 1}

    def call(i: int, stream: int) -> Any:
        with sdpa_kernel(getattr(SDPBackend, backend)):
            return torch.nn.functional.scaled_dot_product_attention(*sets[i % len(sets)][:3], **how)

    return call


def flash_attention_4() -> Call | None:
    """Return FlashAttention-4's function, whose arrays are batches x lengths x heads x elements; None where it is not there."""
    try:
        package = importlib.import_module("flash_attn.cute")
    except ImportError:
        return None

    def call(*given: Any, causal: bool) -> Any:
        found = package.flash_attn_func(*(x.transpose(1, 2) for x in given), causal=causal)
        return (found[0] if isinstance(found, tuple) else found).transpose(1, 2)

    return call


def error(out: Any, of: Set, shape: Shape, dtype: str, ours: bool) -> tuple[float, str]:
    """Return the root of the mean square of errors, and how many are too large, of 256 rows of two heads, or nothing.

    Of the same rows whoever made the result: early ones of what is causal are off by far more than late ones.
    """
    import torch

    q, k, v, _ = of
    length, squares, wrong = shape.length, [], 0
    rows = torch.randint(0, length, (256,), device="cuda", generator=torch.Generator(device="cuda").manual_seed(0))
    rows[0], rows[1] = 0, length - 1
    for batch, head in ((0, 0), (q.shape[0] - 1, q.shape[1] - 1)):
        own = head // shape.share
        scores = q[batch, head, rows].double() @ k[batch, own].double().T / math.sqrt(shape.dim)
        if shape.causal:
            scores.masked_fill_(torch.arange(length, device="cuda") > rows[:, None], -math.inf)
        weights, values = scores.softmax(-1), v[batch, own].double()
        exact, size = weights @ values, weights @ values.abs()
        lost = (out[batch, head, rows].double() - exact).abs()
        # A weight of 8 bits is off by 2^-4 of it; Hopper adds such products with 14 bits.
        weight, least = (2.0**-4 + 2.0**-5, 2.0**-18) if shape.bytes and ours else (EPS[dtype] + 2.0**-17, 2.0**-24)
        bound = weight * size + EPS[dtype] * exact.abs() + least * (1 + values.abs().sum(0).max())
        wrong += int((~(lost <= bound)).sum())
        squares.append(float(lost.square().mean()))
    return math.sqrt(sum(squares) / 2), f"{wrong} of {512 * shape.dim} sampled elements are wrong" if wrong else ""


def order(names: list[str], number: int) -> list[str]:
    """Return the order of a round: of as many as there are names, or twice as many, each name follows each other one as often.

    Source: Williams, "Experimental designs balanced for the estimation of residual effects of treatments".
    """
    count = len(names)
    steps = [(i + 1) // 2 if i % 2 else (count - i // 2) % count for i in range(count)]  # 0, 1, n - 1, 2, n - 2, ...
    turned = [names[(step + number) % count] for step in steps]
    return turned[::-1] if count % 2 and number // count % 2 else turned


def rounds_of(names: Iterable[str], least: int) -> int:
    """Return how many rounds there are, `least` at least, for which `order` is balanced."""
    count = len(list(names))
    once = 2 * count if count % 2 else count
    return -(-least // once) * once if count > 1 else least


def compare(graphs: Mapping[str, Any], launches: int, rounds: int) -> dict[str, list[float]]:
    """Return the seconds of a call in each round, of as many as `rounds_of` says: each follows each other one as often."""
    import torch

    times: dict[str, list[float]] = {name: [] for name in graphs}
    for number in range(-1, rounds_of(graphs, rounds)):
        for name in order(list(graphs), number):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            graphs[name].replay()
            begin.record()
            graphs[name].replay()
            end.record()
            end.synchronize()
            if number >= 0:
                times[name].append(begin.elapsed_time(end) / launches / 1e3)
    return times


def compare_alone(graphs: Mapping[str, Any], rounds: int) -> dict[str, list[float]]:
    """Return the seconds of one launch after another library's kernel, in each round."""
    import torch

    times: dict[str, list[float]] = {name: [] for name in graphs}
    other = torch.randn((4096, 4096), device="cuda", dtype=torch.bfloat16)
    for number in range(-1, rounds_of(graphs, rounds)):
        for name in order(list(graphs), number):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            torch.mm(other, other)
            begin.record()
            graphs[name].replay()
            end.record()
            end.synchronize()
            if number >= 0:
                times[name].append(begin.elapsed_time(end) / 1e3)
    return times


def contenders(text: str, sets: list[Set], shape: Shape, dtype: str, row: dict[str, Any]) -> dict[str, Call]:
    """Return the calls that work, by their names; errors go into the row."""
    import torch

    calls = {"prism": ours(sets, shape)} | {name: torch_by(by, sets, shape) for name, by in BACKENDS.items()}
    if (theirs := flash_attention_4()) is not None:
        calls["fa4"] = lambda i, _: theirs(*sets[i % len(sets)][:3], causal=shape.causal)
    for name, call in list(calls.items()):
        sets[0][3].fill_(torch.nan)
        try:
            out = [call(i, 0) for i in range(len(sets))][0]  # nothing is made ready in a capture
        except RuntimeError as refused:
            print(f"{text}: {name} refuses: {str(refused).splitlines()[0]}")
            del calls[name]
            continue
        torch.cuda.synchronize()
        row["error"][name], fault = error(out, sets[0], shape, dtype, name == "prism")
        row["fault"] += f"{name}: {fault}" if fault else ""
    return calls


def measure(text: str, dtype: str, rounds: int) -> dict[str, Any]:
    """Print and return a shape's row: microseconds, TFLOP/s, errors, and ratios of the peers' times to Prism's."""
    shape = parse_shape(text)
    dtype = "float16" if shape.half else dtype
    work, sets = shape.operations, arrays(shape, dtype)
    launches = max(len(sets), min(20, int(12e-3 * 6e14 / work)))
    row: dict[str, Any] = {"shape": text, "dtype": dtype, "us": {}, "alone": {}, "tflops": {}, "error": {}, "fault": ""}
    calls = contenders(text, sets, shape, dtype, row)
    times = compare({name: graph_of(call, launches) for name, call in calls.items()}, launches, rounds)
    alone = compare_alone({name: graph_of(call, 1) for name, call in calls.items()}, rounds)
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


def arguments(description: str, shapes: Iterable[str]) -> argparse.ArgumentParser:
    """Return what the scripts of attention are asked; `shapes` are measured where none are named."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--shapes", default=",".join(shapes))
    parser.add_argument("--dtype", default="bfloat16", choices=list(EPS))
    parser.add_argument("--rounds", type=int, default=8, help="at least: as many as their orders are balanced for")
    parser.add_argument("--seconds", type=float, default=110.0, help="begin nothing more after this")
    parser.add_argument("--json", type=Path)
    return parser


def measure_all(options: argparse.Namespace, unit: str, measure: Callable[[str, str, int], dict[str, Any]]) -> int:
    """Measure each shape that is asked for, print a table, and write what was found."""
    import torch

    print(
        f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {options.dtype}; {unit} (error); above 1: Prism is faster"
    )
    rows = []
    for text in options.shapes.split(","):
        if elapsed() > options.seconds:
            print(f"{text}: no time left")
            continue
        rows.append(measure(text, options.dtype, options.rounds))
        torch.cuda.empty_cache()
        if options.json is not None:  # as it goes: what is measured stays, whatever happens to the next one
            options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    print(f"{elapsed():.0f} s")
    return 0


def main() -> int:
    parser = arguments(__doc__, [*SHAPES, *HELD_OUT])
    parser.add_argument("--held-out", action="store_true", help="the shapes that nothing was chosen by, alone")
    options = parser.parse_args()
    if options.held_out:
        options.shapes = ",".join(HELD_OUT)
    return measure_all(options, "TFLOP/s", measure)


if __name__ == "__main__":
    sys.exit(main())
