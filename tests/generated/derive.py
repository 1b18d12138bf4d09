"""Derivations: well-typed programs, built rule by rule. Each rule is a method, and writes down that it was applied.

Programs end, for every loop counts; have no race, for memory is only written through parts that do not meet, or by atomic
additions whose results nobody uses; and so have one result. What each rule may use is in scope.py; its expressions are in
numbers.py. Statements that touch memory are in memories.py and pointers.py, the others' additions in speech.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from prism.lang.types.perspective import BLOCK, GRID, THREAD, Level, Perspective
from tests.generated.numbers import RULES, Function, Numbers
from tests.generated.scope import FLOATS, INTEGERS, STRUCTS, VECTORS, Local, Scope, Value, pick

Found = tuple[list[str], Scope] | None
MOST_TRIPS = 16
"""How often a statement may be run at most, through the loops around it: programs are small, and many."""


def indent(lines: list[str]) -> list[str]:
    """Return lines one level deeper."""
    return ["    " + line for line in lines]


class Statements(Numbers):
    """Statements without memory: declarations, assignments, control flow, groups and splits."""

    simple: tuple[str, ...] = (
        "declare", "declare", "assign", "assign", "array", "vectors", "collective", "call", "call", "atomic", "jump",
        "speak", "raw", "pointer", "swap",
    )  # fmt: skip
    compound: tuple[str, ...] = (
        "branch", "for_", "while_", "group", "group", "split", "partition", "partition", "partition", "claim", "share",
        "exchange", "copies", "ring", "ring", "product", "cluster", "cluster",
    )  # fmt: skip

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
        for _ in range(4):
            only = depth <= 0 or self.fuel <= 0 or self.chance(35)
            rule: Callable[[Scope, int], Found] = getattr(
                self, pick(self.choices, self.simple if only else self.compound)
            )
            found = rule(scope, depth - 1)
            if found is not None:
                return found
        return self.declare(scope, depth)

    def place(self, scope: Scope) -> Perspective:
        """A perspective for a local, no broader than the code (R6)."""
        return pick(self.choices, scope.units())

    # -- declarations and assignments -------------------------------------------------------------------------------------

    def declare(self, scope: Scope, _: int) -> tuple[list[str], Scope]:
        """R6 DECL, R8 WRITE-DOWN, R12 ID, R17 CONST."""
        place = self.place(scope)
        self.rule("R6")
        if self.chance(25):
            return self.declare_index(scope, place)
        if self.chance(6):
            self.rule("R6-const")
            name = self.fresh("N")
            value = Value(f"int32({name})", "int32", GRID, fixed=True, natural=True)
            return [f"{name}: constexpr(int) = {self.choices.number(0, 9)} * 2 + 1"], scope.add(value)
        kind = "bool" if self.chance(8) else self.some_type()
        kind = pick(self.choices, tuple(STRUCTS)) if self.chance(8) else kind
        self.rule("bool" if kind == "bool" else "R8" if kind in INTEGERS or kind in FLOATS else "small")
        const = self.chance(10)
        value = Value(self.fresh("v"), kind, place, fixed=const)
        if const:
            self.rule("R17-local")
        self.rule("R8")
        at = "" if place == scope.code and self.chance(30) else f" @ {self.spell(place)}"
        annotation = f"const({kind})" if const else kind
        return [f"{value.name}: {annotation}{at} = {self.number(scope, place, kind)}"], scope.add(value)

    def declare_index(self, scope: Scope, place: Perspective) -> tuple[list[str], Scope]:
        """R12 ID: the index of the target's unit among several, or how many of them there are."""
        self.rule("R12")
        value = Value(self.fresh("u"), "int32", place, fixed=True, natural=True)
        text = "id()"
        if place == GRID:
            text, value = "count(block[1])", replace(value, count=scope.blocks)
        elif place == scope.code or self.chance(25):
            self.rule("R12-bare")
            text = "count()" if place != scope.code else "count(thread[1])" if place != THREAD else "1"
            value = replace(value, count=scope.count(place if place != scope.code else THREAD))
        return [f"{value.name}: int32 @ {self.spell(place)} = {text}"], scope.add(value)

    def assign(self, scope: Scope, _: int) -> Found:
        """R8 WRITE-DOWN: the target is no broader than the code, the value no narrower than the target."""
        targets: list[Value | Local] = [v for v in scope.values if not v.fixed and v.place <= scope.code]
        targets += [a for a in scope.locals if a.place <= scope.code]
        if not targets:
            return None
        target = pick(self.choices, targets)
        self.rule("R8")
        left, kind = target.name, target.type
        if isinstance(target, Local):
            left += self.at(scope, target.shape, target.place)
        if kind in VECTORS and self.chance(60):
            left, kind = self.component(scope, left, kind, target.place), VECTORS[kind][0]
        if kind in STRUCTS and isinstance(target, Value) and self.chance(60):
            name, kind = pick(self.choices, tuple(STRUCTS[kind].items()))
            left += f".{name}"
        changes = ("+=", "-=") if kind in FLOATS or kind.startswith("u") else ("^=", "|=")
        op = pick(self.choices, ("=", "=", *changes)) if kind not in (*VECTORS, *STRUCTS, "bool") else "="
        value = self.number(scope, target.place, kind)
        if value == "{0}":
            return None
        if kind in FLOATS:
            op = op[-1]
        return [f"{left} {op} {value}"], scope

    def swap(self, scope: Scope, _: int) -> Found:
        """R8 WRITE-DOWN for several targets, which all get their values at once: two that change places, or three in turn."""
        places = {v.place for v in (*scope.values, *scope.locals) if v.place <= scope.code}
        sets: list[list[str]] = []
        for place in sorted(places, key=str):
            for kind in sorted({v.type for v in scope.values} | {a.type for a in scope.locals}):
                names = [v.name for v in scope.values if (v.place, v.type, v.fixed) == (place, kind, False)]
                arrays = [a for a in scope.locals if (a.place, a.type) == (place, kind)]
                elements = [a.name + "".join(f"[{i}]" for _ in a.shape) for a in arrays for i in range(2)]
                vectors = [v for v in scope.values if (v.place, v.fixed) == (place, False) and v.type in VECTORS]
                parts = [f"{v.name}[{i}]" for v in vectors if VECTORS[v.type][0] == kind for i in range(2)]
                sets += [each] if len(each := [*names, *elements, *parts]) > 1 else []
        if not sets:
            return None
        self.rule("swap", "R8")
        targets = pick(self.choices, sets)
        first = self.choices.number(0, len(targets) - 2)
        chosen = targets[first : first + self.choices.number(2, 3)]
        return [f"{', '.join(chosen)} = {', '.join([*chosen[1:], chosen[0]])}"], scope

    def array(self, scope: Scope, _: int) -> tuple[list[str], Scope]:
        """A local array, zeroed, and perhaps filled by a loop that is unrolled."""
        place = THREAD if self.chance(50) else self.place(scope)
        kind = pick(self.choices, (*INTEGERS, "int16", "float32", "float16", "int4", "Pair"))
        shape = (2,) * self.choices.number(2, 3) if self.chance(20) else (pick(self.choices, (2, 4)),)
        array = Local(self.fresh("a"), kind, place, shape)
        self.rule("R6")
        if kind in STRUCTS:
            self.struct(kind)
        extents = "".join(f"[{n}]" for n in shape)
        lines = [f"{array.name}: {kind}{extents} @ {self.spell(place)} = {{0}}"]
        if self.chance(50) and kind not in VECTORS:
            self.rule("for-unrolled", "R10")
            k = Value(self.fresh("k"), "int32", scope.code, fixed=True, natural=True)
            inner = scope.add(k)
            rest = "".join(f"[{self.index(scope, n, place)}]" for n in shape[1:])
            lines += [f"for {k.name} in range({shape[0]}{self.unroll(True)}):"]
            lines += [f"    {array.name}[{k.name}]{rest} = {self.number(inner, place, kind)}"]
        return lines, scope.add(array)

    def vectors(self, scope: Scope, _: int) -> tuple[list[str], Scope]:
        """A vector: made, loaded, or of zeros."""
        self.rule("vector", "R6")
        place, kind = self.place(scope), pick(self.choices, tuple(VECTORS))
        value = Value(self.fresh("x"), kind, place)
        spelled = f"vector({VECTORS[kind][0]}, {VECTORS[kind][1]})" if self.chance(25) else kind
        return [f"{value.name}: {spelled} @ {self.spell(place)} = {self.number(scope, place, kind)}"], scope.add(value)

    # -- control flow -----------------------------------------------------------------------------------------------------

    def branch(self, scope: Scope, depth: int) -> tuple[list[str], Scope]:
        """R9 COND."""
        self.rule("R9")
        inner = replace(scope, once=False)
        lines = [f"if {self.condition(scope, scope.code)}:", *indent(self.body(inner, depth))]
        if self.chance(40):
            lines += ["else:", *indent(self.body(inner, depth))]
        return lines, scope

    def unroll(self, constant: bool) -> str:
        """What a loop says of its unrolling."""
        if not self.chance(25):
            return ""
        self.rule("unroll")
        return f", unroll={pick(self.choices, ('True', 'False', '2') if constant else ('False', '2'))}"

    def for_(self, scope: Scope, depth: int) -> Found:
        """R10 LOOP."""
        most = min(3, MOST_TRIPS // scope.trips)
        if most < 1:
            return None
        self.rule("R10")
        k = Value(self.fresh("k"), "int32", scope.code, fixed=True, natural=True)
        most = self.choices.number(1, most)
        if self.chance(15) and (bounds := self.strided(scope, most)):
            inner = scope.add(k).looped(most)
            return [f"for {k.name} in range({bounds}{self.unroll(False)}):", *indent(self.body(inner, depth))], scope
        constant = self.chance(60)
        self.nested += 1  # as in an index, no call of what reads memory
        stop = str(most) if constant else f"abs({self.integer(scope, scope.code, 'int32', 1)} % {most + 1})"
        self.nested -= 1
        bounds = pick(self.choices, (stop, f"0, {stop}", f"1, {stop} + 1", f"0, {stop}, 2"))
        inner = scope.add(k).looped(most)
        return [f"for {k.name} in range({bounds}{self.unroll(constant)}):", *indent(self.body(inner, depth))], scope

    def strided(self, scope: Scope, most: int) -> str:
        """The bounds of a loop that steps by a number of units, with so many trips at most."""
        steps = [(v.name, v.count) for v in scope.values if v.count and scope.code <= v.place]
        units = [u for u in scope.units() if u != scope.code and u != GRID]
        steps += [(f"count({self.spell(u)})", scope.count(u)) for u in units]
        if not steps:
            return ""
        self.rule("for-count")
        step, count = pick(self.choices, steps)
        natural = [v.name for v in scope.values if v.natural and scope.code <= v.place]
        start = pick(self.choices, ("0", *natural[-2:]))
        stop = pick(self.choices, (f"{most} * {step}", str(most * count - self.choices.number(0, count - 1))))
        return f"{start}, {stop}, {step}"

    def while_(self, scope: Scope, depth: int) -> Found:
        """R9 COND for `while`, with a counter of its own that ends it."""
        most = min(3, MOST_TRIPS // scope.trips)
        if most < 1:
            return None
        self.rule("while")
        i = Value(self.fresh("i"), "int32", scope.code, fixed=True, natural=True)
        most = self.choices.number(1, most)
        inner = scope.add(i).looped(most)
        step, stop = f"{i.name} = {i.name} + 1", f"{i.name} < {most}"
        if self.chance(40):
            self.rule("R11-break")
            head = ["while True:", f"    if not {stop}:", "        break", f"    {step}"]
        else:
            more = f" and {self.condition(scope, scope.code, 0)}" if self.chance(50) else ""
            head = [f"while {stop}{more}:", f"    {step}"]
        return [f"{i.name}: int32 @ {scope.code} = 0", *head, *indent(self.body(inner, depth))], scope.add(i)

    def jump(self, scope: Scope, _: int) -> Found:
        """R11 JUMP: no change of perspective between the jump and its loop, or the function."""
        if scope.result is not None and self.chance(40):
            self.rule("R11-return")
            kind, place = scope.result
            text = f" {self.number(scope, place, kind)}" if kind else ""
            return [f"if {self.condition(scope, scope.code)}:", f"    return{text}"], scope
        if not scope.loop:
            return None
        word = pick(self.choices, ("break", "continue"))
        self.rule(f"R11-{word}")
        return [f"if {self.condition(scope, scope.code)}:", f"    {word}"], scope

    # -- perspectives -----------------------------------------------------------------------------------------------------

    def group(self, scope: Scope, depth: int) -> tuple[list[str], Scope]:
        """R2 GROUP."""
        self.rule("R2")
        unit = pick(self.choices, [u for u in scope.units() if u != GRID])
        return [f"with group({self.spell(unit)}):", *indent(self.body(scope.narrow(unit), depth))], scope

    def split(self, scope: Scope, depth: int) -> Found:
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
        self.rule("R3", "R4", "R5")
        if scope.whole and scope.code <= BLOCK:
            self.rule("R4-whole")
        if scope.code.level != Level.THREAD and scope.cluster > 1 and self.chance(60):
            self.rule("split-block")
            sizes = {2: [1, 1], 4: pick(self.choices, ([2, 1, 1], [2, 2], [1, 1, 2]))}[scope.cluster]
            return "block", [(n, Perspective(Level.BLOCK, n)) for n in sizes]
        if scope.code.level > Level.BLOCK or scope.code.level == Level.BLOCK and scope.code != BLOCK:
            return None
        step = pick(self.choices, (32, 128, 128)) if scope.entry >= 256 else 32 if scope.entry >= 64 else 1
        sizes = scope.splits(self.choices, count, step if self.chance(75) else 1)
        if len(sizes) < 2:
            return None
        units = [Perspective(Level.THREAD, n) for n in sizes]
        for level, scale in (("warpgroup", 128), ("warp", 32)):
            if all(n % scale == 0 for n in sizes):
                self.rule(f"split-{level}")
                return level, [(unit.size // scale, unit) for unit in units]
        self.rule("split-thread")
        return "thread", [(unit.size, unit) for unit in units]

    def collective(self, scope: Scope, _: int) -> Found:
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
                ("bool", warp, f"warp_any({argument} > {number})"),
                ("int32", warp, f"warp_sum({argument})"),
            ),
        )
        result = Value(self.fresh("w"), name, place)
        return [f"{result.name}: {name} @ {self.spell(place)} = {value}"], scope.add(result)


__all__ = ["MOST_TRIPS", "RULES", "Found", "Function", "Statements", "indent"]
