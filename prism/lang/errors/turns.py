"""Errors of turns: whose units they are, where passages stand, and what in one would wait for a unit that may not yet come in."""

from __future__ import annotations

from prism.lang.diagnostics import Named
from prism.lang.types.perspective import Perspective


class TurnsUnit(Named, code="turns"):
    """Turns of units that have no barriers."""

    title = "the units of `{name}` are {unit}, and turns are taken by whole warps, or more"
    label = "of {unit}"
    note_templates = ("a unit waits for its turn at a barrier, which joins whole warps of one block",)
    help_template = "name the role by warps or warpgroups: `consumers, producer = roles(warpgroup, 2, 1)`"
    unit: Perspective


class TurnsPlace(Named, code="turns"):
    """A passage where not all of a role's units come alike."""

    title = "the units of `{name}` take turns where all of them come, and this code speaks for {code_perspective}"
    label = "in code of {code_perspective}"
    note_templates = ("units whose numbers of rounds differ would wait for ever: for one that does not come again",)
    help_template = "open the passage in the block's code, or directly in `with {name}:`; narrow the code inside it"
    code_perspective: Perspective


class TurnsNested(Named, code="turns"):
    """A passage inside another one."""

    title = "`turns({name})` stands inside `{other}`"
    label = "inside another passage"
    note_templates = ("the unit that is in the passage would wait there for one that waits to come in",)
    help_template = "end the outer `with turns(...)` before, or open one for both"
    other: str


class TurnsBody(Named, code="turns"):
    """Code of others than the role inside its passage."""

    title = "{what} stands in the turns of `{name}`, and is not the role's alone"
    label = "not in `{name}`"
    note_templates = ("threads that take no turns run it too, and would be waited for by those that do",)
    help_template = "move it out of the `with turns({name})`, or into `with {name}:`"
    what: str


class TurnsMeeting(Named, code="turns"):
    """Something that several units do together, inside the passage."""

    title = "`{what}` joins {needed} in the turns of `{name}`, which are taken by {unit}"
    label = "waits for units that are not in the passage"
    note_templates = ("one unit is in the passage at a time: it would wait there for one that waits to come in",)
    help_template = "move it out of the passage, or let the role count larger units"
    what: str
    needed: Perspective
    unit: Perspective


class TurnsBarrier(Named, code="turns"):
    """A barrier of several units that would have to stand inside the passage."""

    title = "a barrier of {needed} for `{name}` would stand in the turns of `{role}`, which are taken by {unit}"
    label = "the {second}: another unit may make the {first}"
    note_templates = ("one unit is in the passage at a time: it would wait there for one that waits to come in",)
    help_template = "let the {first} or the {second} stand outside of the passage: between them the barrier can stand"
    needed: Perspective
    role: str
    unit: Perspective
    first: str
    second: str


class TurnsRing(Named, code="turns"):
    """Two visits of one ring inside the passage, of which the later waits for the earlier of all units."""

    title = "a visit of `{name}` in the turns of `{role}` waits for another visit in them, which other units make too"
    label = "waits for the visit of all of `{role}`"
    note_templates = ("one unit is in the passage at a time: it would wait there for one that waits to come in",)
    help_template = "move the earlier visit before the `with turns({role})`, or the later one behind it"
    role: str


class TurnsMany(Named, code="turns"):
    """More units that take turns than there are barriers for."""

    title = "`{name}` has {number} units that take turns, and the hardware has {left} named barriers left for them"
    label = "one barrier for each unit"
    note_templates = ("a block has 15 named barriers; those of groups of a block, and of other turns, take {taken}",)
    help_template = "let the role count larger units, or let fewer of them take turns"
    number: int
    left: int
    taken: int
