"""What the checker says of the certificates of the kernels that ship: how many of each answer, by reason. Nothing is compiled.

python -m tests.lib.certificates [--arch sm_90a] [--every 10] [--jobs 2] [--only reduce.axis] [--mutants] [--folder DIR]
"""

from __future__ import annotations

import argparse
import gc
import importlib
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import chain
from pathlib import Path

from prism.lang.certify import ACCEPTED, NOT_COVERED, check_text
from prism.lang.pipeline import build, lower
from prism.lang.skeleton import certify
from prism.lib import artifacts, shipped_kernels
from tests.certificates import certified
from tests.mutation import memory_mutants, program_mutants

WORST = ("runs", "believed", "assumed", "inferred", "proved")
"""Origins of facts, the weakest first."""


def references(arch: str, every: int, only: str) -> Iterator[artifacts._Reference]:
    """Yield the kernels that ship: of each, every so many-th set of template arguments."""
    families: dict[tuple[str, str], list[artifacts._Reference]] = {}
    for one in shipped_kernels.instances(arch):
        reference = artifacts._reference(one)
        if only in ":".join(reference.kernel):
            families.setdefault(reference.kernel, []).append(reference)
    for family in families.values():
        yield from sorted(family, key=lambda r: repr(r.template))[::every]


def of_kernel(
    reference: artifacts._Reference, mutants: bool, folder: Path | None
) -> list[tuple[str, str, float, float]]:
    """Return what becomes of a kernel, and with `mutants` of those of its plans: seconds to check it and to certify it, too."""
    module, name = reference.kernel
    begin = time.perf_counter()
    program = build(
        getattr(importlib.import_module(module), name),
        {key: artifacts._resolve(value) for key, value in reference.template},
    )
    lowered = lower(program)
    built = time.perf_counter()
    found = certify(lowered, program)
    done = time.perf_counter()
    text = str(found)
    said = check_text(text)
    assert (said.status, said.rule) == (found.finding.status, found.finding.rule)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}-{reference.request[:12]}.cert").write_text(text, encoding="utf-8")
    answer = said.status
    if answer == ACCEPTED:
        answer += f", weakest fact: {next((o for o in WORST if found.origins.get(o)), 'none')}"
    elif answer == NOT_COVERED or found.is_narrow:
        answer = f"{NOT_COVERED}: {said.reason}"
    else:
        answer += f": {name}: {said.rule}: {said.reason}"
    rows = [("kernel", answer, built - begin, done - built)]
    if mutants and said.status == ACCEPTED:
        for mutant, changed in chain(program_mutants(program), memory_mutants(program)):
            status = certified(changed).finding.status
            rows.append(("mutant", status + ("" if status != ACCEPTED else f": {name}: {mutant.name}"), 0.0, 0.0))
    return rows


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("--every", type=int, default=1, help="of a kernel's templates, each so many-th")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="kernels whose module:name has this in it")
    parser.add_argument("--mutants", action="store_true", help="those of accepted kernels' plans too")
    parser.add_argument("--folder", type=Path, help="where to write the certificates")
    given = parser.parse_args()
    picked = list(references(given.arch, given.every, given.only))
    found: Counter[tuple[str, str]] = Counter()
    build_time = certify_time = 0.0
    with ProcessPoolExecutor(given.jobs, initializer=gc.disable) as pool:
        task = partial(of_kernel, mutants=given.mutants, folder=given.folder)
        for rows in pool.map(task, picked, chunksize=16):
            for what, answer, built, took in rows:
                found[what, answer] += 1
                build_time, certify_time = build_time + built, certify_time + took
    for (what, answer), number in sorted(found.items(), key=lambda item: (item[0][0], -item[1])):
        print(f"{number:6} {what} {answer}")
    print(f"{build_time:.1f} s to check {len(picked)} kernels, {certify_time:.1f} s for their certificates")


if __name__ == "__main__":
    main()
