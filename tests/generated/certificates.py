"""Certificates of generated programs: what the checker says of them, and of mutants of their plans.

    python -m tests.generated.certificates --kind programs --count 3000 --jobs 2
    python -m tests.generated.certificates --kind loops --count 100000 --jobs 16 --mutants --folder certificates

Of a program that the compiler accepts none may be rejected. A mutant that is accepted runs on the reference machine, which must
not report it, unless the program rests on facts that are left to runs: it is as good as the plan. `--folder` writes them, for the
checker that is made from Coq: `make -C theory/proofs compare CERTIFICATES=folder`.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import prism
from prism.interpret import MachineError, run
from prism.lang.certify import ACCEPTED, REJECTED, check_text
from prism.lang.diagnostics import CompileError
from prism.lang.skeleton import Certified, certificate_of
from prism.lang.tree.plan import Program
from tests.certificates import certified
from tests.generated.edges_verify import module_of
from tests.generated.programs import loaded, program
from tests.mutation import TRIED, memory_mutants, program_mutants

CHUNK = 64


def answers(kind: str, seed: int, mutants: bool = False) -> Iterator[tuple[str, Certified | None]]:
    """Yield what becomes of a program's certificate, and of those of its plans' mutants, each with it."""
    made = program(seed) if kind == "programs" else module_of(kind).program(seed)
    head = "" if kind == "programs" else made.head
    inputs = partial(made.inputs, seed % 4) if kind == "programs" else made.inputs
    with loaded(head + made.text) as names:
        try:
            built = prism.check(names["kernel"])
        except CompileError:
            yield "refused by the compiler", None
            return
        found = certificate_of(built)
        yield describe(found), found
        if mutants and found.finding.status == ACCEPTED:
            for mutant, changed in chain(program_mutants(built), memory_mutants(built)):
                one = certified(changed)
                said = describe(one)
                if one.finding.status == ACCEPTED and not mutant.harmless:
                    said += reported(changed, made.blocks, made.threads, inputs)
                    said += ", where facts are left to runs" if "reports" in said and one.origins.get("runs") else ""
                yield f"mutant {'weaker' if mutant.what else 'without'} {said}", one


def reported(built: Program, blocks: int, threads: int, inputs: Callable[[], list[Any]]) -> str:
    """Return that the reference machine reports a program, or that it does not."""
    for schedule, seed in TRIED:
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                run(built, blocks, threads, inputs(), check=True, schedule=schedule, seed=seed)
        except MachineError as error:
            return f", and the machine reports {error.code}"
    return ", and so does the machine"


def describe(found: Certified) -> str:
    """Return the answer, and the rule or what is not covered; what is written must say the same."""
    said = check_text(str(found))
    assert (said.status, said.rule) == (found.finding.status, found.finding.rule)
    return ": ".join(filter(None, (said.status, said.rule if said.status == REJECTED else said.reason)))


def look(kind: str, mutants: bool, folder: Path | None, first: int) -> tuple[Counter[str], list[str]]:
    """Look at some programs."""
    found: Counter[str] = Counter()
    wrong: list[str] = []
    for seed in range(first, first + CHUNK):
        for number, (answer, one) in enumerate(answers(kind, seed, mutants)):
            found[answer] += 1
            if answer.startswith(REJECTED) and one is not None:
                wrong.append(f"{kind} {seed}: {one.finding.reason}")
            if "the machine reports" in answer and "left to runs" not in answer:
                wrong.append(f"{kind} {seed}: a mutant is {answer}")
            if folder is not None and one is not None:
                (folder / f"{kind}-{seed}-{number}.cert").write_text(str(one), encoding="utf-8")
    gc.collect()
    return found, wrong


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", default="programs", help="`programs`, or a kind of tests.generated.edges")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--mutants", action="store_true", help="those of accepted plans too")
    parser.add_argument("--folder", type=Path, help="where to write the certificates")
    given = parser.parse_args()
    total: Counter[str] = Counter()
    wrong: list[str] = []
    with ProcessPoolExecutor(given.jobs, initializer=gc.disable) as pool:
        task = partial(look, given.kind, given.mutants, given.folder)
        for found, faults in pool.map(task, range(given.first, given.first + given.count, CHUNK)):
            total += found
            wrong += faults
    for answer, number in total.most_common():
        print(f"{number:8} {answer}")
    print("\n".join(wrong))


if __name__ == "__main__":
    main()
