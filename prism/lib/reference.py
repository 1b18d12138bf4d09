"""The reference machine, imported when the first array of the host comes: a call on a GPU does not need it."""

from __future__ import annotations

from typing import Any


def run(*arguments: Any, **options: Any) -> Any:
    """Do what `prism.interpret.run` does."""
    from prism.interpret import run

    return run(*arguments, **options)
