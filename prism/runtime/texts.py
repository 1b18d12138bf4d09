"""What functions and views are, as texts that are the same in every process: keys of what the user's cache keeps.

    text_of(value)    a number, type, intrinsic, function, kernel, view, or a tree's node; None where nothing says it wholly

A function of the package is its name, since a key has the digest of the package's sources beside it. A function of a user's is
its tree, with what each free name stands for: numbers by type and bits, functions in the same way. What can't be told so, as a
module of the user's, has no text: then nothing is kept, and all is made again.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from prism import lang
from prism.lang import surface
from prism.lang.diagnostics import CompileError, Span
from prism.lang.intrinsics.declaration import Intrinsic
from prism.lang.keep.bases import Plain
from prism.lang.keep.keys import exact
from prism.lang.keep.records import is_record_class, items_of
from prism.lang.parse import parse
from prism.lang.parse import syntax as s
from prism.lang.parse.syntax import locals_of
from prism.lang.parse.views import Viewed, Written
from prism.lang.surface import Kernel
from prism.lang.types import Scalar
from prism.lang.types.structs import Struct

_PACKAGE = ("prism.kernels.", "prism.lang", "prism.lib.block", "prism.lib.grid", "prism.lib.thread", "prism.lib.warp")
"""Where functions are told by their names: what `sources_digest` reads."""
_NOTHING = object()


class _Untold(Exception):
    """Something has no text."""


def text_of(value: Any) -> str | None:
    """Return the text of a value, or None where there is none. Nothing is checked."""
    try:
        return _Teller().tell(value)
    except (_Untold, CompileError, RecursionError):  # what is wrong is reported where it is checked
        return None


class _Teller:
    """Tells values; `open`: the functions that are being told."""

    def __init__(self) -> None:
        self.open: list[Any] = []

    def tell(self, value: Any) -> str:
        """Return a value's text."""
        match value:
            case float() | complex() | np.generic():
                return f"{type(value).__name__} {exact(value)!r}"
            case None | bool() | int() | str() | bytes():
                return f"{type(value).__name__} {value!r}"
            case tuple() | list():
                return f"{type(value).__name__}({', '.join(map(self.tell, value))})"
            case frozenset():
                return f"frozenset({', '.join(sorted(map(self.tell, value)))})"
            case dict():
                return self.tell([(name, value[name]) for name in sorted(value)])
            case _:
                return self.thing(value)

    def thing(self, value: Any) -> str:
        """Return the text of what is no number, and is not put together of others in Python's ways."""
        match value:
            case Struct():
                return f"struct {value.key}"
            case Scalar() | Intrinsic():
                return f"{type(value).__name__} {value.name}"
            case Span():
                return "span"
            case Kernel():
                return self.kernel(value)
            case Plain():
                return self.node(value)
            case ModuleType() if value.__name__ == "prism.lang":
                return "module prism.lang"
            case _ if is_record_class(type(value)):
                kind = type(value)
                return f"record {kind.__module__}:{kind.__qualname__} {self.tell(items_of(value))}"
            case _:
                return self.name_of(value)

    def name_of(self, value: Any) -> str:
        """Return the text of what is a name of the language's, or of Python's own."""
        name, module = getattr(value, "__qualname__", ""), getattr(value, "__module__", "")
        if module == "builtins" and getattr(builtins, name, _NOTHING) is value:
            return f"builtin {name}"
        if name and isinstance(name, str) and str(module).startswith("prism.lang") and "<" not in name:
            return f"name {module}:{name}"
        for own, one in (*vars(lang).items(), *vars(surface).items()):
            if one is value:
                return f"name prism.lang {own}"
        raise _Untold

    def node(self, value: Any) -> str:
        """Return the text of frozen data: of its fields, but for where they stand in a file."""
        fields = [getattr(value, one.name) for one in type(value)._fields]
        return f"{type(value).__name__}({', '.join(map(self.tell, fields))})"

    def kernel(self, value: Kernel) -> str:
        """Return the text of a function of Prism's."""
        module = str(value.__module__)
        if module.startswith(_PACKAGE) and "<locals>" not in value.__qualname__:
            return f"function {module}:{value.__qualname__}"
        if isinstance(value, Viewed) or value.external is not None or any(one is value for one in self.open):
            raise _Untold
        self.open.append(value)
        try:
            tree = value.syntax if isinstance(value, Written) else parse(value)
            facts = (
                value.kind,
                value.requires,
                value.smem,
                value.cooperative,
                dict(value.template),
                dict(value.defaults),
            )
            more = (value.attributes, value.may_alias)
            return f"{self.tell((*facts, *more))} {self.tell(tree)} {self.free(value, tree)}"
        finally:
            self.open.pop()

    def free(self, kernel: Kernel, tree: Any) -> str:
        """Return what the free names of a function's tree stand for."""
        free = {*_names(tree)} - locals_of(tree) - kernel.template.keys()
        return self.tell({name: _meaning(kernel.python, name) for name in free})


def _meaning(python: FunctionType, name: str) -> Any:
    """Return what a free name of a function stands for."""
    free = python.__code__.co_freevars
    if name in free:
        try:
            return (python.__closure__ or ())[free.index(name)].cell_contents
        except ValueError:  # not assigned yet
            raise _Untold from None
    found = python.__globals__.get(name, _NOTHING)
    if found is _NOTHING:
        found = getattr(builtins, name, _NOTHING)
    if found is _NOTHING:
        raise _Untold
    return found


def _names(node: Any) -> Iterator[str]:
    """Yield the names in a tree, or a tuple of trees. A tree in which names are bound more than once has no text."""
    if isinstance(node, s.Nested | s.Lambda):
        raise _Untold
    if isinstance(node, s.Name):
        yield node.name
    if isinstance(node, s.Node):
        node = tuple(getattr(node, one.name) for one in type(node)._fields)
    if not isinstance(node, tuple):
        return
    for part in node:
        yield from _names(part)


__all__ = ["text_of"]
