"""Histograms beside CUB, CuPy and torch, and beside what reading the bytes takes: one process, alternating rounds, medians.

    PYTHONPATH=. python asv_bench/histogram.py [--sizes 20,24,28] [--rounds 5] [--tb 3.0] [--only bincount]
                                   [--newest FOLDER] [--json FILE]

Needs a GPU, CuPy and torch; for CUB nvcc, as `measure.py`: else CUB is left out. Even bins, counts of a known length, and CUB's
are timed as CUDA graphs; what waits, and CuPy's and torch's calls, as plain calls. Then all are timed `alone`, each behind a
product of cuBLAS. `skewed`: numbers of which most are small; `one`: all are equal. Counts of the first 2^20 elements are
compared with NumPy's, once. `floor`: what reading takes at so many TB/s; `share`: the floor's part of Prism's time.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from rows import Rows
from selection import timed, timed_alone

import prism

Calls = dict[str, Callable[[], Any]]


def main() -> None:
    """Measure, and print a line for each."""
    import cupy
    import torch
    from measure import peers_if_built

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="20,24,28")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tb", type=float, default=3.0)
    parser.add_argument("--only", default="")
    parser.add_argument("--newest", help="the folder of another CUB's headers, or of it as it was built")
    rows = Rows("histogram", parser)
    asked = parser.parse_args()
    libraries = peers_if_built("cub_counting", asked.newest)
    for log in map(int, asked.sizes.split(",")):
        for dtype in ("uint8", "int32", "float32", "int64"):
            for skew in ("uniform", "skewed", "one"):
                x = numbers(cupy, 1 << log, dtype, skew)
                for name, calls in cases(cupy, torch, x, libraries).items():
                    if asked.only in name:
                        launches = 3 if log > 24 else 20
                        graphs = {key: call for key, call in calls.items() if in_graph(name, key)}
                        plain = {key: call for key, call in calls.items() if key not in graphs}
                        floor = x.nbytes / asked.tb / 1e6
                        rows.add(
                            f"{name} {dtype} {skew}", log, timed(cupy, graphs, plain, asked.rounds, launches), floor
                        )
                        rows.add(
                            f"{name} {dtype} {skew}, alone", log, timed_alone(cupy, graphs, plain, asked.rounds), floor
                        )
    rows.write(asked.json)


def numbers(cupy: Any, n: int, dtype: str, skew: str) -> Any:
    """Return numbers from 0 to 255."""
    if skew == "one":
        return cupy.full(n, 77, dtype)
    found = cupy.random.default_rng(0).random(n, dtype=cupy.float32)
    return ((found**8 if skew == "skewed" else found) * 255).astype(dtype)


def in_graph(name: str, key: str) -> bool:
    """Whether a call waits for nothing, so that a CUDA graph can be made of it: CUB's, and Prism's where it has no need to."""
    return key in ("cub", "newest", "length") or (key == "prism" and name.startswith(("even", "2^21")))


def cases(cupy: Any, torch: Any, x: Any, libraries: Mapping[str, Any]) -> dict[str, Calls]:
    """Return the calls of each operation by the library's name; Prism's results are compared with NumPy's, CUB's with Prism's."""
    lib, here, tensor = prism.lib, cupy.asnumpy(x[: 1 << 20]), torch.as_tensor(x, device="cuda")
    edges = np.sort(np.random.default_rng(0).random(257) * 255)
    found: dict[str, Calls] = {}
    for bins in (256, 4096):
        found[f"even {bins}"] = {
            "prism": lambda bins=bins: lib.histogram(x, bins, (0, 256)),
            "cupy": lambda bins=bins: cupy.histogram(x, bins, (0, 256)),
        }
        if x.dtype.kind == "f":
            found[f"even {bins}"]["torch"] = lambda bins=bins: torch.histc(tensor, bins, 0, 256)
        wanted = lib.histogram(x, bins, (0, 256))[0]
        found[f"even {bins}"] |= counted(cupy, libraries, "even", x, bins, wanted)
        counts, _ = lib.histogram(x[: 1 << 20], bins, (0, 256))
        assert np.array_equal(cupy.asnumpy(counts), np.histogram(here, bins, (0, 256))[0])
    there = cupy.asarray(edges, dtype=x.dtype if x.dtype.kind == "f" else None)  # CuPy refuses others of float32
    found["edges 256"] = {"prism": lambda: lib.histogram(x, there), "cupy": lambda: cupy.histogram(x, there)}
    wanted = lib.histogram(x, there)[0]
    found["edges 256"] |= counted(cupy, libraries, "edges", x, 256, wanted, there.astype("float64"))
    if x.dtype.kind != "f":
        found["bincount"] = {
            "prism": lambda: lib.bincount(x), "length": lambda: lib.bincount(x, length=256), "cupy": lambda: cupy.bincount(x),
            "torch": lambda: torch.bincount(tensor),
        }  # fmt: skip
        assert np.array_equal(cupy.asnumpy(lib.bincount(x[: 1 << 20])), np.bincount(here))
        # CUB's are even bins, one for each number.
        found["bincount"] |= counted(cupy, libraries, "even", x, 256, lib.bincount(x, length=256))
    if x.dtype == np.int32:
        many = x * 8192 + cupy.arange(x.size, dtype=np.int32) % 8192
        found["2^21 bins"] = {
            "prism": lambda: lib.bincount(many, length=1 << 21), "cupy": lambda: cupy.bincount(many, minlength=1 << 21),
        }  # fmt: skip
        wanted = lib.bincount(many, length=1 << 21)
        found["2^21 bins"] |= counted(cupy, libraries, "bins", many, 1 << 21, wanted)
    return found


def counted(
    cupy: Any, libraries: Mapping[str, Any], way: str, x: Any, bins: int, wanted: Any, *edges: Any
) -> dict[str, Callable[[], Any]]:
    """Return the calls of each CUB; counts, of 32 bits, are those that are wanted, but where an element is in the last edge."""
    from segments import cub

    found: dict[str, Callable[[], Any]] = {}
    for key, library in libraries.items():
        counts = cupy.zeros(bins, "int32")
        made = cub(getattr(library, f"cub_{way}_{x.dtype.name}"), x, *edges, counts, bins, x.size)
        made(0)
        assert bool((counts[:-1] == wanted[:-1]).all()), (key, way, x.dtype, bins)
        found[key] = lambda made=made: made(0)
    return found


if __name__ == "__main__":
    main()
