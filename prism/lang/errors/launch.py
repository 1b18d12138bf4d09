"""Errors of compiling for an architecture."""

from __future__ import annotations

from dataclasses import dataclass

from prism.lang.diagnostics import Error


@dataclass(frozen=True, kw_only=True)
class Architecture(Error):
    """An intrinsic that the architecture compiled for does not have."""

    code = "arch"
    title = "`{name}` needs {needs}, and this is compiled for {arch}"
    label = "not on {arch}"
    help_template = 'compile for {needs} or later (`arch="{needs}"`), or write it with intrinsics that {arch} has'
    name: str
    needs: str
    arch: str
