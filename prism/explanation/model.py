"""The facts that an explanation shows, gathered once: the text (`text`) and the page (`page`) are two ways to print them.

    Account = Chapter of each function, the entry first, and what the compiler of machine code said
    Chapter = lines, regions, entries (what stands before and after lines), pairs that needed nothing, partitions that are not
              proved, barriers a loop's trip, the map of shared memory, the graph

Everything here is text and numbers: no tree, no plan. What stands between lines is an `Entry`, whatever kind of step it is.
"""

from __future__ import annotations

from prism.lang.keep.bases import Value
from prism.lang.lower.pieces import Piece
from prism.lang.types.perspective import Perspective


class Spot(Value):
    """One access: `kind` (`read` ...) of `object`, spelled `text`, in code at `by`; `here`: in the function's own lines.

    `owner`: else the function whose lines these are, where that is known.
    """

    kind: str
    object: str
    text: str
    by: Perspective
    line: int
    start: int
    end: int
    here: bool = True
    owner: str = ""

    @property
    def place(self) -> str:
        """Where it stands, in words."""
        return f"line {self.line}" + (f" of `{self.owner}`" if self.owner else "")

    def __str__(self) -> str:
        return f"{self.kind} of {self.object} as `{self.text}` ({self.place})"


class Entry(Value):
    """What the compiler put before or after a line: `title` is what it is, `joins` who takes part.

    `first` and `second` are the accesses that force it (`loop`: the second one in the loop's next trip; `rounds`: so many rounds
    of a ring later); where there are none, `why` says what it is for. `kind` is what it is counted as, empty for what costs next
    to nothing.
    """

    key: str
    line: int
    column: int
    title: str
    joins: str
    side: str = "before"
    first: Spot | None = None
    second: Spot | None = None
    loop: bool = False
    why: str = ""
    kind: str = ""
    rounds: int = 0

    @property
    def counted(self) -> str:
        """The kind, if threads wait here; else nothing."""
        return self.kind if self.kind.endswith(("barrier", "wait")) else ""

    @property
    def later(self) -> str:
        """When the second access comes, as far as that is not plain."""
        if self.rounds:
            return f"{self.rounds} round{'' if self.rounds == 1 else 's'} later"
        return "in the next trip" if self.loop else ""

    @property
    def barrier(self) -> bool:
        """Whether threads meet here; otherwise it is for each thread by itself."""
        return self.counted.endswith("barrier")

    @property
    def reason(self) -> str:
        """Why it is there, as one line of text."""
        if self.first is None or self.second is None:
            return self.why
        return pair(self.first, self.second, self.later)


def pair(first: Spot, second: Spot, later: str = "") -> str:
    """Return two accesses, one after the other, in words."""
    return f"{first}, then {second}{' ' if later else ''}{later}"


class Exempt(Value):
    """Two accesses that conflict and need nothing of their own, and why; `unproved`: that they need nothing is not proved."""

    first: Spot
    second: Spot
    reason: str
    unproved: bool = False


class Unproved(Value):
    """What must hold and is not proved, nor is the opposite: `what` says what it is about; `kind` is as in `safety.Verdict`."""

    kind: str
    what: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.what} (line {self.line}): {self.reason}"


class Remark(Value):
    """What is worth knowing of a line, though nothing stands there."""

    line: int
    text: str


class Region(Value):
    """Lines `first .. last` inside a construct: `code` if its perspective is that of the code, else that of a part handed out."""

    title: str
    perspective: Perspective
    first: int
    last: int
    column: int
    code: bool


class Name(Value):
    """A name in a line, and the perspective of what it stands for."""

    start: int
    end: int
    perspective: Perspective


class Line(Value):
    """A line of source with the code's perspective in force there; `names` are those whose perspective is known."""

    number: int
    text: str
    perspective: Perspective
    names: tuple[Name, ...] = ()


class Tally(Value):
    """How many entries of one kind a thread meets: `least` and `most` over the ways through the code."""

    kind: str
    least: int
    most: int

    def __str__(self) -> str:
        number = str(self.most) if self.least == self.most else f"{self.least} to {self.most}"
        return f"{number} {self.kind}{'' if self.most == 1 else 's'}"


class Count(Value):
    """What a thread meets once in a function (`loop` None), or in each trip of a loop; loops inside are counted apart.

    `total` includes what called functions do, `own` does not. `function` is named where the loop is a called function's. Where
    threads have roles, each has counts of its own, of what those of its threads meet that have the most to do. `part` names a
    piece of a loop that was split.
    """

    loop: int | None
    text: str
    function: str
    total: tuple[Tally, ...]
    own: tuple[Tally, ...]
    role: str = ""
    part: str = ""


class Node(Value):
    """An access scope: all accesses of one object through one name, between two barriers. `row` is its place in the program."""

    object: str
    text: str
    kinds: tuple[str, ...]
    by: Perspective
    line: int
    row: int


class Edge(Value):
    """`target` may follow `source` and conflicts with it: `entry` orders them, or (empty) nothing need, and `reason` says why."""

    source: int
    target: int
    loop: bool
    entry: str
    reason: str


class Crossing(Value):
    """An entry as the graph shows it: a line across all objects, at its place in the program."""

    entry: Entry
    row: int


class Span(Value):
    """A loop as the graph shows it: rows `first .. last`."""

    line: int
    first: int
    last: int


class Graph(Value):
    """The data-control-flow graph: nodes by object and place, edges where one may follow another that it conflicts with."""

    objects: tuple[str, ...]
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    crossings: tuple[Crossing, ...]
    loops: tuple[Span, ...]


class Duty(Value):
    """A role: threads `first .. first + size - 1` of a block, whose name is the program's, or says which they are."""

    name: str
    first: int
    size: int

    @property
    def threads(self) -> str:
        """Which threads they are."""
        return f"threads {self.first} to {self.first + self.size - 1}" if self.size > 1 else f"thread {self.first}"

    def __str__(self) -> str:
        return self.threads if self.name == self.threads else f"{self.name}, {self.threads}"


class Chapter(Value):
    """One function."""

    name: str
    file: str
    line: int
    bound: str
    template: tuple[tuple[str, str], ...]
    lines: tuple[Line, ...]
    regions: tuple[Region, ...]
    entries: tuple[Entry, ...]
    exempts: tuple[Exempt, ...]
    unproved: tuple[Unproved, ...]
    remarks: tuple[Remark, ...]
    counts: tuple[Count, ...]
    bytes: int
    pieces: tuple[Piece, ...]
    graph: Graph
    duties: tuple[Duty, ...] = ()
    sized: tuple[str, ...] = ()
    """Shared objects whose length the launch says, each with what an element takes."""

    @property
    def memory(self) -> str:
        """How much shared memory it has; nothing where it has none."""
        if not self.bytes and not self.sized:
            return ""
        return f"{self.bytes} bytes{', and more as each launch says' if self.sized else ''}"

    @property
    def barriers(self) -> int:
        """How many entries are barriers, at which threads meet."""
        return sum(entry.barrier for entry in self.entries)

    @property
    def waits(self) -> int:
        """How many entries make a thread wait for what others, or copies, have done."""
        return sum(bool(entry.counted) and not entry.barrier for entry in self.entries)

    def entries_at(self, number: int, side: str) -> tuple[Entry, ...]:
        """Return what stands before or after a line."""
        return tuple(entry for entry in self.entries if entry.line == number and entry.side == side)


class Resources(Value):
    """What the compiler of machine code said of a kernel: registers a thread, bytes of stack and bytes spilled."""

    arch: str
    registers: int
    stack: int
    spills: int

    def __str__(self) -> str:
        more = [f"{n} bytes {what}" for n, what in ((self.stack, "of stack"), (self.spills, "spilled")) if n]
        return f"{self.registers} registers a thread on {self.arch}" + "".join(f", {text}" for text in more)


class Account(Value):
    """A program explained; `resources` is text where there is nothing to say, and why."""

    chapters: tuple[Chapter, ...]
    resources: Resources | str
