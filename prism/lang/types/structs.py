"""Structs: records of scalars, declared as a Python class; and the complex numbers, which are two.

A struct is a scalar type whose kind is `struct`: it stands wherever an element, a template's dtype or a value does, and has no
operators. It lies in memory as NumPy's aligned structured dtype does. Two structs of the same fields are the same type.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import re
import sys
from typing import Any
from urllib.parse import quote, unquote

import numpy as np

from prism.lang.keep.bases import value
from prism.lang.types import SCALARS, Scalar
from prism.lang.types.shorts import short_bits

_KEY = re.compile(r"struct\{([^{}]*)\}")


@value
class Struct(Scalar):
    """A record of scalars. `fields` are their names and types, in memory's order; `align` is in bytes.

    `tag` tells the complex numbers from structs of the same fields. A struct of 1, 2, 4, 8 or 16 bytes is aligned to its size,
    so that it is moved as one word.
    """

    fields: tuple[tuple[str, Scalar], ...] = ()
    align: int = 1
    tag: str = ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Struct) and (self.fields, self.tag) == (other.fields, other.tag)

    def __hash__(self) -> int:
        return hash((self.fields, self.tag))

    def __repr__(self) -> str:
        return self.key

    @property
    def key(self) -> str:
        """What it is called where only text is: `complex64`, `struct{a:int32,b:float32}`; other characters as in `%20`."""
        return self.tag or "struct{" + ",".join(f"{_escape(name)}:{scalar.name}" for name, scalar in self.fields) + "}"

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's dtype of an array of it."""
        return np.dtype(self.tag or self.numpy)

    @property
    def names(self) -> tuple[str, ...]:
        """The fields' names."""
        return tuple(name for name, _ in self.fields)

    def index(self, name: str) -> int | None:
        """Return the place of a field among the others."""
        return self.names.index(name) if name in self.names else None

    def __call__(self, *values: Any, **named: Any) -> Any:
        """Return a value of it on the host, as NumPy has it: of its fields, or all zero; a complex one of a number too.

        Raises:
            TypeError: a field has no value, or two; or there is no such field.
        """
        if not values and not named:
            return np.zeros((), self.numpy)[()]
        if self.tag and len(values) == 1 and not named:
            return self.value(values[0])
        left = self.names[len(values) :]
        if len(values) > len(self.fields) or set(named) != set(left):
            raise TypeError(f"`{self}` takes {', '.join(self.names)}")
        return self.value((*values, *(named[name] for name in left)))

    def value(self, given: Any) -> Any:
        """Return a value on the host: from a NumPy record, a tuple of the fields' values, or a complex number.

        Raises:
            TypeError: it is none, or has another number of fields.
        """
        if isinstance(given, np.ndarray | np.void) and given.dtype == self.numpy and given.ndim == 0:
            kept = np.zeros((), self.numpy)  # so that padding is 0
            kept[()] = given
            kept.flags.writeable = False
            return kept[()]
        if self.tag and isinstance(given, complex | float | int | np.number):
            number = complex(given)
            given = (number.real, number.imag)
        if not isinstance(given, tuple) or len(given) != len(self.fields):
            raise TypeError(f"{given!r} is no `{self}`: it has the fields {', '.join(self.names)}")
        bits = tuple(
            short_bits(float(x), scalar) if scalar.coded else x
            for x, (_, scalar) in zip(given, self.fields, strict=True)
        )
        found = np.zeros((), self.numpy)
        found[()] = bits
        found.flags.writeable = False  # so that it can be a key
        return found[()]

    def to_library(self, value: Any) -> Any:
        """Return a record as the array's library has it: a complex number for a complex type."""
        return np.asarray(value, self.numpy).view(self.dtype)[()] if self.tag else value


def alignment_of(element: Any) -> int:
    """Return what an element of memory is aligned to, in bytes."""
    align: int = element.align if isinstance(element, Struct) else element.bytes
    return align


def _title(name: str, scalar: Scalar) -> str | None:
    """Return the title of a field in NumPy's dtype, where NumPy hasn't its type and takes it for an integer: the title tells."""
    return f"{scalar.name} {name}" if scalar.coded else None


def make(name: str, fields: tuple[tuple[str, Scalar], ...], tag: str = "") -> Struct:
    """Return the struct of these fields."""
    kinds = [np.dtype(scalar.numpy) for _, scalar in fields]
    layout: Any = {"names": [field for field, _ in fields], "formats": kinds}
    titles = [_title(field, scalar) for field, scalar in fields]
    if any(titles):
        layout["titles"] = titles
    numpy: np.dtype[Any] = np.dtype(layout, align=True)
    size = numpy.itemsize
    align = size if size in (1, 2, 4, 8, 16) else numpy.alignment
    text = ",".join(f"{_escape(field)}:{scalar.name}" for field, scalar in fields) + tag
    cuda = f"px_struct_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    return Struct(name, "struct", 8 * size, cuda, numpy, fields, align, tag)


def tuple_of(elements: tuple[Scalar, ...]) -> Struct:
    """Return the type of several values that a function returns: a struct of the fields `item0`, `item1` and so on."""
    return make(f"({', '.join(map(str, elements))})", tuple((f"item{k}", each) for k, each in enumerate(elements)))


def _escape(name: str) -> str:
    """Return a field's name in ASCII letters, digits and `_.-~%`: it can neither end a field in a key nor begin another."""
    return quote(name, safe="", errors="surrogatepass")


def struct(cls: type) -> Any:
    """Declare a struct: a class whose annotations are scalars of Prism; `int` is int32 and `float` float32, as in a kernel.

        @struct
        class Affine:
            scale: float32
            shift: float32

    In a kernel `Affine(a, b)` makes a value, by position or by name, `Affine()` one of zeros, and `v.scale` is a field. On the
    host `Affine(1, 0)` is a NumPy record, and `numpy.zeros(n, Affine)` an array. It may be a dataclass as well.

    Raises
    ------
    TypeError
        It has no fields, bases, or a default; a field is no scalar, or its name begins with `__`.
    """
    if not isinstance(cls, type):
        raise TypeError(f"@struct marks a class whose fields are scalars, not {cls!r}")
    around = sys._getframe(1)
    written = cls.__dict__.get("__annotations__", {})
    found = inspect.get_annotations(cls, eval_str=True, locals={**around.f_locals}, globals=around.f_globals)
    if not written:
        raise TypeError(f"the struct `{cls.__name__}` has no fields")
    if cls.__bases__ != (object,):
        raise TypeError(f"the struct `{cls.__name__}` has a base class: a struct is its own fields alone")
    found = {name: _PYTHON.get(type_, type_) for name, type_ in found.items()}
    for name, type_ in found.items():
        _check_field(cls, name, type_)
    return make(cls.__name__, tuple(found.items()))


_PYTHON: dict[object, Scalar] = {int: SCALARS["int32"], float: SCALARS["float32"], bool: SCALARS["bool"]}
"""What Python's types mean in a kernel, and so in a struct."""


def _check_field(cls: type, name: str, type_: object) -> None:
    where = f"`{name}` of the struct `{cls.__name__}`"
    if not isinstance(type_, Scalar) or isinstance(type_, Struct):
        raise TypeError(f"{where} must be a scalar of Prism, as float32, not {type_!r}")
    if name in cls.__dict__:
        raise TypeError(f"{where} has a default: every value of a struct is given all its fields")
    if name.startswith("__"):
        raise TypeError(f"{where}: Python has its own use for names that begin with `__`")


COMPLEX64 = make("complex64", (("real", SCALARS["float32"]), ("imag", SCALARS["float32"])), "complex64")
COMPLEX128 = make("complex128", (("real", SCALARS["float64"]), ("imag", SCALARS["float64"])), "complex128")
_CODED = tuple(scalar for scalar in SCALARS.values() if scalar.coded)
_COMPLEX = {"complex64": COMPLEX64, "complex128": COMPLEX128}


@functools.lru_cache(maxsize=1024)
def scalar_called(name: str) -> Scalar | None:
    """Return the scalar of a name: `float32`, `complex64`, or a struct's `key`; None where it is none."""
    if name in SCALARS or name in _COMPLEX:
        return SCALARS.get(name) or _COMPLEX[name]
    written = _KEY.fullmatch(name)
    if written is None:
        return None
    fields = [tuple(text.split(":")) for text in written[1].split(",")]
    if any(len(field) != 2 or field[1] not in SCALARS for field in fields):
        return None
    return make("struct", tuple((unquote(field[0], errors="surrogatepass"), SCALARS[field[1]]) for field in fields))


@functools.lru_cache(maxsize=1024)
def struct_of(dtype: np.dtype[Any]) -> Struct | None:
    """Return the struct that an array's dtype is; None where it is none: nested, in another byte order, or packed unaligned."""
    if dtype.name in _COMPLEX:
        return _COMPLEX[dtype.name] if dtype.isnative else None
    if not dtype.names or dtype.fields is None:
        return None
    found: list[tuple[str, Scalar]] = []
    for name in dtype.names:
        kind, _, *titles = dtype.fields[name]
        scalar = next((each for each in _CODED if titles == [_title(name, each)]), SCALARS.get(kind.name))
        if scalar is None:
            return None
        found.append((name, scalar))
    struct = make("struct", tuple(found))
    return struct if struct.numpy == dtype else None


@functools.lru_cache(maxsize=1024)
def dtype_called(name: str) -> np.dtype[Any]:
    """Return NumPy's dtype of a scalar of that name, as its arrays have it; that of bfloat16's bits.

    Raises:
        TypeError: there is no such scalar.
    """
    scalar = scalar_called(name)
    if scalar is None:
        return np.dtype(name)
    return scalar.dtype if isinstance(scalar, Struct) else np.dtype(scalar.numpy)
