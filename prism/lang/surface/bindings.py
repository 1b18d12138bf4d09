"""What the free names of functions stood for when a program was made of them, and whether they still do.

A program is made anew where a name stands for something else: a kernel sees what its names stand for at the call.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from operator import is_
from types import CellType, FunctionType, ModuleType
from typing import Any

_EMPTY = object()
_active = threading.local()
_Listed = tuple[Callable[[str, Any], Any], tuple[str, ...], tuple[Any, ...], tuple[Any, ...]]


class Bindings:
    """Free names of functions, by where they are looked up, each with what it stood for."""

    def __init__(self) -> None:
        self._globals: dict[int, tuple[Mapping[str, Any], dict[str, Any]]] = {}
        self._modules: dict[tuple[int, str], tuple[ModuleType | type, str, Any]] = {}
        self._cells: dict[int, tuple[CellType, Any]] = {}
        self._listed: tuple[_Listed, ...] | None = None

    def note(self, python: FunctionType, name: str) -> None:
        """Keep what a free name of a function stands for; of no name, too: it may come to stand for something."""
        free = python.__code__.co_freevars
        if name in free and python.__closure__ is not None:
            cell = python.__closure__[free.index(name)]
            self._cells.setdefault(id(cell), (cell, _contents(cell)))
            return
        namespace = python.__globals__
        known = self._globals.setdefault(id(namespace), (namespace, {}))[1]
        known.setdefault(name, namespace.get(name, _EMPTY))

    def note_attribute(self, module: ModuleType | type, name: str) -> None:
        """Keep what a name of a module, or of a class, stands for."""
        self._modules.setdefault((id(module), name), (module, name, getattr(module, name, _EMPTY)))

    def hold(self) -> bool:
        """Whether all names stand for the very same objects."""
        if self._listed is None:
            self._listed = tuple(
                (d.get, tuple(known), (_EMPTY,) * len(known), tuple(known.values()))
                for d, known in self._globals.values()
            )
        for get, names, none, values in self._listed:
            if not all(map(is_, map(get, names, none), values)):
                return False
        for cell, value in self._cells.values():
            if _contents(cell) is not value:
                return False
        for module, name, value in self._modules.values():  # noqa: SIM110 - a launch takes this way
            if getattr(module, name, _EMPTY) is not value:
                return False
        return True


def _contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return _EMPTY


@contextmanager
def record_lookups() -> Iterator[Bindings]:
    """Give what collects the names that this thread looks up inside."""
    before, found = getattr(_active, "bindings", None), Bindings()
    _active.bindings = found
    try:
        yield found
    finally:
        _active.bindings = before


def note(python: FunctionType, name: str) -> None:
    """Say that a free name of a function is looked up."""
    found = getattr(_active, "bindings", None)
    if found is not None:
        found.note(python, name)


def note_attribute(module: object, name: str) -> None:
    """Say that a name of a module or a class is looked up; of anything else, which a kernel takes as it is, nothing is kept."""
    found = getattr(_active, "bindings", None)
    if found is not None and isinstance(module, ModuleType | type):
        found.note_attribute(module, name)
