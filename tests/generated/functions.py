"""Derivations of device functions and their calls (R13-R16, R26, R30: a function calls earlier ones only)."""

from __future__ import annotations

from dataclasses import replace

from prism.lang.types.perspective import BLOCK, GRID, THREAD, Level, Perspective
from tests.generated.asynchronous import Asynchronous
from tests.generated.derive import Found, indent
from tests.generated.numbers import Function
from tests.generated.scope import INTEGERS, Local, Memory, Scope, Value, pick

COMMON = ("int32", "int32", *INTEGERS)
HEADS = {Level.BLOCK: "block[1], {}", Level.THREAD: "{}"}
STEPS = """\
@prism("device")
@requires(thread[1])
@template([("STEP", c_int), ("UP", c_int)])
def steps(start: int32 @ thread[1]) -> int32 @ thread[1]:
    return start % 1000 + STEP if UP == 1 else start % 1000 - STEP""".splitlines()
FOLD = """\
@prism("device")
@requires(thread[1])
@template(T=dtype, N=constexpr(int), OP=function)
def fold(items: T[N] @ thread[1], start: T @ thread[1]) -> T @ thread[1]:
    sum: T = start
    for k in range(N):
        sum = OP(sum, items[k])
    return sum""".splitlines()
Actuals = tuple[Function, list[str], list[str], list[str]]


class Functions(Asynchronous):
    """Device functions, and calls of them."""

    def operator(self) -> list[str]:
        """A function of two numbers of one type, for any type (R26)."""
        name = self.fresh("op")
        ops = (
            "(a % 9) {} (b % 9)",
            "(b % 7) {} ((a & b) % 9)",
            "(max(a, b) % 9) {} (min(a, b) % 8)",
            "((a if a < b else b) % 7) {} (a % 5)",
        )
        body = pick(self.choices, ops).format(pick(self.choices, "+-*^|"))
        self.operators.append(name)
        return [
            '@prism("device")', "@requires(thread[1])", "@template(T=dtype)",
            f"def {name}(a: T @ thread[1], b: T @ thread[1]) -> T @ thread[1]:", f"    return {body}",
        ]  # fmt: skip

    # -- definitions ------------------------------------------------------------------------------------------------------

    def define(self, threads: int) -> list[str]:
        """A device function with a body of its own."""
        entry = pick(self.choices, [n for n in (1, 8, 32, 64, 96) if threads % n == 0])
        block, generic = self.chance(40), self.chance(25)
        code = BLOCK if block else Perspective(Level.THREAD, entry)
        self.rule("R1-block" if block else "R1-thread")
        length = pick(self.choices, (2, 3, 4))
        scope = Scope(code, entry, threads, 1, 1, whole=block)
        parameters = self.parameters(scope, length, "T" if generic else "")
        tiles = self.tiles(scope) if self.chance(35) else ()
        parameters = (*tiles, *parameters)
        kind = pick(self.choices, (None, *INTEGERS[:2], "float32", "bool", "int4", "Pair", "T" if generic else "int64"))
        result = (kind, pick(self.choices, scope.units())) if kind and not tiles else None
        flag = self.chance(20)
        inner = replace(scope, result=None if tiles else result or ("", code)).add(*parameters)
        called = self.rules["R13"]
        lines = self.body(inner, 2, 4)
        if flag:
            self.rule("R26-bool")
            lines = ["if FLAG:", *indent(self.body(inner, 1, 1)), "else:", *indent(self.body(inner, 1, 1)), *lines]
        if self.rules["R13"] > called:
            self.rule("R30")
        if result:
            lines.append(f"return {self.value_of(inner, *result)}")
        name = self.fresh("f")
        memory = block or any(isinstance(p, Memory) for p in parameters) or any("(" in line for line in lines)
        arrays = any(isinstance(p, Local) for p in parameters) and self.chance(50)
        template = {"T": "dtype"} if generic else {}
        given = [f"K={length}"] if arrays else []
        if arrays:
            self.rule("R26-int")
            template["K"] = "constexpr(int)"
        if flag:
            template["FLAG"] = "constexpr(bool)"
            given.append(f"FLAG={pick(self.choices, ('True', 'False'))}")
        extents = self.named_extents(tiles, template)
        self.functions.append(Function(name, (code, entry), parameters, result, memory, ", ".join(given), generic))
        head = ['@prism("device")', f"@requires({HEADS[code.level].format(f'thread[{entry}]')})"]
        head += [f"@template({', '.join(f'{k}={v}' for k, v in template.items())})"] if template else []
        texts = [self.formal(p, "K" if arrays and isinstance(p, Local) else extents.get(p.name)) for p in parameters]
        arrow = f" -> {result[0]} @ {result[1]}" if result else ""
        return [*head, f"def {name}({', '.join(texts)}){arrow}:", *indent(lines)]

    def value_of(self, scope: Scope, kind: str, place: Perspective) -> str:
        """A value to return."""
        value = self.number(scope, place, kind)
        return self.number(scope, place, kind, 0, loads=False) if value == "{0}" else value

    def formal(self, p: Value | Local | Memory, length: str | None) -> str:
        """How a parameter is written."""
        if isinstance(p, Value):
            return f"{p.name}: {p.type} @ {p.place}"
        if isinstance(p, Local):
            return f"{p.name}: {p.type}[{length or p.shape[0]}] @ {p.place}"
        if p.whole:
            text = f"shared({p.type}[{length or self.extents(p)}])"
            return f"{p.name}: {f'const({text})' if p.const else text} @ {p.place}"
        return f"{p.name}: ptr({f'const({p.type})' if p.const else p.type}) @ {p.place}"

    def parameters(self, scope: Scope, length: int, generic: str) -> tuple[Value | Local | Memory, ...]:
        """A number of the code's perspective, and some others; one of them has the type that a template gives."""
        found: list[Value | Local | Memory] = [Value(self.fresh("n"), "int32", scope.code)]
        if generic:
            found.append(Value(self.fresh("n"), generic, pick(self.choices, (scope.code, THREAD))))
        for _ in range(self.choices.number(0, 3)):
            place = THREAD if self.chance(40) else pick(self.choices, [u for u in scope.units() if u.size != 48])
            match self.choices.number(0, 3):
                case 0:
                    kind = pick(self.choices, (*INTEGERS, self.some_type(), "bool", "int2", "Trio", generic or "half2"))
                    found.append(Value(self.fresh("n"), kind, place))
                case 1:
                    found.append(
                        Local(
                            self.fresh("a"), pick(self.choices, (*INTEGERS[:2], generic or "int32")), place, (length,)
                        )
                    )
                case 2:
                    place = pick(self.choices, (scope.code, place))
                    size = scope.threads if place == BLOCK else place.size
                    name = self.fresh("m")
                    found.append(Memory(name, pick(self.choices, COMMON), place, (size,), name))
                case _:
                    place = pick(self.choices, (scope.code, BLOCK, THREAD))
                    name = self.fresh("m")
                    found.append(Memory(name, pick(self.choices, COMMON), place, (1,), name, const=True))
        return tuple(found)

    def tiles(self, scope: Scope) -> tuple[Memory, ...]:
        """One or two whole shared tiles: the code's own, or of a broader unit and only read."""
        self.rule("tile-parameter")
        found: list[Memory] = []
        for _ in range(self.choices.number(1, 2)):
            each, name = self.choices.number(2, 3), self.fresh("m")
            shape = (scope.threads, each) if self.chance(60) else (scope.threads * each,)
            const = self.chance(40) or scope.code.size == 48
            place = pick(self.choices, (scope.code, BLOCK, THREAD)) if const else scope.code
            found.append(
                Memory(name, pick(self.choices, COMMON), place, shape, name, const=const, shared=True, whole=True)
            )
        return tuple(found)

    def named_extents(self, tiles: tuple[Memory, ...], template: dict[str, str]) -> dict[str, str]:
        """Extents that calls deduce: template parameters in place of the numbers."""
        found: dict[str, str] = {}
        for tile in tiles:
            if self.chance(40):
                self.rule("tile-extents")
                names = [self.fresh("N") for _ in tile.shape]
                template |= dict.fromkeys(names, "constexpr(int)")
                found[tile.name] = ", ".join(names)
        return found

    # -- calls ------------------------------------------------------------------------------------------------------------

    def call(self, scope: Scope, depth: int) -> Found:
        """R13 CALL-BOUND, R14 CALL-SCALAR, R15 CALL-PTR."""
        if self.chance(25):
            return self.call_library(scope)
        callable_ = [f for f in self.functions if self.allowed(scope, f)]
        actuals = self.arguments(scope, pick(self.choices, callable_)) if callable_ else None
        if actuals is None:
            return None
        function, arguments, before, opens = actuals
        self.rule("R13", "R14")
        if function.bound[0] != scope.code:
            self.rule("R13-broader")
        if scope.code.level == Level.BLOCK:
            self.rule("R16")
        for p in function.parameters:
            if not isinstance(p, Value) and not (isinstance(p, Memory) and p.whole):
                self.rule("R15-array" if isinstance(p, Local) else "R15-const" if p.const else "R15")
        text = f"{function.name}({', '.join([*arguments, *([function.template] if function.template else [])])})"
        result = None
        if function.result is not None:
            kind, place = function.result
            result = Value(self.fresh("r"), kind, pick(self.choices, [u for u in scope.units() if u <= place]))
            text = f"{result.name}: {kind} @ {result.place} = {text}"
        lines = [text]
        for head in opens:
            self.rule("R20")
            lines = [head, *indent(lines)]
        return [*before, *lines], scope.add(result) if result and not opens else scope

    def call_library(self, scope: Scope) -> Found:
        """A call of one of the functions that every program may have: `fold` with an operator, `steps` with a list."""
        result = Value(self.fresh("r"), "int32", THREAD)
        lines: list[str] = []
        if self.operators and self.chance(60):
            self.rule("R26-function")
            self.prelude["fold"] = FOLD
            folded = [a for a in scope.locals if a.place == THREAD and a.type in INTEGERS and len(a.shape) == 1]
            if not folded:
                folded = [Local(self.fresh("a"), pick(self.choices, INTEGERS), THREAD, (3,))]
                lines += [f"{folded[0].name}: {folded[0].type}[3] @ thread[1] = {{0}}"]
            array, operator = pick(self.choices, folded), pick(self.choices, self.operators)
            result = replace(result, type=array.type)
            text = f"fold({array.name}, {self.integer(scope, THREAD, array.type, 1, loads=False)}, OP={operator})"
        else:
            self.rule("R26-list", "R26-int")
            self.prelude["steps"] = STEPS
            listed = f"template=[{self.choices.number(1, 9)}, {self.choices.number(0, 1)}]"
            text = f"steps({self.integer(scope, THREAD, 'int32', 1, loads=False)}, {listed})"
        return [*lines, f"{result.name}: {result.type} @ thread[1] = {text}"], scope.add(result)

    def allowed(self, scope: Scope, function: Function) -> bool:
        """R13 CALL-BOUND: whether the code here has what a function requires."""
        code, entry = function.bound
        return scope.entry % entry == 0 and code <= scope.code and not (code == BLOCK and scope.code == GRID)

    def arguments(self, scope: Scope, function: Function) -> Actuals | None:
        """Return the function as it is called here, its arguments, and what stands before the call and around it."""
        if function.generic:
            function = self.instance(function)
        found: list[str] = []
        before: list[str] = []
        opens: list[str] = []
        roots: set[str] = set()
        for p in function.parameters:
            if isinstance(p, Value):
                value = self.number(scope, p.place, p.type, 1, loads=not function.memory)
                found.append("" if value == "{0}" else value)
                continue
            if isinstance(p, Local):
                found.append(self.array_for(scope, p, found, before))
                continue
            fits = [m for m in scope.memories if self.passes(m, p) and m.root not in roots]
            parts = [m for m in scope.memories if m.root not in roots and self.gives(scope, m, p)]
            if fits:
                memory = pick(self.choices, fits)
                found.append(memory.name)
            elif p.whole and scope.code == BLOCK == (BLOCK if p.const else p.place) and len(before) < 30:
                lines, more = self.shared_object(scope, p.type, p.shape, p.size // scope.threads)
                memory = more.memories[-1]
                before += lines
                found.append(memory.name)
            elif parts:
                memory = pick(self.choices, parts)
                found.append(self.fresh("p"))
                size = memory.size // scope.count(p.place)
                offset = f"id() * {size}" if p.place != scope.code else "0"
                opens.append(f"with partition({memory.name}, {p.place}, {offset}) as {found[-1]}:")
            else:
                return None
            roots |= set(memory.root.split("|")) | {memory.root}
        return None if "" in found else (function, found, before, opens)

    def instance(self, function: Function) -> Function:
        """A generic function for some type: what its call deduces."""
        kind = pick(self.choices, INTEGERS)
        parameters = tuple(replace(p, type=kind) if p.type == "T" else p for p in function.parameters)
        result = function.result
        if result is not None and result[0] == "T":
            result = (kind, result[1])
        template = ", ".join(filter(None, (f"T={kind}", function.template)))
        return replace(function, parameters=parameters, result=result, template=template)

    def array_for(self, scope: Scope, p: Local, found: list[str], before: list[str]) -> str:
        """An array that a parameter takes, declared if there is none; the empty string where there can be none."""
        arrays = [a.name for a in scope.locals if (a.type, a.place, a.shape) == (p.type, p.place, p.shape)]
        names = [name for name in arrays if name not in found]
        if not names and p.place <= scope.code:
            names = [self.fresh("a")]
            before.append(f"{names[0]}: {p.type}[{p.shape[0]}] @ {p.place} = {{0}}")
        return pick(self.choices, names) if names else ""

    def gives(self, scope: Scope, memory: Memory, formal: Memory) -> bool:
        """Whether a part of this memory is what a parameter takes."""
        if (
            memory.type != formal.type
            or memory.const
            or memory.tally
            or not memory.plain
            or formal.const
            or formal.whole
        ):
            return False
        units = self.units_of(scope, memory) if memory.rank == 1 else []
        return formal.place in units and memory.size // scope.count(formal.place) >= formal.size

    def passes(self, actual: Memory, formal: Memory) -> bool:
        """R15 CALL-PTR: const memory at least as broad as the parameter, other memory exactly as broad."""
        if formal.whole:
            fits = actual.place == formal.place if not formal.const else formal.place <= actual.place
            same = (actual.type, actual.shape) == (formal.type, formal.shape)
            return actual.whole and same and fits and (formal.const or not actual.const)
        if actual.type != formal.type or actual.size < formal.size or not actual.plain or actual.tally:
            return False
        if formal.const:
            return formal.place <= actual.place and (actual.const or actual.shared)
        return actual.place == formal.place and not actual.const
