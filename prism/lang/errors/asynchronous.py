"""Errors of asynchronous copies, of rings as they are declared and opened, and of batches of wgmmas (R24)."""

from __future__ import annotations

from prism.lang.diagnostics import Error, Named
from prism.lang.types.perspective import Perspective

# -- async_ -----------------------------------------------------------------------------------------------------------


class AsyncSource(Named, code="async"):
    """R24: `async_` of what no asynchronous copy writes."""

    title = "`{name}` is {found}, and asynchronous copies write to shared memory"
    label = "not shared memory"
    help_template = "name a shared object, or a part of one: `with async_(s) as d:`"
    found: str


class AsyncOwners(Named, code="async"):
    """R24: `async_` in code narrower than the owners."""

    title = "`{name}` belongs to {place}, and this code speaks only for {code_perspective}"
    label = "the other threads of the {place} know nothing of the copies"
    help_template = "open the `async_` in code at {place}, or partition `{name}` for {code_perspective} first"
    place: Perspective
    code_perspective: Perspective


class AsyncUse(Named, code="async"):
    """R24: what is in flight, used by something else than a copy."""

    title = "`{name}` is in flight until its `with` ends: only an asynchronous copy may name it, as its destination"
    label = "used otherwise"
    help_template = "use `{source}` after the `with`: a wait for the copies is then inferred where one is needed"
    source: str


class AsyncDestination(Named, code="async"):
    """R24: an asynchronous copy to memory that is not in flight."""

    title = "`{function}` goes on after its line, and `{name}` is not marked as its destination"
    label = "neither opened by `async_` nor a copy of a ring"
    help_template = "open `with async_({name}) as d:`, and copy to `d`"
    function: str


class LoadDestination(Error, code="ring"):
    """R24: a bulk or tensor load into a plain shared object."""

    title = "`{function}` fills a copy of a ring, and `{root}` is no ring"
    label = "not a copy of a ring"
    note_templates = ("who waits for such a load learns of its end through the barriers of a ring",)
    help_template = (
        "declare `{root}` with `ring=1` (or more, to load ahead), and open it: `with claim({root}, ...) as {view}:`"
    )
    function: str
    root: str

    @property
    def view(self) -> str:
        """A name for what the claim gives."""
        return f"{self.root[:1]}_now"


class LoadInFunction(Error, code="ring"):
    """R24: a bulk or tensor load, or a store to another block, into a parameter."""

    title = "`{function}` fills a copy of a ring, and `{root}` is a parameter: which ring's, its function does not know"
    label = "not known to be a copy of a ring"
    note_templates = (
        "its bytes are announced at the copy's barrier, which belongs to the kernel; a parameter is an address alone",
    )
    help_template = (
        "declare the parameter as a whole tile, `{root}: shared(T[n])`: the function is then compiled into the kernel, and may "
        "be given a copy of a ring"
    )
    function: str
    root: str


class LoadMixed(Named, code="async"):
    """R24: a copy of a ring that is loaded and used in one scope."""

    title = "`{name}` is being loaded: inside this `with` it is only the destination of loads"
    label = "used before the load has ended"
    help_template = "use what was loaded in a `with` of its own, after this one: the wait for it is then inferred"


# -- The thread that issues a copy ------------------------------------------------------------------------------------


class CopyCode(Error, code="ptr-write"):
    """R18: an asynchronous copy by code that speaks for several threads."""

    title = "`{function}` is issued by one thread; this code speaks for {code_perspective}"
    label = "{code_perspective} issues it"
    function: str
    code_perspective: Perspective
    bulk: bool

    @property
    def change(self) -> str:
        """How one thread, or each, comes to issue it."""
        if self.bulk:
            return "put it inside `with one(thread):`"
        return "partition the destination for thread[1], and copy inside `with group(thread[1]):`"


class CopyOwner(Named, code="ptr-write"):
    """R18: a destination whose owners are more than the one thread that copies for them."""

    title = "`{name}` belongs to {place}, and more than one thread of it would copy to it here"
    label = "shared by {place}"
    help_template = "let one thread copy, `with one(thread):` in code at {place}, or partition `{name}` for thread[1]"
    place: Perspective


class CopyTwice(Named, code="ptr-write"):
    """R18: two threads that each copy for the same owner."""

    title = "two threads copy to `{name}`, each on behalf of its {place}"
    label = "another thread than the first"
    help_template = "let the same thread issue both copies, or claim or partition `{name}` for each"
    place: Perspective


# -- wgmma ------------------------------------------------------------------------------------------------------------


class BatchCode(Named, code="call-bound"):
    """R13: a wgmma by other code than one warpgroup's."""

    title = "`{name}` is run by exactly one warpgroup, and this code speaks for {code_perspective}"
    label = "not one warpgroup"
    code_perspective: Perspective

    @property
    def change(self) -> str:
        """Where it can go."""
        if Perspective(self.code_perspective.level, 128) <= self.code_perspective:
            return "put it inside `with group(warpgroup[1]):`"
        return "move it out of the groups and arms that narrow the code below a warpgroup"


class BatchBody(Error, code="async"):
    """R24: something else than wgmmas in a batch."""

    title = "{what} has no place in a batch of wgmmas"
    label = "the tensor cores are at work here"
    note_templates = (
        "a batch holds wgmmas, loops of them with constant bounds, and arithmetic on a thread's own variables",
    )
    what: str
    change: str = "move it before the batch, or after it: the wait for the batch is then inferred where one is needed"


# -- Rings ------------------------------------------------------------------------------------------------------------


class RingUse(Named, code="ring"):
    """A ring used by its own name."""

    title = "`{name}` is a ring of {copies}: its name stands for no one copy"
    label = "which copy?"
    help_template = (
        "open the present one, `with claim({name}, ...) as c:` or `with partition({name}, ...) as c:`, and use `c`"
    )
    copies: str


class RingPlace(Named, code="ring"):
    """A ring declared elsewhere than in code at block[1]."""

    title = "`{name}` is a ring, declared {where}"
    label = "not a place for a ring"
    note_templates = ("each thread counts a ring's visits from the kernel's start, and its barriers are set up there",)
    help_template = (
        "declare it in code that speaks for block[1], in a loop or around it; pass it, or its copies, to functions"
    )
    where: str


class RingCopies(Error, code="ring"):
    """`ring=` of something else than a positive constant."""

    title = "the number of a ring's copies is a positive compile-time constant"
    label = "not one"
    help_template = "write `ring=2`, or the name of a template parameter; leave `ring` out for a plain shared object"


class RingTooLong(Error, code="ring"):
    """More copies of a ring than the shared memory of any GPU holds."""

    title = "{copies} copies of {size} bytes are more than a block has shared memory for"
    label = "of {limit} bytes; each copy takes {more} more for those who wait for it"
    help_template = "take fewer copies: two or three are enough to load one while another is read"
    copies: int
    size: int
    limit: int
    more: int


class InFlight(Named, code="ring"):
    """`in_flight=` that does not fit."""

    title = "`in_flight` of `{name}` {fault}"
    label = "this number of visits"
    note_templates = ("`in_flight=d`: an asynchronous reader of this visit's copy is waited for d visits later",)
    fault: str
    change: str
