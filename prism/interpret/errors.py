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

    def __init_subclass__(cls, *, code: str) -> None:
        cls.code = code

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


class RaceError(MachineError, code="machine-race"):
    """Two accesses to one location, at least one a write, with nothing that orders them."""


class DeadlockError(MachineError, code="machine-deadlock"):
    """Every block waits, and none can go on."""


class BoundsError(MachineError, code="machine-bounds"):
    """An index outside an array, a shared object or a local array."""


def index_refused(name: str, error: IndexError, span: Span, perspective: object, block: int) -> BoundsError:
    """Return the error of an index that NumPy refused: what a run without checks finds out of bounds."""
    return BoundsError(f"`{name}`: {error}", span, perspective=perspective, block=block)


class UndefinedError(MachineError, code="machine-undefined"):
    """Arithmetic whose result C++ leaves open: signed overflow, division by zero, a shift by too many bits."""


class UninitialisedError(MachineError, code="machine-uninitialised"):
    """A read of shared memory or of a local that nothing has written."""


class MisalignedError(MachineError, code="machine-misaligned"):
    """A vector access whose address is no multiple of its size."""


class DivergenceError(MachineError, code="machine-divergence"):
    """Threads of one unit that disagree where they must agree, or that do not all run a collective."""


class BarrierError(MachineError, code="machine-barrier"):
    """A barrier that not all threads of its unit meet."""


class AssertError(MachineError, code="machine-assert"):
    """An `assert_` that does not hold."""


class AssumeError(MachineError, code="machine-assume"):
    """An `assume` that does not hold."""


class NoMeaningError(MachineError, code="machine-meaning"):
    """An intrinsic that says nothing of what it means on the CPU."""


class ProxyError(MachineError, code="machine-proxy"):
    """An asynchronous access after a plain one of the same bytes, with no proxy fence between."""


class ArrivalError(MachineError, code="machine-arrival"):
    """An mbarrier at which too many arrive, too few, or at the wrong time."""


class BytesError(MachineError, code="machine-bytes"):
    """An mbarrier on which other bytes come in than were announced."""


class PhaseError(MachineError, code="machine-phase"):
    """A wait that takes one phase of an mbarrier for another: it is more than one phase away."""


class FlightError(MachineError, code="machine-flight"):
    """An asynchronous operation that nobody waited for: registers touched too early, or the block's end."""
