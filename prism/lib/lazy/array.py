"""Lazy arrays: the class, what they are made of, and how they are put together."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from prism.host import memory
from prism.host.axes import c_strides
from prism.host.lazies import LazyArray
from prism.host.overlap import span
from prism.kernels.select.conditions import differs
from prism.lang.surface.views import At, Compute, Expression, Leaf, Number, Position
from prism.lang.types import SCALARS, Scalar
from prism.lang.types.structs import Struct, scalar_called
from prism.lib import operators
from prism.lib.lazy.expressions import COMPARES, apply_rule, make, renumber, rule_of
from prism.lib.lazy.types import WHOLE, common_type, dtype_of
from prism.runtime.arrays import BFLOAT16, ArrayInfo, describe, one_place

INT64, BOOL = SCALARS["int64"], SCALARS["bool"]
POSITION = Position()
_ALIGNED = 16  # bytes: what vectors of memory must begin at


_NUMBERS = (bool, int, float, np.generic)


class Lazy(LazyArray):
    """An array that is computed where it is read: see `prism.lib.lazy`.

    It has the `shape`, `dtype`, `ndim` and `size` of the array that `prism.lib.evaluate` makes of it. Arithmetic on it gives
    another lazy array, by NumPy's rules for dtypes.
    """

    __slots__ = ("dtype",)
    __array_ufunc__ = None  # NumPy leaves arithmetic to this class
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self, value: Expression, scalar: Scalar, shape: tuple[int, ...], leaves: tuple[ArrayInfo, ...] = (),
        numbers: tuple[int, ...] = (),
    ) -> None:  # fmt: skip
        super().__init__(value, scalar, shape, leaves, numbers)
        self.dtype = dtype_of(scalar)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a lazy array without axes")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<lazy array of {self.scalar}, shape {self.shape}>"

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("a lazy array holds no elements: make an array of it by prism.lib.evaluate")

    def __iter__(self) -> NoReturn:
        raise TypeError("a lazy array has no elements to go through: make an array of it by prism.lib.evaluate")

    def __bool__(self) -> NoReturn:
        raise TypeError("a lazy array is neither true nor false: use prism.lib.any or prism.lib.all")

    def __add__(self, other: Any) -> Any:
        return arithmetic("+", self, other)

    def __radd__(self, other: Any) -> Any:
        return arithmetic("+", other, self)

    def __sub__(self, other: Any) -> Any:
        return arithmetic("-", self, other)

    def __rsub__(self, other: Any) -> Any:
        return arithmetic("-", other, self)

    def __mul__(self, other: Any) -> Any:
        return arithmetic("*", self, other)

    def __rmul__(self, other: Any) -> Any:
        return arithmetic("*", other, self)

    def __truediv__(self, other: Any) -> Any:
        return arithmetic("/", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return arithmetic("/", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return arithmetic("//", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return arithmetic("//", other, self)

    def __mod__(self, other: Any) -> Any:
        return arithmetic("%", self, other)

    def __rmod__(self, other: Any) -> Any:
        return arithmetic("%", other, self)

    def __pow__(self, other: Any) -> Any:
        return arithmetic("**", self, other)

    def __rpow__(self, other: Any) -> Any:
        return arithmetic("**", other, self)

    def __and__(self, other: Any) -> Any:
        return arithmetic("&", self, other)

    def __rand__(self, other: Any) -> Any:
        return arithmetic("&", other, self)

    def __or__(self, other: Any) -> Any:
        return arithmetic("|", self, other)

    def __ror__(self, other: Any) -> Any:
        return arithmetic("|", other, self)

    def __xor__(self, other: Any) -> Any:
        return arithmetic("^", self, other)

    def __rxor__(self, other: Any) -> Any:
        return arithmetic("^", other, self)

    def __lt__(self, other: Any) -> Any:
        return arithmetic("<", self, other)

    def __le__(self, other: Any) -> Any:
        return arithmetic("<=", self, other)

    def __gt__(self, other: Any) -> Any:
        return arithmetic(">", self, other)

    def __ge__(self, other: Any) -> Any:
        return arithmetic(">=", self, other)

    def __eq__(self, other: Any) -> Any:
        return arithmetic("==", self, other)

    def __ne__(self, other: Any) -> Any:
        return arithmetic("!=", self, other)

    def __neg__(self) -> Any:
        found = compute("-", self.scalar, (self,))
        return Lazy(make(Compute, self.scalar, (found.value,)), self.scalar, self.shape, self.leaves, self.numbers)

    def __invert__(self) -> Any:
        if not (self.scalar.integral or self.scalar == BOOL):
            raise TypeError(f"~ is for integers and bools, and this lazy array is of {self.scalar}")
        ones = -1 if self.scalar.kind == "int" else int(2**self.scalar.bits - 1) if self.scalar.integral else True
        return arithmetic("^", self, of_number(ones, self.scalar))


# -- Making them ----------------------------------------------------------------------------------------------------------


def of(x: Any, name: str = "x") -> Lazy:
    """Return an array, or a number, as a lazy array.

    Raises:
        TypeError: it is neither, or of a dtype that kernels don't have.
    """
    if isinstance(x, Lazy):
        return x
    if isinstance(x, bool | int | float | np.generic):
        return of_number(x)
    info = describe(x, name)
    memory.require_known(info, name)
    scalar = scalar_of(info, name)
    size = info.dtype.itemsize
    if not info.natural or any(step % size for step in info.strides):
        info = describe(memory.copy(info))
    shape = tuple(map(int, info.shape))
    wide = info.pointer % _ALIGNED == 0
    if info.contiguous:
        return Lazy(make(Leaf, 0, wide), scalar, shape, (_with_dtype(info),))
    before, behind = span(info)
    steps = tuple(step // size for step in info.strides)
    lying = _lying(info, (before + behind) // size, before)
    base = Lazy(make(Leaf, 0, lying.pointer % _ALIGNED == 0), scalar, lying.shape, (lying,))
    return gather(base, shape, steps, before // size)


def _with_dtype(info: ArrayInfo) -> ArrayInfo:
    return replace(info, dtype=BFLOAT16) if info.scalar == "bfloat16" and info.dtype != BFLOAT16 else info


def _lying(info: ArrayInfo, count: int, before: int) -> ArrayInfo:
    """Return the memory of an array with gaps, from its lowest element to its highest, as one axis."""
    size = info.dtype.itemsize
    owner = info.owner
    if info.library == "numpy":
        lowest = owner[tuple(slice(None, None, -1) if step < 0 else slice(None) for step in info.strides)]
        owner = np.lib.stride_tricks.as_strided(lowest, (count,), (size,), writeable=False)
    return _with_dtype(
        replace(info, owner=owner, pointer=info.pointer - before, shape=(count,), strides=(size,), readonly=True)
    )


def gather(source: Lazy, shape: tuple[int, ...], steps: Sequence[int], begin: int = 0) -> Lazy:
    """Return a lazy array whose element (i, j, ...) is the source's element `begin + i * steps[0] + j * steps[1] + ...`."""
    axes: list[tuple[int, int]] = []  # extents and steps, of axes that can't be taken as one
    for extent, step in zip(shape, steps, strict=True):
        if extent == 1:
            continue
        if axes and axes[-1][1] == step * extent:
            axes[-1] = (axes[-1][0] * extent, step)
        else:
            axes.append((extent, step))
    numbers: list[int] = []

    def number(value: int) -> Expression:
        numbers.append(value)
        return make(Number, len(numbers) - 1, INT64)

    place: Expression = number(begin)
    inner = 1
    for k in reversed(range(len(axes))):
        extent, step = axes[k]
        index: Expression = POSITION if inner == 1 else make(Compute, "//", (POSITION, number(inner)))
        if k > 0:
            index = make(Compute, "%", (index, number(extent)))
        place = make(Compute, "+", (place, make(Compute, "*", (index, number(step)))))
        inner *= extent
    return at(source, Lazy(place, INT64, shape, (), tuple(map(bits_of, numbers))))


def at(source: Lazy, place: Lazy) -> Lazy:
    """Return a lazy array of the source's elements at the positions of another, of its shape."""
    (value, index), leaves, numbers = merge([source, place])
    return Lazy(make(At, value, index), source.scalar, place.shape, leaves, numbers)


def of_number(value: Any, scalar: Scalar | None = None, shape: tuple[int, ...] = ()) -> Lazy:
    """Return a number as a lazy array.

    Raises:
        TypeError: it is none that 8 bytes hold.
    """
    is_number = isinstance(value, _NUMBERS)
    if scalar is None and is_number:
        scalar = scalar_called(np.dtype(type(value)).name)
    if not is_number or scalar is None or isinstance(scalar, Struct) or scalar.stored:
        raise TypeError(f"{value!r} is no number of a lazy array: it takes integers, floats and bools")
    return Lazy(make(Number, 0, scalar), scalar, shape, (), (bits_as(value, scalar),))


def bits_as(value: Any, scalar: Scalar) -> int:
    """Return a number's 8 bytes, as one of a type.

    Raises:
        OverflowError: it is out of the range of an integer type.
    """
    given = int(value) if scalar.integral else bool(value) if scalar == BOOL else float(value)
    if scalar.integral and not _fits(given, scalar):
        raise OverflowError(f"{value!r} is out of the range of {scalar}")
    return bits_of(given)


def _fits(value: Any, scalar: Scalar) -> bool:
    low, high = (0, 2**scalar.bits) if scalar.kind == "uint" else (-(2 ** (scalar.bits - 1)), 2 ** (scalar.bits - 1))
    return bool(low <= value < high)


def bits_of(value: bool | int | float) -> int:
    """Return a number's 8 bytes: an integer's, or those of a float64."""
    if isinstance(value, float):
        return int.from_bytes(struct.pack("<d", value), "little")
    return int(value) % 2**64


def scalar_of(info: ArrayInfo, name: str = "x") -> Scalar:
    """Return the kernel's type of an array's elements.

    Raises:
        TypeError: there is none.
    """
    found = scalar_called(info.scalar)
    if found is None:
        raise TypeError(f"`{name}` has dtype {info.dtype}, which lazy arrays do not have")
    return found


def merge(parts: Sequence[Lazy]) -> tuple[list[Expression], tuple[ArrayInfo, ...], tuple[int, ...]]:
    """Return the values of several lazy arrays, on the leaves and numbers of all: memory that is the same is one leaf.

    Raises:
        TypeError: they are of several libraries; some are on the host and some on a GPU.
        ValueError: they are on two GPUs.
    """
    if len(parts) == 1:
        return [parts[0].value], parts[0].leaves, parts[0].numbers
    leaves: list[ArrayInfo] = []
    numbers: list[int] = []
    values: list[Expression] = []
    places: dict[Any, int] = {}
    for part in parts:
        where = []
        for leaf in part.leaves:
            key = (leaf.pointer, leaf.dtype, leaf.size, leaf.device)
            if key not in places:
                places[key] = len(leaves)
                leaves.append(leaf)
            where.append(places[key])
        values.append(renumber(part.value, tuple(where), len(numbers)))
        numbers += part.numbers
    one_place({f"array {k + 1} of the lazy array": leaf for k, leaf in enumerate(leaves)})
    for leaf in leaves[1:]:
        if leaf.library != leaves[0].library:
            raise TypeError(f"a lazy array is of arrays of one library, not of {leaves[0].library} and {leaf.library}")
    return values, tuple(leaves), tuple(numbers)


def broadcast_all(parts: Iterable[Any], names: Sequence[str] = ()) -> list[Lazy]:
    """Return arrays and numbers as lazy arrays of one shape, by NumPy's rules.

    Raises:
        TypeError: one of them is neither.
        ValueError: they have no shape in common.
    """
    found = [of(part, names[k] if k < len(names) else "x") for k, part in enumerate(parts)]
    shape = found[0].shape
    if any(one.shape != shape for one in found):
        try:
            shape = np.broadcast_shapes(*(one.shape for one in found))
        except ValueError:
            shapes = " and ".join(str(one.shape) for one in found)
            raise ValueError(f"arrays of shapes {shapes} do not broadcast to one shape") from None
    return [broadcast(one, shape) for one in found]


def broadcast(x: Lazy, shape: tuple[int, ...]) -> Lazy:
    """Return a lazy array repeated to a shape."""
    if x.shape == shape:
        return x
    if not x.shape and isinstance(x.value, Number):
        return Lazy(x.value, x.scalar, shape, (), x.numbers)
    steps = [0 if extent == 1 else step for extent, step in zip(x.shape, c_strides(x.shape), strict=True)]
    return gather(x, shape, [0] * (len(shape) - len(x.shape)) + steps)


def compute(what: object, scalar: Scalar, parts: Sequence[Lazy]) -> Lazy:
    """Return `what` of lazy arrays of one shape, of a type."""
    values, leaves, numbers = merge(parts)
    return Lazy(make(Compute, what, tuple(values)), scalar, parts[0].shape, leaves, numbers)


def convert(x: Lazy, scalar: Scalar) -> Lazy:
    """Return a lazy array in another type, as C converts; to complex numbers too.

    Raises:
        TypeError: to or from a struct, or from a complex number to a real one.
    """
    if x.scalar == scalar:
        return x
    if isinstance(scalar, Struct) and scalar.tag:
        if not isinstance(x.scalar, Struct):
            part = scalar.fields[0][1]
            return compute(scalar, scalar, [convert(x, part), broadcast(of_number(0.0, part), x.shape)])
        if x.scalar.tag:
            return between[0](x, scalar)
    if isinstance(scalar, Struct) or isinstance(x.scalar, Struct):
        raise TypeError(f"a lazy array of {x.scalar} is not converted to {scalar}")
    return Lazy(make(Compute, scalar, (x.value,)), scalar, x.shape, x.leaves, x.numbers)


# -- Arithmetic -----------------------------------------------------------------------------------------------------------

wholes: list[Callable[[str, Lazy, Lazy, Any], Lazy]] = []
"""What makes quotients, remainders and powers: `functions`, which apply device functions."""
between: list[Callable[[Lazy, Struct], Lazy]] = []
"""What makes complex numbers of others, as `wholes`."""


def arithmetic(op: str, one: Any, other: Any) -> Any:
    """Return `one op other`, at least one of which is a lazy array, by NumPy's rules for dtypes.

    Raises:
        TypeError: the operator is not for these dtypes.
        ValueError: they have no shape in common.
    """
    quick = _arithmetic_at_once(op, one, other)
    if quick is not None:
        return quick
    if any(not isinstance(x, Lazy | bool | int | float | np.generic) and not hasattr(x, "dtype") for x in (one, other)):
        return NotImplemented
    number = next(
        (x for x in (one, other) if isinstance(x, bool | int | float) and not isinstance(x, np.generic)), None
    )
    first, second = (x if x is number else of(x) for x in (one, other))
    kinds: list[Any] = [x.scalar if isinstance(x, Lazy) else type(x) for x in (first, second)]
    scalar = common_type(op, *kinds)
    if isinstance(scalar, Struct):  # the language has no operators on them, and the library has some
        parts = broadcast_all(
            [convert(x, scalar) if isinstance(x, Lazy) else _complex(x, scalar) for x in (first, second)]
        )
        if op in ("==", "!="):
            found = compute(differs, BOOL, parts)
            return found if op == "!=" else ~found
        return compute((operators.add if op == "+" else operators.multiply).function, scalar, parts)
    (left, right) = broadcast_all([of_number(x, scalar) if x is number else x for x in (first, second)])
    if op in WHOLE:
        return wholes[0](op, convert(left, scalar), convert(right, scalar), second if second is number else None)
    if scalar == BOOL:
        op = {"+": "|", "*": "&"}.get(op, op)
    found = compute(op, BOOL if op in COMPARES else scalar, (convert(left, scalar), convert(right, scalar)))
    if op in COMPARES:
        return found
    return Lazy(make(Compute, scalar, (found.value,)), scalar, found.shape, found.leaves, found.numbers)


def _arithmetic_at_once(op: str, one: Any, other: Any) -> Lazy | None:
    """Return what `arithmetic` does of two of one type and shape, or of one and a Python number; None of others.

    Expressions are found by what they are of: one that is written in a loop is built each time, and quickly.
    """
    lazies = isinstance(one, Lazy), isinstance(other, Lazy)
    if all(lazies):
        if one.shape != other.shape or one.scalar != other.scalar:
            return None
        rule, joined = rule_of(op, one.scalar, one.scalar), _join(one, other)
        if rule is None or joined is None:
            return None
        value, leaves = joined
        return Lazy(apply_rule(rule, one.value, value), rule[2], one.shape, leaves, one.numbers + other.numbers)
    known, number = (one, other) if lazies[0] else (other, one)
    if type(number) not in (bool, int, float):
        return None
    order = (known.scalar, type(number)) if lazies[0] else (type(number), known.scalar)
    rule = rule_of(op, *order)
    if rule is None:
        return None
    sign = make(Number, len(known.numbers), rule[1])
    pair = (known.value, sign) if lazies[0] else (sign, known.value)
    numbers = (*known.numbers, bits_as(number, rule[1]))
    return Lazy(apply_rule(rule, *pair), rule[2], known.shape, known.leaves, numbers)


def _join(one: Lazy, other: Lazy) -> tuple[Expression, tuple[ArrayInfo, ...]] | None:
    """Return the value of another lazy array on the leaves and numbers of both, as `merge`; None where they lie apart."""
    leaves, where = list(one.leaves), []
    for leaf in other.leaves:
        key = (leaf.pointer, leaf.dtype, leaf.size, leaf.device)
        number = next((k for k, x in enumerate(leaves) if (x.pointer, x.dtype, x.size, x.device) == key), len(leaves))
        if number == len(leaves):
            leaves.append(leaf)
            if (leaf.library, leaf.kind, leaf.device) != (leaves[0].library, leaves[0].kind, leaves[0].device):
                return None
        where.append(number)
    return renumber(other.value, tuple(where), len(one.numbers)), tuple(leaves)


def _complex(value: Any, scalar: Struct) -> Lazy:
    """Return a real number as a complex one."""
    (_, part), _ = scalar.fields
    return compute(scalar, scalar, [of_number(float(value), part), of_number(0.0, part)])
