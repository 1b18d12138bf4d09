"""Activations, rotary positions, cross-entropy and quantisation beside torch's, eager and compiled, and a copy.

    python asv_bench/layers.py [--only swiglu,rope] [--rounds 5] [--held-out] [--compiled] [--json FILE]

Needs a GPU and torch. Random numbers, two sets of arrays in turn, larger than the L2. Calls are timed as CUDA graphs of launches,
so that the host's time a call does not count; rounds alternate, medians are told. What a graph is to write is poisoned first, and
must be written as a call writes it, so that none is timed that launches nothing. "copy" is a device copy of as many bytes as the
call must read and write. Results are compared with torch's here, with float64 in tests/gpu/test_layers.py.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from benchmarks.layers import CALLS, HELD_OUT
from torch_graphs import Call, medians, tensors_of

from prism import lib

Made = tuple[Call, Call, int]
"""The library's call on the i-th arrays, torch's, and the bytes that must be moved."""
F = torch.nn.functional


def like(x: list[Any], columns: int | None = None) -> list[Any]:
    """Return as many arrays of random numbers, of as many rows."""
    return [torch.randn(len(one), columns or one.shape[1], device="cuda").to(one.dtype) for one in x]


def gelu(x: list[Any], n: int) -> Made:
    y = like(x)
    return lambda i: lib.gelu(x[i], out=y[i]), lambda i: F.gelu(x[i]), 2 * x[0].nbytes


def gelu_backward(x: list[Any], n: int) -> Made:
    y, dy = like(x), like(x)
    return (
        lambda i: lib.gelu_backward(dy[i], x[i], out=y[i]),
        lambda i: torch.ops.aten.gelu_backward(dy[i], x[i]),
        3 * x[0].nbytes,
    )


def swiglu(x: list[Any], n: int) -> Made:
    up, y = like(x), like(x)
    return lambda i: lib.swiglu(x[i], up[i], out=y[i]), lambda i: F.silu(x[i]) * up[i], 3 * x[0].nbytes


def swiglu_of_halves(x: list[Any], n: int) -> Made:
    y, half = like(x, n // 2), n // 2
    return (
        lambda i: lib.swiglu(x[i], out=y[i]),
        lambda i: F.silu(x[i][:, :half]) * x[i][:, half:],
        3 * x[0].nbytes // 2,
    )


def swiglu_backward(x: list[Any], n: int) -> Made:
    y, dy, half = like(x), like(x, n // 2), n // 2

    def theirs(i: int) -> Any:
        gate, up, given = x[i][:, :half].float(), x[i][:, half:].float(), dy[i].float()
        part = torch.sigmoid(gate)
        return torch.cat([given * up * part * (1 + gate * (1 - part)), given * gate * part], -1).to(x[i].dtype)

    return lambda i: lib.swiglu_backward(dy[i], x[i], out=y[i]), theirs, 5 * x[0].nbytes // 2


def cross_entropy(x: list[Any], n: int) -> Made:
    labels = torch.randint(0, n, (len(x[0]),), device="cuda")
    return (
        lambda i: lib.cross_entropy(x[i], labels),
        lambda i: F.cross_entropy(x[i], labels, reduction="none"),
        x[0].nbytes,
    )


def cross_entropy_backward(x: list[Any], n: int) -> Made:
    rows = len(x[0])
    labels, d = torch.randint(0, n, (rows,), device="cuda"), torch.full((1,), 1 / rows, device="cuda")
    y, logs = like(x), [lib.cross_entropy(one, labels)[1] for one in x]

    def theirs(i: int) -> Any:
        taken = torch.exp(x[i].float() - logs[i][:, None])
        return (taken.scatter_add(1, labels[:, None], torch.full_like(taken[:, :1], -1.0)) / rows).to(x[i].dtype)

    return lambda i: lib.cross_entropy_backward(d, x[i], labels, logs[i], out=y[i]), theirs, 2 * x[0].nbytes


def rope(x: list[Any], n: int) -> Made:
    angles = torch.rand(2048, 64, device="cuda")
    cos, sin = angles.cos(), angles.sin()
    heads, y = ([one.view(-1, 2048, n // 128, 128) for one in of] for of in (x, like(x)))
    wide = [torch.cat([t, t], -1)[:, None].to(x[0].dtype) for t in (cos, sin)]

    def theirs(i: int) -> Any:
        a, b = heads[i].chunk(2, -1)
        return heads[i] * wide[0] + torch.cat((-b, a), -1) * wide[1]

    return lambda i: lib.rope(heads[i], cos, sin, axis=1, out=y[i]), theirs, 2 * x[0].nbytes


def quantize_by(group: str | int) -> Callable[[list[Any], int], Made]:
    def of(x: list[Any], n: int) -> Made:
        shape = (1, -1) if group == "tensor" else (-1, n if group == "row" else int(group))

        def theirs(i: int) -> Any:
            cut = x[i].view(shape).float()
            top = cut.abs().amax(-1, keepdim=True)
            return (cut * (448 / top)).to(torch.float8_e4m3fn).view(x[i].shape), (top / 448).view(-1)

        reads = 2 if group == "tensor" else 1
        return lambda i: lib.quantize(x[i], group=group), theirs, reads * x[0].nbytes + x[0].numel()

    return of


OF: dict[str, Callable[[list[Any], int], Made]] = {
    "gelu": gelu, "gelu_backward": gelu_backward, "swiglu": swiglu, "swiglu of halves": swiglu_of_halves,
    "swiglu_backward": swiglu_backward, "cross_entropy": cross_entropy, "cross_entropy_backward": cross_entropy_backward,
    "rope": rope, "quantize rows": quantize_by("row"), "quantize groups of 128": quantize_by(128),
    "quantize a tensor": quantize_by("tensor"),
}  # fmt: skip


def require_near(name: str, found: Any, theirs: Any) -> None:
    """Compare the first results of both.

    Raises:
        AssertionError: they are apart by more than some roundings of what torch has between, too.
    """
    one, other = tensors_of(found)[0], tensors_of(theirs)[0]
    units = max(16 * torch.finfo(one.dtype).eps, 2e-5, 4 * torch.finfo(other.dtype).eps)
    apart = (one.float().view(-1) - other.float().view(-1)).abs()
    assert bool(
        (apart <= units * other.float().abs().view(-1).clamp(min=float(other.float().abs().max()) / 8)).all()
    ), name


def row(name: str, rounds: int, compiled: bool) -> dict[str, Any]:
    """Measure one call, print it, and return it."""
    what, dtype, rows, n = (CALLS | HELD_OUT)[name]
    x = [torch.randn(rows, n, device="cuda").to(getattr(torch, dtype)) for _ in range(2)]
    ours, theirs, moved = OF[what](x, n)
    require_near(name, ours(0), theirs(0))
    source = [torch.empty(moved // 2, dtype=torch.uint8, device="cuda").random_() for _ in range(2)]
    target = torch.empty_like(source[0])
    calls: dict[str, Call] = {"prism": ours, "torch": theirs, "copy": lambda i: target.copy_(source[i])}
    if compiled:
        calls["compiled"] = torch.compile(theirs, dynamic=False)
    found = medians(calls, rounds)
    speeds = {key: moved / seconds / 1e12 for key, seconds in found.items()}
    texts = "  ".join(f"{key} {value:.2f}" for key, value in speeds.items())
    ratios = "".join(f"  x {key} {speeds['prism'] / speeds[key]:.2f}" for key in ("torch", "compiled") if key in speeds)
    print(f"{name:46} {texts}  share {speeds['prism'] / speeds['copy']:.3f}{ratios}", flush=True)
    return {"call": name, **speeds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="calls whose name has one of these, by commas")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--held-out", action="store_true", help="lengths that nothing was chosen by")
    parser.add_argument("--compiled", action="store_true", help="beside torch.compile, which takes some seconds a call")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    found = []
    torch.manual_seed(0)
    torch._dynamo.config.cache_size_limit = 512
    for name in HELD_OUT if asked.held_out else CALLS:
        if not any(part in name for part in asked.only.split(",")):
            continue
        try:
            found.append(row(name, asked.rounds, asked.compiled))
        except AssertionError as wrong:
            print(f"{name:46} WRONG {wrong}", flush=True)
        torch.cuda.empty_cache()
    if asked.json is not None:
        asked.json.write_text(json.dumps({"layers": found}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
