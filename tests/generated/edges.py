"""Programs at the edges of what can be proved: many small ones of a kind, each with an oracle that knows what it must do.

    python -m tests.generated.edges --kind roles --count 100000 --jobs 16       check, and run on the reference machine
    python -m tests.generated.edges --kind roles --count 2000 --jobs 4 --device     besides, on the GPU, with a watchdog
    python -m tests.generated.edges --kind roles --show 17                      print a program, and what became of it
    python -m tests.generated.edges --kind all --count 1000 --json edges.json   every kind; counts and failures to a file
    python -m tests.generated.edges --kind async --count 100000 --seconds 600   as many as are done in that time

A kind is a module `edge_<kind>.py` with `program(seed) -> Edge` (edges_verify.py has Edge, and what becomes of one). It may have
`verify(seed) -> Outcome` of its own instead of the usual one. A program is known by its kind and its seed.

Outcomes: `right` (accepted, with the right result under every schedule), `refused` (by its code), `too strict` (refused, though
the oracle knows it to be legal), `reported` (accepted with a word in the safety report, and the machine found a fault). All else
is a FAILURE: accepted and racing, hanging or wrong; the compiler or the machine ended otherwise than by an error of theirs; the
GPU's results are others, or it hangs.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import multiprocessing
import os
import sys
import time
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from tests.generated.edges_verify import FAILED, HERE, Outcome, module_of, verify

KINDS = tuple(sorted(path.stem.removeprefix("edge_") for path in HERE.glob("edge_*.py")))
CHUNK = 256
"""Programs of one process: its caches only grow."""
COLLECTED = 32
"""Programs after which a process looks for cycles: its memory stays below 200 MB."""
PATIENCE = 300
"""Seconds that one program may take, on a machine that is busy."""
SHOWN = 10
"""Failures that are printed as they come, and seeds of a list."""


@dataclass
class Report:
    """What became of the programs of a kind; `listed`: the seeds that somebody should look at, with what was found.

    `asked`: how many should be verified, `count`: how many were; all before `next` are among them.
    """

    kind: str
    first: int
    asked: int = 0
    count: int = 0
    next: int = 0
    seconds: float = 0.0
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[dict[str, Any]] = field(default_factory=list)
    listed: dict[str, list[int]] = field(default_factory=dict)
    ahead: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.next = self.first

    def add(self, seed: int, outcome: Outcome) -> None:
        """Count one program."""
        self.count += 1
        self.ahead.add(seed)
        while self.next in self.ahead:
            self.ahead.remove(self.next)
            self.next += 1
        self.outcomes[outcome.named] += 1
        if outcome.kind == FAILED:
            self.failures.append({"seed": seed, "found": outcome.found})
        elif outcome.kind not in ("right", "refused"):
            self.listed.setdefault(outcome.named, []).append(seed)

    def lines(self) -> Iterator[str]:
        """Say it."""
        rate = self.count / max(self.seconds, 1e-9)
        seeds = f"seeds {self.first} to {self.next - 1}" + (f" and {len(self.ahead)} behind them" if self.ahead else "")
        yield f"{self.kind}: {self.count} programs, {seeds}, {self.seconds:.1f} s, {rate:.0f} a second"
        if self.count < self.asked:
            yield f"  stopped in time: {self.asked - self.count} programs are left, --first {self.next} goes on"
        for name, number in self.outcomes.most_common():
            yield f"  {number:8} {name}"
        for name, seeds in self.listed.items():
            more = " .." if len(seeds) > SHOWN else ""
            yield f"  {name}: seeds {', '.join(map(str, seeds[:SHOWN]))}{more}"
        for failure in self.failures:
            yield f"  FAILURE seed {failure['seed']}: {failure['found'].splitlines()[0]}"

    def figures(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {key: value for key, value in vars(self).items() if key != "ahead"}


# -- processes --------------------------------------------------------------------------------------------------------------


def work(pipe: Connection, kind: str, seeds: range, device: bool) -> None:
    """Verify some seeds, in a process of its own, and tell of each before and after."""
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)  # what kernels print
    gc.freeze()
    gc.disable()  # a sixth of the time, and most programs leave few cycles
    for number, seed in enumerate(seeds, 1):
        if number % COLLECTED == 0:
            gc.collect()
        pipe.send((seed, None))
        outcome = verify(kind, seed, device=device)
        pipe.send((seed, outcome))
        if outcome.lost:
            os._exit(0)  # the driver would wait for what hangs
    pipe.close()


@dataclass(eq=False)
class Worker:
    """A process, and what it is at."""

    process: BaseProcess
    pipe: Connection
    seeds: range
    at: int | None = None
    since: float = field(default_factory=time.monotonic)


def start(kind: str, seeds: range, device: bool) -> Worker:
    """Start a process: a fresh one where the GPU is used, whose driver does not outlive a fork."""
    context = multiprocessing.get_context("spawn" if device else "fork")
    mine, theirs = context.Pipe(duplex=False)
    process = context.Process(target=work, args=(theirs, kind, seeds, device), daemon=True)
    process.start()
    theirs.close()
    return Worker(process, mine, seeds)


def outcomes(
    kind: str, first: int, count: int, jobs: int, *, device: bool = False, until: float = math.inf
) -> Iterator[tuple[int, Outcome]]:
    """Yield what became of each seed. A process that ends or hangs in a program is a failure of that program; others go on.

    At the time `until` no process is started any more, and those that run are ended: what they were at counts as not done.
    """
    end = first + count
    size = max(1, min(CHUNK, -(-count // (4 * max(jobs, 1)))))  # none is long busy after all others
    todo = deque(range(at, min(at + size, end)) for at in range(first, end, size))
    running: list[Worker] = []
    try:
        while (todo or running) and time.monotonic() < until:
            while todo and len(running) < jobs:
                running.append(start(kind, todo.popleft(), device))
            wait([worker.pipe for worker in running], timeout=1)
            for worker in list(running):
                found = list(heard(worker))
                yield from found
                if worker.pipe.closed:
                    running.remove(worker)
                    done = found[-1][0] + 1 if found else worker.at
                    rest = range(worker.seeds.start if done is None else done, worker.seeds.stop)
                    if rest:
                        todo.append(rest)
    finally:
        for worker in running:
            worker.process.kill()


def heard(worker: Worker) -> Iterator[tuple[int, Outcome]]:
    """Yield what a process has told; its end, and too long a silence, are told of too, and then its pipe is closed."""
    try:
        while worker.pipe.poll():
            seed, outcome = worker.pipe.recv()
            worker.since, worker.at = time.monotonic(), seed
            if outcome is not None:
                worker.at = seed + 1
                yield seed, outcome
    except EOFError:
        worker.process.join(5)
        status = worker.process.exitcode  # None: it cannot end, for it waits for the GPU
        worker.process.kill()
        worker.pipe.close()
        if worker.at is None:
            raise RuntimeError(f"a process ended before its first program, with status {status}") from None
        if status and worker.at < worker.seeds.stop:
            yield worker.at, Outcome(FAILED, f"it ends the process, with status {status}")
        return
    if time.monotonic() - worker.since > PATIENCE and worker.at is not None:
        worker.process.kill()
        worker.process.join()
        worker.pipe.close()
        yield worker.at, Outcome(FAILED, f"it is not done after {PATIENCE} seconds")


def report(
    kind: str,
    first: int,
    count: int,
    jobs: int = 1,
    *,
    device: bool = False,
    say: bool = False,
    seconds: float = math.inf,
) -> Report:
    """Verify the programs of some seeds, or as many of them as are done in some seconds."""
    found, begun = Report(kind, first, asked=count), time.monotonic()
    said = begun
    for seed, outcome in outcomes(kind, first, count, jobs, device=device, until=begun + seconds):
        found.add(seed, outcome)
        found.seconds = time.monotonic() - begun
        if say and outcome.kind == FAILED and len(found.failures) <= SHOWN:
            print(f"FAILURE {kind} seed {seed}: {outcome.found[:2000]}", flush=True)
        if say and time.monotonic() - said > 20:
            said = time.monotonic()
            print(f"{kind}: {found.count} programs, {len(found.failures)} failures", file=sys.stderr, flush=True)
    return found


def show(kind: str, seed: int, device: bool) -> int:
    """Print a program, and what becomes of it."""
    print(module_of(kind).program(seed).text)
    outcome = verify(kind, seed, device=device)
    print(f"# seed {seed}: {outcome.named}\n{outcome.found}")
    return 1 if outcome.kind == FAILED else 0


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=(*KINDS, "all"), default="all")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=math.inf, help="stop after so many, for each kind")
    parser.add_argument("--device", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--show", type=int, metavar="SEED")
    a = parser.parse_args()
    kinds = KINDS if a.kind == "all" else (a.kind,)
    if a.show is not None:
        return max(show(kind, a.show, a.device) for kind in kinds)
    found = []
    for kind in kinds:
        found.append(report(kind, a.first, a.count, a.jobs, device=a.device, say=True, seconds=a.seconds))
        print("\n".join(found[-1].lines()), flush=True)
        if a.json is not None:
            a.json.write_text(json.dumps([one.figures() for one in found], indent=1) + "\n")
    return 1 if any(one.failures for one in found) else 0


if __name__ == "__main__":
    raise SystemExit(main())
