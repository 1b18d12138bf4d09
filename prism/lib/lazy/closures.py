"""Lambdas that name numbers outside: these become arguments, so that one kernel serves for all of them.

What is made of such numbers and of literals alone is computed on the host, as constants are, and is one argument. Its type
follows from what it meets, by NumPy's rules. Names that the kernel must know, as in `a if k > 3 else b`, stay constants.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import CellType, CodeType, FunctionType
from typing import Any, NamedTuple, TypeVar

import numpy as np

from prism.lang.diagnostics import CompileError, Span
from prism.lang.keep.bases import Value
from prism.lang.keep.keys import exact
from prism.lang.parse import syntax as s
from prism.lang.parse.instantiate import Scope, fold
from prism.lang.parse.lambdas import Parsed, as_function, device_function, parse_lambda
from prism.lang.parse.views import Written
from prism.lang.surface import Kernel
from prism.lang.surface.views import Compute, Number
from prism.lang.types import FLOAT64, INT32, INT64, Scalar
from prism.lang.types.structs import Struct, scalar_called
from prism.lib.lazy.array import BOOL, Lazy, bits_as, broadcast_all, merge, of_number
from prism.lib.lazy.expressions import make
from prism.lib.lazy.functions import apply, device, on_gpu, result_of
from prism.lib.lazy.types import dtype_of
from prism.runtime.arrays import is_array

_E = TypeVar("_E")
_NOWHERE = Span("lambda", 1, 0, 1, 1)
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
_COMPLEX = ("complex64", "complex128")
_MOST = 1024  # lambdas that are kept
_MODULE = ("__builtins__", "__loader__", "__name__", "__spec__")  # what the text of a file is found by
_constant: dict[Hashable, Written] = {}
_opened: dict[Hashable, _Opened] = {}
_seen: dict[int, _Seen] = {}  # by their code's identity: it is kept
# Of lambdas, whatever their numbers are, the names of those that stay constants.
_fixed: dict[Hashable, frozenset[str]] = {}


class Applied:
    """A function of elements: what a kernel calls, and the numbers that it is given besides. `key`: what it is told by."""

    __slots__ = ("_opened", "_python", "_values", "what")

    def __init__(self, function: Any) -> None:
        self._python = function
        self._opened: _Opened | None = None
        self._values: tuple[Any, ...] = ()
        if is_lambda(function) and (found := _open(function)) is not None:
            self._opened, self._values = found
            self.what: Any = None
        else:
            self.what = callable_of(function)

    @property
    def key(self) -> Hashable:
        return self.what if self._opened is None else (self._opened, *map(exact, self._values))

    def with_number(self, scalar: Scalar) -> tuple[Kernel, Lazy] | None:
        """Return a test of one element, and the one number that it is given besides; None where it is something else."""
        if self._opened is None or len(self._values) != 1:
            return None
        tests = self._opened.tests
        if scalar not in tests:
            found = self._opened.types((scalar,))
            tests[scalar] = None if found is None or found[1] != BOOL else found[0][0]
        kind = tests[scalar]
        return None if kind is None else (self._opened.function, of_number(self._values[0], kind, (1,)))

    def map_over(self, *arrays: Any) -> Lazy:
        """Return the function of arrays or lazy arrays, which broadcast to one shape.

        Raises:
            CompileError, TypeError, ValueError, OverflowError: as `apply` and `broadcast_all`.
        """
        return self.apply(broadcast_all(arrays))

    def apply(self, parts: Sequence[Lazy]) -> Lazy:
        """Return the function of lazy arrays of one shape.

        Raises:
            CompileError, TypeError: as `prism.lib.lazy.map`.
            OverflowError: a number is out of the range of the integers that it meets.
        """
        if is_lambda(self._python) and any(part.scalar.name in _COMPLEX for part in parts):
            return self._apply_to_complex(parts)
        return self._apply(parts)

    def _apply_to_complex(self, parts: Sequence[Lazy]) -> Lazy:
        """Return the function of complex numbers: compiled if it reads their parts, else by the arithmetic of lazy arrays.

        The language has no operators on structs, and lazy arrays have them on complex numbers.
        """
        try:
            return self._apply(parts)
        except CompileError:
            try:
                found = self._python(*parts)
            except (TypeError, ValueError, AttributeError):
                found = None
            if not isinstance(found, Lazy):
                raise
            return found

    def _apply(self, parts: Sequence[Lazy]) -> Lazy:
        if self._opened is not None:
            found = self._opened.types(tuple([part.scalar for part in parts]), on_gpu(parts))
            if found is not None:
                types, scalar = found
                values, leaves, numbers = merge(parts)
                given = [bits_as(value, kind) for value, kind in zip(self._values, types, strict=True)]
                more = [make(Number, len(numbers) + k, kind) for k, kind in enumerate(types)]
                value = make(Compute, self._opened.function, (*values, *more))
                return Lazy(value, scalar, parts[0].shape, leaves, (*numbers, *given))
        return apply(callable_of(self._python), parts)

    def of_types(self, scalars: tuple[Scalar, ...], kept: bool) -> tuple[Any, Scalar, tuple[tuple[Scalar, int], ...]]:
        """Return what a kernel calls for elements of types, its result's, and the numbers that it is given behind them, as bits.

        Raises:
            CompileError, TypeError, OverflowError: as `apply`.
        """
        if self._opened is not None and (found := self._opened.types(scalars, kept)) is not None:
            types, scalar = found
            given = tuple((kind, bits_as(value, kind)) for value, kind in zip(self._values, types, strict=True))
            return self._opened.function, scalar, given
        what = callable_of(self._python)
        return what, result_of(what, scalars, kept), ()

    @property
    def arity(self) -> int:
        """How many elements it takes."""
        if is_lambda(self._python):
            return int(self._python.__code__.co_argcount)
        if isinstance(self._python, Kernel):
            from prism.lang.check import parsed_of  # only here: whoever uses the library alone does without it

            return len(parsed_of(self._python).parameters)
        return len(getattr(self._python, "parameters", (0,)))


def is_lambda(function: Any) -> bool:
    """Whether a function is a lambda of Python's."""
    return isinstance(function, FunctionType) and function.__name__ == "<lambda>"


def callable_of(function: Any) -> Any:
    """Return what a kernel may call: a lambda as a device function, the same for the same lambda and what it has captured."""
    if not isinstance(function, FunctionType):
        return device(function)
    if not is_lambda(function):
        raise TypeError(f"`{function.__name__}` is a function of Python's: mark it @prism.device, or pass a lambda")
    outside = _outside(function)
    key = (function.__code__, function.__code__.co_filename, tuple((name, _known(v)) for name, v in outside.items()))
    if key not in _constant:
        _make_room(_constant)
        _constant[key] = device_function(_freeze(function))
    return _constant[key]


def _outside(function: FunctionType) -> dict[str, Any]:
    """Return what a lambda names outside.

    Raises:
        TypeError: an array.
    """
    code = function.__code__
    found = {name: function.__globals__[name] for name in code.co_names if name in function.__globals__}
    found |= zip(code.co_freevars, (cell.cell_contents for cell in function.__closure__ or ()), strict=True)
    for name, value in found.items():
        if isinstance(value, Lazy) or is_array(value):
            text = ", ".join((*code.co_varnames[: code.co_argcount], name))
            raise TypeError(f"the lambda names the array `{name}`: give it to `map`, as of `lambda {text}: ...`")
    return found


def _known(value: Any) -> Hashable:
    return exact(value) if isinstance(value, bool | int | float | str | np.generic) else id(value)


def _freeze(function: FunctionType) -> FunctionType:
    """Return a lambda that names what it names now: what the names come to stand for later is another one."""
    code, outside = function.__code__, _outside(function)
    kept = {name: function.__globals__[name] for name in _MODULE if name in function.__globals__}
    closure = tuple(CellType(outside[name]) for name in code.co_freevars)
    return FunctionType(code, outside | kept, "<lambda>", function.__defaults__, closure)


def _make_room(known: dict[Any, Any]) -> None:
    if len(known) >= _MOST:
        known.clear()


# -- Numbers --------------------------------------------------------------------------------------------------------------


class _Number(Value):
    """A number that is a parameter: its name, of what it is computed on the host, and of which type of Python's it is."""

    name: str
    e: s.Expr
    kind: type[Any]


@dataclass(eq=False, slots=True)
class _Opened:
    """A lambda whose numbers are parameters behind its own."""

    own: tuple[tuple[str, Span], ...]
    body: s.Expr
    numbers: tuple[_Number, ...]
    function: Written
    known: dict[tuple[Scalar, ...], tuple[tuple[Scalar, ...], Scalar] | None] = field(default_factory=dict)
    tests: dict[Scalar, Scalar | None] = field(
        default_factory=dict
    )  # of tests by one number, its type, by the elements'

    def types(self, scalars: tuple[Scalar, ...], kept: bool = False) -> tuple[tuple[Scalar, ...], Scalar] | None:
        """Return the types of the numbers and the result, for elements of types; None where numbers must be constants."""
        if scalars not in self.known:
            _make_room(self.known)
            self.known[scalars] = self._find_types(scalars, kept) if len(scalars) == len(self.own) else None
        return self.known[scalars]

    def _find_types(self, scalars: tuple[Scalar, ...], kept: bool) -> tuple[tuple[Scalar, ...], Scalar] | None:
        types = _Types(self, scalars, kept)
        try:
            types.settle(self.body, None)
            found = tuple(types.of[number.name] for number in self.numbers)
            return found, result_of(self.function, (*scalars, *found), kept)
        except CompileError:  # it may be right with constants; if not, the message is about those
            return None


class _Seen(NamedTuple):
    """A lambda that names numbers alone, of these types; parameter `k` is number `picks[k]`, as it is."""

    code: CodeType
    module: dict[str, Any]
    kinds: tuple[type[Any], ...]
    picks: tuple[int, ...]
    opened: _Opened


def _open_again(function: FunctionType) -> tuple[_Opened, tuple[Any, ...]] | None:
    """Return what `_open` does of a lambda that was opened before, whatever its numbers are now; None: look."""
    code, module = function.__code__, function.__globals__
    seen = _seen.get(id(code))
    if seen is None or seen.code is not code or seen.module is not module:
        return None
    try:
        values = [module[name] for name in code.co_names]
        values += [cell.cell_contents for cell in function.__closure__ or ()]
    except (KeyError, ValueError):
        return None
    if tuple(map(type, values)) != seen.kinds:
        return None
    return seen.opened, tuple([values[k] for k in seen.picks])


def _see(function: FunctionType, outside: Mapping[str, Any], opened: _Opened) -> None:
    """Keep a lambda for `_open_again`, if it is as `_Seen` has it."""
    code, names = function.__code__, list(outside)
    plain = [number.e.name for number in opened.numbers if isinstance(number.e, s.Name)]
    all_numbers = names == [*code.co_names, *code.co_freevars] and all(map(_is_number, outside.values()))
    if all_numbers and len(plain) == len(opened.numbers):
        _make_room(_seen)
        kinds, picks = tuple(map(type, outside.values())), tuple(map(names.index, plain))
        _seen[id(code)] = _Seen(code, function.__globals__, kinds, picks, opened)


def _open(function: FunctionType) -> tuple[_Opened, tuple[Any, ...]] | None:
    """Return a lambda whose numbers are parameters, and these; None where it has none, or is none of Prism's."""
    if (again := _open_again(function)) is not None:
        return again
    outside, code = _outside(function), function.__code__
    kinds = {name: type(value) for name, value in outside.items() if _is_number(value)}
    if not kinds:
        return None
    rest = tuple((name, kinds.get(name) or _known(value)) for name, value in outside.items())
    key: tuple[Hashable, ...] = (code, code.co_filename, rest)
    try:
        if key not in _fixed:
            _make_room(_fixed)
            _fixed[key] = frozenset(_Taking(function, kinds).fixed)
        fixed = _fixed[key]
        key = (*key, *(exact(outside[name]) for name in outside if name in fixed))
        if key not in _opened:
            _make_room(_opened)
            free = {name: kind for name, kind in kinds.items() if name not in fixed}
            _opened[key] = _Taking(function, free).finish()
        found = _opened[key]
        values = tuple(
            outside[number.e.name] if isinstance(number.e, s.Name) else _value(function, number.e)
            for number in found.numbers
        )
    except CompileError:  # the constants' message is the same
        return None
    alike = all(type(value) is number.kind for value, number in zip(values, found.numbers, strict=True))
    if not (values and alike):
        return None
    if not fixed:
        _see(function, outside, found)
    return found, values


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _scope(function: FunctionType) -> Scope:
    """Return what names of a lambda's expression mean."""
    of_python = as_function(Parsed((), s.Literal(value=0, span=_NOWHERE), _NOWHERE), function)
    return Scope(of_python, {}, frozenset(function.__code__.co_varnames[: function.__code__.co_argcount]), {})


def _value(function: FunctionType, e: s.Expr) -> Any:
    """Return what an expression of numbers is, as a kernel computes with constants."""
    found = fold(_scope(function), e)
    return found.value if isinstance(found, s.Literal) else None


def _names(part: Any) -> Iterator[str]:
    """Yield the names in a part of a tree."""
    if isinstance(part, s.Name):
        yield part.name
    elif isinstance(part, tuple):
        for one in part:
            yield from _names(one)
    elif isinstance(part, s.Node):
        for one in type(part)._fields:
            yield from _names(getattr(part, one.name))


class _Taking:
    """Takes the numbers out of a lambda's expression. `kinds`: names of numbers; `fixed`: those that must be constants."""

    def __init__(self, function: FunctionType, kinds: Mapping[str, type[Any]]) -> None:
        self.function, self.kinds, self.scope = function, kinds, _scope(function)
        self.parsed = parse_lambda(function)
        self.fixed: set[str] = set()
        self.numbers: list[_Number] = []
        self.taken = {*_names(self.parsed.body), *(name for name, _ in self.parsed.parameters)}
        self.body = self.take(self.parsed.body)

    def finish(self) -> _Opened:
        """Return the lambda with parameters for its numbers."""
        more = tuple((number.name, number.e.span) for number in self.numbers)
        parsed = replace(self.parsed, parameters=(*self.parsed.parameters, *more), body=self.body)
        written = as_function(parsed, _freeze(self.function))
        return _Opened(self.parsed.parameters, self.body, tuple(self.numbers), written)

    def take(self, e: s.Expr) -> s.Expr:
        """Return an expression in which what is of numbers alone is a name of its own."""
        named = {name for name in _names(e) if name in self.kinds}
        if not named:
            return e
        folded = fold(self.scope, e)
        if isinstance(folded, s.Literal):
            if isinstance(folded.value, bool | str):
                return self.fix(e)
            if isinstance(e, s.Name):
                return self.number(e, self.kinds[e.name])
            if not any(issubclass(self.kinds[name], np.generic) for name in named):
                return self.number(e, type(folded.value))
        return self.take_parts(e)

    def take_parts(self, e: s.Expr) -> s.Expr:
        """Return an expression whose parts' numbers are taken out."""
        match e:
            case s.Unary():
                return replace(e, operand=self.take(e.operand))
            case s.Binary():
                return replace(e, left=self.take(e.left), right=self.take(e.right))
            case s.Conditional():
                condition = fold(self.scope, e.condition)
                if isinstance(condition, s.Literal):  # what is not chosen is not looked at
                    self.fix(e.condition)
                    return self.take(e.then if condition.value is True else e.otherwise)
                parts = map(self.take, (e.condition, e.then, e.otherwise))
                return s.Conditional(condition=next(parts), then=next(parts), otherwise=next(parts), span=e.span)
            case s.Call():
                self.fix((e.function, tuple(value for _, value in e.keywords)))
                return replace(e, arguments=tuple(map(self.take, e.arguments)))
            case s.Attribute():
                return replace(e, base=self.take(e.base))
            case _:
                return self.fix(e)

    def fix(self, part: _E) -> _E:
        """Keep the numbers of a part as constants."""
        self.fixed |= {name for name in _names(part) if name in self.kinds}
        return part

    def number(self, e: s.Expr, kind: type[Any]) -> s.Name:
        """Return the name of a new number; the outside's own first, for messages."""
        base = e.name if isinstance(e, s.Name) else "number"
        name, k = (
            (base, 0)
            if isinstance(e, s.Name) and not any(base == one.name for one in self.numbers)
            else (f"{base}_1", 1)
        )
        while k and name in self.taken:
            k += 1
            name = f"{base}_{k}"
        self.taken.add(name)
        self.numbers.append(_Number(name, e, kind))
        return s.Name(name=name, span=e.span)


class _Types:
    """Gives numbers the types that arithmetic on lazy arrays gives them: each that of what it meets."""

    def __init__(self, opened: _Opened, scalars: Sequence[Scalar], kept: bool) -> None:
        self.opened, self.kept = opened, kept
        self.of = {name: scalar for (name, _), scalar in zip(opened.own, scalars, strict=True)}
        self.kinds = {number.name: number.kind for number in opened.numbers}

    def settle(self, e: s.Expr, want: Scalar | None) -> None:
        """Give the numbers of an expression types, where it meets an element of type `want`."""
        match e:
            case s.Name(name=name) if name in self.kinds:
                self.of[name] = _meet(want, self.kinds[name])
            case s.Unary():
                self.settle(e.operand, want)
            case s.Binary(op="<<" | ">>"):
                self.settle(e.left, want)
                self.settle(e.right, INT32)
            case s.Binary():
                self.settle_two(e.left, e.right, None if e.op in (*_COMPARISONS, "and", "or") else want)
            case s.Conditional():
                self.settle(e.condition, None)
                self.settle_two(e.then, e.otherwise, want)
            case s.Attribute():
                self.settle(e.base, None)
            case s.Call():
                meets = None
                for argument in sorted(e.arguments, key=self.is_weak):
                    self.settle(argument, meets)
                    if meets is None and not self.is_weak(argument):
                        meets = self.type_of(argument)

    def settle_two(self, left: s.Expr, right: s.Expr, want: Scalar | None) -> None:
        """Give numbers types in two operands: those of one that has elements go by itself."""
        first, second = (right, left) if self.is_weak(left) else (left, right)
        self.settle(first, want)
        if any(name in self.kinds for name in _names(second)):
            self.settle(second, want if self.is_weak(first) else self.type_of(first))

    def is_weak(self, e: s.Expr) -> bool:
        """Whether an expression is of numbers alone, and takes the type of what it meets."""
        match e:
            case s.Name():
                return e.name in self.kinds
            case s.Unary():
                return self.is_weak(e.operand)
            case s.Binary():
                return e.op not in _COMPARISONS and self.is_weak(e.left) and self.is_weak(e.right)
            case s.Conditional():
                return self.is_weak(e.then) and self.is_weak(e.otherwise)
            case _:
                return isinstance(e, s.Literal)

    def type_of(self, e: s.Expr) -> Scalar:
        """Return the type of an expression whose numbers have theirs."""
        used = set(_names(e))
        names = tuple(name for name in self.of if name in used)
        parsed = Parsed(tuple((name, e.span) for name in names), e, e.span)
        function = as_function(parsed, self.opened.function.python)
        return result_of(function, tuple(self.of[name] for name in names), self.kept)


def _meet(want: Scalar | None, kind: type[Any]) -> Scalar:
    """Return the type of a number that meets an element: NumPy's for both, in which they are put together."""
    plain = want is not None and not isinstance(want, Struct) and not want.coded
    if issubclass(kind, np.generic):
        own = np.dtype(kind)
        found = scalar_called((np.result_type(dtype_of(want), own) if plain and want is not None else own).name)
        return FLOAT64 if found is None else found
    if issubclass(kind, float):
        return want if want is not None and want.kind == "float" else FLOAT64
    return want if want is not None and (want.kind == "float" or want.integral) else INT64


__all__ = ["Applied", "callable_of"]
