"""What the reference machine finds wrong while a program runs."""

from __future__ import annotations

from prism.lang.diagnostics import Error, Label, ProgramError, Span, render


class _Fault(Error):
    """A fault's texts, filled by the machine."""

    kind: str
    what: str
    here: str
    facts: tuple[str, ...] = ()
    advice: str = ""

    title = "{what}"
    label = "{here}"
    help_template = "{advice}"

    @property
    def notes(self) -> tuple[str, ...]:
        """What one needs to know to understand the fault."""
        return self.facts


class MachineError(ProgramError):
    """A fault of a running program: where, by which thread of which block, and against which other access.

    `trace`: the calls that led to the function in which it lies, innermost first.
    """

    code = "machine"

    def __init__(
        self,
        what: str,
        access: Span,
        *,
        here: str = "",
        other: Span | None = None,
        there: str = "",
        perspective: object = None,
        thread: int | None = None,
        block: int | None = None,
        barrier: str = "",
        notes: tuple[str, ...] = (),
        others: tuple[Label, ...] = (),
    ) -> None:
        super().__init__(what)
        self.what, self.access, self.here, self.other, self.there = what, access, here, other, there
        self.perspective, self.thread, self.block, self.barrier = perspective, thread, block, barrier
        self.notes, self.others = notes, others
        self.trace: tuple[Label, ...] = ()

    def add_calls(self, *calls: Label) -> None:
        """Add calls that led here, innermost first."""
        self.trace = (*self.trace, *calls)

    def render(self, *, colour: bool = False) -> str:
        """Return the whole message, with the lines of source."""
        labels = (*((Label(self.other, self.there),) if self.other is not None else ()), *self.others)
        place = "" if self.thread is None else f"thread {self.thread} of block {self.block}"
        notes = tuple(note for note in (place, *self.notes) if note)
        fault = type(f"_{self.code}", (_Fault,), {"code": self.code})(
            span=self.access,
            labels=labels,
            trace=self.trace,
            kind=self.code,
            what=self.what,
            here=self.here,
            facts=notes,
            advice=self.barrier,
        )
        return render(fault, colour=colour)

    def __str__(self) -> str:
        return self.render()


class RaceError(MachineError):
    """Two accesses to one location, at least one a write, with nothing that orders them."""

    code = "machine-race"


class DeadlockError(MachineError):
    """Every block waits, and none can go on."""

    code = "machine-deadlock"


class BoundsError(MachineError):
    """An index outside an array, a shared object or a local array."""

    code = "machine-bounds"


class UndefinedError(MachineError):
    """Arithmetic whose result C++ leaves open: signed overflow, division by zero, a shift by too many bits."""

    code = "machine-undefined"


class UninitialisedError(MachineError):
    """A read of shared memory or of a local that nothing has written."""

    code = "machine-uninitialised"


class MisalignedError(MachineError):
    """A vector access whose address is no multiple of its size."""

    code = "machine-misaligned"


class DivergenceError(MachineError):
    """Threads of one unit that disagree where they must agree, or that do not all run a collective."""

    code = "machine-divergence"


class BarrierError(MachineError):
    """A barrier that not all threads of its unit meet."""

    code = "machine-barrier"


class AssertError(MachineError):
    """An `assert_` that does not hold."""

    code = "machine-assert"


class AssumeError(MachineError):
    """An `assume` that does not hold."""

    code = "machine-assume"


class NoMeaningError(MachineError):
    """An intrinsic that says nothing of what it means on the CPU."""

    code = "machine-meaning"


class SpaceError(MachineError):
    """An access that needs global or shared memory, to the other."""

    code = "machine-space"


class ProxyError(MachineError):
    """An asynchronous access after a plain one of the same bytes, with no proxy fence between."""

    code = "machine-proxy"


class ArrivalError(MachineError):
    """An mbarrier at which too many arrive, too few, or at the wrong time."""

    code = "machine-arrival"


class BytesError(MachineError):
    """An mbarrier on which other bytes come in than were announced."""

    code = "machine-bytes"


class PhaseError(MachineError):
    """A wait that takes one phase of an mbarrier for another: it is more than one phase away."""

    code = "machine-phase"


class FlightError(MachineError):
    """An asynchronous operation that nobody waited for: registers touched too early, or the block's end."""

    code = "machine-flight"
