"""The checker: whether the barriers of a skeleton are met by all who must meet, and order all accesses that may touch one byte.

The rules are those of theory/proofs, by the same names, where they are proved to suffice. A rule looks at the skeleton and at the
facts of its certificate alone: nothing here knows how barriers are found.

    bars   each barrier is one that the hardware has, comes to whole units, and stands under no decision in which they differ
    keys   no two barriers have one number of the hardware's
    race   of two accesses that may touch one byte, one has happened before the other, or one thread makes both
    rings  waits and arrivals of rings order what fills and reads their copies (rings.py)
    there  where a thread reaches into another block of its cluster, that block has begun, and has not ended (clusters.py)
    registers  a thread waits for products before it touches the fragments that they read or write (registers.py)
    form   numbers and names go together
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from prism.lang.certify.clusters import check_there
from prism.lang.certify.places import ISSUED, MEMORIES, SENT, TELLS, Failed, Rejected, accesses_of
from prism.lang.certify.places import KINDS as GROUPS
from prism.lang.certify.registers import faults
from prism.lang.certify.rings import Rings
from prism.lang.certify.text import HEADS, Certificate, Statement, Unit

SAME, NEVER, ONE, BLOCK, GRID = "same", "never", ("thread", 1), "block", "grid"
KINDS = frozenset({"read", "write", "atomic", "atomic_block"})
NUMBERS = 16
"""Named barriers of the hardware's, for each block."""
Constraint = tuple[int, int, int]
"""`(n, lo, hi)`: threads t with lo <= x < hi, x = t if n = 0, else t mod n."""
Where = tuple[Constraint, ...]
"""The constraints around a statement, outermost first."""
Barriers = frozenset[tuple[Unit, Where]]


class Open(NamedTuple):
    """An access that has been made: the barriers `met` since, the units that its thread is known not to share, how it lies."""

    access: int
    where: Where
    met: Barriers = frozenset()
    apart: frozenset[Unit] = frozenset()
    part: int | str = SAME


Opens = frozenset[Open]
NONE: Opens = frozenset()


class Checker:
    """The rules, for one certificate."""

    def __init__(self, certificate: Certificate) -> None:
        self.threads, self.body = certificate.threads, certificate.body
        self.certificate = certificate
        self.spaces, self.objects, self.accesses = certificate.spaces, certificate.objects, certificate.accesses
        self.rings = Rings(certificate, self)
        self.mates: dict[int, frozenset[int]] = {}
        self._gen: dict[tuple[int, Where], Opens] = {}
        self._fine: dict[tuple[Open, int, Where], bool] = {}
        self.passes: Callable[[int, int], bool] = self.rings.share_cycle
        """Whether rule `race` asks nothing of two accesses: where they are to rings of one cycle, the rules of rings do."""

    def valid(self) -> None:
        """Raise Rejected by the first rule that fails."""
        self.form()
        named: set[tuple[Unit, int]] = set()
        self.bars(self.body, frozenset(), (), named)
        self.keys(named)
        self.check(self.body, NONE, ())
        try:
            self.rings.valid()
        except Failed as failed:
            raise Rejected("rings", str(failed)) from None
        if faults(self.body, self.rings.every, self.threads):
            raise Rejected("registers", "a fragment is touched while the tensor cores may read it, or add to it")
        check_there(self, Checker)

    def form(self) -> None:
        """Rule `form`: every number has its row, every loop stands once."""
        loops: list[int] = []
        for s in _every(self.body):
            if s[0] == "acc" and s[1] not in self.accesses:
                raise Rejected("form", f"access {s[1]} has no row")
            if s[0] in ("loop", "loop1"):
                loops.append(s[1])
            self.form_ring(s)
        if len(loops) != len(set(loops)):
            raise Rejected("form", "a loop stands twice")
        for o, kind, _ in self.accesses.values():
            if o not in self.objects or kind not in KINDS or self.objects[o][0] not in self.spaces:
                raise Rejected("form", f"object {o}")
        if any(m not in self.certificate.mbarriers for m in self.certificate.rings.values()):
            raise Rejected("form", "a ring has no row of its mbarriers")
        written = {o for o, kind, _ in self.accesses.values() if kind != "read"}
        for o, (k, lo, hi, _) in self.objects.items():
            near = (p for p, (q, low, high, _) in self.objects.items() if q == k and lo < high and low < hi)
            self.mates[o] = frozenset(p for p in near if o in written or p in written)

    def form_ring(self, s: Statement) -> None:
        """Rule `form`, of an operation of rings."""
        if s[0] in ("wait", "drain", *TELLS) and s[1] not in self.certificate.mbarriers:
            raise Rejected("form", f"mbarrier {s[1]} has no row")
        if s[0] in ISSUED and any(i not in self.accesses for i in accesses_of(s)):
            raise Rejected("form", "an access of an engine has no row")
        if s[0] == "fence" and (len(s) != 2 or s[1] not in MEMORIES):
            raise Rejected("form", "a fence for no memory")
        if s[0] in ("own", "lend") and s[1] not in ("read", "write"):
            raise Rejected("form", "registers are read or written")
        if s[0] in ("group", "settle") and s[1] not in GROUPS:
            raise Rejected("form", "a group of no kind")
        if s[0] == "load" and s[2] != s[3]:
            raise Rejected("form", f"a load brings {s[3]} bytes, and {s[2]} are announced")

    # -- units

    def le(self, u: Unit, v: Unit) -> bool:
        """Whether a unit u is inside one unit v."""
        (a, n), (b, m) = _parts(u), _parts(v)
        match a, b:
            case "thread", "thread":
                return u == v or _divides(n, m)
            case "thread", _:
                return True
            case "block", "thread":
                return self.threads <= m
            case "block", "cluster":
                return m > 0
            case "cluster", "cluster":
                return u == v or _divides(n, m)
            case _:
                return a == b or (b == GRID and a in ("block", "cluster"))

    def le_in(self, one: Where, two: Where, c: Unit, u: Unit) -> bool:
        """Whether threads under these constraints that share a unit c share a unit u."""
        if self.le(c, u):
            return True
        (a, m), (b, k) = _parts(u), _parts(c)
        if a != "thread" or m <= 0:
            return False
        for con in one:
            n, lo, hi = con
            if con in two and lo < hi and lo // m == (hi - 1) // m:
                if n == 0 and b in ("block", "thread"):
                    return True
                if n > 0 and _divides(m, n) and b == "thread" and _divides(k, n):
                    return True
        return False

    def whole(self, u: Unit, where: Where) -> bool:
        """Whether whole units come where these constraints hold."""
        a, k = _parts(u)
        if a != "thread":
            return not where
        ends = (n == 0 and hi <= self.threads and _divides(k, hi) for n, _, hi in where)
        return k > 0 and all(respects(u, con) for con in where) and (_divides(k, self.threads) or any(ends))

    def classes(self, u: Unit) -> int:
        """Return how many units of a block meet at a named barrier."""
        a, n = _parts(u)
        return -(-self.threads // n) if a == "thread" and n > 0 else 1

    def hw_ok(self, u: Unit, hw: object) -> bool:
        """Whether the hardware has a barrier."""
        a, n = _parts(u)
        if hw in SENT:
            return a == "cluster"
        if hw == "warp":
            return a in ("cluster", "grid") or (a == "thread" and _divides(n, 32))
        if not (isinstance(hw, tuple) and hw[0] == "named"):
            return False
        return (a == "block" or (a == "thread" and n > 0)) and hw[1] >= 0 and hw[1] + self.classes(u) <= NUMBERS

    # -- barriers

    def bars(self, s: Statement, decided: frozenset[Unit], where: Where, named: set[tuple[Unit, int]]) -> None:  # noqa: C901
        """Rule `bars`; `decided`: who agrees on the decisions around; `named` gets the named barriers."""
        match s:
            case ("bar", u, hw):
                if not self.hw_ok(u, hw):
                    raise Rejected("bars", f"the hardware has no barrier of {spell(u)} with what is emitted")
                if not self.whole(u, where):
                    raise Rejected("bars", f"a barrier of {spell(u)} stands where not all its threads come")
                for d in decided:
                    if not self.le_in(where, where, u, d):
                        text = f"a barrier of {spell(u)} stands under a decision of each {spell(d)}"
                        raise Rejected("bars", f"{text}: some of its threads may not come")
                if isinstance(hw, tuple):
                    named.add((u, hw[1]))
            case ("if", u, *inner):
                for part in inner:
                    self.bars(part, decided | {u}, where, named)
            case ("loop" | "loop1", _, u, inner):
                self.bars(inner, decided | {u}, where, named)
            case ("only", n, lo, hi, inner):
                self.bars(inner, decided, (*where, (n, lo, hi)), named)
            case ("seq", *inner):
                for part in inner:
                    self.bars(part, decided, where, named)
            case ("round", _, inner):
                self.bars(inner, decided, where, named)

    def keys(self, named: Iterable[tuple[Unit, int]]) -> None:
        """Rule `keys`."""
        if len({s[1] for s in _every(self.body) if s[0] == "bar" and _parts(s[1])[0] == "cluster"}) > 1:
            raise Rejected("keys", "a cluster has one barrier, for all its blocks")
        found = sorted((i, i + self.classes(u), spell(u)) for u, i in named)
        for (_, end, one), (start, _, two) in zip(found, found[1:], strict=False):
            if start < end:
                raise Rejected("keys", f"barriers of {one} and of {two} have the number {start}")

    # -- accesses

    def surely(self, s: Statement, where: Where) -> Barriers:
        """K: the barriers that are met on every way through a statement."""
        match s:
            case ("seq", *inner):
                return frozenset[tuple[Unit, Where]]().union(*(self.surely(part, where) for part in inner))
            case ("bar", u, hw) if hw not in SENT:
                return frozenset({(u, where)})
            case ("if", _, then, otherwise):
                return self.surely(then, where) & self.surely(otherwise, where)
            case ("loop1", _, _, inner) | ("round", _, inner):
                return self.surely(inner, where)
            case ("only", n, lo, hi, inner):
                return self.surely(inner, (*where, (n, lo, hi)))
            case _:
                return frozenset()

    def gen(self, s: Statement, where: Where) -> Opens:
        """Return what a statement leaves open."""
        key = (id(s), where)
        if key not in self._gen:
            self._gen[key] = self._generated(s, where)
        return self._gen[key]

    def _generated(self, s: Statement, where: Where) -> Opens:
        match s:
            case ("acc", i):
                # Of what nobody writes, or writes elsewhere alone, no rule asks.
                return frozenset({Open(i, where)}) if self.mates[self.accesses[i][0]] else NONE
            case ("seq", *inner):
                found = NONE
                for part in inner:
                    found = self.after(found, part, where)
                return found
            case ("if", _, then, otherwise):
                return self.gen(then, where) | self.gen(otherwise, where)
            case ("loop" | "loop1", _, _, inner) | ("round", _, inner):
                return self.gen(inner, where)
            case ("only", n, lo, hi, inner):
                return self.gen(inner, (*where, (n, lo, hi)))
            case _:
                return NONE

    def after(self, opens: Opens, s: Statement, where: Where) -> Opens:
        """Return what is open behind a statement."""
        met, fresh = self.surely(s, where), self.gen(s, where)
        if not met:
            return opens | fresh
        # A barrier of all who may touch a byte of the space orders the access before everything that comes.
        broad = [u for u, constrained in met if not constrained]
        left = (e for e in opens if not any(self.le(self.space(e.access), u) for u in broad))
        return frozenset(e._replace(met=e.met | met) for e in left) | fresh

    def check(self, s: Statement, opens: Opens, where: Where) -> None:  # noqa: C901
        """Rule `race`, of a statement behind what is open."""
        match s:
            case ("acc", j):
                mates = self.mates[self.accesses[j][0]]
                if mates:
                    if not self.passes(j, j):
                        self.ok(Open(j, where), j, where)
                    for e in opens:
                        if self.accesses[e.access][0] in mates and not self.passes(e.access, j):
                            self.ok(e, j, where)
            case ("seq", *inner):
                for part in inner:
                    self.check(part, opens, where)
                    opens = self.after(opens, part, where)
            case ("if", u, then, otherwise):
                self.check(then, opens, where)
                other = (e._replace(apart=e.apart | {u}) for e in self.gen(then, where))
                self.check(otherwise, opens.union(other), where)
            case ("loop" | "loop1", number, _, inner):
                again = (e._replace(part=number) for e in self.gen(inner, where))
                self.check(inner, opens.union(again), where)
            case ("only", n, lo, hi, inner):
                self.check(inner, opens, (*where, (n, lo, hi)))
            case ("round", _, inner):
                self.check(inner, opens, where)

    def orders(self, s: Statement, passes: Callable[[int, int], bool]) -> bool:
        """Whether rule `race` holds in a statement by itself, of all accesses but those of which nothing is asked."""
        before, self.passes = self.passes, passes
        try:
            self.check(s, NONE, ())
        except Rejected:
            return False
        finally:
            self.passes = before
        return True

    def ok(self, e: Open, j: int, where: Where) -> None:
        """Raise Rejected where an access may race with one that is open."""
        key = (e, j, where)
        if key not in self._fine:
            self._fine[key] = any(self.fine(e, j, where, c) for c in self.concerns(e.access, j, e.part))
        if not self._fine[key]:
            one, two = (
                f"the {self.accesses[i][1].replace('_', ' of one ')} {self.accesses[i][2]}" for i in (e.access, j)
            )
            trip = "" if e.part == SAME else ", in another trip of a loop"
            raise Rejected("race", f"nothing orders {one} and {two}{trip}")

    def fine(self, e: Open, j: int, where: Where, c: Unit) -> bool:
        """Whether two accesses are in order, or one thread's, where their threads share a unit c if they touch one byte."""
        kinds = self.accesses[e.access][1], self.accesses[j][1]
        if kinds in (("read", "read"), ("atomic", "atomic")) or c in (NEVER, ONE):
            return True
        if all(kind.startswith("atomic") for kind in kinds) and self.le(c, BLOCK):
            return True
        if any(set(known) <= set(e.where) and self.le_in(e.where, where, c, u) for u, known in e.met):
            return True
        if any(self.le_in(e.where, where, c, d) for d in e.apart):
            return True
        pairs = ((a, b) for a in e.where for b in where if a[0] == b[0] and (a[2] <= b[1] or b[2] <= a[1]))
        return any(respects(c, a) or respects(c, b) for a, b in pairs)

    def concerns(self, i: int, j: int, part: int | str) -> Iterator[Unit]:
        """Yield the units that two threads share, for all that is known, if these accesses of theirs touch one byte."""
        yield self.space(i)
        yield from self.facts(i, j, part)

    def facts(self, i: int, j: int, part: int | str) -> Iterator[Unit]:
        """Yield what the certificate's facts say of two accesses."""
        for key in ((i, j, part), (j, i, part)):
            yield from (c for c, _, _ in self.certificate.facts.get(key, ()))

    def space(self, i: int) -> Unit:
        """Return the unit of the space in which an access is."""
        return self.spaces[self.objects[self.accesses[i][0]][0]]


def respects(u: Unit, con: Constraint) -> bool:
    """Whether each unit u is wholly under a constraint, or wholly not."""
    (a, k), (n, lo, hi) = _parts(u), con
    return a == "thread" and _divides(k, lo) and _divides(k, hi) and (n == 0 or _divides(k, n))


def _divides(k: int, x: int) -> bool:
    return k > 0 and x % k == 0


def _parts(u: Unit) -> tuple[str, int]:
    return u if isinstance(u, tuple) else (u, 0)


def spell(u: Unit) -> str:
    """Return a unit as Prism writes it."""
    name, size = _parts(u)
    return f"{'block' if name == 'cluster' else name}[{size or 1}]"


def _every(s: Statement) -> Iterator[Statement]:
    yield s
    for part in s[1:]:
        if isinstance(part, tuple) and part and part[0] in HEADS:
            yield from _every(part)
