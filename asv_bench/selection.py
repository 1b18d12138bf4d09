"""Selections beside CuPy and torch, and beside what moving the bytes takes: one process, alternating rounds, medians.

    PYTHONPATH=. python asv_bench/selection.py [--sizes 20,24,28] [--rounds 7] [--tb 3.0] [--only compress]

Needs a GPU, CuPy and torch. `whole` is a call that waits for its number of elements, as CuPy's and torch's do; `count` is one
that does not. Every result is compared with CuPy's, once. `floor`: what reading and writing takes at so many TB/s.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from typing import Any

import prism


def main() -> None:
    """Measure, and print a line for each."""
    import cupy
    import torch

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="20,24,28")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--tb", type=float, default=3.0)
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    for log in map(int, asked.sizes.split(",")):
        for dtype in ("float32", "uint8", "int64"):
            for share in (0.5, 0.05):
                for name, calls, moved in cases(cupy, torch, 1 << log, dtype, share):
                    if asked.only in name:
                        found = measure(cupy, calls, asked.rounds, 3 if log > 24 else 20)
                        floor = moved / asked.tb / 1e6
                        texts = "  ".join(f"{key} {us:8.1f}" for key, us in found.items())
                        ratio = floor / found["count"]
                        print(
                            f"{name:12} {dtype:8} {share:4} 2^{log}: {texts}  floor {floor:7.1f}  share {ratio:.2f}",
                            flush=True,
                        )


def cases(
    cupy: Any, torch: Any, n: int, dtype: str, share: float
) -> list[tuple[str, dict[str, Callable[[], Any]], int]]:
    """Return the calls of each operation by the library's name, and the bytes that it moves; their results are compared."""
    random = cupy.random.default_rng(0)
    mask = random.random(n, dtype=cupy.float32) < share
    x = (random.random(n, dtype=cupy.float32) * 100 + 1).astype(dtype)
    some = x * mask.astype(dtype)
    runs = (cupy.cumsum(mask, dtype=cupy.int64) % 120).astype(dtype)
    del random
    size, lib = x.dtype.itemsize, prism.lib
    kept = int(cupy.count_nonzero(mask))
    of = {
        key: torch.as_tensor(value, device="cuda")
        for key, value in {"mask": mask, "x": x, "some": some, "runs": runs}.items()
    }
    wanted = {"compress": x[mask], "flatnonzero": cupy.flatnonzero(mask), "nonzero": cupy.flatnonzero(some)}
    wanted["unique"] = runs[cupy.concatenate([cupy.ones(1, bool), runs[1:] != runs[:-1]])]
    found = [
        ("compress", {
            "whole": lambda: lib.compress(mask, x), "count": lambda: lib.compress(mask, x, count=True),
            "cupy": lambda: x[mask], "torch": lambda: torch.masked_select(of["x"], of["mask"]),
        }, n * (size + 1) + kept * size),
        ("flatnonzero", {
            "whole": lambda: lib.flatnonzero(mask), "count": lambda: lib.flatnonzero(mask, count=True),
            "cupy": lambda: cupy.flatnonzero(mask), "torch": lambda: torch.nonzero(of["mask"]),
        }, n + kept * 8),
        ("nonzero", {
            "whole": lambda: lib.flatnonzero(some), "count": lambda: lib.flatnonzero(some, count=True),
            "cupy": lambda: cupy.flatnonzero(some), "torch": lambda: torch.nonzero(of["some"]),
        }, n * size + kept * 8),
        ("unique", {
            "whole": lambda: lib.unique_consecutive(runs), "count": lambda: lib.unique_consecutive(runs, count=True),
            "torch": lambda: torch.unique_consecutive(of["runs"]),
        }, n * size + wanted["unique"].size * size),
    ]  # fmt: skip
    for name, calls, _ in found:
        assert bool((calls["whole"]() == wanted[name]).all()), (name, dtype, n)
        values, number = calls["count"]()
        assert int(number[0]) == wanted[name].size and bool((values[: wanted[name].size] == wanted[name]).all())
    return found


def measure(cupy: Any, calls: dict[str, Callable[[], Any]], rounds: int, launches: int) -> dict[str, float]:
    """Return the median microseconds of each call."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(rounds + 1):
        for name in list(calls)[:: 1 if number % 2 else -1]:
            begin, end = cupy.cuda.Event(), cupy.cuda.Event()
            cupy.cuda.Device().synchronize()
            begin.record()
            for _ in range(launches):
                calls[name]()
            end.record()
            end.synchronize()
            if number:
                times[name].append(cupy.cuda.get_elapsed_time(begin, end) * 1000 / launches)
    return {name: statistics.median(values) for name, values in times.items()}


if __name__ == "__main__":
    main()
