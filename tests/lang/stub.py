"""The stub of `prism.lang`: what an editor shows of each of its names. It is made from their declarations."""

from __future__ import annotations

import inspect
import types
from typing import Any

from prism import lang
from prism.lang import surface
from prism.lang.intrinsics.declaration import Intrinsic
from prism.lang.intrinsics.namespace import Namespace
from prism.lang.types import Scalar, Vector

_HEAD = '''\
"""The language: what a kernel file imports.

Made from the declarations by `pytest tests/lang/test_stub.py --update-golden`: not to be edited.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec, TypeAlias, TypeVar, dataclass_transform, no_type_check

import prism as prism
from prism.lang.diagnostics import CompileError as CompileError
from prism.lang.diagnostics import InternalError as InternalError
from prism.lang.surface import Kernel as Kernel
from prism.lang.surface import LevelName, VectorCast
from prism.lang.types import Scalar, Vector
from prism.lib.levels import Block, Grid, Thread, Warp

MYPY: bool
_P = ParamSpec("_P")
_R = TypeVar("_R")
_T = TypeVar("_T")

# A kernel's text is Python in form and not in types: `a: float32 @ grid[1]`. So its decorators say to type checkers what
# `typing.no_type_check` does: look at nothing inside. Pyright takes what a decorator's call gives for that function where it is
# it, and so finds it in `@requires(...)`. mypy wants the function itself, under whatever name; it takes `MYPY` for true.
def _gives(value: _R) -> Callable[[Callable[_P, Any]], Callable[_P, _R]]: ...

class _Intrinsics:
    def __getattr__(self, name: str) -> Any: ...
    @_gives(no_type_check)
    def __call__(
        self, text: str, *, meaning: Callable[..., Any] | None = None, effects: Mapping[str, str] | None = None,
        preamble: str = "", min_arch: str = "sm_75",
    ) -> Any: ...

class _ScalarType(Scalar, type): ...
'''
_IMPORTED = ("CompileError", "InternalError", "Kernel", "prism")
_MARKS = ("kernel", "device")
_BESIDE = ("requires", "template", "attr", "may_alias")
"""Decorators that stand above what one of the others marks."""
_LEVELS = {
    "grid": "all blocks of a launch",
    "block": "the threads of a block; block.scan and its like are the collectives for one",
    "warp": "32 threads; warp.scan and its like are the collectives for one",
    "warpgroup": "128 threads, which wgmma takes",
    "thread": "one thread, or n of them: thread[n]",
}


def stub() -> str:
    """Return the text of `prism/lang/__init__.pyi`: for each name its signature or type, and its documentation."""
    names = sorted(set(lang.__all__) - set(_IMPORTED))
    listed = ", ".join(f'"{name}"' for name in sorted(lang.__all__))
    told = [_entry(name, getattr(lang, name)) for name in names if not _differs(name)]
    apart = [_apart(name, getattr(lang, name)) for name in names if _differs(name)]
    for_mypy, for_others = ("\n".join(part[side] for part in apart).replace("\n", "\n    ") for side in (0, 1))
    last = f"if MYPY:\n    {for_mypy.rstrip()}\nelse:\n    {for_others.rstrip()}\n"
    text = "\n".join([_HEAD, *told, last, f"__all__ = [{listed}]\n"])
    return "\n".join(line.rstrip() for line in text.split("\n"))


def _differs(name: str) -> bool:
    """Whether mypy is told something else of a name than other type checkers are."""
    return name in (*_MARKS, "struct") or isinstance(getattr(lang, name), Scalar)


def _apart(name: str, value: Any) -> tuple[str, str]:
    """Return what mypy is told of a name, and what others are: what shows documentation.

    A scalar is the type of a struct's field, and may be called; so mypy takes it for `Any`, and Pyright for a class of `Any`.
    """
    match value:
        case Scalar():
            alias = "" if value.name == name.removesuffix("_") else f": {value.name}"
            doc = f'"""A scalar type{alias}, of {value.bits} bits."""'
            return f"{name}: TypeAlias = Any", f"class {name}(Any, metaclass=_ScalarType):\n    {doc}\n"
        case _ if name in _MARKS:
            told = _python(name, value).replace("python: FunctionType", "python: Any")
            return f"from typing import no_type_check as {name}", told
        case _:
            return f"@dataclass_transform()\ndef {name}(of: type[_T]) -> type[_T]: ...", _python(name, value)


def _entry(name: str, value: Any) -> str:
    match value:
        case Intrinsic():
            return _function(name, _parameters(value), value.help_text())
        case surface.Construct():
            return _function(name, "*arguments: Any, **options: Any", _without_example(value.help_text()))
        case surface.LevelName():
            kind = name.capitalize() if name != "warpgroup" else "LevelName"
            return f'{name}: {kind}\n"""{_LEVELS[name]}.{_page(name)}"""\n'
        case surface.VectorCast():
            return f'{name}: VectorCast\n"""{name}(p[i]) loads a {value.vector} from p[i] on, {name}[p[i]] = v stores one."""\n'
        case Vector():
            return f'{name}: Vector\n"""{value.length} of {value.element}, moved as one word."""\n'
        case types.FunctionType():
            before = "@_gives(no_type_check)\n" if name in _BESIDE else ""
            return before + _python(name, value)
        case Namespace():
            said = '`intrinsic.mma(...)` is `mma`; `@intrinsic("text")` declares one of the user\'s own.'
            return f'{name}: _Intrinsics\n"""{said}"""\n'
        case _:
            return f"{name}: Any\n"


def _parameters(intrinsic: Intrinsic) -> str:
    found = [f"{p.name}: Any{' = ...' if p.optional else ''}" for p in intrinsic.parameters]
    return ", ".join([*found, "out: Sequence[Any] = ..."])


def _without_example(text: str) -> str:
    """What `help` says of a construct but for its program: a hover has no room for it."""
    before, _, rest = text.partition("\n\nExample:\n")
    return f"{before}\n\n{rest.splitlines()[-1]}" if rest else before


def _page(name: str) -> str:
    """What prints the construct's page, with or without a clone."""
    return f" `prism help {name}` prints the whole page."


def _function(name: str, parameters: str, doc: str) -> str:
    text = doc.strip().replace("\\", "\\\\").replace('"""', "'''")
    text = f"{text} " if text.endswith('"') else text
    text = text.replace("\n", "\n    ").replace("    \n", "\n")
    return f'def {name}({parameters}) -> Any:\n    """{text}"""\n'


def _python(name: str, function: types.FunctionType) -> str:
    signature = str(inspect.signature(function)).replace("'", "")
    doc = inspect.cleandoc(function.__doc__ or "")
    doc = f"{doc}{chr(10) * 2 if chr(10) in doc else ' '}{_page(name).strip()}"
    doc = doc.replace("\n", "\n    ").replace("\\", "\\\\")
    return (
        f'def {name}{signature}:\n    """{doc}\n    """\n'
        if "\n" in doc
        else f'def {name}{signature}:\n    """{doc}"""\n'
    )


__all__ = ["stub"]
