"""Random calls of attention, its backward, packed sequences and decoding, beside float64, in several processes.

    python -m tests.gpu.random_attention [--kinds 12] [--calls 1000] [--jobs 8] [--seconds 60] [FUNCTION ...]

Needs a GPU and torch. A seed decides what chooses kernels, so that there are few to compile; a number decides shapes, strides and
whatever else kernels take as they come. Of each function so many calls run, with so many seeds, but none begins after so many
seconds. It prints how many ran, and the function, seed and number of each that failed, and ends with 1 if one did.
"""

from __future__ import annotations

import argparse
import importlib
import multiprocessing
import sys
import time

FUNCTIONS = {
    "forward": "attention",
    "backward": "attention_backward",
    "packed": "attention_packed",
    "decode": "attention_decode",
}
"""The tests that have `check_random`."""
Kind = tuple[str, int, int, float]
"""A function, a seed, how many calls, and when none begins any more."""


def run_kind(kind: Kind) -> tuple[str, int, list[str]]:
    """Return the function, how many calls ran, and what is to be said of those that failed."""
    name, seed, calls, end = kind
    module = importlib.import_module(f"tests.gpu.test_{FUNCTIONS[name]}")
    failed, ran = [], 0
    while ran < calls and time.time() < end:
        try:
            module.check_random(seed, ran)
        except Exception as wrong:  # of any kind: it is told, and others go on
            what = " ".join(f"{type(wrong).__name__}: {wrong}".split())
            failed.append(f"FAILED {name}: check_random({seed}, {ran}): {what[:300]}")
        ran += 1
    return name, ran, failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("functions", nargs="*", default=[*FUNCTIONS], metavar="FUNCTION", help=", ".join(FUNCTIONS))
    parser.add_argument("--kinds", type=int, default=12, help="seeds of each function")
    parser.add_argument("--calls", type=int, default=1000, help="calls of each function")
    parser.add_argument("--jobs", type=int, default=8, help="processes")
    parser.add_argument("--seconds", type=float, default=60.0, help="begin nothing more after this")
    options = parser.parse_args()
    begin = time.time()
    each = -(-options.calls // options.kinds)
    kinds = [(name, seed, each, begin + options.seconds) for seed in range(options.kinds) for name in options.functions]
    many, failures = dict.fromkeys(options.functions, 0), 0
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
        for name, ran, failed in pool.imap_unordered(run_kind, kinds):
            many[name] += ran
            failures += len(failed)
            print(*failed, sep="\n", end="\n" * bool(failed), flush=True)
    told = ", ".join(f"{name} {number}" for name, number in many.items())
    print(f"{sum(many.values())} calls, {failures} failed, {time.time() - begin:.0f} s: {told}", flush=True)
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
