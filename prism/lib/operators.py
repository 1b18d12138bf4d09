"""The operators that scans and reductions take: a device function, what leaves its other argument alone, and a name."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from prism.host.libraries import PLAIN
from prism.lang.keep.keys import exact
from prism.lang.surface import Kernel
from prism.lang.types.structs import struct_of
from prism.lib.thread import operators as functions


@dataclass(frozen=True, slots=True, eq=False)
class Operator:
    """An associative operator with an identity.

    Parameters
    ----------
    function : Kernel
        A Prism device function of `thread[1]` that takes two numbers, or structs, of one type and returns a third: associative,
        and a function of its arguments alone. It need not be commutative.
    identity : number, record, or callable
        What leaves the other argument as it is, on either side: a number, a value of a struct (`Affine(1, 0)`, or a tuple of its
        fields' values), or a function from a `numpy.dtype` to one.
    name : str, optional
        How messages call it; the function's name, if not given.
    integral : bool, default False
        Whether it is for integers only.
    modular : bool, default False
        Whether signed and unsigned integers of one size give the same bits, so that one kernel serves both.
    commutative : bool, default False
        Whether its arguments may change places: then reductions read memory in the order that is fastest.

    Raises
    ------
    TypeError
        `function` is no device function, or `identity` is missing (None).

    Examples
    --------
    >>> from prism.lang import dtype, prism, requires, template, thread
    >>> @prism.device
    ... @requires(thread[1])
    ... @template(T=dtype)
    ... def last(a: T @ thread[1], b: T @ thread[1]) -> T @ thread[1]:
    ...     return b if b != 0 else a
    >>> fill = Operator(last, identity=0)
    >>> prism.lib.scan(np.array([0, 3, 0, 0, 5, 0]), fill)
    array([0, 3, 3, 3, 5, 5])
    """

    function: Kernel
    identity: Any
    name: str = ""
    integral: bool = False
    modular: bool = False
    commutative: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.function, Kernel) or self.function.kind != "device":
            raise TypeError("an operator's function is a Prism device function: @prism.device @requires(thread[1])")
        if self.identity is None:
            raise TypeError(
                f"the operator `{self.function.__name__}` needs an identity: Operator(function, identity=...)"
            )
        if isinstance(self.identity, list):  # of a struct's fields; a tuple can be a key
            object.__setattr__(self, "identity", tuple(self.identity))
        if isinstance(self.identity, np.void | np.ndarray) and (struct := struct_of(self.identity.dtype)) is not None:
            object.__setattr__(self, "identity", struct.value(self.identity))  # which can be a key
        if not self.name:
            object.__setattr__(self, "name", self.function.__name__)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Operator) and self._key == other._key)

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[Hashable, ...]:
        """What it is, with the very bits of its identity: -0.0 leaves both zeros alone, 0.0 does not."""
        flags = (self.integral, self.modular, self.commutative)
        return (self.function, exact(self.identity), self.name, *flags)

    def identity_of(self, dtype: np.dtype[Any], *, shown: bool = False) -> Any:
        """Return the identity as a NumPy scalar; `shown`: the one that a result begins with, where two are equal.

        Raises
        ------
        TypeError
            The operator has none for this dtype.
        """
        value = self.identity(dtype) if callable(self.identity) else self.identity
        struct = struct_of(dtype)
        if struct is not None:
            try:
                found = struct.to_library(struct.value(value))
                return dtype.type(0) if shown and struct.tag and found == 0 else found
            except (OverflowError, ValueError, TypeError) as error:
                raise TypeError(f"the identity of `{self.name}`: {error}") from error
        try:
            found = number_in(value, dtype)
        except (OverflowError, ValueError, TypeError) as error:
            raise TypeError(f"the identity of `{self.name}`, {value!r}, is no {dtype}") from error
        if found != value and value == value:
            raise TypeError(f"the identity of `{self.name}`, {value!r}, is no {dtype}")
        return dtype.type(0) if shown and found == 0 else found


PLAIN.add(Operator)


def number_in(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return a number as a NumPy scalar of a dtype: of bool or an integer type that very number, of a float type the nearest.

    Raises
    ------
    TypeError, ValueError, OverflowError
        It is no number, or none of the dtype.
    """
    if not isinstance(value, int):
        found = np.asarray(value)
        if found.ndim or found.dtype.kind not in "biufc":
            raise TypeError(f"{value!r} is no number")
        value = found.item()
    if dtype.kind in "biu":
        least, most = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        if not least <= value <= most or value != int(value):
            raise ValueError(f"{value!r} is no {dtype}")
    return dtype.type(value)


def _zero(dtype: np.dtype[Any]) -> Any:
    return (
        -0.0 if dtype.kind == "f" else complex(-0.0, -0.0) if dtype.kind == "c" else 0
    )  # 0.0 + -0.0 is 0.0: only -0.0 leaves both zeros alone


def _ones(dtype: np.dtype[Any]) -> Any:
    return -1 if dtype.kind == "i" else np.iinfo(dtype).max


def _largest(dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "c":
        return complex(np.inf, np.inf)
    return np.inf if dtype.kind == "f" else np.iinfo(dtype).max


def _smallest(dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "c":
        return complex(-np.inf, -np.inf)
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


add = Operator(functions.add, _zero, modular=True, commutative=True)
multiply = Operator(functions.multiply, 1, modular=True, commutative=True)
minimum = Operator(functions.minimum, _largest, commutative=True)
maximum = Operator(functions.maximum, _smallest, commutative=True)
bitwise_and = Operator(functions.bitwise_and, _ones, integral=True, modular=True, commutative=True)
bitwise_or = Operator(functions.bitwise_or, 0, integral=True, modular=True, commutative=True)
bitwise_xor = Operator(functions.bitwise_xor, 0, integral=True, modular=True, commutative=True)

BY_NAME: Mapping[str, Operator] = MappingProxyType(
    {o.name: o for o in (add, multiply, minimum, maximum, bitwise_and, bitwise_or, bitwise_xor)}
)


def operator_of(op: object, name: str = "op") -> Operator:
    """Return the operator that an argument names; `name` is the argument's, for errors.

    Raises
    ------
    ValueError
        A string that names none.
    TypeError
        A bare device function, which has no identity; or none of the two.
    """
    if isinstance(op, Operator):
        return op
    if isinstance(op, str):
        if op not in BY_NAME:
            raise ValueError(f"`{name}` must be one of {', '.join(BY_NAME)}, or a prism.lib.Operator; not {op!r}")
        return BY_NAME[op]
    if isinstance(op, Kernel):
        raise TypeError(
            f"`{name}`: `{op.__name__}` has no identity; pass prism.lib.Operator({op.__name__}, identity=...)"
        )
    raise TypeError(f"`{name}` must be an operator's name or a prism.lib.Operator, not {type(op).__qualname__}")


__all__ = [
    "BY_NAME", "Operator", "add", "bitwise_and", "bitwise_or", "bitwise_xor", "maximum", "minimum", "multiply", "number_in",
    "operator_of",
]  # fmt: skip
