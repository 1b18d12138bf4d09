"""The rules of rings: which waits and arrivals a round has, and which accesses a ring. Names are those of theory/proofs.

outer  all that belongs to a cycle stands in its rounds, which all threads of a block make, or none
drains who arrives some rounds late arrives behind the loop for the rounds that are left
quiet  what engines touch beside their rings is written by nobody else, or apart, or in order

Those of one round are in rounds.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from prism.lang.certify.places import (
    ISSUED,
    OUT,
    TELLS,
    Failed,
    Mbarrier,
    Site,
    Where,
    accesses_of,
    clear,
    events,
    implies,
    sites_of,
)  # fmt: skip
from prism.lang.certify.rounds import Round
from prism.lang.certify.text import Certificate, Statement

UNUSED = -1
"""The number of no access."""


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
            if not bodies:
                raise Failed("the rounds of a ring stand nowhere")
            items = [z for body in bodies for z in sites_of(body, (0,), (), deep=False)]
            mbarriers = dict.fromkeys(m for z in items if (m := self.operand(z.deed)) is not None and m.cycle == c)
            rounds = [Round(self, c, body, mbarriers, alone=len(bodies) == 1) for body in bodies]
            for one in rounds:
                one.valid()
                one.keep_steady(rounds)
        self.keep_one()
        self.quiet()
        for e in every:
            if e[0] in ISSUED:
                self.goes(e)

    def goes(self, e: Statement) -> None:
        """Rule `goes`: what an engine does is waited for, or it is what stores write to the grid's memory."""
        inner = accesses_of(e)
        if e[:2] == ("group", OUT):
            if any(self.mbarrier_of(i) or self.checker.le(self.checker.space(i), "block") for i in inner):
                raise Failed("nobody waits for what a store writes to a block's memory")
        elif not any(map(self.mbarrier_of, inner)) and (
            e[0] != "group" or any(clear(e[1], i, UNUSED, self.body) != (False, True) for i in inner)
        ):
            raise Failed("nobody waits for what an engine does outside of rings")

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

    def keep_one(self) -> None:
        """Rule `one_filled`: one ring has one mbarrier that says that its copies are filled."""
        used = {i: m for e in self.every for i in accesses_of(e) if (m := self.mbarrier_of(i)) is not None}
        for i, one in used.items():
            for j, two in used.items():
                if one != two and one.cycle == two.cycle and self.overlap(i, j):
                    raise Failed("one ring is said to be filled by two mbarriers")

    def quiet(self) -> None:
        """Rule `quiet`."""
        if not any(e[0] in ISSUED for e in self.every):
            return
        whole = Round(self, -1, self.body)
        made = [(z, i) for z in whole.sites for i in accesses_of(z.deed)]
        for x, i in made:
            if x.deed[0] not in ISSUED:
                continue
            for y, j in made:
                if self.never_conflict(i, j) or self.share_cycle(i, j) or not self.overlap(i, j):
                    continue
                if whole.is_apart((x, i), (y, j)) or whole.is_own((x, i), (y, j)):
                    continue
                if y.deed[0] in ISSUED or not whole.has_barrier((x, i), (y, j)):
                    raise Failed(f"an engine's {self.words(i)} and {self.words(j)}")

    def never_conflict(self, i: int, j: int) -> bool:
        """Whether two accesses never conflict: both read, or both are atomic for all."""
        one, two = (self.certificate.accesses[a][1] for a in (i, j))
        return one == two and one in ("read", "atomic")

    def overlap(self, i: int, j: int) -> bool:
        """Whether two accesses may touch one byte."""
        (k, lo, hi, _), (q, low, high, _) = (self.certificate.objects[self.certificate.accesses[a][0]] for a in (i, j))
        return k == q and lo < high and low < hi

    def sees(self, memory: str, i: int | None = None) -> bool:
        """Whether a fence for some memory is for that of an access (None: a ring, which is a block's)."""
        home = "block" if i is None or i in self.certificate.near else self.checker.space(i)
        if home == "grid":
            return memory in ("global", "all")
        return memory in ("cluster", "all") or (memory == "shared" and home[0] != "cluster")

    def words(self, i: int) -> str:
        """Return an access in words."""
        _, kind, where = self.certificate.accesses[i]
        return f"{kind} {where}"
