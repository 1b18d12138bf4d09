"""The rules of one body of a cycle's rounds. Names are those of theory/proofs.

turns  who arrives has waited for the stage before; who waits is followed by one who arrives; arrivals are as many as counted
fill   a copy is filled behind the waits for it to be free, and before it is said to be filled
use    a copy is used behind the waits of one stage, and before it is said that the next one is reached
meet   what uses a copy at one station in one round is apart, or in order by barriers
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from prism.lang.certify.places import (
    COPIED,
    ISSUED,
    LANE,
    OUT,
    PRODUCTS,
    SENT,
    TELLS,
    Failed,
    Mbarrier,
    Path,
    Site,
    Where,
    accesses_of,
    as_threads,
    clear,
    events,
    implies,
    keeps_drains,
    loops_of,
    sites_of,
)  # fmt: skip
from prism.lang.certify.text import Statement, Unit

NONE: Mapping[Mbarrier, None] = {}
END: Path = (1,)
"""Behind all of a round."""


class Round:
    """The rules of one body of a cycle's rounds. `mbarriers`: those of all its bodies; `alone`: there is no other body."""

    def __init__(
        self, rings: Any, c: int, body: Statement, mbarriers: Mapping[Mbarrier, None] = NONE, alone: bool = True
    ) -> None:
        self.rings, self.cycle, self.body = rings, c, body
        self._makes: dict[int, frozenset[int]] = {}
        self._ordered: dict[int, bool] = {}
        self._alike: dict[tuple[int, int], Statement] = {}
        self.items = list(sites_of(body, (0,), (), deep=False))
        self.mbarriers, self.alone = mbarriers, alone
        self.top = max((m.stage for m in mbarriers), default=0)

    def valid(self) -> None:
        """Raise Failed by the first rule that fails."""
        self.turns()
        fence = any(z.deed[0] == "load" for z, _, _ in self.used)
        stations: list[tuple[Site, int, int]] = []
        for z, i, m in self.used:
            near = self.rings.checker.le(self.rings.checker.space(i), "block")
            k = self.station(z, i, m, fence) if m.stage == 1 and m in self.mbarriers and near else None
            if k is None:
                raise Failed(f"nothing says when a copy is filled and free, for the {self.rings.words(i)}")
            stations.append((z, i, k))
        self.meet(stations)

    @cached_property
    def used(self) -> list[tuple[Site, int, Mbarrier]]:
        """The accesses of the round to rings of the cycle."""
        found = ((z, i, self.rings.mbarrier_of(i)) for z in self.sites for i in accesses_of(z.deed))
        return [(z, i, m) for z, i, m in found if m is not None and m.cycle == self.cycle]

    @cached_property
    def sites(self) -> list[Site]:
        """What is done in the round, also under decisions: it stands where the outermost decision does."""
        return list(sites_of(self.body, (0,), (), deep=True))

    @cached_property
    def loops(self) -> Mapping[int, frozenset[int]]:
        """The loops around each access of the round."""
        return loops_of(self.body, {})

    def next_stage(self, stage: int) -> int:
        """Return the stage that comes next."""
        return 0 if stage == self.top else stage + 1

    def turns(self) -> None:
        """Rule `turns`."""
        stages = {m.stage for m in self.mbarriers}
        if self.top == 0 or stages != set(range(self.top + 1)):
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
            if not all(
                self.has_waited(d, z.place, z.where) for d in self.mbarriers if self.next_stage(d.stage) == m.stage
            ):
                raise Failed("who says that a copy is filled has not waited for it to be free, or the other way")
        self.check_waits(told)

    def check_waits(self, told: list[tuple[Site, Mbarrier]]) -> None:
        """Rule `turns`, of those who wait."""
        for z in self.items:
            if z.deed[0] != "wait" or (d := self.rings.operand(z.deed)) not in self.mbarriers:
                continue
            assert d is not None
            if not self.is_told(z.where, z.place, lambda m, d=d: m.stage == self.next_stage(d.stage)):  # type: ignore[misc]
                raise Failed("nobody says, behind a wait, that a copy is filled or free again")
            if not d.free and not all(j.place < z.place for j, m in told if m == d):
                raise Failed("a wait stands before what it waits for")

    def keep_steady(self, rounds: list[Round]) -> None:
        """Rule `steady`: who waits in one round waits in the others."""
        for z in self.items:
            m = self.rings.operand(z.deed) if z.deed[0] == "wait" else None
            if m in self.mbarriers and m is not None and not all(other.has_waited(m, END, z.where) for other in rounds):
                raise Failed("who waits for a ring in some of its rounds does not in others")

    def check_late(self, m: Mbarrier, told: list[Site]) -> None:
        """Rule `late`: who arrives some rounds late does so before the copy is asked for again, and behind the loop."""
        if m.late == 0:
            return
        if not (self.alone and m.free and m.late < m.copies and [z.deed[0] for z in told] == ["tell"]):
            raise Failed("arrivals that come some rounds late, and too late or at several places")
        if not keeps_drains(self.rings.body):
            raise Failed("arrivals for the rounds that are left stand behind no wait for all products")
        if not self.rings.follow(m, told[0].where, self.rings.body):
            raise Failed("nobody arrives for the rounds that are left when a loop ends")
        if not all(implies(z.where, told[0].where) for z in self.rings.sites if z.deed == ("drain", m.number)):
            raise Failed("others arrive for the rounds that are left than in the rounds")

    def has_waited(self, m: Mbarrier, place: Path, where: Where) -> bool:
        """Whether threads that come to a place have waited in the round: each of them somewhere before."""
        waits = [i.where for i in self.items if i.deed == ("wait", m.number) and i.place < place]
        if any(implies(where, found) for found in waits):
            return True
        return bool(self.rings.threads_under(where) <= frozenset().union(*map(self.rings.threads_under, waits)))

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

    def station(self, z: Site, i: int, m: Mbarrier, fence: bool) -> int | None:
        """Return the station of an access to a ring: 0 fills a copy, the others use it; None: it has none."""
        return next((k for k in range(self.top + 1) if self.has_come(k, z, m) and self.goes(k, z, i, m, fence)), None)

    def has_come(self, k: int, z: Site, m: Mbarrier) -> bool:
        """Whether threads have waited for a stage; for the first, as the ring of the access has it."""
        before = [m] if k == 1 else [d for d in self.mbarriers if d.stage == k]
        return all(self.has_waited(d, z.place, z.where) for d in before)

    def goes(self, k: int, z: Site, i: int, m: Mbarrier, fence: bool) -> bool:
        """Rules `fill` and `use`: it is said, behind the access, that the next stage is reached."""
        return self.fill(z, m, fence) if k == 0 else self.use(k, z, i, m, fence)

    def fill(self, z: Site, m: Mbarrier, fence: bool) -> bool:
        """Rule `fill`."""
        match z.deed:
            case ("acc", _):
                return not fence and self.is_seen(z, m in self.engines, lambda other: other == m)
            case ("load", n, *_):
                return bool(n == m.number)
            case ("copy", *_):
                return any(
                    j.deed == ("later", m.number) and z.place < j.place and implies(z.where, j.where)
                    for j in self.items
                )
            case _:
                return False

    def use(self, k: int, z: Site, i: int, m: Mbarrier, fence: bool) -> bool:
        """Rule `use`: at station k. Where engines touch the ring, who has done so says so by a fence first."""
        reads = self.rings.certificate.accesses[i][1] == "read"
        match z.deed:
            case ("acc", _):
                fences = fence or (not reads and m in self.engines)
                return self.is_seen(z, fences, lambda other: other.stage == self.next_stage(k))
            case ("group", kind, *_) if kind != OUT and reads:
                return any(
                    self.is_told(
                        z.where,
                        g.place,
                        lambda other, g=g: other.stage == self.next_stage(k) and self.settles(z, g, other),  # type: ignore[misc]
                    )
                    for g in self.items
                    if g.deed[:2] == ("settle", kind) and z.place < g.place and implies(z.where, g.where)
                )
            case _:
                return False

    def settles(self, z: Site, g: Site, m: Mbarrier) -> bool:
        """Whether a wait for groups is for that of a site: so many newer ones stand between, or arrivals come as late."""
        _, kind, pending = g.deed
        own = [
            i for i in self.items if i.deed[:2] == ("group", kind) and i.place < g.place and implies(z.where, i.where)
        ]
        if pending <= sum(z.place < i.place for i in own):
            return True
        return bool(kind == PRODUCTS and pending <= m.late and own)

    def find_behind(self, z: Site, choose: Callable[[Statement], bool]) -> list[Path]:
        """Return the places behind a site, to which its threads come, of something."""
        return [f.place for f in self.items if choose(f.deed) and z.place < f.place and implies(z.where, f.where)]

    def is_seen(self, z: Site, fence: bool, choose: Callable[[Mbarrier], bool]) -> bool:
        """Whether it is said, behind what a thread does, that a stage is reached: behind a fence, where engines see it."""
        places = (
            self.find_behind(z, lambda deed: deed[0] == "fence" and self.rings.sees(deed[1])) if fence else [z.place]
        )
        return any(self.is_told(z.where, place, choose) for place in places)

    @cached_property
    def engines(self) -> frozenset[Mbarrier | None]:
        """The mbarriers of rings that engines of groups read."""
        groups = (z for z in self.sites if z.deed[0] == "group")
        return frozenset(self.rings.mbarrier_of(i) for z in groups for i in accesses_of(z.deed))

    def meet(self, stations: list[tuple[Site, int, int]]) -> None:
        """Rule `meet`: two at one station touch different places, or are in order: one thread's, one operation, by barriers."""
        for x, i, k in stations:
            for y, j, other in stations:
                if k != other or self.rings.never_conflict(i, j) or not self.rings.overlap(i, j):
                    continue
                if self.exclusive(i, j, self.body) or self.is_apart((x, i), (y, j)):
                    continue
                if self.waits_together(x, i, y, j) or self.waits_together(y, j, x, i):
                    continue
                if x.deed[0] in ISSUED or y.deed[0] in ISSUED or not self.orders(k, stations):
                    words = self.rings.words
                    raise Failed(f"the {words(i)} and the {words(j)} use one copy at one station in no order")

    def waits_together(self, x: Site, i: int, y: Site, j: int) -> bool:
        """Rule `together`: threads change what products read, once they and their warp have waited for these.

        As if the products were made by the threads that issue them, with barriers of warps behind waits for all products alone.
        """
        if x.deed[:2] != ("group", PRODUCTS) or y.deed[0] in ISSUED or not self.has_ended(x, i, y, j):
            return False
        if (i, j) not in self._alike:
            self._alike[i, j] = as_threads(i, j, self.body)
        return bool(self.rings.checker.orders(self._alike[i, j], lambda a, b: {a, b} != {i, j}))

    def orders(self, k: int, stations: list[tuple[Site, int, int]]) -> bool:
        """Whether barriers order what the threads do at one station."""
        if k not in self._ordered:
            among = frozenset(i for _, i, other in stations if other == k)
            self._ordered[k] = self.rings.checker.orders(self.body, lambda i, j: not {i, j} <= among)
        return self._ordered[k]

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

    def is_own(self, one: tuple[Site, int], two: tuple[Site, int]) -> bool:
        """Rule `own_order`: two are one thread's, which waits for its group before it makes the other access."""
        (x, i), (y, j) = one, two
        if not (self.has_ended(x, i, y, j) and (y.deed[0] not in ISSUED or self.has_ended(y, j, x, i))):
            return False
        if y.deed[0] not in ISSUED and x.deed[1] != COPIED:  # a fence of proxies may be missing
            return False
        return all(
            any(u == "never" or self.is_one_thread(x, y, u) for u in self.rings.checker.concerns(i, j, part))
            for part in ("same", *(self.loops[i] & self.loops[j]))
        )

    def has_ended(self, x: Site, i: int, y: Site, j: int) -> bool:
        """Whether the group of a site has ended wherever its thread makes the access of another site, anywhere in the text."""
        return x.deed[0] == "group" and clear(x.deed[1], i, j, self.rings.body, who=y.where)[1]

    def has_barrier(self, one: tuple[Site, int], two: tuple[Site, int]) -> bool:
        """Rule `barrier_before`: a barrier stands once between what threads do and what engines do, of all who touch one byte."""
        (x, i), (y, j) = one, two
        return any(
            b.deed[0] == "bar"
            and b.deed[2] not in SENT
            and y.place < b.place < x.place
            and implies(y.where, b.where)
            and implies(x.where, b.where)
            and (
                x.deed[:2] == ("group", COPIED)
                or any(f < b.place for f in self.find_behind(y, lambda s: s[0] == "fence" and self.rings.sees(s[1], j)))
            )
            and any(
                u == "never" or self.rings.checker.le(u, b.deed[1]) for u in self.rings.checker.concerns(j, i, "same")
            )
            for b in self.items
        )

    def is_one_thread(self, x: Site, y: Site, u: Unit) -> bool:
        """Whether two accesses are one thread's, if they are of threads of one unit."""
        alone = u == ("thread", 1) or (
            self.rings.checker.le(u, "block") and len(self.rings.threads_under(x.where)) <= 1
        )
        return alone and implies(y.where, x.where)

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
        if not self.is_one_thread(x, y, u):
            return False
        if x.deed[0] in ISSUED or y.deed[0] in ISSUED:
            return part == "same" and i == j and times[i] <= 1
        return True
