"""What a function demands of constants: `static_assert`."""

from __future__ import annotations

from dataclasses import replace

from prism.lang.diagnostics import Error, Label, Named, Span


class Demand(Named, code="static-assert"):
    """A condition on constants that does not hold: at the call that gave them, or where a kernel states it.

    `given`: those that the condition names, with their values.
    """

    title = "`{name}` demands: {text}"
    label = "{found}"
    help_template = "give constants for which `{condition}` holds"
    text: str
    condition: str
    given: str
    called: bool = False

    @property
    def found(self) -> str:
        """What stands at the place of the error."""
        what = f"`{self.condition}` does not hold" if not self.called else "called here"
        return f"{what}, with {self.given}" if self.given else what

    def at(self, call: Span) -> Demand:
        """Return the error as it is told to the caller: at the call, with the demand as its cause."""
        cause = Label(self.span, f"demanded here: `{self.condition}`")
        return replace(self, span=call, labels=(*self.labels, cause), called=True)


class BlockSize(Named, code="static-assert"):
    """A demand of the block's size that the kernel's launches can't keep."""

    title = "`{name}` demands blocks of {threads} threads"
    label = "{why}"
    help_template = "give it the number of threads of the blocks that run it"
    threads: int
    why: str


class NoConstant(Error, code="static-assert"):
    """A demand that only a run can decide."""

    title = "`static_assert` is of constants"
    label = "only known when the program runs"
    help_template = 'write `assert_(condition, "text")`, which ends the kernel where it does not hold'
