"""Errors of rings: visits that not all threads make, or not in one order; copies that nobody has filled."""

from __future__ import annotations

from prism.lang.diagnostics import Named


class Skipped(Named, code="ring"):
    """A station of a ring that is not visited once in each round of the others."""

    title = "`{name}` is opened {where}, apart from its other scopes: rounds would not make this visit once each"
    label = "not one visit a round"
    note_templates = (
        "each round visits a copy at every scope that opens `{name}`, in the order of the program; who is skipped is waited for",
    )
    help_template = "open `{name}` in the statement list of its other scopes, and put the {inner} inside the `with`"
    where: str
    inner: str


class Uneven(Named, code="ring"):
    """A ring that is visited in several places, not alike in all of them."""

    title = "`{name}` is visited here otherwise than before: {fault}"
    label = "the first visit of this place"
    note_templates = (
        "a ring's rounds are counted through all places that visit it: each visit is ended by as many arrivals in all of them",
    )
    help_template = "let the same threads make the same visits of `{name}` in both places, or use a ring for each"
    fault: str


class Crowded(Named, code="ring"):
    """A ring with more visits in a round than are looked at, each with each."""

    title = "`{name}` is too large: a round has {number} visits, and at most {most} are looked at, each with each"
    label = "the first of them"
    help_template = "make several uses of a copy in one visit, under one `with`, or use more rings"
    number: int
    most: int


class ManyVisits(Named, code="ring"):
    """A function with more visits of rings than are looked at."""

    title = "`{name}` is too large: its rings are visited in {number} places, and at most {most} are looked at"
    label = "the first of the visits"
    help_template = "let a loop or a template make the visits that are alike, or make several kernels of it"
    number: int
    most: int


class Jump(Named, code="ring"):
    """A jump between the stations of a ring."""

    title = "this `{jump}` stands between two visits of `{name}`: a round would be left half done"
    label = "the visits after it are skipped"
    note_templates = ("who has filled a copy waits for its readers, round after round",)
    help_template = "move the `{jump}` before the round's first visit, or after its last"
    jump: str


class Unfilled(Named, code="ring"):
    """A ring whose first station reads."""

    title = "the first visit of `{name}` in a round reads a copy that nobody has filled"
    label = "nothing is written to `{view}` here"
    note_templates = ("what a round before left in a copy depends on the number of copies: the program may not see it",)
    help_template = "open `{name}` to fill it before this scope, in the same statement list"
    view: str


class Kept(Named, code="ring"):
    """A pointer to a ring's copy that is kept in a variable."""

    title = "`{pointer}` would keep a copy of the ring `{name}` beyond its visit"
    label = "a pointer to the present copy"
    note_templates = ("after the `with`, other threads may fill the copy anew",)
    help_template = "use the name that the `with` gives, or open a view of it"
    pointer: str


class Late(Named, code="ring"):
    """`in_flight` where a later visit of the same round needs the copy."""

    title = (
        "`{name}` is needed in the same round by a visit that comes after, and this one is in flight for {delay} more"
    )
    label = "released {delay} round{plural} later"
    note_templates = (
        "the visit that comes after waits for this one's end: it would wait for a round that waits for it",
    )
    help_template = "leave out `in_flight`, or let it be the round's last visit of `{name}`"
    delay: int

    @property
    def plural(self) -> str:
        """The ending of `round`."""
        return "" if self.delay == 1 else "s"


class Idle(Named, code="ring"):
    """`in_flight` where nothing is in flight."""

    title = "`in_flight={delay}`, and nothing that uses `{name}` here is asynchronous"
    label = "plain accesses have ended when the scope does"
    help_template = "leave out `in_flight`: it is for wgmmas, for bulk and tensor stores, and for copies by `cp_async`"
    delay: int


class Behind(Named, code="ring"):
    """`in_flight` where those who fill a copy would wait for those who wait for it."""

    title = "`in_flight={delay}` tells of copies of `{name}` that many rounds later, and {fault}"
    label = "who uses a copy waits for what its fillers do later"
    note_templates = ("the fillers may wait for nobody who may wait for them",)
    delay: int
    fault: str
    change: str


class Sent(Named, code="ring"):
    """A ring that threads of other blocks store to, and the copy engine or tensor cores use."""

    title = "`{name}` is stored to by threads of other blocks, and this does not see what they store"
    label = "made by the copy engine or the tensor cores"
    note_templates = (
        "only a thread that has waited for its own stores can show them to these; who sends by `st_async` does not wait",
    )
    help_template = "let threads read `{name}`, and store what they read into an object of the block's own for this"


class Multicast(Named, code="ring"):
    """A multicast, or a store to another block, that not all blocks of the cluster make."""

    title = "not every block of the cluster is sure to make this {what} `{name}`, for all of them: {fault}"
    label = "its bytes are counted in {blocks} blocks"
    note_templates = (
        "each block announces the bytes that come from all others, and waits for the readers of all of them",
    )
    blocks: int
    fault: str
    change: str
    what: str = "multicast into"
