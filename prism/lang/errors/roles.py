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


class RoleParameter(Named, code="type"):
    """A kernel's parameter that would be a role."""

    title = "`{name}` is a role, and a kernel has no caller that divides its threads"
    label = "taken by device functions alone"
    help_template = "name roles in the kernel's code, as in `consumers, producer = roles(warpgroup, 2, 1)`"


class RolePlace(Named, code="type"):
    """`loader: roles(warp, 1) @ block[1]`."""

    title = "the role `{name}` is a part of what its function's code speaks for, and is declared without a place"
    label = "a place"
    help_template = "leave out `@ {place}`"
    place: str


class RoleType(Error, code="type"):
    """A parameter `roles(...)` that says not how many units of what."""

    title = "a parameter that is a role says how many units of a level it stands for"
    label = "not a level and a number"
    help_template = "write `roles(warp, 4)`, or `roles(warpgroup, 1)`"


class CallRole(Named, code="split-sum"):
    """R3: a role of another size."""

    title = "`{parameter}` of `{name}` stands for {needed}, and `{actual}` is {unit}"
    label = "of another size"
    help_template = (
        "declare the parameter as large as the role, with a template parameter for the number: `roles(warp, WARPS)`"
    )
    parameter: str
    actual: str
    unit: Perspective
    needed: Perspective


class RoleOfCaller(Named, code="split-sum"):
    """R3: a role passed to a function whose code is not what the role is a part of."""

    title = "`{role}` is a part of {place}, and `{name}` speaks for {code_perspective}"
    label = "not a part of {code_perspective}"
    help_template = "let the function speak for {place}, in its `@requires`, or name roles in it"
    role: str
    place: Perspective
    code_perspective: Perspective
