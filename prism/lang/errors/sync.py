"""Errors of synchronisation: conflicts that no barrier in the program's reach can order."""

from __future__ import annotations

from prism.lang.diagnostics import Error, Named
from prism.lang.types.perspective import Perspective


class Conflict(Named):
    """Two accesses of which nothing says which comes first; the second is where the error is."""

    label = "this {second} conflicts with the {first}"
    first: str
    second: str


class GridSync(Conflict, code="grid-sync"):
    """A conflict between blocks in the middle of a kernel."""

    title = "`{name}` would need a barrier of the whole {unit} between these accesses"
    label = "this {second} may meet another block's {first}"
    note_templates = (
        "blocks of one kernel run in any order, and cannot wait for one another at a barrier unless all run at once",
    )
    unit: Perspective
    read: str

    @property
    def change(self) -> str:
        """What to write: where atomics meet a plain read, that may become one of theirs."""
        atomic = {self.first, self.second} == {"atomic", "read"}
        relaxed = f"write `load_relaxed({self.read})`, where any value that it has meanwhile will do; or "
        split = f"split the kernel in two here, keep one partition of `{self.name}` open over both accesses"
        return f"{relaxed if atomic else ''}{split}, or write `cooperative=True` in `@requires`"


class NoPlace(Conflict, code="race"):
    """A conflict in code that is narrower than the threads it concerns."""

    title = (
        "`{name}` is raced for by the threads of a {unit}, and no barrier of theirs can stand between the two accesses"
    )
    note_templates = ("a barrier of {unit} needs code at {unit} or broader between them; this code runs at {code_at}",)
    help_template = "end the narrower code after the first access, and make the second one in a statement of its own"
    unit: Perspective
    code_at: Perspective


class NoBarrier(Conflict, code="race"):
    """A conflict among threads, or blocks, of which there is no barrier."""

    title = "`{name}` is raced for by the threads of a {unit}, and there is no barrier of {unit}"
    note_templates = ("{has}",)
    unit: Perspective
    has: str
    change: str


class ClusterBarrier(Conflict, code="race"):
    """A conflict between some blocks of a cluster, in a function whose units are smaller than the kernel's clusters."""

    title = "`{name}` is raced for by the blocks of a {unit} in `{function}`, and the clusters of `{kernel}` have {blocks} blocks"
    note_templates = ("the hardware has a barrier for all blocks of a cluster, and none for some of them",)
    help_template = (
        "let the clusters of `{kernel}` be of {unit}, or end `{function}` after the first access: its caller's code, if it "
        "speaks for the whole cluster, can have the barrier"
    )
    function: str
    kernel: str
    unit: Perspective
    blocks: int


class InFlight(Conflict, code="race"):
    """A conflict with an asynchronous access that nothing waits for here."""

    title = "`{name}` is in use by an asynchronous {first} that has not ended, and this {second} cannot wait for it"
    label = "this {second} conflicts with what is under way"
    note_templates = (
        "copies and wgmmas are waited for after the scope that issues them, by the threads that issued them",
    )
    help_template = "end the scope of the asynchronous {first} first, and make the {second} in a statement after it"


class Arms(Conflict, code="race"):
    """Two arms of a split, which run at the same time, conflict."""

    title = "two arms of this split race for `{name}`"
    label = "this {second} and another arm's {first} happen at the same time"
    note_templates = ("the arms of a split run at the same time: no order holds between them",)
    help_template = "end the split after the first access, and open a second one for the other"


class SameArgument(Named, code="race"):
    """One object passed twice to a callee that takes its pointers for different objects."""

    title = "`{name}` is passed to `{function}` both as `{one}` and as `{other}`, which are taken not to overlap"
    label = "the same object twice, and one of them is written"
    help_template = 'put `@may_alias("{one}", "{other}")` on `{function}`, or pass different objects'
    function: str
    one: str
    other: str


class SameFragment(Named, code="race"):
    """One fragment passed twice to a callee whose wgmmas use it as one of the two."""

    title = "`{name}` is passed to `{function}` both as `{one}` and as `{other}`, and wgmmas there use it"
    label = "the same fragment twice"
    note_templates = ("what is done to one of the two does not wait for the wgmmas on the other",)
    help_template = "pass different fragments"
    function: str
    one: str
    other: str


class ScopeNarrow(Named, code="scope"):
    """An atomic access whose scope is narrower than those who share the memory."""

    title = '`{name}` is shared by the blocks of a {owner}, and `scope="block"` is for the threads of one block'
    label = "other blocks may access this too"
    note_templates = (
        "an atomic access orders only those that both accesses' scopes include; to others it is a plain one",
    )
    help_template = (
        "leave `scope` out, or access a part of `{name}` that one block has alone: `partition(..., block[1], ...)`, without "
        '`races="allow"`'
    )
    owner: Perspective


class Overlap(Error, code="race"):
    """A partition whose units' parts overlap for sure."""

    title = "{who} both write {element}"
    label = "`{view}` is to be each {unit}'s own part, and these parts overlap"
    help_template = (
        'let the offset depend on `id()`, further apart than the indices reach; `races="allow"` says it is meant'
    )
    who: str
    view: str
    unit: Perspective
    element: str


class SameLoad(Named, code="race"):
    """Two loads of one visit of a ring that bring the same elements."""

    title = "`{name}` is loaded twice at one place in one visit, and nothing orders the two loads"
    label = "this load may come in before the other, or after it"
    note_templates = ("loads of one visit are waited for together, by the ring's next station",)
    help_template = "load each element once, or make the second load in another round of the ring"


class SameMulticast(Named, code="race"):
    """Elements that all blocks of a cluster bring for one another."""

    title = (
        "each block of a {unit} brings the same elements of `{name}` for all of them, and nothing orders these loads"
    )
    label = "where it begins does not depend on the block"
    help_template = "let each block bring a part of its own: let the indices depend on `id(block[1])`"
    unit: Perspective


class SameTile(Named, code="race"):
    """A tile of a matrix that all blocks of a cluster store."""

    title = "all blocks of a {unit} store the same tile of `{name}`"
    label = "where it begins does not depend on the block"
    help_template = "let the indices depend on `id(block[1])`, or let one block store it"
    unit: Perspective
