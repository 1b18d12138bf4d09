"""What a lazy array is made of: an expression of memory, numbers and an element's position, which is computed where it is read.

    value = Leaf(number)              memory of the launch, at the position
          | Number(number, scalar)    a number of the launch
          | Position(shift)           the position itself, int64
          | Compute(what, parts)      a device function, intrinsic or type of the parts, or an operator by its spelling
          | At(source, place)         `source` at the position that `place` gives

It says how, and never of what: the same lazy of other arrays and numbers is the same value, and the same program.
"""

from __future__ import annotations

from typing import TypeAlias

from prism.lang.keep.bases import Value
from prism.lang.types import Scalar


class NotReadable(Exception):
    """A kernel does with a parameter that is a view what only memory can do; the text says what."""


class Leaf(Value):
    """Memory, by its number; `wide`: it begins at a multiple of 16 bytes, so that vectors of it may be loaded."""

    number: int
    wide: bool


class Number(Value):
    """A number, by its number among the launch's. It is passed as 8 bytes: an integer's, or those of a float64."""

    number: int
    scalar: Scalar


class Position(Value):
    """Where the element is, or so many elements behind that."""

    shift: int = 0


class Compute(Value):
    """`what(parts)`: a function or a type; of text, an operator between them, as `+`, `-` of one, or `if`."""

    what: object
    parts: tuple[Expression, ...]


class At(Value):
    """An element of another place."""

    source: Expression
    place: Expression


Expression: TypeAlias = Leaf | Number | Position | Compute | At


class View(Value):
    """What stands for the elements of a parameter `ptr(const(T))`: of type `scalar`, of so many numbers and such memory."""

    value: Expression
    scalar: Scalar
    leaves: tuple[Scalar, ...]
    numbers: int


def direct_leaves(value: Expression) -> tuple[Leaf, ...]:
    """Return the memory that is read at the position itself."""
    match value:
        case Leaf():
            return (value,)
        case Compute(parts=parts):
            return tuple(dict.fromkeys(leaf for part in parts for leaf in direct_leaves(part)))
        case At(place=place):
            return direct_leaves(place)
        case _:
            return ()


def near_leaves(value: Expression) -> tuple[tuple[At, Leaf, int], ...]:
    """Return the reads of memory that are a fixed number of elements from the position, of which memory, and how many."""
    match value:
        case At(source=Leaf() as leaf, place=Position(shift=shift)):
            return ((value, leaf, shift),)
        case Compute(parts=parts):
            return tuple(dict.fromkeys(near for part in parts for near in near_leaves(part)))
        case _:
            return ()
