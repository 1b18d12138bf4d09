"""Errors of roles: how they are named, and who enters them; `one(level)`."""

from __future__ import annotations

from prism.lang.diagnostics import Error
from prism.lang.types.perspective import Perspective


class TwoRoles(Error):
    """`with claim(a, producer) as x, claim(b, consumers) as y:`."""

    code = "syntax"
    title = "one `with` claims for two roles, `{first}` and `{second}`"
    label = "a second role"
    note_templates = ("the statements inside are run by one role, which owns all that the `with` claims",)
    help_template = "write one `with` for each role"
    first: str
    second: str


class RoleTarget(Error):
    """`x[0], b = roles(...)`."""

    code = "syntax"
    title = "`{text}` cannot name a role"
    label = "not a plain name"
    help_template = "write one name for each role: `consumers, producer = roles(warpgroup, 2, 1)`"
    text: str


class OneUnit(Error):
    """R3: `one(warp)` where not even one whole unit is guaranteed."""

    code = "split-sum"
    rule = "R3"
    title = "`one({level})` needs {needed} threads, and the bound here has {have}"
    label = "no whole {level}"
    help_template = "raise the bound to {needed}, or write `one(thread)`"
    level: str
    needed: int
    have: int


class RolesCount(Error):
    """R3: as many names as numbers, or not."""

    code = "split-sum"
    rule = "R3"
    title = "{names} for {sizes}"
    label = "one name for each role"
    help_template = "write one name for each number, as in `consumers, producer = roles(warpgroup, 2, 1)`"
    names: str
    sizes: str


class RoleCode(Error):
    """R3: a role entered by other code than was divided."""

    code = "split-sum"
    rule = "R3"
    title = "`{name}` is a part of {place}, and this code speaks for {code_perspective}"
    label = "entered by {code_perspective}"
    help_template = (
        "enter it in code at {place}, outside the groups and arms that narrow it, or divide what is here: `roles(...)`"
    )
    name: str
    place: Perspective
    code_perspective: Perspective


class RoleValue(Error):
    """A role used as a value."""

    code = "type"
    title = "`{name}` is a role: it says who runs what, and is no value"
    label = "used otherwise"
    help_template = "write `with {name}:`, or `with claim(x, {name}) as y:`"
    name: str


class NotARole(Error):
    """`with x:` of something else."""

    code = "type"
    title = "`{name}` names no role"
    label = "{found}"
    help_template = "roles are named by `consumers, producer = roles(warpgroup, 2, 1)`, in scope here"
    name: str
    found: str


class RoleParameter(Error):
    """A kernel's parameter that would be a role."""

    code = "type"
    title = "`{name}` is a role, and a kernel has no caller that divides its threads"
    label = "taken by device functions alone"
    help_template = "name roles in the kernel's code, as in `consumers, producer = roles(warpgroup, 2, 1)`"
    name: str


class RolePlace(Error):
    """`loader: roles(warp, 1) @ block[1]`."""

    code = "type"
    title = "the role `{name}` is a part of what its function's code speaks for, and is declared without a place"
    label = "a place"
    help_template = "leave out `@ {place}`"
    name: str
    place: str


class RoleType(Error):
    """A parameter `roles(...)` that says not how many units of what."""

    code = "type"
    title = "a parameter that is a role says how many units of a level it stands for"
    label = "not a level and a number"
    help_template = "write `roles(warp, 4)`, or `roles(warpgroup, 1)`"


class CallRole(Error):
    """R3: a role of another size."""

    code = "split-sum"
    rule = "R3"
    title = "`{parameter}` of `{name}` stands for {needed}, and `{actual}` is {unit}"
    label = "of another size"
    help_template = (
        "declare the parameter as large as the role, with a template parameter for the number: `roles(warp, WARPS)`"
    )
    parameter: str
    name: str
    actual: str
    unit: Perspective
    needed: Perspective


class RoleOfCaller(Error):
    """R3: a role passed to a function whose code is not what the role is a part of."""

    code = "split-sum"
    rule = "R3"
    title = "`{role}` is a part of {place}, and `{name}` speaks for {code_perspective}"
    label = "not a part of {code_perspective}"
    help_template = "let the function speak for {place}, in its `@requires`, or name roles in it"
    name: str
    role: str
    place: Perspective
    code_perspective: Perspective
