"""The errors, one class each, grouped by the stage that finds them. No other file holds a message."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

from prism.lang.diagnostics import Error


def catalogue() -> tuple[type[Error], ...]:
    """Return every error that Prism can report, by code and name."""
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        importlib.import_module(module.name)
    return tuple(sorted(_below(Error), key=lambda error: (error.code, error.__name__)))


def _below(error: type[Error]) -> Iterator[type[Error]]:
    for below in error.__subclasses__():
        if below.code and below.title and below.__module__.startswith(f"{__name__}."):
            yield below
        yield from _below(below)
