"""The first call of a function of the library in a new process: with artifacts, from the cache, and compiled.

    python asv_bench/first_call.py [scan sum ...] [--rounds 5] [--ways artifacts,compiled,cached] [--profile] [--json FILE]

Needs a GPU and CuPy, and `prism build --arch` of the GPU's architecture for the first column. The calls are a case of every
algorithm of the manifest (prism/lib/cases.py), of 2^20 elements. Each is made in a process of its own, in which CuPy has already
started CUDA and made the arrays; the time is that of the call, until its result is there, and apart from it that of importing
Prism and the function. Medians, in milliseconds; results are checked. `--profile` says of one more process where its time goes.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from algorithms import shape_of

from prism.lib.cases import Case, usual_cases

LOG = 20
CODE = """
import cProfile, json, pstats, sys, time
import cupy
import numpy as np
kept = np.load(ARRAYS)
given = [cupy.asarray(kept[name]) for name in kept if name.startswith("x")]
x = cupy.ones(1 << 20, cupy.float32)
float(x.sum()), float((x.astype(cupy.float16) * 2)[0])
cupy.cuda.Device().synchronize()
start = time.perf_counter()
import prism
function = getattr(prism.lib, FUNCTION)
if "without" in sys.argv:
    from prism.runtime import artifacts
    artifacts.manifest = lambda *_: artifacts.NOTHING
profile = cProfile.Profile()
if "profile" in sys.argv:
    profile.enable()
ready = time.perf_counter()
found = function(*given, **OPTIONS)
cupy.cuda.Device().synchronize()
end = time.perf_counter()
profile.disable()
found = found if isinstance(found, tuple) else (found,)
for k, one in enumerate(found):
    assert np.array_equal(cupy.asnumpy(one), kept[f"y{k}"]), (FUNCTION, k)
if "profile" in sys.argv:
    pstats.Stats(profile, stream=sys.stderr).sort_stats("cumulative").print_stats(25)
print(json.dumps([1e3 * (ready - start), 1e3 * (end - ready), "prism.lang.check" in sys.modules]))
"""
WAYS = ("artifacts", "compiled", "cached")  # in this order: what is compiled is in the cache afterwards


def write_code(case: Case, folder: Path) -> str:
    """Return what a process of a case runs, whose arrays and results are written to a file."""
    arrays = case.arrays(shape_of(case, LOG))
    wanted = case.oracle(*arrays)
    results = wanted if isinstance(wanted, tuple) else (wanted,)
    path = folder / "arrays.npz"
    named = {f"x{k}": x for k, x in enumerate(arrays)} | {f"y{k}": np.asarray(y) for k, y in enumerate(results)}
    np.savez(path, **named)
    code = CODE
    for name, value in {"ARRAYS": str(path), "FUNCTION": case.function, "OPTIONS": dict(case.options)}.items():
        code = code.replace(name, repr(value))
    return code


def process(code: str, cache: str, *words: str) -> tuple[list[Any], str]:
    """Make a call in a new process; return what it found, and what it said beside."""
    environment = {**os.environ, "PRISM_CACHE_DIR": cache}
    done = subprocess.run([sys.executable, "-c", code, *words], env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout), done.stderr


def measured(code: str, cache: str, rounds: int, *words: str) -> dict[str, Any]:
    """Return the medians of one call's import and first run, and whether a kernel had to be checked."""
    imports, calls, checked = zip(*(process(code, cache, *words)[0] for _ in range(rounds)), strict=True)
    return {"import_ms": statistics.median(imports), "call_ms": statistics.median(calls), "checked": any(checked)}


def main() -> None:
    """Measure all calls in the ways asked for, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("functions", nargs="*", help="of prism.lib (default: one of each algorithm)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ways", default=",".join(WAYS), help="some of them (default: %(default)s)")
    parser.add_argument("--profile", action="store_true", help="say where the time of a call with artifacts goes")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    wanted = options.ways.split(",")
    if unknown := set(wanted) - set(WAYS):
        parser.error(f"no such way: {', '.join(sorted(unknown))}; there are {', '.join(WAYS)}")
    results: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for case in usual_cases(options.functions):
            name, code = str(case), write_code(case, Path(folder))
            ways = results[name] = {}
            for way in (way for way in WAYS if way in wanted):
                words = [] if way == "artifacts" else ["without"]
                cache = f"{folder}/{'empty' if way == 'artifacts' else name}"
                ways[way] = measured(code, cache, 1 if way == "compiled" else options.rounds, *words)
            line = "  ".join(
                f"{way} {one['call_ms']:7.1f} ms (+ import {one['import_ms']:.0f})" for way, one in ways.items()
            )
            unbuilt = ways.get("artifacts", {}).get("checked", False)
            print(f"{name:24} {line}{'  CHECKED: no artifact' if unbuilt else ''}", flush=True)
            if options.profile:
                print(process(code, f"{folder}/empty", "profile")[1], flush=True)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
