"""The long runs: generated programs, mutants of them, and every program up to a size; with figures.

    python -m tests.theory.bundl.fuzz random --programs 1000000 --seconds 3600     two processes, into figures.json
    python -m tests.theory.bundl.fuzz every --size 6 --seconds 7200
    python -m tests.theory.bundl.fuzz kernels --programs 50000                     Prism's checker against the calculus
    python -m tests.theory.bundl.fuzz merge OTHER.json                             put another file's figures into figures.json
    python -m tests.theory.bundl.fuzz add OTHER.json                               add those of other seeds to what is there

A program is known by its seed alone: `made(seed)`. Figures are written as they grow, so a run may be ended at any time.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

from theory.bundl.every import Root, programs
from theory.bundl.generate import program
from theory.bundl.mutants import fate, mutant
from theory.bundl.perspectives import Shape
from theory.bundl.soundness import Report, explore, failures, sample
from theory.bundl.syntax import Program, length
from theory.bundl.text import show
from theory.bundl.typing import check_program, corrected

FIGURES = Path(__file__).with_name("figures.json")
SMALL = [Shape(1, 2), Shape(1, 2), Shape(2, 1), Shape(1, 3), Shape(1, 4)]
LARGE = [Shape(1, 4), Shape(2, 2), Shape(2, 4), Shape(1, 6), Shape(3, 2), Shape(1, 8), Shape(4, 2)]
ROOTS = [Root("thread", Shape(1, 2)), Root("block", Shape(1, 2)), Root("grid", Shape(2, 1)), Root("grid", Shape(1, 2))]
Figures = dict[str, Any]


def made(seed: int) -> tuple[Program, Shape, Random, bool]:
    """Return the program of a seed: most are small, one of four may race."""
    rng = Random(seed)
    racy = seed % 4 == 0
    small = rng.random() < 0.85
    shape = rng.choice(SMALL if small else LARGE)
    fuel = rng.randint(3, 10) if small else 8 + int(40 * rng.random() ** 2)
    return program(rng, shape, fuel, racy), shape, rng, racy


def examine(seed: int, figures: Figures, used: set[str]) -> list[str]:
    """Run the program of a seed, and a mutant of it at times, and count what they show. Return what must not be."""
    term, shape, rng, racy = made(seed)
    check_program(corrected, term, shape, used)
    how = seed % 16
    if seed % 32 == 1 and length(term) < 30:
        how = 16
    report = explore(term, shape, 1500) if how == 16 else sample(term, shape, rng, 2 if how % 4 == 0 else 1)
    count(figures, report)
    figures["sizes"][f"{length(term) // 20 * 20}+"] += 1
    figures["ways"]["every schedule" if how == 16 else "two schedules" if how % 4 == 0 else "one schedule"] += 1
    if how in (2, 9):
        other = mutant(term, shape, rng)
        if other is not None:
            figures["mutants"][fate(other[0], shape, rng)] += 1
            figures["mutants of"][other[1]] += 1
    found = failures(report)
    return found if racy or not report.race else [*found, "a race in a program made without"]


def count(figures: Figures, report: Report) -> None:
    """Add what a program showed."""
    figures["programs"] += 1
    figures["states"] += report.states
    figures["races"] += report.race
    figures["ends"].update(report.ends)
    figures["steps"].update(report.rules)


def empty() -> Figures:
    """Return figures of nothing."""
    counters = {name: Counter() for name in ("sizes", "ways", "ends", "steps", "mutants", "mutants of")}
    return {"programs": 0, "states": 0, "races": 0, "failures": [], "typing rules": [], "seconds": 0.0, **counters}


def random_shard(
    shard: int, of: int, first: int, programs_: int, seconds: float, save: Callable[[Figures], None]
) -> Figures:
    """Examine the seeds first + shard, first + shard + of, .."""
    figures, used, begun = empty(), set[str](), time.monotonic()
    seed = first + shard
    while seed < first + programs_ and time.monotonic() - begun < seconds:
        found = examine(seed, figures, used)
        if found:
            figures["failures"].append({"seed": seed, "found": found[:3], "program": show(made(seed)[0])})
        if figures["programs"] % 500 == 0:
            _stamp(figures, used, begun, save, [first + shard, seed, of])
        seed += of
    return _stamp(figures, used, begun, save, [first + shard, seed, of])


def _stamp(
    figures: Figures, used: set[str], begun: float, save: Callable[[Figures], None], seeds: list[int]
) -> Figures:
    figures["seconds"] = round(time.monotonic() - begun, 1)
    figures["typing rules"] = sorted(used)
    figures["seeds"] = {"from": seeds[0], "below or at": seeds[1], "by": seeds[2]}
    save(figures)
    return figures


def every_shard(shard: int, of: int, size: int, seconds: float, save: Callable[[Figures], None]) -> Figures:
    """Explore each of the programs up to that size whose number this shard has."""
    figures, begun = {**empty(), "complete": {}}, time.monotonic()
    used: set[str] = set()
    for root, n in _rooms(size):
        whole = 0
        for place, term in enumerate(programs(root, n)):
            if place % of != shard:
                continue
            if time.monotonic() - begun > seconds:
                return _stamp(figures, used, begun, save, [0, 0, of])
            check_program(corrected, term, root.shape, used)
            report = explore(term, root.shape, 4000)
            count(figures, report)
            whole += 1
            found = [*failures(report), *(["a race"] if report.race else [])]
            if found:
                figures["failures"].append({"root": str(root), "found": found[:3], "program": show(term)})
            if figures["programs"] % 500 == 0:
                _stamp(figures, used, begun, save, [0, 0, of])
        figures["complete"][f"{root.level} {root.shape.blocks}x{root.shape.threads} size {n}"] = whole
    return _stamp(figures, used, begun, save, [0, 0, of])


def kernels_shard(
    shard: int, of: int, first: int, programs_: int, seconds: float, save: Callable[[Figures], None]
) -> Figures:
    """Compare Prism's checker with the calculus on the kernels of this shard's seeds, and what one of ten leaves in memory."""
    from tests.theory.bundl.test_prism import compare, verdict  # needs NumPy and all of Prism

    figures, begun, seed = empty(), time.monotonic(), first + shard
    while seed < first + programs_ and time.monotonic() - begun < seconds:
        with tempfile.TemporaryDirectory() as folder:
            said, found = verdict(seed, (seed % 4) * 0.25, Path(folder))
            if seed % 10 == shard:
                found += compare(seed, Path(folder))
                figures["ways"]["ran"] += 1
        figures["programs"] += 1
        figures["ends"][said] += 1
        if found:
            figures["failures"].append({"seed": seed, "found": found})
        if figures["programs"] % 100 == 0:
            _stamp(figures, set(), begun, save, [first + shard, seed, of])
        seed += of
    return _stamp(figures, set(), begun, save, [first + shard, seed, of])


def _rooms(size: int) -> Iterator[tuple[Root, int]]:
    return ((root, n) for n in range(1, size + 1) for root in ROOTS)


def merged(parts: list[Figures]) -> Figures:
    """Add up the figures of several shards."""
    total: Figures = {"shards": len(parts)}
    for part in parts:
        for name, value in part.items():
            if isinstance(value, dict) and name != "seeds":
                total[name] = dict(sorted((Counter(total.get(name, {})) + Counter(value)).items()))
            elif name == "typing rules":
                total[name] = sorted({*total.get(name, []), *value})
            elif name == "seeds":
                total.setdefault(name, []).append(value)
            elif name == "seconds":
                total[name] = max(total.get(name, 0.0), value)
            else:
                total[name] = value + total[name] if name in total else value
    for name in ("complete",):  # a size is complete once each shard has done its part
        if name in total:
            total[name] = {room: n for room, n in total[name].items() if all(room in part[name] for part in parts)}
    return total


def run(kind: str, of: int, out: Path, make: Callable[[int, Callable[[Figures], None]], Figures]) -> Figures:
    """Run shards in processes of their own, and put their sum into the figures' file under `kind`."""
    context = multiprocessing.get_context("fork")
    places = [out.with_suffix(f".{kind}.{shard}.json") for shard in range(of)]
    workers = [context.Process(target=_work, args=(make, shard, places[shard])) for shard in range(of)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    total = merged([json.loads(place.read_text()) for place in places])
    write(out, kind, total)
    for place in places:
        place.unlink()
    return total


def _work(make: Callable[[int, Callable[[Figures], None]], Figures], shard: int, place: Path) -> None:
    make(shard, lambda figures: _save(place, figures))


def _save(place: Path, figures: Figures) -> None:
    place.write_text(json.dumps(figures))


def write(out: Path, kind: str, total: Figures) -> None:
    """Put figures into the file, beside those of other kinds."""
    known = json.loads(out.read_text()) if out.exists() else {}
    out.write_text(json.dumps({**known, kind: total}, indent=1, sort_keys=True) + "\n")


def merge(other: Path, out: Path) -> Figures:
    """Put the figures of another file into this one: they replace those of the same kind, parts of it (`kind, ..`) too."""
    new = json.loads(other.read_text())
    for kind, total in new.items():
        known = json.loads(out.read_text()) if out.exists() else {}
        kept = {name: value for name, value in known.items() if name.split(",")[0] != kind}
        out.write_text(json.dumps(kept) + "\n")
        write(out, kind, total)
    return dict(new)


def add(other: Path, out: Path) -> Figures:
    """Add the figures of another file, of a later run, to those of the same kind in this one."""
    new, known = json.loads(other.read_text()), json.loads(out.read_text())
    for kind, later in new.items():
        write(out, kind, added(known[kind], later))
    return dict(new)


def added(one: Figures, two: Figures) -> Figures:
    """Return the sum of two runs, one after the other."""
    total = merged([one, two])
    for name in ("shards", "seconds", "seeds"):
        total[name] = one[name] + two[name]
    return total


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=["random", "every", "kernels", "merge", "add"])
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--programs", type=int, default=1_000_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--size", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--of", type=int, default=2)
    parser.add_argument("--out", type=Path, default=FIGURES)
    a = parser.parse_args()
    if a.kind in ("merge", "add"):
        print(a.kind, *(merge if a.kind == "merge" else add)(a.file, a.out))
        return
    if a.kind == "kernels":
        total = run(
            "kernels", a.of, a.out, lambda k, save: kernels_shard(k, a.of, a.first, a.programs, a.seconds, save)
        )
    elif a.kind == "random":
        total = run("random", a.of, a.out, lambda k, save: random_shard(k, a.of, a.first, a.programs, a.seconds, save))
    else:
        total = run("every", a.of, a.out, lambda k, save: every_shard(k, a.of, a.size, a.seconds, save))
    print({name: total[name] for name in ("programs", "states", "seconds", "ends")}, len(total["failures"]), "failures")


if __name__ == "__main__":
    main()
