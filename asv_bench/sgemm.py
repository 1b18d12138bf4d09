"""Prism's sgemm beside cuBLAS (torch.mm, TF32 off): one process, alternating rounds, medians, random normal data.

    python asv_bench/sgemm.py [--shapes 4096,8192x128x1024] [--layouts] [--candidates 3] [--no-lesson] [--rounds 7] [--json FILE]

    python asv_bench/sgemm.py --precision bf16x6 --shapes 1024,2048,4096,8192 --no-lesson --turn 0.1 --errors

Needs a GPU, CuPy, and torch, whose calls of cuBLAS can be captured in graphs as all kernels are here: the host's time a call
does not count. Buffers are rotated past the L2. Every result, cuBLAS's too, is compared with float64 in the same run (sampled
rows). "auto" is `prism.lib.sgemm` itself, copies and sums of parts included. `--candidates`: also so many ways to cut up for
the sixth variant, the best by its model, and the fifth variant's choice. At 1024, 2048 and 4096 also the five variants, but for
`--no-lesson`; naive and coalesced, which are slow, are launched one by one. `--precision bf16x6`: also `prism.lib.sgemm` in
that precision, by the tensor cores, whose clock falls when they are busy for long: with a `--turn` of a tenth of a second each
kernel sets its own; and the host's time of a warm call. `--errors`: how far results are from float64, by data and K.
"""

from __future__ import annotations

import argparse
import functools
import json
import multiprocessing
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import cupy
from host_time import host_time
from measure import L2, Call, compare

import prism
from prism.host.call import call as host_call
from prism.host.machine import Gpu
from prism.host.plan import OUT, Scratch
from prism.kernels.sgemm import LESSON, Configuration, choose
from prism.kernels.sgemm import ring_configurations as rings
from prism.lib.algorithms.sgemm import api as sgemms
from prism.lib.algorithms.sgemm.matrices import Product
from prism.lib.algorithms.sgemm.ring import Staged
from prism.lib.views import view_of
from prism.runtime.arrays import describe
from prism.runtime.build import entry_of
from prism.runtime.code import machine_code
from prism.runtime.instance import Instance

START = time.monotonic()
EPS = 2.0**-23
SHAPES = (
    "256", "512", "1024", "2048", "4096", "8192", "4096x64x4096", "64x4096x4096", "8192x128x1024", "1000", "4097x4095x4093",
)  # fmt: skip
LESSON_AT = ("1024", "2048", "4096")
SLOW = ("naive", "coalesced")
LAYOUTS = ("NN", "NT", "TN", "TT")  # of a, of b: N has a row's elements one after the other
AUTO = "auto"
FLOAT32, BY_TENSOR_CORES = "float32", "bf16x6"
ERRORS_AT = ((512, 256), (512, 1024), (1024, 2048), (1024, 4096), (512, 8192), (512, 16384), (512, 65536))  # m and n; k
Way = str | Configuration | rings.Cut
"""How a product is made: as the library chooses, in float32 or not, by one of the five variants, or by the sixth, cut up so."""


def parsed(text: str) -> tuple[int, int, int]:
    """Return m, n, k."""
    sizes = [int(size) for size in text.split("x")]
    m, n, k = sizes * 3 if len(sizes) == 1 else sizes
    return m, n, k


def named(way: Way) -> str:
    """Return a way's name, for tables."""
    return way if isinstance(way, str) else way.name


def matrices(m: int, n: int, k: int, layout: str = "NN") -> list[tuple[Any, Any, Any]]:
    """Enough triples of a (m x k), b (k x n) and room for the result to pass the L2 twice."""

    def normal(rows: int, columns: int, how: str) -> Any:
        shape = (rows, columns) if how == "N" else (columns, rows)
        found = cupy.random.standard_normal(shape, dtype=cupy.float32)
        return found if how == "N" else found.T

    size = 4 * (m * n + m * k + n * k)
    room = [cupy.full((m, n), cupy.nan, cupy.float32) for _ in range(1 + 2 * L2 // size)]
    return [(normal(m, k, layout[0]), normal(k, n, layout[1]), out) for out in room]


def product_of(a: Any, b: Any, out: Any) -> Product:
    """Return a product as the library has it."""
    views = (view_of(name, describe(x)) for name, x in (("a", a), ("b", b), (OUT, out)))
    (product,) = sgemms.products_of(*views, 1.0, 0.0)
    return product


def planned(way: Way, product: Product) -> Staged | Configuration:
    """Return what a way comes down to for a product."""
    if isinstance(way, Configuration):
        return way
    cut = way if isinstance(way, rings.Cut) else None
    return sgemms.choose_way(product, "auto" if cut is None else sgemms.RING, Gpu(0), cut)


def call_of(way: Way, sets: Sequence[tuple[Any, Any, Any]]) -> Call:
    """Return a call on the i-th set, made once before."""
    if way in (AUTO, BY_TENSOR_CORES):
        precision = FLOAT32 if way == AUTO else BY_TENSOR_CORES

        def library(i: int) -> None:
            a, b, out = sets[i % len(sets)]
            prism.lib.sgemm(a, b, out=out, precision=precision)

        for i in range(len(sets)):
            library(i)
        return library
    assert not isinstance(way, str)
    how = sgemms.RING if isinstance(way, rings.Cut) else "auto"
    decide = functools.partial(sgemms.decide_sgemm, way=how, cut=way)

    def one(i: int) -> None:
        a, b, out = sets[i % len(sets)]
        host_call("sgemm", ("cut", way), {"a": a, "b": b}, decide, out, captured=True)

    for i in range(len(sets)):
        one(i)
    return one


def cublas(sets: Sequence[tuple[Any, Any, Any]]) -> Call:
    """Return a call of torch.mm, without TF32, on CuPy's stream; CuPy's own call of cuBLAS can't be captured in a graph."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    tensors = [tuple(torch.as_tensor(x, device="cuda") for x in each) for each in sets]
    streams: dict[int, Any] = {}

    def call(i: int) -> None:
        a, b, out = tensors[i % len(tensors)]
        handle = cupy.cuda.get_current_stream().ptr
        if handle not in streams:  # for 0 ExternalStream would take one of torch's pool, which nothing waits for
            streams[handle] = torch.cuda.ExternalStream(handle) if handle else torch.cuda.default_stream()
        with torch.cuda.stream(streams[handle]):
            torch.mm(a, b, out=out)

    return call


def fault(a: Any, b: Any, out: Any) -> str:
    """Return how a result differs from float64's by more than KERNELS.md 6 allows, or nothing; 32 rows of it."""
    rows = cupy.random.randint(0, a.shape[0], 32)
    rows[0], rows[1] = 0, a.shape[0] - 1
    left, right = a[rows].astype(cupy.float64), b.astype(cupy.float64)
    wanted, size = left @ right, cupy.abs(left) @ cupy.abs(right)
    bound = EPS * cupy.abs(wanted) + 2 * a.shape[1] ** 0.5 * EPS * size
    wrong = ~(cupy.abs(out[rows] - wanted) <= bound)
    return f"{int(wrong.sum())} of {wrong.size} sampled elements are wrong" if bool(wrong.any()) else ""


# -- compiling, in processes of their own -----------------------------------------------------------------------------------


def compiled(source: str) -> None:
    """Put a kernel's machine code into the cache."""
    machine_code(source, "sm_90a")


def instances(way: Way, product: Product) -> Iterator[Instance]:
    """Return the kernels that a way takes."""
    cut = None if isinstance(way, str) else way
    how = way if way == BY_TENSOR_CORES else sgemms.RING if isinstance(way, rings.Cut) else "auto"
    for step in sgemms.steps_of(product, how, Gpu(0), Scratch(), cut):
        yield step.instance


def compile_all(work: Sequence[tuple[str, str, Sequence[Way]]]) -> None:
    """Compile what will be measured."""
    wanted = {}
    for text, layout, ways in work:
        m, n, k = parsed(text)
        shapes = ((m, k), layout[0]), ((k, n), layout[1])
        a, b = (cupy.empty(shape if how == "N" else shape[::-1], cupy.float32) for shape, how in shapes)
        a, b = (x if how == "N" else x.T for x, how in zip((a, b), layout, strict=True))
        product = product_of(a, b, cupy.empty((m, n), cupy.float32))
        for way in ways:
            for one in instances(way, product):
                wanted[entry_of(one.program, "sm_90a").source] = None
    began = time.monotonic()
    with ProcessPoolExecutor(14, mp_context=multiprocessing.get_context("spawn")) as pool:
        list(pool.map(compiled, wanted))
    print(f"{len(wanted)} kernels are compiled, after {time.monotonic() - began:.1f} s", flush=True)


# -- measuring ----------------------------------------------------------------------------------------------------------


def measure(text: str, ways: Sequence[Way], rounds: int, layout: str = "NN", turn: float = 6e-3) -> dict[str, Any]:
    """Print and return each way's speed at a shape, beside cuBLAS's; a turn is about so many seconds, or three launches."""
    m, n, k = parsed(text)
    sets, flops = matrices(m, n, k, layout), 2.0 * m * n * k
    calls = {named(way): call_of(way, sets) for way in ways}
    every = {"cuBLAS": cublas(sets), **calls}
    faults = {}
    for name, call in every.items():
        sets[0][2][...] = cupy.nan
        call(0)
        faults[name] = fault(*sets[0])
    slow = {name: call for name, call in every.items() if name.split()[0] in SLOW}
    graphs = {name: call for name, call in every.items() if name not in slow}
    launches = max(3, min(100, int(turn * 4e13 / flops)))
    seconds = compare(graphs, {}, launches, rounds) | (compare({}, slow, 1, 3) if slow else {})
    auto = planned(AUTO, product_of(*sets[0]))
    chosen = (auto.cut if isinstance(auto, Staged) else auto).name
    peer = seconds["cuBLAS"]
    told = f"{peer * 1e6:.1f} us, {flops / peer / 1e12:.1f} TFLOP/s ({len(sets)} sets) {faults['cuBLAS']}"
    print(f"\n{text} {layout}: cuBLAS {told}")
    rows = []
    for name in calls:
        row = {"name": name, "us": seconds[name] * 1e6, "tflops": flops / seconds[name] / 1e12, "fault": faults[name]}
        rows.append({**row, "ratio": peer / seconds[name], "chosen": chosen})
    for row in rows:
        line = f"{row['ratio']:6.3f} {row['tflops']:6.2f} TFLOP/s {row['us']:10.1f} us"
        print(f"  {line}  {row['name']}{f' ({chosen})' if row['name'] == AUTO else ''} {row['fault']}")
    print(f"  ({time.monotonic() - START:.0f} s)", flush=True)
    cupy.get_default_memory_pool().free_all_blocks()
    facts = {"shape": text, "layout": layout, "cublas_us": peer * 1e6, "cublas_tflops": flops / peer / 1e12}
    return facts | {"cublas_fault": faults["cuBLAS"], "rows": rows}


def drawn(data: str, *shape: int) -> Any:
    """Random elements: "normal", "positive" (from 0 to 1), or "wide" (normal, times powers of two from 2^-12 to 2^12)."""
    if data == "positive":
        return cupy.random.random(shape, dtype=cupy.float32)
    found = cupy.random.standard_normal(shape, dtype=cupy.float32)
    return found * cupy.exp2(cupy.random.randint(-12, 13, shape)).astype(cupy.float32) if data == "wide" else found


def error(out: Any, a: Any, b: Any) -> dict[str, float]:
    """Return errors in units of 2^-23 |A||B|: the largest, and the mean one away from 0; and the most of KERNELS.md 6's bound."""
    rows = cupy.arange(0, len(a), max(1, len(a) // 128))
    left, right = a[rows].astype(cupy.float64), b.astype(cupy.float64)
    wanted, size = left @ right, cupy.abs(left) @ cupy.abs(right)
    off, bound = out[rows] - wanted, EPS * cupy.abs(wanted) + 2 * a.shape[1] ** 0.5 * EPS * size
    largest, mean = (cupy.abs(off) / size).max() / EPS, (off * cupy.sign(wanted) / size).mean() / EPS
    return {"largest": float(largest), "mean": float(mean), "of_bound": float((cupy.abs(off) / bound).max())}


def errors() -> list[dict[str, Any]]:
    """Print and return how far cuBLAS, and `prism.lib.sgemm` in both precisions, are from float64, by data and K."""
    rows = []
    for data in ("normal", "positive", "wide"):
        for n, k in ERRORS_AT:
            a, b, out = drawn(data, n, k), drawn(data, k, n), cupy.full((n, n), cupy.nan, cupy.float32)
            cublas([(a, b, out)])(0)
            found = {"cuBLAS": error(out, a, b)}
            for precision in (FLOAT32, BY_TENSOR_CORES):
                found[precision] = error(prism.lib.sgemm(a, b, precision=precision), a, b)
            rows.append({"data": data, "n": n, "k": k, **found})
            said = (f"{way} {e['largest']:.2f} {e['mean']:+.2f} {e['of_bound']:.3f}" for way, e in found.items())
            print(f"errors, {data} {n}x{n}x{k}: {', '.join(said)}", flush=True)
    return rows


def warm_call(precision: str) -> float:
    """Return the seconds that the host takes for a warm call at 256."""
    a, b, out = matrices(256, 256, 256)[0]
    call = functools.partial(prism.lib.sgemm, a, b, out=out, precision=precision)
    return host_time(call, cupy.cuda.Device().synchronize)


def candidates(text: str, number: int) -> list[Way]:
    """Return the sixth variant's best cuts by its model, and the fifth's choice."""
    m, n, k = parsed(text)
    processors = cupy.cuda.Device().attributes["MultiProcessorCount"]
    cuts = rings.cuts(m, n, k, processors)
    best = sorted(cuts, key=lambda cut: rings.clocks(cut, m, n, processors))
    return [*best[:number], choose(1, m, n, k, processors)]


def main() -> int:
    """Measure, print tables, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--layouts", action="store_true", help="row-major and column-major operands at 4096")
    parser.add_argument(
        "--candidates", type=int, default=0, help="how many cuts of the sixth variant, beside the library's choice"
    )
    parser.add_argument("--no-lesson", action="store_false", dest="lesson", help="leave the five variants out")
    parser.add_argument("--precision", choices=(FLOAT32, BY_TENSOR_CORES), default=FLOAT32)
    parser.add_argument("--turn", type=float, default=6e-3, help="seconds of a kernel's launches, one after the other")
    parser.add_argument("--errors", action="store_true", help="also how far results are from float64, on Hopper")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=60.0, help="begin nothing more after this")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    name = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)["name"].decode()
    print(f"{name}; a ratio above 1 means that Prism is faster")
    work: list[tuple[str, str, list[Way]]] = []
    for text in filter(None, options.shapes.split(",")):
        more = candidates(text, options.candidates) if options.candidates else []
        more += [BY_TENSOR_CORES] * (options.precision == BY_TENSOR_CORES)
        work.append((text, "NN", [AUTO, *more, *(LESSON.values() if options.lesson and text in LESSON_AT else ())]))
    work += [("4096", layout, [AUTO]) for layout in LAYOUTS if options.layouts]
    compile_all(work)
    found = []
    for text, layout, ways in work:
        if time.monotonic() - START > options.seconds:
            print(f"{text} {layout}: no time left")
            continue
        found.append(measure(text, list(dict.fromkeys(ways)), options.rounds, layout, options.turn))
        keep(options.json, {"device": name, "sgemm": found})
    facts: dict[str, Any] = {"device": name, "sgemm": found}
    if options.precision == BY_TENSOR_CORES:
        facts["host_us"] = {precision: warm_call(precision) * 1e6 for precision in (FLOAT32, BY_TENSOR_CORES)}
        print("host, a warm call: " + ", ".join(f"{way} {us:.1f} us" for way, us in facts["host_us"].items()))
    if options.errors:
        facts["errors"] = errors()
    keep(options.json, facts)
    return 0


def keep(path: Path | None, facts: dict[str, Any]) -> None:
    """Write what was found."""
    if path is not None:
        path.write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
