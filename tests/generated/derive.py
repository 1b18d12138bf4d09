"""Derivations: well-typed programs, built rule by rule. Each rule is a method, and writes down that it was applied.

Programs end, for every loop counts; have no race, for memory is only written through parts that do not meet, or by atomic
additions whose results nobody uses; and so have one result. What each rule may use is in scope.py.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

from prism.lang.perspective import BLOCK, GRID, THREAD, Level, Perspective
from tests.generated.scope import BITS, INTEGERS, Choices, Local, Memory, Scope, Value, pick

RULES = """
    R1-grid-block-thread R1-grid-thread R1-cluster R1-block R1-thread R2 R3 R4 R4-whole R5 R6 R7 R8 R9 R9-expression R10
    R11-break R11-continue R11-return R12 R12-count R13 R13-broader R14 R15 R15-const R15-array R16 R17 R17-local R18 R19
    R19-const R20 R20-lambda R20-nested R20-skip R20-same R21 R22 R23 R25 R26-int R26-dtype R26-function
    split-thread split-warp split-block collective atomic while for-unrolled declare-float
""".split()


@dataclass(frozen=True)
class Function:
    """A device function that later ones may call. `parameters` are what its body knows of them."""

    name: str
    bound: tuple[Perspective, int]
    parameters: tuple[Value | Local | Memory, ...]
    result: tuple[str, Perspective] | None
    memory: bool
    template: str = ""


def indent(lines: list[str]) -> list[str]:
    """Return lines one level deeper."""
    return ["    " + line for line in lines]


@dataclass
class Base:
    """The choices, the log of rules, fresh names; expressions."""

    choices: Choices
    fuel: int = 40
    rules: Counter[str] = field(default_factory=Counter)
    functions: list[Function] = field(default_factory=list)
    operators: list[str] = field(default_factory=list)
    names: int = 0

    def rule(self, name: str) -> None:
        """Write down that a rule was applied."""
        assert name in RULES, name
        self.rules[name] += 1

    def fresh(self, stem: str) -> str:
        """Return a new name."""
        self.names += 1
        return f"{stem}{self.names}"

    def chance(self, percent: int) -> bool:
        """Return True in so many of a hundred cases."""
        return self.choices.number(0, 99) >= 100 - percent

    def integer(self, scope: Scope, place: Perspective, kind: str, depth: int = 2, loads: bool = True) -> str:
        """An integer that all threads of a unit of `place` agree on (R7)."""
        if depth == 0 or self.chance(35):
            return self.leaf(scope, place, kind, loads)
        left = self.integer(scope, place, kind, depth - 1, loads)
        shape = self.choices.number(0, 9)
        if shape <= 4:
            op = pick(self.choices, "+-*&|^")
            return f"({left} {op} {self.integer(scope, place, kind, depth - 1, loads)})"
        if shape == 5:
            return f"({left} {pick(self.choices, '/%')} {self.choices.number(1, 9)})"
        if shape == 6:
            return f"({left} {pick(self.choices, ('<<', '>>'))} {self.choices.number(0, BITS[kind] - 1)})"
        if shape == 7:
            other = self.integer(scope, place, kind, depth - 1, loads)
            return f"{pick(self.choices, ('min', 'max'))}({left}, {other})"
        if shape == 8 and self.operators:
            self.rule("R26-dtype")
            other = self.integer(scope, place, kind, depth - 1, loads)
            return f"{pick(self.choices, self.operators)}({left}, {other})"
        self.rule("R9-expression")
        other = self.integer(scope, place, kind, depth - 1, loads)
        return f"({left} if {self.condition(scope, place, depth - 1, loads)} else {other})"

    def leaf(self, scope: Scope, place: Perspective, kind: str, loads: bool) -> str:
        """A name, an element, an index of a unit or a number; never a bare literal where there is something else."""
        options: list[str] = []
        for value in scope.values:
            if place <= value.place and value.type in INTEGERS:
                self.rule("R7")
                options.append(value.name if value.type == kind else f"{kind}({value.name})")
        if self.chance(40) or not options:
            options = [*options, *self.elements(scope, place, kind, loads)]
        if place <= scope.code and self.chance(20):
            unit = pick(self.choices, [u for u in scope.units() if place <= u])
            self.rule("R12")
            options.append(f"{kind}(id({unit}))")
            if unit.level != Level.GRID:
                self.rule("R12-count")
                options.append(f"{kind}(count({unit}))")
        if not options or self.chance(15):
            return f"{kind}({self.choices.number(0, 99)})"
        return pick(self.choices, options)

    def elements(self, scope: Scope, place: Perspective, kind: str, loads: bool) -> list[str]:
        """Elements of local arrays and of memory (R19)."""
        found = []
        arrays = [a for a in scope.locals if a.type == kind and place <= a.place]
        if arrays:
            array = pick(self.choices, arrays)
            found.append(f"{array.name}[{self.index(scope, array.length, place)}]")
        memories = [m for m in scope.memories if loads and m.type == kind and scope.readable(m, place)]
        if memories:
            memory = pick(self.choices, memories)
            self.rule("R19-const" if memory.const else "R19")
            found.append(f"{memory.name}[{self.index(scope, memory.size, place)}]")
        return found

    def index(self, scope: Scope, size: int, place: Perspective) -> str:
        """An index below `size`, one for each unit of `place`."""
        if size == 1 or self.chance(25):
            return str(self.choices.number(0, size - 1))
        natural = [v for v in scope.values if v.natural and place <= v.place]
        if natural and self.chance(70):
            return f"({pick(self.choices, natural).name} + {self.choices.number(0, 40)}) % {size}"
        return f"abs({self.integer(scope, place, 'int32', 1, loads=False)} % {size})"

    def condition(self, scope: Scope, place: Perspective, depth: int = 1, loads: bool = True) -> str:
        """A bool that all threads of a unit of `place` agree on."""
        if depth and self.chance(20):
            op = pick(self.choices, ("and", "or"))
            return f"({self.condition(scope, place, 0, loads)} {op} not {self.condition(scope, place, 0, loads)})"
        floats = [v for v in scope.values if v.type == "float32" and place <= v.place]
        if floats and self.chance(25):
            return f"({pick(self.choices, floats).name} > {self.choices.number(-5, 50)}.0)"
        op = pick(self.choices, ("<", "<=", ">", ">=", "==", "!="))
        kind = pick(self.choices, INTEGERS)
        return f"({self.integer(scope, place, kind, 1, loads)} {op} {self.choices.number(0, 30)})"

    def float(self, scope: Scope, place: Perspective) -> str:
        """A float made without products: its value does not depend on contraction."""
        floats = [v.name for v in scope.values if v.type == "float32" and place <= v.place]
        exact = f"float32({self.integer(scope, place, 'int32', 1)} % 64)"
        if not floats or self.chance(40):
            return exact
        form = pick(self.choices, ("({} + {})", "({} - {})", "min({}, {})", "max({}, {})"))
        return form.format(pick(self.choices, floats), exact)


class Statements(Base):
    """Statements without memory: declarations, assignments, control flow, groups and splits."""

    def body(self, scope: Scope, depth: int, most: int = 3) -> list[str]:
        """A statement list that is not empty."""
        lines: list[str] = []
        for _ in range(self.choices.number(1, most)):
            more, scope = self.statement(scope, depth)
            lines += more
        return lines

    def statement(self, scope: Scope, depth: int) -> tuple[list[str], Scope]:
        """One statement, and the scope after it."""
        self.fuel -= 1
        simple = ["declare", "assign", "assign", "array", "collective", "call", "call", "atomic", "jump"]
        compound = [
            "branch", "for_", "while_", "group", "group", "split", "partition", "partition", "partition", "claim", "share",
        ]  # fmt: skip
        for _ in range(4):
            kind = pick(self.choices, simple if depth <= 0 or self.fuel <= 0 or self.chance(35) else compound)
            found: tuple[list[str], Scope] | None = getattr(self, kind)(scope, depth - 1)
            if found is not None:
                return found
        return self.declare(scope, depth)

    def place(self, scope: Scope) -> Perspective:
        """A perspective for a local, no broader than the code (R6)."""
        return pick(self.choices, scope.units())

    def declare(self, scope: Scope, _: int) -> tuple[list[str], Scope]:
        """R6 DECL, R8 WRITE-DOWN, R12 ID, R17 CONST."""
        place = self.place(scope)
        self.rule("R6")
        if self.chance(25):
            self.rule("R12")
            value = Value(self.fresh("u"), "int32", place, fixed=True, natural=True)
            return [f"{value.name}: int32 @ {place} = id()"], scope.add(value)
        if self.chance(12):
            self.rule("declare-float")
            value = Value(self.fresh("f"), "float32", place)
            return [f"{value.name}: float32 @ {place} = {self.float(scope, place)}"], scope.add(value)
        kind = pick(self.choices, INTEGERS)
        const = self.chance(10)
        value = Value(self.fresh("v"), kind, place, fixed=const)
        if const:
            self.rule("R17-local")
        self.rule("R8")
        at = "" if place == scope.code and self.chance(30) else f" @ {place}"
        annotation = f"const({kind})" if const else kind
        return [f"{value.name}: {annotation}{at} = {self.integer(scope, place, kind)}"], scope.add(value)

    def assign(self, scope: Scope, _: int) -> tuple[list[str], Scope] | None:
        """R8 WRITE-DOWN: the target is no broader than the code, the value no narrower than the target."""
        targets: list[Value | Local] = [v for v in scope.values if not v.fixed and v.place <= scope.code]
        targets += [a for a in scope.locals if a.place <= scope.code]
        if not targets:
            return None
        target = pick(self.choices, targets)
        self.rule("R8")
        left = target.name
        if isinstance(target, Local):
            left = f"{target.name}[{self.index(scope, target.length, target.place)}]"
        op = pick(self.choices, ("=", "=", "+=", "-="))
        if target.type == "float32":
            return [f"{left} {op[-1]} {self.float(scope, target.place)}"], scope
        return [f"{left} {op} {self.integer(scope, target.place, target.type)}"], scope

    def array(self, scope: Scope, _: int) -> tuple[list[str], Scope]:
        """A local array, zeroed, and perhaps filled by a loop that is unrolled."""
        place, kind = THREAD if self.chance(50) else self.place(scope), pick(self.choices, INTEGERS[:2])
        array = Local(self.fresh("a"), kind, place, pick(self.choices, (2, 4)))
        self.rule("R6")
        lines = [f"{array.name}: {kind}[{array.length}] @ {place} = {{0}}"]
        if self.chance(50):
            self.rule("for-unrolled")
            self.rule("R10")
            k = Value(self.fresh("k"), "int32", scope.code, fixed=True, natural=True)
            inner = scope.add(k)
            lines += [f"for {k.name} in range({array.length}):"]
            lines += [f"    {array.name}[{k.name}] = {self.integer(inner, place, kind)}"]
        return lines, scope.add(array)

    def branch(self, scope: Scope, depth: int) -> tuple[list[str], Scope]:
        """R9 COND."""
        self.rule("R9")
        lines = [f"if {self.condition(scope, scope.code)}:", *indent(self.body(scope, depth))]
        if self.chance(40):
            lines += ["else:", *indent(self.body(scope, depth))]
        return lines, scope

    def for_(self, scope: Scope, depth: int) -> tuple[list[str], Scope]:
        """R10 LOOP."""
        self.rule("R10")
        k = Value(self.fresh("k"), "int32", scope.code, fixed=True, natural=True)
        stop = str(self.choices.number(1, 3))
        if self.chance(40):
            stop = f"abs({self.integer(scope, scope.code, 'int32', 1)} % {self.choices.number(2, 4)})"
        bounds = pick(self.choices, (stop, f"0, {stop}", f"1, {stop} + 1", f"0, {stop}, 2"))
        inner = replace(scope.add(k), loop=True)
        return [f"for {k.name} in range({bounds}):", *indent(self.body(inner, depth))], scope

    def while_(self, scope: Scope, depth: int) -> tuple[list[str], Scope]:
        """R9 COND for `while`, with a counter of its own that ends it."""
        self.rule("while")
        i = Value(self.fresh("i"), "int32", scope.code, fixed=True, natural=True)
        most = self.choices.number(1, 3)
        inner = replace(scope.add(i), loop=True)
        step, stop = f"{i.name} = {i.name} + 1", f"{i.name} < {most}"
        if self.chance(40):
            self.rule("R11-break")
            head = ["while True:", f"    if not {stop}:", "        break", f"    {step}"]
        else:
            more = f" and {self.condition(scope, scope.code, 0)}" if self.chance(50) else ""
            head = [f"while {stop}{more}:", f"    {step}"]
        return [f"{i.name}: int32 @ {scope.code} = 0", *head, *indent(self.body(inner, depth))], scope.add(i)

    def jump(self, scope: Scope, _: int) -> tuple[list[str], Scope] | None:
        """R11 JUMP: no change of perspective between the jump and its loop, or the function."""
        if scope.result is not None and self.chance(40):
            self.rule("R11-return")
            kind, place = scope.result
            text = f" {self.integer(scope, place, kind)}" if kind else ""
            return [f"if {self.condition(scope, scope.code)}:", f"    return{text}"], scope
        if not scope.loop:
            return None
        word = pick(self.choices, ("break", "continue"))
        self.rule(f"R11-{word}")
        return [f"if {self.condition(scope, scope.code)}:", f"    {word}"], scope

    def group(self, scope: Scope, depth: int) -> tuple[list[str], Scope]:
        """R2 GROUP."""
        self.rule("R2")
        unit = pick(self.choices, [u for u in scope.units() if u != GRID])
        return [f"with group({unit}):", *indent(self.body(scope.narrow(unit), depth))], scope

    def split(self, scope: Scope, depth: int) -> tuple[list[str], Scope] | None:
        """R3 SPLIT-SUM, R4 SPLIT-ALIGN, R5 SPLIT-BODY."""
        arms = self.arms(scope, self.choices.number(2, 4))
        if arms is None:
            return None
        level, sizes = arms
        lines = [f"match split({level}):"]
        for shown, unit in sizes:
            body = ["pass"] if self.chance(20) else self.body(scope.arm(unit), depth, 2)
            lines += [f"    case {shown}:", *indent(indent(body))]
        return lines, scope

    def arms(self, scope: Scope, count: int) -> tuple[str, list[tuple[int, Perspective]]] | None:
        """Choose a level, and arms of it: how each is written, and its perspective."""
        for rule in ("R3", "R4", "R5"):
            self.rule(rule)
        if scope.whole and scope.code <= BLOCK:
            self.rule("R4-whole")
        if scope.code.level != Level.THREAD and scope.cluster > 1 and self.chance(60):
            self.rule("split-block")
            sizes = {2: [1, 1], 4: pick(self.choices, ([2, 1, 1], [2, 2], [1, 1, 2]))}[scope.cluster]
            return "block", [(n, Perspective(Level.BLOCK, n)) for n in sizes]
        if scope.code.level > Level.BLOCK or scope.code.level == Level.BLOCK and scope.code != BLOCK:
            return None
        sizes = scope.splits(self.choices, count, 32 if scope.entry >= 64 and self.chance(40) else 1)
        if len(sizes) < 2:
            return None
        if all(n % 32 == 0 for n in sizes):
            self.rule("split-warp")
            return "warp", [(n // 32, Perspective(Level.THREAD, n)) for n in sizes]
        self.rule("split-thread")
        return "thread", [(n, Perspective(Level.THREAD, n)) for n in sizes]

    def collective(self, scope: Scope, _: int) -> tuple[list[str], Scope] | None:
        """A warp's collective, run by whole warps."""
        if scope.entry % 32:
            return None
        self.rule("collective")
        warp = Perspective(Level.THREAD, 32)
        argument = self.integer(scope, THREAD, "int32", 1)
        number = self.choices.number(0, 31)
        name, place, value = pick(
            self.choices,
            (
                ("int32", THREAD, f"shuffle_down({argument}, {number})"),
                ("int32", THREAD, f"shuffle_up({argument}, {number})"),
                ("int32", THREAD, f"shuffle_xor({argument}, {number})"),
                ("int32", warp, f"broadcast({argument}, {number})"),
                ("uint32", warp, f"ballot({argument} > {number})"),
                ("int32", warp, f"int32(warp_any({argument} > {number}))"),
                ("int32", warp, f"warp_sum({argument})"),
            ),
        )
        result = Value(self.fresh("w"), name, place)
        return [f"{result.name}: {name} @ {place} = {value}"], scope.add(result)
