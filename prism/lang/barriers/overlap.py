"""The verdict on each partition of a function: whether its units' parts are proved disjoint, surely overlap, or neither.

All accesses through the view are looked at in pairs, with what stands around them (addresses.py, disjoint.py). What a call does
with a part is the span of the elements that the callee reaches, where that is bounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from prism.lang import tree
from prism.lang.barriers import flow
from prism.lang.barriers.callees import callee_accesses, foreign, join_callees
from prism.lang.barriers.footprints import pointer_copies
from prism.lang.barriers.unproved import mend
from prism.lang.facts.addresses import address
from prism.lang.facts.cases import cases
from prism.lang.facts.collisions import Collision, collision
from prism.lang.facts.definitions import Facts, facts
from prism.lang.facts.digits import reader
from prism.lang.facts.disjoint import MOST_PROOFS, is_exhausted, is_proved
from prism.lang.facts.polynomials import Form, all_digits
from prism.lang.facts.questions import Question
from prism.lang.facts.touches import Address, uses_of
from prism.lang.keep.bases import Frozen
from prism.lang.tree.walk import renewed_names, statements, subexpressions
from prism.lang.types.perspective import BLOCK

MORE = "a block may have more than {} threads, unless `__launch_bounds__` says not, and then units' elements meet"
VAGUE = "there is more than sums, products, quotients, remainders and bits of what never changes in the index"
LARGE = "the index on line {} has more terms, multiplied out, than are looked at"
MANY = "more than {} pairs of accesses are made through it, on lines {} to {}"
SPENT = "more than {} proofs were asked for in this function, which are not tried"
MOST_PAIRS = 1 << 13
"""Pairs of accesses through one partition of which a proof is tried: of the others nothing is proved."""
CHANGED = "`{}`, in the index on line {}, is assigned again: of a name that is assigned once, where it is declared, more is known"


class Verdict(Frozen):
    """What is known of one partition: `disjoint`, `overlap` (then `collision` says where) or `unknown`, and why."""

    view: tree.Symbol
    status: str
    reason: str
    collision: Collision | None = None


class _Reach(Frozen):
    """One access through a view: how, where, and what is called or used, for the reason."""

    kind: str
    where: Address | None
    line: int
    what: str
    changed: str = ""
    """A name in the index that is assigned again."""


class _Left(Frozen):
    """The first two accesses of which nothing is proved; `many`: all of them, where they are more than are looked at."""

    one: _Reach
    two: _Reach
    many: Sequence[_Reach]


def verdicts(function: tree.Function, known: Facts) -> Iterator[tuple[tree.Partition, Verdict]]:
    """Yield each partition with the verdict on it, in program order."""
    for statement in statements(function.body):
        if isinstance(statement, tree.Partition) and statement.view.view is not None and not statement.view.view.alias:
            yield statement, judge(known, statement)


def judge(known: Facts, partition: tree.Partition) -> Verdict:
    """Judge one partition, once."""
    memo: dict[tree.Partition, Verdict] = known.found.setdefault("verdicts", {})
    if partition not in memo:
        memo[partition] = _judge(known, partition)
    return memo[partition]


def _judge(known: Facts, partition: tree.Partition) -> Verdict:
    view, meaning = partition.view, partition.view.view
    assert meaning is not None
    made = list(_reaches(known, partition))
    if all(reach.kind == "read" for reach in made):
        return Verdict(view, "disjoint", "nothing is written through it")
    left = _first_unproved(known, partition, made)
    if left is None:
        return Verdict(view, "disjoint", "each unit's elements are proved to be its own")
    if _in_cases(known, partition):
        return Verdict(view, "disjoint", "each unit's elements are proved to be its own, whatever small arguments are")
    found = collision(known, partition)
    if found is not None:
        return Verdict(view, "overlap", "both are sure to write it", found)
    fewer = known.function.bound.thread
    if fewer is not None and fewer < known.threads:
        fresh = facts(known.function, fewer)
        if _first_unproved(fresh, partition, list(_reaches(fresh, partition))) is None:
            return Verdict(view, "unknown", f"{MORE.format(fewer)}; the reference machine checks it")
    return Verdict(view, "unknown", f"{_why(known, left, partition)}; the reference machine checks it")


def _in_cases(known: Facts, partition: tree.Partition) -> bool:
    """Whether it is proved in each case of arguments that are one of a few numbers."""
    uses = (use for statement in statements(partition.body) for use in uses_of(known, statement))
    through = [
        use.expression
        for use in uses
        if isinstance(use.expression, tree.Call) or partition.view in flow.resolve(use.expression.symbol, ())[1]
    ]
    found = cases(known, through)
    return bool(found) and all(
        _first_unproved(case, partition, list(_reaches(case, partition))) is None for case in found
    )


def _first_unproved(known: Facts, partition: tree.Partition, made: Sequence[_Reach]) -> _Left | None:
    """Return the first two accesses of which nothing is proved, or None."""
    meaning = partition.view.view
    assert meaning is not None
    free = frozenset(renewed_names(partition.body)) | foreign(known.function)
    question, known = Question(meaning.source.perspective, meaning.unit, None, free), join_callees(known)
    tried, made = 0, list(_unlike(made))
    for place, one in enumerate(made):
        for two in made[place:]:
            if _meet(meaning, one.kind, two.kind):
                tried += 1
                if tried > MOST_PAIRS or not is_proved(known, one.where, two.where, question):
                    return _Left(one, two, made if tried > MOST_PAIRS else ())
    return None


def _unlike(made: Sequence[_Reach]) -> Iterator[_Reach]:
    """Yield the first of those accesses that reach the same elements in the same way, under the same conditions."""
    seen: set[object] = set()
    for reach in made:
        key = None if reach.where is None else (reach.kind, reach.where.key)
        if key is None or key not in seen:
            seen.add(key)
            yield reach


def _meet(meaning: tree.View, one: str, two: str) -> bool:
    """Whether two kinds of access by two units are not to be to one element; atomics of a block are, in one block."""
    return flow.conflicting(one, two) or (flow.is_block_scoped(one, two) and not meaning.source.perspective <= BLOCK)


def _why(known: Facts, left: _Left, partition: tree.Partition) -> str:
    """Return why nothing is proved of two accesses."""
    one, two = left.one, left.two
    if left.many:
        first, last = min(reach.line for reach in left.many), max(reach.line for reach in left.many)
        return MANY.format(MOST_PAIRS, first, last)
    for reach in (one, two):
        if reach.where is None:
            return f"how far {reach.what} on line {reach.line} reaches is not known"
        if any(_large(known, form) for form in reach.where.indices):
            return LARGE.format(reach.line)
        if any(digit.base[0] == "unknown" for form in reach.where.indices for digit in all_digits(form)):
            return CHANGED.format(reach.changed, reach.line) if reach.changed else f"{VAGUE} on line {reach.line}"
    if is_exhausted(known) or is_exhausted(join_callees(known)):
        return SPENT.format(MOST_PROOFS)
    lines = f"line {one.line}" if one.line == two.line else f"lines {one.line} and {two.line}"
    return f"no condition or bound in sight keeps two units' elements apart, on {lines}{mend(known, partition)}"


def _large(known: Facts, form: Form) -> bool:
    """Whether something in an index, or in what its names stand for, is too large to be multiplied out."""
    bases = {digit.base for digit in all_digits(form)}
    names = [base[1] for base in bases if base[0] == "name" and base[1] in known.definitions]
    inside = (reader(known).read(known.definitions[name], {}) for name in names)
    return any(
        digit.base[0] == "unknown" and digit.base[2:] == ("large",)
        for form in (form, *inside)
        for digit in all_digits(form)
    )


# -- what is reached through a view -----------------------------------------------------------------------------------------


def _reaches(known: Facts, partition: tree.Partition) -> Iterator[_Reach]:
    for statement in statements(partition.body):
        for source in pointer_copies(statement):
            if partition.view in flow.resolve(source, ())[1]:
                yield _Reach("write", None, statement.span.line, "what is done through the pointer made")
        for use in uses_of(known, statement):
            if isinstance(use.expression, tree.Call):
                yield from _accesses_of_call(known, use.expression, partition)
            elif partition.view in flow.resolve(use.expression.symbol, ())[1]:
                what = "what is reached through this" if not use.exact else f"`{use.expression.symbol.name}`"
                changed = next(_changed_names(known, use.expression), "")
                yield _Reach(use.kind, address(known, use), use.expression.span.line, what, changed)


def _changed_names(known: Facts, expression: tree.Expr) -> Iterator[str]:
    """Yield the names of scalars in an expression, and in what its names are defined as, that are assigned again."""
    seen: set[tree.Symbol] = set()
    around = [subexpressions(expression)]
    while around:
        part = next(around[-1], None)
        if part is None:
            around.pop()
        elif isinstance(part, tree.Var) and part.symbol not in seen:
            seen.add(part.symbol)
            if part.symbol in known.changed and part.symbol not in known.loops:
                yield part.symbol.name
            elif part.symbol in known.definitions:
                around.append(subexpressions(known.definitions[part.symbol]))


def _accesses_of_call(known: Facts, call: tree.Call, partition: tree.Partition) -> Iterator[_Reach]:
    for parameter, argument in zip(call.function.parameters, call.arguments, strict=False):
        if isinstance(argument, tree.Var | tree.Element) and partition.view in flow.resolve(argument.symbol, ())[1]:
            for kind, where in callee_accesses(known, call, parameter, argument):
                yield _Reach(kind, where, call.span.line, f"the call of `{call.function.name}`")
