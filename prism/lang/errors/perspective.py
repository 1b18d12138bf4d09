"""Errors of the perspective rules: bounds, group, split, declarations, values, control flow, ids (R1-R12)."""

from __future__ import annotations

import re

from prism.lang.diagnostics import Error, Named
from prism.lang.types.perspective import BLOCK, GRID, Perspective

CHANGES = (
    "`{memory}` may be written meanwhile: threads may load different values; `ptr(const(...))` says that it is not"
)


class BoundTwice(Error, code="bound-wf"):
    """R1: two entries of one level."""

    title = "`requires` has two entries for the level {level}: {first} and {second}"
    label = "one entry a level"
    help_template = "keep the one that states the number of {level} units that can be relied on"
    level: str
    first: int
    second: int


class BoundMissing(Named, code="bound-wf"):
    """R1: no @requires, or an empty one."""

    title = "`{name}` does not say which threads run it"
    label = "no `@requires(...)`"
    help_template = "put `@requires({example})` on it"
    example: str


class BoundValue(Error, code="bound-wf"):
    """R1: an entry that is no perspective with a positive size."""

    title = "`requires` takes perspectives with a positive constant size, not `{text}`"
    label = "this bound"
    help_template = "write levels with sizes: `@requires(grid[1], block[1], thread[32])`"
    text: str


class BoundHidden(Named, code="bound-wf"):
    """R1: a size that names a template parameter, and a number of the file that has the same name."""

    title = "`{name}` is a template parameter, and `{name}` is a number too: Python made `{unit}[{size}]` of the bound"
    label = "evaluated before the parameter was known"
    help_template = 'put the name in quotes: `{unit}["{name}"]`'
    unit: str
    size: str


class BoundTooLarge(Error, code="bound-wf"):
    """R1: more threads than a block can have, or more blocks than a cluster."""

    title = "a {whole} has at most {most} {unit}s, and `requires` asks for {found}"
    label = "no launch can have so many"
    help_template = "state fewer {unit}s, {most} at most, and let each do more"
    whole: str
    unit: str
    most: int
    found: str


class BoundKernel(Named, code="bound-wf"):
    """R1: a kernel without an entry for the grid."""

    title = "the kernel `{name}` starts with the whole grid, and its bound has no `grid[1]`"
    label = "only {bound}"
    help_template = "write `@requires(grid[1], {bound})`, and `with group(block[1]):` around what each block does"
    bound: str


class BoundCooperative(Named, code="bound-wf"):
    """R1: a cooperative launch asked for by code that does not speak for the grid."""

    title = "`{name}` asks for a cooperative launch, and speaks only for {bound}"
    label = "no `grid[1]`"
    help_template = (
        "a barrier of the grid needs code of the grid: add `grid[1]`, or leave `cooperative=True` to its callers"
    )
    bound: str


class GroupDivides(Error, code="group"):
    """R2: a group whose size does not divide the guaranteed units."""

    title = "`group({unit})` does not fit the {have} {level}s that are guaranteed here"
    label = "{size} does not divide {have}"
    help_template = "use a divisor of {have}, or a multiple of {size} in the bound, group or arm around it"
    unit: Perspective
    level: str
    size: int
    have: int


class GroupBroadens(Error, code="group"):
    """R2: a group broader than the code."""

    title = "`group({unit})` is broader than the code here, which speaks for {code_perspective}"
    label = "a nested group may only narrow"
    help_template = "end the enclosing group first, or group by a divisor of {code_perspective}"
    unit: Perspective
    code_perspective: Perspective


class SplitLevel(Error, code="split-sum"):
    """R3: a split at a level that the bound does not have."""

    title = "`{construct}({level})` needs {level} units, and the bound here, {bound}, has none"
    label = "nothing to split"
    help_template = "split a level of the bound, or add one to `@requires`"
    level: str
    bound: str
    construct: str = "split"


class SplitSum(Error, code="split-sum"):
    """R3: the cases, or the roles, need more units than there are."""

    title = "the {arms} need {needed} {level}s, and {have} are guaranteed here"
    label = "{over} {level}s too many"
    help_template = "shrink the {arms} by {over} {level}s, or raise the bound to {needed}"
    level: str
    needed: int
    have: int
    over: int
    arms: str = "cases"


class SplitAlign(Error, code="split-align"):
    """R4: a case, or a role, that starts at no multiple of its size."""

    title = "`{arm}` would start at {level} {first}, which is no multiple of {size}"
    label = "misaligned"
    arm: str
    size: int
    level: str
    first: int
    change: str = "list the larger cases first, or pad with a case of `pass`"


class SplitBase(Error, code="split-align"):
    """R4: a case, or a role, whose size does not divide the alignment of what is split."""

    title = "`{arm}` may be misaligned: the {level}s here start at a multiple of {base} only"
    label = "{size} does not divide {base}"
    help_template = "use sizes that divide {base}, or split in the block's own code"
    arm: str
    size: int
    level: str
    base: int


class SplitCase(Error, code="split-sum"):
    """R3: a case, or a role, that is no positive constant."""

    title = "{arm} is a positive constant number of units"
    label = "not one"
    help_template = "write `{usage}`, or the name of a template parameter"
    arm: str
    usage: str


class DeclareBroader(Named, code="decl"):
    """R6: a declaration broader than the code."""

    title = "`{name}` is declared at {place}, but this code speaks only for {code_perspective}"
    label = "broader than the code"
    help_template = "declare it at {code_perspective} or narrower, or move it out to code that speaks for {place}"
    place: Perspective
    code_perspective: Perspective


class DeclareUnits(Named, code="decl"):
    """R6: a declaration at units that the bound does not guarantee: they could straddle two broader ones."""

    title = "`{name}` is declared at {place}, and the bound here, {bound}, does not guarantee whole units of {place}"
    label = "no such units are guaranteed"
    note_templates = ("a block whose size is no multiple of {size} would share one {place} with its neighbour",)
    help_template = (
        "raise the bound to a multiple of {size} {level} units in `@requires`, or declare `{name}` at another size"
    )
    place: Perspective
    bound: str
    size: int
    level: str


class WriteDown(Named, code="write-down"):
    """R8: a value that varies within the target's unit."""

    title = "`{name}` is one value for each {place}, but {what} varies per {has}"
    label = "varies per {has}"
    note_templates = ("all threads of a {place} must agree on `{name}`",)
    help_template = "combine the values with a collective (a reduce or a broadcast), or declare `{name}` @ {has}"
    place: Perspective
    what: str
    has: Perspective


class WriteUp(Named, code="write-down"):
    """R8: an assignment to something broader than the code."""

    title = "`{name}` lives at {place} and cannot be assigned by code that speaks only for {code_perspective}"
    label = "assigned by {code_perspective}"
    note_templates = ("the other threads of the {place} would keep the old value",)
    help_template = "assign it in code that speaks for {place}, or use a variable @ {code_perspective}"
    place: Perspective
    code_perspective: Perspective


class ReadUp(Named, code="read-up"):
    """R7: an index that varies within the unit that needs to agree on it."""

    title = "{what} varies per {has}, and `{name}` is one array for each {needed}"
    label = "varies per {has}"
    note_templates = ("all threads of a {needed} must assign the same element",)
    help_template = "index with a value @ {needed} or broader, or declare `{name}` @ {has}"
    what: str
    has: Perspective
    needed: Perspective


class Varies(Error):
    """What the code's threads may disagree on, and must not."""

    what: str
    has: Perspective
    code_perspective: Perspective
    memory: str = ""

    @property
    def changes(self) -> str:
        """Why a load from a broad pointer varies."""
        return CHANGES.format(memory=self.memory) if self.memory else ""


class Condition(Varies, code="cond"):
    """R9: a condition that the code's threads may disagree on."""

    title = "{what} varies per {has}, but this {construct} decides for a whole {code_perspective}"
    label = "varies per {has}"
    note_templates = ("threads of one {code_perspective} could disagree and part ways", "{changes}")
    help_template = "put it inside `with group({has}):`, or let the {code_perspective} agree on one value first"
    construct: str


class ConditionCollective(Error, code="cond"):
    """R9: a collective that only some threads would reach."""

    title = (
        "{what} varies per {has}, but decides whether {collective} is computed, which a whole {code_perspective} runs"
    )
    label = "varies per {has}"
    note_templates = ("threads that go the other way would be missing where the others wait for them",)
    help_template = "assign {collective} to a variable on a line of its own, and choose between the values after it"
    what: str
    has: Perspective
    collective: str
    code_perspective: Perspective


class LoopBound(Varies, code="loop"):
    """R10: a loop bound that the code's threads may disagree on."""

    title = "{what} varies per {has}, but this loop runs for a whole {code_perspective}"
    label = "varies per {has}"
    note_templates = ("threads of one {code_perspective} would make different numbers of trips", "{changes}")
    help_template = "put the loop inside `with group({has}):`, or use a bound @ {code_perspective} and test inside"


class LoopVariable(Named, code="loop"):
    """R10: an assignment to a loop's variable."""

    title = "the loop variable `{name}` is read-only in the loop's body"
    label = "assigned here"
    help_template = "copy it: `j: int = {name}`, or use a `while` loop"


class LoopStep(Error, code="loop"):
    """R10: a loop with step zero."""

    title = "the step of `range` is zero"
    label = "never ends"
    help_template = "use a step that is not zero"


class Jump(Error, code="jump"):
    """R11: a jump across a change of perspective."""

    title = "`{word}` leaves `{construct}`, but {target} outside it"
    label = "some threads would skip ahead"
    note_templates = ("threads that jump would miss what the others still meet together",)
    help_template = "put what follows under an `if` instead; or test a condition in the outer code and `{word}` there"
    word: str
    construct: str
    target: str


class IdBroader(Error, code="id"):
    """R12: an index of units that the code does not have."""

    title = "there are no {unit} units to count inside {code_perspective}"
    label = "counts {unit}"
    help_template = (
        "count a unit no broader than {code_perspective}, or take the number in broader code, and keep it in a variable"
    )
    unit: Perspective
    code_perspective: Perspective


class IdAxis(Error, code="id"):
    """R12: an axis that a launch has not, or in a function that is not the kernel."""

    title = "`{text}` is {why}"
    label = "along an axis of the launch"
    text: str
    most: int
    kernel: bool

    @property
    def why(self) -> str:
        """What is wrong with it."""
        return (
            f"no axis of a launch, which has 0 to {self.most}"
            if self.kernel
            else "for kernels, which a launch gives its axes"
        )

    @property
    def change(self) -> str:
        """What to write."""
        if self.kernel:
            axes = [re.sub(r"-?\d+(?=\)$)", str(axis), self.text) for axis in range(self.most + 1)]
            return f"write `{axes[0]}`, `{axes[1]}` or `{axes[2]}`; further axes are arithmetic on `id()` and `count()`"
        kept = f"i: int32 @ thread[1] = {self.text}" if self.text.startswith("id") else f"n: int32 = {self.text}"
        return f"take it in the kernel, `{kept}`, and pass `{kept[0]}`"


class IdAxisUnit(Error, code="id"):
    """R12: an index along an axis of what has none."""

    title = "{unit} has no axes inside {code_perspective}"
    label = "along an axis of the launch"
    help_template = (
        "blocks have axes in the grid's code, threads there and in a block's: take it there, and keep it in a variable"
    )
    unit: Perspective
    code_perspective: Perspective


class CountAxisUnit(Error, code="id"):
    """R12: a number of units along an axis, of what has none, or of a unit that is not named."""

    title = (
        "`count` along an axis counts blocks of the grid, and threads of the grid or of a block: "
        "not {unit} inside {code_perspective}"
    )
    label = "along an axis of the launch"
    unit: Perspective
    axis: int
    code_perspective: Perspective

    @property
    def change(self) -> str:
        """What to write."""
        if self.code_perspective == GRID:
            return f"write `count(thread[1], {self.axis})` or `count(block[1], {self.axis})`"
        if self.code_perspective == BLOCK:
            return f"write `count(thread[1], {self.axis})`; take the grid's before, `n: int32 = count(block[1], {self.axis})`"
        return f"take it in broader code, as `n: int32 = count(thread[1], {self.axis})`, and keep it in a variable"


class IdSize(Error, code="id"):
    """R12: an index of units that the bound does not guarantee."""

    title = "{unit} units cannot be counted here: {have} {level}s are guaranteed"
    label = "counts {unit}"
    help_template = "count units of a size that divides {have}, or raise the bound to a multiple of {size}"
    unit: Perspective
    size: int
    level: str
    have: int


class IdAlone(Error, code="id"):
    """R12: an index among one."""

    title = "`{text}` is always 0: there is one {unit} inside {unit}"
    label = "counts {unit}"
    note_templates = ("`id()` counts the units of what it is assigned to, inside the unit that the code speaks for",)
    help_template = "{hint}"
    text: str
    unit: Perspective
    hint: str


class CountAlone(IdAlone):
    """R12: a count of one."""

    title = "`{text}` is always 1: there is one {unit} inside {unit}"
    note_templates = ("`count(unit)` counts inside the unit that the code speaks for",)
