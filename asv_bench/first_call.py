"""The first call of a function of the library in a new process: with artifacts, from the cache, and compiled.

    python asv_bench/first_call.py [--rounds 5] [--ways artifacts,compiled,cached] [--profile] [--json FILE]

Needs a GPU and CuPy, and `prism build --arch` of the GPU's architecture for the first column. Each call is made in a process of
its own, in which CuPy has already started CUDA and made the array; the time is that of the call, until its result is there, and
apart from it that of importing Prism and the function. Medians, in milliseconds; results are checked. `--profile` says of one
more process where its time goes.
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

CALLS = {
    "sum": "prism.lib.sum(x)",
    "scan": "prism.lib.scan(x)",
    "max axis": "prism.lib.max(x.reshape(1024, 1024), axis=1)",
    "sgemm": "prism.lib.sgemm(f, f)",
    "hgemm": "prism.lib.hgemm(h, h)",
}
CODE = """
import cProfile, json, pstats, sys, time
import cupy
x = cupy.ones(1 << 20, cupy.float32)
f, h = (cupy.ones((512, 512), kind) for kind in (cupy.float32, cupy.float16))
float(x.sum()), float((h * 2)[0, 0])
cupy.cuda.Device().synchronize()
start = time.perf_counter()
import prism
eval({call!r}.split("(")[0])
if "without" in sys.argv:
    from prism.runtime import artifacts
    artifacts.manifest = lambda *_: artifacts.NOTHING
profile = cProfile.Profile()
if "profile" in sys.argv:
    profile.enable()
ready = time.perf_counter()
found = {call}
cupy.cuda.Device().synchronize()
end = time.perf_counter()
profile.disable()
found = float(found.ravel()[-1] if hasattr(found, "ravel") else found)
assert found in (1 << 20, 1, 512), found
if "profile" in sys.argv:
    pstats.Stats(profile, stream=sys.stderr).sort_stats("cumulative").print_stats(25)
print(json.dumps([1e3 * (ready - start), 1e3 * (end - ready), "prism.lang.check" in sys.modules]))
"""
WAYS = ("artifacts", "compiled", "cached")  # in this order: what is compiled is in the cache afterwards


def process(call: str, cache: str, *words: str) -> tuple[list[Any], str]:
    """Make a call in a new process; return what it found, and what it said beside."""
    environment = {**os.environ, "PRISM_CACHE_DIR": cache}
    command = [sys.executable, "-c", CODE.replace("{call!r}", repr(call)).replace("{call}", call), *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout), done.stderr


def measured(call: str, cache: str, rounds: int, *words: str) -> dict[str, Any]:
    """Return the medians of one call's import and first run, and whether a kernel had to be checked."""
    imports, calls, checked = zip(*(process(call, cache, *words)[0] for _ in range(rounds)), strict=True)
    return {"import_ms": statistics.median(imports), "call_ms": statistics.median(calls), "checked": any(checked)}


def main() -> None:
    """Measure all calls in the ways asked for, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
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
        for name, call in CALLS.items():
            ways = results[name] = {}
            for way in (way for way in WAYS if way in wanted):
                words = [] if way == "artifacts" else ["without"]
                cache = f"{folder}/{'empty' if way == 'artifacts' else name}"
                ways[way] = measured(call, cache, 1 if way == "compiled" else options.rounds, *words)
            line = "  ".join(
                f"{way} {one['call_ms']:7.1f} ms (+ import {one['import_ms']:.0f})" for way, one in ways.items()
            )
            unbuilt = ways.get("artifacts", {}).get("checked", False)
            print(f"{name:9} {line}{'  CHECKED: no artifact' if unbuilt else ''}", flush=True)
            if options.profile:
                print(process(call, f"{folder}/empty", "profile")[1], flush=True)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
