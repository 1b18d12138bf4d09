"""The skeleton of a lowered kernel: what is left of its text and its plan when values are gone. Calls stand inline.

Each statement gives the steps that the plan puts before it, as they are emitted, its accesses in the order of evaluation, what is
inside it, and the steps behind it. An access that is made again at the same place of the same loop, to the same elements, is the
same access.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby

from prism.lang import tree
from prism.lang.barriers.conditions import Condition
from prism.lang.barriers.objects import objects, range_of
from prism.lang.barriers.pointers import pointer_change
from prism.lang.barriers.walk_access import harmless, make_touch
from prism.lang.barriers.walk_context import Place
from prism.lang.facts.budget import most_threads
from prism.lang.facts.definitions import facts, surely_entered
from prism.lang.facts.touches import Use, declared_fragment, in_memory, uses_of
from prism.lang.skeleton.cases import NONE, Questions, questions_of
from prism.lang.skeleton.clusters import gathers
from prism.lang.skeleton.frames import Frame, Link, Loop, Made, Object, find_behind, views_in
from prism.lang.skeleton.pointers import Names, Values, resolutions, union
from prism.lang.skeleton.rings import GROUPED, Rings, Unsaid, barrier, constraints, is_copy, is_ring, rounds
from prism.lang.skeleton.turns import passage
from prism.lang.tree.plan import Barrier, Lowered, Op, Program
from prism.lang.tree.walk import statements, terms
from prism.lang.types.perspective import BLOCK, THREAD, WARP, Level, Perspective, meet

Body = tuple[object, ...]


Beyond = Unsaid
"""Something that a skeleton cannot say yet."""


class Maker:
    """Makes the skeleton of one program."""

    def __init__(self, lowered: Lowered, program: Program) -> None:
        self.lowered, self.program = lowered, program
        self.threads = most_threads(self.program.entry)
        self.objects: dict[tuple[Frame, tree.Symbol], Object] = {}
        self.made: list[Made] = []
        self.known: dict[object, Made] = {}
        self.loops: list[Loop] = []
        self.fragments: dict[tuple[Frame, tree.Symbol], int] = {}
        self.lent: set[int] = set()
        """The fragments that products read or add to."""
        self.rings = Rings(self.threads)
        self.endless: set[int] = set()
        """The loops that only jumps end."""
        self.vague = ""
        """What is not kept of which way was taken, where anything is not: so an order may be missed."""

    def body(self) -> Body:
        """Return the kernel's body."""
        entry = self.program.entry
        frame, plan = self.frame(entry, 0), self.program.plans[entry]
        meeting = (("bar", Perspective(Level.BLOCK, entry.bound.block or 1), "warp"),)
        found = Walker(self, frame, (), 0).whole(Place(entry.bound.code))
        return (*(meeting if plan.begins else ()), *found, *(meeting if plan.ends else ()))

    def frame(self, function: tree.Function, base: int, **more: object) -> Frame:
        """Return a function as it is run once."""
        known = facts(function, self.threads)
        found = known.found.get("certified")
        if found is None:
            found = known.found["certified"] = objects(known, self.program.layouts)
        return Frame(function, self.program.plans[function], found, base, **more)  # type: ignore[arg-type]

    def object(self, frame: Frame, symbol: tree.Symbol) -> Object:
        """Return the object behind a name of a frame that is no parameter of a call."""
        key = (frame, symbol)
        if key not in self.objects:
            found = Object(len(self.objects), symbol.name, symbol.perspective, symbol, frame)
            if not symbol.parameter:
                first, last = range_of(self.program.layouts[frame.function], symbol)
                found.start, found.end = frame.base + first, frame.base + last
                found.filled = self.rings.mbarrier_of(frame, symbol) if is_ring(symbol) else None
                found.owner = max(symbol.perspective, BLOCK)
            self.objects[key] = found
        return self.objects[key]


POINTERS = "pointers that name one object in one trip and another in the next"
BRANCHES = "a condition that changes in a branch, and is asked again behind it"
MOST_TAILS = 3
"""Branches in one another behind which what follows is written once for each way."""
KINDS = {"atomic of a block": "atomic_block"}
MOST_LOADS = 8
"""Trips of a loop in a round that has loads."""
ROWS = 8
"""Of a matrix that `stmatrix` stores: as many lanes name one each."""


@dataclass(eq=False, slots=True)
class Walker:
    """Walks one frame's text. `loops`: those around it; `opens`: how many were around each view when it was opened."""

    maker: Maker
    frame: Frame
    loops: tuple[Loop, ...]
    base: int
    opens: dict[tree.Symbol, int] = field(default_factory=dict)
    index: tuple[int, int] = (0, 0)
    """A thread's index in the present code is its number in the block, modulo the first unless that is 0, less the second."""
    before: Mapping[tree.Stmt, tuple[Barrier | Op, ...]] = field(default_factory=dict)
    after: Mapping[tree.Stmt, tuple[Barrier | Op, ...]] = field(default_factory=dict)
    names: Names = field(default_factory=Names)
    questions: Questions = field(default_factory=lambda: NONE)
    tails: int = 0
    """How often what follows a branch stands in both of its ways here."""
    cases: Mapping[Condition, bool] = field(default_factory=dict)
    """Conditions whose two cases are told apart, and which of them this is."""
    batch: tuple[Loop, ...] | None = None
    """The loops around the statement of one group of `wgmma` that this is in."""

    def body(self, body: tree.Body, place: Place) -> Body:
        """Return the skeleton of a statement list."""
        self.maker.rings.ends_group()
        found = self.part(body, place)
        self.maker.rings.ends_group()
        return found

    def part(self, body: tree.Body, place: Place) -> Body:
        """Return the skeleton of a list that is surely a part of the one around: a group may begin in it and end behind it."""
        return rounds(tuple(self._statements(body, place)))

    def whole(self, place: Place) -> Body:
        """Return the skeleton of the frame's function."""
        self.before, self.after = self.frame.plan.before(), self.frame.plan.after()
        self.questions = questions_of(self.frame.known)
        found = self.body(self.frame.function.body, place)
        ends = [s for s in statements(self.frame.function.body) if isinstance(s, tree.Return)]
        early = [s for s in ends if s is not self.frame.function.body[-1]]
        return (("scope", found),) if early else found

    def _statements(self, body: tree.Body, place: Place) -> Iterator[object]:
        here, at = self, 0
        while at < len(body):
            if (groups := here.names.groups(body[at:])) is not None:
                yield from here.tell_apart(body[at:], place, *groups)
                return
            s, start = body[at], at
            if isinstance(s, tree.If) and here.changes_what_is_asked(s, body[at + 1 :]):
                yield from here.with_tail(s, body[at + 1 :], place)
                return
            if (found := here.find_asked(body, at)) is not None:
                condition, by, end = found
                walkers = (replace(here, cases={**here.cases, condition: truth}) for truth in (True, False))
                cases = here.names.either(*(partial(one.body, body[at:end], place) for one in walkers))
                yield ("if", by, *cases)
                at = end
            else:
                yield from here.steps(here.before.get(s, ()))
                yield from here.statement(s, place)
                yield from here.steps(here.after.get(s, ()))
                if here.maker.rings.issued and not here.batch:
                    yield from here.maker.rings.part()
                at += 1
            passed = (here.questions.changes(one) for one in body[start:at]) if here.cases else ()
            if gone := here.cases.keys() & frozenset().union(*passed):
                here = replace(here, cases={c: truth for c, truth in here.cases.items() if c not in gone})

    def tell_apart(self, body: tree.Body, place: Place, by: Perspective, groups: list[tuple[Values, ...]]) -> Body:
        """Return the rest of a list, once for each value that pointers of a block may have here."""
        found: Body = ()
        ends: list[tuple[Values, ...]] = []
        self.maker.vague = POINTERS
        for values in groups:
            self.names.now = values
            rest = self.body(body, place)
            found = (("if", by, rest, found),) if ends and (rest or found) else rest
            ends.append(self.names.now)
        self.names.now = union(*ends)
        return found

    def changes_what_is_asked(self, s: tree.If, rest: tree.Body) -> bool:
        """Whether a branch changes a condition that what follows asks: on the other way it is as it was."""
        changed = self.questions.changes(s)
        if not changed or self.questions.truth(s, self.cases) is not None:
            return False
        if not any(changed & self.questions.asks(later).keys() for later in rest):
            return False
        if self.tails >= MOST_TAILS:
            self.maker.vague = self.maker.vague or BRANCHES
        return self.tails < MOST_TAILS

    def with_tail(self, s: tree.If, rest: tree.Body, place: Place) -> Iterator[object]:
        """Yield a branch with what follows it in both of its ways."""
        yield from self.steps(self.before.get(s, ()))
        yield from self.uses(s, place)
        yes, no = self.questions.known_inside(s, self.cases)
        ways = [
            partial(replace(self, cases=cases, tails=self.tails + 1).body, (*way, *rest), place)
            for cases, way in ((yes, s.then), (no, s.otherwise))
        ]
        yield ("if", s.condition.perspective, *self.names.either(*ways))

    def find_asked(self, body: tree.Body, at: int) -> tuple[Condition, Perspective, int] | None:
        """Return a condition that a statement asks, who decides on it, and where the last one ends that asks it unchanged."""
        asks = self.questions.asks
        for condition, by in asks(body[at]).items():
            if condition in self.cases:
                continue
            end = at
            for place in range(at + 1, len(body)):
                if condition in self.questions.changes(body[place - 1]):
                    break
                if condition in asks(body[place]):
                    end, by = place, meet(by, asks(body[place])[condition])
            if end > at and not self.has_operations(body[at : end + 1]):
                return condition, by, end + 1
        return None

    def has_operations(self, body: tree.Body) -> bool:
        """Whether operations of rings stand beside statements, anywhere inside: a round has each of them once."""
        beside = (step for s in statements(body) for step in (*self.before.get(s, ()), *self.after.get(s, ())))
        return any(not isinstance(step, Barrier) for step in beside)

    def steps(self, steps: tuple[Barrier | Op, ...]) -> Iterator[object]:
        """Yield steps of the plan, as they are emitted; those of one path together."""
        for path, group in groupby(steps, lambda step: getattr(step, "path", ())):
            found: Body = tuple(one for step in group for one in self.step(step))
            for n, low, high in [*constraints(path, self.maker.threads)][::-1] if found else ():
                found = (("only", n, low, high, found),)
            yield from found

    def step(self, step: Barrier | Op) -> Body:
        """Return a step of the plan, as it is emitted."""
        if isinstance(step, Barrier):
            return (barrier(step, self.maker.lowered),)
        return self.maker.rings.step(self.frame, step)

    def uses(self, s: tree.Stmt, place: Place) -> Iterator[object]:
        """Yield what a statement itself touches; what one copy touches, together."""
        for by, group in groupby(uses_of(self.frame.known, s), lambda use: use.by if is_copy(use) else None):
            uses = list(group)
            if by is None:
                for use in uses:
                    yield from self.rows(s, use, place)
            else:
                yield from self.copy(by, uses, place)

    def rows(self, s: tree.Stmt, use: Use, place: Place) -> Iterator[object]:
        """Yield an access: where each lane stores the row that it names, those of the lanes whose rows there are."""
        found = tuple(self.use(use, place))
        call = s.value if isinstance(s, tree.Evaluate) else None
        if found and use.kind == "write" and isinstance(call, tree.Apply) and call.intrinsic.name == "stmatrix":
            words = call.arguments[1].type
            assert isinstance(words, tree.Array)
            lanes = ROWS * words.size
            for one in found:
                if lanes < WARP and one[0] == "acc":  # type: ignore[index]
                    self.maker.made[one[1]].lanes = lanes  # type: ignore[index]
            found = found if lanes == WARP else (("only", WARP, 0, lanes, found),)
        yield from found

    def copy(self, by: tree.Apply, uses: list[Use], place: Place) -> Iterator[object]:
        """Yield an asynchronous copy."""
        found: list[int] = []
        for use in uses:
            one = self.access(use, place)
            if len(one) != 1 or one[0][0] != "acc" or use.conditional:  # type: ignore[index]
                raise Beyond(3, "a copy whose pointers may name several objects")
            found.append(one[0][1])  # type: ignore[index]
        objects = list(self.maker.objects.values())
        ring = any(objects[self.maker.made[i].object].filled is not None for i in found)
        yield from self.maker.rings.issue(self.frame, by, uses[0].how, found, ring)

    def statement(self, s: tree.Stmt, place: Place) -> Iterator[object]:  # noqa: C901
        """Yield what one statement does."""
        yield from self.uses(s, place)
        yield from gathers(s, self.maker.program)
        match s:
            case tree.Declare() | tree.Assign() | tree.Evaluate():
                if (fragment := declared_fragment(s)) is not None:
                    yield self.registers(fragment)
                if (change := pointer_change(s)) is not None:
                    self.names.assign(*change)
            case tree.If() if self.questions.truth(s, self.cases) is not None:
                yield from self.part(s.then if self.questions.truth(s, self.cases) else s.otherwise, place)
            case tree.If():
                yes, no = self.questions.known_inside(s, self.cases)
                then, otherwise = self.names.either(
                    partial(replace(self, cases=yes).body, s.then, place),
                    partial(replace(self, cases=no).body, s.otherwise, place),
                )
                if then or otherwise:
                    yield ("if", s.condition.perspective, then, otherwise)
            case tree.While() | tree.For():
                yield from self.loop(s, place)
            case tree.Group():
                yield from self.among(self.count_in(s.unit)).part(s.body, place.enter(s.unit, s.unit))
            case tree.Split():
                yield from self.split(s, place)
            case tree.Partition() | tree.Claim():
                self.opens[s.view] = len(self.loops)
                yield from self.part(s.body, place.open(s.view, isinstance(s, tree.Claim)))
            case tree.Break() | tree.Continue():
                self.names.jump()
                yield (type(s).__name__.lower(),)
            case tree.Return():
                if s is not self.frame.function.body[-1]:
                    yield ("leave",)
            case tree.Async():
                yield from self.part(s.body, place)
            case tree.Batch():
                yield from replace(self, batch=self.loops).body(s.body, place)
            case tree.Turns():
                yield from passage(self.maker.rings, self.frame, s, self.names, partial(self.body, s.body, place))
            case tree.Specialise():
                raise Beyond(2, "roles that have a body each, without the text before")
            case _:
                pass

    def among(self, index: tuple[int, int]) -> Walker:
        """Return the walker where a thread's index is another one."""
        return replace(self, index=index)

    def count_in(self, unit: Perspective) -> tuple[int, int]:
        """Return how a thread is counted in the code of a unit inside the present one."""
        return (unit.size, 0) if unit.level == Level.THREAD else self.index

    def split(self, s: tree.Split, place: Place) -> Iterator[object]:
        """Yield the arms of a split: those of blocks as decisions that the blocks of an arm agree on."""
        walks = []
        for arm in s.arms:
            inner = place.enter(Perspective(s.level, arm.size), (s.level, arm.first, arm.size))
            index = self.index if s.level == Level.BLOCK else (self.index[0], self.index[1] + arm.first)
            walks.append(partial(self.among(index).body, arm.body, inner))
        found = [*zip(s.arms, self.names.either(*walks, lambda: ()), strict=False)]
        if s.level == Level.BLOCK:
            ways: Body = ()
            for arm, body in reversed(found):  # a block runs one arm at most
                ways = (("if", Perspective(s.level, arm.size), body, ways),) if body or ways else ()
            yield from ways
            return
        for arm, body in found:
            modulus, first = self.index
            low = first + arm.first
            if body:
                all_ = low == 0 and low + arm.size >= (modulus or self.maker.threads)
                yield from body if all_ else [("only", modulus, low, low + arm.size, body)]

    def loop(self, s: tree.While | tree.For, place: Place) -> Iterator[object]:
        """Yield a loop; one trip that is sure is no loop, and one that may be is a condition."""
        decides = [s.condition] if isinstance(s, tree.While) else [s.start, s.stop, s.step]
        by = meet(*(e.perspective for e in decides))
        known = self.frame.known
        if isinstance(s, tree.For) and (s.once or known.trips.get(s.symbol) == 1):
            sure = surely_entered(s)
            if found := self.names.repeat(partial(self.part if sure else self.body, s.body, place)):
                once = ("once", found)
                yield once if sure else ("if", by, (once,), ())
            return
        for _ in range(self.loads_in(s)):
            # So many loads of a round arrive: each trip stands by itself.
            yield from self.walker_in(s).part(s.body, place)
        if self.loads_in(s):
            return
        inner = self.walker_in(s)
        loop = inner.loops[-1]
        self.maker.rings.ends_group()
        if found := self.names.repeat(partial(self.maker.rings.walk_loop, partial(inner.part, s.body, place))):
            endless = isinstance(s, tree.While) and isinstance(s.condition, tree.Const) and bool(s.condition.value)
            self.maker.endless |= {loop.number} if endless else set()
            sure = endless or (isinstance(s, tree.For) and surely_entered(s))
            yield ("loop1" if sure else "loop", loop.number, by, found)

    def walker_in(self, s: tree.While | tree.For) -> Walker:
        """Return the walker in a loop."""
        loop = Loop(len(self.maker.loops), self.frame, s, self.loops)
        self.maker.loops.append(loop)
        gone = self.questions.changes(s)
        cases = {c: truth for c, truth in self.cases.items() if c not in gone}
        return replace(self, loops=(*self.loops, loop), cases=cases)

    def loads_in(self, s: tree.While | tree.For) -> int:
        """Return how many trips a loop with loads of a ring has: a few, which are known."""
        trips = self.frame.known.trips.get(s.symbol, 0) if isinstance(s, tree.For) else 0
        inner = list(statements(s.body)) if 0 < trips <= MOST_LOADS else []
        if any(isinstance(one, tree.Break | tree.Continue | tree.Return) for one in inner):
            return 0
        return trips if any(part in self.frame.plan.completes for one in inner for part in terms(one)) else 0

    # -- accesses

    def use(self, use: Use, place: Place) -> Iterator[object]:
        """Yield an access, or what a call does."""
        found: tuple[object, ...]
        if isinstance(use.expression, tree.Call):
            found = self.call(use.expression, place)
        elif isinstance(use.expression.symbol.root().type, tree.Fragment):
            yield self.registers(use.expression.symbol.root(), use)
            return
        elif use.how in GROUPED:
            self.issue(use, place)
            return
        elif use.how:
            raise Beyond(3, "asynchronous copies")
        elif in_memory(use.expression.symbol.root()):
            found = self.access(use, place)
        else:
            return
        if found and use.conditional:
            yield ("if", place.code, found, ())
        else:
            yield from found

    def registers(self, fragment: tree.Symbol, use: Use | None = None) -> Body:
        """Return what is done with a fragment: by the thread itself, or by the products that come next."""
        frame = self.frame
        while fragment.parameter and frame.caller is not None and isinstance(given := frame.given[fragment], tree.Var):
            fragment, frame = given.symbol.root(), frame.caller
        number = self.maker.fragments.setdefault((frame, fragment), len(self.maker.fragments))
        if use is not None and use.how:
            self.maker.lent.add(number)
        kind = "write" if use is None or use.kind != "read" else "read"
        return ("lend" if use is not None and use.how else "own", kind, number)

    def issue(self, use: Use, place: Place) -> None:
        """Note what an engine does for the thread, in the group that is closed behind the statement."""
        found = self.access(use, place)
        if len(found) != 1 or found[0][0] != "acc" or use.conditional:  # type: ignore[index]
            raise Beyond(3, "copies whose pointers may name several objects")
        if use.kind not in ("read", "write", "atomic"):
            raise Beyond(3, "asynchronous sums")
        if self.batch is not None and self.loops != self.batch:
            raise Beyond(3, "loops in one group of `wgmma`")
        how = use.how if use.kind == "read" else "out"
        if how == "out" and use.how != "bulk":
            raise Beyond(3, "groups of `wgmma` that write memory")
        self.maker.rings.issued.append((how, found[0][1]))  # type: ignore[index]

    def call(self, call: tree.Call, place: Place) -> Body:
        """Return what a call does."""
        function = call.function
        layout = self.maker.program.layouts[self.frame.function]
        base = self.base + layout.frame.get(id(call), 0)
        given = dict(zip(function.parameters, call.arguments, strict=False))
        frame = self.maker.frame(
            function, base, caller=self.frame, call=call, given=given, place=place, depth=self.frame.depth + 1
        )
        frame.names, frame.opens = self.names.now, dict(self.opens)
        index = self.index if function.bound.code == place.code else self.count_in(function.bound.code)
        return Walker(self.maker, frame, self.loops, base, self.opens, index).whole(Place(function.bound.code))

    def access(self, use: Use, place: Place) -> Body:
        """Return an access: where a pointer may have one of several values, to one of several objects."""
        found: Body = ()
        for env in resolutions(use.expression.symbol, self.names.now):  # type: ignore[union-attr]
            touch = make_touch(self.frame, place, env, use)  # type: ignore[arg-type]
            for frame, links in find_behind(self.frame, [Link(self.frame, touch, self.open_views(place))]):
                one = (("acc", self.number(frame, tuple(links[::-1]), touch.kind)),)
                self.maker.vague = POINTERS if found else self.maker.vague
                found = found if found == one else (("if", THREAD, one, found),) if found else one
        return found

    def number(self, frame: Frame, links: tuple[Link, ...], kind: str) -> int:
        """Return the number of an access."""
        maker, inner = self.maker, links[0].touch
        root = maker.object(frame, inner.root)
        key = (root.number, *((link.frame, link.touch.likeness) for link in links), self.loops)
        if key not in maker.known:
            # An atomic load of what nobody may write is a load.
            kind = "read" if harmless(maker.program.entry, inner) else KINDS.get(kind, kind)
            maker.known[key] = Made(len(maker.made), root.number, kind, links, self.loops)
            maker.made.append(maker.known[key])
        return maker.known[key].number

    def open_views(self, place: Place) -> Mapping[tree.Symbol, int]:
        """Return the views that are open at a place, with the number of loops around each."""
        return views_in(self.opens, place)
