"""The kernels that people wrote, for mutants of them: the library's, those under kernels/, the paper's programs."""

from __future__ import annotations

import ast
import functools
import importlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from prism.lang import tree
from prism.lang.check import check
from prism.lang.surface import Kernel

ROOT = Path(__file__).parents[2]


def modules() -> Iterator[ModuleType]:
    """Yield the modules that hold kernels, each once."""
    for path in sorted((ROOT / "kernels").glob("*/*.py")):
        if path.stem != "__init__":
            yield importlib.import_module(f"prism.kernels.{path.parent.stem}.{path.stem}")
    for path in sorted((ROOT / "examples" / "paper").glob("*.py")):
        if path.stem != "__init__":
            yield importlib.import_module(f"examples.paper.{path.stem}")


def entries(module: ModuleType) -> Iterator[tuple[Kernel, Mapping[str, Any]]]:
    """Yield a module's kernels, each with the template arguments that the module gives for it, or none."""
    given: Mapping[str, Mapping[str, Any]] = getattr(module, "EXAMPLES", {})
    for name, value in vars(module).items():
        if isinstance(value, Kernel) and value.kind == "global" and value.python.__module__ == module.__name__:
            template = given.get(name, {})
            if not set(value.template) - set(value.defaults) <= set(template):  # its module gives it no example
                continue
            fixed = getattr(module, "TOGETHER", ())  # what goes with types that the example gives
            switches = [key for key, each in template.items() if isinstance(each, bool) and key not in fixed]
            for setting in itertools.product((False, True), repeat=len(switches)):
                yield value, {**template, **dict(zip(switches, setting, strict=True))}


@functools.cache
def written() -> list[tuple[str, Sequence[tree.Function]]]:
    """Return each file with the checked functions that it holds, by name; instances with the same template once.

    Without those that have no name in their file, and those that are given one of these: a changed text has no way to them.
    """
    files: dict[str, dict[Any, tree.Function]] = {}
    for module in modules():
        for kernel, template in entries(module):
            for function in filter(_is_named, check(kernel, template)):
                key = (function.name, *sorted((k, str(v)) for k, v in function.template.items()))
                files.setdefault(function.file, {}).setdefault(key, function)
    return [(file, list(functions.values())) for file, functions in sorted(files.items())]


def _is_named(function: tree.Function) -> bool:
    """Whether a function, and what its template has of its own file, are defined at the top of the file."""
    given = (each for each in function.template.values() if isinstance(each, Kernel))
    own = [each.__name__ for each in given if each.python.__code__.co_filename == function.file]
    return _defined_in(function.file).issuperset({function.name, *own})


@functools.cache
def _defined_in(file: str) -> frozenset[str]:
    return frozenset(st.name for st in ast.parse(Path(file).read_text()).body if isinstance(st, ast.FunctionDef))
