"""Every way in which a scan can be cut up, beside the one that `prism.lib.scan` takes: what its thresholds are chosen by.

    python asv_bench/scan_ways.py [--dtype float32] [--short 10,14,16,18,20,22] [--columns 26] [--rounds 5]

Needs a GPU and CuPy. For arrays of one dimension of 2^k elements: by one block, by blocks of one tile each in tiles of each size,
and in many tiles, stable and not. With `--columns`, for (2^k, 2^(log - k)) along the first axis: columns by thread, strips of
each width by block and shared. Times are of graphs of launches; every result is checked. `*` marks what the library takes.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Iterator
from typing import Any

import cupy
import measure
import scan_axis

from prism.host.machine import Ready, machine_of
from prism.host.plan import OUT, size_of
from prism.kernels import scan as kernels
from prism.lib import operators
from prism.lib.algorithms.scan import plan as scan_plans
from prism.lib.algorithms.scan.plan import Shape, Task, Way
from prism.runtime.arrays import describe


def short(task: Task, shape: Shape) -> Iterator[tuple[str, Way]]:
    """Yield the ways for an array of one dimension, by name."""
    vector, size = 16 // task.dtype.itemsize, shape.size
    common = {**task.template, "EXCLUSIVE": False, "REVERSE": False, "WIDTH": vector}
    for threads in (256, 512, 1024):
        for vectors in (1, 2, 4, 8):
            if threads * vectors * vector // 2 < size <= threads * vectors * vector:
                template = {**common, "THREADS": threads, "ITEMS": vectors * vector}
                yield (
                    f"block {threads}x{vectors}",
                    Way(kernels.scan_block, template, threads, 1, scan_plans.tile_numbers(size, shape.tile(vector))),
                )
    for threads in (128, 256, 512):
        for vectors in (1, 2, 4, 8):
            tiles = -(-size // (threads * vectors * vector))
            if 1 < tiles <= 1056:
                template = {**common, "THREADS": threads, "ITEMS": vectors * vector, "WORDS": 1}
                template |= {"BLOCKS": max(1, 1024 // threads)}
                way = Way(
                    kernels.scan_once,
                    template,
                    threads,
                    tiles,
                    scan_plans.tile_numbers(size, shape.tile(vector)),
                    "flat",
                    4096,
                    multiple=tiles,
                )
                yield f"once {threads}x{vectors}", way
    many = scan_plans.many_tiles(task, shape)
    for stable in (False, True):
        yield (
            f"many{' stable' if stable else ''}",
            dataclasses.replace(many, template={**many.template, "STABLE": stable}),
        )


def columns(task: Task, shape: Shape) -> Iterator[tuple[str, Way]]:
    """Yield the ways for columns, by name."""
    c = kernels.for_columns(task.bytes, size_of(task.types[0]))
    numbers = {"outer": shape.outer, "n": shape.n, "inner": shape.inner}
    common = {**task.template, "EXCLUSIVE": False, "REVERSE": False}
    for width in (1, c.widest):
        if shape.inner % width:
            continue
        blocks = -(-shape.inner // width // c.threads)
        if shape.inner // width >= 4096:
            template = {**common, **c.by_thread(width)}
            yield (
                f"thread w{width}",
                Way(kernels.scan_columns_by_thread, template, c.threads, blocks, numbers, multiple=blocks),
            )
    width = c.widest if shape.inner % c.widest == 0 else 1
    for lanes in (1, 2, 4, 8, 16, 32):
        wide = lanes * width
        sharing = c.sharing(wide, width)
        strips, tiles = -(-shape.inner // wide), -(-shape.n // sharing.rows(wide))
        if wide > 2 * shape.inner:
            break
        if strips >= 66:
            template = {**common, **c.by_block(width, lanes)}
            yield (
                f"strip {wide}",
                Way(kernels.scan_columns, template, template["THREADS"], strips, numbers, multiple=strips),
            )
        if strips <= 264 and wide <= 32 and tiles > 1:
            words = 16
            while words < tiles:
                words *= 4
            template = {**common, **sharing.template(width, lanes)}
            way = Way(kernels.scan_columns_shared, template, sharing.threads, strips * tiles, numbers, "columns", words)
            yield f"shared {wide}", dataclasses.replace(way, strips=strips, columns=wide, multiple=strips)


def time(task: Task, ways: list[tuple[str, Way]], x: Any, y: Any, axis: int, rounds: int) -> dict[str, float]:
    """Return the median seconds of each way, checked."""
    given, calls = describe(x), {}
    for name, way in ways:
        ready = Ready(scan_plans.plan(way, task, task.identity(), machine_of(given)), ("x", OUT), given)

        def call(i: int, ready: Ready = ready) -> None:
            ready((x.data.ptr, y.data.ptr), cupy.cuda.get_current_stream().ptr)

        y[...] = 0
        call(0)
        scan_axis.check(x, y, axis, name)
        calls[name] = call
    launches = 40 if x.nbytes < 1 << 24 else 4
    return measure.compare(calls, {"copy": scan_axis.copy_of(x, y)}, launches, rounds)


def show(what: str, seconds: dict[str, float], chosen: str, nbytes: int) -> None:
    """Print the times, the best first."""
    print(f"{what}: {nbytes / 1e6:.2f} MB read and written", flush=True)
    for name, value in sorted(seconds.items(), key=lambda item: item[1]):
        mark = "*" if name == chosen else " "
        print(f"  {mark} {name:16} {value * 1e6:8.2f} us {nbytes / value / 1e9:6.0f} GB/s", flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Measure, and print tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--short", default="10,14,16,18,20,22", help="logarithms to base 2; '' for none")
    parser.add_argument(
        "--columns", type=int, default=0, help="logarithm to base 2 of the number of elements; 0 for none"
    )
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(arguments)
    task = Task(operators.add, options.dtype, options.dtype)
    for log in map(int, filter(None, options.short.split(","))):
        shape = Shape(1, 1 << log, 1, True)
        x = scan_axis.data(options.dtype, (1, shape.n))[0]
        ways = list(short(task, shape))
        chosen = scan_plans.on_device(task, shape, 132)
        name = next((n for n, way in ways if (way.kernel, way.template) == (chosen.kernel, chosen.template)), "")
        show(f"2^{log}", time(task, ways, x, cupy.empty_like(x), 0, options.rounds), name, 2 * x.nbytes)
    for log in range(8, options.columns):
        shape = Shape(1, 1 << log, 1 << (options.columns - log), True)
        x = scan_axis.data(options.dtype, (shape.n, shape.inner))
        ways = list(columns(task, shape))
        chosen = scan_plans.on_device(task, shape, 132)
        name = next((n for n, way in ways if (way.kernel, way.template) == (chosen.kernel, chosen.template)), "")
        show(
            f"(2^{log}, 2^{options.columns - log})",
            time(task, ways, x, cupy.empty_like(x), 0, options.rounds),
            name,
            2 * x.nbytes,
        )
        cupy.get_default_memory_pool().free_all_blocks()
    return 0


if __name__ == "__main__":
    sys.exit(main())
