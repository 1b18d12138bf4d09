"""Products of seeds that no fit saw: where cuBLAS is faster, by which tile, and whether another of ours would be better.

    python asv_bench/unseen_products.py bfloat16:25:150 float8:25 float32:25 [--ways 12] [--below 0.98] [--seconds 60]

Needs a Hopper GPU and torch. Shapes and measurements are those of `random_products.py`. After a line for all shapes of a kind
there is one for each that is behind: the ratio, both times, what the library chose, and cuBLAS's kernel with its blocks. With
`--ways` so many other tiles that the model has near the best are measured at these, and the best of them is printed. If it is
no faster either, the kernels are short of something; if it is, the model is. `--compile` only compiles what is measured first.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from random_products import MOST, PROCESSORS, START, Bench, Shape, Way, compile_all, draw, named, sgemm_of, ways

from prism.kernels.hgemm import choose_single
from prism.lib.algorithms.sgemm import api as sgemms

Row = dict[str, Any]
LIMITS = 0.93, 0.95, 0.98


class _Hopper:
    host, arch, multiprocessors = False, "sm_90a", PROCESSORS


def chosen(shape: Shape) -> str:
    """Return the name of what the library chooses."""
    if shape.kind == "float32":
        return named(sgemms.choose_way(sgemm_of(shape), "auto", _Hopper()))
    k = shape.k if shape.kind == "bfloat16" else -(-shape.k // 2)
    return named(choose_single(shape.m, shape.n, k, PROCESSORS, (shape.layout[0] == "T", shape.layout[1] == "N")))


def others(shape: Shape, many: int) -> list[Way]:
    """Return so many ways besides what is chosen: the nearest by the model, no more than three of a tile."""
    own, found, seen = chosen(shape), list[Way](), dict[str, int]()
    for way in ways(shape):
        tile = named(way).split()[0] if shape.kind != "float32" else ""
        if named(way) != own and (not tile or seen.get(tile, 0) < 3):
            seen[tile] = seen.get(tile, 0) + 1
            found.append(way)
    return found[:many]


def kernels_of_peer(bench: Bench, shapes: Sequence[Shape]) -> list[str]:
    """Return which kernels cuBLAS takes for shapes, and their grids, as torch's profiler has them."""
    torch = bench.torch
    operands = [bench.sets(shape, 1)[0] for shape in shapes]
    for one in operands:
        bench.peer(*one)
    mark, found = torch.ones(1, device="cuda"), list[list[str]]()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as seen:
        for one in operands:
            mark.neg_()  # a kernel that tells where the next shape's begin
            bench.peer(*one)
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        seen.export_chrome_trace(f"{folder}/trace.json")
        events = json.loads(Path(f"{folder}/trace.json").read_text())["traceEvents"]
    for event in sorted((event for event in events if event.get("cat") == "kernel"), key=lambda event: event["ts"]):
        if "neg" in event["name"]:
            found.append([])
        else:
            name = event["name"].replace("nvjet_sm90_", "")[:60]
            found[-1].append(f"{name} {'x'.join(map(str, event['args']['grid']))}")
    return [" + ".join(one) for one in found]


def summary(title: str, rows: Sequence[Row], many: int, key: str) -> None:
    """Print the mean of the ratios, the 5th percentile, the worst, and how many are behind."""
    ratios = np.array([row[key] for row in rows if row[key] > 0])
    if len(ratios):
        mean, fifth = np.exp(np.log(ratios).mean()), np.percentile(ratios, 5)
        counts = ", ".join(f"below {limit} {(ratios < limit).sum()}" for limit in LIMITS)
        wrong = sum(bool(row["faults"]) for row in rows)
        print(f"{title}: {len(ratios)} of {many}, mean {mean:.3f}, 5 % {fifth:.3f}, worst {ratios.min():.3f};", end=" ")
        print(f"{counts}; {wrong} wrong ({time.monotonic() - START:.0f} s)", flush=True)


def measure_others(bench: Bench, shape: Shape, row: Row, options: argparse.Namespace) -> str:
    """Measure other ways of a shape, put their times and the best ratio into its row, and return what to print of these."""
    more = bench.measure(shape, [None, *others(shape, options.ways)], options.rounds, options.lasting)
    us = {way: took for way, took in more["us"].items() if way not in (*more["faults"], "cuBLAS", "auto")}
    row["us"], row["faults"] = more["us"] | row["us"], more["faults"] | row["faults"]
    if not us:
        return ""
    least = min(us, key=lambda way: us[way])
    row["best"] = max(row["ratio"], more["us"]["cuBLAS"] / us[least])
    return f" | {row['best']:.3f} {us[least]:.1f} {least}"


def measure(title: str, shapes: Sequence[Shape], options: argparse.Namespace, until: float) -> list[Row]:
    """Measure shapes, and print what is behind; begin nothing more after `until`."""
    bench, rows = Bench(shapes[0].kind, options.most), list[Row]()
    for shape in shapes:
        if time.monotonic() - START > until:
            break
        row = bench.measure(shape, [None], options.rounds, options.lasting)
        rows.append({"shape": shape, "best": row["ratio"], **row})
    summary(title, rows, len(shapes), "ratio")
    behind = sorted((row for row in rows if row["ratio"] < options.below), key=lambda row: row["ratio"])
    some = [row["shape"] for row in behind]
    names = kernels_of_peer(bench, some) if options.names else [""] * len(some)
    if options.ways and some and time.monotonic() - START < until:
        compile_all([(shape, others(shape, options.ways)) for shape in some], options.workers)
    for row, name in zip(behind, names, strict=True):
        own, us = row["us"].get("auto", 0.0), row["us"].get("cuBLAS", 0.0)
        best = ""
        if options.ways and time.monotonic() - START < until:
            best = measure_others(bench, row["shape"], row, options)
        said = f"{own:.1f} us, cuBLAS {us:.1f}, {chosen(row['shape'])}{best} | {name}"
        print(f"  {row['ratio']:.3f} {row['shape'].name} {said} {list(row['faults'].items()) or ''}", flush=True)
    if options.ways:
        summary("  the best of those measured", rows, len(shapes), "best")
    return rows


def main() -> int:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("seeds", nargs="+", metavar="KIND:SEED[:MANY]")
    parser.add_argument("--below", type=float, default=0.98)
    parser.add_argument("--ways", type=int, default=0, help=f"others of a shape that is behind, up to {MOST}")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--lasting", type=float, default=5e-4, help="seconds of a graph, about")
    parser.add_argument("--most", type=int, default=40, help="launches in a graph, at most")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin nothing more after this")
    parser.add_argument("--workers", type=int, default=8, help="processes that compile")
    parser.add_argument(
        "--names", action=argparse.BooleanOptionalAction, default=True, help="which kernels cuBLAS takes"
    )
    parser.add_argument("--compile", action="store_true", help="only compile")
    parser.add_argument("--json", type=Path, help="a file of all rows")
    options = parser.parse_args()
    work, found = [], list[Row]()
    for text in options.seeds:
        kind, seed, *many = text.split(":")
        work.append((f"{kind} {seed}", draw(kind, int(seed), int(many[0]) if many else 150)))
    if options.compile:
        compile_all([(shape, [None]) for _, shapes in work for shape in shapes], options.workers)
        return 0
    for number, (title, shapes) in enumerate(work):
        rows = measure(title, shapes, options, options.seconds * (number + 1) / len(work))
        found += [{name: value for name, value in row.items() if name != "shape"} for row in rows]
        if options.json is not None:  # after each: it may be stopped
            options.json.write_text(json.dumps(found) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
