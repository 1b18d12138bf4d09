"""Random calls of selections, searches, differences, sets and histograms, as the tests on NumPy arrays draw them, on a GPU.

    python -m tests.gpu.random_selections [--first 1000] [--seconds 60] [--jobs 8] [--host]

Needs a GPU and CuPy, but with `--host`, which leaves arrays where they are. What the library is given lies as it was drawn,
with gaps, or an element past an aligned address. A job prints how many calls it made, with which seeds, and what went wrong.
At first most of the time goes to kernels that are compiled.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import multiprocessing
import random
import time
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

MODULES = ("select", "search", "difference", "take", "repeat", "sets", "histogram")
IN_PLACE = ("put", "place", "putmask")
NAMES = (
    "select", "extract", "compress", "flatnonzero", "nonzero", "argwhere", "unique_consecutive", "unique_by_key",
    "run_length_encode", "split", "split3", "searchsorted", "digitize", "diff", "adjacent_difference", "ediff1d", "take",
    "take_along_axis", "repeat", "unique", "isin", "in1d", "setdiff1d", "intersect1d", "union1d", "setxor1d", "histogram",
    *IN_PLACE,
)  # fmt: skip


def moves(number: int, host: bool) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Return what puts an argument on the GPU, and what brings a result back; of a job by its number."""
    if host:
        return (lambda x: x), (lambda x: x)
    import cupy

    draw = random.Random(number)

    def put(x: Any) -> Any:
        if isinstance(x, tuple):
            return tuple(map(put, x))
        if not isinstance(x, np.ndarray):
            return x
        given, how = cupy.asarray(x), draw.randrange(4) if x.ndim and x.size else 0
        if how == 1:
            return cupy.repeat(given, 2, -1)[..., ::2]
        return cupy.concatenate([given.ravel()[:1], given.ravel()])[1:].reshape(x.shape) if how == 2 else given

    def back(x: Any) -> Any:
        if isinstance(x, tuple):
            return type(x)(*map(back, x)) if hasattr(x, "_fields") else tuple(map(back, x))
        return cupy.asnumpy(x) if isinstance(x, cupy.ndarray) else x

    return put, back


def run(job: tuple[int, argparse.Namespace]) -> str:
    """Make a job's calls, one seed after the other; return what it prints."""
    from prism import lib

    number, asked = job
    put, back = moves(number, asked.host)
    made = 0

    def moved(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*given: Any, **options: Any) -> Any:
            nonlocal made
            made += 1
            arrays = [put(one) for one in given]
            found = back(function(*arrays, **{key: put(value) for key, value in options.items()}))
            if name in IN_PLACE and arrays[0] is not given[0]:
                given[0][...] = back(arrays[0])
            return found

        return call

    for name in NAMES:
        setattr(lib, name, moved(name, getattr(lib, name)))
    of = lib.lazy.of
    lib.lazy.of = lambda x, *rest: of(put(x), *rest)
    every = {name: importlib.import_module(f"tests.lib.algorithms.{name}.test_api") for name in MODULES}
    end, seed, failed = time.monotonic() + asked.seconds, asked.first + number, list[str]()
    while time.monotonic() < end and len(failed) < 10:
        for name, module in every.items():
            if time.monotonic() > end:
                break
            call = module.random_call if name == "histogram" else module.one_call
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    call(seed)
            except Exception as error:
                at = traceback.extract_tb(error.__traceback__)[-1]
                failed.append(
                    f"  {name} {seed}: {type(error).__name__} {str(error)[:160]!r}, {at.filename}:{at.lineno}"
                )
        seed += asked.jobs
    text = f"job {number}: {made} calls, seeds from {asked.first + number} to {seed - asked.jobs}, {len(failed)} wrong"
    return "\n".join([text, *failed])


def main() -> None:
    """Run all jobs, and print what they say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--host", action="store_true")
    asked = parser.parse_args()
    with multiprocessing.get_context("spawn").Pool(asked.jobs) as pool:
        for text in pool.imap_unordered(run, [(number, asked) for number in range(asked.jobs)]):
            print(text, flush=True)


if __name__ == "__main__":
    main()
