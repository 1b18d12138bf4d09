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
from prism.lang.check import PARSED
from prism.lang.surface import Kernel
from prism.lang.types import SCALARS
from prism.lang.types.perspective import BLOCK, GRID, THREAD, Level, Perspective
from prism.lang.types.shorts import bf16_bits
from tests.generated.derive import indent
from tests.generated.functions import Functions
from tests.generated.memories import OTHERS
from tests.generated.scope import BITS, FLOATS, STRUCTS, VECTORS, Choices, Memory, Scope, Seeded, Value, pick

VERSION = 11
"""Of the generator: a seed names one program of one version."""

HEAD = """\
from __future__ import annotations

import numpy as np

from prism.lang import *
from prism.lang import prism


"""
SPACE, TALLY = 8, 16
"""Elements of the output for each thread; counters for the whole grid."""
MOST_THREADS = 512
"""In all: the reference machine's clocks have an entry for each two threads."""
SIZES = ((3, 0), (3, 1), (6, 1), (8, 1), (25, 3))
"""Statements in a kernel, and device functions, at most: most programs are small."""


@dataclass(frozen=True)
class Generated:
    """A program: its text, the launch it is made for, the types of its further inputs, and the rules that were applied."""

    text: str
    blocks: int
    threads: int
    further: tuple[str, ...]
    rules: Counter[str]

    def inputs(self, n: int = 2) -> list[Any]:
        """Return arguments: results are in the first and the third."""
        random = np.random.default_rng(n)
        threads = self.blocks * self.threads
        x = random.integers(-(2**31), 2**31, threads, np.int32)
        further = [further_input(kind, random, threads) for kind in self.further]
        return [np.zeros(threads * SPACE, np.int32), x, np.zeros(TALLY, np.uint32), np.int32(n), *further]


def further_input(kind: str, random: np.random.Generator, size: int) -> Any:
    """Return an array of a type: any bits for integers, small fractions for floats."""
    scalar = SCALARS[kind]
    if scalar.integral:
        return np.frombuffer(random.bytes(size * scalar.bytes), scalar.numpy)
    values = (random.integers(-400, 400, size) / 8).astype(np.float32)
    return bf16_bits(values) if kind == "bfloat16" else values.astype(scalar.numpy)


class Writer(Functions):
    """Writes one program."""

    def program(self) -> Generated:
        """The rules' start: functions, then a kernel."""
        entry = pick(self.choices, (32, 64, 64, 96, 128, 256, 256, 1, 8))
        threads = entry * pick(self.choices, (1, 1, 2) if entry < 256 else (1,))
        cluster = pick(self.choices, (1, 1, 2, 4) if threads <= 64 else (1, 1, 2) if threads <= 128 else (1,))
        blocks = cluster * pick(self.choices, (1, 2) if 2 * cluster * threads <= MOST_THREADS else (1,))
        self.blocks = cluster
        self.other = pick(self.choices, OTHERS) if self.chance(35) else ""
        statements, functions = pick(self.choices, SIZES)
        texts = [self.operator() for _ in range(self.choices.number(0, 1 + functions // 2))]
        if self.chance(30):
            self.external()
        for _ in range(self.choices.number(0, functions)):
            self.fuel = min(12, statements)
            texts.append(self.define(threads))
        self.fuel = statements
        texts.append(self.kernel(entry, threads, cluster, blocks))
        text = HEAD + "\n\n\n".join("\n".join(lines) for lines in (*self.prelude.values(), *texts)) + "\n"
        return Generated(text, blocks, threads, tuple(self.further), self.rules)

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
        size = blocks * threads
        out = Memory("out", "int32", GRID, (size * SPACE,), "out", aligned=4)
        self.further = [self.some_type() for _ in range(pick(self.choices, (0, 0, 1, 2)))]
        inputs = [
            Memory(f"y{k}", kind, GRID, (size,), f"y{k}", const=True, aligned=128 // BITS[kind])
            for k, kind in enumerate(self.further)
        ]
        scope = Scope(GRID, entry, threads, blocks, cluster, result=("", GRID), once=True).add(
            Memory("x", "int32", GRID, (size,), "x", const=True, aligned=4),
            Memory("tally", "uint32", GRID, (TALLY,), "tally", tally=True),
            Value("n", "int32", GRID),
            *inputs,
        )
        body: list[str] = []
        for _ in range(self.choices.number(0, 2)):
            more, scope = pick(self.choices, (self.declare, self.declare, self.jump_or_declare))(scope, 0)
            body += more
        units = [THREAD] if bound == "grid[1], thread[1]" or self.chance(10) else [BLOCK]
        if cluster > 1 and self.chance(40):
            units = [Perspective(Level.BLOCK, cluster)]
        body += self.parts(scope, out, units[0])
        if self.chance(8):
            self.rule("cooperative")
            bound += ", cooperative=True"
            body += self.parts(scope, out, pick(self.choices, (THREAD, units[0])), turn=self.choices.number(0, 3))
        if self.shared_bytes and self.chance(30):
            self.rule("R16-smem")
            bound += f", smem={self.shared_bytes}"
        further = "".join(f", {m.name}: ptr(const({m.type})) @ grid[1]" for m in inputs)
        return [
            '@prism("global")', f'@attr("__launch_bounds__({threads})")', f"@requires({bound})",
            "def kernel(out: ptr(int32) @ grid[1], x: ptr(const(int32)) @ grid[1], tally: ptr(uint32) @ grid[1], "
            f"n: int32 @ grid[1]{further}):", *indent(body),
        ]  # fmt: skip

    def jump_or_declare(self, scope: Scope, depth: int) -> tuple[list[str], Scope]:
        """An early return, or a declaration."""
        return self.jump(scope, depth) or self.declare(scope, depth)

    def parts(self, scope: Scope, out: Memory, unit: Perspective, turn: int = 0) -> list[str]:
        """Each unit's part of the output, or with a `turn` that of another unit, and its work."""
        self.rule("R20", "R21", "R2")
        if unit.level == Level.THREAD:
            self.rule("R20-skip")
        name = self.fresh("p")
        size = out.size // scope.count(unit)
        view = Memory(name, "int32", unit, (size,), "out", aligned=4)
        outer = scope.without(out).bounded().add(view)
        lines: list[str] = []
        if self.chance(50):
            # Blocks of a cluster do not wait for one another: only one partition may tell who has what of their part.
            before = outer if unit == BLOCK or unit == THREAD else outer.without(view)
            found = pick(self.choices, (self.split, self.for_, self.branch, self.declare, self.cluster))(before, 2)
            more, after = found or ([], before)
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
        which = f"(id() + {turn}) % {scope.count(unit)}" if turn else "id()"
        return [f"with partition({out.name}, {unit}, offset={which} * {size}) as {name}:", *indent(lines)]

    def work(self, scope: Scope, out: Memory) -> list[str]:
        """A block's code: statements, then what is left of them in the output."""
        lines: list[str] = []
        if self.chance(70):
            more, scope = self.share(scope, 0) or ([], scope)
            lines += more
        for _ in range(self.choices.number(1, 5)):
            more, scope = self.statement(scope, 4)
            lines += more
        kept = scope.without(out).narrow(THREAD)
        part = self.fresh("p")
        stores = [f"{part}[{k}] ^= {self.integer(kept, THREAD, 'int32', 1)}" for k in range(SPACE // 2)]
        for value in scope.values[-3:]:
            name, kind = next(iter(STRUCTS.get(value.type, {"": value.type}).items()))
            text, kind = (f"{value.name}[0]", VECTORS[kind][0]) if kind in VECTORS else (value.name, kind)
            text += f".{name}" if name else ""
            text = f"(1 if {text} > 3.0 else 0)" if kind in FLOATS else f"int32({text})"
            stores.append(f"{part}[{SPACE - 1}] ^= {text}")
        self.rule("R18")
        if not any(m.name == out.name for m in scope.memories):
            return lines  # a pointer goes by its name now
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
MODULE = "prism_generated"
LANGUAGE = {name: getattr(prism.lang, name) for name in prism.lang.__all__}
"""What a text has that imports nothing: not the compiler's own files, which are in `prism.lang` by names that locals have too."""


@contextmanager
def loaded(text: str, known: Mapping[str, Any] | None = None) -> Iterator[dict[str, Any]]:
    """Run a text as a module of its own, whose source the compiler can read while the context lasts."""
    file = f"<generated {next(COUNTER) % 256}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, Any] = {k: v for k, v in (known or {}).items() if k[:2] != "__"} | {"__name__": MODULE}
    try:
        exec(compile(text, file, "exec"), names)
        yield names
    finally:
        del linecache.cache[file]
        for kernel in kernels(names).values():
            PARSED.pop(kernel, None)


def kernels(names: dict[str, Any]) -> dict[str, Kernel]:
    """Return the functions of a module."""
    return {name: value for name, value in names.items() if isinstance(value, Kernel)}


__all__ = ["LANGUAGE", "Generated", "derive", "kernels", "loaded", "prism", "program", "strategy"]
