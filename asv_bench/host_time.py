"""The host's time of warm calls, whatever the size, beside CuPy's and torch's: of every algorithm's cases.

    PYTHONPATH=. python asv_bench/host_time.py [scan sum ...] [--sizes 10,14,20] [--rounds 40]

Needs a GPU and CuPy; torch is left out where it is missing. The calls are those of the manifest's cases (prism/lib/cases.py) that
have peers, or take `out`, of each case's usual dtype; of those that take `out` one more with it. Calls that wait for the GPU have
its time in theirs.
`host_times` is what all benchmarks measure the host's time by.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Call = Callable[[], Any]

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


def calls_of(library: Any, functions: Sequence[str], log: int) -> dict[str, Call]:
    """Return what is measured with arrays of CuPy or torch, by name: cases of some functions, or of all."""
    import algorithms

    import prism
    from prism.lib.cases import cases

    place = library.asarray if library.__name__ == "cupy" else lambda x: library.as_tensor(x, device="cuda")
    found: dict[str, Call] = {}
    for case in cases():
        if not (case.peers or case.out) or (functions and case.function not in functions):
            continue
        calls = algorithms.calls_of(case, log, {library.__name__: library}, place)
        given = [place(x) for x in case.arrays(algorithms.shape_of(case, log))]
        function = getattr(prism.lib, case.function)
        found[str(case)] = written(function, given, case.options)
        if case.out and hasattr(room := found[str(case)](), "shape"):
            found[f"{case} (out=)"] = written(function, given, {**case.options, "out": room})
        if (peer := calls.get(library.__name__)) is not None:
            found[f"{library.__name__}: {case}"] = peer
    return found


def main(arguments: list[str] | None = None) -> None:
    """Print a table: a row a call, a column a size; the least of the batches, and their median."""
    import cupy

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("functions", nargs="*", help="of prism.lib (default: all)")
    parser.add_argument("--sizes", default="10,14,20", help="logarithms to base 2")
    parser.add_argument("--rounds", type=int, default=40)
    options = parser.parse_args(arguments)
    heads = [f"2^{log}" for log in options.sizes.split(",")]
    libraries: list[tuple[Any, Call]] = [(cupy, cupy.cuda.Device().synchronize)]
    try:
        import torch
    except ImportError:
        print("without torch")
    else:
        libraries.append((torch, torch.cuda.synchronize))
    for library, wait in libraries:
        columns = {head: calls_of(library, options.functions, int(head[2:])) for head in heads}
        calls = {f"{name} {head}": call for head, column in columns.items() for name, call in column.items()}
        found = batches(calls, wait, options.rounds)
        print(f"{library.__name__ + ': us, least (median)':34} {''.join(f'{head:>15}' for head in heads)}")
        for name in columns[heads[0]]:
            each = [found[f"{name} {head}"] for head in heads]
            cells = [f"{min(one) * 1e6:.2f} ({statistics.median(one) * 1e6:.2f})" for one in each]
            print(f"  {name:32} {''.join(f'{cell:>15}' for cell in cells)}", flush=True)


if __name__ == "__main__":
    main()
