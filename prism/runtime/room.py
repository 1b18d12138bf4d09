"""The shared memory of a launch, where a kernel has objects whose length the launch says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from prism.lang.facts.launch_tests import Undefined
from prism.lang.facts.rooms import lay_out_sized
from prism.runtime.entry import Entry
from prism.runtime.errors import LaunchError

MOST_HELD = 1024
"""Launches whose room is known, by their numbers."""


class Room:
    """How many bytes of shared memory a block of a launch has, of at most `limit`; `where`: who has so many. Safe among threads.

    `positions`: of the arguments that lengths are made of.
    """

    __slots__ = ("_entry", "_held", "_where", "limit", "positions")

    def __init__(self, entry: Entry, limit: int, where: str) -> None:
        self._entry, self.limit, self._where = entry, limit, where
        self.positions = sorted({n for one in entry.sized for n in one.arguments()})
        self._held: dict[tuple[Any, ...], int] = {}

    def bytes(self, blocks: int, threads: int, values: Sequence[Any]) -> int:
        """Return the bytes of a launch, whose arguments are of their parameters' kinds.

        Raises:
            LaunchError: a length has no value or is negative, or a block cannot have so much.
        """
        key = (blocks, threads, *(values[n] for n in self.positions))
        found = self._held.get(key)
        if found is None:
            found = self._find(blocks, threads, values)
            if len(self._held) < MOST_HELD:
                self._held[key] = found
        return found

    def _find(self, blocks: int, threads: int, values: Sequence[Any]) -> int:
        entry = self._entry
        try:
            places, end = lay_out_sized(entry.shared_bytes, entry.sized, (int(blocks), int(threads), values))
        except Undefined as error:
            raise LaunchError(f"`{entry.title}` cannot be launched so: {error}{self._facts(values)}") from None
        if end > self.limit:
            sizes = zip(entry.sized, places, strict=True)
            each = ", ".join(f"`{one.name}` {length * one.bytes} bytes" for one, (_, length) in sizes)
            raise LaunchError(
                f"`{entry.title}` needs {end} bytes of shared memory a block, and {self._where} {self.limit}: "
                f"{each}{self._facts(values)}"
            )
        return end

    def _facts(self, values: Sequence[Any]) -> str:
        told = ", ".join(f"{self._entry.parameters[n].name} = {values[n]}" for n in self.positions)
        return f", with {told}" if told else ""
