"""Bit operators in indices: swizzled tiles, butterflies, Gray codes.

What is read of an expression is compared with its value for every thread, trip and name; what is proved of a partition, with all
elements of all threads; what the proofs leave out of the plan is run on the reference machine with all its checks.

Tests of prism/lang/facts/digits.py.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from prism.explanation.account import account
from prism.interpret import SCHEDULES, run
from prism.lang import CompileError
from prism.lang.barriers.overlap import verdicts
from prism.lang.check import check
from prism.lang.facts.definitions import facts
from prism.lang.facts.digits import reader
from prism.lang.facts.polynomials import BLOCKS, THREADS, Digit, Form
from prism.lang.pipeline import build
from prism.lang.tree import Declare
from prism.lang.tree.walk import statements
from prism.runtime.build import entry_of
from tests.lang.facts.test_disjoint import load

HEAD = "from prism.lang import uint32\n"
NAMES = (0, 1, 3, 6, 7, 9, -1)
"""What `n` may be."""

# -- what is read -----------------------------------------------------------------------------------------------------------

READ = """
@prism("global")
@requires(grid[1], block[1], thread[{threads}])
@attr("__launch_bounds__({threads})")
def kernel_{number}(n: int32 @ grid[1], u: uint32 @ grid[1]):
    b: int32 @ block[1] = id()
    with group(block[1]):
        t: int32 @ thread[1] = id()
        with group(thread[1]):
            for k in range({trips}):
{lines}
"""


class Writer:
    """Expressions of t, b, k, n and u, by a seed; `/`, `%` and `>>` are of what is not negative."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.threads = self.rng.choice([32, 64, 24, 40])
        self.trips = self.rng.choice([1, 3, 4, 6])

    def digit(self) -> str:
        rng, name = self.rng, self.rng.choice("tttkkb")
        of = rng.choice([name, f"(3 * {name})", f"({name} + {rng.randrange(4)})"]) if rng.random() < 0.3 else name
        by = rng.choice([2, 4, 8, 8, 16, 3])
        return rng.choice([of, f"{of} // {by}", f"{of} % {by}", f"({of} // {rng.choice([2, 4, 3])} % {by})",
                           f"({of} >> {rng.randrange(4)})", f"({of} & {rng.choice([1, 3, 7, 6, 24, -4, -8])})",
                           f"({by - 1} - {of} % {by})"])  # fmt: skip

    def expression(self, depth: int = 0) -> str:
        rng = self.rng
        if depth > 2 or rng.random() < 0.25:
            other = ["n", "u % 8", f"{rng.randrange(20)}", "(1 << k)", "(n & 7)", "u"]
            return self.digit() if rng.random() < 0.8 else rng.choice(other)
        one, two = self.expression(depth + 1), self.expression(depth + 1)
        if rng.random() < 0.3:
            one, two = f"{rng.choice([2, 4, 8, 32])} * ({one})", f"({two}) % 4" if "n" not in two else two
        return f"({one} {rng.choice(['^', '^', '^', '|', '&', '+', '-'])} {two})"

    def declared(self, number: int) -> str:
        texts = [self.expression() for _ in range(8)]
        plain = [text for text in texts if "u" not in text]
        lines = "\n".join(f"                v{k}: int32 @ thread[1] = {text}" for k, text in enumerate(plain or ["t"]))
        return READ.format(threads=self.threads, trips=self.trips, number=number, lines=lines)


class Number:
    """Integers, one or an array of them, that divide as C's do."""

    def __init__(self, values: object) -> None:
        self.values = np.asarray(values, np.int64)


def quotient(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    return np.floor_divide(one - np.fmod(one, two), two)


def calculating(name: str, apply: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> None:
    """Give numbers an operator."""
    setattr(Number, f"__{name}__", lambda one, two: Number(apply(one.values, two.values)))


for _name, _apply in {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "floordiv": quotient, "mod": np.fmod, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor, "lshift": np.left_shift, "rshift": np.right_shift,
}.items():  # fmt: skip
    calculating(_name, _apply)
Number.__neg__ = lambda one: Number(-one.values)


def computed(text: str, **names: object) -> np.ndarray:
    """The value of an expression, for these values of its names."""
    code = re.sub(r"\b\d+\b", r"Number(\g<0>)", text)
    return eval(code, {"Number": Number} | {name: Number(values) for name, values in names.items()}).values


class Unknown(Exception):
    """A polynomial of what is not understood."""


def value(form: Form, names: dict[str, int]) -> int:
    """What a polynomial is, for values of the names: the kernel's own, by their letters."""
    total = 0
    for monomial, factor in form.items():
        for digit in monomial:
            factor *= digit_of(digit, names)
        total += factor
    return total


def digit_of(digit: Digit, names: dict[str, int]) -> int:
    match digit.base:
        case ("trip", _):
            number = names["k"]
        case ("name", symbol):
            number = names[symbol.name]
        case ("xor", keys):
            number = 0
            for key in keys:
                number ^= value(dict(key), names)
        case ("apply", op, _, (left, right)):
            one, two = value(dict(left), names), value(dict(right), names)
            number = {"<<": lambda: one << two, "&": lambda: one & two, "|": lambda: one | two}[op]()
        case ("remainder", left, right):
            one, two = value(dict(left), names), value(dict(right), names)
            number = int(np.fmod(one, two))
        case ("quotient", left, right):
            one, two = value(dict(left), names), value(dict(right), names)
            number = (one - int(np.fmod(one, two))) // two
        case _ if digit.base in (THREADS, BLOCKS):
            number = names["t" if digit.base == THREADS else "b"]
        case _:
            raise Unknown
    assert number >= 0 or (digit.low == 1 and digit.high is None), digit
    return number // digit.low if digit.high is None else number // digit.low % (digit.high // digit.low)


def agreed(seeds: range, folder: Path) -> dict[str, int]:
    """Compare what is read of expressions with their values; return how many were understood, and how many were not."""
    writers = [Writer(seed) for seed in seeds]
    texts = [writer.declared(k) for k, writer in enumerate(writers)]
    module = load(HEAD + "".join(texts), f"read_{seeds.start}", folder)
    counted = {"read": 0, "xor": 0, "unknown": 0}
    for number, writer in enumerate(writers):
        try:
            (function,) = check(getattr(module, f"kernel_{number}"), None)
        except CompileError:  # a constant shift too far, say
            continue
        known = facts(function)
        lines = {line.split(":")[0].strip(): line.split(" = ")[1] for line in texts[number].split("\n") if " v" in line}
        for statement in statements(function.body):
            if not isinstance(statement, Declare) or statement.symbol.name not in lines:
                continue
            form = reader(known).read(statement.value, {})
            low, high = reader(known).range.form(form)
            text = lines[statement.symbol.name]
            rng, threads = writer.rng, range(writer.threads)
            given = [(t, rng.randrange(writer.trips), rng.choice((0, 1, 5)), rng.choice(NAMES)) for t in threads]
            columns = dict(zip("tkbn", zip(*given, strict=True), strict=True))
            wanted = np.broadcast_to(computed(text, **columns), len(given))
            try:
                for row, w in zip(given, wanted, strict=True):
                    found = value(form, dict(zip("tkbn", row, strict=True)))
                    assert found == w and low <= found <= high, f"seed {seeds.start + number}: {text}, {row}"
            except Unknown:
                counted["unknown"] += 1
                continue
            counted["read"] += 1
            counted["xor"] += any(digit.base[0] == "xor" for monomial in form for digit in monomial)
    return counted


def test_what_is_read_has_the_expressions_values(tmp_path) -> None:
    counted = agreed(range(60), tmp_path)
    assert counted["read"] >= 300 and counted["xor"] >= 100 and not counted["unknown"], counted


@pytest.mark.fuzz
def test_what_is_read_of_many_has_the_expressions_values(tmp_path) -> None:
    counted = agreed(range(1_000, 3_000), tmp_path)
    assert counted["read"] >= 8_000 and counted["xor"] >= 3_000, counted


# -- what is proved ---------------------------------------------------------------------------------------------------------

PROVED = """
@prism("global")
@requires(grid[1], block[1], thread[{threads}])
@attr("__launch_bounds__({threads})")
def kernel_{number}(n: int32 @ grid[1]):
    with group(block[1]):
        s: shared(int32[{size}])
        t: int32 @ thread[1] = id()
        for q in range(2):
            with partition(s, thread[1], lambda i, j: {one}) as mine, group(thread[1]):
                for k in range({trips}):
                    mine[k, {first}] = t
                {guard}
                    mine[{row}, {second}] = t
            with partition(s, thread[1], lambda i, j: {two}) as mine, group(thread[1]):
                for k in range({trips}):
                    mine[k, {first}] = k
"""


class Tiles:
    """Two mappings of threads to parts of shared memory, right or with a mistake, and accesses through them, by a seed."""

    def __init__(self, seed: int) -> None:
        rng = self.rng = random.Random(seed)
        self.threads, self.trips = rng.choice([32, 64, 48]), rng.choice([1, 2, 3, 4])
        self.width = rng.choice([4, 8, 16])
        self.wide = rng.choice([1, 1, 2, 4])  # elements of one thread, side by side
        one = self.mapping()
        wide = self.wide if rng.random() < 0.8 else self.wide + 1
        self.facts = {
            "one": one, "two": one if rng.random() < 0.5 else self.mapping(), "row": rng.randrange(self.trips),
            "guard": rng.choice(["if t < n:", "if n >= 0:", "if t % 2 == 0:"]),
            "first": rng.choice(["0", "k % 2" if wide > 1 else "0", str(rng.randrange(wide))]), "second": rng.randrange(wide),
        }  # fmt: skip

    def mapping(self) -> str:
        rng, width = self.rng, self.width
        row = rng.choice([f"(t // {width} + {self.threads // width} * i)"] * 3 + [f"(t // {width} * {self.trips} + i)"])
        across = f"(t % {width})"
        if rng.random() < 0.2:  # a mistake
            across = rng.choice([f"(t % {width * 2})", f"(t // 2 % {width})", f"(t % {width} // 2)", "(t % 3)"])
        by = rng.choice([row, f"({row} % {rng.choice([2, 4, 8, width])})", f"({row} // 2)", "i", "n", "(n & 7)", "(1 << i)",
                         f"{rng.randrange(16)}", f"({across} >> 1)", f"({row} & 6)", "q", f"({row} * 2)",
                         f"({row} ^ n % 4)"])  # fmt: skip
        if rng.random() < 0.1:
            by = rng.choice([across, f"({across} << 1)", f"(t % {width})", "t", "j"])
        kind, total = rng.randrange(4), width * self.wide
        if kind == 0:
            return f"{row} * {total} + ({across} ^ {by}) * {self.wide} + j"
        if kind == 1:
            return f"({row} * {total} + {across} * {self.wide} + j) ^ {by}"
        if kind == 2:
            moved = rng.choice([f"({row} % {width}) * {self.wide}", f"{row} & {total - 1}", f"{by} % {total}"])
            return f"{row} * {total} + ({across} * {self.wide} + j ^ {moved})"
        return f"{row} * {total} | ({across} * {self.wide} | j) ^ {by} % {total}"

    def elements(self, two: bool, n: int, q: int) -> list[tuple[int, int]]:
        """The thread and the element of each write through a mapping."""
        facts = self.facts
        parts = [(t, k, eval(str(facts["first"]), {"k": k})) for t in range(self.threads) for k in range(self.trips)]
        if not two:
            guarded = [t for t in range(self.threads) if eval(str(facts["guard"])[3:-1], {"t": t, "n": n})]
            parts += [(t, facts["row"], facts["second"]) for t in guarded]
        t, i, j = zip(*parts, strict=True)
        text = str(facts["two" if two else "one"])
        at = np.broadcast_to(computed(text, t=t, i=i, j=j, n=n, q=q), len(parts))
        return list(zip(t, at.tolist(), strict=True))

    def text(self, number: int, size: int) -> str:
        return PROVED.format(threads=self.threads, trips=self.trips, number=number, size=size, **self.facts)


def collide(elements: list[tuple[int, int]]) -> bool:
    owners: dict[int, int] = {}
    return any(owners.setdefault(element, thread) != thread for thread, element in elements)


def judged(seeds: range, folder: Path, runs: bool) -> dict[str, int]:
    """Compare the verdicts on each kernel's two partitions with brute force; `runs`: and run it, where it is proved."""
    tiles = [Tiles(seed) for seed in seeds]
    written = [
        {(two, n, q): tile.elements(two, n, q) for two in (False, True) for n in NAMES for q in (0, 1)}
        for tile in tiles
    ]
    sizes = [1 + max(element for found in all_.values() for _, element in found) for all_ in written]
    texts = [tile.text(k, max(1, sizes[k])) for k, tile in enumerate(tiles)]
    module = load("".join(texts), f"proved_{seeds.start}", folder)
    counted = dict.fromkeys(("disjoint", "overlap", "unknown", "missed", "ran", "left out"), 0)
    for number, _ in enumerate(tiles):
        kernel, where = getattr(module, f"kernel_{number}"), f"seed {seeds.start + number}: {texts[number]}"
        (function,) = check(kernel, None)
        found = [verdict.status for _, verdict in verdicts(function, facts(function))]
        for two, status in enumerate(found):
            met = [collide(all_) for (of, _, _), all_ in written[number].items() if of == bool(two)]
            counted[status] += 1
            counted["missed"] += status == "unknown" and not any(met)
            assert status != "disjoint" or not any(met), where
            assert status != "overlap" or all(met), where
        if not runs or found != ["disjoint"] * 2:
            continue
        program = build(kernel)
        counted["ran"] += 1
        counted["left out"] += any("proved disjoint" in e.reason for e in program.plans[program.entry].elided)
        for schedule, n in product(SCHEDULES, (3, 7)):
            if min(element for (_, m, _), all_ in written[number].items() for _, element in all_ if m == n) >= 0:
                try:
                    run(program, 1, tiles[number].threads, [np.int32(n)], check=True, schedule=schedule, seed=number)
                except Exception as error:
                    raise AssertionError(f"{schedule}, n = {n}, {where}") from error
    return counted


def test_verdicts_agree_with_brute_force(tmp_path) -> None:
    counted = judged(range(50), tmp_path, runs=False)
    assert counted["disjoint"] >= 45 and counted["overlap"] >= 5 and counted["missed"] <= 20, counted


def test_no_race_where_proofs_left_barriers_out(tmp_path) -> None:
    counted = judged(range(200, 215), tmp_path, runs=True)
    assert counted["ran"] >= 4 and counted["left out"] >= 2, counted


@pytest.mark.fuzz
def test_many_verdicts_agree_with_brute_force(tmp_path) -> None:
    counts = [judged(range(first, first + 300), tmp_path, runs=False) for first in range(5_000, 8_000, 300)]
    assert sum(counted["disjoint"] for counted in counts) >= 2_000, counts
    counted = judged(range(10_000, 10_400), tmp_path, runs=True)
    assert counted["ran"] >= 80, counted


ONE = """
@prism("global")
@requires(grid[1], block[1], thread[64])
@attr("__launch_bounds__(64)")
def kernel(n: int32 @ grid[1], u: uint32 @ grid[1]):
    with group(block[1]):
        s: shared(int32[{shape}])
        t: int32 @ thread[1] = id()
        w: int32 @ thread[32] = id()
        lane: int32 @ thread[1] = t % 32
        for k in range(5):
            with partition(s, thread[1], {offset}) as mine, group(thread[1]):
                {write}
"""
BOTH = "mine[2] = 1\n" + 16 * " " + "for i in range(4): mine[i] = 1"
IDIOMS = {
    "a row's swizzle": ("16, 32", "lambda i: (t // 8, t % 8 ^ t // 8)", "mine[0] = 1"),
    "of rows in a loop": ("32, 32", "lambda i: (t // 32 + 2 * i, t % 32 ^ t // 32 + 2 * i)", "for i in range(16): mine[i] = 1"),
    "of chunks of 4": ("16, 32", "lambda i: (t // 8, 4 * (t % 8 ^ t // 8) + i)", "for i in range(4): mine[i] = 1"),
    "of chunks, each": ("16, 32", "lambda i: (t // 8, 4 * (t % 8 ^ t // 8) + i)", "mine[0] = 1; mine[3] = 1; mine[1] = 2"),
    "in each chunk": ("16, 32", "lambda i: (t // 8, 4 * (t % 8) + (i ^ t // 8 % 4))", "for i in range(4): mine[i] = 1"),
    "in chunks, unrolled": ("16, 32", "lambda i: (t // 8, 4 * (t % 8) + i ^ t // 8)", "mine[0] = 1; mine[3] = 1; mine[2] = 2"),
    "of one and of all": ("16, 32", "lambda i: (t // 8, 4 * (t % 8) + i ^ t // 8)", BOTH),
    "of every second row": ("16, 32", "lambda i: (t // 8, t % 8 ^ t // 8 // 2)", "mine[0] = 1"),
    "by a row's remainder": ("16, 32", "lambda i: (t // 8, t % 8 ^ t // 8 % 4)", "mine[0] = 1"),
    "by other rows": ("64, 8", "lambda i: (t // 8 * 3, t % 8 ^ t // 8 * 3 % 8)", "mine[0] = 1"),
    "turned": ("16, 32", "lambda i: (t % 8 ^ t // 8, t // 8)", "mine[0] = 1"),
    "both turned": ("16, 32", "lambda i: (t // 8 ^ t % 8, t // 8 ^ 5)", "mine[0] = 1"),
    "flat": ("256", "lambda i: (4 * t + i) ^ (4 * t + i >> 3 & 7)", "for i in range(4): mine[i] = 1"),
    "flat, with masks": ("256", "lambda i: 4 * t ^ (4 * t & 0x1c0) >> 4 | i", "for i in range(4): mine[i] = 1"),
    "shifts for sums": ("256", "t >> 3 << 5 | (t & 7 ^ t >> 3) << 2", "mine[3] = 1; mine[0] = 1"),
    "without low bits": ("128", "(t & ~3) * 2 + (t & 3)", "mine[0] = 1"),
    "a butterfly": ("64", "t ^ 5", "mine[0] = 1"),
    "of the trip's width": ("64", "t ^ 1 << k", "mine[0] = 1"),
    "in a warp": ("64", "32 * w + (lane ^ k)", "mine[0] = 1"),
    "by a name": ("64", "lambda i: 8 * (t // 8) + (t % 8 ^ u % 8)", "mine[0] = 1"),
    "by any name": ("64", "t ^ n", "mine[0] = 1"),
    "mirrored": ("64", "63 - t ^ 21", "mine[0] = 1"),
    "Gray": ("64", "t ^ t >> 1", "mine[0] = 1"),
    "Gray of a number": ("128", "2 * t ^ t", "mine[0] = 1"),
    "of three": ("64", "t ^ t // 2 ^ t // 8", "mine[0] = 1"),
    "one's own bits": ("64", "lambda i: t // 8 * 8 + (t % 8 ^ t // 8 & 7)", "mine[0] = 1"),
}  # fmt: skip
OVERLAPS = {
    "a bit is lost": ("64", "t ^ t", "mine[0] = 1"),
    "and another one": ("64", "t ^ (t & 8)", "mine[0] = 1"),
    "turned round": ("64", "t ^ t % 2 * 32 ^ t // 32", "mine[0] = 1"),
    "the row is not there": ("16, 32", "lambda i: (0, t % 8 ^ t // 8)", "mine[0] = 1"),
    "the row is halved": ("16, 32", "lambda i: (t // 16, t % 8 ^ t // 8)", "mine[0] = 1"),
    "the row is in the columns": ("16, 32", "lambda i: (t // 8 ^ t % 8, t // 8 ^ t % 8)", "mine[0] = 1"),
    "chunks that overlap": ("16, 32", "lambda i: (t // 8, 4 * (t % 8 ^ t // 8) + i)", "for i in range(5): mine[i] = 1"),
    "neighbours' swizzles": ("16, 32", "lambda i: (t // 8 * (1 - i), t % 8 ^ t // 8 * i)", "mine[0] = 1; mine[1] = 1"),
    "neighbours' columns": ("16, 32", "lambda i: (t // 8, t % 8 ^ t // 8 ^ i)", "mine[0] = 1; mine[1] = 1"),
    "by other names": ("64", "lambda i: t // 8 * 8 + (t % 8 ^ n + i & 7)", "mine[0] = 1; mine[1] = 1"),
    "a bit set": ("64", "t | 4", "mine[0] = 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", IDIOMS)
def test_parts_by_bits_are_proved_disjoint(name: str, tmp_path) -> None:
    found = status_of(name, IDIOMS[name], tmp_path)
    assert found == "disjoint"


@pytest.mark.parametrize("name", OVERLAPS)
def test_parts_by_bits_that_overlap_are_not(name: str, tmp_path) -> None:
    assert status_of(name, OVERLAPS[name], tmp_path) in ("unknown", "overlap")


def status_of(name: str, case: tuple[str, str, str], folder: Path) -> str:
    shape, offset, write = case
    text = HEAD + ONE.format(shape=shape, offset=offset, write=write)
    (function,) = check(load(text, f"one_{sum(map(ord, name))}", folder).kernel, None)
    (found,) = [verdict.status for _, verdict in verdicts(function, facts(function))]
    return found


TRANSPOSED = """
@prism("global")
@attr("__launch_bounds__(256)")
@requires(grid[1], block[1], thread[256])
def kernel(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], rows: int32 @ grid[1], columns: int32 @ grid[1]):
    across: int32 @ grid[1] = (columns + 31) // 32
    top: int32 @ block[1] = 32 * (id(block[1]) // across)
    left: int32 @ block[1] = 32 * (id(block[1]) % across)
    with partition(y, block[1], lambda r, c: (left + r) * rows + top + c) as y_tile, group(block[1]):
        tile: shared(int32[32, 32])
        t: int32 @ thread[1] = id()
        with partition(tile, thread[1], lambda k: (t // 32 + k, t % 32 ^ t // 32 + k)) as mine, group(thread[1]):
            for k in range(0, 32, 8):
                if top + t // 32 + k < rows and left + t % 32 < columns:
                    mine[k] = x[(top + t // 32 + k) * columns + left + t % 32]
        with partition(y_tile, thread[1], lambda k: (t // 32 + k, t % 32)) as mine, group(thread[1]):
            for k in range(0, 32, 8):
                if left + t // 32 + k < columns and top + t % 32 < rows:
                    mine[k] = tile[t % 32, t // 32 + k ^ t % 32]
"""


def test_a_transposition_by_a_swizzled_tile(tmp_path) -> None:
    kernel = load("from prism.lang import const\n" + TRANSPOSED, "transposed", tmp_path).kernel
    program = build(kernel)
    assert not [u for chapter in account(program).chapters for u in chapter.unproved]
    plan = program.plans[program.entry]
    assert len(plan.barriers) == 1
    x = np.arange(70 * 90, dtype=np.int32)
    for schedule in SCHEDULES:
        y = np.zeros_like(x)
        run(program, 9, 256, [x, y, 70, 90], check=True, schedule=schedule)
        assert np.array_equal(y.reshape(90, 70), x.reshape(70, 90).T)
    text = entry_of(program, "sm_90a").source
    assert "t % 32 ^ t // 32 + k" in text, text
