"""The first call of a function of the library in a new process: with artifacts, from the cache, and compiled.

    python asv_bench/first_call.py [--rounds 5] [--json FILE]

Needs a GPU and CuPy, and `prism build --arch` of the GPU's architecture for the first column. Each call is made in a process of
its own, in which CuPy has already started CUDA and made the array; the time is that of the call, until its result is there, and
apart from it that of importing Prism and the function. Medians, in milliseconds; results are checked.
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
    "hgemm": "prism.lib.hgemm(h, h)",
}
CODE = """
import json, sys, time
import cupy
x = cupy.ones(1 << 20, cupy.float32)
h = cupy.ones((1024, 1024), cupy.float16)
float(x.sum()), float((h * 2)[0, 0])
cupy.cuda.Device().synchronize()
start = time.perf_counter()
import prism
eval({call!r}.split("(")[0])
if sys.argv[1:] == ["without"]:
    from prism.runtime import artifacts
    artifacts.manifest = lambda *_: artifacts.NOTHING
ready = time.perf_counter()
found = {call}
cupy.cuda.Device().synchronize()
end = time.perf_counter()
found = float(found.ravel()[-1] if hasattr(found, "ravel") else found)
assert found in (1 << 20, 1, 1024), found
print(json.dumps([1e3 * (ready - start), 1e3 * (end - ready), "prism.lang.check" in sys.modules]))
"""


def measured(call: str, cache: str, rounds: int, *, artifacts: bool) -> dict[str, Any]:
    """Return the medians of one call's import and first run, and whether a kernel had to be checked."""
    environment = {**os.environ, "PRISM_CACHE_DIR": cache}
    found = []
    for _ in range(rounds):
        command = [sys.executable, "-c", CODE.replace("{call!r}", repr(call)).replace("{call}", call)]
        command += [] if artifacts else ["without"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)
        found.append(json.loads(done.stdout))
    imports, calls, checked = zip(*found, strict=True)
    return {"import_ms": statistics.median(imports), "call_ms": statistics.median(calls), "checked": any(checked)}


def main() -> None:
    """Measure all calls in the three ways, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, call in CALLS.items():
            ways = {"artifacts": measured(call, f"{folder}/empty", options.rounds, artifacts=True)}
            ways["compiled"] = measured(call, f"{folder}/{name}", 1, artifacts=False)
            ways["cached"] = measured(call, f"{folder}/{name}", options.rounds, artifacts=False)
            results[name] = ways
            line = "  ".join(
                f"{way} {one['call_ms']:7.1f} ms (+ import {one['import_ms']:.0f})" for way, one in ways.items()
            )
            print(f"{name:9} {line}{'  CHECKED: no artifact' if ways['artifacts']['checked'] else ''}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
