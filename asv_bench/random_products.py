"""Products of shapes that are drawn at random beside cuBLAS: one process, alternating rounds, medians, random normal data.

    python asv_bench/random_products.py [--kinds bfloat16,float32] [--seed 1] [--many 150] [--rounds 5] [--json FILE]

    python asv_bench/random_products.py --fit --seed 100 --many 60 --json FILE    (and every way to cut each of them)

Needs a Hopper GPU and torch. Shapes are drawn log-uniformly: m from 1 to 16384, n and k from 64 to 16384. Of bfloat16 one half
are multiples of 64, the others of 8; m is any where `a` is row-major. Of float32 one half are any numbers, a quarter multiples of
8, a quarter of 64. All four layouts. Of float8 one half are multiples of 64, the others of 16; both operands have K inside, as
cuBLAS wants them too, and the result is of bfloat16. The models were fitted to seeds 5, 10 to 19, those from 100 on, and
what had been behind of 6 to 9 and 22 to 24; a test takes another.

The peer is cuBLAS as torch calls it, `torch.matmul`, without TF32; of float8 `torch._scaled_mm` with its fast accumulation.
Kernels are timed as CUDA graphs of launches, each of which has operands of its own, that have left the L2: those of all launches
are larger, or the L2 is filled with others before. Every result is compared with float64 in the same run, at sampled rows and
columns.
"""

from __future__ import annotations

import argparse
import functools
import json
import multiprocessing
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from prism.kernels.hgemm import Configuration, candidates
from prism.lib.algorithms.hgemm.api import decide_hgemm
from prism.lib.algorithms.sgemm.api import decide_sgemm
from prism.lib.algorithms.sgemm.choice import name_of
from prism.lib.algorithms.sgemm.choice import ways as sgemm_ways
from prism.lib.algorithms.sgemm.matrices import Matrix, Product
from prism.runtime.arrays import CODED, ArrayInfo

START = time.monotonic()
L2 = 60 << 20
KINDS = ("bfloat16", "float32", "float8")
LAYOUTS = ("NN", "NT", "TN", "TT")  # of a, of b: N has a row's elements one after the other
BYTES = {"bfloat16": 2, "float32": 4, "float8": 1}
OUT_BYTES = {**BYTES, "float8": 2}
DTYPES = {"float8": "float8_e4m3fn"}
EPS = {"bfloat16": 2.0**-8, "float32": 2.0**-23, "float8": 2.0**-8}
EPS_SUM = 2.0**-23
PEAK, MEMORY = (
    {"bfloat16": 6e14, "float32": 4.5e13, "float8": 1.2e15},
    3.5e12,
)  # about, for how many launches a graph should have
STEPS = {"bfloat16": (64, 8), "float32": (1, 8, 1, 64), "float8": (64, 16)}
"""What extents are multiples of, by turns."""
FITTED = 100
"""The first seed of those that models are fitted to."""
PROCESSORS = 132
MOST = 24
"""Ways of a shape, at most."""
Way = Configuration | Any


@dataclass(frozen=True)
class Shape:
    """A product that is drawn."""

    kind: str
    m: int
    n: int
    k: int
    layout: str

    @property
    def name(self) -> str:
        """The shape and the layout, for tables."""
        return f"{self.m}x{self.n}x{self.k} {self.layout}"

    @property
    def bytes(self) -> int:
        """What it reads and writes, at least."""
        return BYTES[self.kind] * (self.m * self.k + self.k * self.n) + OUT_BYTES[self.kind] * self.m * self.n

    @property
    def seconds(self) -> float:
        """About how long it takes."""
        return max(2.0 * self.m * self.n * self.k / PEAK[self.kind], self.bytes / MEMORY, 3e-6)

    @property
    def group(self) -> str:
        """What kind of shape it is, for a table of means: the first of these that holds."""
        tiles = -(-self.m // 128) * -(-self.n // 128)
        odd = {"bfloat16": 16, "float32": 4, "float8": 32}[self.kind]
        inner = (self.k if self.layout[0] == "N" else self.m, self.n if self.layout[1] == "N" else self.k)
        if self.m <= 16:
            return "16 rows or fewer"
        if min(self.m, self.n) <= 128:
            return "128 rows or columns or fewer"
        if self.k <= 256:
            return "K of 256 or less"
        if tiles <= 66 and self.k >= 2048:
            return "few tiles, long K"
        return "other, odd rows" if any(size % odd for size in inner) else "other"


def draw(kind: str, seed: int, many: int) -> list[Shape]:
    """Return so many shapes; the same for the same seed."""
    random, found = np.random.default_rng([seed, KINDS.index(kind)]), []
    for i in range(many):
        m, n, k = (int(2 ** random.uniform(low, 14)) for low in (0, 6, 6))
        layout = LAYOUTS[random.integers(4)] if kind != "float8" else "NT"
        step = STEPS[kind][i % len(STEPS[kind])]
        n, k = (max(64, size // step * step) for size in (n, k))
        inner = 8 if kind == "bfloat16" else 1  # a column-major A has rows of m elements
        m = -(-m // inner) * inner if layout[0] == "T" else m
        found.append(Shape(kind, m, n, k, layout))
    return found


def given(kind: str, text: str) -> list[Shape]:
    """Return the shapes that a list names."""
    return [Shape(kind, *map(int, one[:-2].split("x")), one[-2:]) for one in text.split(",")]


def ways(shape: Shape) -> list[Way]:
    """Return every way that may suit a shape, for a fit."""
    m, n, k = shape.m, shape.n, shape.k
    if shape.kind != "float32":
        layout, deep = (shape.layout[0] == "T", shape.layout[1] == "N"), k if shape.kind == "bfloat16" else -(-k // 2)
        return candidates.near_best(m, n, deep, PROCESSORS, layout)
    times = sorted(sgemm_ways(sgemm_of(shape), PROCESSORS), key=lambda one: one[1])
    return [way for way, told in times if told < 1.7 * times[0][1]][:MOST]


def sgemm_of(shape: Shape) -> Product:
    """Return a product of float32 as the library has it."""
    m, n, k = shape.m, shape.n, shape.k
    a, b = ((k, 1) if shape.layout[0] == "N" else (1, m)), ((n, 1) if shape.layout[1] == "N" else (1, k))
    return Product(Matrix("a", 0, *a, 0), Matrix("b", 0, *b, 0), Matrix("out", 0, n, 1, 0), 1, (m, n, k))


def decision(shape: Shape, way: Way) -> Callable[..., Any]:
    """Return what decides on a product made so; None: as the library does."""
    if shape.kind == "float32":
        return functools.partial(decide_sgemm, cut=way)
    return functools.partial(decide_hgemm, cut=way, **({"out_dtype": "bfloat16"} if shape.kind == "float8" else {}))


# -- compiling, in processes of their own -----------------------------------------------------------------------------------


class _Gpu:
    """What plans depend on."""

    host, arch, multiprocessors = False, "sm_90a", PROCESSORS

    def wave(self, *_: Any) -> int:
        return PROCESSORS


def info_of(kind: str, rows: int, columns: int, how: str) -> ArrayInfo:
    """Return a matrix as a plan sees it, at an address where nothing is."""
    name = DTYPES.get(kind, kind)
    dtype = CODED.get(name) or np.dtype(name)
    size = 1 if kind == "float8" else BYTES[kind]
    strides = (columns * size, size) if how == "N" else (size, rows * size)
    return ArrayInfo("torch", "cuda", dtype, (rows, columns), strides, 1 << 40, False, 0)


def instances(shape: Shape, way: Way) -> Iterator[Any]:
    """Return the kernels that a way takes."""
    arrays = {
        "a": info_of(shape.kind, shape.m, shape.k, shape.layout[0]),
        "b": info_of(shape.kind, shape.k, shape.n, shape.layout[1]),
    }
    result = "bfloat16" if shape.kind == "float8" else shape.kind
    found = decision(shape, way)(arrays, info_of(result, shape.m, shape.n, "N"), _Gpu())
    for step in found.plan.steps if found.plan is not None else ():
        yield step.instance


def compiled(request: tuple[Shape, Way, int]) -> tuple[str | None, Any, str]:
    """Put the machine code of a way's kernel of this number into the cache; return its key, its entry, and what went wrong."""
    from prism.runtime.build import entry_of
    from prism.runtime.code import machine_code

    shape, way, number = request
    try:
        one = list(instances(shape, way))[number]
        entry = entry_of(one.program, "sm_90a")
        machine_code(entry.source, "sm_90a")
    except Exception as error:  # one that does not compile is a line of the report, not its end
        return None, None, f"{shape.kind} {shape.name}, {named(way)}: {type(error).__name__}: {str(error)[:300]}"
    return one.request, entry, ""


def compile_all(work: Sequence[tuple[Shape, Sequence[Way]]], workers: int) -> dict[str | None, Any]:
    """Compile what is to be measured; return the kernels' entries."""
    wanted: dict[str | None, tuple[Shape, Way, int]] = {}
    for shape, some in work:
        for way in some:
            for number, one in enumerate(instances(shape, way)):
                wanted.setdefault(one.request, (shape, way, number))
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        found = list(pool.map(compiled, wanted.values()))
    for *_, said in found:
        if said:
            print(f"  {said}")
    print(f"{len(wanted)} kernels are compiled ({time.monotonic() - START:.1f} s)", flush=True)
    return {key: entry for key, entry, _ in found if key is not None}


# -- measuring --------------------------------------------------------------------------------------------------------------


class Bench:
    """A GPU's memory, of random elements, which operands are parts of, and the shape's peer and rounds."""

    def __init__(self, kind: str, most: int = 40) -> None:
        import torch

        self.torch, self.kind, self.most = torch, kind, most
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.manual_seed(0)
        dtype = getattr(torch, DTYPES.get(kind, kind))
        self.pool = torch.empty((3 << 30) // BYTES[kind], device="cuda", dtype=dtype)
        for part in self.pool.split(1 << 27):
            part.normal_() if kind != "float8" else part.copy_(torch.randn(len(part), device="cuda"))
        result = torch.bfloat16 if kind == "float8" else dtype
        self.room = torch.empty((9 << 28) // OUT_BYTES[kind], device="cuda", dtype=result)
        self.one = torch.ones((), device="cuda")
        self.other = torch.zeros(L2 // 2, device="cuda", dtype=torch.float32)  # twice the L2

    def sets(self, shape: Shape, launches: int) -> list[tuple[Any, Any, Any]]:
        """Return operands, and room for results, for launches: as many as are larger than the L2 twice."""
        many = max(1, min(launches, 1 + 2 * L2 // shape.bytes))
        found, at, to = [], 0, 0

        def part(memory: Any, begin: int, rows: int, columns: int, how: str) -> tuple[Any, int]:
            one = memory[begin : begin + rows * columns]
            one = one.view(rows, columns) if how == "N" else one.view(columns, rows).T
            return one, begin + -(-rows * columns // 128) * 128

        for _ in range(many):
            a, at = part(self.pool, at, shape.m, shape.k, shape.layout[0])
            b, at = part(self.pool, at, shape.k, shape.n, shape.layout[1])
            out, to = part(self.room, to, shape.m, shape.n, "N")
            found.append((a, b, out))
        return found

    def peer(self, a: Any, b: Any, out: Any) -> None:
        """Make a product as cuBLAS does."""
        if self.kind == "float8":
            self.torch._scaled_mm(a, b, self.one, self.one, out_dtype=out.dtype, use_fast_accum=True, out=out)
        else:
            self.torch.matmul(a, b, out=out)

    def exact(self, shape: Shape, a: Any, b: Any) -> Callable[[Any], str]:
        """Return what says how a result differs from float64's by more than it may, or nothing; at sampled elements."""
        torch = self.torch
        rows = torch.randint(0, shape.m, (min(shape.m, 32),), device="cuda")
        columns = torch.randint(0, shape.n, (min(shape.n, 384),), device="cuda")
        rows[0], rows[-1], columns[0], columns[-1] = 0, shape.m - 1, 0, shape.n - 1
        left, right = a[rows].double(), b.T[columns].double().T
        wanted, size = left @ right, left.abs() @ right.abs()
        lost = 2 * shape.k**0.5 * EPS_SUM
        if self.kind == "float8":  # sums have about 14 bits, and what they lose adds up in K
            lost = 2.0 ** (-12 if shape.k <= 4096 else -11)
        bound = EPS[self.kind] * wanted.abs() + lost * size

        def fault(out: Any) -> str:
            wrong = ~((out[rows][:, columns].double() - wanted).abs() <= bound)
            return f"{int(wrong.sum())} of {wrong.numel()} sampled elements are wrong" if bool(wrong.any()) else ""

        return fault

    def graph(self, call: Callable[[int], None], launches: int) -> Any:
        """Return a CUDA graph of so many calls."""
        torch = self.torch
        stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
        with torch.cuda.stream(stream):
            call(0)
            torch.cuda.synchronize()
            with torch.cuda.graph(graph, stream=stream):
                for i in range(launches):
                    call(i)
        return graph

    def library(self, shape: Shape, way: Way, sets: Sequence[Any]) -> Callable[[int], None]:
        """Return a call of the library's, or of one way."""
        import prism.lib
        from prism.host.call import call as host_call

        which = prism.lib.sgemm if shape.kind == "float32" else prism.lib.hgemm
        decide = decision(shape, way)

        def call(i: int) -> None:
            a, b, out = sets[i % len(sets)]
            if way is None:
                which(a, b, out=out)
            else:
                host_call("product", ("random", way), {"a": a, "b": b}, decide, out, captured=True)

        for i in range(len(sets)):  # nothing is made ready in a capture
            call(i)
        return call

    def compare(self, graphs: dict[str, Any], launches: int, rounds: int, cold: bool) -> dict[str, list[float]]:
        """Return the seconds of a call in each round; where `cold`, the L2 is filled with something else before."""
        torch = self.torch
        events = [(name, *(torch.cuda.Event(enable_timing=True) for _ in range(2))) for name in graphs]
        times: dict[str, list[float]] = {name: [] for name in graphs}
        for number in range(rounds + 1):
            for name, begin, end in events[:: 1 if number % 2 else -1]:
                if cold:
                    self.other.sum()
                else:
                    graphs[name].replay()
                begin.record()
                graphs[name].replay()
                end.record()
            torch.cuda.synchronize()
            if number:
                for name, begin, end in events:
                    times[name].append(begin.elapsed_time(end) / launches / 1e3)
        return times

    def measure(self, shape: Shape, some: Sequence[Way], rounds: int, lasting: float) -> dict[str, Any]:
        """Return a shape's times, in microseconds, and how results are wrong, if any are."""
        launches = max(1, min(self.most, int(lasting / shape.seconds)))
        sets = self.sets(shape, launches)
        fault, faults, graphs = self.exact(shape, *sets[0][:2]), {}, {}

        calls = {
            "cuBLAS": lambda: lambda i: self.peer(*sets[i % len(sets)]),
            **{named(way): functools.partial(self.library, shape, way, sets) for way in some},
        }
        for name, make in calls.items():
            try:
                sets[0][2].fill_(self.torch.nan)
                call = make()
                call(0)
                faults[name] = fault(sets[0][2])
                graphs[name] = self.graph(call, launches)
            except Exception as error:
                faults[name] = f"{type(error).__name__}: {str(error)[:200]}"
        times = self.compare(graphs, launches, rounds, launches * shape.bytes < 2 * L2)
        us = {name: round(statistics.median(seen) * 1e6, 3) for name, seen in times.items()}
        facts = {
            "kind": shape.kind,
            "m": shape.m,
            "n": shape.n,
            "k": shape.k,
            "layout": shape.layout,
            "group": shape.group,
        }
        facts["us"] = us
        ratio = (
            statistics.median(p / t for p, t in zip(times["cuBLAS"], times["auto"], strict=True))
            if "auto" in times
            else 0.0
        )
        return {**facts, "ratio": ratio, "faults": {name: said for name, said in faults.items() if said}}


def named(way: Way) -> str:
    """Return a way's name, for tables; the library's choice is `auto`."""
    return "auto" if way is None else str(way.name) if isinstance(way, Configuration) else name_of(way)


def summary(rows: Sequence[dict[str, Any]], title: str) -> None:
    """Print the geometric mean of the ratios, the 5th percentile, the worst, and how many are below 0.95."""
    ratios = np.array([row["ratio"] for row in rows])
    if len(ratios):
        mean, fifth = np.exp(np.log(ratios).mean()), np.percentile(ratios, 5)
        low = int((ratios < 0.95).sum())
        print(f"{title:44} {len(rows):4} {mean:7.3f} {fifth:7.3f} {ratios.min():7.3f} {low:4}", flush=True)


def report(rows: Sequence[dict[str, Any]]) -> None:
    """Print the tables of a kind's rows, and the slowest of them."""
    print(f"{'':44} {'many':>4} {'mean':>7} {'5 %':>7} {'worst':>7} {'< .95':>4}")
    rows = [row for row in rows if row["ratio"] > 0]
    shapes = [Shape(row["kind"], row["m"], row["n"], row["k"], row["layout"]) for row in rows]
    summary(rows, f"{rows[0]['kind'] if rows else ''}, all")
    for key in (lambda shape: shape.group, lambda shape: shape.layout):
        for group in dict.fromkeys(sorted(map(key, shapes))):
            summary([row for row, shape in zip(rows, shapes, strict=True) if key(shape) == group], f"  {group}")
    for row, shape in sorted(zip(rows, shapes, strict=True), key=lambda pair: pair[0]["ratio"])[:24]:
        print(f"    {row['ratio']:6.3f} {shape.name:26} {row['us']['auto']:9.2f} us, cuBLAS {row['us']['cuBLAS']:9.2f}")


def main() -> int:
    """Draw, measure, print tables, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--many", type=int, default=150)
    parser.add_argument("--shapes", help="these, as 4096x4096x4096NN, rather than random ones")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--lasting", type=float, default=6e-4, help="seconds of a graph, about")
    parser.add_argument("--most", type=int, default=40, help="launches in a graph, at most")
    parser.add_argument("--fit", action="store_true", help="also every way to make each product")
    parser.add_argument("--compile", type=int, default=0, metavar="WORKERS", help="only compile, by so many processes")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin nothing more after this")
    parser.add_argument("--json", type=Path, help="a file of all rows, by kind")
    options = parser.parse_args()
    kinds = options.kinds.split(",")
    work = {}
    for kind in kinds:
        some = given(kind, options.shapes) if options.shapes else draw(kind, options.seed, options.many)
        work[kind] = [(shape, [None, *(ways(shape) if options.fit else ())]) for shape in some]
    if options.compile:
        compile_all([one for some in work.values() for one in some], options.compile)
        return 0
    found: dict[str, list[dict[str, Any]]] = {}
    for number, kind in enumerate(kinds):
        bench, rows, until = Bench(kind, options.most), [], options.seconds * (number + 1) / len(kinds)
        for shape, some in work[kind]:
            if time.monotonic() - START > until:
                print(f"{kind}: no time left after {len(rows)} of {len(work[kind])}")
                break
            row = bench.measure(shape, list(dict.fromkeys(some)), options.rounds, options.lasting)
            rows.append(row)
            for name, said in row["faults"].items():
                print(f"  {kind} {shape.name}, {name}: {said}", flush=True)
            if options.json is not None:  # after each: it may be stopped
                found[kind] = rows
                options.json.write_text(json.dumps(found) + "\n")
        report(rows)
        print(f"({time.monotonic() - START:.0f} s)", flush=True)
        del bench
        import torch

        torch.cuda.empty_cache()
    return 0


if __name__ == "__main__":
    sys.exit(main())
