"""Softmax, norms and their gradients beside torch's, eager and compiled, and a copy: TB/s of what must be read and written.

    python asv_bench/normalise.py [--calls softmax,rms_norm] [--dtypes bfloat16,float32] [--widths 256,4096] [--held-out]
                                  [--rounds 5] [--compiled] [--json FILE]

Needs a GPU and torch. Matrices of 256 MiB of random numbers, two in turn, so that nothing is left in the L2. Calls are timed as
CUDA graphs of launches, so that the host's time a call does not count; rounds alternate, medians are told. Before that each
result is compared with float64, and the root of the mean square of its errors must not be above torch's, but for 5 %.
`--held-out`: widths that nothing was chosen by. `--compiled`: beside torch.compile, which takes some seconds a row.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from benchmarks.normalise import HELD_OUT, WIDTHS
from torch_graphs import Call, medians

import prism.lib as lib

ARRAYS = {  # that are read or written, of the matrix's size
    "softmax": 2, "log_softmax": 2, "rms_norm": 2, "layer_norm": 2, "rms_norm_residual": 4, "softmax_backward": 3,
    "rms_norm_backward": 3, "layer_norm_backward": 3,
}  # fmt: skip
BYTES = 256 << 20
EPS = 1e-5
F = torch.nn.functional


def matrices(dtype: Any, n: int, rows: int) -> dict[str, Any]:
    """Return two of each matrix, and the vectors."""

    def two() -> list[Any]:
        return [torch.randn(rows, n, device="cuda", dtype=dtype) for _ in range(2)]

    w, b = torch.randn(2, n, device="cuda", dtype=dtype)
    return {"x": two(), "g": two(), "y": two(), "w": w, "b": b, "n": n}


def ours(name: str, m: Mapping[str, Any]) -> Call:
    """Return a call of the library's on the i-th matrices."""
    x, g, y, w, b = (m[key] for key in ("x", "g", "y", "w", "b"))
    calls: dict[str, Call] = {
        "softmax": lambda i: lib.softmax(x[i], out=y[i]),
        "log_softmax": lambda i: lib.log_softmax(x[i], out=y[i]),
        "rms_norm": lambda i: lib.rms_norm(x[i], w, eps=EPS, out=y[i]),
        "layer_norm": lambda i: lib.layer_norm(x[i], w, b, eps=EPS, out=y[i]),
        "rms_norm_residual": lambda i: lib.rms_norm(x[i], w, eps=EPS, residual=g[i]),
        "softmax_backward": lambda i: lib.softmax_backward(g[i], m["s"][i], out=y[i]),
        "rms_norm_backward": lambda i: lib.rms_norm_backward(g[i], x[i], w, eps=EPS),
        "layer_norm_backward": lambda i: lib.layer_norm_backward(g[i], x[i], w, bias=True, eps=EPS),
    }
    return calls[name]


def by_torch(name: str, x: Any, g: Any, s: Any, w: Any, b: Any) -> Any:
    """Return what torch makes of a matrix: the function that is compiled, too."""
    shape = (x.shape[-1],)
    if name in ("softmax", "log_softmax"):
        return getattr(torch, name)(x, -1)
    if name == "rms_norm":
        return F.rms_norm(x, shape, w, EPS)
    if name == "layer_norm":
        return F.layer_norm(x, shape, w, b, EPS)
    if name == "rms_norm_residual":
        total = x + g
        return F.rms_norm(total, shape, w, EPS), total
    if name == "softmax_backward":
        return torch._softmax_backward_data(g, s, -1, x.dtype)
    if name == "layer_norm_backward":
        _, mean, factor = torch.native_layer_norm(x, shape, w, b, EPS)
        return torch.ops.aten.native_layer_norm_backward(g, x, shape, mean, factor, w, b, [True, True, True])
    wide, g, w = (one if one.dtype == torch.float64 else one.float() for one in (x, g, w))
    factor = torch.rsqrt((wide * wide).mean(-1, keepdim=True) + EPS)
    normal, weighed = wide * factor, g * w
    dx = factor * (weighed - normal * (weighed * normal).mean(-1, keepdim=True))
    return dx.to(x.dtype), (g * normal).sum(0).to(x.dtype)


def errors(name: str, m: Mapping[str, Any], call: Call) -> tuple[float, float]:
    """Return the roots of the mean squares of errors, ours and torch's, of some rows.

    Raises:
        AssertionError: something was not written, or gradients of weights are wrong.
    """
    m["y"][0].fill_(float("nan"))
    found = call(0)
    found = found if isinstance(found, tuple) else (found,)
    assert all(bool(torch.isfinite(one).all()) for one in found), f"{name}: not all is finite"
    some = slice(0, 16)
    given = [m[key][0][some] for key in ("x", "g", "s")]
    wide = by_torch(name, *(one.double() for one in given), m["w"].double(), m["b"].double())
    theirs = by_torch(name, *given, m["w"], m["b"])
    pairs = [(one[0] if isinstance(one, tuple | list) else one) for one in (wide, theirs)]
    worst = tuple(float((one.double() - pairs[0]).square().mean().sqrt()) for one in (found[0][some], pairs[1]))
    for one, other in zip(
        found[1:], by_torch(name, *(m[key][0] for key in ("x", "g", "s")), m["w"], m["b"])[1:], strict=False
    ):
        if name.endswith("backward"):  # torch adds up in another order: of so many terms that cancel
            assert torch.allclose(one.float(), other.float(), rtol=2e-2, atol=0.05 * len(m["x"][0]) ** 0.5), name
    return worst[0], worst[1]


def row(name: str, dtype: str, m: dict[str, Any], rounds: int, compiled: bool) -> dict[str, Any]:
    """Measure one call, print it, and return it."""
    x, y, n = m["x"], m["y"], m["n"]
    call = ours(name, m)
    own, other = errors(name, m, call)
    assert own <= 1.05 * other, f"off by {own:.3e}, torch by {other:.3e}"
    fast = torch.compile(by_torch, dynamic=False) if compiled else by_torch
    of = {"w": m["w"], "b": m["b"]}
    calls = {
        "prism": call,
        "torch": lambda i: by_torch(name, x[i], m["g"][i], m["s"][i], **of),
        "copy": lambda i: y[i].copy_(x[i]),
    }
    if compiled:
        calls["compiled"] = lambda i: fast(name, x[i], m["g"][i], m["s"][i], **of)
    bytes_ = x[0].nbytes
    found = medians(calls, rounds)
    speeds = {key: (2 if key == "copy" else ARRAYS[name]) * bytes_ / seconds / 1e12 for key, seconds in found.items()}
    ratios = "".join(f"  x {key} {speeds['prism'] / speeds[key]:.2f}" for key in ("torch", "compiled") if key in speeds)
    texts = "  ".join(f"{key} {value:.2f}" for key, value in speeds.items())
    print(
        f"{name:20} {dtype:9} {n:7}: {texts}  share {speeds['prism'] / speeds['copy']:.3f}{ratios}  errors {own:.2e} {other:.2e}",
        flush=True,
    )
    return {"call": name, "dtype": dtype, "n": n, **speeds, "errors": [own, other]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", default=",".join(ARRAYS))
    parser.add_argument("--dtypes", default="bfloat16,float32")
    parser.add_argument("--widths", default="")
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--compiled", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    widths = [int(n) for n in asked.widths.split(",")] if asked.widths else [*(HELD_OUT if asked.held_out else WIDTHS)]
    found = []
    torch.manual_seed(0)
    torch._dynamo.config.cache_size_limit = 512
    for dtype in asked.dtypes.split(","):
        for n in widths:
            kind = getattr(torch, dtype)
            m = matrices(kind, n, BYTES // (n * kind.itemsize))
            m["s"] = [torch.softmax(x, -1) for x in m["x"]]
            for name in asked.calls.split(","):
                try:
                    found.append(row(name, dtype, m, asked.rounds, asked.compiled))
                except AssertionError as wrong:
                    print(f"{name:20} {dtype:9} {n:7}: WRONG {wrong}", flush=True)
            del m
            torch.cuda.empty_cache()
    if asked.json is not None:
        asked.json.write_text(json.dumps({"normalise": found}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
