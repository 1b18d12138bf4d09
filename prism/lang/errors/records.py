"""Errors of records of constants."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from prism.lang.diagnostics import Error, Named, Span


class NoSuchAttribute(Named, code="template"):
    """An attribute that a record of constants lacks."""

    title = "`{base}`, a record of constants, has no `{name}`"
    label = "unknown"
    note_templates = ("`{kind}` has: {have}",)
    base: str
    kind: str
    have: str
    change: str


def no_such_attribute(span: Span, base: str, name: str, kind: str, have: Sequence[str]) -> Error:
    """Return the error for an attribute that a record of this class lacks, which has these."""
    near = difflib.get_close_matches(name, have, 1, 0.6)
    change = f"did you mean `{base}.{near[0]}`?" if near else f"add it to `{kind}`, as a field or a property"
    return NoSuchAttribute(span=span, base=base, name=name, kind=kind, have=", ".join(have), change=change)


class AttributeFault(Named, code="template"):
    """A property of a record that ends in an error."""

    title = "`{base}.{name}` cannot be computed: {fault}"
    label = "a property of a record of constants"
    help_template = "mend the property, or give the record other fields"
    base: str
    fault: str


class AttributeValue(Named, code="template"):
    """An attribute of a record that is no constant of a kernel."""

    title = "`{base}.{name}` is a {kind}, and no constant of a kernel"
    label = "not an int, a bool or a dtype"
    note_templates = ("attributes of a record of constants are ints, bools and dtypes of `prism.lang`",)
    help_template = "make `{name}` an int, a bool or a dtype, or pass it as a template parameter of its own"
    base: str
    kind: str


class RecordField(Named, code="template"):
    """A field of a record that is no constant of a kernel."""

    title = (
        "the template parameter `{name}` of `{function}` is a record of constants, and its field `{field}` is a {kind}"
    )
    label = "given here"
    note_templates = ("fields of a record of constants are ints, bools and dtypes of `prism.lang`",)
    help_template = "make `{field}` an int, a bool or a dtype, or pass it as a template parameter of its own"
    function: str
    field: str
    kind: str
