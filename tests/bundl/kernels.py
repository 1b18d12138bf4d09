"""Small kernels of Prism's core, as text: well typed by construction, or with a slip here and there."""

from __future__ import annotations

from random import Random

BOUND = 4  # threads that a kernel's @requires promises
CELLS = 16  # of each block's part of the array, and of the shared array

HEAD = f"""
from prism.lang import block, claim, grid, group, id, int32, partition, prism, ptr, requires, shared, split, thread

@prism("global")
@requires(grid[1], block[1], thread[{BOUND}])
def kernel(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    b0: int32 @ block[1] = id()
    with partition(y, block[1], offset=b0 * {CELLS}) as out:
        with group(block[1]):
            a: shared(int32[{CELLS}]) @ block[1]
            u0: int32 @ thread[1] = id()
            with partition(a, thread[1], offset=u0 * {CELLS // BOUND}) as a0:
                with group(thread[1]):
                    for i0 in range(0, {CELLS // BOUND}, 1):
                        a0[i0] = u0 + i0
            s0: int32 @ block[1] = n
            w0: int32 @ thread[2] = id()
            t0: int32 @ thread[1] = u0
"""
TAIL = f"""
            with partition(out, thread[1], offset=u0 * {CELLS // BOUND}) as z0:
                with group(thread[1]):
                    z0[0] = z0[0] + s0 + w0
                    z0[1] = z0[1] - t0
                    z0[2] = z0[2] + a[5 * u0]
                    z0[3] = z0[3] + a[15 - u0]
"""

BLOCK = 0  # block[1] beside sizes of thread units


def leq(narrow: int, broad: int) -> bool:
    """Whether narrow <= broad, of thread[n] and BLOCK."""
    return broad == BLOCK or (narrow != BLOCK and broad % narrow == 0)


def name(unit: int) -> str:
    return "block[1]" if unit == BLOCK else f"thread[{unit}]"


class Scope:
    """What is in force: scalars and arrays by name, each with its unit; arrays with how many cells are theirs.

    `fixed` are not assigned to; `outside` are in global memory, which only single threads read.
    """

    def __init__(
        self,
        code: int,
        scalars: dict[str, int],
        arrays: dict[str, tuple[int, int]],
        fixed: frozenset[str],
        outside: frozenset[str],
    ) -> None:
        self.code, self.scalars, self.arrays, self.fixed = code, dict(scalars), dict(arrays), fixed
        self.outside = outside

    def at(self, code: int) -> Scope:
        return Scope(code, self.scalars, self.arrays, self.fixed, self.outside)

    def view(self, source: str, y: str, unit: int, cells: int) -> None:
        self.arrays[y] = (unit, cells)
        if source in self.outside:
            self.outside |= {y}


class Kernels:
    """One kernel under way. `slips`: how likely a choice is to be any at all."""

    def __init__(self, rng: Random, slips: float) -> None:
        self.rng, self.slips, self.count, self.lines = rng, slips, 0, [HEAD.rstrip()]

    def slip(self) -> bool:
        return self.rng.random() < self.slips

    def fresh(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def put(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def units(self, code: int) -> list[int]:
        every = [1, 2, 4, BLOCK]
        return every if self.slip() else [unit for unit in every if leq(unit, code)]

    # Expressions. ----------------------------------------------------------------------------------------------

    def expr(self, here: Scope, unit: int, fuel: int = 2) -> str:
        choices = [str(self.rng.randint(0, 3)), "n"]
        if leq(unit, here.code) or self.slip():
            choices.append("id()")
        choices += [v for v, at in here.scalars.items() if leq(unit, at) or self.slip()] * 2
        arrays = [
            (v, cells)
            for v, (at, cells) in here.arrays.items()
            if cells and ((leq(unit, at) and (unit == 1 or v not in here.outside)) or self.slip())
        ]
        if arrays and fuel:
            array, cells = self.rng.choice(arrays)
            choices += [f"{array}[{self.index(here, unit, cells)}]"] * 2
        if fuel and self.rng.random() < 0.3:
            return f"{self.expr(here, unit, fuel - 1)} {self.rng.choice('+-')} {self.expr(here, unit, 0)}"
        return self.rng.choice(choices)

    def index(self, here: Scope, unit: int, cells: int) -> str:
        if leq(unit, here.code) and self.rng.random() < 0.3:
            return f"id() % {cells}"
        return str(self.rng.randrange(cells))

    # Statements. -----------------------------------------------------------------------------------------------

    def body(self, here: Scope, fuel: int, depth: int) -> None:
        here = here.at(here.code)
        self.put(depth, "pass")
        if self.rng.random() < 0.7:
            self.store(here, 0, depth)
        if self.rng.random() < 0.3:
            self.assign(here, 0, depth)
        for _ in range(self.rng.randint(1, 3)):
            if fuel > 0:
                share = self.rng.randint(1, fuel)
                fuel -= share
                rule = self.rng.choices(
                    [self.declare, self.assign, self.store, self.if_, self.while_, self.for_, self.group, self.split]
                    + [self.partition, self.partition, self.claim],
                    [4, 3, 6, 2, 1, 1, 3, 2, 3, 2, 2],
                )[0]
                rule(here, share - 1, depth)

    def declare(self, here: Scope, fuel: int, depth: int) -> None:
        unit, v = self.rng.choice(self.units(here.code)), self.fresh("v")
        self.put(depth, f"{v}: int32 @ {name(unit)} = {self.expr(here, unit)}")
        here.scalars[v] = unit

    def assign(self, here: Scope, fuel: int, depth: int) -> None:
        targets = [v for v, at in here.scalars.items() if v not in here.fixed and (leq(at, here.code) or self.slip())]
        if targets:
            v = self.rng.choice(targets)
            self.put(depth, f"{v} = {self.expr(here, here.scalars[v])}")

    def store(self, here: Scope, fuel: int, depth: int) -> None:
        targets = [
            (v, cells) for v, (at, cells) in here.arrays.items() if cells and (at == here.code == 1 or self.slip())
        ]
        if targets:
            v, cells = self.rng.choice(targets)
            self.put(depth, f"{v}[{self.index(here, 1, cells)}] = {self.expr(here, 1)}")

    def if_(self, here: Scope, fuel: int, depth: int) -> None:
        test = f"{self.expr(here, here.code, 1)} {self.rng.choice(['<', '=='])} {self.expr(here, here.code, 0)}"
        self.put(depth, f"if {test}:")
        self.body(here, fuel // 2, depth + 1)
        self.put(depth, "else:")
        self.body(here, fuel - fuel // 2, depth + 1)

    def while_(self, here: Scope, fuel: int, depth: int) -> None:
        v = self.fresh("w")
        self.put(depth, f"{v}: int32 @ {name(here.code)} = 0")
        here.scalars[v] = here.code
        here.fixed |= {v}
        self.put(depth, f"while {v} < 2:")
        self.body(here, fuel, depth + 1)
        self.put(depth + 1, f"{v} = {v} + 1")

    def for_(self, here: Scope, fuel: int, depth: int) -> None:
        v = self.fresh("i")
        stop = self.expr(here, here.code, 0) if self.slip() else "2"
        self.put(depth, f"for {v} in range(0, {stop}, 1):")
        inner = here.at(here.code)
        inner.scalars[v] = here.code
        inner.fixed |= {v}
        self.body(inner, fuel, depth + 1)

    def group(self, here: Scope, fuel: int, depth: int) -> None:
        unit = self.rng.choice([unit for unit in self.units(here.code) if unit != BLOCK])
        if self.slip():
            unit = self.rng.choice([1, 2, 3, 4, 8])
        self.put(depth, f"with group(thread[{unit}]):")
        self.body(here.at(unit), fuel, depth + 1)

    def sizes(self, whole: int) -> list[int]:
        """Return arms that align."""
        sizes: list[int] = []
        for _ in range(self.rng.randint(1, 3)):
            fitting = [
                n
                for n in (1, 2, 3, 4)
                if sum(sizes) + n <= whole and (self.slip() or (sum(sizes) % n == 0 and whole % n == 0))
            ]
            if fitting:
                sizes.append(self.rng.choice(fitting))
        if self.slip():
            sizes.append(self.rng.choice((1, 2, 4)))
        return sizes

    def split(self, here: Scope, fuel: int, depth: int) -> None:
        self.put(depth, "match split(thread):")
        for size in self.sizes(here.code or BOUND):
            self.put(depth + 1, f"case {size}:")
            self.body(here.at(size), fuel // 2, depth + 2)

    def part(self, here: Scope) -> tuple[str, int, int] | None:
        """Return an array that the code owns, its cells, and a narrower unit."""
        sources = [v for v, (at, _) in here.arrays.items() if at == here.code or self.slip()]
        units = [unit for unit in self.units(here.code) if unit != BLOCK]
        if not sources or not units:
            return None
        source = self.rng.choice(sources)
        return source, here.arrays[source][1], self.rng.choice(units)

    def partition(self, here: Scope, fuel: int, depth: int) -> None:
        chosen = self.part(here)
        if chosen is None:
            return
        source, cells, unit = chosen
        own, y, u = cells * unit // (here.code or BOUND), self.fresh("y"), self.fresh("u")
        narrow = self.rng.choice((1, unit)) if self.slip() else unit
        self.put(depth, f"{u}: int32 @ {name(narrow)} = id()")
        here.scalars[u] = narrow
        self.put(depth, f"with partition({source}, {name(unit)}, offset={u} * {own}) as {y}:")
        inner = here.at(here.code)
        if not self.slip():
            del inner.arrays[source]
        inner.view(source, y, unit, own)
        if self.rng.random() < 0.6 and leq(unit, here.code):
            self.put(depth + 1, f"with group({name(unit)}):")
            self.body(inner.at(unit), fuel, depth + 2)
        else:
            self.body(inner, fuel, depth + 1)

    def claim(self, here: Scope, fuel: int, depth: int) -> None:
        chosen = self.part(here)
        if chosen is None:
            return
        source, cells, unit = chosen
        y = self.fresh("y")
        self.put(depth, f"with claim({source}, {name(unit)}) as {y}:")
        self.put(depth + 1, "match split(thread):")
        inner = here.at(here.code)
        if not self.slip():
            del inner.arrays[source]
        sizes = [unit] * self.rng.randint(1, max(1, min(3, (here.code or BOUND) // unit)))
        owner = self.rng.randrange(len(sizes))
        for number, size in enumerate(sizes):
            self.put(depth + 2, f"case {size}:")
            arm = inner.at(size if not self.slip() else 1)
            if number == owner or self.slip():
                arm.view(source, y, unit, cells)
            self.body(arm, fuel // 2, depth + 3)


def kernel(rng: Random, fuel: int, slips: float) -> str:
    """Return the text of a module with one kernel."""
    made = Kernels(rng, slips)
    here = Scope(
        BLOCK,
        {"b0": BLOCK, "u0": 1, "s0": BLOCK, "w0": 2, "t0": 1},
        {"a": (BLOCK, CELLS), "out": (BLOCK, CELLS)},
        frozenset({"b0", "u0"}),
        frozenset({"out"}),
    )
    made.body(here, fuel, 3)
    return "\n".join([*made.lines, TAIL])
