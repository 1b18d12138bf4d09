"""Errors of compiling for an architecture."""

from __future__ import annotations

from prism.lang.diagnostics import Named


class Architecture(Named, code="arch"):
    """An intrinsic that the architecture compiled for does not have."""

    title = "`{name}` needs {needs}, and this is compiled for {arch}"
    label = "not on {arch}"
    help_template = 'compile for {needs} or later (`arch="{needs}"`), or write it with intrinsics that {arch} has'
    needs: str
    arch: str


class SharedMemory(Named, code="arch"):
    """R16: more shared memory than a block of the architecture can have."""

    rule = "R16"
    title = "`{name}` needs {needs} bytes of shared memory a block, and a block can have {has} on {arch}"
    label = "ends beyond what a block can have"
    note_templates = ("{objects}",)
    help_template = "use smaller objects, or fewer copies in a ring{elsewhere}"
    needs: int
    has: int
    arch: str
    objects: str
    elsewhere: str
