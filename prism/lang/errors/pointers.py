"""Errors of names that are pointers: what they may be given, and where."""

from __future__ import annotations

from prism.lang.diagnostics import Named
from prism.lang.types.perspective import Perspective


class PointerRebind(Named, code="ptr-rebind"):
    """R28: something that is no pointer given to one."""

    title = "`{name}` is a pointer: it can only be given another pointer"
    label = "not the name of a pointer, a shared object or a view"
    note_templates = ("addresses are not computed with: a part of memory is named by `partition` or `claim`",)
    help_template = (
        "name a part of memory by `with partition({origin}, thread[1], offset) as part:`; of what is only read, use `{origin}`"
        " and keep the offset beside it"
    )
    source: str = ""
    """The pointer that the value is computed from, where there is one."""

    @property
    def origin(self) -> str:
        """What a part may be of."""
        return self.source or self.name


class PointerFixed(Named, code="ptr-rebind"):
    """R28: a shared object or a view given another meaning."""

    title = "`{name}` names one object for good: it is not assigned"
    label = "assigned here"
    help_template = "declare a pointer, `p: ptr(T) @ block[1] = {name}`, and assign that"


class PointerOpen(Named, code="ptr-rebind"):
    """R28: a pointer assigned while a part of it is named."""

    title = "`{name}` is assigned while `{view}` names a part of what it points to"
    label = "assigned here"
    help_template = "assign it before the `with` that opens `{view}`, or after its end"
    view: str


class PointerLife(Named, code="ptr-rebind"):
    """R28: a pointer to what ends sooner than the pointer."""

    title = "{name} would point to what ends sooner than it"
    label = "ends with the scope that it was made in"
    note_templates = ("a view ends with its `with`, a shared object with the statements it is declared among",)
    help_template = "declare the pointer in the scope of what it points to, or the object outside"


class PointerElement(Named, code="ptr-rebind"):
    """R28: pointers to different elements."""

    title = "`{name}` points to {wanted}, and `{given}` to {found}"
    label = "holds {found}"
    help_template = "declare the pointer with the elements that it points to: `ptr({found})`"
    wanted: str
    given: str
    found: str


class PointerConst(Named, code="ptr-rebind"):
    """R28: a pointer to const given to one that may be written through."""

    title = "`{given}` is read only, and `{name}` could be written through"
    label = "points to const"
    help_template = "declare `{name}` as `ptr(const(T))`"
    given: str


class PointerPlace(Named, code="ptr-rebind"):
    """R28: pointers of different owners."""

    title = "`{name}` belongs to {place}, and `{given}` to {has}"
    label = "belongs to {has}"
    note_templates = (
        "a pointer that may be written through keeps its owners; they are narrowed by `partition` or `claim`",
    )
    help_template = "declare `{name}` @ {has}, or narrow first: `with partition({given}, {place}, offset) as part:`"
    place: Perspective
    given: str
    has: Perspective
