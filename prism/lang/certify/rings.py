"""The rules of rings: which waits and arrivals a round has, and which accesses a ring. Names are those of theory/proofs.

outer  all that belongs to a cycle stands in its rounds, which all threads of a block make, or none
turns  who arrives has waited for the other direction; who waits is followed by one who arrives; arrivals are as many as counted
fill   a copy is filled behind the waits for it to be free, and before it is said to be filled
read   a copy is read behind the wait for it to be filled, and before it is said to be free
drains who arrives some rounds late arrives behind the loop for the rounds that are left
quiet  what engines touch beside their rings is written by nobody else, or apart
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

from prism.lang.certify.places import (
    ISSUED,
    LANE,
    OUT,
    PRODUCTS,
    TELLS,
    Failed,
    Mbarrier,
    Path,
    Site,
    Where,
    accesses_of,
    events,
    implies,
    keeps_drains,
    loops_of,
    sites_of,
)  # fmt: skip
from prism.lang.certify.text import Certificate, Statement, Unit


class Rings:
    """The rules of one certificate. `checker`: the rules of barriers."""

    def __init__(self, certificate: Certificate, checker: Any) -> None:
        self.checker, self.threads, self.body = checker, certificate.threads, certificate.body
        self.certificate = certificate
        self.mbarriers = {i: Mbarrier(i, *row[:5]) for i, row in certificate.mbarriers.items()}
        self._threads: dict[Where, frozenset[int]] = {}

    def valid(self) -> None:
        """Raise Failed by the first rule that fails."""
        every = self.every
        for c in dict.fromkeys(c for e in every for c in self.cycles_of(e)):
            self.outer(c, self.body, wide=True)
            bodies = list(self.bodies(c, self.body))
            if len(bodies) != 1:
                raise Failed("the rounds of a ring stand in several places, or nowhere")
            Round(self, c, bodies[0]).valid()
        self.quiet()
        for e in every:
            if e[0] in ISSUED:
                self.goes(e)

    def goes(self, e: Statement) -> None:
        """Rule `goes`: what an engine does is waited for, as it is to a ring; or it is what stores write to the grid's memory."""
        inner = accesses_of(e)
        if e[:2] == ("group", OUT):
            if any(self.mbarrier_of(i) or self.checker.le(self.checker.space(i), "block") for i in inner):
                raise Failed("nobody waits for what a store writes to a block's memory")
        elif not any(map(self.mbarrier_of, inner)):
            raise Failed("a copy goes to no ring, so nobody waits for it")

    @cached_property
    def every(self) -> list[Statement]:
        """All that the body may do."""
        return list(events(self.body))

    @cached_property
    def sites(self) -> list[Site]:
        """What the body does, with the constraints around."""
        return list(sites_of(self.body, (), (), deep=True))

    def mbarrier_of(self, i: int) -> Mbarrier | None:
        """Return the mbarriers that say that a copy of an access's ring is filled."""
        return self.mbarriers.get(self.certificate.rings.get(self.certificate.accesses[i][0], -1))

    def share_cycle(self, i: int, j: int) -> bool:
        """Whether two accesses are to rings of one cycle."""
        one, two = self.mbarrier_of(i), self.mbarrier_of(j)
        return one is not None and two is not None and one.cycle == two.cycle

    def operand(self, e: Statement) -> Mbarrier | None:
        """Return the mbarriers that something is done with."""
        return self.mbarriers[e[1]] if e[0] in ("wait", *TELLS) else None

    def cycles_of(self, e: Statement) -> Iterator[int]:
        """Yield the cycles that something belongs to."""
        found = (self.operand(e), *map(self.mbarrier_of, accesses_of(e)))
        yield from (m.cycle for m in found if m is not None)
        if e[0] == "drain":
            yield self.mbarriers[e[1]].cycle

    def steps(self, c: int, e: Statement) -> bool:
        """Whether something is an operation of a cycle."""
        mbarrier = self.operand(e)
        return e == ("end", c) or (mbarrier is not None and mbarrier.cycle == c)

    def threads_under(self, where: Where) -> frozenset[int]:
        """Return the threads of a block that satisfy constraints."""
        if where not in self._threads:
            self._threads[where] = frozenset(
                t for t in range(self.threads) if all(lo <= (t % n if n else t) < hi for n, lo, hi in where)
            )
        return self._threads[where]

    def outer(self, c: int, s: Statement, wide: bool) -> None:  # noqa: C901
        """Rule `outer`; `wide`: all threads of a block come here, or none."""
        match s:
            case ("seq", *inner):
                for part in inner:
                    self.outer(c, part, wide)
            case ("round", d, inner) if d == c:
                if not wide:
                    raise Failed("not all threads of a block make the same rounds of a ring")
                self.flat(c, inner)
            case ("round", _, inner):
                self.outer(c, inner, wide)
            case ("if", u, *inner):
                for part in inner:
                    self.outer(c, part, wide and self.checker.le("block", u))
            case ("loop" | "loop1", _, u, inner):
                self.outer(c, inner, wide and self.checker.le("block", u))
            case ("only", _, _, _, inner):
                self.outer(c, inner, wide=False)
            case ("drain", _):
                pass
            case _:
                if self.steps(c, s) or c in self.cycles_of(s):
                    raise Failed("a ring is used outside of its rounds")

    def flat(self, c: int, s: Statement) -> None:
        """Rule `flat`: no operation of a cycle stands under a decision."""
        match s:
            case ("seq", *inner):
                for part in inner:
                    self.flat(c, part)
            case ("only", _, _, _, inner):
                self.flat(c, inner)
            case ("round", d, inner):
                if c == d:
                    raise Failed("a round stands in a round")
                self.flat(c, inner)
            case ("if" | "loop" | "loop1", *_):
                if any(self.steps(c, e) or self.is_drain(c, e) for e in events(s)):
                    raise Failed("a wait or an arrival of a ring stands under a condition")
            case _:
                if self.is_drain(c, s):
                    raise Failed("arrivals for the rounds that are left stand in a round")

    def is_drain(self, c: int, e: Statement) -> bool:
        """Whether something arrives for the rounds of a cycle that are left."""
        return e[0] == "drain" and self.mbarriers[e[1]].cycle == c

    def bodies(self, c: int, s: Statement) -> Iterator[Statement]:
        """Yield the rounds of a cycle."""
        match s:
            case ("round", d, inner) if d == c:
                yield inner
            case ("round", _, inner):
                yield from self.bodies(c, inner)
            case ("seq", *parts) | ("if", _, *parts):
                for part in parts:
                    yield from self.bodies(c, part)
            case ("loop" | "loop1", _, _, inner) | ("only", _, _, _, inner):
                yield from self.bodies(c, inner)
            case _:
                pass

    def follow(self, m: Mbarrier, where: Where, s: Statement) -> bool:
        """Whether each round in a statement is followed there by arrivals for what is left, of threads under constraints."""
        match s:
            case ("seq", *inner):
                found = True
                for part in inner:
                    found = self.follow(m, where, part) and (found or self.surely(m, where, part))
                return found
            case ("round", c, inner):
                return c != m.cycle and self.follow(m, where, inner)
            case ("if", _, then, otherwise):
                return self.follow(m, where, then) and self.follow(m, where, otherwise)
            case ("loop" | "loop1", _, _, inner) | ("only", _, _, _, inner):
                return self.follow(m, where, inner)
            case _:
                return True

    def surely(self, m: Mbarrier, where: Where, s: Statement) -> bool:
        """Whether threads under constraints surely arrive in a statement for the rounds that are left."""
        match s:
            case ("seq", *inner):
                return any(self.surely(m, where, part) for part in inner)
            case ("if", _, then, otherwise):
                return self.surely(m, where, then) and self.surely(m, where, otherwise)
            case ("only", n, lo, hi, inner):
                return implies(where, ((n, lo, hi),)) and self.surely(m, where, inner)
            case ("loop1", _, _, inner) | ("round", _, inner):
                return self.surely(m, where, inner)
            case _:
                return bool(s == ("drain", m.number))

    def quiet(self) -> None:
        """Rule `quiet`."""
        if not any(e[0] in ISSUED for e in self.every):
            return
        kinds = {i: row[1] for i, row in self.certificate.accesses.items()}
        whole = Round(self, -1, self.body)
        made = [(z, i) for z in self.sites for i in accesses_of(z.deed)]
        for x, i in made:
            if x.deed[0] not in ISSUED:
                continue
            for y, j in made:
                alike = kinds[i] == kinds[j] and kinds[i] in ("read", "atomic")
                if alike or self.share_cycle(i, j) or not self.overlap(i, j):
                    continue
                if not whole.is_apart((x, i), (y, j)):
                    raise Failed(f"an engine's {self.words(i)} and {self.words(j)}")

    def overlap(self, i: int, j: int) -> bool:
        """Whether two accesses may touch one byte."""
        (k, lo, hi, _), (q, low, high, _) = (self.certificate.objects[self.certificate.accesses[a][0]] for a in (i, j))
        return k == q and lo < high and low < hi

    def words(self, i: int) -> str:
        """Return an access in words."""
        _, kind, where = self.certificate.accesses[i]
        return f"{kind} {where}"


class Round:
    """The rules of one cycle's round."""

    def __init__(self, rings: Rings, c: int, body: Statement) -> None:
        self.rings, self.cycle, self.body = rings, c, body
        self._makes: dict[int, frozenset[int]] = {}
        self.items = list(sites_of(body, (0,), (), deep=False))
        self.mbarriers = dict.fromkeys(
            m for z in self.items if (m := rings.operand(z.deed)) is not None and m.cycle == c
        )

    def valid(self) -> None:
        """Raise Failed by the first rule that fails."""
        self.turns()
        used = [
            (z, i, m)
            for z in self.sites
            for i in accesses_of(z.deed)
            if (m := self.rings.mbarrier_of(i)) and m.cycle == self.cycle
        ]
        fence = any(z.deed[0] == "load" for z, _, _ in used)
        fills = []
        for z, i, m in used:
            near = self.rings.checker.le(self.rings.checker.space(i), "block")
            fill = self.fill(z, m, fence)
            if m not in self.mbarriers or m.free or not near or not (fill or self.read(z, i, m, fence)):
                raise Failed(f"nothing says when a copy is filled and free, for the {self.rings.words(i)}")
            fills += [(z, i)] if fill else []
        for _, i, m in used:
            for _, j, other in used:
                if m != other and self.rings.overlap(i, j):
                    raise Failed("one ring is said to be filled by two mbarriers")
        self.keep_apart(fills)

    @cached_property
    def sites(self) -> list[Site]:
        """What is done in the round, also under decisions: it stands where the outermost decision does."""
        return list(sites_of(self.body, (0,), (), deep=True))

    @cached_property
    def loops(self) -> Mapping[int, frozenset[int]]:
        """The loops around each access of the round."""
        return loops_of(self.body, {})

    def turns(self) -> None:  # noqa: C901
        """Rule `turns`."""
        if {m.free for m in self.mbarriers} != {True, False}:
            raise Failed("a ring has no wait for a copy to be filled, or none for it to be free")
        if len({m.copies for m in self.mbarriers}) > 1 or any(m.copies <= 0 for m in self.mbarriers):
            raise Failed("rings that are visited together have other numbers of copies")
        told = [
            (z, m) for z in self.items if z.deed[0] in TELLS and (m := self.rings.operand(z.deed)) in self.mbarriers
        ]
        for m in self.mbarriers:
            self.check_late(m, [z for z, other in told if other == m])
            found = sum(len(self.rings.threads_under(z.where)) for z, other in told if other == m)
            if m.need <= 0 or found != m.need:
                raise Failed(f"{found} arrive in a round where {m.need} are counted to")
        if any(
            self.rings.is_drain(self.cycle, e) and self.rings.mbarriers[e[1]] not in self.mbarriers
            for e in self.rings.every
        ):
            raise Failed("arrivals for rounds that are left, of a ring that has none")
        for z, m in told:
            if not all(self.has_waited(d, z.place, z.where) for d in self.mbarriers if d.free != m.free):
                raise Failed("who says that a copy is filled has not waited for it to be free, or the other way")
        for z in self.items:
            if z.deed[0] != "wait" or (d := self.rings.operand(z.deed)) not in self.mbarriers:
                continue
            assert d is not None
            if not self.is_told(z.where, z.place, lambda m, d=d: m.free != d.free):  # type: ignore[misc]
                raise Failed("nobody says, behind a wait, that a copy is filled or free again")
            if not d.free and not all(j.place < z.place for j, m in told if m == d):
                raise Failed("a wait stands before what it waits for")

    def check_late(self, m: Mbarrier, told: list[Site]) -> None:
        """Rule `late`: who arrives some rounds late does so before the copy is asked for again, and behind the loop."""
        if m.late == 0:
            return
        if not (m.free and m.late < m.copies and [z.deed[0] for z in told] == ["tell"]):
            raise Failed("arrivals that come some rounds late, and too late or at several places")
        if not keeps_drains(self.rings.body):
            raise Failed("arrivals for the rounds that are left stand behind no wait for all products")
        if not self.rings.follow(m, told[0].where, self.rings.body):
            raise Failed("nobody arrives for the rounds that are left when a loop ends")
        if not all(implies(z.where, told[0].where) for z in self.rings.sites if z.deed == ("drain", m.number)):
            raise Failed("others arrive for the rounds that are left than in the rounds")

    def has_waited(self, m: Mbarrier, place: Path, where: Where) -> bool:
        """Whether threads that come to a place have waited in the round."""
        return any(i.deed == ("wait", m.number) and i.place < place and implies(where, i.where) for i in self.items)

    def is_told(self, where: Where, place: Path, choose: Callable[[Mbarrier], bool]) -> bool:
        """Whether an arrival follows, of these threads or of one of each warp for all."""
        for j in self.items:
            m = self.rings.operand(j.deed) if j.deed[0] in TELLS else None
            if m in self.mbarriers and m is not None and choose(m) and self.covers(place, where, j):
                return True
        return False

    def covers(self, place: Path, where: Where, j: Site) -> bool:
        """Whether a site is come to by these threads, behind a place, or by one of each warp for all."""
        if place < j.place and implies(where, j.where):
            return True
        return any(
            i.deed[:2] == ("bar", ("thread", 32))
            and place < i.place < j.place
            and implies(where, i.where)
            and self.rings.checker.whole(("thread", 32), i.where)
            and implies((LANE, *i.where), j.where)
            for i in self.items
        )

    def fill(self, z: Site, m: Mbarrier, fence: bool) -> bool:
        """Rule `fill`."""
        if not all(self.has_waited(d, z.place, z.where) for d in self.mbarriers if d.free):
            return False
        match z.deed:
            case ("acc", _):
                return not fence and self.is_seen(z, m, lambda other: other == m)
            case ("load", n, *_):
                return bool(n == m.number)
            case ("copy", *_):
                return any(
                    j.deed == ("later", m.number) and z.place < j.place and implies(z.where, j.where)
                    for j in self.items
                )
            case _:
                return False

    def read(self, z: Site, i: int, m: Mbarrier, fence: bool) -> bool:
        """Rule `read`: behind the wait for a copy to be filled, and before it is said to be free."""
        if self.rings.certificate.accesses[i][1] != "read" or not self.has_waited(m, z.place, z.where):
            return False
        match z.deed:
            case ("acc", _):
                # Where engines fill, who has read says so by a fence first.
                places = [z.place] if not fence else self.find_behind(z, lambda deed: deed == ("fence",))
                return any(self.is_told(z.where, place, lambda other: other.free) for place in places)
            case ("group", kind, *_) if kind != OUT:
                return any(
                    self.is_told(z.where, g.place, lambda other, g=g: other.free and self.settles(z, g, other))  # type: ignore[misc]
                    for g in self.items
                    if g.deed[:2] == ("settle", kind) and z.place < g.place and implies(z.where, g.where)
                )
            case _:
                return False

    def settles(self, z: Site, g: Site, m: Mbarrier) -> bool:
        """Whether a wait for groups is for that of a site, where it is made as many rounds later as arrivals are late."""
        _, kind, pending = g.deed
        return bool(pending == 0) or (
            kind == PRODUCTS
            and pending <= m.late
            and any(
                i.deed[:2] == ("group", kind) and i.place < g.place and implies(z.where, i.where) for i in self.items
            )
        )

    def find_behind(self, z: Site, choose: Callable[[Statement], bool]) -> list[Path]:
        """Return the places behind a site, to which its threads come, of something."""
        return [f.place for f in self.items if choose(f.deed) and z.place < f.place and implies(z.where, f.where)]

    def is_seen(self, z: Site, m: Mbarrier, choose: Callable[[Mbarrier], bool]) -> bool:
        """Whether what a thread fills is said to be filled: behind a fence, where engines read it."""
        places = self.find_behind(z, lambda deed: deed == ("fence",)) if m in self.engines else [z.place]
        return any(self.is_told(z.where, place, choose) for place in places)

    @cached_property
    def engines(self) -> frozenset[Mbarrier | None]:
        """The mbarriers of rings that engines of groups read."""
        groups = (z for z in self.sites if z.deed[0] == "group")
        return frozenset(self.rings.mbarrier_of(i) for z in groups for i in accesses_of(z.deed))

    def keep_apart(self, fills: list[tuple[Site, int]]) -> None:
        """Rule `apart`: what fills a copy in one round touches different places, or is one thread's, or one operation."""
        for x, i in fills:
            for y, j in fills:
                if not self.exclusive(i, j, self.body) and not self.is_apart((x, i), (y, j)):
                    raise Failed(f"the {self.rings.words(i)} and the {self.rings.words(j)} fill one copy in no order")

    @cached_property
    def times(self) -> Counter[int]:
        """How often each access stands in the round."""
        return Counter(i for e in events(self.body) for i in accesses_of(e))

    def is_apart(self, one: tuple[Site, int], two: tuple[Site, int]) -> bool:
        """Whether two accesses never touch one byte, or are of one thread in order, or one operation."""
        (x, i), (y, j) = one, two
        if not self.rings.overlap(i, j):
            return True
        parts: tuple[int | str, ...] = ("same", *(self.loops[i] & self.loops[j]))
        return all(
            any(self.in_order(x, i, y, j, part, u, self.times) for u in self.rings.checker.concerns(i, j, part))
            for part in parts
        )

    def exclusive(self, i: int, j: int, s: Statement) -> bool:
        """Whether two accesses stand on two ways of which all threads of a block take one."""
        match s:
            case ("seq", *inner):
                parts = [part for part in inner if self.makes(part) & {i, j}]
                return len(parts) == 1 and self.exclusive(i, j, parts[0])
            case ("if", u, *ways):
                made = [self.makes(way) & {i, j} for way in ways]
                if not all(made):
                    return any(found and self.exclusive(i, j, way) for found, way in zip(made, ways, strict=True))
                return (
                    self.rings.checker.le("block", u)
                    and all(len(found) == 1 for found in made)
                    and i != j
                    and made[0] != made[1]
                )
            case ("only", _, _, _, inner) | ("round", _, inner):
                return self.exclusive(i, j, inner)
            case _:
                return False

    def makes(self, s: Statement) -> frozenset[int]:
        """Return the accesses that a statement may make."""
        if id(s) not in self._makes:
            self._makes[id(s)] = frozenset(i for e in events(s) for i in accesses_of(e))
        return self._makes[id(s)]

    def in_order(self, x: Site, i: int, y: Site, j: int, part: int | str, u: Unit, times: Counter[int]) -> bool:
        """Whether two that fill a copy are in order, if they are of threads of one unit where they touch one byte."""
        if u == "never":
            return True
        alone = u == ("thread", 1) or (
            self.rings.checker.le(u, "block") and len(self.rings.threads_under(x.where)) <= 1
        )
        if not (alone and implies(y.where, x.where)):
            return False
        if x.deed[0] in ISSUED or y.deed[0] in ISSUED:
            return part == "same" and i == j and times[i] <= 1
        return True
