"""Derivations of expressions: numbers of every type, conditions, vectors; and which threads agree on them (R7, R9, R12, R19)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from prism.lang.types.perspective import THREAD, Level, Perspective
from tests.generated.scope import (
    BITS,
    FLOATS,
    INPUTS,
    INTEGERS,
    SMALL,
    STRUCTS,
    VECTORS,
    WARPS,
    Choices,
    Local,
    Memory,
    Scope,
    Value,
    pick,
)

RULES = """
    R1-grid-block-thread R1-grid-thread R1-cluster R1-block R1-thread R2 R3 R4 R4-whole R5 R6 R6-const R7 R8 R9
    R9-expression R10 R11-break R11-continue R11-return R12 R12-count R12-bare R13 R13-broader R14 R15 R15-const R15-array
    R16 R16-smem R17 R17-local R18 R18-vector R19 R19-const R19-vector R20 R20-lambda R20-indices R20-nested R20-skip R20-same
    R20-allow R21 R22 R23 R24 R24-valid R25 R25-dimensions R26-int R26-bool R26-dtype R26-function R26-list R27-local R27-memory
    R27-text R27-mentioned R27-pragma R28-const R28-owner R28-chosen R28-swap R28-returned R29-value R29-memory
    R29-collective R30 split-thread split-warp split-warpgroup split-block collective atomic while for-unrolled unroll
    float vector component dimensions bool small assert assume print cast ring ring-bulk role one fragment wgmma
    cluster-shared cooperative tile tile-parameter tile-extents
    zero power bitcast bitcast-vector bits swap swap-memory swap-pointers for-count load-relaxed atomic-order atomic-other
    struct field struct-memory
""".split()


MOST = {"int8": 99, "int16": 150, "int32": 30_000, "int64": 1 << 30, "T": 99}
"""Signed integers below these have a product of the same type."""


@dataclass(frozen=True)
class Function:
    """A device function that later ones may call. `parameters` are what its body knows of them; `generic`: it is for any `T`."""

    name: str
    bound: tuple[Perspective, int]
    parameters: tuple[Value | Local | Memory, ...]
    result: tuple[str, Perspective] | None
    memory: bool
    template: str = ""
    generic: bool = False


@dataclass
class Numbers:
    """The choices, the log of rules, fresh names; expressions."""

    choices: Choices
    fuel: int = 40
    rules: Counter[str] = field(default_factory=Counter)
    functions: list[Function] = field(default_factory=list)
    operators: list[str] = field(default_factory=list)
    prelude: dict[str, list[str]] = field(default_factory=dict)
    names: int = 0
    nested: int = 0
    shared_bytes: int = 0
    blocks: int = 1
    further: list[str] = field(default_factory=list)
    other: str = ""

    def rule(self, *names: str) -> None:
        """Write down that rules were applied."""
        for name in names:
            assert name in RULES, name
            self.rules[name] += 1

    def fresh(self, stem: str) -> str:
        """Return a new name."""
        self.names += 1
        return f"{stem}{self.names}"

    def chance(self, percent: int) -> bool:
        """Return True in so many of a hundred cases."""
        return self.choices.number(0, 99) >= 100 - percent

    def spell(self, unit: Perspective) -> str:
        """Return one of the ways to write a perspective."""
        if unit.level == Level.THREAD and unit.size in WARPS and self.chance(30):
            return WARPS[unit.size]
        return str(unit)

    def some_type(self) -> str:
        """Return a type of numbers, the common ones more often."""
        shape = self.choices.number(0, 9)
        return pick(self.choices, SMALL if shape == 0 else FLOATS if shape <= 2 else INTEGERS)

    # -- numbers ----------------------------------------------------------------------------------------------------------

    def number(self, scope: Scope, place: Perspective, kind: str, depth: int = 2, loads: bool = True) -> str:
        """A value of any type that all threads of a unit of `place` agree on (R7)."""
        if kind == "bool":
            return self.condition(scope, place, min(depth, 1), loads)
        if kind in FLOATS:
            self.rule("float")
            return self.float(scope, place, kind, loads)
        if kind in VECTORS:
            return self.vector(scope, place, kind, loads) or "{0}"
        if kind in STRUCTS:
            return self.record(scope, place, kind, loads)
        return self.integer(scope, place, kind, depth, loads)

    def integer(self, scope: Scope, place: Perspective, kind: str, depth: int = 2, loads: bool = True) -> str:
        """An integer."""
        if depth == 0 or self.chance(35):
            return self.leaf(scope, place, kind, loads)
        left = self.integer(scope, place, kind, depth - 1, loads)
        shape = self.choices.number(0, 11)
        if shape <= 4:
            return self.arithmetic(left, self.integer(scope, place, kind, depth - 1, loads), kind)
        if shape == 5:
            return f"({left} {pick(self.choices, ('//', '%'))} {self.choices.number(1, 9)})"
        if shape == 6:
            return f"({left} {pick(self.choices, ('<<', '>>'))} {self.choices.number(0, BITS[kind] - 1)})"
        if shape == 7:
            other = self.integer(scope, place, kind, depth - 1, loads)
            return f"{pick(self.choices, ('min', 'max'))}({left}, {other})"
        if shape == 8:
            return f"(-({left} % 99))" if self.chance(50) and not kind.startswith("u") else f"(~{left})"
        if shape == 9 and self.operators and kind != "T":
            self.rule("R26-dtype")
            other = self.integer(scope, place, kind, depth - 1, loads)
            return f"{pick(self.choices, self.operators)}({left}, {other})"
        if shape == 10 and kind != "T":
            return self.bits(left, kind)
        self.rule("R9-expression")
        other = self.integer(scope, place, kind, depth - 1, loads)
        return f"({left} if {self.condition(scope, place, depth - 1, loads)} else {other})"

    def arithmetic(self, left: str, right: str, kind: str) -> str:
        """An operator between two integers; signed ones are made small first, for they must not overflow."""
        op, most = pick(self.choices, "+-*&|^"), MOST.get(kind)
        if most is None or op in "&|^":
            return f"({left} {op} {right})"
        return f"(({left} % {most}) {op} ({right} % {most}))"

    def bits(self, left: str, kind: str) -> str:
        """The bits of an integer, moved or counted; or taken for another type of that size, and back."""
        if self.chance(30):
            self.rule("bits")
            return pick(self.choices, (f"{kind}(popcount({left}))", f"{kind}(clz({left}))", f"reverse_bits({left})"))
        self.rule("bitcast")
        same = [t for t, bits in BITS.items() if bits == BITS[kind] and t not in (kind, "T", "bool")]
        other = pick(self.choices, [*same, *(t for t in (*VECTORS, "Pair") if width_of(t) == BITS[kind])])
        if other in STRUCTS:
            self.struct(other)
        return f"bitcast(bitcast({left}, {other}), {kind})"

    def constant(self, scope: Scope, kind: str) -> str:
        """A number that is known when the program is compiled: of a type's zero, a literal, or a power."""
        shape = self.choices.number(0, 9)
        if shape == 0:
            self.rule("zero")
            return f"{kind}()"
        if shape > 2:
            return f"{kind}({self.choices.number(0, 99)})"
        self.rule("power")
        known = [v.name[6:-1] for v in scope.values if v.name.startswith("int32(N")]
        base = pick(self.choices, (*known, "2", "(-3)" if kind.startswith("i") else "3"))
        return f"{kind}({base} ** {self.choices.number(0, 3)} % 90)"

    def leaf(self, scope: Scope, place: Perspective, kind: str, loads: bool) -> str:
        """A name, an element, an index of a unit or a number; never a bare literal where there is something else."""
        options: list[str] = []
        for value in scope.values:
            if place <= value.place and value.type not in (*FLOATS, *VECTORS, *STRUCTS):
                self.rule("R7")
                if value.type != kind:
                    self.rule("cast")
                options.append(value.name if value.type == kind else f"{kind}({value.name})")
        if self.chance(40) or not options:
            options = [*options, *self.elements(scope, place, kind, loads)]
        if place <= scope.code and self.chance(20):
            unit = pick(self.choices, [u for u in scope.units() if place <= u])
            if unit != scope.code:  # in a group, an index among one is an error
                self.rule("R12")
                options.append(f"{kind}(id({self.spell(unit)}))")
            if unit != scope.code and unit.level != Level.GRID:  # and so is a count of one
                self.rule("R12-count")
                options.append(f"{kind}(count({self.spell(unit)}))")
        if not options or self.chance(15):
            return self.constant(scope, kind)
        return pick(self.choices, options)

    def elements(self, scope: Scope, place: Perspective, kind: str, loads: bool) -> list[str]:
        """Elements of local arrays and of memory (R19), components of vectors."""
        found = []
        if self.nested > 2:
            return []
        arrays = [a for a in scope.locals if place <= a.place and kind in (a.type, component_of(a.type))]
        if arrays:
            array = pick(self.choices, arrays)
            whole = f"{array.name}{self.at(scope, array.shape, place)}"
            found.append(whole if array.type == kind else self.component(scope, whole, array.type, place))
        memories = [
            m for m in scope.memories
            if loads and (kind == m.type or component_of(m.type) == kind) and scope.readable(m, place)
        ]  # fmt: skip
        if memories:
            memory = pick(self.choices, memories)
            self.rule("R19-const" if memory.const else "R19")
            whole = f"{memory.name}{self.at(scope, memory.shape, place)}"
            if place == THREAD and memory.root in INPUTS and memory.type == kind and not self.nested and self.chance(8):
                self.rule("load-relaxed")
                whole = f"load_relaxed({whole})"
            found.append(whole if memory.type == kind else self.component(scope, whole, memory.type, place))
        vectors = [v for v in scope.values if place <= v.place and component_of(v.type) == kind]
        if vectors:
            vector = pick(self.choices, vectors)
            found.append(self.component(scope, vector.name, vector.type, place))
        return found + self.fields(scope, place, kind, loads)

    def fields(self, scope: Scope, place: Perspective, kind: str, loads: bool) -> list[str]:
        """Fields of structs, in a local or in memory."""
        known = [(v.name, v.type) for v in scope.values if place <= v.place]
        memories = [m for m in scope.memories if loads and m.type in STRUCTS and scope.readable(m, place)]
        if memories and self.chance(50):
            self.rule("struct-memory")
            memory = pick(self.choices, memories)
            known.append((f"{memory.name}{self.at(scope, memory.shape, place)}", memory.type))
        found = [f"{name}.{f}" for name, of in known for f, t in STRUCTS.get(of, {}).items() if t == kind]
        self.rule(*["field"][: len(found)])
        return found

    def component(self, scope: Scope, vector: str, kind: str, place: Perspective) -> str:
        """One component of a vector."""
        self.rule("component")
        length = VECTORS[kind][1]
        if length <= 4 and self.chance(60):
            return f"{vector}.{'xyzw'[self.choices.number(0, length - 1)]}"
        return f"{vector}[{self.index(scope, length, place)}]"

    def at(self, scope: Scope, shape: tuple[int, ...], place: Perspective) -> str:
        """The indices of an element, in one pair of brackets or in several."""
        indices = [self.index(scope, extent, place) for extent in shape]
        if len(indices) > 1:
            self.rule("dimensions")
        return f"[{', '.join(indices)}]" if self.chance(50) else "".join(f"[{index}]" for index in indices)

    def index(self, scope: Scope, size: int, place: Perspective) -> str:
        """An index below `size`, one for each unit of `place`."""
        if size == 1 or self.chance(25):
            return str(self.choices.number(0, size - 1))
        natural = [v for v in scope.values if v.natural and place <= v.place]
        if natural and self.chance(70):
            return f"({pick(self.choices, natural).name} + {self.choices.number(0, 40)}) % {size}"
        self.nested += 1
        inside = self.integer(scope, place, "int32", 1, loads=False)
        self.nested -= 1
        return f"abs({inside} % {size})"

    # -- conditions, floats, vectors --------------------------------------------------------------------------------------

    def condition(self, scope: Scope, place: Perspective, depth: int = 1, loads: bool = True) -> str:
        """A bool that all threads of a unit of `place` agree on."""
        if depth and self.chance(20):
            op = pick(self.choices, ("and", "or"))
            return f"({self.condition(scope, place, 0, loads)} {op} not {self.condition(scope, place, 0, loads)})"
        bools = [v for v in scope.values if v.type == "bool" and place <= v.place]
        if bools and self.chance(40):
            return pick(self.choices, bools).name
        floats = [v for v in scope.values if v.type in FLOATS and place <= v.place]
        if floats and self.chance(25):
            return f"({pick(self.choices, floats).name} > {self.choices.number(-5, 50)}.0)"
        op = pick(self.choices, ("<", "<=", ">", ">=", "==", "!="))
        kind = pick(self.choices, INTEGERS)
        return f"({self.integer(scope, place, kind, 1, loads)} {op} {self.choices.number(0, 30)})"

    def float(self, scope: Scope, place: Perspective, kind: str, loads: bool = True) -> str:
        """A float whose products are by powers of two: its value does not depend on contraction."""
        options = [v.name for v in scope.values if v.type == kind and place <= v.place]
        options += [f"{kind}({v.name})" for v in scope.values if v.type in FLOATS and place <= v.place]
        options += self.elements(scope, place, kind, loads) if self.chance(30) or not options else []
        exact = f"{kind}({self.integer(scope, place, 'int32', 1, loads)} % 64)"
        if not options or self.chance(30):
            if self.chance(10):
                self.rule("zero")
                return f"{kind}()"
            return exact
        form = pick(
            self.choices,
            (
                "({} + {})", "({} - {})", "min({}, {})", "max({}, {})", "({} * 0.5 + {})", "(-{} / 4.0 - {})",
                "(0.1 - {} + {})", "({} if {} > 7.0 else 2.5)",
            ),
        )  # fmt: skip
        return form.format(pick(self.choices, options), exact)

    def struct(self, kind: str) -> None:
        """Declare a struct, if the program has it not yet."""
        self.rule("struct")
        members = [f"    {name}: {type_}" for name, type_ in STRUCTS[kind].items()]
        self.prelude[kind] = ["@struct", f"class {kind}:", *members]

    def record(self, scope: Scope, place: Perspective, kind: str, loads: bool = True) -> str:
        """A struct: one in scope, one out of an array or memory, one made of its fields, zero."""
        self.struct(kind)
        options = [v.name for v in scope.values if v.type == kind and place <= v.place]
        options += self.elements(scope, place, kind, loads)
        if not options or self.chance(40):
            fields = [self.number(scope, place, each, 1, loads) for each in STRUCTS[kind].values()]
            options.append(f"{kind}()" if self.chance(20) else f"{kind}({', '.join(fields)})")
        one, other = pick(self.choices, options), pick(self.choices, options)
        if one == other or self.chance(60):
            return one
        self.rule("R9-expression")
        return f"({one} if {self.condition(scope, place, 0, loads)} else {other})"

    def vector(self, scope: Scope, place: Perspective, kind: str, loads: bool = True) -> str | None:
        """A vector: one in scope, one loaded (R19), one made of components, a choice of two."""
        options = [v.name for v in scope.values if v.type == kind and place <= v.place]
        if self.chance(30) or not options:
            options += self.elements(scope, place, kind, loads)
        if loads and place == THREAD and (self.chance(30) or not options):
            options += self.loaded(scope, place, kind)
        if kind.isidentifier() and (self.chance(30) or not options):
            element, length = VECTORS[kind]
            items = [self.number(scope, place, element, 1, loads) for _ in range(pick(self.choices, (1, length)))]
            options.append(f"{kind}({', '.join(items)})")
            if self.chance(10):
                self.rule("zero")
                options.append(f"{kind}()")
        if self.chance(25):
            options += self.recast(scope, place, kind)
        if not options:
            return None
        one, other = pick(self.choices, options), pick(self.choices, options)
        if one != other and self.chance(50):
            self.rule("R9-expression")
            return f"({one} if {self.condition(scope, place, 0, loads)} else {other})"
        return one

    def recast(self, scope: Scope, place: Perspective, kind: str) -> list[str]:
        """The bits of a value of this size, taken for this vector. Integers never become floats, whose NaNs would differ."""
        kinds = [t for t in (*VECTORS, *BITS) if width_of(t) == width_of(kind) and t not in ("T", "bool")]
        whole = [t for t in kinds if (component_of(t) or t) not in FLOATS]
        given = [v for v in scope.values if place <= v.place and v.type in (*whole, kind)]
        if not given:
            return []
        value = pick(self.choices, given)
        if value.type != kind and kind in whole:
            self.rule("bitcast-vector")
            return [f"bitcast({value.name}, {kind})"]
        if value.type != kind:
            return []
        self.rule("bitcast-vector")
        return [f"bitcast(bitcast({value.name}, {pick(self.choices, kinds)}), {kind})"]

    def loaded(self, scope: Scope, place: Perspective, kind: str) -> list[str]:
        """A vector out of aligned memory of its elements."""
        element, width = VECTORS[kind]
        fits = [m for m in scope.memories if m.type == element and scope.readable(m, place) and holds(m, width)]
        if not fits:
            return []
        self.rule("R19-vector")
        memory = pick(self.choices, fits)
        start = f"{memory.name}[{self.start(scope, memory, width, place)}]"
        cache = pick(self.choices, ("", "", ', cache="streaming"'))
        spelled = [f"load_vector({start}, {width}{cache})"]
        if kind.isidentifier():
            spelled += [f"{kind}_cast({start})"]
        return [pick(self.choices, spelled)]

    def start(self, scope: Scope, memory: Memory, width: int, place: Perspective) -> str:
        """Where a vector of so many elements can begin."""
        return f"{width} * ({self.index(scope, memory.size // width, place)})"


def component_of(kind: str) -> str:
    """Return the type of a vector's components, or no type."""
    return VECTORS[kind][0] if kind in VECTORS else ""


def width_of(kind: str) -> int:
    """Return the bits of a number, vector or struct."""
    if kind in STRUCTS:
        return 64 if kind == "Pair" else 192
    element, length = VECTORS.get(kind, (kind, 1))
    return BITS[element] * length


def holds(memory: Memory, width: int) -> bool:
    """Whether vectors of so many elements can be accessed there."""
    return memory.rank == 1 and memory.plain and memory.size >= width and memory.aligned % width == 0
