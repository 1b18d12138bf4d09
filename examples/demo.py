"""`make demo`: a scan written in Prism, run on this machine, with the barriers that the compiler inferred, and why.

python examples/demo.py [--size 1048576]
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from pathlib import Path

import numpy as np

import prism
from prism.interpret import MachineError, run
from prism.kernels.scan import Configuration
from prism.kernels.scan import scan as kernel
from prism.lang.tree.plan import Barrier, Program
from prism.lib.thread import operators

ROOT = Path(__file__).parent.parent


def title(text: str) -> None:
    """Print a heading."""
    print(f"\n{text}\n{'-' * len(text)}", flush=True)


def on_real_input() -> None:
    """Where each line of this project's licence starts: the exclusive sum of the lines' lengths."""
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    starts = prism.lib.scan(np.array([len(line) for line in lines]), exclusive=True)
    assert all(text.startswith(line, start) for line, start in zip(lines, starts, strict=True))
    print(
        f"LICENSE has {len(lines)} lines; each starts where the scan of their lengths says, as line {len(lines)} at {starts[-1]}."
    )


def on_random_input(size: int) -> None:
    """A larger scan, compared with NumPy's, on the CPU and on a GPU if there is one."""
    x = np.random.default_rng(0).integers(-(2**31), 2**31 - 1, size, dtype=np.int32)
    start = time.perf_counter()
    y = prism.lib.scan(x)
    first = time.perf_counter() - start
    start = time.perf_counter()
    y = prism.lib.scan(x)
    warm = time.perf_counter() - start
    assert np.array_equal(y, np.cumsum(x, dtype=np.int32))
    print(
        f"{size} random int32 on the reference machine: as NumPy's, in {first:.2f} s with compilation, {warm:.2f} s warm."
    )
    try:
        import cupy

        z = prism.lib.scan(cupy.asarray(x))
    except Exception as reason:  # no CuPy, no driver, no GPU: whatever it is, the demo goes on without
        print(f"No GPU here ({type(reason).__name__}): the same kernel, as machine code, would run on a CuPy array.")
    else:
        assert np.array_equal(cupy.asnumpy(z), y)
        print("The same on the GPU: as NumPy's.")


def show(program: Program, barrier: Barrier) -> None:
    """Print one barrier, the line that it stands before, and the two accesses that force it."""
    path = Path(barrier.before.span.file)
    line = path.read_text(encoding="utf-8").splitlines()[barrier.before.span.line - 1].strip()
    threads = {"block": "the block", "warp": "the warp"}.get(barrier.kind, str(barrier.unit))
    print(f"{path.relative_to(ROOT)}:{barrier.before.span.line}: {threads} waits before  {line[:70]}")
    trip = ", in the next trip of the loop" if barrier.loop else ""
    for access, word, end in ((barrier.first, "since", ","), (barrier.second, "  and", trip)):
        print(f"    {word} line {access.span.line} {access.kind}s {access.root.name} as {access.text}{end}")


def without(program: Program, barrier: Barrier) -> str:
    """Return what the reference machine says of the program without one of its barriers."""
    mutant = next(program.with_plan(p.drop_step(barrier)) for p in program.plans.values() if barrier in p.barriers)
    x = np.arange(2000, dtype=np.int32)
    for schedule in ("round-robin", "reversed", "random"):
        scratch = (np.zeros(64, np.uint64), 64, np.zeros(1, np.uint64))
        arguments = (x, np.zeros_like(x), x.size, 0, -1, False, 0, 0, *scratch)
        try:
            run(mutant, 2, 64, arguments, check=True, schedule=schedule)
        except MachineError as error:
            return str(error)
    return "nothing found"


def main() -> int:
    """Run the demo."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", type=int, default=1 << 20)
    size = parser.parse_args().size

    configuration = Configuration(threads=64, items=4, width=2, blocks=1)
    template = {
        "TI": "int32",
        "T": "int32",
        "TO": "int32",
        "OP": operators.add,
        "STABLE": False,
        **configuration.template(),
    }
    template |= {"EXCLUSIVE": False, "REVERSE": False}
    start = time.perf_counter()
    program = prism.check(kernel, template)
    seconds = time.perf_counter() - start

    title("A single-pass scan, written in Prism (kernels/scan/single_pass.py)")
    on_real_input()
    on_random_input(size)
    barriers = list(itertools.chain.from_iterable(plan.barriers for plan in program.plans.values()))
    title(f"Nobody wrote a barrier. The compiler inferred {len(barriers)}, in {seconds:.2f} s with all its checks:")
    for barrier in barriers:
        show(program, barrier)

    title("Each is needed. Without the first one the reference machine says:")
    print(without(program, barriers[0]))
    caught = sum(without(program, barrier) != "nothing found" for barrier in barriers)
    print(f"\nDeleting one barrier at a time: {caught} of {len(barriers)} deletions are found as races.")
    print("More: prism explain prism.kernels.scan.single_pass:scan")
    return 0 if caught == len(barriers) else 1


if __name__ == "__main__":
    sys.exit(main())
