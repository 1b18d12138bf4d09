"""Every algorithm's cases that have peers, beside CuPy and torch: one process, alternating rounds, medians.

    PYTHONPATH=. python asv_bench/algorithms.py [scan sum ...] [--sizes 20,24,28] [--rounds 9] [--json FILE]

Needs a GPU and CuPy; torch is left out where it is missing. The calls are those of the manifest's cases (prism/lib/cases.py), of
each case's usual dtype; sizes are of all elements of an operand. Calls make their results, and go to the default stream one after
the other: where the GPU takes longer than the host, that is the GPU's time. What takes microseconds the other scripts measure, in
graphs, beside CUB. Results of up to 2^24 elements are compared with the case's.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import prism
from prism.lib.cases import Case, cases

Call = Callable[[], Any]
CHECKED = 24  # the logarithm of the most elements that are checked
LAUNCHES = 20


def chosen(functions: Sequence[str]) -> list[Case]:
    """Return the cases that have peers, of some functions or of all."""
    return [case for case in cases() if case.peers and (not functions or case.function in functions)]


def shape_of(case: Case, log: int) -> tuple[int, ...]:
    """Return a case's shape for so many elements: of products, square matrices; of attention, some heads of 64 elements each."""
    axes = len(case.shapes[0])
    if axes == 4:
        rows = max(0, log - 6)
        return (1, 1 << rows // 3, 1 << rows - rows // 3, 64)
    return (1 << log,) if axes == 1 else (1 << log // 2,) * axes


def calls_of(case: Case, log: int, libraries: Mapping[str, Any], place: Callable[[Any], Any]) -> dict[str, Call]:
    """Return the calls that are measured, by the library's name, on arrays that `place` makes of NumPy's."""
    given = [place(x) for x in case.arrays(shape_of(case, log))]
    found: dict[str, Call] = {"prism": lambda: getattr(prism.lib, case.function)(*given, **case.options)}
    for name, library in libraries.items():
        if name in case.peers:
            mine = given if name == "cupy" else [library.as_tensor(x, device="cuda") for x in given]
            peer = case.peers[name]
            found[name] = lambda peer=peer, library=library, mine=mine: peer(library, *mine)
    return found


def medians(calls: Mapping[str, Call], rounds: int, seconds: Callable[[Call], float]) -> dict[str, float]:
    """Return the median seconds of each call. The order alternates: the second of two runs hotter."""
    names, times = list(calls), {name: list[float]() for name in calls}
    for number in range(rounds + 1):
        for name in names[:: 1 if number % 2 else -1]:
            measured = seconds(calls[name])
            if number:
                times[name].append(measured)
    return {name: statistics.median(found) for name, found in times.items()}


def main() -> None:
    """Measure, print a table, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("functions", nargs="*", help="of prism.lib (default: all that have a peer)")
    parser.add_argument("--sizes", default="20,24,28", help="logarithms to base 2")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    import cupy

    libraries: dict[str, Any] = {"cupy": cupy}
    try:
        import torch
    except ImportError:
        print("without torch")
    else:
        libraries["torch"] = torch

    def seconds(call: Call) -> float:
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        call()
        begin.record()
        for _ in range(LAUNCHES):
            call()
        end.record()
        end.synchronize()
        return float(cupy.cuda.get_elapsed_time(begin, end)) / LAUNCHES / 1e3

    rows = []
    print(f"{'call':24} {'size':>6} {'prism us':>10} {'cupy/prism':>11} {'torch/prism':>12}")
    for case in chosen(options.functions):
        for log in map(int, options.sizes.split(",")):
            calls = calls_of(case, log, libraries, cupy.asarray)
            if log <= CHECKED:
                found = cupy.asnumpy(calls["prism"]())
                assert np.array_equal(found, case.oracle(*case.arrays(shape_of(case, log)))), (str(case), log)
            times = medians(calls, options.rounds, seconds)
            rows.append({"case": str(case), "dtype": case.dtypes[0], "log2": log, **times})
            ratios = [f"{times[name] / times['prism']:.2f}" if name in times else "" for name in ("cupy", "torch")]
            print(
                f"{case!s:24} {f'2^{log}':>6} {times['prism'] * 1e6:10.2f} {ratios[0]:>11} {ratios[1]:>12}", flush=True
            )
            cupy.get_default_memory_pool().free_all_blocks()
    if options.json is not None:
        options.json.write_text(json.dumps({"algorithms": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
