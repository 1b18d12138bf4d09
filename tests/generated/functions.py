"""Derivations of device functions and their calls (R13-R16, R26, R30: a function calls earlier ones only)."""

from __future__ import annotations

from prism.lang.perspective import BLOCK, GRID, THREAD, Level, Perspective
from tests.generated.derive import Function, indent
from tests.generated.memories import Memories
from tests.generated.scope import INTEGERS, Local, Memory, Scope, Value, pick

COMMON = ("int32", "int32", *INTEGERS)
HEADS = {Level.BLOCK: "block[1], {}", Level.THREAD: "{}"}


class Functions(Memories):
    """Device functions, and calls of them."""

    def operator(self) -> list[str]:
        """A function of two numbers of one type, for any type (R26)."""
        name = self.fresh("op")
        ops = "a {} b", "b {} (a & b)", "max(a, b) {} min(a, b)", "(a if a < b else b) {} a"
        body = pick(self.choices, ops).format(pick(self.choices, "+-*^|"))
        self.operators.append(name)
        return [
            '@prism("device")', "@requires(thread[1])", "@template(T=dtype)",
            f"def {name}(a: T @ thread[1], b: T @ thread[1]) -> T @ thread[1]:", f"    return {body}",
        ]  # fmt: skip

    def fold(self, name: str) -> list[str]:
        """A function that combines an array's elements by a function that it is given (R26)."""
        return [
            '@prism("device")', "@requires(thread[1])", "@template(T=dtype, N=constexpr(int), OP=function)",
            f"def {name}(items: T[N] @ thread[1], start: T @ thread[1]) -> T @ thread[1]:", "    sum: T = start",
            "    for k in range(N):", "        sum = OP(sum, items[k])", "    return sum",
        ]  # fmt: skip

    def define(self, threads: int) -> list[str]:
        """A device function with a body of its own."""
        entry = pick(self.choices, [n for n in (1, 8, 32, 64, 96) if threads % n == 0])
        block = self.chance(40)
        code = BLOCK if block else Perspective(Level.THREAD, entry)
        self.rule("R1-block" if block else "R1-thread")
        template = self.chance(40)
        length = pick(self.choices, (2, 3, 4))
        scope = Scope(code, entry, threads, 1, 1, whole=block)
        parameters = self.parameters(scope, length)
        kind = pick(self.choices, (None, *INTEGERS[:2]))
        result = (kind, pick(self.choices, [u for u in scope.units()])) if kind else None
        inner = Scope(code, entry, threads, 1, 1, block, result=result or ("", code)).add(*parameters)
        lines = self.body(inner, 2, 4)
        if result:
            lines.append(f"return {self.integer(inner, result[1], result[0])}")
        name = self.fresh("f")
        memory = block or any(isinstance(p, Memory) for p in parameters) or any("atomic" in line for line in lines)
        texts = []
        for p in parameters:
            texts.append(self.formal(p, "K" if template and isinstance(p, Local) else None))
        used = template and any(isinstance(p, Local) for p in parameters)
        self.functions.append(
            Function(name, (code, entry), parameters, result, memory, f"K={length}" if used else "")
        )  # fmt: skip
        head = ['@prism("device")', f"@requires({HEADS[code.level].format(f'thread[{entry}]')})"]
        if used:
            self.rule("R26-int")
            head += ["@template(K=constexpr(int))"]
        arrow = f" -> {result[0]} @ {result[1]}" if result else ""
        return [*head, f"def {name}({', '.join(texts)}){arrow}:", *indent(lines)]

    def formal(self, p: Value | Local | Memory, length: str | None) -> str:
        """How a parameter is written."""
        if isinstance(p, Value):
            return f"{p.name}: {p.type} @ {p.place}"
        if isinstance(p, Local):
            return f"{p.name}: {p.type}[{length or p.length}] @ {p.place}"
        return f"{p.name}: ptr({f'const({p.type})' if p.const else p.type}) @ {p.place}"

    def parameters(self, scope: Scope, length: int) -> tuple[Value | Local | Memory, ...]:
        """A number of the code's perspective, and some others."""
        found: list[Value | Local | Memory] = [Value(self.fresh("n"), "int32", scope.code)]
        for _ in range(self.choices.number(0, 3)):
            place = THREAD if self.chance(40) else pick(self.choices, [u for u in scope.units() if u.size != 48])
            match self.choices.number(0, 3):
                case 0:
                    found.append(Value(self.fresh("n"), pick(self.choices, INTEGERS), place))
                case 1:
                    found.append(Local(self.fresh("a"), pick(self.choices, INTEGERS[:2]), place, length))
                case 2:
                    place = pick(self.choices, (scope.code, place))
                    size = scope.threads if place == BLOCK else place.size
                    name = self.fresh("m")
                    found.append(Memory(name, pick(self.choices, COMMON), place, size, name))
                case _:
                    place = pick(self.choices, (scope.code, BLOCK, THREAD))
                    name = self.fresh("m")
                    found.append(Memory(name, pick(self.choices, COMMON), place, 1, name, const=True))
        return tuple(found)

    def call(self, scope: Scope, _: int) -> tuple[list[str], Scope] | None:
        """R13 CALL-BOUND, R14 CALL-SCALAR, R15 CALL-PTR."""
        folded = [a for a in scope.locals if a.place == THREAD]
        if folded and "fold" in self.operators_and_folds() and self.chance(30):
            self.rule("R26-function")
            array = pick(self.choices, folded)
            operator = pick(self.choices, self.operators)
            result = Value(self.fresh("r"), array.type, THREAD)
            start = self.integer(scope, THREAD, array.type, 1, loads=False)
            return [
                f"{result.name}: {result.type} @ thread[1] = fold({array.name}, {start}, OP={operator})"
            ], scope.add(result)
        callable_ = [f for f in self.functions if self.allowed(scope, f)]
        actuals = self.arguments(scope, pick(self.choices, callable_)) if callable_ else None
        if actuals is None:
            return None
        function, arguments, before, opens = actuals
        for rule in ("R13", "R14"):
            self.rule(rule)
        if function.bound[0] != scope.code:
            self.rule("R13-broader")
        if scope.code.level == Level.BLOCK:
            self.rule("R16")
        for p in function.parameters:
            if not isinstance(p, Value):
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

    def operators_and_folds(self) -> list[str]:
        """Return what is declared before this function."""
        return ["fold"] if self.operators else []

    def allowed(self, scope: Scope, function: Function) -> bool:
        """R13 CALL-BOUND: whether the code here has what a function requires."""
        code, entry = function.bound
        return scope.entry % entry == 0 and code <= scope.code and not (code == BLOCK and scope.code == GRID)

    def arguments(self, scope: Scope, function: Function) -> tuple[Function, list[str], list[str], list[str]] | None:
        """Return the function, actual arguments for it, and what stands before the call and around it to have them."""
        found: list[str] = []
        before: list[str] = []
        opens: list[str] = []
        roots: set[str] = set()
        for p in function.parameters:
            if isinstance(p, Value):
                found.append(self.integer(scope, p.place, p.type, 1, loads=not function.memory))
                continue
            if isinstance(p, Local):
                arrays = [a.name for a in scope.locals if (a.type, a.place, a.length) == (p.type, p.place, p.length)]
                names = [name for name in arrays if name not in found]
                if not names and p.place <= scope.code:
                    names = [self.fresh("a")]
                    before.append(f"{names[0]}: {p.type}[{p.length}] @ {p.place} = {{0}}")
                found.append(pick(self.choices, names) if names else "")
                continue
            fits = [m for m in scope.memories if self.passes(m, p) and m.root not in roots]
            parts = [m for m in scope.memories if m.root not in roots and self.gives(scope, m, p)]
            if fits:
                memory = pick(self.choices, fits)
                found.append(memory.name)
            elif parts:
                memory = pick(self.choices, parts)
                found.append(self.fresh("p"))
                size = memory.size // scope.count(p.place)
                opens.append(f"with partition({memory.name}, {p.place}, id() * {size}) as {found[-1]}:")
            else:
                return None
            roots.add(memory.root)
        return None if "" in found else (function, found, before, opens)

    def gives(self, scope: Scope, memory: Memory, formal: Memory) -> bool:
        """Whether a part of this memory is what a parameter takes."""
        if memory.type != formal.type or memory.const or memory.tally or not memory.plain or formal.const:
            return False
        units = self.units_of(scope, memory)
        return formal.place in units and memory.size // scope.count(formal.place) >= formal.size

    def passes(self, actual: Memory, formal: Memory) -> bool:
        """R15 CALL-PTR: const memory at least as broad as the parameter, other memory exactly as broad."""
        if actual.type != formal.type or actual.size < formal.size or not actual.plain or actual.tally:
            return False
        if formal.const:
            return formal.place <= actual.place and (actual.const or actual.shared)
        return actual.place == formal.place and not actual.const
