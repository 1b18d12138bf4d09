"""A kernel with its template arguments: checked, compiled and loaded when that is needed, and not before.

What the package ships machine code for is launched without checking the kernel again: `prism build` checked it, from the same
sources.
"""

from __future__ import annotations

import functools
import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prism.lang.keep.keys import exact_items
from prism.lang.keep.memo import lazy_property
from prism.lang.keep.records import is_record_class, items_of
from prism.lang.surface import Kernel
from prism.lang.types import Scalar
from prism.runtime import artifacts
from prism.runtime.capture import require_loading
from prism.runtime.device import device, load
from prism.runtime.entry import Entry
from prism.runtime.keys import FORMAT, digest
from prism.runtime.launch import Launcher, prepare

if TYPE_CHECKING:
    from prism.lang.tree.plan import Program

Template = tuple[tuple[str, Any], ...]
"""Template arguments as pairs of a name and a value, in the order of their names."""

_PACKAGE = Path(__file__).parent.parent
_SOURCES = (
    "lang",
    "lib/thread",
    "lib/warp",
    "lib/block",
    "lib/grid",
    "kernels",
    "runtime/build.py",
    "runtime/entry.py",
)


class Instance:
    """A kernel and its template arguments. `instance` gives the same one for the same."""

    def __init__(self, kernel: Kernel, template: Template) -> None:
        self.kernel = kernel
        self.template = template

    @lazy_property
    def program(self) -> Program:
        """The checked program.

        Raises:
            CompileError: it breaks a rule.
        """
        from prism.lang.pipeline import build

        return build(self.kernel, dict(self.template))

    @lazy_property
    def request(self) -> str | None:
        """What the package's machine code for it is asked by; None for what is not wholly of the package."""
        return request_key(self.kernel, self.template)

    def launcher(self, ordinal: int) -> Launcher:
        """Return its launcher on a device, made once. Raises what `prepare` and `require_loading` do, and CompileError."""
        return _launcher(self, ordinal)


class _Asked:
    """A kernel and its template arguments as a key: equal only where all arguments are of the same types, and bits."""

    __slots__ = ("kernel", "key", "template")

    def __init__(self, kernel: Kernel, template: Template) -> None:
        self.kernel, self.template, self.key = kernel, template, (kernel, exact_items(template))

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Asked) and self.key == other.key


def instance(kernel: Kernel, template: Template) -> Instance:
    """Return a kernel with its template arguments. The names of functions of a user's stand for what they do at the first use."""
    return _instance(_Asked(kernel, template))


@functools.lru_cache(maxsize=4096)
def _instance(asked: _Asked) -> Instance:
    return Instance(asked.kernel, asked.template)


@functools.lru_cache(maxsize=4096)
def _launcher(wanted: Instance, ordinal: int) -> Launcher:
    require_loading()
    arch = device(ordinal).arch
    shipped = None if wanted.request is None else _find_shipped(wanted.request, arch)
    if shipped is not None:
        entry = Entry.from_json(shipped.entry, source="")
        return Launcher(entry, load(shipped.cubin, entry.name, ordinal, entry.shared_bytes))
    from prism.runtime.build import entry_of

    return prepare(entry_of(wanted.program, arch), ordinal)


def _find_shipped(request: str, arch: str) -> artifacts.Artifact | None:
    for target in artifacts.runs_on(arch):
        if artifacts.manifest(target, artifacts.FOLDER).requests:  # as `requested` asks: it is read once
            found = artifacts.find_request(request, target, sources_digest())
            if found is not None:
                return found
    return None


def request_key(kernel: Kernel, template: Template) -> str | None:
    """Return the key of a kernel with its template arguments, the same in every process.

    None where a name would not say which function is meant: the kernel, or one among its arguments, is not the package's own.
    """
    parts: list[str | int] = []
    for name, value in (("", kernel), *sorted(template)):
        said = _said(value)
        if said is None:
            return None
        parts += [name, said]
    return digest("prism request", FORMAT, *parts)


def _said(value: Any) -> str | None:
    match value:
        case Kernel():
            own = str(value.__module__).startswith("prism.") and "<locals>" not in value.__qualname__
            return f"function {value.__module__}:{value.__qualname__}" if own else None
        case bool() | int() | str() if type(value) in (bool, int, str):
            return f"{type(value).__name__} {value}"
        case Scalar() if type(value) is Scalar:
            return f"str {value.name}"
        case _ if is_record_class(kind := type(value)):
            fields = [(name, _said(each)) for name, each in items_of(value)]
            own = kind.__module__.startswith("prism.") and None not in dict(fields).values()
            listed = ", ".join(f"{name}={said}" for name, said in fields)
            return f"record {kind.__module__}:{kind.__qualname__}({listed})" if own else None
        case _:
            return None


@functools.cache
def sources_digest() -> str:
    """Return the digest of all that decides what the package's kernels become: the compiler, the collectives, the kernels.

    Reading the files takes longer than a launch, so the digest is kept in the user's cache, by when each was last changed.
    """
    from prism.runtime.code import store

    files = _sources()
    seal = hashlib.sha256()
    for part, name, path, facts in files:
        seal.update(
            f"{part} {name} {path} {facts.st_size} {facts.st_mtime_ns} {facts.st_ctime_ns} {facts.st_ino}\n".encode()
        )
    key = digest("prism sources", FORMAT, seal.hexdigest())
    if (kept := store().get(key)) is not None and len(kept.payload) == 64:
        return kept.payload.decode()
    found = hashlib.sha256()
    for part, name, path, _ in files:
        with open(path, "rb") as file:
            text = file.read()
        found.update(f"{part} {name} {len(text)}\n".encode())
        found.update(text)
    store().put(key, found.hexdigest().encode(), {})
    return found.hexdigest()


def _sources() -> list[tuple[str, str, str, os.stat_result]]:
    """Return the files that decide: of which part, its name there, its path, and what the system says of it."""
    found: list[tuple[str, str, str, os.stat_result]] = []
    for part in _SOURCES:
        root = _PACKAGE / part
        if not root.exists():  # a checkout, whose kernels stand beside the package
            root = _PACKAGE.parent / part
        start = len(str(root)) + 1
        every = [(str(root), root.stat())] if root.is_file() else sorted(_files(str(root)))
        found += [(part, path[start:] or ".", path, facts) for path, facts in every]
    return found


def _files(folder: str) -> list[tuple[str, os.stat_result]]:
    found: list[tuple[str, os.stat_result]] = []
    with os.scandir(folder) as inside:
        for each in inside:
            if each.is_dir():
                found += _files(each.path) if each.name != "__pycache__" else []
            elif each.name.endswith(".py"):
                found.append((each.path, each.stat()))
    return found
