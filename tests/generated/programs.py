"""Whole generated programs: `strategy()` for Hypothesis, `program(seed)` for a number; to text, to a kernel, to a run."""

from __future__ import annotations

import itertools
import linecache
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

import prism.lang
from prism.lang.perspective import BLOCK, GRID, THREAD, Level, Perspective
from prism.lang.surface import Kernel
from tests.generated.derive import indent
from tests.generated.functions import Functions
from tests.generated.scope import Choices, Memory, Scope, Seeded, Value, pick

VERSION = 1
"""Of the generator: a seed names one program of one version."""

HEAD = "from __future__ import annotations\n\nfrom prism.lang import *\nfrom prism.lang import prism\n\n\n"
SPACE, TALLY = 8, 16
"""Elements of the output for each thread; counters for the whole grid."""


@dataclass(frozen=True)
class Generated:
    """A program: its text, the launch it is made for, and the rules that its derivation applied."""

    text: str
    blocks: int
    threads: int
    rules: Counter[str]

    def inputs(self, n: int = 2) -> list[Any]:
        """Return arguments: results are in the first and the third."""
        random = np.random.default_rng(n)
        out = np.zeros(self.blocks * self.threads * SPACE, np.int32)
        x = random.integers(-(2**31), 2**31, self.blocks * self.threads, np.int32)
        return [out, x, np.zeros(TALLY, np.uint32), np.int32(n)]


class Writer(Functions):
    """Writes one program."""

    def program(self) -> Generated:
        """The rules' start: functions, then a kernel."""
        entry = pick(self.choices, (32, 64, 96, 128, 1, 8))
        threads = entry * pick(self.choices, (1, 1, 2))
        cluster = pick(self.choices, (1, 1, 2, 4))
        blocks = cluster * pick(self.choices, (1, 2) if cluster < 4 else (1,))
        texts: list[list[str]] = []
        for _ in range(self.choices.number(0, 2)):
            texts.append(self.operator())
        if self.operators:
            texts.append(self.fold("fold"))
        for _ in range(self.choices.number(0, 3)):
            self.fuel = 12
            texts.append(self.define(threads))
        self.fuel = 25
        texts.append(self.kernel(entry, threads, cluster, blocks))
        text = HEAD + "\n\n\n".join("\n".join(lines) for lines in texts) + "\n"
        return Generated(text, blocks, threads, self.rules)

    def kernel(self, entry: int, threads: int, cluster: int, blocks: int) -> list[str]:
        """R1 BOUND-WF: the kernel, from the whole grid's code on."""
        bound = f"grid[1], block[{cluster}], thread[{entry}]"
        if entry == 1 and cluster == 1 and self.chance(60):
            self.rule("R1-grid-thread")
            bound = "grid[1], thread[1]"
        elif cluster > 1:
            self.rule("R1-cluster")
        else:
            self.rule("R1-grid-block-thread")
        out = Memory("out", "int32", GRID, blocks * threads * SPACE, "out")
        scope = Scope(GRID, entry, threads, blocks, cluster, result=("", GRID)).add(
            Memory("x", "int32", GRID, blocks * threads, "x", const=True),
            Memory("tally", "uint32", GRID, TALLY, "tally", tally=True),
            Value("n", "int32", GRID),
        )
        body: list[str] = []
        for _ in range(self.choices.number(0, 2)):
            more, scope = pick(self.choices, (self.declare, self.declare, self.jump_or_declare))(scope, 0)
            body += more
        units = [THREAD] if bound == "grid[1], thread[1]" or self.chance(10) else [BLOCK]
        if cluster > 1 and self.chance(40):
            units = [Perspective(Level.BLOCK, cluster)]
        body += self.parts(scope, out, units[0])
        return [
            '@prism("global")', f'@attr("__launch_bounds__({threads})")', f"@requires({bound})",
            "def kernel(out: ptr(int32) @ grid[1], x: ptr(const(int32)) @ grid[1], tally: ptr(uint32) @ grid[1], "
            "n: int32 @ grid[1]):", *indent(body),
        ]  # fmt: skip

    def jump_or_declare(self, scope: Scope, depth: int) -> tuple[list[str], Scope]:
        """An early return, or a declaration."""
        return self.jump(scope, depth) or self.declare(scope, depth)

    def parts(self, scope: Scope, out: Memory, unit: Perspective) -> list[str]:
        """Each unit's part of the output, and its work."""
        for rule in ("R20", "R21", "R2"):
            self.rule(rule)
        if unit.level == Level.THREAD:
            self.rule("R20-skip")
        name = self.fresh("p")
        size = out.size // scope.count(unit)
        view = Memory(name, "int32", unit, size, "out")
        outer = scope.without(out).bounded().add(view)
        lines: list[str] = []
        if self.chance(50):
            # Blocks of a cluster do not wait for one another: only one partition may tell who has what of their part.
            before = outer if unit == BLOCK or unit == THREAD else outer.without(view)
            more, after = pick(self.choices, (self.split, self.for_, self.branch, self.declare))(before, 2) or (
                [],
                before,
            )
            outer = after.without(view).add(view)
            lines += more
        inner = outer.narrow(unit)
        if unit.level == Level.BLOCK and unit != BLOCK:
            work = self.parts(inner, view, BLOCK)
        elif unit == THREAD:
            work = [*self.body(inner, 3, 4), *self.store(inner, view)]
        else:
            work = self.work(inner, view)
        lines += [f"with group({unit}):", *indent(work)]
        return [f"with partition({out.name}, {unit}, offset=id() * {size}) as {name}:", *indent(lines)]

    def work(self, scope: Scope, out: Memory) -> list[str]:
        """A block's code: statements, then what is left of them in the output."""
        lines: list[str] = []
        if self.chance(70):
            more, scope = self.share(scope, 0) or ([], scope)
            lines += more
        for _ in range(self.choices.number(2, 6)):
            more, scope = self.statement(scope, 4)
            lines += more
        kept = scope.without(out).narrow(THREAD)
        part = self.fresh("p")
        stores = [f"{part}[{k}] ^= {self.integer(kept, THREAD, 'int32', 1)}" for k in range(SPACE // 2)]
        for value in scope.values[-2:]:
            text = f"(1 if {value.name} > 3.0 else 0)" if value.type == "float32" else f"int32({value.name})"
            stores.append(f"{part}[{SPACE - 1}] += {text}")
        self.rule("R18")
        lines += [f"with partition({out.name}, thread[1], id() * {SPACE}) as {part}:", "    with group(thread[1]):"]
        return [*lines, *indent(indent(stores))]


def derive(choices: Choices) -> Generated:
    """Return the program of these choices."""
    return Writer(choices).program()


def program(seed: int) -> Generated:
    """Return the program of a seed."""
    return derive(Seeded(seed))


def strategy() -> Any:
    """Return Hypothesis's strategy of programs: it draws the derivation's choices, so failures shrink."""
    from hypothesis import strategies as st

    class Drawn:
        def __init__(self, draw: Any) -> None:
            self.draw = draw

        def number(self, low: int, high: int) -> int:
            return int(self.draw(st.integers(low, high)))

    @st.composite
    def programs(draw: Any) -> Generated:
        return derive(Drawn(draw))

    return programs()


# -- text to kernels --------------------------------------------------------------------------------------------------

COUNTER = itertools.count()


@contextmanager
def loaded(text: str, known: Mapping[str, Any] | None = None) -> Iterator[dict[str, Any]]:
    """Run a text as a module of its own, whose source the compiler can read while the context lasts."""
    file = f"<generated {next(COUNTER)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, Any] = {k: v for k, v in (known or {}).items() if k[:2] != "__"} | {"__name__": "prism_generated"}
    try:
        exec(compile(text, file, "exec"), names)
        yield names
    finally:
        del linecache.cache[file]


def kernels(names: dict[str, Any]) -> dict[str, Kernel]:
    """Return the functions of a module."""
    return {name: value for name, value in names.items() if isinstance(value, Kernel)}


__all__ = ["Generated", "derive", "kernels", "loaded", "prism", "program", "strategy"]
