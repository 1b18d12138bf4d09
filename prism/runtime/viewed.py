"""Kernels that read lazy arrays: checked and compiled once for a user, kept in the cache by what they are made of.

    instance_of_views(i, views) a kernel with its template arguments, some of whose parameters are views
        .require_readable(arch) it reads them as memory can't: NotReadable
        .launcher(n)            machine code from the cache, without a checker, or made and kept
    kept_result(f, types, find) the type of what a function makes of elements: the checker's answer, kept

A key has the texts of the kernel and of the views (prism/runtime/texts.py), the digest of the package's sources, and the
architecture. What has no text is checked and compiled in each process. Which compiler made the machine code is no part of it, as
it is none of what the package ships.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from prism.lang.keep.memo import lazy_property
from prism.lang.surface import Kernel
from prism.lang.surface.views import NotReadable, View
from prism.lang.types import Scalar
from prism.lang.types.structs import Struct, scalar_called
from prism.runtime.capture import require_loading
from prism.runtime.code import machine_code, store
from prism.runtime.device import device, load
from prism.runtime.entry import Entry
from prism.runtime.instance import Instance, instance, sources_digest
from prism.runtime.keys import FORMAT, digest
from prism.runtime.launch import Launcher, prepare
from prism.runtime.store import Stored

if TYPE_CHECKING:
    from prism.lang.tree.plan import Program

_ENTRY, _REFUSED, _RESULT = "entry", "not readable", "result"


class Viewed(Instance):
    """An instance of `base`, parameters of which are `views`. Its kernel's tree is made when it is asked for."""

    def __init__(self, base: Instance, views: Mapping[str, View]) -> None:
        self.base, self.views, self.template = base, views, base.template

    @lazy_property
    def plain(self) -> Instance:
        """The instance of the kernel that is rewritten: it is checked and compiled as any other."""
        from prism.lang.check import parsed_of  # the compiler: what is kept does without
        from prism.lang.parse.views import view_kernel

        return instance(view_kernel(self.base.kernel, self.views, parsed_of), self.template)

    @property
    def kernel(self) -> Kernel:  # type: ignore[override]
        """The kernel that is rewritten."""
        return self.plain.kernel

    @property
    def program(self) -> Program:
        """The checked program.

        Raises:
            CompileError: it breaks a rule.
            NotReadable: it does with a view what only memory can do.
        """
        return self.plain.program

    @property
    def request(self) -> None:
        """None of these ships."""
        return None

    @lazy_property
    def text(self) -> str | None:
        """What it is, the same in every process, or None."""
        from prism.runtime.texts import text_of

        views = [(name, self.views[name]) for name in sorted(self.views)]
        return text_of((self.base.kernel, self.template, views))

    def key(self, arch: str) -> str | None:
        """Return what it is kept under for an architecture, or None."""
        return None if self.text is None else digest("prism view", FORMAT, sources_digest(), self.text, arch)

    def require_readable(self, arch: str) -> None:
        """Raise what the check does, now, where it is not known that the check passes; `arch`: the GPU's, "" on the host.

        Raises:
            CompileError: it breaks a rule.
            NotReadable: it does with a view what only memory can do.
        """
        key = self.key(arch) if arch else None
        found = None if key is None else store().get(key)
        if found is not None and _REFUSED in found.metadata:
            raise NotReadable(str(found.metadata[_REFUSED]))
        if found is not None and _entry_of(found) is not None:
            return
        try:
            self.program  # noqa: B018 -- checked here, where what can't be read may still be evaluated
        except NotReadable as refused:
            if key is not None:
                store().put(key, b"", {_REFUSED: str(refused)})
            raise

    def launcher(self, ordinal: int) -> Launcher:
        """Return its launcher on a device, made once. Raises what that of any instance does, and CompileError."""
        return _launcher(self, ordinal)


def instance_of_views(base: Instance, views: Mapping[str, View]) -> Viewed:
    """Return an instance with views for parameters; the same for the same."""
    return _viewed(base, tuple(sorted(views.items(), key=lambda item: item[0])))


@functools.lru_cache(maxsize=1024)
def _viewed(base: Instance, views: tuple[tuple[str, View], ...]) -> Viewed:
    return Viewed(base, dict(views))


@functools.lru_cache(maxsize=1024)
def _launcher(wanted: Viewed, ordinal: int) -> Launcher:
    require_loading()
    arch = device(ordinal).arch
    key = wanted.key(arch)
    found = None if key is None else store().get(key)
    entry = None if found is None else _entry_of(found)
    if found is None or entry is None:
        from prism.runtime.build import entry_of

        entry = entry_of(wanted.program, arch)
        if key is not None:
            store().put(key, machine_code(entry.source, arch, alike=True), {_ENTRY: entry.to_json(source=False)})
        return prepare(entry, ordinal)
    return Launcher(entry, load(found.payload, entry.name, ordinal, entry.shared_bytes))


def _entry_of(found: Stored) -> Entry | None:
    """Return the entry that is kept with machine code; None where it is none that this version of Prism reads."""
    facts: Any = found.metadata.get(_ENTRY)
    try:
        return Entry.from_json(facts, source="") if isinstance(facts, Mapping) else None
    except ValueError:
        return None


def kept_result(what: Any, scalars: tuple[Scalar, ...], find: Callable[[], Scalar]) -> Scalar:
    """Return the type of what a function makes of elements of such types: `find` checks it, unless it is kept.

    Raises:
        CompileError, TypeError: what `find` raises.
    """
    from prism.runtime.texts import text_of

    text = text_of((what, scalars))
    key = None if text is None else digest("prism result", FORMAT, sources_digest(), text)
    found = None if key is None else store().get(key)
    scalar = None if found is None else scalar_called(str(found.metadata.get(_RESULT)))
    if scalar is None:
        scalar = find()
        if key is not None:
            store().put(key, b"", {_RESULT: scalar.key if isinstance(scalar, Struct) else scalar.name})
    return scalar


__all__ = ["Viewed", "instance_of_views", "kept_result"]
