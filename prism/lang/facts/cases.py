"""Small arguments as cases: what holds in each of the few launches that an `assume` leaves is proved one by one.

An argument that the launch's assumptions (launched.py) bound to a few numbers is taken as each of them in turn: then a shift or
a mask by it is one by a constant. Of the combinations those are left out of which an assumption does not hold, or has no value:
such a launch is refused on the host. All the others are looked at, so what is proved in each of them is proved. What does not
depend on these arguments was read already, and is taken over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from prism.lang import tree
from prism.lang.facts.addresses import Guard
from prism.lang.facts.assumptions import launch_assumptions
from prism.lang.facts.definitions import Facts
from prism.lang.facts.digits import Reader, reader
from prism.lang.facts.launch_tests import Assumed, Code, Test, Undefined, compile_test
from prism.lang.facts.polynomials import Form, Range
from prism.lang.keep.memo import memoize
from prism.lang.tree.walk import subexpressions

MOST, MOST_TRIED = 64, 1024
"""Cases that are looked at, and combinations of numbers of which they are made."""
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "=="}


def cases(known: Facts, expressions: Iterable[tree.Expr]) -> tuple[Facts, ...]:
    """Return the facts in each case of the arguments in some expressions; none where there are none, or too many."""
    few = _few(known.function)
    if not few:
        return ()
    split = sorted(_parameters_in(known, expressions) & few.keys() - known.changed, key=known.function.parameters.index)
    numbers = 1
    for symbol in split:
        numbers *= len(few[symbol])
    if not split or numbers > MOST_TRIED:
        return ()
    possible = _possible(known.function, split, product(*(few[symbol] for symbol in split)))
    if len(possible) > MOST:
        return ()
    kept: dict[object, Facts] = known.found.setdefault("cases", {})
    for one in possible:
        if (*split, *one) not in kept:
            kept[*split, *one] = _case(known, split, one)
    return tuple(_renew_proofs(kept[*split, *one]) for one in possible)


def _case(known: Facts, split: Iterable[tree.Symbol], numbers: Iterable[int]) -> Facts:
    """Return the facts of a function with constants for some of its parameters. What depends on them is read anew."""
    fixed = {s: tree.Const(value=n, type=s.type, span=s.span) for s, n in zip(split, numbers, strict=True)}
    found: dict[str, Any] = {name: known.found[name] for name in ("sites", "uses") if name in known.found}
    case = replace(known, definitions={**known.definitions, **fixed}, found=found)
    changed = _dependents(known, fixed)
    names = {name: form for name, form in reader(known).names.items() if name not in changed}
    found["reader"] = Reader(case, Range(case, {}), names)
    read: dict[Guard, tuple[Form, ...]] = known.found.get("guards", {})
    found["guards"] = {guard: forms for guard, forms in read.items() if changed.isdisjoint(_guard_names(guard))}
    return case


def _renew_proofs(case: Facts) -> Facts:
    """Return a case with what was read in it, and no proofs: these are counted for each question that asks for cases."""
    return replace(case, found={name: found for name, found in case.found.items() if name not in ("proofs", "joined")})


def _dependents(known: Facts, symbols: Iterable[tree.Symbol]) -> set[tree.Symbol]:
    """Return some names, and those whose definitions or loops mention them, or a name that does."""
    if "mentions" not in known.found:
        known.found["mentions"] = _mentions(known)
    mentions: Mapping[tree.Symbol, list[tree.Symbol]] = known.found["mentions"]
    found: set[tree.Symbol] = set()
    left = list(symbols)
    while left:
        symbol = left.pop()
        if symbol not in found:
            found.add(symbol)
            left += mentions.get(symbol, ())
    return found


def _mentions(known: Facts) -> Mapping[tree.Symbol, list[tree.Symbol]]:
    """Return, for each name, the names whose definitions or loops mention it."""
    found: dict[tree.Symbol, list[tree.Symbol]] = {}
    said = [*known.definitions.items(), *((s, e) for s, loop in known.loops.items() for e in _ends(loop))]
    for symbol, expression in said:
        for name in _names_in(expression):
            found.setdefault(name, []).append(symbol)
    return found


def _guard_names(guard: Guard) -> Iterator[tree.Symbol]:
    match guard:
        case tree.For(symbol=symbol):
            yield symbol
            yield from (name for e in _ends(guard) for name in _names_in(e))
        case tree.Distinct(values=values):
            yield from (name for e in values for name in _names_in(e))
        case (condition, _):
            yield from _names_in(condition)
        case _:
            pass


def _ends(loop: tree.For) -> tuple[tree.Expr, ...]:
    return loop.start, loop.stop, loop.step


def _names_in(expression: tree.Expr) -> Iterator[tree.Symbol]:
    return (part.symbol for part in subexpressions(expression) if isinstance(part, tree.Var))


def _parameters_in(known: Facts, expressions: Iterable[tree.Expr]) -> set[tree.Symbol]:
    """Return the parameters that expressions are made of, and what their names are defined as."""
    seen: set[tree.Symbol] = set()
    left = list(expressions)
    while left:
        for part in subexpressions(left.pop()):
            if isinstance(part, tree.Var) and part.symbol not in seen:
                seen.add(part.symbol)
                definition = known.definitions.get(part.symbol)
                left += [] if definition is None else [definition]
    return seen & {*known.function.parameters}


@memoize
def _few(function: tree.Function) -> Mapping[tree.Symbol, range]:
    """Return the parameters of a kernel that its launches' assumptions bound to a few numbers, with these."""
    bounds: dict[int, tuple[int | None, int | None]] = {}
    for each in launch_assumptions(function).values():
        for position, low, high in _bounds(each.code):
            one, two = bounds.get(position, (None, None))
            lows, highs = [n for n in (one, low) if n is not None], [n for n in (two, high) if n is not None]
            bounds[position] = max(lows, default=None), min(highs, default=None)
    found: dict[tree.Symbol, range] = {}
    for position, (low, high) in bounds.items():
        symbol = function.parameters[position]
        if not isinstance(symbol.type, tree.Scalar) or not symbol.type.integral:
            continue
        least = low if symbol.type.kind == "int" else max(0, low or 0)
        if least is not None and high is not None and high - least < MOST:
            found[symbol] = range(least, high + 1)
    return found


def _bounds(code: Code) -> Iterator[tuple[int, int | None, int | None]]:
    """Yield the least and the greatest number of arguments that a condition compares with constants: all of them hold at once."""
    match code:
        case ("and", one, two):
            yield from _bounds(one)
            yield from _bounds(two)
        case (op, ("number", int(value)), ("argument", _) as argument) if op in _TURNED:
            yield from _bounds((_TURNED[op], argument, ("number", value)))
        case (op, ("argument", position), ("number", int(value))) if op in _TURNED:
            low = {">": value + 1, ">=": value, "==": value}.get(op)
            yield position, low, {"<": value - 1, "<=": value, "==": value}.get(op)
        case _:
            pass


def _possible(
    function: tree.Function, split: Sequence[tree.Symbol], tried: Iterable[tuple[int, ...]]
) -> list[tuple[int, ...]]:
    """Return those numbers of parameters that no assumption refuses which speaks of these parameters alone."""
    places = [function.parameters.index(symbol) for symbol in split]
    tests = [compile_test(each.code) for each in launch_assumptions(function).values() if _speaks_of(each, places)]
    found: list[tuple[int, ...]] = []
    # To leave a case out takes a test that its launches surely fail. One that speaks of other arguments too may hold: it is not
    # asked, and the case is looked at. The 0 that stands for the others is read by no test that is asked.
    for numbers in tried:
        values = [0] * len(function.parameters)
        for place, number in zip(places, numbers, strict=True):
            values[place] = number
        if all(_holds(test, values) for test in tests):
            found.append(numbers)
    return found


def _speaks_of(assumed: Assumed, positions: Iterable[int]) -> bool:
    return {*assumed.arguments()} <= {*positions} and not any(assumed.shape_terms())


def _holds(test: Test, values: list[int]) -> bool:
    try:
        return bool(test((1, 1, values)))
    except Undefined:
        return False
