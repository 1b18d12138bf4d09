"""Generated programs with rings: no schedule finds a fault, and any numbers of copies mean the same program."""

from __future__ import annotations

import importlib.util
import random
import sys
from pathlib import Path

import numpy as np
import pytest

from prism.interpret import MachineError, run, schedules
from prism.lang.pipeline import build
from prism.lang.tree.plan import Program
from tests.mutation import harmless, named

HEAD = """
from prism.lang import (
    async_, attr, block, bulk_load, bulk_store, claim, const, cp_async, grid, group, id, one, partition, prism, ptr, requires,
    roles, shared, thread, warp,
)

@prism("global")
@attr("__launch_bounds__(128, 1)")
@requires(grid[1], block[1], thread[128])
def kernel(
    x: ptr(const(float)) @ grid[1], y: ptr(float) @ grid[1], z: ptr(float) @ grid[1], n: int @ grid[1], m: int @ grid[1]
):
    with partition(y, block[1], offset=0) as out, partition(z, block[1], offset=0) as far, group(block[1]):
        tid: int @ thread[1] = id()
        v: float @ thread[1] = 0.0
        rounds: int @ block[1] = 0
        p: shared(float[128])
"""
SIZE = 128
TRIED = [(schedule, seed) for schedule, seed in schedules(10) if schedule != "few"]  # there is one block
ROLES = [(2, 1, 1), (1, 1, 1, 1), (2, 2)]


class Writer:
    """Writes one random program: rings, each with its stations, woven into one loop."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.stores = 0
        self.sizes = self.random.choice(ROLES)
        self.copies: dict[str, int] = {}

    def program(self) -> str:
        names = [f"role{k}" for k in range(len(self.sizes))]
        lines = [f"{', '.join(names)} = roles(warp, {', '.join(map(str, self.sizes))})"]
        threads = [self.ring(f"r{k}") for k in range(self.random.randint(1, 3))]
        for name, copies in self.copies.items():
            lines.append(f"{name}: shared(float[{SIZE}], ring=COPIES_{copies})")
        body: list[str] = []
        while any(threads):
            own = self.random.choice([t for t in threads if t])
            body += own.pop(0)
            if self.random.random() < 0.15:
                body += self.plain()
        jump = self.random.choice([None, None, "before", "after"])
        stop = ["if rounds == 5:", "    " + self.random.choice(["break", "break", "continue"])] if jump else []
        if stop and stop[1].strip() == "continue" and jump == "before":
            stop = ["if rounds == 5:", "    rounds = rounds + 1", "    continue"]
        body = [*(stop if jump == "before" else []), *body, "rounds = rounds + 1", *(stop if jump == "after" else [])]
        loop = ["for i in range(n):", *indented(body)]
        if self.random.random() < 0.4:
            loop = ["for o in range(m):", *indented(loop)]
        lines += loop
        lines += ["with partition(out, thread[1], offset=tid) as mine, group(thread[1]):", "    mine[0] = v"]
        return HEAD + "\n".join(indented(indented(lines)))

    # -- rings ------------------------------------------------------------------------------------------------------------

    def ring(self, name: str) -> list[list[str]]:
        """Return a ring's stations in order."""
        self.copies[name] = self.random.randint(1, 4)
        found = [self.random.choice([self.load, self.load, self.write, self.write_all, self.copy])(name)]
        for _ in range(self.random.randint(1, 3)):
            kinds = [self.read, self.read, self.read, self.read_all, self.update, self.update_all, self.store]
            found.append(self.random.choice(kinds)(name))
        if self.random.random() < 0.3:
            found.append(self.store(name, self.random.randint(0, self.copies[name] - 1)))
        return found

    def role(self, name: str) -> tuple[str, int]:
        """Return the opening of a role's claim, and how many elements each of its threads has."""
        k = self.random.randrange(len(self.sizes))
        return f"claim({name}, role{k}) as t", 4 // self.sizes[k]

    def one(self, name: str, more: str = "") -> str:
        return f"claim({name}, role{self.random.randrange(len(self.sizes))}{more}) as t, one(thread)"

    def part(self, each: int) -> list[str]:
        return [
            "u: int @ thread[1] = id()",
            f"with partition(t, thread[1], offset={each} * u) as mine, group(thread[1]):",
        ]

    def load(self, name: str) -> list[str]:
        at = self.random.randint(0, 3)
        return [f"with {self.one(name)}:", f"    bulk_load(t, x[(rounds % 8 + {at}) * {SIZE}])"]

    def write(self, name: str) -> list[str]:
        opening, each = self.role(name)
        inner = [f"for k in range({each}):", f"    mine[k] = x[{each} * u + k + rounds % 8]"]
        return [f"with {opening}:", *indented([*self.part(each), *indented(inner)])]

    def write_all(self, name: str) -> list[str]:
        offset = self.random.choice(["tid", "127 - tid"])
        return [
            f"with partition({name}, thread[1], offset={offset}) as mine, group(thread[1]):",
            "    mine[0] = x[tid + rounds % 8]",
        ]

    def copy(self, name: str) -> list[str]:
        opening, each = self.role(name)
        inner = [f"cp_async(mine[0], x[{each} * u + {SIZE} * (rounds % 8)], bytes={4 * each})"]
        if self.random.random() < 0.5:
            return [
                f"with {opening}:",
                "    u: int @ thread[1] = id()",
                f"    with async_(t) as d, partition(d, thread[1], offset={each} * u) as mine, group(thread[1]):",
                *indented(indented(inner)),
            ]
        return [f"with {opening}:", *indented([*self.part(each), *indented(inner)])]

    def read(self, name: str) -> list[str]:
        opening, _ = self.role(name)
        at = self.random.randint(0, SIZE - 1)
        inner = ["u: int @ thread[1] = id()", "with group(thread[1]):", f"    v = v + t[(3 * u + {at}) % {SIZE}]"]
        if self.random.random() < 0.3:
            inner = [inner[0], "if rounds % 2 == 0:", *indented(inner[1:])]
        return [f"with {opening}:", *indented(inner)]

    def read_all(self, name: str) -> list[str]:
        at = self.random.randint(0, SIZE - 1)
        return [f"with partition({name}, block[1]) as t:", f"    v = v + t[(tid + {at}) % {SIZE}]"]

    def update(self, name: str) -> list[str]:
        opening, each = self.role(name)
        inner = [f"for k in range({each}):", "    mine[k] = mine[k] + 1.0"]
        found = [*self.part(each), *indented(inner)]
        if self.random.random() < 0.4:
            found += ["with group(thread[1]):", f"    v = v + t[(u + {self.random.randint(0, 99)}) % {SIZE}]"]
        return [f"with {opening}:", *indented(found)]

    def update_all(self, name: str) -> list[str]:
        return [
            f"with partition({name}, thread[1], offset=tid) as mine, group(thread[1]):",
            "    mine[0] = mine[0] * 2.0",
        ]

    def store(self, name: str, late: int = 0) -> list[str]:
        self.stores += 1
        more = f", in_flight={late}" if late else ""
        place = f"(rounds * 16 + {self.stores}) * {SIZE}"
        return [
            f"with claim(far, thread[1]) as o, {self.one(name, more)}:",
            f"    bulk_store(o[{place}], t, disjoint=True)",
        ]

    # -- what stands between ----------------------------------------------------------------------------------------------

    def plain(self) -> list[str]:
        at = self.random.randint(0, SIZE - 1)
        return self.random.choice(
            [
                ["with partition(p, thread[1], offset=tid) as mine, group(thread[1]):", "    mine[0] = v"],
                [
                    "with partition(p, thread[1], offset=tid) as mine, group(thread[1]):",
                    "    mine[0] = v",
                    f"v = v + p[(tid + {at}) % {SIZE}]",
                ],
            ]
        )


def indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


def programs(seed: int, folder: Path) -> tuple[Program, Program]:
    """Return a program with its rings as drawn, and with one copy each."""
    writer = Writer(seed)
    text = writer.program()
    found = []
    for name, alone in (("drawn", False), ("alone", True)):
        for copies in range(1, 5):
            text_of = text if copies == 1 else text_of  # noqa: F821
            text_of = text_of.replace(f"COPIES_{copies}", "1" if alone and "in_flight" not in text else str(copies))
        path = folder / f"rings_{seed}_{name}.py"
        path.write_text(text_of)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
        found.append(build(module.kernel))
    return found[0], found[1]


def arguments(n: int, m: int) -> list[object]:
    return [np.arange(12 * SIZE, dtype=np.float32) % 61, np.zeros(SIZE, np.float32), np.zeros(SIZE * 16 * 32, np.float32),
            np.int32(n), np.int32(m)]  # fmt: skip


def fault(program: Program, n: int, how: list[tuple[str, int]], wanted: list[object] | None = None) -> str | None:
    """Return what goes wrong under some schedule, or None."""
    for schedule, seed in how:
        given = arguments(n, 2)
        try:
            run(program, 1, SIZE, given, check=True, schedule=schedule, seed=seed)
        except MachineError as error:
            return f"{schedule} {seed}: {error}"
        for mine, other in zip(given[1:3], wanted[1:3] if wanted else given[1:3], strict=True):
            if not np.array_equal(mine, other):  # type: ignore[arg-type]
                return f"{schedule} {seed}: another result"
    return None


def check(seeds: range, folder: Path) -> None:
    """Refuse any fault with the plan."""
    for seed in seeds:
        program, alone = programs(seed, folder)
        for n in (0, 1, 4, 9):
            wanted = arguments(n, 2)
            run(alone, 1, SIZE, wanted)
            error = fault(program, n, TRIED[:7], wanted)
            assert error is None, f"seed {seed}, {n} trips, {error}"


def unneeded(seeds: range, folder: Path) -> tuple[int, list[str]]:
    """Leave out each step of the plans; return how many that were wrong, and those that no run found.

    What is right without a step has its reason in tests/mutation.py: there is a step, but nothing in the emitted program, or
    the arrivals after the last round.
    """
    number, survivors = 0, []
    for seed in seeds:
        program, _ = programs(seed, folder)
        plan = program.plans[program.entry]
        for step in (*plan.barriers, *plan.operations):
            if not harmless(plan, step, ""):
                number += 1
                mutant = program.with_plan(plan.drop_step(step))
                found = any(fault(mutant, n, TRIED) for n in (9, 1, 4))
                survivors += [] if found else [f"seed {seed}: {named(step)}"]
    return number, survivors


def test_generated_programs_with_rings(tmp_path):
    check(range(5), tmp_path)


def test_operations_of_generated_programs_are_needed(tmp_path):
    number, survivors = unneeded(range(100, 106), tmp_path)
    assert number > 80 and not survivors


@pytest.mark.fuzz
def test_many_generated_programs_with_rings(tmp_path):
    check(range(1000, 1300), tmp_path)


@pytest.mark.fuzz
def test_operations_of_many_generated_programs_are_needed(tmp_path):
    """Nearly all. The few others order accesses that never meet, by what the indices happen to be."""
    number, survivors = unneeded(range(2000, 2200), tmp_path)
    assert len(survivors) < 0.01 * number, survivors
