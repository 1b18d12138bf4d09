"""What a skeleton is made of: functions as calls run them, loops, objects, and accesses with the calls on the way to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from prism.lang import tree
from prism.lang.barriers import flow
from prism.lang.barriers.objects import Objects
from prism.lang.barriers.walk_access import call_touch, pointer_of
from prism.lang.barriers.walk_context import Place
from prism.lang.facts.definitions import Facts
from prism.lang.facts.equivalence import Alike
from prism.lang.facts.touches import Exposed, Touch
from prism.lang.skeleton.pointers import Values, resolutions
from prism.lang.skeleton.rings import Unsaid
from prism.lang.tree.plan import Plan
from prism.lang.types.perspective import WARP, Perspective


@dataclass(eq=False, slots=True)
class Frame:
    """A function as one call runs it, or the kernel. `base`: where its shared memory begins.

    It has what `make_touch` asks of a walk: the function's objects, and the accesses made so far.
    """

    function: tree.Function
    plan: Plan
    objects: Objects
    base: int
    caller: Frame | None = None
    call: tree.Call | None = None
    given: Mapping[tree.Symbol, tree.Expr] = field(default_factory=dict)
    place: Place | None = None
    """Where the call stands."""
    names: tuple[Values, ...] = ({},)
    """What the caller's pointers may name at the call."""
    opens: Mapping[tree.Symbol, int] = field(default_factory=dict)
    touches: dict[tuple[object, ...], Touch] = field(default_factory=dict)
    alike: Alike | None = None
    depth: int = 0

    @property
    def known(self) -> Facts:
        """What the function's text says of its names."""
        return self.objects.known


@dataclass(eq=False, slots=True)
class Loop:
    """A loop as one frame runs it."""

    number: int
    frame: Frame
    statement: tree.Stmt
    around: tuple[Loop, ...]


def parting(one: Made, two: Made) -> Loop | None:
    """Return a loop of which two accesses are in different trips, as each trip stands by itself, or one is of the last alone."""
    last = (loop for loop in one.loops if loop in two.loops and (loop in one.ended) != (loop in two.ended))
    if (outer := next(last, None)) is not None:
        return outer
    differ = ((a, b) for a, b in zip(one.loops, two.loops, strict=False) if a is not b)
    found = next(differ, None)
    return found[0] if found is not None and found[0].statement is found[1].statement else None


@dataclass(eq=False, slots=True)
class Link:
    """An access as one frame's function sees it: its own, or a call's. `opened`: the number of loops around each open view."""

    frame: Frame
    touch: Touch
    opened: Mapping[tree.Symbol, int]


@dataclass(eq=False, slots=True)
class Made:
    """An access of the skeleton: `links` from the frame whose object it is to that in which it stands."""

    number: int
    object: int
    kind: str
    links: tuple[Link, ...]
    loops: tuple[Loop, ...]
    lanes: int = WARP
    """Of each warp, the first so many threads alone make it."""
    ended: frozenset[Loop] = frozenset()
    """The loops in whose last trip alone it is made: other accesses in these loops are of other trips."""

    @property
    def words(self) -> str:
        """Where it stands, and how it is spelled there."""
        access = self.links[-1].touch.access
        return f"{access.span.file.rpartition('/')[2]}:{access.span.line} {access.text}"


@dataclass(eq=False, slots=True)
class Object:
    """An object: its name, where its bytes are (shared memory), whose it is; parameters have names alone."""

    number: int
    name: str
    owner: Perspective
    symbol: tree.Symbol
    frame: Frame
    start: int = 0
    end: int = 0
    filled: int | None = None
    """Of a ring: the mbarriers that say that a copy is filled."""


def views_in(opens: Mapping[tree.Symbol, int], place: Place) -> Mapping[tree.Symbol, int]:
    """Return the views that are open at a place, with the number of loops around each."""
    return {view: opens[view] for view in place.opened}


def find_behind(frame: Frame, links: list[Link]) -> Iterator[tuple[Frame, list[Link]]]:
    """Yield the frame whose object an access is to, with what each call on the way passes: once for each that it may be."""
    inner = links[-1].touch
    if not inner.root.parameter or frame.caller is None or frame.place is None or frame.call is None:
        yield frame, links
        return
    exposed = Exposed(inner.root, inner.kind, inner.access, None, inner.how, flow.overlap_unit(inner))
    which = ("certified", inner.root, inner.kind, inner.how, flow.overlap_unit(inner))
    given = pointer_of(frame.given[inner.root])
    if given is None:
        raise Unsaid(6, f"what `{inner.root.name}` points to")
    for env in resolutions(given, frame.names):
        found = call_touch(frame.caller, frame.place, env, frame.call, exposed, which)  # type: ignore[arg-type]
        assert found is not None
        yield from find_behind(frame.caller, [*links, Link(frame.caller, found, views_in(frame.opens, frame.place))])
