"""Products with a function of what is multiplied: prism.lib.hgemm beside torch, eager and compiled, and beside the product alone.

    python asv_bench/prologues.py [--shapes 8192x14336x4096,...] [--cases cast,...] [--rounds 5] [--tune] [--json FILE]

Needs a Hopper GPU and torch; torch.compile needs triton, and is left out where it fails. One process, alternating rounds,
medians, CUDA graphs, random normal data, buffers rotated past the L2, weights n x k as torch.nn.Linear's, in bfloat16. Every
result is compared with float64 of rounded operands in the same run (sampled rows). "ready": Prism's product of an operand that
lies ready. With `--tune` times of all tiles that gather rows are printed.
"""

from __future__ import annotations

import argparse
import functools
import json
import math
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch.nn import functional as F

import prism
from prism.host.call import call as host_call
from prism.kernels.hgemm.prologue_configurations import TILES
from prism.lib.algorithms.hgemm.api import decide_hgemm
from prism.lib.thread.activations import silu

SHAPES = "8192x14336x4096,4096x4096x4096,512x8192x8192,64x8192x8192"
L2 = 60 << 20
FASTEST = 7e14  # about, for how many launches a turn should have
SECONDS = 0.01  # a turn


class Case(NamedTuple):
    """A prologue: of which dtype `a` is, which extras there are, the function, and the same as torch's, which makes bfloat16."""

    dtype: Any
    extras: str
    function: Any
    theirs: Callable[..., Any]


CASES = {
    "cast": Case(torch.float32, "", lambda x: x, lambda a: a.bfloat16()),
    "scale": Case(
        torch.bfloat16, "row,column", lambda x, r, c: x * r * c, lambda a, r, c: (a.float() * r * c.float()).bfloat16()
    ),
    "int8": Case(torch.int8, "row", lambda x, r: x * r, lambda a, r: (a.float() * r).bfloat16()),
    "swiglu": Case(
        torch.bfloat16, "element", lambda x, u: silu(x) * u, lambda a, u: (F.silu(a.float()) * u.float()).bfloat16()
    ),
    "rows": Case(torch.bfloat16, "rows", None, lambda a, rows: a[rows.long()]),
    "rows-cast": Case(torch.float32, "rows", lambda x: x, lambda a, rows: a[rows.long()].bfloat16()),
}


class Operands:
    """What a product and its prologue read, several times; `out`: where Prism writes."""

    def __init__(self, case: Case, m: int, n: int, k: int) -> None:
        self.case = case
        size = m * k * 4 + n * k * 2
        self.many = max(2, min(1 + 2 * L2 // size, 8))
        self.sets = [self._set(m, n, k) for _ in range(self.many)]
        self.out = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)

    def _set(self, m: int, n: int, k: int) -> dict[str, Any]:
        def normal(*shape: int, scale: float = 1.0) -> Any:
            return scale * torch.randn(*shape, device="cuda")

        many = 2 * m if "rows" in self.case.extras else m
        a = normal(many, k)
        a = (20 * a).clamp(-127, 127).round().to(torch.int8) if self.case.dtype is torch.int8 else a.to(self.case.dtype)
        made = {
            "row": lambda: normal(m, 1), "column": lambda: normal(k).bfloat16(), "element": lambda: normal(m, k).bfloat16(),
            "rows": lambda: torch.randint(0, many, (m,), device="cuda", dtype=torch.int32),
        }  # fmt: skip
        extras = [made[name]() for name in self.case.extras.split(",") if name]
        return {"a": a, "w": normal(n, k, scale=k**-0.5).bfloat16(), "extras": extras}

    def at(self, i: int) -> dict[str, Any]:
        """Return a set."""
        return self.sets[i % self.many]


def library(operands: Operands, i: int) -> Any:
    """The product with its prologue, by Prism."""
    one, case = operands.at(i), operands.case
    rows = one["extras"][0] if case.extras == "rows" else None
    extra = () if rows is not None else tuple(one["extras"])
    given = {"prologue": case.function, "prologue_extra": extra, "rows": rows}
    return prism.lib.hgemm(one["a"], one["w"].T, out=operands.out, **given)


def gathered(operands: Operands, i: int, cut: Any) -> Any:
    """The product that gathers rows, of some tiles."""
    one = operands.at(i)
    arrays = {"a": one["a"], "b": one["w"].T, "rows": one["extras"][0]}
    decide = functools.partial(decide_hgemm, cut=cut)
    return host_call("hgemm", ("cut", cut), arrays, decide, operands.out, captured=True)


def fault(operands: Operands, found: Any) -> str:
    """Return how a result differs from float64's by more than roundings and float32's sums allow, or nothing; 32 rows.

    A prologue computes in float32 by fast exponentials: one operand in many may be rounded the other way.
    """
    one = operands.at(0)
    rows = torch.randint(0, found.shape[0], (32,), device="cuda")
    left = operands.case.theirs(one["a"], *one["extras"])[rows].double()
    exact, size = left @ one["w"].double().T, left.abs() @ one["w"].double().abs().T
    off = (found[rows].double() - exact).abs() - 2.0**-8 * exact.abs() - 2.0**-14 * size
    return f"{int((~(off <= 0)).sum())} sampled elements are wrong" if not bool((off <= 0).all()) else ""


def graph_of(call: Callable[[int], Any], launches: int) -> Any:
    """Return a CUDA graph of so many calls."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for i in range(8):  # each set once at least
            call(i)
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for i in range(launches):
            call(i)
    return graph


def seconds(graphs: dict[str, Any], launches: int, rounds: int) -> dict[str, float]:
    """Return the median seconds of a call, by name; turns alternate, and go back and forth."""
    times: dict[str, list[float]] = {name: [] for name in graphs}
    for number in range(rounds):
        for name in list(graphs)[:: 1 if number % 2 else -1]:
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            graphs[name].replay()
            begin.record()
            graphs[name].replay()
            end.record()
            end.synchronize()
            times[name].append(begin.elapsed_time(end) / launches / 1e3)
    return {name: statistics.median(found) for name, found in times.items()}


def measure(shape: str, name: str, rounds: int, compiled: bool, tune: bool) -> dict[str, Any]:
    """Return the times of a prologue for a shape, and print them."""
    m, n, k = map(int, shape.split("x"))
    case, flops = CASES[name], 2.0 * m * n * k
    operands = Operands(case, m, n, k)
    ready = [case.theirs(one["a"], *one["extras"]) for one in operands.sets]
    room = torch.empty_like(operands.out)
    theirs = torch.compile(case.theirs, dynamic=False) if compiled else None

    def torch_call(function: Any) -> Callable[[int], Any]:
        def run(i: int) -> Any:
            one = operands.at(i)
            return torch.mm(function(one["a"], *one["extras"]), one["w"].T, out=room)

        return run

    calls: dict[str, Callable[[int], Any]] = {"prism": lambda i: library(operands, i), "eager": torch_call(case.theirs)}
    calls["ready"] = lambda i: prism.lib.hgemm(ready[i % len(ready)], operands.at(i)["w"].T, out=room)
    calls["cublas"] = lambda i: torch.mm(ready[i % len(ready)], operands.at(i)["w"].T, out=room)
    if theirs is not None:
        calls["compile"] = torch_call(theirs)
    if tune and name == "rows":
        calls |= {cut.name: functools.partial(gathered, operands, cut=cut) for cut in TILES}
    operands.out.fill_(math.nan)
    calls["prism"](0)
    wrong = fault(operands, operands.out)
    launches = max(2, min(200, math.ceil(SECONDS * FASTEST / flops)))
    graphs = {}
    for who, one in calls.items():
        try:
            graphs[who] = graph_of(one, launches)
        except Exception as error:  # triton may be missing, or tiles not fit: said once, and then left out
            print(f"  {who}: {type(error).__name__}: {str(error).splitlines()[0][:100]}")
    found = seconds(graphs, launches, rounds)
    mine = found["prism"]
    ratios = ", ".join(f"{who} {value / mine:.2f}" for who, value in found.items() if who != "prism")
    print(
        f"{shape:18} {name:11} {mine * 1e6:8.1f} us {flops / mine / 1e12:5.0f} TFLOP/s; x {ratios} {wrong}", flush=True
    )
    return {"shape": shape, "prologue": name, "fault": wrong, **found}


def main() -> int:
    """Measure what the command line asks for, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", default=SHAPES)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    parser.add_argument("--tune", action="store_true", help="print the times of all tiles that gather rows too")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = []
    for shape in options.shapes.split(","):
        for name in options.cases.split(","):
            rows.append(measure(shape, name, options.rounds, not options.no_compile, options.tune))
            torch.cuda.empty_cache()
    if options.json is not None:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    return int(any(row["fault"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
