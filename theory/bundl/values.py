"""What a running program is made of: values, memories, threads, states. All immutable, all usable as keys.

eta, sigma and Sigma are `Memory`s. A key that is a string is a name and holds `Bound(pi, v)`; a key `(place, i)` is cell i
of an array and holds a bare value; a key `("@", psi)` is the phase that a thread recorded when it last arrived at psi.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from prism.lang.types.perspective import Perspective
from theory.bundl.perspectives import Unit
from theory.bundl.syntax import Base, Function, Kind, Stmt

Place = tuple[str, int, Unit | None]  # an array's name, how deep in calls it was allocated, and by whom


class Array(NamedTuple):
    """A descriptor <l, n>: its element i is cell `base + step*i` of `place`, for 0 <= i < length.

    `view`: a partition said where its elements are, so some may be outside of what was allocated.
    """

    place: Place
    base: int
    step: int
    length: int
    element: Base
    kind: Kind
    view: bool = False


class InFlight(NamedTuple):
    """What the name of an array in flight is bound to: the name of the array itself, and the phi that owns it."""

    phi: str
    source: str


class Closure(NamedTuple):
    function: Function


Value = bool | int | float | Array | InFlight | Closure


class Bound(NamedTuple):
    """`x |->^at value`."""

    at: Perspective
    value: Value


Key = Any  # str | tuple[Place, int] | tuple[str, str] | ...: a union would cost more to check than it tells


class Memory(dict[Key, Any]):
    """A map that is never changed in place; its hash is kept up to date entry by entry."""

    __slots__ = ("code",)
    code: int

    @staticmethod
    def empty() -> Memory:
        return EMPTY

    def put(self, key: Key, value: Any) -> Memory:
        """Return this with `key |-> value`."""
        code = self.code
        if key in self:
            code ^= _code(key, self[key])
        made = Memory(self)
        made[key] = value
        made.code = code ^ _code(key, value)
        return made

    def put_all(self, entries: dict[Key, Any]) -> Memory:
        """Return this with all of `entries`."""
        made = Memory(self)
        code = self.code
        for key, value in entries.items():
            if key in made:
                code ^= _code(key, made[key])
            made[key] = value
            code ^= _code(key, value)
        made.code = code
        return made

    def drop(self, *keys: Key) -> Memory:
        """Return this without `keys`."""
        made = Memory(self)
        code = self.code
        for key in keys:
            if key in made:
                code ^= _code(key, made.pop(key))
        made.code = code
        return made

    def names(self) -> dict[Key, Any]:
        """Return the names, without the cells."""
        return {key: value for key, value in self.items() if type(key) is str}

    def __hash__(self) -> int:  # type: ignore[override]
        return self.code

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Memory) and self.code == other.code and dict.__eq__(self, other)


def _code(key: Key, value: Any) -> int:
    """Hash one entry; a perspective adds little and costs much, so it is left out."""
    return hash((key, value.value if type(value) is Bound else value))


EMPTY = Memory()
EMPTY.code = 0


class Thread:
    """One thread: what it still has to do, its eta, the shared bytes it holds, and its callers' names."""

    __slots__ = ("_hash", "body", "eta", "frames", "used")

    def __init__(self, body: Stmt, eta: Memory, used: int = 0, frames: tuple[Memory, ...] = ()) -> None:
        self.body, self.eta, self.used, self.frames = body, eta, used, frames
        self._hash = hash((body, eta.code, used, len(frames)))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, Thread)
            and self._hash == other._hash
            and self.used == other.used
            and self.body == other.body
            and self.eta == other.eta
            and self.frames == other.frames
        )


class State:
    """A state of the machine: the threads (L and P), S, Sigma, Psi and Phi."""

    __slots__ = ("_hash", "deferred", "shared", "sync", "threads", "world")

    def __init__(
        self, threads: tuple[Thread, ...], shared: tuple[Memory, ...], world: Memory, sync: Memory, deferred: Memory
    ) -> None:
        self.threads, self.shared, self.world, self.sync, self.deferred = threads, shared, world, sync, deferred
        self._hash = hash((threads, shared, world.code, sync.code, deferred.code))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, State)
            and self._hash == other._hash
            and self.threads == other.threads
            and self.shared == other.shared
            and self.world == other.world
            and self.sync == other.sync
            and self.deferred == other.deferred
        )
