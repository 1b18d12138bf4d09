"""Products with a function of the result: prism.lib.hgemm beside torch, eager and compiled, and cuBLASLt's own bias and GELU.

    python asv_bench/epilogues.py [--shapes 8192x14336x4096,...] [--rounds 7] [--json FILE]

Needs a Hopper GPU and torch; torch.compile needs triton, and is left out where it fails. One process, alternating rounds,
medians, random normal data, buffers rotated past the L2, weights n x k as torch.nn.Linear's. Every result is compared with
float64 in the same run (sampled rows), and the product alone is measured in the same rounds.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional as F

import prism
from prism.lib.epilogues import gelu, gelu_fast, gelu_tanh, reduce, relu_squared, silu, swiglu

SHAPES = "8192x14336x4096,8192x4096x14336,4096x4096x4096,2048x8192x4096,512x14336x4096"
L2 = 60 << 20
FASTEST = 7e14  # about, for how many launches a turn should have
SECONDS = 0.02  # a turn


class Operands:
    """What a product and its epilogues read, several times; `out`: where Prism writes."""

    def __init__(self, m: int, n: int, k: int) -> None:
        def normal(*shape: int, scale: float = 1.0) -> Any:
            return (scale * torch.randn(*shape, device="cuda")).bfloat16()

        size = 2 * (m * n * 2 + m * k + n * k)
        self.many = max(2, min(1 + 2 * L2 // size, 8))
        scale = k**-0.5
        self.x = [normal(m, k) for _ in range(self.many)]
        self.w = [normal(n, k, scale=scale) for _ in range(self.many)]
        self.bias, self.before = normal(n), [normal(m, n) for _ in range(self.many)]
        self.out = [torch.empty(m, n, device="cuda", dtype=torch.bfloat16) for _ in range(self.many)]
        self.half = [out[:, : n // 2].contiguous() for out in self.out]

    def at(self, i: int) -> tuple[Any, ...]:
        """Return x, w, bias, what is added, and room for results of n and of n / 2 columns."""
        k = i % self.many
        return self.x[k], self.w[k], self.bias, self.before[k], self.out[k], self.half[k]


def halves(w: Any) -> tuple[Any, Any]:
    """Return the operands of two products whose weights are one array."""
    rows = w.shape[0] // 2
    return w[:rows].T, w[rows:].T


def bare(x: Any, w: Any, bias: Any, before: Any, out: Any, half: Any) -> Any:
    """The product alone."""
    return prism.lib.hgemm(x, w.T, out=out)


def with_(after: Any, *names: str) -> Callable[..., Any]:
    """Return a call of hgemm with an epilogue, and extras by name."""

    def run(x: Any, w: Any, bias: Any, before: Any, out: Any, half: Any) -> Any:
        given = {"bias": bias, "before": before}
        return prism.lib.hgemm(x, w.T, epilogue=after, extra=tuple(given[name] for name in names), out=out)

    return run


def gated(x: Any, w: Any, bias: Any, before: Any, out: Any, half: Any) -> Any:
    """SwiGLU."""
    return prism.lib.hgemm(x, halves(w), epilogue=swiglu, out=half)


def gated_with_squares(x: Any, w: Any, bias: Any, before: Any, out: Any, half: Any) -> Any:
    """SwiGLU with a residual, and the sum of each row's squares."""
    added = before[:, : half.shape[1]]
    squares = reduce(lambda g, u, r: (swiglu(g, u) + r) * (swiglu(g, u) + r))
    return prism.lib.hgemm(x, halves(w), epilogue=(lambda g, u, r: swiglu(g, u) + r, squares), extra=added)


def both(x: Any, w: Any, bias: Any, before: Any, out: Any, half: Any) -> Any:
    """GELU, and what it is of."""
    return prism.lib.hgemm(x, w.T, epilogue=(lambda x, b: gelu(x + b), lambda x, b: x + b), extra=bias)


def torch_both(x: Any, w: Any, bias: Any, before: Any) -> Any:
    """The same, as torch's."""
    y = F.linear(x, w, bias)
    return F.gelu(y), y


def torch_squares(x: Any, w: Any, bias: Any, before: Any) -> Any:
    """SwiGLU with a residual, and the sum of each row's squares, as torch's."""
    y = torch_swiglu(x, w, bias, before) + before[:, : w.shape[0] // 2]
    wide = y if y.dtype == torch.float64 else y.float()
    return y, wide.square().sum(1)


def tanh(x: Any) -> Any:
    """GELU by tanh, as torch's."""
    return F.gelu(x, approximate="tanh")


def torch_swiglu(x: Any, w: Any, bias: Any, before: Any) -> Any:
    """SwiGLU, as torch's."""
    gate, up = F.linear(x, w).chunk(2, dim=-1)
    return F.silu(gate) * up


CASES: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "bias": (with_(lambda x, b: x + b, "bias"), lambda x, w, b, r: F.linear(x, w, b)),
    "bias, gelu": (with_(lambda x, b: gelu(x + b), "bias"), lambda x, w, b, r: F.gelu(F.linear(x, w, b))),
    "bias, gelu tanh": (with_(lambda x, b: gelu_tanh(x + b), "bias"), lambda x, w, b, r: tanh(F.linear(x, w, b))),
    "bias, gelu fast": (with_(lambda x, b: gelu_fast(x + b), "bias"), lambda x, w, b, r: tanh(F.linear(x, w, b))),
    "bias, silu": (with_(lambda x, b: silu(x + b), "bias"), lambda x, w, b, r: F.silu(F.linear(x, w, b))),
    "relu squared": (with_(relu_squared), lambda x, w, b, r: F.relu(F.linear(x, w)).square()),
    "residual": (with_(lambda x, r: x + r, "before"), lambda x, w, b, r: F.linear(x, w) + r),
    "bias, gelu, residual": (
        with_(lambda x, b, r: gelu(x + b) + r, "bias", "before"), lambda x, w, b, r: F.gelu(F.linear(x, w, b)) + r,
    ),
    "swiglu": (gated, torch_swiglu),
    "swiglu, residual, row squares": (gated_with_squares, torch_squares),
    "gelu, and before it": (both, torch_both),
}  # fmt: skip


def cublaslt(x: Any, w: Any, bias: Any, before: Any) -> Any:
    """cuBLASLt's epilogue of a bias and GELU by tanh."""
    return torch._addmm_activation(bias, x, w.T, use_gelu=True)


ROUGH = {"bias, gelu fast": 2.0**-12}
"""How much of what a function is of it may be off by."""


def fault(theirs: Callable[..., Any], given: tuple[Any, ...], found: Any, rough: float = 0.0) -> str:
    """Return how results differ from float64's by more than one rounding and float32's sums allow, or nothing; 32 rows.

    `rough`: of the largest sum, so much is allowed besides.
    """
    x, w, bias, before = given[:4]
    rows = torch.randint(0, x.shape[0], (32,), device="cuda")
    wanted = theirs(x[rows].double(), w.double(), bias.double(), before[rows].double())
    size = (x[rows].double().abs() @ w.double().abs().T).max()
    error = (4 * x.shape[1] ** 0.5 * 2.0**-23 + rough) * size
    bad = 0
    for one, exact in zip(*((each if isinstance(each, tuple) else (each,)) for each in (found, wanted)), strict=True):
        # of what is combined each number has its error, times twice itself
        relative, more = (
            (2.0**-8, error) if one.dim() == 2 else (2.0**-16, error * exact.sqrt() * 2 * w.shape[0] ** 0.5)
        )
        bad += int((~((one[rows].double() - exact).abs() <= relative * exact.abs() + more)).sum())
    return f"{bad} sampled elements are wrong" if bad else ""


def seconds(calls: dict[str, Callable[[int], Any]], launches: int, rounds: int) -> dict[str, float]:
    """Return the median seconds of a call, by name; turns alternate, and go back and forth."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(rounds + 1):
        for name in list(calls)[:: 1 if number % 2 else -1]:
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            calls[name](0)
            begin.record()
            for i in range(launches):
                calls[name](i + 1)
            end.record()
            end.synchronize()
            if number:
                times[name].append(begin.elapsed_time(end) / launches / 1e3)
    return {name: statistics.median(found) if found else math.nan for name, found in times.items()}


def measure(shape: str, rounds: int, compiled: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the times of all epilogues for a shape, and print them."""
    m, n, k = map(int, shape.split("x"))
    operands, flops = Operands(m, n, k), 2.0 * m * n * k
    calls: dict[str, Callable[[int], Any]] = {"bare": lambda i: bare(*operands.at(i))}
    calls["cublas"] = lambda i: torch.mm(operands.at(i)[0], operands.at(i)[1].T, out=operands.at(i)[4])
    calls["cublaslt bias, gelu tanh"] = lambda i: cublaslt(*operands.at(i)[:4])
    wrong: dict[str, str] = {}
    for name, (mine, theirs) in CASES.items():
        calls[name] = lambda i, mine=mine: mine(*operands.at(i))
        calls[f"eager {name}"] = lambda i, theirs=theirs: theirs(*operands.at(i)[:4])
        wrong[name] = fault(theirs, operands.at(0), calls[name](0), ROUGH.get(name, 0.0))
        try:
            if name in compiled:
                compiled[name](*operands.at(0)[:4])
                calls[f"compile {name}"] = lambda i, name=name: compiled[name](*operands.at(i)[:4])
        except Exception as error:  # triton may be missing, or fail: said once, and then left out
            print(f"torch.compile, {name}: {type(error).__name__}: {str(error).splitlines()[0][:120]}")
            del compiled[name]
    for call in calls.values():
        call(0)
    found = seconds(calls, max(4, min(200, math.ceil(SECONDS * FASTEST / flops))), rounds)
    rate = {name: flops / value / 1e12 for name, value in found.items()}
    print(
        f"{shape}: bare {rate['bare']:.0f}, cuBLAS {rate['cublas']:.0f}, Lt {rate['cublaslt bias, gelu tanh']:.0f} TFLOP/s"
    )
    rows = []
    for name in CASES:
        eager, other = found[f"eager {name}"], found.get(f"compile {name}", math.nan)
        row = {
            "shape": shape,
            "epilogue": name,
            "prism": found[name],
            "eager": eager,
            "compile": other,
            "bare": found["bare"],
        }
        rows.append(
            {**row, "cublas": found["cublas"], "cublaslt": found["cublaslt bias, gelu tanh"], "fault": wrong[name]}
        )
        added, mine = found[name] / found["bare"] - 1, found[name]
        text = f"  {name:30} {mine * 1e6:9.1f} us {rate[name]:6.0f} TFLOP/s, {100 * added:+5.1f} % over bare"
        print(f"{text}, {eager / mine:5.2f} x eager, {other / mine:5.2f} x compile  {wrong[name]}", flush=True)
    return rows


def main() -> int:
    """Measure, print tables, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", default=SHAPES)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}; above 1: Prism is faster")
    rows = []
    for shape in options.shapes.split(","):
        compiled = (
            {}
            if options.no_compile
            else {name: torch.compile(theirs, dynamic=False) for name, (_, theirs) in CASES.items()}
        )
        rows += measure(shape, options.rounds, compiled)
        torch.cuda.empty_cache()
    if options.json is not None:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 1 if any(row["fault"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
