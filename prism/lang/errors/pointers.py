"""Errors of names that are pointers: what they may be given, and where."""

from __future__ import annotations

from prism.lang.diagnostics import Error
from prism.lang.types.perspective import Perspective


class PointerRebind(Error):
    """R28: something that is no pointer given to one."""

    code = "ptr-rebind"
    rule = "R28"
    title = "`{name}` is a pointer: it can only be given another pointer"
    label = "not the name of a pointer, a shared object or a view"
    note_templates = ("addresses are not computed with: a part of memory is named by `partition` or `claim`",)
    help_template = (
        "name a part of memory by `with partition({origin}, thread[1], offset) as part:`; of what is only read, use `{origin}`"
        " and keep the offset beside it"
    )
    name: str
    source: str = ""
    """The pointer that the value is computed from, where there is one."""

    @property
    def origin(self) -> str:
        """What a part may be of."""
        return self.source or self.name


class PointerFixed(Error):
    """R28: a shared object or a view given another meaning."""

    code = "ptr-rebind"
    rule = "R28"
    title = "`{name}` names one object for good: it is not assigned"
    label = "assigned here"
    help_template = "declare a pointer, `p: ptr(T) @ block[1] = {name}`, and assign that"
    name: str


class PointerOpen(Error):
    """R28: a pointer assigned while a part of it is named."""

    code = "ptr-rebind"
    rule = "R28"
    title = "`{name}` is assigned while `{view}` names a part of what it points to"
    label = "assigned here"
    help_template = "assign it before the `with` that opens `{view}`, or after its end"
    name: str
    view: str


class PointerLife(Error):
    """R28: a pointer to what ends sooner than the pointer."""

    code = "ptr-rebind"
    rule = "R28"
    title = "{name} would point to what ends sooner than it"
    label = "ends with the scope that it was made in"
    note_templates = ("a view ends with its `with`, a shared object with the statements it is declared among",)
    help_template = "declare the pointer in the scope of what it points to, or the object outside"
    name: str


class PointerElement(Error):
    """R28: pointers to different elements."""

    code = "ptr-rebind"
    rule = "R28"
    title = "`{name}` points to {wanted}, and `{given}` to {found}"
    label = "holds {found}"
    help_template = "declare the pointer with the elements that it points to: `ptr({found})`"
    name: str
    wanted: str
    given: str
    found: str


class PointerConst(Error):
    """R28: a pointer to const given to one that may be written through."""

    code = "ptr-rebind"
    rule = "R28"
    title = "`{given}` is read only, and `{name}` could be written through"
    label = "points to const"
    help_template = "declare `{name}` as `ptr(const(T))`"
    name: str
    given: str


class PointerPlace(Error):
    """R28: pointers of different owners."""

    code = "ptr-rebind"
    rule = "R28"
    title = "`{name}` belongs to {place}, and `{given}` to {has}"
    label = "belongs to {has}"
    note_templates = (
        "a pointer that may be written through keeps its owners; they are narrowed by `partition` or `claim`",
    )
    help_template = "declare `{name}` @ {has}, or narrow first: `with partition({given}, {place}, offset) as part:`"
    name: str
    place: Perspective
    given: str
    has: Perspective
