"""Activations, rotary positions, cross-entropy and quantisation beside torch and a device copy: one process, medians.

    PYTHONPATH=. python asv_bench/layers.py [--only swiglu] [--rounds 7] [--compiled] [--json FILE]

Needs a GPU, CuPy and torch. Random data, buffers rotated past the L2. Prism is timed as CUDA graphs of launches, torch and the
copy as plain launches; with `--compiled` torch's expression is compiled by `torch.compile` too. "copy" is what a device copy of
as many bytes takes as the call must read and write. Results are compared in tests/gpu/test_layers.py.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.layers import CALLS

from prism import lib

ROUNDS = 7
Call = Callable[[int], Any]


def main(arguments: list[str] | None = None) -> int:
    """Measure, print a line for each, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="calls whose name has this")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--compiled", action="store_true", help="time torch.compile too")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    found = []
    for name, (what, dtype, rows, n) in CALLS.items():
        if options.only in name:
            seconds, moved = measured(what, dtype, rows, n, options.rounds, options.compiled)
            found.append({"call": name, "bytes": moved, **seconds})
            rates = "  ".join(f"{key} {moved / value / 1e9:5.0f} GB/s" for key, value in seconds.items())
            ratios = "  ".join(
                f"{value / seconds['prism']:5.2f} x {key}" for key, value in seconds.items() if key != "prism"
            )
            print(f"{name:44} {rates}  {ratios}", flush=True)
    if options.json is not None:
        options.json.write_text(json.dumps({"layers": found}, indent=1) + "\n", encoding="utf-8")
    return 0


def measured(what: str, dtype: str, rows: int, n: int, rounds: int, compiled: bool) -> tuple[dict[str, float], int]:
    """Return the median seconds of a call, by name, and the bytes that it must move."""
    import cupy
    import measure
    import torch

    kind = getattr(torch, dtype)
    turns = min(4, measure.rows_of(rows * n * kind.itemsize))
    x = [torch.randn(rows, n, device="cuda").to(kind) for _ in range(turns)]
    ours, theirs, moved = OF[what](torch, x, rows, n)
    source = torch.empty(turns, moved // 2, dtype=torch.uint8, device="cuda").random_()
    target = torch.empty_like(source)
    given, copied = cupy.from_dlpack(source), cupy.from_dlpack(target)

    def copy(i: int) -> None:
        to, of = copied[i % turns].data, given[i % turns].data
        to.copy_from_device_async(of, moved // 2, cupy.cuda.get_current_stream())

    plain = {"copy": copy}
    if theirs is not None:
        one = theirs
        plain["torch"] = lambda i: one(i % turns)
        if compiled:
            made = torch.compile(theirs, dynamic=False)
            plain["compiled"] = lambda i: made(i % turns)
    found = measure.compare({"prism": lambda i: ours(i % turns)}, plain, 8, rounds)
    torch.cuda.empty_cache()
    cupy.get_default_memory_pool().free_all_blocks()
    return found, moved


def gelu(torch: Any, x: list[Any], rows: int, n: int) -> tuple[Call, Call, int]:
    y = [torch.empty_like(v) for v in x]
    return lambda i: lib.gelu(x[i], out=y[i]), lambda i: torch.nn.functional.gelu(x[i]), 2 * x[0].nbytes


def gelu_backward(torch: Any, x: list[Any], rows: int, n: int) -> tuple[Call, Call, int]:
    y, dy = ([torch.randn_like(v) for v in x] for _ in range(2))
    return (
        lambda i: lib.gelu_backward(dy[i], x[i], out=y[i]), lambda i: torch.ops.aten.gelu_backward(dy[i], x[i]), 3 * x[0].nbytes,
    )  # fmt: skip


def swiglu(torch: Any, x: list[Any], rows: int, n: int) -> tuple[Call, Call, int]:
    up, y = ([torch.randn_like(v) for v in x] for _ in range(2))
    silu = torch.nn.functional.silu
    return lambda i: lib.swiglu(x[i], up[i], out=y[i]), lambda i: silu(x[i]) * up[i], 3 * x[0].nbytes


def swiglu_halves(torch: Any, x: list[Any], rows: int, n: int) -> tuple[Call, Call, int]:
    y, silu = [torch.empty_like(v[:, : n // 2]) for v in x], torch.nn.functional.silu
    return (
        lambda i: lib.swiglu(x[i], out=y[i]), lambda i: silu(x[i][:, : n // 2]) * x[i][:, n // 2 :], 3 * x[0].nbytes // 2,
    )  # fmt: skip


def swiglu_backward(torch: Any, x: list[Any], rows: int, n: int) -> tuple[Call, None, int]:
    y, dy = [torch.empty_like(v) for v in x], [torch.randn_like(v[:, : n // 2]) for v in x]
    return lambda i: lib.swiglu_backward(dy[i], x[i], out=y[i]), None, 5 * x[0].nbytes // 2


def cross_entropy(torch: Any, x: list[Any], rows: int, n: int) -> tuple[Call, Call, int]:
    labels = torch.randint(0, n, (rows,), device="cuda")
    theirs = torch.nn.functional.cross_entropy
    return lambda i: lib.cross_entropy(x[i], labels), lambda i: theirs(x[i], labels, reduction="none"), x[0].nbytes


def cross_entropy_backward(torch: Any, x: list[Any], rows: int, n: int) -> tuple[Call, None, int]:
    labels, d = torch.randint(0, n, (rows,), device="cuda"), torch.full((1,), 1 / rows, device="cuda")
    y, logs = [torch.empty_like(v) for v in x], [lib.cross_entropy(v, labels)[1] for v in x]
    return lambda i: lib.cross_entropy_backward(d, x[i], labels, logs[i], out=y[i]), None, 2 * x[0].nbytes


def rope(torch: Any, x: list[Any], rows: int, n: int) -> tuple[Call, Call, int]:
    angles = torch.rand(2048, 64, device="cuda")
    cos, sin = angles.cos(), angles.sin()
    heads, y = (
        [v.view(-1, 2048, n // 128, 128) for v in x],
        [torch.empty_like(v).view(-1, 2048, n // 128, 128) for v in x],
    )
    wide = [torch.cat([t, t], -1)[:, None].to(x[0].dtype) for t in (cos, sin)]

    def theirs(i: int) -> Any:
        a, b = heads[i].chunk(2, -1)
        return heads[i] * wide[0] + torch.cat((-b, a), -1) * wide[1]

    return lambda i: lib.rope(heads[i], cos, sin, axis=1, out=y[i]), theirs, 2 * x[0].nbytes


def quantize_by(group: str | int) -> Callable[..., tuple[Call, Call, int]]:
    def of(torch: Any, x: list[Any], rows: int, n: int) -> tuple[Call, Call, int]:
        def theirs(i: int) -> Any:
            cut = x[i].view((1, -1) if group == "tensor" else (rows, -1, n if group == "row" else group)).float()
            scale = cut.abs().amax(-1, keepdim=True) / 448
            return (cut / scale).to(torch.float8_e4m3fn), scale

        size = x[0].numel()
        return lambda i: lib.quantize(x[i], group=group), theirs, x[0].nbytes * (2 if group == "tensor" else 1) + size

    return of


OF: dict[str, Callable[..., tuple[Call, Call | None, int]]] = {
    "gelu": gelu, "gelu_backward": gelu_backward, "swiglu": swiglu, "swiglu of halves": swiglu_halves,
    "swiglu_backward": swiglu_backward, "cross_entropy": cross_entropy, "cross_entropy_backward": cross_entropy_backward,
    "rope": rope,
    "quantize rows": quantize_by("row"), "quantize groups of 128": quantize_by(128), "quantize a tensor": quantize_by("tensor"),
}  # fmt: skip
"""By name: the call that is measured, torch's where there is one, and the bytes that must be moved."""

if __name__ == "__main__":
    sys.exit(main())
