"""Shared objects whose length a launch says, as a text that needs no source: how long each is, and where it lies then.

They stand behind all other shared memory of their kernel, one after the other, for as long as it runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from prism.lang.facts.launch_tests import Code, Launch, Undefined, arguments_of, compile_test, lists, tuples
from prism.lang.keep.bases import Value

APART = 16
"""Each begins at a multiple of so many bytes, as all shared objects do."""


class Sized(Value):
    """One object: its name, the bytes of an element, and the code of its length."""

    name: str
    bytes: int
    code: Code

    def __post_init__(self) -> None:
        compile_test(self.code)

    def to_json(self) -> list[Any]:
        """Return what `json.dumps` takes."""
        return [self.name, self.bytes, lists(self.code)]

    @classmethod
    def from_json(cls, found: Any) -> Sized:
        """Return what `to_json` wrote.

        Raises:
            ValueError, TypeError: it is nothing of the kind.
        """
        name, size, code = found
        if type(name) is not str or type(size) is not int:
            raise TypeError(f"expected a text and a number, found {name!r} and {size!r}")
        return cls(name, size, tuples(code))

    def __str__(self) -> str:
        return f"{self.name}, {self.bytes} byte{'s' if self.bytes > 1 else ''} an element"

    def arguments(self) -> tuple[int, ...]:
        """Return the positions of the arguments that the length is made of, in order."""
        return arguments_of(self.code)


def lay_out_sized(first: int, objects: Sequence[Sized], launch: Launch) -> tuple[list[tuple[int, int]], int]:
    """Return where each object begins and how many elements it has, and the bytes of shared memory in all.

    Raises:
        Undefined: a length has no value, or is negative.
    """
    found, end = [], first
    for one in objects:
        length = compile_test(one.code)(launch)
        if length < 0:
            raise Undefined(f"`{one.name}` would have {length} elements")
        end = -(-end // APART) * APART
        found.append((end, length))
        end += length * one.bytes
    return found, end
