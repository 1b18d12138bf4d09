"""Small kernels of Prism's core, as text: well typed by construction, or with a slip here and there.

A kernel has up to two device functions beside it; the second may call the first.
"""

from __future__ import annotations

from math import gcd
from random import Random

from tests.theory.bundl.kernels_text import (
    BLOCK,
    BOUND,
    CELLS,
    HEAD,
    IMPORTS,
    TAIL,
    Function,
    Parameter,
    Scope,
    leq,
    name,
)

__all__ = ["BOUND", "CELLS", "kernel"]

RULES = [
    "unit",
    "read",
    "write",
    "store",
    "loop",
    "group",
    "split",
    "owners",
    "offset",
    "hidden",
    "claim",
    "call",
    "alias",
]
RULES += ["template", "pass", "async"]


class Kernels:
    """One kernel under way. `slips`: how likely a choice is to be any at all, for the few rules that this kernel is careless of,
    so that one does not hide the others."""

    def __init__(self, rng: Random, slips: float) -> None:
        self.rng, self.slips, self.count, self.lines = rng, slips, 0, list[str]()
        self.careless = frozenset(rng.sample(RULES, rng.choice((1, 1, 2, 3))) if slips else ())
        self.aligned = {"a": CELLS, "out": CELLS}  # where an array of the kernel starts: at a multiple of so many cells
        self.functions: list[Function] = []
        self.template: tuple[str, int] | None = None  # that of the function under way

    def slip(self, rule: str) -> bool:
        return rule in self.careless and self.rng.random() < self.slips

    def fresh(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def put(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def unit(self, unit: int) -> str:
        """Return a unit's text, by the template parameter at times."""
        if self.template is not None and unit == self.template[1] and self.rng.random() < 0.5:
            return f"thread[{self.template[0]}]"
        return name(unit)

    def units(self, code: int) -> list[int]:
        every = [1, 2, 4, BLOCK]
        return every if self.slip("unit") else [unit for unit in every if leq(unit, code)]

    def rank(self, here: Scope, unit: int) -> str:
        """Return the index of a unit inside what the code speaks for: that of the same unit is 0, and Prism has it written so."""
        return "0" if unit == here.code else "id()"

    # Expressions. ----------------------------------------------------------------------------------------------

    def expr(self, here: Scope, unit: int, fuel: int = 2) -> str:
        choices = [str(self.rng.randint(0, 3)), *(["n"] if "n" in here.scalars else [])]
        if self.template is not None:
            choices.append(self.template[0])
        if leq(unit, here.code) or self.slip("read"):
            choices.append(self.rank(here, unit))
        choices += [v for v, at in here.scalars.items() if leq(unit, at) or self.slip("read")] * 2
        arrays = [
            (v, cells)
            for v, (at, cells) in here.arrays.items()
            if cells and ((leq(unit, at) and (unit == 1 or v not in here.outside)) or self.slip("read"))
        ]
        arrays += [(v, cells) for v, (at, cells) in here.locals.items() if leq(unit, at) or self.slip("read")]
        if arrays and fuel:
            array, cells = self.rng.choice(arrays)
            choices += [f"{array}[{self.index(here, unit, cells)}]"] * 2
        if fuel and self.rng.random() < 0.3:
            return f"{self.expr(here, unit, fuel - 1)} {self.rng.choice('+-')} {self.expr(here, unit, 0)}"
        return self.rng.choice(choices)

    def index(self, here: Scope, unit: int, cells: int) -> str:
        if leq(unit, here.code) and self.rng.random() < 0.3:
            return f"{self.rank(here, unit)} % {cells}"
        return str(self.rng.randrange(cells))

    # Statements. -----------------------------------------------------------------------------------------------

    def body(self, here: Scope, fuel: int, depth: int) -> None:
        here = here.at(here.code)
        self.put(depth, "pass")
        if self.rng.random() < 0.7:
            self.store(here, 0, depth)
        if self.rng.random() < 0.3:
            self.assign(here, 0, depth)
        if self.functions and self.rng.random() < 0.3:
            self.call(here, 0, depth)
        for _ in range(self.rng.randint(1, 3)):
            if fuel > 0:
                share = self.rng.randint(1, fuel)
                fuel -= share
                rule = self.rng.choices(
                    [self.declare, self.assign, self.store, self.if_, self.while_, self.for_, self.group, self.split]
                    + [self.partition, self.claim, self.call, self.array, self.set, self.asynchronous],
                    [4, 3, 6, 2, 1, 1, 3, 2, 5, 3, 4, 1, 2, 3],
                )[0]
                rule(here, share - 1, depth)

    def declare(self, here: Scope, fuel: int, depth: int) -> None:
        unit, v = self.rng.choice(self.units(here.code)), self.fresh("v")
        self.put(depth, f"{v}: int32 @ {self.unit(unit)} = {self.expr(here, unit)}")
        here.scalars[v] = unit

    def array(self, here: Scope, fuel: int, depth: int) -> None:
        """A local array."""
        unit, v, cells = self.rng.choice(self.units(here.code)), self.fresh("r"), self.rng.choice((2, 3))
        self.put(depth, f"{v}: int32[{cells}] @ {self.unit(unit)} = {{0}}")
        here.locals[v] = (unit, cells)

    def set(self, here: Scope, fuel: int, depth: int) -> None:
        """An element of a local array."""
        targets = [(v, at, cells) for v, (at, cells) in here.locals.items() if leq(at, here.code) or self.slip("write")]
        if targets:
            v, unit, cells = self.rng.choice(targets)
            self.put(depth, f"{v}[{self.index(here, unit, cells)}] = {self.expr(here, unit)}")

    def assign(self, here: Scope, fuel: int, depth: int) -> None:
        targets = [
            v for v, at in here.scalars.items() if v not in here.fixed and (leq(at, here.code) or self.slip("write"))
        ]
        if targets:
            v = self.rng.choice(targets)
            self.put(depth, f"{v} = {self.expr(here, here.scalars[v])}")

    def store(self, here: Scope, fuel: int, depth: int) -> None:
        targets = [
            (v, cells)
            for v, (at, cells) in here.arrays.items()
            if cells and (at == here.code == 1 or self.slip("store"))
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
        stop = self.expr(here, here.code, 0) if self.slip("loop") else "2"
        self.put(depth, f"for {v} in range(0, {stop}, 1):")
        inner = here.at(here.code)
        inner.scalars[v] = here.code
        inner.fixed |= {v}
        self.body(inner, fuel, depth + 1)

    def group(self, here: Scope, fuel: int, depth: int) -> None:
        unit = self.rng.choice([unit for unit in self.units(here.code) if unit != BLOCK])
        if self.slip("group"):
            unit = self.rng.choice([1, 2, 3, 4, 8])
        self.put(depth, f"with group({self.unit(unit)}):")
        self.body(here.at(unit), fuel, depth + 1)

    def sizes(self, whole: int) -> list[int]:
        """Return arms that align."""
        sizes: list[int] = []
        for _ in range(self.rng.randint(1, 3)):
            fitting = [
                n
                for n in (1, 2, 3, 4)
                if sum(sizes) + n <= whole and (self.slip("split") or (sum(sizes) % n == 0 and whole % n == 0))
            ]
            if fitting:
                sizes.append(self.rng.choice(fitting))
        if self.slip("split"):
            sizes.append(self.rng.choice((1, 2, 4)))
        return sizes

    def split(self, here: Scope, fuel: int, depth: int) -> None:
        self.put(depth, "match split(thread):")
        for size in self.sizes(here.code or BOUND):
            self.put(depth + 1, f"case {size}:")
            self.body(here.at(size), fuel // 2, depth + 2)

    def part(self, here: Scope) -> tuple[str, int, int] | None:
        """Return an array that the code owns, its cells, and a narrower unit."""
        sources = [v for v, (at, _) in here.arrays.items() if at == here.code or self.slip("owners")]
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
        narrow = self.rng.choice((1, unit)) if self.slip("offset") else unit
        self.put(depth, f"{u}: int32 @ {name(narrow)} = {self.rank(here, narrow)}")
        here.scalars[u] = narrow
        self.put(depth, f"with partition({source}, {name(unit)}, offset={u} * {own}) as {y}:")
        inner = here.at(here.code)
        if not self.slip("hidden"):
            del inner.arrays[source]
        inner.view(source, y, unit, own)
        self.aligned[y] = gcd(self.aligned.get(source, 1), own)
        if self.rng.random() < 0.6 and leq(unit, here.code):
            self.put(depth + 1, f"with group({name(unit)}):")
            self.body(inner.at(unit), fuel, depth + 2)
        else:
            self.body(inner, fuel, depth + 1)

    def claim(self, here: Scope, fuel: int, depth: int) -> None:
        """One claim or two, around several statements; an arm of one of them is the owner's, at times in a loop or an `if`."""
        claims: list[tuple[str, int, int]] = []
        inner = here.at(here.code)
        for _ in range(self.rng.choice((1, 1, 2))):
            chosen = self.part(inner)
            if chosen is None:
                break
            source, cells, unit = chosen
            start = self.rng.choice((0, 0, 1)) if cells > 1 else 0
            y = self.fresh("y")
            offset = f", offset={self.rng.choice((str(start), f'0 + {start}'))}" if start else ""
            self.put(depth, f"with claim({source}, {name(unit)}{offset}) as {y}:")
            if not self.slip("hidden"):
                del inner.arrays[source]
            if source in inner.outside:
                inner.outside |= {y}
            self.aligned[y] = self.aligned.get(source, 1) if start == 0 else 1
            claims.append((y, unit, cells - start))
            depth += 1
        if not claims:
            return
        before, after = self.rng.choice((0, 0, 1)), self.rng.choice((0, 0, 1))
        for _ in range(before):
            self.rng.choice([self.declare, self.assign, self.split, self.if_])(inner, fuel // 3, depth)
        turn = self.rng.random()
        if turn < 0.15:
            self.put(depth, f"for {self.fresh('i')} in range(0, 2, 1):")
        elif turn < 0.3:
            self.put(depth, f"if {self.expr(inner, inner.code, 0)} < 2:")
        self.owned(inner, claims, fuel // 2, depth + (turn < 0.3))
        for _ in range(after):
            self.rng.choice([self.assign, self.split, self.group])(inner, fuel // 3, depth)

    def owned(self, here: Scope, claims: list[tuple[str, int, int]], fuel: int, depth: int) -> None:
        """A split with an arm for each claimed name, or with one that is split again."""
        whole, unit = here.code or BOUND, self.rng.choice(claims)[1]
        deep = 2 * unit <= whole and self.rng.random() < 0.3
        size = 2 * unit if deep else unit
        count = self.rng.randint(1, max(1, min(3, whole // size)))
        owner = {y: self.rng.randrange(count) for y, _, _ in claims}
        self.put(depth, "match split(thread):")
        for number in range(count):
            mine = [claim for claim in claims if (owner[claim[0]] == number and claim[1] == unit) or self.slip("claim")]
            self.put(depth + 1, f"case {size}:")
            arm = here.at(size if not self.slip("claim") else 1)
            if deep and mine:
                self.put(depth + 2, "pass")
                self.owned(arm, mine, fuel // 2, depth + 2)
                continue
            for y, at, cells in mine:
                arm.arrays[y] = (at, cells)
            self.body(arm, fuel // 2, depth + 2)

    def asynchronous(self, here: Scope, fuel: int, depth: int) -> None:
        """Copies from global memory into a part of shared memory that each thread has, which go on until the scope's end."""
        own = [v for v, (at, cells) in here.arrays.items() if at == 1 and cells]
        to, sources = [v for v in own if v not in here.outside], [v for v in own if v in here.outside]
        if not to:
            self.lend(here, fuel, depth)
            return
        s, d = self.rng.choice(to), self.fresh("d")
        g = self.rng.choice(["out", *sources, *sources]) if "out" in here.arrays else ""
        inner = here.at(1)
        for name_ in (s, g):
            if not self.slip("async"):
                inner.arrays.pop(name_, None)
        self.put(depth, f"with async_({s}) as {d}:")
        if self.slip("async"):
            inner.arrays[d] = here.arrays[s]
        depth += 1
        if here.code != 1 and not self.slip("async"):
            self.put(depth, "with group(thread[1]):")
            depth += 1
        self.body(inner, fuel // 3, depth)
        if g:
            self.copies(here, s if self.slip("async") else d, s, g, depth)
        self.rng.choice([self.declare, self.assign, self.set])(inner, 0, depth)

    def lend(self, here: Scope, fuel: int, depth: int) -> None:
        """Give each thread its part of shared memory, and of global memory if it may be, for copies."""
        inner, whole = here.at(here.code), here.code or BOUND
        shared = [
            v for v, (at, cells) in here.arrays.items() if at == here.code and v not in here.outside and cells >= whole
        ]
        if not shared or whole == 1:
            return
        lent = [self.rng.choice(shared)]
        if "out" in here.arrays and here.arrays["out"][0] == here.code:
            lent += self.rng.choice(([], ["out"]))
        for source in lent:
            own, y, u = here.arrays[source][1] // whole, self.fresh("y"), self.fresh("u")
            self.put(depth, f"{u}: int32 @ thread[1] = id()")
            self.put(depth, f"with partition({source}, thread[1], offset={u} * {own}) as {y}:")
            del inner.arrays[source]
            inner.scalars[u] = 1
            inner.view(source, y, 1, own)
            self.aligned[y] = gcd(self.aligned.get(source, 1), own)
            depth += 1
        self.asynchronous(inner, fuel, depth)

    def copies(self, here: Scope, d: str, s: str, g: str, depth: int) -> None:
        """One copy, or two side by side, or one element after the other."""
        room = min(here.arrays[s][1], here.arrays[g][1])
        at = gcd(self.aligned.get(s, 1), self.aligned.get(g, 1))
        size = self.rng.choice([k for k in (1, 2, 4) if k <= room and at % k == 0])
        start = 0 if g == "out" else self.rng.randrange(here.arrays[g][1] // size) * size
        if self.rng.random() < 0.2 and g != "out":
            i = self.fresh("i")
            self.put(depth, f"for {i} in range(0, {room}, 1):")
            self.put(depth + 1, f"cp_async({d}[{i}], {g}[{i}], 4)")
            return
        self.put(depth, f"cp_async({d}[0], {g}[{start}], {4 * size})")
        if self.rng.random() < 0.3 and here.arrays[s][1] >= 2 * size:
            self.put(depth, f"cp_async({d}[{size}], {g}[{start}], {4 * size})")

    # Functions. ------------------------------------------------------------------------------------------------

    def call(self, here: Scope, fuel: int, depth: int) -> None:
        """A call of a function that this code's units can run, with arrays of exactly its parameters' units."""
        fitting = [f for f in self.functions if leq(f.code, here.code) or self.slip("call")]
        if not fitting:
            return
        function = self.rng.choice(fitting)
        arguments, used = [], set[str]()
        for parameter in function.parameters:
            if parameter.kind == "scalar":
                arguments.append(self.expr(here, parameter.unit, 0))
                continue
            names = [v for v in self.passable(here, parameter) if v not in used or self.slip("alias")]
            if not names:
                return
            arguments.append(self.rng.choice(names))
            used.add(arguments[-1])
        if function.template is not None:
            number = self.rng.choice((1, 2, 4)) if self.slip("template") else function.template[1]
            arguments.append(f"{function.template[0]}={number}")
        self.put(depth, f"{function.name}({', '.join(arguments)})")

    def passable(self, here: Scope, parameter: Parameter) -> list[str]:
        """Return the arrays that may be passed."""
        if parameter.kind == "array":
            return [
                v
                for v, (at, cells) in here.locals.items()
                if cells == parameter.cells and (at == parameter.unit or self.slip("pass"))
            ]
        return [
            v
            for v, (at, cells) in here.arrays.items()
            if cells >= parameter.cells and (at == parameter.unit or self.slip("pass"))
        ]

    def function(self, fuel: int) -> None:
        """Write a device function."""
        code, made = self.rng.choice((1, 1, 2, 4, BLOCK)), self.fresh("f")
        if self.rng.random() < 0.5:
            self.template = (
                self.fresh("K"),
                code if code != BLOCK and self.rng.random() < 0.6 else self.rng.choice((1, 2)),
            )
        parameters = [Parameter(self.fresh("x"), "scalar", self.rng.choice((1, 2, 4, BLOCK)))]
        for _ in range(self.rng.choice((0, 1, 1, 2))):
            unit = self.rng.choice([unit for unit in (1, 1, 2, 4, BLOCK) if leq(unit, code) or self.slip("unit")])
            cells = self.rng.choice((1, 2, 4)) * (1 if unit == 1 else unit or BOUND)
            parameters.append(Parameter(self.fresh("q"), "pointer", unit, min(cells, CELLS)))
        if self.rng.random() < 0.5:
            parameters.append(Parameter(self.fresh("l"), "array", 1, 2))
        function = Function(made, code, tuple(parameters), self.template)
        if self.template is not None:
            self.put(0, f"@template({self.template[0]}=constexpr(int32))")
        self.put(0, '@prism("device")')
        bound = f"block[1], thread[{BOUND}]" if code == BLOCK else self.unit(code)
        self.put(0, f"@requires({bound})")
        self.put(0, f"def {made}({', '.join(map(str, parameters))}):")
        pointers = {p.name: (p.unit, p.cells) for p in parameters if p.kind == "pointer"}
        here = Scope(
            code,
            {p.name: p.unit for p in parameters if p.kind == "scalar"},
            pointers,
            outside=frozenset(pointers),  # which Prism takes for global memory
            locals_={p.name: (p.unit, p.cells) for p in parameters if p.kind == "array"},
        )
        self.declare(here, 0, 1)  # of `pass` alone it would be the body of an extern function
        self.body(here, fuel, 1)
        self.put(0, "")
        self.template = None
        self.functions.append(function)


def kernel(rng: Random, fuel: int, slips: float) -> str:
    """Return the text of a module with one kernel."""
    made = Kernels(rng, slips)
    made.lines.append(IMPORTS)
    for _ in range(rng.choice((0, 1, 1, 2))):
        made.function(rng.randint(0, fuel // 2))
    made.lines.append(HEAD.rstrip())
    here = Scope(
        BLOCK,
        {"n": BLOCK, "b0": BLOCK, "u0": 1, "s0": BLOCK, "w0": 2, "t0": 1},
        {"a": (BLOCK, CELLS), "out": (BLOCK, CELLS)},
        frozenset({"n", "b0", "u0"}),
        frozenset({"out"}),
        {"r0": (1, 2)},
    )
    made.body(here, fuel, 3)
    return "\n".join([*made.lines, TAIL])
