"""Prism's sgemm beside cuBLAS (torch.matmul, TF32 off): one process, alternating rounds, medians, random normal data.

    python asv_bench/sgemm.py [--shapes 4096,8192x128x1024] [--tiles] [--layouts] [--rounds 7] [--seconds 60] [--json FILE]

Needs a GPU, CuPy, and torch, whose calls of cuBLAS can be captured in graphs as all kernels are here: the host's time a call does
not count. Buffers are rotated past the L2. Every kernel is compared with float64 in the same run (sampled rows). The five
variants run at 1024, 2048 and 4096; at the other shapes what the library chooses, and with `--tiles` every configuration that it
chooses from. Naive and coalesced, which are slow, are launched one by one.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import cupy
from measure import L2, Call, compare

from prism.kernels.sgemm import LESSON, TILES, Configuration, Layout, choose
from prism.lib import sgemms
from prism.runtime.arrays import describe
from prism.runtime.build import entry_of
from prism.runtime.code import machine_code

START = time.monotonic()
EPS = 2.0**-23
SHAPES = (
    "256", "512", "1024", "2048", "4096", "8192", "4096x64x4096", "64x4096x4096", "8192x128x1024", "1000", "4097x4095x4093",
)  # fmt: skip
LESSON_AT = ("1024", "2048", "4096")
SLOW = ("naive", "coalesced")
LAYOUTS = ("NN", "NT", "TN", "TT")  # of a, of b: N has a row's elements one after the other


def parsed(text: str) -> tuple[int, int, int]:
    """Return m, n, k."""
    sizes = [int(size) for size in text.split("x")]
    m, n, k = sizes * 3 if len(sizes) == 1 else sizes
    return m, n, k


def matrices(m: int, n: int, k: int, layout: str = "NN") -> list[tuple[Any, Any, Any]]:
    """Enough triples of a (m x k), b (k x n) and room for the result to pass the L2 twice."""

    def normal(rows: int, columns: int, how: str) -> Any:
        shape = (rows, columns) if how == "N" else (columns, rows)
        found = cupy.random.standard_normal(shape, dtype=cupy.float32)
        return found if how == "N" else found.T

    size = 4 * (m * n + m * k + n * k)
    room = [cupy.full((m, n), cupy.nan, cupy.float32) for _ in range(1 + 2 * L2 // size)]
    return [(normal(m, k, layout[0]), normal(k, n, layout[1]), out) for out in room]


def call_of(configuration: Configuration, sets: Sequence[tuple[Any, Any, Any]]) -> Call:
    """Return a call of a configuration on the i-th set."""
    calls = []
    for a, b, out in sets:
        job = sgemms.Job(describe(a), describe(b), None, describe(out), out.shape)
        assert job.out is not None
        (launch,) = sgemms.launches(job, job.out)
        calls.append(launch.on_device(job.a, configuration))

    def call(i: int) -> None:
        found = calls[i % len(calls)]
        found.launch(found.blocks, found.threads, cupy.cuda.get_current_stream().ptr, found.values)

    return call


def cublas(sets: Sequence[tuple[Any, Any, Any]]) -> Call:
    """Return a call of torch.matmul, without TF32, on CuPy's stream; CuPy's own call of cuBLAS can't be captured in a graph."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    tensors = [tuple(torch.as_tensor(x, device="cuda") for x in each) for each in sets]
    streams: dict[int, Any] = {}

    def call(i: int) -> None:
        a, b, out = tensors[i % len(tensors)]
        handle = cupy.cuda.get_current_stream().ptr
        if handle not in streams:
            streams[handle] = torch.cuda.ExternalStream(handle)
        with torch.cuda.stream(streams[handle]):
            torch.matmul(a, b, out=out)

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


def compiled(request: tuple[Configuration, tuple[Layout, Layout, Layout]]) -> None:
    """Put a kernel's machine code into the cache."""
    entry = entry_of(sgemms.program_for(request[0], *request[1]), "sm_90a")
    machine_code(entry.source, entry.arch)


def layouts_of(m: int, n: int, k: int, layout: str = "NN") -> tuple[Layout, Layout, Layout]:
    """Return how matrices lie that begin at multiples of 16 bytes."""
    along_a, along_b = layout[0] == "N", layout[1] == "T"
    return (
        Layout(along_a, (k if along_a else m) % 4 == 0),
        Layout(along_b, (k if along_b else n) % 4 == 0),
        Layout(False, n % 4 == 0),
    )


def compile_all(plan: dict[str, list[Configuration]], four: bool) -> None:
    """Compile what will be measured."""
    wanted = [(cut, layouts_of(*parsed(text))) for text, cuts in plan.items() for cut in cuts]
    wanted += [(LESSON["warps"], layouts_of(4096, 4096, 4096, layout)) for layout in LAYOUTS if four]
    began = time.monotonic()
    with ProcessPoolExecutor(14, mp_context=multiprocessing.get_context("spawn")) as pool:
        list(pool.map(compiled, dict.fromkeys(wanted)))
    print(f"compiled {len(set(wanted))} kernels in {time.monotonic() - began:.1f} s", flush=True)


# -- measuring ----------------------------------------------------------------------------------------------------------


def measure(text: str, cuts: Sequence[Configuration], rounds: int, layout: str = "NN") -> dict[str, Any]:
    """Print and return each configuration's speed at a shape, beside cuBLAS's."""
    m, n, k = parsed(text)
    sets, flops = matrices(m, n, k, layout), 2.0 * m * n * k
    calls = {cut.name: call_of(cut, sets) for cut in cuts}
    faults = {}
    for name, call in calls.items():
        sets[0][2][...] = cupy.nan
        call(0)
        faults[name] = fault(*sets[0])
    every = {"cuBLAS": cublas(sets), **calls}
    slow = {name: call for name, call in every.items() if name.split()[0] in SLOW}
    graphs = {name: call for name, call in every.items() if name not in slow}
    launches = max(3, min(100, int(6e-3 * 4e13 / flops)))
    seconds = compare(graphs, {}, launches, rounds) | (compare({}, slow, 1, 3) if slow else {})
    chosen = choose(1, m, n, k, cupy.cuda.Device().attributes["MultiProcessorCount"]).name
    peer = seconds["cuBLAS"]
    print(f"\n{text} {layout}: cuBLAS {peer * 1e6:.1f} us, {flops / peer / 1e12:.1f} TFLOP/s ({len(sets)} sets)")
    rows = []
    for name in calls:
        row = {"name": name, "us": seconds[name] * 1e6, "tflops": flops / seconds[name] / 1e12}
        rows.append({**row, "ratio": peer / seconds[name], "fault": faults[name], "chosen": name == chosen})
    for row in rows:
        mark = "  <- the library's choice" if row["chosen"] else ""
        line = f"{row['ratio']:6.3f} {row['tflops']:6.2f} TFLOP/s {row['us']:10.1f} us"
        print(f"  {line}  {row['name']} {row['fault']}{mark}")
    print(f"  ({time.monotonic() - START:.0f} s)", flush=True)
    cupy.get_default_memory_pool().free_all_blocks()
    return {
        "shape": text,
        "layout": layout,
        "cublas_us": peer * 1e6,
        "cublas_tflops": flops / peer / 1e12,
        "rows": rows,
    }


def planned(
    shapes: Sequence[str], tiles: Sequence[Configuration] = (), *, lesson: bool = True
) -> dict[str, list[Configuration]]:
    """Return what is measured at each shape: the lesson's variants where they are, the library's choice, and `tiles`."""
    processors = cupy.cuda.Device().attributes["MultiProcessorCount"]
    plan: dict[str, list[Configuration]] = {}
    for text in shapes:
        variants = list(LESSON.values()) if lesson and text in LESSON_AT else []
        plan[text] = list(dict.fromkeys([*variants, choose(1, *parsed(text), processors), *tiles]))
    return plan


def main(tiles: Sequence[Configuration] = TILES) -> int:
    """Measure, print tables, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--tiles", action="store_true", help="every configuration that the library chooses from")
    parser.add_argument("--layouts", action="store_true", help="row-major and column-major operands at 4096")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=60.0, help="begin nothing more after this")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    plan = planned(options.shapes.split(","), tiles if options.tiles else ())
    compile_all(plan, options.layouts)
    name = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)["name"].decode()
    print(f"{name}; a ratio above 1 means that Prism is faster")
    work = [(text, cuts, "NN") for text, cuts in plan.items()]
    work += [("4096", [LESSON["warps"]], layout) for layout in LAYOUTS if options.layouts]
    found = []
    for text, cuts, layout in work:
        if time.monotonic() - START > options.seconds:
            print(f"{text} {layout}: no time left")
            continue
        found.append(measure(text, cuts, options.rounds, layout))
        if options.json is not None:
            options.json.write_text(json.dumps({"device": name, "sgemm": found}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
