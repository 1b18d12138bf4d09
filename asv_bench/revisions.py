"""The GPU's time of all that asv has rows for at another revision, beside this one's: one process, alternating turns, medians.

    git worktree add /tmp/other REVISION
    python asv_bench/revisions.py /tmp/other [--groups scan,layers] [--only "2^16,int8 2^26"] [--rounds 7] [--places 1]
        [--seconds 600] [--json FILE]
    python asv_bench/revisions.py /tmp/other --compile 0/8 &     # one of eight processes that compile, and time nothing

Needs a Hopper GPU, CuPy and torch. Both trees are imported into this process, each under its own names. They are given the same
arrays, which are rotated past the L2, and calls are timed as CUDA graphs, but for those that make their results. Each result is
compared with a reference on the GPU before anything is timed. A ratio above 1 means that this tree takes less time. What is below
0.985 is measured once more, with five times the rounds, and that counts. Cells that are not compiled are left to the end.

What takes few microseconds depends on where a tree's scratch memory lies: the same tree beside itself has ratios of 0.9 to 1.1.
With `--places` each cell is measured so often, each time on a new stream, so with new memory, and the trees take turns in asking
for it first. The ratio is the median, and the lowest and highest are told.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import math
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cupy
from revision_cells import GROUPS, Cell
from revision_trees import NotCompiled, Tree, compiled_folder

HERE = Path(__file__).resolve().parent.parent
AGAIN = 0.985
"""Ratios below are measured once more."""
TURN = 1.5e-3
"""Seconds that one's launches should take, one after the other, before it is the other's turn."""
START = time.monotonic()


def cells_of(groups: str, only: str) -> Iterator[Cell]:
    """Yield what is to be measured, in order."""
    for name in groups.split(",") if groups else GROUPS:
        for cell in GROUPS[name]():
            if any(text in f"{cell.group} {cell.name}" for text in only.split(",")):
                yield cell


@functools.cache
def work_stream(place: int) -> Any:
    """Return the stream of all that is timed at a place: the library keeps scratch memory for each stream."""
    return cupy.cuda.Stream(non_blocking=True)


class Turns:
    """One tree's calls of a cell, as a graph where they can be captured: `turn()` returns the seconds of a call."""

    def __init__(self, tree: Tree, call: Any, launches: int, captured: bool, place: int = 0) -> None:
        self.tree, self.call, self.launches, self.graph = tree, call, launches, None
        self.stream = work_stream(place)
        with tree, self.current():
            for i in range(max(3, launches)):
                call(i)  # compiles, loads, allocates: outside the capture
            self.stream.synchronize()
            if captured:
                self.stream.begin_capture()
                try:
                    for i in range(launches):
                        call(i)
                finally:
                    self.graph = self.stream.end_capture()
        self.repeats = 1
        self.repeats = max(1, min(50, math.ceil(TURN / (launches * self.turn()))))

    def current(self) -> Any:
        """Return a context in which the stream is CuPy's and torch's."""
        import torch

        stack = contextlib.ExitStack()
        stack.enter_context(self.stream)
        stack.enter_context(torch.cuda.stream(torch.cuda.ExternalStream(self.stream.ptr)))
        return stack

    def launch(self, times: int) -> None:
        """Make the launches so many times."""
        if self.graph is not None:
            for _ in range(times):
                self.graph.launch(self.stream)
            return
        for _ in range(times):
            for i in range(self.launches):
                self.call(i)

    def turn(self) -> float:
        """Return the seconds of a call, in launches that follow others."""
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        if self.graph is not None:
            self._timed(begin, end)
        else:
            with self.tree, self.current():
                self._timed(begin, end)
        end.synchronize()
        return float(cupy.cuda.get_elapsed_time(begin, end)) / self.launches / self.repeats / 1e3

    def _timed(self, begin: Any, end: Any) -> None:
        self.launch(1)
        begin.record(self.stream)
        self.launch(self.repeats)
        end.record(self.stream)


def time_turns(both: dict[str, Turns], rounds: int) -> tuple[float, float, float]:
    """Return the median seconds of a call of the other tree and of this, and of their ratio. The order alternates."""
    times: dict[str, list[float]] = {name: [] for name in both}
    for number in range(rounds):
        for name in list(both)[:: 1 if number % 2 else -1]:
            times[name].append(both[name].turn())
    other, ours = times.values()
    ratio = statistics.median(o / t for o, t in zip(other, ours, strict=True))
    return statistics.median(other), statistics.median(ours), ratio


def measure(cell: Cell, trees: dict[str, Tree], rounds: int, places: int) -> dict[str, Any]:
    """Return what was found of a cell; `wrong` names the trees whose results differ from the reference."""
    case = cell.make(False)
    calls = {}
    for name, tree in trees.items():
        with tree:
            calls[name] = case.call(tree)
    wrong = []
    for name, tree in trees.items():
        case.clear()
        with tree:
            calls[name](0)
        cupy.cuda.Device().synchronize()
        if fault := case.fault():
            wrong.append(f"{name}: {fault}")
    every = []
    for place in range(places):
        order = list(trees)[:: -1 if place % 2 else 1]  # who has memory of the stream's first
        turns = {name: Turns(trees[name], calls[name], case.launches, case.captured, place) for name in order}
        both = {name: turns[name] for name in trees}
        every.append(time_turns(both, rounds))
        if places == 1 and every[0][2] < AGAIN:
            every[0] = time_turns(both, 5 * rounds)
    other, ours, ratio = (statistics.median(column) for column in zip(*every, strict=True))
    return {
        "group": cell.group, "name": cell.name, "other": other, "ours": ours, "ratio": ratio, "wrong": wrong,
        "ratios": [one for *_, one in every],
    }  # fmt: skip


def free() -> None:
    """Give memory back to the GPU."""
    import torch

    cupy.get_default_memory_pool().free_all_blocks()
    torch.cuda.empty_cache()


def compile_part(cells: list[Cell], trees: dict[str, Tree], part: str) -> int:
    """Make the first calls of all cells, beginning with this process's part; what another has done is passed over."""
    number, of = map(int, part.split("/"))
    first = number * len(cells) // of
    folder = compiled_folder()
    for cell in [*cells[first:], *cells[:first]]:
        done = folder / f"{cell.group} {cell.name}.done".replace("/", "_")
        if done.exists() or cell.alike:
            continue
        case = cell.make(True)
        for tree in trees.values():
            try:
                with tree:
                    case.call(tree)(0)
            except Exception as error:
                print(f"{cell.group} {cell.name}: {type(error).__name__}: {error}", flush=True)
        done.touch()
        free()
    print(f"process {number} is done after {time.monotonic() - START:.0f} s")
    return 0


def show(found: dict[str, Any]) -> None:
    """Print a row."""
    marks = "".join(f" WRONG {fault}" for fault in found["wrong"])
    if len(found["ratios"]) > 1:
        marks = f"  {min(found['ratios']):.3f} to {max(found['ratios']):.3f}{marks}"
    times = f"{found['other'] * 1e6:10.2f} {found['ours'] * 1e6:10.2f}"
    print(f"{found['group']:9} {found['name']:34} {times} {found['ratio']:7.3f}{marks}", flush=True)


def summary(found: list[dict[str, Any]], left: list[str]) -> None:
    """Print the mean and the lowest."""
    if found:
        mean = math.exp(statistics.mean(math.log(row["ratio"]) for row in found))
        low = sorted(row["ratio"] for row in found)
        below = sum(ratio < 0.98 for ratio in low)
        wrong = sum(bool(row["wrong"]) for row in found)
        print(f"{len(found)} cells: geometric mean {mean:.4f}, lowest {low[0]:.3f}, {below} below 0.98, {wrong} wrong")
    if left:
        print(f"{len(left)} are left: {', '.join(left)}")


def main() -> int:
    """Measure, print a table, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", type=Path, help="the folder of the other revision's tree")
    parser.add_argument("--groups", default="", help=f"of {', '.join(GROUPS)}; all")
    parser.add_argument(
        "--only", default="", help="cells whose names have one of these texts in them, with commas between"
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--places", type=int, default=1, help="measure each cell so often, with other scratch memory")
    parser.add_argument("--seconds", type=float, default=600.0, help="begin nothing more after this")
    parser.add_argument("--compile", default="", help="k/n: make first calls, as the k-th of n processes")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    cells = list(cells_of(options.groups, options.only))
    trees = {"other": Tree(options.other.resolve()), "ours": Tree(HERE)}
    for tree in trees.values():
        tree.begin(compiles=bool(options.compile))
    if options.compile:
        return compile_part(cells, trees, options.compile)
    print(f"{'':44} {'other us':>10} {'ours us':>10}   ratio; above 1: this tree takes less time")
    found, left = [], []
    for late in (False, True):
        waiting: list[Cell] = []
        for cell in cells:
            if time.monotonic() - START > options.seconds:
                left.append(f"{cell.group} {cell.name}")
                continue
            try:
                found.append(measure(cell, trees, options.rounds, options.places))
                show(found[-1])
            except NotCompiled:
                waiting.append(cell)
            except Exception as error:
                left.append(f"{cell.group} {cell.name}")
                print(f"{cell.group} {cell.name}: {type(error).__name__}: {str(error)[:300]}", flush=True)
            free()
            if options.json is not None:
                options.json.write_text(json.dumps(found, indent=1) + "\n")
        cells = waiting
        for tree in trees.values():
            tree.compiles = not late
    summary(found, left)
    print(f"{time.monotonic() - START:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
