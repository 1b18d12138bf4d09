"""Kernels and template arguments as a command names them: `FILE:NAME` or `module:name`, and `NAME=VALUE`."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from prism.command.output import CommandError
from prism.lang.diagnostics import CompileError
from prism.lang.surface import Kernel


def program_of(options: argparse.Namespace, told: Mapping[str, Any] | None = None) -> Any:
    """Return the program that the command names; arguments `told` with a dtype give the template's dtypes."""
    from prism.compiler import check

    module, kernel = find(options.kernel)
    template = dict(argument(module, text) for text in options.template)
    example = dict(getattr(module, "EXAMPLES", {}).get(kernel.__name__, {}))
    if told:
        template = deduce_template(kernel, told, template, example)
    return check(kernel, template or example)


def deduce_template(
    kernel: Kernel, told: Mapping[str, Any], template: dict[str, Any], example: dict[str, Any]
) -> dict[str, Any]:
    """Return the template arguments: those given, those that the arguments' dtypes imply, then the example's."""
    from prism import launcher
    from prism.interpret import explore
    from prism.lang.check import parsed_of

    names = [parameter.name for parameter in parsed_of(kernel).parameters]
    dtypes = [told[name].dtype if name in told else None for name in names]
    samples = [0 if dtype is None else explore.sample(dtype) for dtype in dtypes]
    implied = launcher.deduce_template(kernel, samples, template)
    return implied if template or not example else {**example, **implied}


def find(name: str) -> tuple[ModuleType, Kernel]:
    """Return the module and the kernel that `FILE:NAME` or `module:name` names.

    Raises:
        CommandError: there is no such file, module or kernel, or it can't be imported.
        CompileError: importing it is where its error is found.
    """
    place, _, kernel_name = name.rpartition(":")
    if not place:
        raise CommandError(f"name a kernel as FILE:NAME or module:name, not {name!r}")
    module = load(place)
    found = getattr(module, kernel_name, None)
    if not isinstance(found, Kernel):
        have = ", ".join(n for n, value in vars(module).items() if isinstance(value, Kernel)) or "none"
        raise CommandError(f"{place} has no kernel {kernel_name!r}; it has: {have}")
    return module, found


def load(place: str) -> ModuleType:
    """Import a file or a module, which may lie in the current directory; what it prints goes to the error stream.

    Raises:
        CommandError: there is no such file or module, or importing it fails.
        CompileError: importing it is where its error is found.
    """
    path = Path(place)
    if path.suffix == ".py" and not path.is_file():
        raise CommandError(f"no file {place}")
    if path.suffix != ".py" and path.is_file():
        raise CommandError(f"{place} is no file of Python's: its name does not end in .py")
    try:
        here = os.getcwd()
    except OSError as error:
        raise CommandError(f"the current directory is gone: {error.strerror}") from None
    try:
        with contextlib.redirect_stdout(sys.stderr):
            if path.suffix == ".py":
                inside = importable(path)
                return load_file(path) if inside is None else importlib.import_module(inside)
            if here not in sys.path:
                sys.path.insert(0, here)
            return importlib.import_module(place)
    except CompileError:
        raise
    except (Exception, SystemExit) as error:  # whatever the file's own code raises
        raise CommandError(f"{place} can't be imported: {type(error).__name__}: {error}{where(error, path)}") from error


def where(error: BaseException, path: Path) -> str:
    """Return the line of a file that an error went through last, ` (line 3)`; nothing where there is none."""
    lines = [
        at.lineno for at in traceback.extract_tb(error.__traceback__) if Path(at.filename).resolve() == path.resolve()
    ]
    return f" (line {lines[-1]})" if lines and not isinstance(error, SyntaxError) else ""


def load_file(path: Path) -> ModuleType:
    """Import a file that belongs to no package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise CommandError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    sys.path.insert(0, str(path.resolve().parent))
    spec.loader.exec_module(module)
    return module


def importable(path: Path) -> str | None:
    """Return the name by which a file of this package's own is imported: `kernels/scan/x.py` is `prism.kernels.scan.x`."""
    for name in ("prism.kernels", "prism.lib"):
        part = importlib.import_module(name)
        for root in part.__path__:
            resolved = path.resolve()
            if resolved.is_relative_to(Path(root).resolve()):
                parts = resolved.relative_to(Path(root).resolve()).with_suffix("").parts
                return ".".join((name, *parts)).removesuffix(".__init__")
    return None


def target(arch: str) -> str:
    """Return the architecture.

    Raises:
        CommandError: the compiler doesn't know it.
        MissingCompiler: there is none.
    """
    from prism.runtime.compile import require_target

    try:
        require_target(arch)
    except ValueError as error:
        raise CommandError(str(error)) from None
    return arch


def argument(module: ModuleType, text: str) -> tuple[str, object]:
    """Return the name and value of `NAME=VALUE`."""
    name, equals, value = text.partition("=")
    if not equals:
        raise CommandError(f"a template argument is written NAME=VALUE, not {text!r}")
    if value.lower() in ("true", "false"):
        return name, value.lower() == "true"
    for convert in (int, float):
        try:
            return name, convert(value)
        except ValueError:
            continue
    if ":" in value:
        return name, find(value)[1]
    return name, getattr(module, value, value)
