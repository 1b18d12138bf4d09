"""The race analysis against brute force: random offsets, and tiles of matrices, with every thread's elements written down.

`disjoint` must be right for all values of the names, and a collision that is claimed must be one. Other programs are run
on the reference machine: what the proofs leave out of the plan is not missed.

Tests of prism/lang/barriers/overlap.py; prism/lang/facts: addresses, bounds, collisions, definitions, polynomials, sides.
"""

from __future__ import annotations

import importlib.util
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from prism.explanation.account import account
from prism.interpret import SCHEDULES, run
from prism.kernels.hgemm import Configuration, identity, persistent
from prism.lang import CompileError, safety
from prism.lang.barriers.overlap import verdicts
from prism.lang.check import check
from prism.lang.facts.definitions import facts
from prism.lang.pipeline import build
from prism.lang.surface import Kernel
from prism.lib.algorithms.hgemm import plan as hgemm_plan

THREADS = 24
BLOCKS = 7
HEAD = f"""
from prism.lang import attr, block, grid, group, id, int32, partition, prism, ptr, requires, shared, thread, count

THREADS = {THREADS}
"""
KERNEL = """
@prism("global")
@requires(grid[1], block[1], thread[THREADS])
@attr("__launch_bounds__({most})")
def kernel_{number}(y: ptr(int32) @ grid[1], n: int32 @ grid[1], m: int32 @ grid[1]):
    b: int32 @ block[1] = id()
    p: int32 @ block[1] = {p}
    with partition(y, block[1], {outer}) as part, group(block[1]):
        t: int32 @ thread[1] = id()
        q: int32 @ thread[1] = {q}
        with partition(part, thread[1], {inner}) as mine, group(thread[1]):
            for i in range({start}, {stop}, {step}):
                if {guard}:
                    mine[{index}] = 1
            if {other}:
                mine[{second}] = 2
"""


class Numbers:
    """Integers, one a launch and thread, that divide as C's do; `bad`: the launches in which one was divided by zero."""

    def __init__(self, values: object, bad: object = False) -> None:
        self.values = np.asarray(values, np.int64)
        self.bad = bad

    def __add__(self, other):
        return Numbers(self.values + plain(other), self.bad | spoilt(other))

    def __sub__(self, other):
        return Numbers(self.values - plain(other), self.bad | spoilt(other))

    def __mul__(self, other):
        return Numbers(self.values * plain(other), self.bad | spoilt(other))

    def __floordiv__(self, other):
        divisor = plain(other)
        bad = self.bad | spoilt(other)
        if not np.all(divisor):
            bad = bad | np.any(divisor == 0, axis=-1, keepdims=True)
            divisor = np.where(divisor == 0, 1, divisor)
        return Numbers(np.abs(self.values) // np.abs(divisor) * np.sign(self.values) * np.sign(divisor), bad)

    def __mod__(self, other):
        return self - self // other * other

    def __lt__(self, other):
        return self.values < plain(other)

    def __le__(self, other):
        return self.values <= plain(other)

    def __ge__(self, other):
        return self.values >= plain(other)

    __radd__ = __add__
    __rmul__ = __mul__


def plain(number: object) -> np.ndarray:
    return number.values if isinstance(number, Numbers) else np.asarray(number, np.int64)


def spoilt(number: object) -> object:
    return number.bad if isinstance(number, Numbers) else False


class Writer:
    """One kernel's expressions, by a seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.facts = self.tile() if self.rng.random() < 0.6 else self.anything()

    def number(self) -> int:
        return self.rng.choice([1, 1, 2, 2, 3, 4, 4, 6, 8, 12, 16, 24])

    def term(self, names: str) -> str:
        rng, name, d = self.rng, self.rng.choice(names), self.number()
        kinds = [
            name, f"{self.number()} * {name}", f"{name} // {self.number()} * {self.number()}", f"{name} % {self.number()}",
            f"{name} % {self.number()} * {self.number()}", f"{name} // {self.number()} % {self.number()} * {self.number()}",
            f"({self.number()} * {name} + {rng.randrange(5)}) // {self.number()} * {self.number()}", f"{name} * n",
            f"{name} // {self.number()} * n", f"{self.number()} * {name} % {self.number()}", f"{name} % n", f"{name} // n * m",
            f"({name} - {rng.randrange(4)}) % {self.number()}",
            f"({d} * {name} + {d * rng.randrange(3)}) // {2 * d} * {self.number()}",
        ]  # fmt: skip
        return rng.choice(kinds)

    def sum(self, names: str, most: int = 3) -> str:
        return " + ".join(self.term(names) for _ in range(self.rng.randint(1, most)))

    def anything(self) -> dict[str, object]:
        rng = self.rng
        return {
            "p": self.sum("b", 2), "q": self.sum("tp", 2), "outer": f"offset={self.sum('bp')}", "start": rng.randrange(3),
            "inner": f"offset={self.sum('tqp')}" if rng.random() < 0.7 else f"lambda k: {self.sum('tq')} + {self.number()} * k",
            "stop": rng.choice(["1", "2", "4", "n", "t"]), "step": rng.choice([1, 1, 2, 3]),
            "index": rng.choice(["i", "2 * i", f"{self.number()} * i + t % 2", "i * n + t % 3", "i // 2 * n + i % 2"]),
            "other": rng.choice(["t < 0", f"t % 3 < {rng.randrange(3)}", "q < n"]),
            "second": rng.choice(["0", str(self.number()), f"0 - {self.number()}", f"{self.number()} * n", "n", "t"]),
            "guard": rng.choice(["True", f"t < {self.number()}", "i < n", "q < n and p >= 0", f"q + i < {self.number()}"]),
        }  # fmt: skip

    def tile(self) -> dict[str, object]:
        """A tile of a matrix a block, a smaller one a thread, right or with a mistake."""
        rng = self.rng
        height, width, across = rng.choice([1, 2, 4]), rng.choice([1, 2, 3]), rng.choice([2, 3, 4, 6, 8])
        rows, columns = THREADS // across * height, across * width
        mistake = rng.random() < 0.4
        if mistake:
            rows, columns = rng.choice([rows, rows - 1, rows + 1]), rng.choice([columns, columns - 1, columns + 1])
        divisor = rng.choice(["n", f"(n // {columns})", f"((n + {columns - 1}) // {columns})", "m"])
        scale = columns if divisor != "n" else 1
        left = f"p + q + {rng.randrange(height)} * n" if mistake else "p + q"
        before = rng.choice([0, 0, 1, 2]) if mistake else 0  # columns before the first one
        guards = [f"p + q + i % {width} < n", f"p + q + i % {width} <= n", "True", "i < n"]
        return {
            "p": f"b % {divisor} * {scale} - {before}", "q": f"t % {across} * {width}", "start": 0,
            "other": rng.choice(["t < 0", f"{left} < n", "True" if mistake else f"{left} + {width - 1} < n"]),
            "second": rng.choice(["0", str(rng.randrange(width + mistake)), f"{rng.randrange(height + mistake) - mistake} * n"]),
            "outer": f"offset=b // {divisor} * {rows} * n + p",
            "inner": f"offset=t // {across} * {height} * n + q",
            "stop": height * width + (mistake and rng.random() < 0.3), "step": 1,
            "index": f"i // {width} * n + i % {width}",
            "guard": guards[0] if not mistake or rng.random() < 0.5 else rng.choice(guards),
        }  # fmt: skip

    def text(self, number: int) -> str:
        most = THREADS if self.rng.random() < 0.8 else 2 * THREADS
        return KERNEL.format(number=number, most=most, **self.facts)

    def elements(self, launches: Sequence[tuple[int, int]], threads: int) -> Writes:
        """Every write of these launches (n and m); none of those in which something is divided by zero."""
        bad = np.zeros((len(launches), 1), bool)

        def value(key: str) -> Numbers:
            text = str(self.facts[key]).removeprefix("offset=").split(":")[-1].strip().replace(" and ", ") & (")
            found = eval(f"({text})", names)
            nonlocal bad
            bad = bad | spoilt(found)
            return Numbers(plain(found))

        block, thread = (a.ravel() for a in np.mgrid[:BLOCKS, :threads])
        launch, block, thread = np.broadcast_arrays(np.arange(len(launches))[:, None], block, thread)
        n, m = (np.array(column)[:, None] for column in zip(*launches, strict=True))
        names: dict[str, object] = {
            "n": Numbers(n),
            "m": Numbers(m),
            "b": Numbers(block),
            "t": Numbers(thread),
            "k": Numbers(0),
        }
        found = []

        def note(at: Numbers, runs: np.ndarray) -> None:
            where = np.broadcast_to(runs, block.shape)
            found.append((launch[where], np.broadcast_to(at.values, block.shape)[where], block[where], thread[where]))

        for key in ("p", "q"):
            names[key] = value(key)
        outer, inner, stop = value("outer"), value("inner"), value("stop").values
        for i in range(int(str(self.facts["start"])), int(stop.max()), int(str(self.facts["step"]))):
            names["i"] = Numbers(i)
            index = value("index")
            if str(self.facts["inner"]).startswith("lambda"):
                names["k"], index = index, Numbers(0)
                inner = value("inner")
            note(outer + inner + index, value("guard").values.astype(bool) & (i < stop))
        names["k"] = index = value("second")
        if str(self.facts["inner"]).startswith("lambda"):
            inner, index = value("inner"), Numbers(0)
        note(outer + inner + index, value("other").values.astype(bool))
        columns = [np.concatenate(column) for column in zip(*found, strict=True)]
        defined = ~bad.ravel()
        kept = defined[columns[0]]
        return Writes(defined, *(column[kept] for column in columns))


@dataclass
class Writes:
    """What some launches write, one entry a write; `defined`: which launches divide nothing by zero."""

    defined: np.ndarray
    launch: np.ndarray
    element: np.ndarray
    block: np.ndarray
    thread: np.ndarray

    def met(self, level: str) -> np.ndarray:
        """For each launch that is defined, whether two blocks write one element, or two threads of one block."""
        place = self.launch * BLOCKS + (self.block if level == "thread" else 0)
        lowest = self.element.min(initial=0)
        place = place * (self.element.max(initial=0) - lowest + 1) + self.element - lowest
        _, first, number = np.unique(place, return_index=True, return_inverse=True)
        who = self.block if level == "block" else self.thread
        pairs = np.unique(number * (who.max(initial=0) + 1) + who, return_index=True)[1]
        return (np.bincount(self.launch[pairs], minlength=self.defined.size)
                > np.bincount(self.launch[first], minlength=self.defined.size))[self.defined]  # fmt: skip


def load(text: str, name: str, folder: Path):
    path = folder / f"{name}.py"
    path.write_text(HEAD + text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def judged(seeds: range, folder: Path) -> dict[tuple[str, str], int]:
    """Compare the verdicts on each kernel's two partitions with brute force; return how many there were of each kind."""
    writers = [Writer(seed) for seed in seeds]
    module = load("".join(w.text(k) for k, w in enumerate(writers)), f"disjoint_{seeds.start}", folder)
    counted: dict[tuple[str, str], int] = {}
    for number, writer in enumerate(writers):
        kernel = getattr(module, f"kernel_{number}")
        (function,) = check(kernel, None)
        found = [verdict for _, verdict in verdicts(function, facts(function))]
        launches = list(product((1, 2, 3, 4, 5, 7, 8, 11, 12, 24, 30, -1, -5, 0), (1, 2, 5)))
        sizes = (THREADS, 2 * THREADS)[: 1 + ("__(48)" in str(function.attributes))]
        written = [writer.elements(launches, threads) for threads in sizes]
        for level, verdict in zip(("block", "thread"), found, strict=True):
            counted[level, verdict.status] = counted.get((level, verdict.status), 0) + 1
            races_met = np.concatenate([writes.met(level) for writes in written])
            where = f"seed {seeds.start + number}, {level}: {writer.text(number)}"
            if verdict.status == "disjoint":
                assert not races_met.any(), where
            if verdict.status == "overlap":
                assert races_met.all(), where
    return counted


def test_verdicts_agree_with_brute_force(tmp_path):
    counted = judged(range(150), tmp_path)
    assert counted["block", "disjoint"] >= 20 and counted["thread", "disjoint"] >= 30, counted  # not all "unknown"
    assert counted["thread", "overlap"] >= 2, counted


@pytest.mark.fuzz
def test_many_verdicts_agree_with_brute_force(tmp_path):
    counted = judged(range(10_000, 14_000), tmp_path)
    assert counted["thread", "disjoint"] >= 800 and counted["thread", "overlap"] >= 60, counted


# -- what the proofs leave out of the plan ----------------------------------------------------------------------------------

SHARED = """
@prism("global")
@requires(grid[1], block[1], thread[THREADS])
@attr("__launch_bounds__({threads})")
def kernel_{number}(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    with partition(y, block[1], offset=THREADS * id()) as out, group(block[1]):
        s: shared(int32[{size}])
        g: shared(int32[{rows}, {columns}])
        t: int32 @ thread[1] = id()
        w: int32 @ thread[8] = id()
        v: int32 @ thread[1] = t
        with partition(s, thread[1], offset=t) as mine, group(thread[1]):
            for i in range(0, {size}, THREADS):
                mine[i] = i
        with partition(g, thread[1], lambda i, j: (t + i, j)) as mine, group(thread[1]):
            for i in range(0, {rows}, THREADS):
                for j in range({columns}):
                    mine[i, j] = i + j
{body}
        with partition(out, thread[1], offset=t) as mine, group(thread[1]):
            mine[0] = v
"""


class Steps:
    """A kernel whose steps fill parts of shared memory, and read parts, their own ones or others', in loops."""

    size, rows, columns = 40 * THREADS, 2 * THREADS, 12

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def part(self, loops: list[str]) -> str:
        """A thread's part of `s`: tiles by the digits of its index, and moved by the loops around."""
        rng, d = self.rng, self.rng.choice([2, 3, 4, 8])
        tiles = [f"t // {d} * {e} + t % {d} * {f}" for e, f in ((d, 1), (2 * d, 2), (4 * d, 3), (d - 1, 1), (2 * d, 1))]
        moved = [f"{rng.choice([1, 2, 4, 24, 48, 96])} * {k}" for k in loops if rng.random() < 0.5]
        return " + ".join([rng.choice([*tiles, "t", "2 * t", "4 * t"]), *moved])

    def step(self, loops: list[str], indent: str) -> list[str]:
        rng = self.rng
        kind, k = rng.randrange(6), rng.choice([*loops, "0"])
        names = f"i{len(indent)}"
        if kind <= 1:
            index, trips = rng.choice(
                [("0", 1), (names, rng.choice([1, 2, 3])), (f"4 * {names}", 2), (f"{names} + 24 * {k}", 2)]
            )
            value = rng.choice(["v", "t", f"mine[{index}] + 1"])
            return [
                f"with partition(s, thread[1], offset={self.part(loops)}) as mine, group(thread[1]):",
                f"    for {names} in range({trips}):", f"        mine[{index}] = {value}",
            ]  # fmt: skip
        if kind == 2:
            return [
                f"with partition(s, thread[8], offset={rng.choice([8, 16, 24])} * w + {rng.choice([0, 72])} * {k}) as run:",
                "    with group(thread[8]):", "        lane: int32 @ thread[1] = id()",
                "        with partition(run, thread[1], offset=lane) as mine, group(thread[1]):",
                f"            mine[{rng.choice([0, 8])}] = v",
                f"        v = v + {'run[7 - lane]' if rng.random() < 0.5 else 'run[lane]'}",
            ]  # fmt: skip
        if kind == 3:
            d = rng.choice([2, 4, 6])
            return [
                f"with partition(g, thread[1], lambda i, j: (t // {d} * {rng.choice([1, 2])} + i, t % {d} * 2 + j)) as mine:",
                "    with group(thread[1]):", f"        mine[{rng.choice(['0', '1'])}, {rng.choice(['0', '1'])}] = v",
            ]  # fmt: skip
        if kind == 4:
            return [f"v = v + g[(t + {rng.randrange(2)}) % {THREADS}, {rng.randrange(self.columns)}]"]
        return [f"v = v + s[({self.part(loops)} + {rng.randrange(3)}) % {self.size}]"]

    def body(self, loops: list[str], indent: str) -> list[str]:
        lines = []
        for _ in range(self.rng.randint(1, 3)):
            if len(loops) < 2 and self.rng.random() < 0.4:
                k = f"k{len(loops)}"
                lines.append(f"{indent}for {k} in range({self.rng.choice(['n', '2', '3'])}):")
                lines += self.body([*loops, k], indent + "    ")
            else:
                lines += [indent + line for line in self.step(loops, indent)]
        return lines

    def text(self, number: int) -> str:
        body = "\n".join(self.body([], " " * 8))
        return SHARED.format(
            number=number, size=self.size, rows=self.rows, columns=self.columns, threads=THREADS, body=body
        )


def raced(seeds: range, folder: Path) -> tuple[int, int]:
    """Run the kernels all of whose parts are proved disjoint: no schedule finds a race; return how many ran, and reasons."""
    writers = [Steps(seed) for seed in seeds]
    module = load("".join(w.text(k) for k, w in enumerate(writers)), f"steps_{seeds.start}", folder)
    ran = used = 0
    for number, seed in enumerate(seeds):
        kernel = getattr(module, f"kernel_{number}")
        (function,) = check(kernel, None)
        known = facts(function)
        if any(verdict.status != "disjoint" for _, verdict in verdicts(function, known)):
            continue
        program = build(kernel)
        ran += 1
        used += sum(
            "proved disjoint" in e.reason or "same thread" in e.reason for e in program.plans[program.entry].elided
        )
        for schedule, n in product(SCHEDULES, (1, 3)):
            arguments = [np.zeros(THREADS, np.int32), np.int32(n)]
            try:
                run(program, 1, THREADS, arguments, check=True, schedule=schedule, seed=seed)
            except Exception as error:
                raise AssertionError(f"seed {seed}, {schedule}, n = {n}: {Steps(seed).text(number)}") from error
    return ran, used


def test_no_race_where_proofs_left_barriers_out(tmp_path):
    ran, used = raced(range(30), tmp_path)
    assert ran >= 10 and used >= 10, (ran, used)


@pytest.mark.fuzz
def test_no_race_in_many_where_proofs_left_barriers_out(tmp_path):
    ran, used = raced(range(20_000, 22_000), tmp_path)
    assert ran >= 600 and used >= 600, (ran, used)


# -- what is said -----------------------------------------------------------------------------------------------------------

CERTAIN = [
    ("offset=t // 2", "mine[0] = 1", "threads 0 and 1 of a block both write `s[0]`"),
    ("offset=t % 8 * n + t // 16", "mine[0] = 1", "threads 0 and 8 of a block both write `s[0]`"),
    ("offset=2 * t", "for i in range(3): mine[i] = 1", "threads 0 and 1 of a block both write `s[2]`"),
    ("offset=t * n + 5", "for i in range(2): mine[i * n] = 1", "threads 0 and 1 of a block both write `s[n + 5]`"),
    ("offset=t // (n + 1)", "mine[0] = 1", ""),  # for some n: not for all
    ("offset=t", "if t < n: mine[t % 2] = 1", ""),  # under a condition
]


@pytest.mark.parametrize("case", range(len(CERTAIN)))
def test_the_two_threads_and_the_element_of_a_certain_overlap(case: int, tmp_path) -> None:
    offset, write, said = CERTAIN[case]
    text = f"""
@prism("global")
@requires(grid[1], block[1], thread[THREADS])
def kernel(n: int32 @ grid[1]):
    with group(block[1]):
        s: shared(int32[512])
        t: int32 @ thread[1] = id()
        with partition(s, thread[1], {offset}) as mine, group(thread[1]):
            {write}
"""
    kernel = load(text, f"certain_{case}", tmp_path).kernel
    if not said:
        build(kernel)
        return
    with pytest.raises(CompileError) as caught:
        build(kernel)
    assert caught.value.code == "race" and said in str(caught.value)


@pytest.mark.parametrize("then, refused", [("pass", True), ("here += 1", False)])
def test_an_overlap_in_a_part_that_is_anywhere(then: str, refused: bool, tmp_path) -> None:
    """Where a tile is may be unknown: that its threads meet in it is certain, unless it moves while they write."""
    text = f"""
@prism("global")
@requires(grid[1], block[1], thread[THREADS])
def kernel(x: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    here: int32 @ block[1] = 0
    with partition(x, block[1], offset=lambda i: here * 256 + i, races="allow") as tile, group(block[1]):
        here = n
        with partition(tile, thread[1], offset=lambda i: i) as mine:
            {then}
            with group(thread[1]):
                mine[4] = 1
"""
    kernel = load(text, f"anywhere_{refused}", tmp_path).kernel
    if not refused:
        build(kernel)
        return
    with pytest.raises(CompileError) as caught:
        build(kernel)
    assert caught.value.code == "race" and "threads 0 and 1 of a block both write `tile[4]`" in str(caught.value)


@pytest.mark.parametrize(
    "offset",
    [
        "uint32(t) * 2147483648",
        "int32(int64(t) * 4294967296)",
        "uint32(t) * 40503 % 1000",
        "uint8(16 * t) // 16",
        "(t - 4) // 4 * 4 + t % 4",
    ],
)
def test_numbers_that_wrap_or_are_negative_prove_nothing(offset: str, tmp_path) -> None:
    text = f"""
@prism("global")
@requires(grid[1], block[1], thread[THREADS])
@attr("__launch_bounds__({THREADS})")
def kernel():
    with group(block[1]):
        s: shared(int32[1024])
        t: int32 @ thread[1] = id()
        with partition(s, thread[1], offset={offset}) as mine, group(thread[1]):
            mine[0] = 1
"""
    name = f"wraps_{len(offset)}"
    (function,) = check(load("from prism.lang import int64, uint8, uint32\n" + text, name, tmp_path).kernel, None)
    assert [verdict.status for _, verdict in verdicts(function, facts(function))] != ["disjoint"]


HGEMM = dict(
    hgemm_plan.instance_for(
        "bfloat16", "bfloat16", (False, False), False, False, 0, identity, Configuration(128, 256, 4)
    ).template
)
LEFT = {
    "examples.paper.scan": {
        "mine": "no condition or bound in sight"
    },  # its bound is the array's end, the tile's number is drawn
}


@pytest.mark.parametrize("name", ["add", "load_store", "mma", "sgemm", "hgemm", "scan"])
def test_what_the_papers_programs_leave_unproved(name: str) -> None:
    module = importlib.import_module(f"examples.paper.{name}")
    left: dict[str, str] = {}
    for kernel in [k for k in vars(module).values() if isinstance(k, Kernel) and k.kind == "global"]:
        program = build(kernel, getattr(module, "EXAMPLES", {}).get(kernel.__name__))
        left |= {u.what.split("`")[1]: u.reason for chapter in account(program).chapters for u in chapter.unproved}
    expected = LEFT.get(module.__name__, {})
    assert left.keys() == expected.keys() and all(expected[view] in left[view] for view in left), left


def test_hgemm_leaves_nothing_unproved_but_that_its_sizes_are_1_or_more() -> None:
    program = build(persistent.hgemm, HGEMM)
    plan = program.plans[program.entry]
    assert not [u for chapter in account(program).chapters for u in chapter.unproved]
    left = {verdict.kind for verdict in safety.verdicts(program) if verdict.status != "proved"}
    assert left <= {"assumption", "alias"}, left  # tiles in bands are stored to places of their own
    assert not plan.barriers  # each `stmatrix` writes elements of its own


def test_hgemm_of_a_batch_assumes_that_a_product_is_whole_tiles() -> None:
    found = safety.verdicts(build(persistent.hgemm, {**HGEMM, "BATCH": 1}))
    assert [verdict.status for verdict in found if verdict.kind == "store"] == ["assumed"]


def test_the_reason_is_the_number_of_threads(tmp_path) -> None:
    text = """
@prism("global")
@requires(grid[1], block[1], thread[THREADS])
{bounds}
def kernel(y: ptr(int32) @ grid[1]):
    with partition(y, block[1], offset=THREADS * id()) as part, group(block[1]):
        with partition(part, thread[1], offset=id()) as mine, group(thread[1]):
            mine[0] = 1
"""
    for k, bounds in enumerate(("", '@attr("__launch_bounds__(24)")')):
        (function,) = check(load(text.format(bounds=bounds), f"threads_{k}", tmp_path).kernel, None)
        found = [verdict for _, verdict in verdicts(function, facts(function))]
        assert [v.status for v in found] == [["unknown", "disjoint"][k], "disjoint"]
        assert k or "more than 24 threads" in found[0].reason


def test_the_reason_is_a_name_that_is_assigned_again(tmp_path) -> None:
    text = """
@prism("global")
@requires(grid[1], block[1], thread[64])
@attr("__launch_bounds__(64)")
def kernel(n: int32 @ grid[1]):
    with group(block[1]):
        tile: shared(int32[256])
        t: int32 @ thread[1] = id()
        size: int32 @ block[1] = 1
        for step in range(4):
            width: int32 @ block[1] = size
            with partition(tile, thread[1], t // {name} * 4 * {name} + t % {name}) as mine, group(thread[1]):
                for k in range(4):
                    mine[{name} * k] = k
            size = 4 * size
"""
    for k, name in enumerate(("width", "size")):
        (function,) = check(load(text.format(name=name), f"again_{k}", tmp_path).kernel, None)
        (found,) = [verdict for _, verdict in verdicts(function, facts(function))]
        assert found.status == ["disjoint", "unknown"][k]
        assert k == found.reason.startswith("`size`, in the index on line 18, is assigned again: "), found.reason
