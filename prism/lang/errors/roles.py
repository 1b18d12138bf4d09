"""Errors of roles: how they are named, and who enters them; `one(level)`."""

from __future__ import annotations

from prism.lang.diagnostics import Error, Named
from prism.lang.types.perspective import Perspective


class TwoRoles(Error, code="syntax"):
    """`with claim(a, producer) as x, claim(b, consumers) as y:`."""

    title = "one `with` claims for two roles, `{first}` and `{second}`"
    label = "a second role"
    note_templates = ("the statements inside are run by one role, which owns all that the `with` claims",)
    help_template = "write one `with` for each role"
    first: str
    second: str


class RoleTarget(Error, code="syntax"):
    """`x[0], b = roles(...)`."""

    title = "`{text}` cannot name a role"
    label = "not a plain name"
    help_template = "write one name for each role: `consumers, producer = roles(warpgroup, 2, 1)`"
    text: str


class OneUnit(Error, code="split-sum"):
    """R3: `one(warp)` where not even one whole unit is guaranteed."""

    title = "`one({level})` needs {needed} threads, and the bound here has {have}"
    label = "no whole {level}"
    help_template = "raise the bound to {needed}, or write `one(thread)`"
    level: str
    needed: int
    have: int


class RolesCount(Error, code="split-sum"):
    """R3: as many names as numbers, or not."""

    title = "{names} for {sizes}"
    label = "one name for each role"
    help_template = "write one name for each number, as in `consumers, producer = roles(warpgroup, 2, 1)`"
    names: str
    sizes: str


class RoleCode(Named, code="split-sum"):
    """R3: a role entered by other code than was divided."""

    title = "`{name}` is a part of {place}, and this code speaks for {code_perspective}"
    label = "entered by {code_perspective}"
    help_template = (
        "enter it in code at {place}, outside the groups and arms that narrow it, or divide what is here: `roles(...)`"
    )
    place: Perspective
    code_perspective: Perspective


class RoleValue(Named, code="type"):
    """A role used as a value."""

    title = "`{name}` is a role: it says who runs what, and is no value"
    label = "used otherwise"
    help_template = "write `with {name}:`, or `with claim(x, {name}) as y:`"


class NotARole(Named, code="type"):
    """`with x:` of something else."""

    title = "`{name}` names no role"
    label = "{found}"
    help_template = "roles are named by `consumers, producer = roles(warpgroup, 2, 1)`, in scope here"
    found: str
