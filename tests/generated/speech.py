"""Derivations of what is said and what is taken on trust: `assert_`, `assume`, `print_`, `unsafe` (R27), `extern` (R29)."""

from __future__ import annotations

from prism.lang.types.perspective import BLOCK, THREAD, Perspective
from tests.generated.derive import Found, Statements, indent
from tests.generated.numbers import Function
from tests.generated.scope import STRUCTS, VECTORS, Memory, Scope, Value, pick

WARP = Perspective(THREAD.level, 32)
SHIFTED = """\
def shifted(v, d):
    if np.ndim(v) == 0:
        return v
    rows = v.reshape(-1, 32)
    first = (np.asarray(d).reshape(-1, 32)[:, :1] if np.ndim(d) else d) % 32
    lanes = np.arange(32) - np.where(np.arange(32) >= first, first, 0)
    found = np.take_along_axis(rows, np.broadcast_to(lanes, rows.shape), 1)
    return found.reshape(-1)


@prism("device")
@requires(warp[1])
@extern("return __shfl_up_sync(0xffffffffu, v, d % 32u);", meaning=shifted)
def shift(v: int32 @ thread[1], d: uint32 @ warp[1]) -> int32 @ thread[1]:
    pass""".splitlines()
MIXED = """\
def mixing(a, b):
    return a * 3 ^ b


@prism("device")
@requires(thread[1])
@extern("return a * 3u ^ b;", meaning=mixing)
def mix(a: uint32 @ thread[1], b: uint32 @ thread[1]) -> uint32 @ thread[1]:
    pass""".splitlines()
STORED = """\
def putting(x, y, v):
    y[0] = x[0] ^ v


@prism("device")
@requires(thread[1])
@extern("y[0] = x[0] ^ v;", reads=["x"], writes=["y"], meaning=putting)
def put(x: ptr(const(int32)) @ thread[1], y: ptr(int32) @ thread[1], v: int32 @ thread[1]):
    pass""".splitlines()
EXTERNS = (
    (SHIFTED, Function(
        "shift", (WARP, 32), (Value("v", "int32", THREAD), Value("d", "uint32", WARP)), ("int32", THREAD), False),
     "R29-collective"),
    (MIXED, Function(
        "mix", (THREAD, 1), (Value("a", "uint32", THREAD), Value("b", "uint32", THREAD)), ("uint32", THREAD), False),
     "R29-value"),
    (STORED, Function(
        "put", (THREAD, 1), (
            Memory("x", "int32", THREAD, (1,), "x", const=True), Memory("y", "int32", THREAD, (1,), "y"),
            Value("v", "int32", THREAD)), None, True), "R29-memory"),
)  # fmt: skip


class Speech(Statements):
    """What is said to the reader, and what the compiler takes at its word."""

    def speak(self, scope: Scope, _: int) -> Found:
        """`assert_` and `assume` of what holds, R9; `print_` where few speak."""
        if self.chance(60):
            natural = [v.name for v in scope.values if v.natural and scope.code <= v.place]
            holds = [f"{name} >= 0" for name in natural]
            if several := [unit for unit in scope.units() if unit != scope.code]:
                holds.append(f"count({self.spell(pick(self.choices, several))}) > 0")
            if not holds:
                return None
            first, also = pick(self.choices, holds), self.condition(scope, scope.code, 0)
            form = pick(self.choices, ("assert_({})", "assert_({} or {})", 'assert_({}, "what holds")', "assume({})"))
            self.rule("assume" if form.startswith("assume") else "assert")
            return [form.format(first, also)], scope
        if scope.trips > 2 or scope.code < BLOCK and self.chance(80):
            return None
        self.rule("print")
        values = [v.name for v in scope.values if scope.code <= v.place and v.type not in (*VECTORS, *STRUCTS)][-2:]
        fields = " ".join(["{}"] * len(values))
        return [f"print_({', '.join([repr(f'{{{{said}}}} {fields}').replace(chr(39), chr(34)), *values])})"], scope

    # -- R27 UNSAFE -------------------------------------------------------------------------------------------------------

    def raw(self, scope: Scope, _: int) -> Found:
        """R27 UNSAFE: text with its effects declared, and a meaning."""
        shape = self.choices.number(0, 5)
        if shape == 0:
            return self.raw_text(scope)
        if shape == 1:
            return self.raw_loop(scope)
        if shape <= 3 and scope.code == THREAD:
            return self.raw_memory(scope) or self.raw_locals(scope)
        return self.raw_locals(scope)

    def raw_locals(self, scope: Scope) -> Found:
        """Text that writes a local, whose effects are listed, or what it mentions."""
        target = Value(self.fresh("v"), "uint32", self.place(scope))
        lines = [f"{target.name}: uint32 @ {target.place} = {self.integer(scope, target.place, 'uint32', 1)}"]
        read = [v.name for v in scope.values if v.type == "uint32" and target.place <= v.place]
        name = self.fresh("meaning")
        if not read or self.chance(30):
            self.rule("R27-mentioned")
            self.meaning(name, [target.name], f"return {target.name} * 5 + 1")
            return [*lines, f'unsafe("{target.name} = {target.name} * 5u + 1u;", meaning={name})'], scope.add(target)
        self.rule("R27-local")
        other = pick(self.choices, read)
        self.meaning(name, [target.name, other], f"return {target.name} ^ {other} + 7")
        text = f"{target.name} = {target.name} ^ ({other} + 7u);"
        effects = f"reads=[{target.name}, {other}], writes=[{target.name}]"
        return [*lines, f'unsafe("{text}", {effects}, meaning={name})'], scope.add(target)

    def meaning(self, name: str, parameters: list[str], *lines: str) -> None:
        """Write down what some text means, for the reference machine."""
        self.prelude[name] = [f"def {name}({', '.join(parameters)}):", *indent(list(lines))]

    def raw_text(self, scope: Scope) -> Found:
        """Text without an effect."""
        self.rule("R27-text")
        name = self.fresh("meaning")
        self.meaning(name, [], "return ()")
        return [f"unsafe('asm volatile(\"// {name}\");', reads=[], writes=[], meaning={name})"], scope

    def raw_loop(self, scope: Scope) -> Found:
        """A pragma, which is about the loop after it."""
        loop = self.for_(scope, 0)
        if loop is None or "unroll=" in loop[0][0]:
            return loop
        self.rule("R27-pragma")
        return ['unsafe("#pragma unroll 2")', *loop[0]], scope

    def raw_memory(self, scope: Scope) -> Found:
        """Text that writes one thread's memory."""
        fits = [
            m
            for m in scope.memories
            if m.type == "int32" and m.place == THREAD and not m.const and m.plain and m.rank == 1
        ]
        reads = [v.name for v in scope.values if v.type == "int32" and v.name.isidentifier()]
        if not fits or not reads:
            return None
        self.rule("R27-memory")
        memory, value, name = pick(self.choices, fits).name, pick(self.choices, reads), self.fresh("meaning")
        self.meaning(name, [memory, value], f"{memory}[0] = {value} ^ 3")
        return [f'unsafe("{memory}[0] = {value} ^ 3;", reads=[{value}], writes=[{memory}], meaning={name})'], scope

    # -- R29 EXTERN -------------------------------------------------------------------------------------------------------

    def external(self) -> None:
        """Give the program one of the extern functions: calls find it among the others."""
        text, function, rule = pick(self.choices, EXTERNS)
        if function.name not in self.prelude:
            self.rule(rule)
            self.prelude[function.name] = text
            self.functions.append(function)
