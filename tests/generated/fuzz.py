"""The long runs: generated programs, each verified as verify.py says, and mutants; with figures.

    python -m tests.generated.fuzz --programs 100000 --first 1000000 --seconds 7200
    python -m tests.generated.fuzz --mutants 100        of so many programs, and of all kernels that people wrote
    python -m tests.generated.fuzz --device ..          besides, each is run on the GPU, to the same results (on_device.py)

A program is known by its seed alone, and `python -m tests.generated.show SEED` prints it. Without `--first`, seeds go on
where the last run in figures.json ended. Figures are written as they grow, so a run may be ended at any time.
"""

from __future__ import annotations

import argparse
import faulthandler
import gc
import json
import os
import platform
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.generated.mutants import Fate, fates, mutants_of_files, mutants_of_program
from tests.generated.on_device import INTERNAL, SLOW, LostError, Made, launch, silent
from tests.generated.programs import VERSION, program
from tests.generated.verify import accepted, verified

FIGURES = Path(__file__).with_name("figures.json")
FIRST = 1_000_000
DEVICE = "--device" in sys.argv
"""Whether programs are run on the GPU besides: known to all processes, which have this command line."""
LOST = False
"""Whether the GPU stopped in a program of this process."""
PATIENCE = 120
"""Seconds that a chunk may take."""
PARTS = 16
"""Into how many parts the kernels that people wrote are divided, for the processes."""
BATCH, CHUNK, RENEWED, THOROUGH = 128, 128, 8, 64 if DEVICE else 32
"""Programs that NVRTC gets together; those of a process's chunk, and chunks of a process; one of so many is looked at closely."""


@dataclass
class Report:
    """What some seeds showed. `failures`: the seed, what went wrong, and the program; `other`: what is no fault of ours."""

    seeds: range
    lines: int = 0
    seconds: float = 0.0
    rules: Counter[str] = field(default_factory=Counter)
    failures: list[dict[str, Any]] = field(default_factory=list)
    other: Counter[str] = field(default_factory=Counter)


def examine(seeds: range) -> Report:
    """Verify the programs of some seeds; NVRTC gets them in batches."""
    report, begun = Report(seeds), time.process_time()
    for first in range(seeds.start, seeds.stop, BATCH):
        batch(range(first, min(first + BATCH, seeds.stop)), report)
    report.seconds = time.process_time() - begun
    return report


def batch(seeds: range, report: Report) -> None:
    """Verify the programs of some seeds, and have NVRTC compile them all at once."""
    made: dict[int, Made] = {}
    for seed in seeds:
        generated = program(seed)
        report.rules.update(set(generated.rules))
        report.lines += generated.text.count("\n")
        try:
            made[seed] = Made(seed, generated, *verified(generated, seed=seed, thorough=seed % THOROUGH == 0))
        except Exception as error:  # whatever it is, the program shows it
            found = f"{type(error).__name__}: {error}"
            report.failures.append({"seed": seed, "found": found[:4000], "program": generated.text})
    order = list(made)
    refused = {} if DEVICE else accepted([one.entry.source for one in made.values()])
    for k, log in refused.items():
        if log.startswith("AssemblerError"):
            report.other[INTERNAL] += 1
            continue
        found = f"NVRTC refuses it\n{log[:4000]}"
        report.failures.append({"seed": order[k], "found": found, "program": program(order[k]).text})
    if DEVICE:
        for seed, found in on_gpu(list(made.values()), report).items():
            report.other[found] += 1
            if found not in (SLOW, INTERNAL):
                report.failures.append({"seed": seed, "found": found, "program": program(seed).text})


def on_gpu(made: list[Made], report: Report) -> dict[int, str]:
    """Launch programs; after one that stopped the GPU, this process launches no more, and counts those it left out."""
    global LOST
    if LOST:
        report.other["not launched"] += len(made)
        return {}
    found: dict[int, str] = {}
    try:
        launch(made, found)
    except LostError as error:
        LOST, found[error.seed] = True, str(error)
        report.other["not launched"] += sum(1 for one in made if one.seed > error.seed)
    return found


# -- many processes -------------------------------------------------------------------------------------------------------


def quiet() -> None:
    """Make a process ready: the collector runs between chunks only, and does not look at what was there before."""
    faulthandler.enable()
    if DEVICE:
        silent()
    gc.freeze()
    gc.disable()


def task(seeds: range) -> Report:
    """Examine some seeds in a process of the pool; one that hangs says where, and ends."""
    faulthandler.dump_traceback_later(PATIENCE, exit=True)
    report = examine(seeds)
    gc.collect()
    return report


def reports(first: int, programs: int, seconds: float, processes: int) -> Iterator[Report]:
    """Yield reports of chunks, in the order in which they end; no new one is begun after so many seconds.

    Processes are renewed after some chunks each: the compiler's caches, and NVRTC's, only grow. Where one ends before its
    chunk, the chunks of all are examined again, alone.
    """
    begun, end = time.monotonic(), first + programs
    todo = deque(range(at, min(at + CHUNK, end)) for at in range(first, end, CHUNK))
    while todo and time.monotonic() - begun < seconds:
        lost: list[range] = []
        running: dict[Future[Report], range] = {}
        room = RENEWED * processes
        with ProcessPoolExecutor(processes, initializer=quiet) as pool:
            while True:
                while todo and room and not lost and len(running) < processes and time.monotonic() - begun < seconds:
                    room -= 1
                    try:
                        future = pool.submit(task, todo[0])
                    except BrokenProcessPool:
                        break
                    running[future] = todo.popleft()
                if not running:
                    break
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    chunk = running.pop(future)
                    if isinstance(future.exception(), BrokenProcessPool):
                        lost.append(chunk)
                    else:
                        yield future.result()
        for chunk in lost:
            yield from alone(chunk)


def alone(seeds: range) -> Iterator[Report]:
    """Examine seeds in a process of their own; where that ends, halves of them, down to the program that ends it."""
    with ProcessPoolExecutor(1, initializer=quiet) as pool:
        try:
            yield pool.submit(task, seeds).result()
            return
        except BrokenProcessPool:
            pass
    if len(seeds) > 1:
        for half in (seeds[: len(seeds) // 2], seeds[len(seeds) // 2 :]):
            yield from alone(half)
    else:
        found = {"seed": seeds.start, "found": "it ends the process", "program": program(seeds.start).text}
        yield Report(seeds, failures=[found])


def figures_of(total: Report, begun: float, processes: int) -> dict[str, Any]:
    """Return the figures of a run so far."""
    seconds = time.monotonic() - begun
    return {
        **origin(),
        "processes": processes,
        "seeds": [total.seeds.start, total.seeds.stop],
        "programs": len(total.seeds),
        "lines": total.lines,
        "seconds": round(seconds, 1),
        "processor seconds": round(total.seconds, 1),
        "programs a second": round(len(total.seeds) / seconds, 1),
        "verified": "checker, barriers, 3 schedules with all checks, NVRTC to machine code",
        "one of so many under all schedules, without checks, and built twice": THOROUGH,
        "programs a rule": dict(sorted(total.rules.items())),
        "besides": dict(total.other),
        "failures": total.failures,
    }


def origin() -> dict[str, Any]:
    """Return where figures come from."""
    command = " ".join(["python -m tests.generated.fuzz", *sys.argv[1:]])
    return {"command": command, "revision": revision(), "generator": VERSION, "python": platform.python_version()}


def revision() -> str:
    """Return the commit, and whether the tree has changed since."""
    found = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=12"],
        capture_output=True,
        text=True,
        cwd=FIGURES.parent,
        check=False,
    )
    return found.stdout.strip() or "unknown"


def fuzz(
    first: int, programs: int, seconds: float, processes: int, save: Callable[[dict[str, Any]], None] = lambda _: None
) -> dict[str, Any]:
    """Examine so many seeds from `first` on, or as many as the time allows, and return the figures."""
    begun = said = time.monotonic()
    total = Report(range(first, first))
    for report in reports(first, programs, seconds, processes):
        total.seeds = range(first, total.seeds.stop + len(report.seeds))  # all that were begun will end
        total.lines += report.lines
        total.seconds += report.seconds
        total.rules += report.rules
        total.failures += report.failures
        total.other += report.other
        if time.monotonic() - said > 20:
            said = time.monotonic()
            save(figures := figures_of(total, begun, processes))
            rate, wrong = figures["programs a second"], len(total.failures)
            print(f"{len(total.seeds):8} programs, {rate} a second, {wrong} failures", file=sys.stderr, flush=True)
    figures = figures_of(total, begun, processes)
    save(figures)
    return figures


# -- mutants --------------------------------------------------------------------------------------------------------------


def mutated(job: tuple[str, int]) -> tuple[str, list[Fate]]:
    """Return what became of the mutants of one program, or of one of the parts of what people wrote."""
    kind, number = job
    made = mutants_of_program(number, 999) if kind == "programs" else mutants_of_files(1, 999, number, PARTS)
    found = list(fates(made))
    gc.collect()
    return kind, found


def fuzz_mutants(first: int, programs: int, processes: int) -> dict[str, Any]:
    """Make mutants, each operator once on each function, and return the figures."""
    begun = time.monotonic()
    jobs = [*(("written", k) for k in range(PARTS)), *(("programs", seed) for seed in range(first, first + programs))]
    codes: dict[str, Counter[str]] = {"written": Counter(), "programs": Counter()}
    operators, wrong = Counter[str](), list[str]()
    with ProcessPoolExecutor(processes, initializer=quiet) as pool:
        for kind, found in pool.map(mutated, jobs):
            codes[kind].update(fate.code for fate in found)
            operators.update(fate.operator for fate in found)
            wrong += [fate.wrong for fate in found if fate.wrong]
    return {
        **origin(),
        "seeds": [first, first + programs],
        "seconds": round(time.monotonic() - begun, 1),
        "mutants": operators.total(),
        "of kernels that people wrote": dict(sorted(codes["written"].items())),
        "of generated programs": dict(sorted(codes["programs"].items())),
        "operators": dict(sorted(operators.items())),
        "failures": wrong,
    }


# -- the figures' file ----------------------------------------------------------------------------------------------------


def load(out: Path) -> dict[str, Any]:
    """Return what the figures' file has: `runs` of programs, and the last run of mutants."""
    found: dict[str, Any] = json.loads(out.read_text()) if out.exists() else {}
    return {"runs": [], **found}


def write(out: Path, known: dict[str, Any], run: dict[str, Any]) -> None:
    """Put a run's figures after those of earlier runs, with the sums of all."""
    every = [*known["runs"], run]
    sums = {
        name: round(sum(r[name] for r in every), 1) for name in ("programs", "lines", "seconds", "processor seconds")
    }
    sums["failures"] = sum(len(r["failures"]) for r in every)
    out.write_text(json.dumps({**known, "all": sums, "runs": every}, indent=1) + "\n")


def main_mutants(a: argparse.Namespace) -> int:
    """Make the mutants, and write their figures."""
    figures = fuzz_mutants(FIRST if a.first is None else a.first, a.mutants, a.processes)
    a.out.write_text(json.dumps({**load(a.out), "mutants": figures}, indent=1) + "\n")
    print(figures["mutants"], "mutants in", figures["seconds"], "seconds,", len(figures["failures"]), "failures")
    print("\n\n".join(figures["failures"][:10]))
    return 1 if figures["failures"] else 0


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=100_000)
    parser.add_argument("--mutants", type=int)
    parser.add_argument("--first", type=int)
    parser.add_argument("--device", action="store_true")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--out", type=Path, default=FIGURES)
    a = parser.parse_args()
    if a.mutants is not None:
        return main_mutants(a)
    known = load(a.out)
    same = [r["seeds"][1] for r in known["runs"] if r["generator"] == VERSION]
    first = a.first if a.first is not None else max(same, default=FIRST)
    figures = fuzz(first, a.programs, a.seconds, a.processes, lambda run: write(a.out, known, run))
    print({name: figures[name] for name in ("seeds", "programs", "seconds", "programs a second")})
    for failure in figures["failures"][:10]:
        print(f"\nseed {failure['seed']}: {failure['found'][:1500]}")
    return 1 if figures["failures"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
