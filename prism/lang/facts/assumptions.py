"""Which `assume`s speak of the launch alone: each launch tests them on the host, so what is proved from them is proved.

Such a condition is made of scalar arguments, constants, numbers of units of the launch, and names that are declared once as
such, by integer arithmetic, comparisons, `and`, `or`, `not` and conditional expressions. It stands where every launch comes: in
no branch, loop or arm, and behind nothing that may end the kernel. All threads have the same in it, so one test is for all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count

from prism.lang import tree
from prism.lang.diagnostics import source_text
from prism.lang.facts.definitions import Facts, facts
from prism.lang.facts.launch_tests import Assumed, Code, compile_test
from prism.lang.intrinsics.layouts import strides_nest
from prism.lang.keep.bases import Value
from prism.lang.keep.memo import memoize
from prism.lang.tree.walk import statements
from prism.lang.types.perspective import Level

_COMPARE = ("==", "!=", "<", "<=", ">", ">=")
_LOGIC = ("and", "or")
_ARITHMETIC = ("+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^")
_MOST = 500
"""Parts of one condition, with all that its names stand for."""


@memoize
def launch_assumptions(function: tree.Function) -> Mapping[tree.Assume, Assumed]:
    """Return the assumptions of a kernel that each launch tests, with what is tested."""
    if function.kind != "global":
        return {}
    reader = _Reader(facts(function), {p: n for n, p in enumerate(function.parameters)}, {}, count())
    found: dict[tree.Assume, Assumed] = {}
    for statement in _reachable(function.body):
        code = replace(reader, parts=count()).read(statement.condition)
        if code is not None:
            text = source_text(statement.span, "assume(...)").removeprefix("assume(").removesuffix(")")
            try:
                found[statement] = Assumed(" ".join(text.split()), statement.span.line, code)
            except ValueError:  # too deep a condition is not tested, and stays assumed
                continue
    return found


def launch_number(function: tree.Function, e: tree.Expr) -> Code | None:
    """Return a kernel's expression as a text that a launch computes; None where a launch alone does not say what it is."""
    if function.kind != "global":
        return None
    code = _Reader(facts(function), {p: n for n, p in enumerate(function.parameters)}, {}, count()).read(e)
    try:
        if code is not None:
            compile_test(code)
    except ValueError:  # too deep
        return None
    return code


def _reachable(body: tree.Body) -> Iterator[tree.Assume]:
    """Yield the assumptions to which every launch comes, up to what may end it."""
    for statement in body:
        if isinstance(statement, tree.Assume):
            yield statement
        elif isinstance(statement, tree.Partition | tree.Group | tree.Claim | tree.Async | tree.Batch | tree.Turns):
            yield from _reachable(statement.body)
        if any(isinstance(s, tree.Return | tree.Assert) for s in statements((statement,))):
            return


class _Reader(Value):
    """Reads conditions. `given`: what a function's parameters stand for, whose result is read; `parts` counts what is read."""

    known: Facts
    positions: Mapping[tree.Symbol, int]
    given: Mapping[tree.Symbol, Code]
    parts: Iterator[int]

    def read(self, e: tree.Expr) -> Code | None:
        """Return an expression's code, or None where it is made of anything else."""
        type_ = e.type
        if next(self.parts) >= _MOST or not isinstance(type_, tree.Scalar):
            return None
        if not (type_.integral or type_.kind == "bool"):
            return None
        match e:
            case tree.Const(value=value):
                return ("number", bool(value) if type_.kind == "bool" else int(value))
            case tree.Var(symbol=symbol):
                return self._name(symbol)
            case tree.Count(unit=unit, code=code):
                return _units(unit, code, type_)
            case tree.Call():
                return self._result_of_call(e)
            case _:
                return self._operator(e, type_)

    def _operator(self, e: tree.Expr, type_: tree.Scalar) -> Code | None:
        match e:
            case tree.Cast(operand=operand):
                return self._make(("cast", type_.name), operand)
            case tree.Unary(op="not", operand=operand):
                return self._make(("not",), operand)
            case tree.Unary(op=op, operand=operand) if type_.integral:
                return self._make(({"-": "neg"}.get(op, op), type_.name), operand)
            case tree.Select(condition=condition, then=then, otherwise=otherwise):
                return self._make(("if",), condition, then, otherwise)
            case tree.Binary(op=op, left=left, right=right):
                return self._binary(op, type_, left, right)
            case tree.Apply(intrinsic=intrinsic, arguments=arguments) if intrinsic is strides_nest:
                return self._make((intrinsic.name,), *arguments)
            case tree.Apply(intrinsic=intrinsic, arguments=(left, right)):
                chosen = intrinsic.name in ("minimum", "maximum") and intrinsic.source != "user" and type_.integral
                return self._make((intrinsic.name, type_.name), left, right) if chosen else None
            case _:
                return None

    def _make(self, head: tuple[str, ...], *operands: tree.Expr) -> Code | None:
        found: list[Code] = []
        for operand in operands:
            code = self.read(operand)
            if code is None:
                return None
            found.append(code)
        return (*head, *found)

    def _binary(self, op: str, type_: tree.Scalar, left: tree.Expr, right: tree.Expr) -> Code | None:
        if op in _COMPARE or op in _LOGIC:
            return self._make((op,), left, right)
        return self._make((op, type_.name), left, right) if op in _ARITHMETIC and type_.integral else None

    def _name(self, symbol: tree.Symbol) -> Code | None:
        """A scalar argument, or what a name is declared as, where it is never assigned again."""
        if symbol in self.given:
            return self.given[symbol]
        if symbol in self.known.changed:
            return None
        if symbol in self.positions:
            return ("argument", self.positions[symbol])
        value = self.known.definitions.get(symbol)
        return None if value is None else self.read(value)

    def _result_of_call(self, e: tree.Call) -> Code | None:
        """What a function that only computes gives for such arguments."""
        *before, last = e.function.body or (None,)
        plain = e.function.pure and all(isinstance(s, tree.Declare) for s in before)
        if not plain or not isinstance(last, tree.Return) or last.value is None:
            return None
        given: dict[tree.Symbol, Code] = {}
        for parameter, argument in zip(e.function.parameters, e.arguments, strict=True):
            code = self.read(argument)
            if code is None:
                return None
            given[parameter] = code
        return _Reader(facts(e.function), {}, given, self.parts).read(last.value)


def _units(unit: object, code: object, type_: tree.Scalar) -> Code | None:
    """How many units a launch has, as the reference machine counts them."""
    level, of = getattr(unit, "level", None), getattr(code, "level", None)
    if level not in (Level.THREAD, Level.BLOCK) or of not in (Level.THREAD, Level.BLOCK, Level.GRID):
        return None
    size, whole = int(unit.size), int(code.size)  # type: ignore[attr-defined]
    if of == Level.THREAD:
        return ("number", whole // size)
    times = 1 if of == Level.GRID else whole
    return ("count", of == Level.GRID, level == Level.THREAD, times, size, type_.name)
