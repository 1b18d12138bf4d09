"""Shared by scan_kinds.py and scan_structs.py: a planned scan beside CUB's and a device copy, and the table of it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import cupy
import measure

from prism.host.machine import Ready, machine_of
from prism.host.plan import OUT
from prism.lib.algorithms.scan import plan as scan_plans
from prism.lib.algorithms.scan.plan import Shape, Task
from prism.runtime.arrays import describe


def compared(
    task: Task, x: Any, peers: Mapping[str, measure.Call], y: Any, check: Callable[[str, Any, Any], None], rounds: int
) -> dict[str, float]:
    """Return the median seconds of one call of `prism`, `copy`, and the peers, by name, on the rows of `x`, in turn.

    `check(name, given, found)` looks at each one's result of the first row, in `y`, before anything is timed.
    """
    given = describe(x)
    way = scan_plans.on_device(task, Shape(1, x.shape[1], 1, True), 132)
    ready = Ready(scan_plans.plan(way, task, task.identity(), machine_of(given)), ("x", OUT), given)

    def ours(i: int) -> None:
        k = i % len(x) * x.strides[0]
        ready((x.data.ptr + k, y.data.ptr + k), cupy.cuda.get_current_stream().ptr)

    calls = {"prism": ours, **peers}
    for name, call in calls.items():
        y.view("uint8")[...] = 0
        call(0)
        check(name, x[0], y[0])
    return measure.beside_copy(calls, x, y, rounds)


def table(
    measured: Callable[[str, int, int], dict[str, float]],
    bytes_of: Mapping[str, int],
    *,
    description: str,
    sizes: str,
    rounds: int,
    arguments: list[str] | None,
) -> int:
    """Measure kinds at sizes as the command line asks, print a table, and write what was found.

    `measured(kind, size, rounds)` returns seconds; `bytes_of` has the kinds, and the bytes of an element of each.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--kinds", default=",".join(bytes_of))
    parser.add_argument("--sizes", default=sizes, help="logarithms to base 2")
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    found = []
    print("GB/s count bytes read and written; a ratio above 1 means that Prism is faster")
    for name in options.kinds.split(","):
        for log in map(int, options.sizes.split(",")):
            seconds = measured(name, 1 << log, options.rounds)
            found.append({"kind": name, "size": 1 << log, **seconds})
            mine = seconds["prism"]
            rate = 2 * (1 << log) * bytes_of[name] / mine / 1e9
            ratios = "  ".join(f"{peer} {value / mine:5.3f}" for peer, value in seconds.items() if peer != "prism")
            print(f"{name:16} {f'2^{log}':>5} {mine * 1e6:8.1f} us {rate:5.0f} GB/s  {ratios}", flush=True)
            cupy.get_default_memory_pool().free_all_blocks()
    if options.json is not None:
        options.json.write_text(json.dumps({"scan": found}, indent=1) + "\n")
    return 0
