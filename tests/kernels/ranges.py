"""What 32-bit numbers of a kernel may be: which of its sums, products and narrowings may pass what 32 bits hold.

Each variable has one range, of all that is assigned to it anywhere; conditions are not looked at. A kernel's own parameters are
what the caller of `doubtful` says they are, or anything that their type holds. So what is not listed is safe; what is may be.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from prism.lang import tree  # fmt: skip
from prism.lang.diagnostics import source_text
from prism.lang.tree.plan import Program
from prism.lang.tree.walk import statements, subexpressions
from prism.lang.types import Array
from prism.lang.types.perspective import Level, Perspective

Range = tuple[int, int]
MOST_BLOCKS, MOST_THREADS = 2**31 - 1, 1024
BLOCKS, THREADS = "blocks", "threads"
"""How a launch's number of blocks, and of its threads in all, are given among a kernel's parameters."""
_ROUNDS = 5


def of_type(scalar: tree.Scalar) -> Range:
    """Return all that an integer type holds."""
    if scalar.kind == "bool":
        return 0, 1
    return (0, 2**scalar.bits - 1) if scalar.kind == "uint" else (-(2 ** (scalar.bits - 1)), 2 ** (scalar.bits - 1) - 1)


def join(a: Range | None, b: Range) -> Range:
    """Return the range of both."""
    return b if a is None else (min(a[0], b[0]), max(a[1], b[1]))


@dataclass
class Ranges:
    """The ranges of a program's integers. `given`: what is known of the kernel's parameters, and of `function.variable`."""

    program: Program
    given: Mapping[str, Range]
    known: dict[tree.Symbol, Range] = field(default_factory=dict)
    results: dict[tree.Function, Range] = field(default_factory=dict)
    found: dict[tuple[str, str], str] = field(default_factory=dict)
    changed: bool = False
    listing: bool = False
    here: str = ""

    def settle(self) -> None:
        """Go through all functions until nothing changes; what goes on growing may be anything."""
        for parameter in self.program.entry.parameters:
            if isinstance(parameter.type, tree.Scalar) and parameter.type.integral:
                self.known[parameter] = self.given.get(parameter.name, of_type(parameter.type))
        for number in range(100):
            self.changed = False
            for function in reversed(self.program.functions):
                self.walk(function, widen=number >= _ROUNDS)
            if not self.changed:
                return
        raise AssertionError("ranges don't settle")

    def list(self) -> dict[tuple[str, str], str]:
        """Return what may not fit 32 bits: by function and text, the file's line."""
        self.settle()
        self.listing = True
        for function in reversed(self.program.functions):
            self.walk(function, widen=False)
        return self.found

    def walk(self, function: tree.Function, *, widen: bool) -> None:
        self.here = function.name
        for statement in statements(function.body):
            match statement:
                case tree.Declare(symbol=symbol, value=value) if value is not None:
                    self.put(symbol, self.of(value), widen)
                case tree.Assign(target=tree.Var(symbol=symbol) | tree.Item(symbol=symbol), value=value):
                    self.put(symbol, self.of(value), widen)
                case tree.For(symbol=symbol, start=start, stop=stop, step=step):
                    self.put(symbol, self.trips(self.of(start), self.of(stop), self.of(step)), widen)
                case tree.Partition(view=view) if view.view is not None and view.view.offset is not None:
                    self.put(view.view.offset[0], self.of(view.view.offset[1]), widen)
                case tree.Return(value=value) if value is not None and _whole(value):
                    joined = join(self.results.get(function), self.of(value) or of_type(value.type))
                    self.changed = self.changed or joined != self.results.get(function)
                    self.results[function] = joined
            for e in tree.expressions(statement):
                for part in subexpressions(e):
                    self.look(part, widen)

    def look(self, e: tree.Expr, widen: bool) -> None:
        """Pass a call's arguments on; list what may not fit."""
        if isinstance(e, tree.Call):
            for parameter, argument in zip(e.function.parameters, e.arguments, strict=True):
                if isinstance(parameter.type, tree.Scalar) and parameter.type.integral:
                    self.put(parameter, self.of(argument), widen)
                elif isinstance(parameter.type, Array) and isinstance(argument, tree.Var):
                    self.put(parameter, self.known.get(argument.symbol), widen)
                    self.put(argument.symbol, self.known.get(parameter), widen)
        if self.listing and isinstance(e, tree.Binary | tree.Cast) and _narrow(e) and not self.fits(e):
            self.found[self.here, source_text(e.span).strip()] = f"{self.here}:{e.span.line}"

    def fits(self, e: tree.Binary | tree.Cast) -> bool:
        low, high = of_type(e.type)
        exact = self.exact(e)
        return exact is None or (low <= exact[0] and exact[1] <= high)

    def put(self, symbol: tree.Symbol, found: Range | None, widen: bool) -> None:
        scalar = symbol.type.element if isinstance(symbol.type, Array) else symbol.type
        if found is None or not isinstance(scalar, tree.Scalar) or not scalar.integral:
            return
        fact = self.given.get(f"{self.here}.{symbol.name}")
        joined = join(self.known.get(symbol), found) if fact is None else fact
        if joined != self.known.get(symbol):
            self.changed = True
            low, high = of_type(scalar)
            self.known[symbol] = (low, high) if widen else (max(joined[0], low), min(joined[1], high))

    @staticmethod
    def trips(start: Range | None, stop: Range | None, step: Range | None) -> Range | None:
        if start is None or stop is None or step is None:
            return None
        if step[0] >= 0:
            return start[0], max(start[0], stop[1] - 1)
        return min(start[0], stop[0] + 1), max(start[1], stop[1])

    def of(self, e: tree.Expr) -> Range | None:
        """Return an integer's range, as its type holds it; None of what has no value yet."""
        if not _whole(e):
            return None
        exact, (low, high) = self.exact(e), of_type(e.type)
        if exact is None:
            return None
        return exact if low <= exact[0] and exact[1] <= high else (low, high)

    def exact(self, e: tree.Expr) -> Range | None:
        """Return an integer's range before its type cuts it."""
        match e:
            case tree.Const(value=value):
                return int(value), int(value)
            case tree.Var(symbol=symbol) | tree.Item(symbol=symbol):
                return self.known.get(symbol)
            case tree.Id(unit=unit, code=code):
                return 0, self.units(unit, code) - 1
            case tree.Count(unit=unit, code=code):
                return 1, self.units(unit, code)
            case tree.Cast(operand=operand):
                inner = operand.type
                return self.of(operand) if isinstance(inner, tree.Scalar) and inner.integral else of_type(e.type)
            case tree.Unary(op="-", operand=operand):
                inside = self.of(operand)
                return None if inside is None else (-inside[1], -inside[0])
            case tree.Select(then=then, otherwise=otherwise):
                one, two = self.of(then), self.of(otherwise)
                return two if one is None else one if two is None else join(one, two)
            case tree.Binary():
                left, right = self.of(e.left), self.of(e.right)
                if left is None or right is None:
                    return None
                return of_binary(e, left, right)
            case tree.Call(function=function):
                return self.results.get(function)
            case tree.Apply():
                return self.applied(e)
            case tree.Place():
                return 0, 1023
            case _:
                return of_type(e.type)

    def units(self, unit: Perspective, code: Perspective) -> int:
        """Return how many units there are at most."""
        if code.level == Level.THREAD or unit.level == code.level == Level.BLOCK:
            return code.size // unit.size
        if code.level == Level.BLOCK:
            return code.size * MOST_THREADS // unit.size
        blocks = self.given.get(BLOCKS, (1, MOST_BLOCKS))[1]
        if unit.level == Level.BLOCK:
            return blocks // unit.size
        return min(blocks * MOST_THREADS, self.given.get(THREADS, (1, 2**42))[1]) // unit.size

    def applied(self, e: tree.Apply) -> Range | None:
        values = [self.of(a) for a in e.arguments if _whole(a)]
        match e.intrinsic.name:
            case "minimum" | "maximum" as name if len(values) == 2:
                if values[0] is None or values[1] is None:
                    return None
                (a, b), (c, d) = values[0], values[1]
                return (min(a, c), min(b, d)) if name == "minimum" else (max(a, c), max(b, d))
            case name if name.startswith("shuffle") or name in ("warp_max", "warp_min"):
                return values[0]
            case "warp_sum" if values[0] is not None:
                return 32 * min(values[0][0], 0), 32 * max(values[0][1], 0)
            case "popcount" | "first_set" | "leading_zeros":
                return 0, 64
            case _:
                return of_type(e.type)


def of_binary(e: tree.Binary, a: Range, b: Range) -> Range:
    """Return the range of an operator's results, before its type cuts it."""
    corners = [(x, y) for x in a for y in b]
    match e.op:
        case "+":
            return a[0] + b[0], a[1] + b[1]
        case "-":
            return a[0] - b[1], a[1] - b[0]
        case "*":
            products = [x * y for x, y in corners]
            return min(products), max(products)
        case "/" | "//":
            return (min(a[0], 0) if a[0] < 0 else a[0] // max(b[1], 1), max(a[1], 0) // max(b[0], 1)) if b[0] > 0 else a
        case "%":
            most = max(abs(b[0]), abs(b[1])) - 1
            return max(min(a[0], 0), -most), max(min(a[1], most), 0)
        case "<<" if 0 <= b[0] and b[1] < 64:
            moved = [x << y for x, y in corners]
            return min(moved), max(moved)
        case ">>" if 0 <= b[0]:
            moved = [x >> min(y, 64) for x, y in corners]
            return min(moved), max(moved)
        case "&" if a[0] >= 0 or b[0] >= 0:
            return 0, min(r[1] for r in (a, b) if r[0] >= 0)
        case "|" | "^" if a[0] >= 0 and b[0] >= 0:
            return 0, (1 << max(a[1].bit_length(), b[1].bit_length())) - 1
        case "==" | "!=" | "<" | "<=" | ">" | ">=" | "and" | "or":
            return 0, 1
        case _:
            return of_type(e.type)


def _whole(e: tree.Expr) -> bool:
    return isinstance(e.type, tree.Scalar) and (e.type.integral or e.type.kind == "bool")


def _narrow(e: tree.Binary | tree.Cast) -> bool:
    """Whether it makes a number of 32 bits or fewer that may be too large for them."""
    if not (isinstance(e.type, tree.Scalar) and e.type.kind == "int" and e.type.bits == 32):
        return False
    return isinstance(e, tree.Cast) or e.op in ("+", "-", "*", "<<")


def doubtful(program: Program, given: Mapping[str, Range]) -> dict[tuple[str, str], str]:
    """Return the int32 sums, products and conversions that may pass 2^31, by function and text: where they stand."""
    return Ranges(program, given).list()


def parameters(program: Program) -> Iterator[str]:
    """Yield the names of a kernel's parameters of 32 bits and fewer."""
    for parameter in program.entry.parameters:
        if isinstance(parameter.type, tree.Scalar) and parameter.type.integral and parameter.type.bits <= 32:
            yield parameter.name
