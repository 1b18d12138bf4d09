"""The stub of the collectives: what an editor shows of `block.scan`. It is made from their text."""

from __future__ import annotations

import inspect
import re
import textwrap
from types import ModuleType

from prism.lang import Kernel
from prism.lib import block, grid, thread, warp

HEAD = '''\
"""The collectives, by the level that calls them: what `block`, `warp`, `thread` and `grid` of `prism.lang` have.

Made from their text by `pytest tests/lib/test_stub.py --update-golden`: not to be edited. A type checker reads this; no module
of this name is there to be imported.
"""

from types import ModuleType
from typing import Any, ClassVar

from prism.lang.surface import LevelName
'''
KINDS = {"constexpr(int)": "int", "constexpr(bool)": "bool"}
HIDDEN = re.compile(r"^(Cost|Numerics|Source|Test): .*\n( +.*\n)*", re.MULTILINE)
"""What a hover has no room for: `help`, and docs/collectives.md, have it."""


def stub() -> str:
    """Return the text of `prism/lib/levels.pyi`: a class a level, with what it has."""
    levels = [level(each) for each in (block, grid, thread, warp)]
    names = [f"{name}: {name.capitalize()}\n" for name in ("block", "grid", "thread", "warp")]
    return "\n".join([HEAD, *levels, "".join(names)])


def level(package: ModuleType) -> str:
    """Return the class of a level."""
    name = package.__name__.rpartition(".")[2]
    entries = [entry(name, each, getattr(package, each)) for each in package.__all__]
    return f"class {name.capitalize()}(LevelName):\n" + textwrap.indent("\n".join(entries), "    ")


def entry(level: str, name: str, value: object) -> str:
    """Return what one name of a level is."""
    if not isinstance(value, Kernel):
        return f"{name}: ClassVar[{'ModuleType' if isinstance(value, ModuleType) else 'Any'}]\n"
    signature = inspect.signature(value)
    told = [parameter(p) for p in signature.parameters.values()]
    star = sum(p.kind is not p.KEYWORD_ONLY for p in signature.parameters.values())
    listed = ", ".join([*told[:star], *(["*"] if told[star:] else []), *told[star:]])
    doc = HIDDEN.sub("", f"{inspect.cleandoc(value.__doc__ or '')}\n").strip().replace("\\", "\\\\")
    doc = textwrap.indent(f"{shown(f'{level}.{name}', signature)}\n\n{doc}", "    ").strip()
    returned = "None" if signature.return_annotation is inspect.Signature.empty else "Any"
    return f'@staticmethod\ndef {name}({listed}) -> {returned}:\n    """{doc}"""\n'


def parameter(p: inspect.Parameter) -> str:
    """Return a parameter as Python's types have it."""
    kind = KINDS.get(str(p.annotation), "Any")
    return f"{p.name}: {kind}{'' if p.default is p.empty else ' = ...'}"


def shown(name: str, signature: inspect.Signature) -> str:
    """Return a signature as it is written, broken between parameters."""
    bound = [f"{p},".replace(" ", "\0") for p in str(signature).split(", ")]
    text = textwrap.fill(name + " ".join(bound)[:-1], 112, subsequent_indent="    ", break_long_words=False)
    return text.replace("\0", " ")


__all__ = ["shown", "stub"]
