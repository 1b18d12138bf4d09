"""What is found out once: about an object, and kept with it. It goes when the object does, and no lock is held meanwhile.

`functools.cached_property` holds a lock of its class while it computes, before Python 3.12: a child that is forked
meanwhile waits for it for ever. `functools.cache` keeps what it was asked for as long as the process lasts.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, overload

T = TypeVar("T")
P = ParamSpec("P")


class lazy_property(Generic[T]):
    """A property that is computed when it is first asked for. Two threads may both compute it; all see one of the two."""

    def __init__(self, find: Callable[[Any], T]) -> None:
        self.find, self.__doc__ = find, find.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> lazy_property[T]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> lazy_property[T] | T:
        if instance is None:
            return self
        found: T = instance.__dict__.setdefault(self.name, self.find(instance))
        return found


class Noted(Protocol):
    """A checked function, or a program."""

    @property
    def notes(self) -> dict[Any, Any]:
        """What was found out about it, by what was asked."""


N = TypeVar("N", bound=Noted)


def memoize(find: Callable[Concatenate[N, P], T]) -> Callable[Concatenate[N, P], T]:
    """Keep what is found out about a function or a program with it, by what else is asked."""

    @functools.wraps(find)
    def asked(function: N, /, *args: P.args, **kwargs: P.kwargs) -> T:
        key = (find, args)
        assert not kwargs
        if key not in function.notes:
            function.notes[key] = find(function, *args, **kwargs)
        found: T = function.notes[key]
        return found

    return asked
