"""Errors of functions that take a whole shared tile, a ring or roles, each call of which is compiled into its caller."""

from __future__ import annotations

from dataclasses import replace

from prism.lang.diagnostics import Named
from prism.lang.types import Pointer

WHY = "a function that {why} is compiled into its callers: {theirs}"


class Inlined(Named):
    """What all of these have: `why`, in words that follow the function's name, it is compiled into its callers."""

    note_templates = (WHY,)
    why: str

    @property
    def theirs(self) -> str:
        """What of it is the callers'."""
        if self.why == "takes a shared tile":
            return "how it lies, and what is under way in it, is theirs"
        return "who waits for whom is inferred as if its lines stood there"


class CallTile(Named, code="call-ptr"):
    """R15: what is no whole tile of the parameter's element, shape and swizzle."""

    title = "`{parameter}` of `{name}` takes the whole of a {asked}, and `{actual}` is {found}"
    label = "{fault}"
    parameter: str
    actual: str
    wanted: Pointer
    given: Pointer

    @property
    def asked(self) -> str:
        """The parameter's type."""
        return str(replace(self.wanted, const=False))

    @property
    def found(self) -> str:
        """What was given, in words."""
        if self.given.shape is not None:
            return f"a {replace(self.given, const=False)}"
        return f"a part of {self.given.space} memory"

    @property
    def fault(self) -> str:
        """The first thing that differs."""
        if self.given.shape is None:
            return "not a whole tile"
        if bool(self.given.ring) != bool(self.wanted.ring):
            return "no ring" if self.wanted.ring else "a ring"
        if self.given.element != self.wanted.element:
            return f"holds {self.given.element}"
        if self.given.shape != self.wanted.shape:
            return f"of {' x '.join(map(str, self.given.shape))} elements"
        if self.given.ring != self.wanted.ring:
            return f"a ring of {self.given.ring} cop{'y' if self.given.ring == 1 else 'ies'}"
        return f"swizzled in spans of {self.given.swizzle} bytes" if self.given.swizzle else "not swizzled"

    @property
    def change(self) -> str:
        """What to pass, or to declare."""
        if self.given.shape is None:
            return (
                f"pass a shared object, a copy of a ring, or a name for the whole of one: what part of it `{self.name}` touches, "
                "its indices say"
            )
        if self.wanted.ring and not self.given.ring:
            return "pass the ring by its own name, outside the scopes that open it; or take the copy, without `ring=`"
        return f"declare the parameter `{self.parameter}: {self.found[2:]}`, or the shared object as the parameter is"


class CallPiece(Named, code="call-ptr"):
    """R15: no part of a tile of the parameter's element, rank and swizzle."""

    title = "`{parameter}` of `{name}` takes a {asked}, and this part of `{actual}` is none: {fault}"
    label = "{fault}"
    help_template = (
        "pass the tile, or what begins at an element of it, `{actual}[i, j]`, or a part by a partition whose indices are moved: "
        "`lambda i, j: (i + a, j + b)`"
    )
    parameter: str
    actual: str
    wanted: Pointer
    fault: str

    @property
    def asked(self) -> str:
        """The parameter's type."""
        return str(replace(self.wanted, const=False))


class TileParameter(Named, code="shared-alloc"):
    """R25: a parameter that says how a tile is laid out, which its declaration does."""

    title = "the parameter `{name}` is a whole tile, and `align=` is for the shared object that it is, or is a copy of"
    label = "declares no memory"
    help_template = "leave `align=` out"


class InlinedValue(Inlined, code="type"):
    """A call where it may not be evaluated, or more than once."""

    title = "`{name}` {why}: its lines stand before the statement, and what this is part of is not always evaluated, or not once"
    label = "under a condition, or repeated"
    help_template = "assign the value to a variable first, under an `if` where there is a condition"


class InlinedOrder(Inlined, code="type"):
    """A call that changes something, beside other parts of its statement."""

    title = "`{name}` {why}, and changes something: its call is all of an assigned value"
    label = "a part of an expression"
    help_template = "assign the value to a variable first"


class InlinedResult(Inlined, code="type"):
    """A result that is a pointer."""

    title = "`{name}` {why}, so it returns no pointer"
    label = "declared here"
    help_template = "let the caller name the part, by a partition"


class InlinedReturn(Inlined, code="jump"):
    """R11: a return that is not the last statement."""

    title = "`{name}` {why}, so it ends at its end: no `return` stands in it but as its last statement, with a value"
    label = "leaves what stands in its caller's code"
    help_template = "put what follows under the opposite condition"


class FunctionValue(Named, code="type"):
    """The name of a function that is defined inside another one, where a number stands."""

    title = "`{name}` is a function, and no value"
    label = "used otherwise"
    help_template = "call it, `{name}(...)`, or pass it to a template parameter that is a function: `OP={name}`"


class InlinedTwice(Named, code="hide"):
    """R21: one object under two names."""

    title = "`{name}` is passed to `{function}` as `{one}` and as `{other}`, of which one may be written"
    label = "passed a second time"
    help_template = "pass it once, or another object; if the function writes neither, declare both parameters const"
    function: str
    one: str
    other: str


class InlinedExtern(Inlined, code="extern"):
    """R29: a body in CUDA C++."""

    title = "`{name}` {why}, and its body is CUDA C++"
    label = "not Prism"
    help_template = "take the tile as a pointer, `ptr(T)`, if it is not swizzled; or write the function in Prism"


class InlinedLimit(Inlined, code="call-smem"):
    """R16: a limit of shared memory."""

    title = "`{name}` {why}, so its shared memory is its caller's"
    label = "this limit"
    help_template = "leave `smem` out here; the caller's counts all"


class CallAlone(Inlined, code="type"):
    """A function that is checked where it is called, and was to be checked without a call."""

    title = "`{name}` {long}: it is checked where it is called"
    label = "its callers'"
    help_template = "check a kernel that calls it"
    long: str
