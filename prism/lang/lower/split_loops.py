"""Loops whose conditions hold in the first or the last trips only, or from some trip on, become several loops without them.

    for j in range(0, end + 128, 128):          for j in range(0, 128, 128):              if there is a trip that isn't the last
        if j < end: multiply(j)                     multiply(j)
        if j > 0: add(j - 128)            =>    for j in range(128, end', 128):
                                                    multiply(j); add(j - 128)
                                                for j in range(end', end + 128, 128):     at most one trip
                                                    add(j - 128)

It is done where it is worth it: where a condition is around a wgmma or a ring's station. A wgmma under a condition is waited for
before the condition's end, and a station under one makes no whole rounds; without the condition neither is so. All roles run
the same pieces, and in each the stations of a ring are unconditional, or gone. What the program means stays as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from prism.lang import tree
from prism.lang.facts.definitions import facts
from prism.lang.facts.digits import reader
from prism.lang.facts.polynomials import add, constant
from prism.lang.keep.bases import Frozen
from prism.lang.lower.copies import Renamed, copy_body, with_parts
from prism.lang.lower.cuts import Cut, Index, Part, acts, place_of
from prism.lang.lower.trips import name_value
from prism.lang.rings.cycles import jumps
from prism.lang.rings.fills_ahead import SEVERAL
from prism.lang.rings.hoisting import assigned_variables, declared_names, mentioned_names
from prism.lang.rings.stations import ring_of
from prism.lang.tree.plan import Plan
from prism.lang.tree.walk import statements, terms
from prism.lang.types import INT32
from prism.lang.types.perspective import Perspective, meet

MOST_STRONG, MOST_WEAK = 3, 2
"""Cuts of a loop for conditions around wgmmas and stations; for conditions around loops over fragments."""
MOST_PIECES = 8
"""Of one loop: each is a copy of its body, but for what its conditions leave out."""
MOST_STATEMENTS = 4096
"""Of all pieces of a loop."""
SCOPES = tree.Group | tree.Split | tree.Partition | tree.Claim | tree.Async | tree.Batch | tree.Turns


def split_loops(function: tree.Function) -> tree.Function:
    """Return a kernel with its loops split; the same function where none is."""
    body = _Splitting(function).body(function.body, function.bound.code)
    return function if body is function.body else replace(function, body=body)


def splits_products(function: tree.Function) -> bool:
    """Whether wgmmas stand in pieces of a loop."""
    pieces = (s for s in statements(function.body) if isinstance(s, tree.For) and s.part)
    return any(map(_is_wgmma, (e for piece in pieces for s in statements(piece.body) for e in terms(s))))


def lost_fills(plan: Plan) -> bool:
    """Whether a ring that is visited in several places, as a loop's pieces are, is filled by threads that use it."""
    return any(note.text.endswith(SEVERAL) for note in plan.notes)


class _Splitting(Frozen):
    """A function's loops, as they are looked at."""

    function: tree.Function

    def body(self, body: tree.Body, code: Perspective) -> tree.Body:
        """Return what becomes of a statement list; the same one where nothing does."""
        made = tuple(new for s in body for new in self.statement(s, code))
        return body if len(made) == len(body) and all(map(_is, made, body)) else made

    def statement(self, s: tree.Stmt, code: Perspective) -> tuple[tree.Stmt, ...]:
        """Return what becomes of a statement."""
        old = tree.children(s)
        parts = tuple(self.body(part, _code_inside(s, code, number)) for number, part in enumerate(old))
        # Inner loops first. A loop around pieces is left as it is: pieces of pieces would be as many as 8 to the depth.
        if not all(map(_is, parts, old)):
            return (with_parts(s, parts),)
        if isinstance(s, tree.For) and can_be_split(s):
            pieces = self.loop(s, code)
            return (s,) if pieces is None else pieces
        return (s,)

    def loop(self, loop: tree.For, code: Perspective) -> tuple[tree.Stmt, ...] | None:
        """Return the pieces of a loop, with what they need before them; None where it stays as it is."""
        known = facts(self.function)
        # Later pieces read the bounds behind trips that may have changed what these were made of: so they get names.
        first, one = name_value(loop.start, f"{loop.symbol.name}_start", known.changed)
        stop, two = name_value(loop.stop, f"{loop.symbol.name}_stop", known.changed)
        inner = tuple(statements(loop.body))
        inside = frozenset(symbol for s in inner for symbol in (*declared_names(s), *assigned_variables(s)))
        index = Index(reader(known), loop, first, stop, inside, code)
        strong = list(islice(_cuts(index, loop.body, is_strong), MOST_STRONG))
        if not strong or loop.symbol in inside or not (code <= first.perspective and code <= stop.perspective):
            return None
        cutter = Cutter(index, {}, [*one, *two])
        # Strong cuts first: pieces between two of them are what those have together whom weak cuts do not concern.
        wholes = cutter.cut_all([cutter.whole()], strong, 0)
        groups = [[part] for part in wholes]
        others = (cut for cut in _cuts(index, loop.body, is_weak) if not any(map(cut.same, strong)))
        for cut in islice(others, MOST_WEAK):
            more = [cutter.cut_all(group, [cut], 1) for group in groups]
            groups = more if sum(map(len, more)) <= MOST_PIECES else groups
        number = sum(map(len, groups))
        if number > MOST_PIECES or number * len(inner) > MOST_STATEMENTS:
            return None
        return (*cutter.before, *number_pieces(wholes, [[Making(part).loop() for part in group] for group in groups]))


def number_pieces(wholes: Sequence[Part], groups: Sequence[Sequence[tree.For | None]]) -> Iterator[tree.For]:
    """Yield the pieces that are left with their numbers, and with the parts that conditions of a lesser kind have cut."""
    of = sum(piece is not None for group in groups for piece in group)
    first = 1
    for part, group in zip(wholes, groups, strict=True):
        made = [piece for piece in group if piece is not None]
        last = first + len(made) - 1
        whole = tree.Whole(*part.bounds, first, last, part.most_trips <= 1) if 1 < len(made) == len(group) else None
        for number, piece in enumerate(made, first):
            yield replace(piece, part=tree.Piece(number, number, of, whole))
        first = last + 1


def _is(one: object, two: object) -> bool:
    return one is two


def _code_inside(s: tree.Stmt, code: Perspective, number: int) -> Perspective:
    """Return whose code a statement list inside a statement is."""
    if isinstance(s, tree.Group):
        return s.unit
    return Perspective(s.level, s.arms[number].size) if isinstance(s, tree.Split) else code


# -- whether, and where ---------------------------------------------------------------------------------------------------------


def can_be_split(loop: tree.For) -> bool:
    """Whether a loop is one that pieces can be made of: it counts up in constant steps to its end, and its body can be copied."""
    if not isinstance(loop.step, tree.Const) or loop.step.value <= 0 or loop.symbol.type != INT32 or loop.unroll:
        return False
    if jumps(loop.body, 0, len(loop.body)):
        return False
    uncopied = tree.SharedDeclare | tree.Unsafe | tree.Specialise
    inner = tuple(statements(loop.body))
    # Threads that fill a ring and use it can fill it ahead in one loop, not in several.
    return not any(isinstance(s, uncopied) or (isinstance(s, tree.Partition) and ring_of(s) is not None) for s in inner)


def _own_conditions(body: tree.Body) -> Iterator[tree.If]:
    """Yield the conditions of a loop's body that no loop inside it is around."""
    for s in body:
        if isinstance(s, tree.If):
            yield s
        if not isinstance(s, tree.For | tree.While):
            for part in tree.children(s):
                yield from _own_conditions(part)


def _cuts(index: Index, body: tree.Body, wanted: Callable[[tree.If], bool]) -> Iterator[Cut]:
    """Yield the cuts of the conditions that are wanted, each place of the range once."""
    found: list[Cut] = []
    for s in _own_conditions(body):
        if not wanted(s):
            continue
        for atom in index.atoms(s.condition):
            change = index.change(atom)
            if change is not None and not any(map(change.cut.same, found)):
                found.append(change.cut)
                yield change.cut


def is_strong(s: tree.If) -> bool:
    """Whether a condition is around a wgmma, or a station of a ring."""
    inner = tuple(statements((*s.then, *s.otherwise)))
    return any(ring_of(one) is not None or any(map(_is_wgmma, terms(one))) for one in inner)


def _is_wgmma(e: tree.Expr) -> bool:
    return isinstance(e, tree.Apply) and e.intrinsic.asynchronous == "wgmma"


def is_weak(s: tree.If) -> bool:
    """Whether a condition is around a loop over a fragment's elements, or a function that is given one."""
    inner = tuple(statements((*s.then, *s.otherwise)))
    loops = [one for one in inner if isinstance(one, tree.For)]
    in_loops = (part for loop in loops for one in statements(loop.body) for part in terms(one))
    given = (a for one in inner for part in terms(one) if isinstance(part, tree.Call) for a in part.arguments)
    return any(isinstance(part, tree.Item) and isinstance(part.symbol.type, tree.Fragment) for part in in_loops) or any(
        isinstance(a.type, tree.Fragment) for a in given
    )


class Cutter(Frozen):
    """Cuts a range; `before` gets the declarations of the cuts' places, of which `places` has the names."""

    index: Index
    places: dict[Cut, tree.Expr]
    before: list[tree.Stmt]

    def whole(self) -> Part:
        """Return the whole range."""
        index = self.index
        last = add(index.reads.read(index.loop.stop, {}), constant(-1))
        return Part(index, (index.first,), (index.stop,), (index.start,), (last,))

    def cut_all(self, parts: Sequence[Part], cuts: Sequence[Cut], most: int) -> list[Part]:
        """Return parts cut in two at each of some cuts, but those of `most` trips at most; in an order in which trips come."""
        found = list(parts)
        for cut in cuts:
            # Of two parts that are cut, one is wholly before the other: so are its halves.
            found = [half for part in found for half in self.halves(part, cut, most)]
        return found

    def halves(self, part: Part, cut: Cut, most: int) -> list[Part]:
        """Return what of a part is before a cut, and what behind, without what surely has no trip."""
        if part.most_trips <= most:
            return [part]
        at = self.place(cut)
        if at is None:
            return [part]
        return [half for half in (part.before(cut, at), part.after(cut, at)) if half.most_trips > 0]

    def place(self, cut: Cut) -> tree.Expr | None:
        """Return the first index behind a cut, a constant or a name; None where it doesn't fit."""
        if cut not in self.places:
            found = place_of(self.index, cut)
            if found is None:
                return None
            e, declared = name_value(found, f"{self.index.loop.symbol.name}_cut", frozenset())
            self.places[cut] = e
            self.before.extend(declared)
        return self.places[cut]


# -- pieces ---------------------------------------------------------------------------------------------------------------


class Making(Frozen):
    """How a piece is made: a loop over a part of the range, without the conditions that are decided there."""

    part: Part

    def loop(self) -> tree.For | None:
        """Return the loop; None where nothing is left to do in it."""
        loop = self.part.index.loop
        body = leave_rings(self.keep_undecided(loop.body))
        if not any(map(has_effect, statements(body))):
            return None
        first, stop = self.part.bounds
        # The places of cuts may be narrower than the loop's own bounds.
        unit = meet(loop.symbol.perspective, first.perspective, stop.perspective)
        symbol = replace(loop.symbol, perspective=unit)
        names = Renamed({loop.symbol: symbol})
        rename(body, names)
        self.fold(body, names)
        once = self.part.most_trips <= 1
        return replace(loop, symbol=symbol, start=first, stop=stop, body=copy_body(body, names, []), once=once)

    def keep_undecided(self, body: tree.Body) -> tree.Body:
        """Return a statement list without conditions that are decided, and without what is then empty."""
        made: list[tree.Stmt] = []
        for s in body:
            truth = self.part.decide(s.condition) if isinstance(s, tree.If) else None
            if isinstance(s, tree.If) and truth is not None:
                made += taken_out(s, self.keep_undecided(s.then if truth else s.otherwise))
                continue
            old = tree.children(s)
            parts = tuple(map(self.keep_undecided, old))
            # What had statements and has none is gone, unless it does something by itself.
            if any(old) and not any(parts) and not any(map(acts, terms(s))):
                continue
            made.append(s if parts == old else with_parts(s, parts))
        return tuple(made)

    def fold(self, body: tree.Body, names: Renamed) -> None:
        """Let names know what conditions inside expressions are."""
        for part in (part for s in statements(body) for part in terms(s)):
            if isinstance(part, tree.Select) and (truth := self.part.decide(part.condition)) is not None:
                names.expressions[part] = names.expression(part.then if truth else part.otherwise)
            elif (
                isinstance(part, tree.Binary | tree.Unary)
                and isinstance(part.type, tree.Scalar)
                and part.type.kind == "bool"
            ):
                truth = self.part.decide(part)
                if truth is not None:
                    names.expressions[part] = tree.Const(value=truth, type=part.type, span=part.span)


def rename(body: tree.Body, names: Renamed) -> None:
    """Give all that a statement list declares a name of its own in the copy."""
    for s in statements(body):
        for symbol in declared_names(s):
            if symbol.view is None:
                names.symbols[symbol] = replace(symbol)
        view = s.view if isinstance(s, tree.Partition | tree.Claim | tree.Async) else None
        if view is not None and view.view is not None:
            old = view.view
            offset = None if old.offset is None else (names.symbol(old.offset[0]), names.expression(old.offset[1]))
            params = tuple(map(names.symbol, old.params))
            new = replace(
                old,
                source=names.symbol(old.source),
                params=params,
                index=tuple(map(names.expression, old.index)),
                offset=offset,
            )
            names.symbols[view] = replace(view, view=new)


def leave_rings(body: tree.Body) -> tree.Body:
    """Return a piece's statements without the stations of rings that nothing in it uses: all of a round, or none of it."""
    # Rounds are counted by visits, so all roles must leave the same ones out: the body is still that of all roles here.
    used = {symbol for s in statements(body) for symbol in mentioned_names(s)}
    opened = [s for s in statements(body) if isinstance(s, tree.Partition | tree.Claim) and ring_of(s) is not None]
    gone = {ring_of(s) for s in opened} - {ring_of(s) for s in opened if s.view in used}
    return _without_stations(body, gone) if gone else body


def _without_stations(body: tree.Body, gone: set[tree.Symbol | None]) -> tree.Body:
    made: list[tree.Stmt] = []
    for s in body:
        parts = tuple(_without_stations(part, gone) for part in tree.children(s))
        if ring_of(s) is not None and ring_of(s) in gone:
            made += taken_out(s, parts[0])
        else:
            made.append(s if parts == tree.children(s) else with_parts(s, parts))
    return tuple(made)


def taken_out(s: tree.Stmt, body: tree.Body) -> tree.Body:
    """Return a statement list that stood inside a statement, for that statement's place: in the same function's text."""
    return tuple(replace(one, inlined=s.inlined) if one.inlined is None and s.inlined else one for one in body)


def has_effect(s: tree.Stmt) -> bool:
    """Whether a statement itself does more than declare what others need, or lead to them."""
    quiet = isinstance(s, SCOPES | tree.Declare | tree.For | tree.If | tree.Assume | tree.Distinct)
    return not quiet or any(map(acts, terms(s)))
