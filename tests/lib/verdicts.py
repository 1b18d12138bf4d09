"""What is proved of the kernels that ship, and what is not: all verdicts, by kernel, line and reason. Nothing is compiled.

python -m tests.lib.verdicts [--arch sm_90a] [--every 10] [--jobs 2] [--only reduce.axis]
"""

from __future__ import annotations

import argparse
import gc
import importlib
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

from prism.lang.pipeline import build
from prism.lang.safety import Verdict, verdicts
from prism.lib import artifacts, shipped_kernels

COUNTED = ("partition", "trip", "overlap", "asynchronous", "store")
"""Kinds that the compiler might prove; that parameters lie apart, or what a text does, it never can."""


@dataclass(slots=True)
class Figures:
    """How many verdicts of each status there are on so many kernels, and which are not proved: by kernel, kind and reason."""

    kernels: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    unproved: Counter[tuple[str, ...]] = field(default_factory=Counter)

    def add(self, kernel: str, found: Sequence[Verdict]) -> None:
        """Count a kernel's verdicts; what is assumed of values counts beside what is assumed of parts."""
        self.kernels += 1
        for one in found:
            if one.kind in COUNTED or one.kind == "assumption":
                held = one.status in ("proved", "checked")  # what each launch tests holds wherever it runs
                self.statuses["proved" if held else one.status] += 1
                if not held:
                    where = f"{one.function}:{one.line}"
                    self.unproved[one.status, kernel, where, one.kind, one.what, one.reason] += 1

    @property
    def total(self) -> int:
        """All that is counted."""
        return sum(self.statuses.values())

    def share(self, *statuses: str) -> float:
        """Return the share of some statuses."""
        return sum(self.statuses[status] for status in statuses) / max(1, self.total)

    def __str__(self) -> str:
        each = ", ".join(
            f"{number} {status} ({number / max(1, self.total):.1%})" for status, number in self.statuses.most_common()
        )
        lines = [f"{number:5} {' | '.join(words)}" for words, number in self.unproved.most_common()]
        return "\n".join([f"{self.kernels} kernels, {self.total} verdicts: {each}", *lines])


def figures(arch: str = "sm_90a", every: int = 1, jobs: int = 2, only: str = "") -> Figures:
    """Return the figures of the kernels that ship for an architecture: of each `every`th of a kernel's templates."""
    families: dict[tuple[str, str], list[artifacts._Reference]] = {}
    for one in shipped_kernels.instances(arch):
        reference = artifacts._reference(one)
        if only in ":".join(reference.kernel):
            families.setdefault(reference.kernel, []).append(reference)
    picked = [one for family in families.values() for one in sorted(family, key=lambda r: repr(r.template))[::every]]
    found = Figures()
    with ProcessPoolExecutor(jobs, initializer=gc.disable) as pool:
        for reference, verdicts_ in zip(picked, pool.map(of_kernel, picked, chunksize=8), strict=True):
            found.add(":".join(reference.kernel), verdicts_)
    return found


def of_kernel(reference: artifacts._Reference) -> tuple[Verdict, ...]:
    """Return the verdicts on one kernel that ships."""
    module, name = reference.kernel
    template = {key: artifacts._resolve(value) for key, value in reference.template}
    return verdicts(build(getattr(importlib.import_module(module), name), template))


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("--every", type=int, default=1, help="of a kernel's templates, each so many-th")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="kernels whose module:name has this in it")
    given = parser.parse_args()
    print(figures(given.arch, given.every, given.jobs, given.only))


if __name__ == "__main__":
    main()
