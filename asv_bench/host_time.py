"""The host's time of warm calls, whatever the size, beside CuPy's and torch's: of every algorithm's cases.

    PYTHONPATH=. python asv_bench/host_time.py [scan sum ...] [--sizes 10,14,20] [--rounds 40] [--out] [--hold 6]

Needs a GPU and CuPy; torch is left out where it is missing. The calls are those of the manifest's cases (prism/lib/cases.py) that
have peers, or take `out`, of each case's usual dtype; of those that take `out` one more with it, with `--out` these alone. Calls
that wait for the GPU have its time in theirs. `--hold` fails where the least of a call with `out=` that does not wait is longer.
`host_times` is what all benchmarks measure the host's time by.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

Call = Callable[[], Any]

WAITING = ("compress", "digitize")
"""Functions that wait for the GPU though they have `out`: they raise NumPy's errors for what a kernel finds."""
OUT = " (out=)"
BATCH = 250
"""Calls between two waits for the GPU. The driver holds about 1,000 launches that the GPU has not begun, and then lets the host
wait: after so few calls there are never as many, even where the GPU takes longer for each than the host."""
ROUNDS = 8


def batch(call: Call, wait: Call, calls: int = BATCH) -> float:
    """Return the host's seconds a call, of a batch of them, begun when the GPU has nothing to do."""
    call()  # what other calls have put out of the caches is there again
    wait()
    began = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - began) / calls


def batches(calls: Mapping[str, Call], wait: Call, rounds: int = ROUNDS) -> dict[str, list[float]]:
    """Return the host's seconds for a warm call of each: of a batch in each round. A round is a batch of each call in turn.

    In turn, since the host's own speed changes within a run, by up to half: what slows it hits all calls alike. Python's own
    collection of garbage is off meanwhile.
    """
    for call in calls.values():
        for _ in range(2):  # the first decides and loads, the second packs what later ones launch
            call()
    collecting = gc.isenabled()
    gc.disable()
    try:
        found = [{name: batch(call, wait) for name, call in calls.items()} for _ in range(rounds)]
        wait()
    finally:
        if collecting:
            gc.enable()
    return {name: [one[name] for one in found] for name in calls}


def host_times(calls: Mapping[str, Call], wait: Call, rounds: int = ROUNDS) -> dict[str, float]:
    """Return the host's seconds for a warm call of each: the least of its batches.

    The least, since nothing makes a batch faster than its calls are, and much makes one slower: another process, an interrupt,
    memory that is taken back.
    """
    return {name: min(found) for name, found in batches(calls, wait, rounds).items()}


def host_time(call: Call, wait: Call) -> float:
    """Return the host's seconds for a warm call: the least of 8 batches of 250, with the GPU idle before each."""
    return host_times({"": call}, wait)[""]


def written(function: Callable[..., Any], given: Sequence[Any], options: Mapping[str, Any]) -> Call:
    """Return a call as its user writes it: `functools.partial` and `**options` would cost 0.2 us more."""
    names = [*(f"x{k}" for k in range(len(given))), *(f"{name}={name}_" for name in options)]
    around = {f"x{k}": x for k, x in enumerate(given)} | {f"{name}_": value for name, value in options.items()}
    found: Call = eval(f"lambda: function({', '.join(names)})", {"function": function, **around})
    return found


def calls_of(library: Any, functions: Sequence[str], log: int, *, out: bool = False) -> dict[str, Call]:
    """Return what is measured with arrays of CuPy or torch, by name: cases of some functions, or of all; with `out` alone."""
    import algorithms

    import prism
    from prism.lib.cases import cases

    place = library.asarray if library.__name__ == "cupy" else lambda x: library.as_tensor(x, device="cuda")
    found: dict[str, Call] = {}
    for case in cases():
        if not (case.peers or case.out) or (functions and case.function not in functions):
            continue
        if out and not case.out:
            continue
        given = [place(x) for x in case.arrays(algorithms.shape_of(case, log))]
        function = getattr(prism.lib, case.function)
        plain = written(function, given, case.options)
        if case.out and hasattr(room := plain(), "shape"):
            found[f"{case}{OUT}"] = written(function, given, {**case.options, "out": room})
        if out:
            continue
        found[str(case)] = plain
        calls = algorithms.calls_of(case, log, {library.__name__: library}, place)
        if (peer := calls.get(library.__name__)) is not None:
            found[f"{library.__name__}: {case}"] = peer
    return found


def learn(calls: Mapping[str, Call], wait: Call) -> None:
    """Make each call until no later one is made otherwise: in short runs, so that what is tried has ended."""
    for call in calls.values():
        for _ in range(8):
            for _ in range(10):
                call()
            wait()


def main(arguments: list[str] | None = None) -> int:
    """Print a table: a row a call, a column a size; the least of the batches, and their median. 1: a call takes too long."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("functions", nargs="*", help="of prism.lib (default: all)")
    parser.add_argument("--sizes", default="10,14,20", help="logarithms to base 2")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--out", action="store_true", help="calls with `out=` alone")
    parser.add_argument("--hold", type=float, help="microseconds that calls with `out=` may take")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    logs = [int(log) for log in options.sizes.split(",")]
    rows: list[dict[str, Any]] = []
    for library, wait in _libraries():
        columns = {log: calls_of(library, options.functions, log, out=options.out) for log in logs}
        calls = {f"{name} 2^{log}": call for log, column in columns.items() for name, call in column.items()}
        learn(calls, wait)
        found = batches(calls, wait, options.rounds)
        print(f"{library.__name__ + ': us, least (median)':34} {''.join(f'2^{log}'.rjust(15) for log in logs)}")
        for name in columns[logs[0]]:
            each = [[1e6 * seconds for seconds in found[f"{name} 2^{log}"]] for log in logs]
            cells = [f"{min(one):.2f} ({statistics.median(one):.2f})" for one in each]
            print(f"  {name:32} {''.join(f'{cell:>15}' for cell in cells)}", flush=True)
            rows += [
                {
                    "library": library.__name__,
                    "call": name,
                    "log2": log,
                    "us": min(one),
                    "median_us": statistics.median(one),
                }
                for log, one in zip(logs, each, strict=True)
            ]
    if options.json:
        options.json.write_text(json.dumps({"host_time": rows}, indent=1) + "\n")
    long = too_long(rows, options.hold) if options.hold else []
    for row in long:
        print(f"too long: {row['library']} {row['call']} of 2^{row['log2']}: {row['us']:.2f} us")
    return int(bool(long))


def too_long(rows: Sequence[Mapping[str, Any]], most: float) -> list[Mapping[str, Any]]:
    """Return the rows of calls with `out=` that don't wait, and take longer than so many microseconds."""
    held = [row for row in rows if row["call"].endswith(OUT) and row["call"].split()[0] not in WAITING]
    return [row for row in held if row["us"] > most]


def _libraries() -> list[tuple[Any, Call]]:
    import cupy

    found: list[tuple[Any, Call]] = [(cupy, cupy.cuda.Device().synchronize)]
    try:
        import torch
    except ImportError:
        print("without torch")
    else:
        found.append((torch, torch.cuda.synchronize))
    return found


if __name__ == "__main__":
    sys.exit(main())
