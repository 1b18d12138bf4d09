"""Group, split, partition, claim: who runs a piece of code, and who owns a piece of memory (R2-R5, R20-R23)."""

from __future__ import annotations

from dataclasses import replace

from prism.lang import surface, tree
from prism.lang.check import annotation
from prism.lang.check.body import check_body
from prism.lang.check.env import (
    Env,
    Role,
    Step,
    constant,
    declaration_label,
    evidence,
    fail,
    in_parts,
    is_narrowed,
    why_here,
)
from prism.lang.check.expressions import check_index, visible
from prism.lang.check.rings import in_flight, one_use
from prism.lang.check.table import statement_rule
from prism.lang.diagnostics import Fields, Span
from prism.lang.errors import ownership
from prism.lang.errors import perspective as rules
from prism.lang.errors import types as errors
from prism.lang.parse import syntax as s
from prism.lang.types import INT32, Pointer
from prism.lang.types.perspective import Level, Perspective


@statement_rule(s.Group)
def check_group(env: Env, st: s.Group) -> tree.Stmt:
    """R2 GROUP: the bound's own entry of that level is a multiple of the unit; lower entries are kept."""
    unit = annotation.place(st.unit)
    have = env.bound.entry(unit.level)
    nested = unit.level == env.code.level and unit.size > env.code.size
    if have is None or not unit.level <= env.code.level or nested:
        fail(rules.GroupBroadens(span=st.unit.span, unit=unit, code_perspective=env.code, labels=why_here(env)))
    if have % unit.size != 0:
        facts: Fields = {"unit": unit, "level": str(unit.level), "size": unit.size, "have": have}
        fail(rules.GroupDivides(span=st.unit.span, labels=why_here(env), **facts))
    inner = env.enter(Step("group", head(st.span), unit, f"group({unit})"), env.bound.narrow(unit))
    return tree.Group(unit=unit, code=env.code, body=check_body(inner, st.body), span=st.span)


def head(span: Span) -> Span:
    """Return the part of a compound statement's span on its first line."""
    return span if span.line == span.end_line else Span(span.file, span.line, span.column, span.line, span.column + 5)


@statement_rule(s.Split)
def check_split(env: Env, st: s.Split) -> tree.Stmt:
    """R3 SPLIT-SUM, R4 SPLIT-ALIGN, R5 SPLIT-BODY."""
    level, have = level_to_divide(env, st.level, "split")
    arms: list[tree.Arm] = []
    first = 0
    for case in st.arms:
        count = units(case.size)
        size = count * level.scale
        align(env, f"case {count}", case.size.span, level, first, size, have)
        unit = Perspective(level.level, size)
        step = Step("arm", case.size.span, unit, f"case {count}", first)
        arms.append(tree.Arm(first, size, check_body(env.enter(step, env.bound.narrow(unit)), case.body), case.span))
        first += size
    enough(env, level, first, have, st.arms[-1].size.span if st.arms else st.span, "cases")
    return tree.Split(level=level.level, code=env.code, arms=tuple(arms), span=st.span)


def level_to_divide(env: Env, e: s.Expr, construct: str) -> tuple[surface.LevelName, int]:
    """Return the level that a split, roles or one divides, and how many of its threads or blocks there are."""
    level = e.value if isinstance(e, s.Resolved) else None
    if not isinstance(level, surface.LevelName):
        fail(errors.NotAPerspective(span=e.span, change="write a level without a size: `thread`, `warp` or `block`"))
    have = env.bound.entry(level.level)
    if have is None or level.level == Level.GRID or not level.level <= env.code.level:
        facts: Fields = {"level": level.name, "bound": str(env.bound), "construct": construct}
        fail(rules.SplitLevel(span=e.span, labels=why_here(env), **facts))
    return level, have


def units(e: s.Expr, arm: str = "a case of `split`", usage: str = "case 32:") -> int:
    """Return the number of units of an arm: a positive constant."""
    if not (isinstance(e, s.Literal) and type(e.value) is int and e.value > 0):
        fail(rules.SplitCase(span=e.span, arm=arm, usage=usage))
    return e.value


def enough(env: Env, level: surface.LevelName, needed: int, have: int, span: Span, arms: str) -> None:
    """R3 SPLIT-SUM: together the arms need no more units than are guaranteed."""
    if needed > have:
        facts: Fields = {"level": str(level.level), "needed": needed, "have": have, "over": needed - have, "arms": arms}
        fail(rules.SplitSum(span=span, labels=why_here(env), **facts))


def align(env: Env, arm: str, span: Span, level: surface.LevelName, first: int, size: int, have: int) -> None:
    """R4 SPLIT-ALIGN: an arm starts at a multiple of its size, within the unit and, through the unit's base, absolutely."""
    if first % size != 0:
        facts: Fields = {"arm": arm, "size": size // level.scale, "level": level.name, "first": first // level.scale}
        if not arm.startswith("case "):
            facts["change"] = "name the larger roles first, or one more before it to fill the gap"
        fail(rules.SplitAlign(span=span, **facts))
    whole = env.bound.whole and env.code.level > level.level
    if not whole and env.code.level == level.level and have % size != 0 and first + size <= have:
        fail(rules.SplitBase(span=span, arm=arm, size=size, level=str(level.level), base=have, labels=why_here(env)))


# -- partition and claim --------------------------------------------------------------------------------------------------


@statement_rule(s.Partition)
def check_partition(env: Env, st: s.Partition) -> tree.Stmt:
    """R20 PARTITION and R21 HIDE."""
    source = resolve_source(env, st.source, ownership.PartitionSource, ownership.PartitionOwners)
    unit = annotation.place(st.unit)
    if not (unit <= source.perspective and unit <= env.code and env.bound.allows(unit)):
        fail(ownership.PartitionUnit(span=st.unit.span, **facts_of_unit(env, source, unit)))
    view = make_view(env, source, unit, st.offset, races_of(st), ownership.PartitionOffset)
    symbol = tree.Symbol(st.name, view_pointer(env, source, st.offset), unit, st.name_span, view=view)
    inner = env.enter(Step("partition", head(st.span), unit, f"partition({source.name}, {unit})"))
    body = check_body(open_scope(inner, source, symbol), st.body)
    one_use(env, symbol)
    return tree.Partition(view=symbol, code=env.code, body=body, span=st.span)


def resolve_source(
    env: Env,
    e: s.Expr,
    not_memory: type[ownership.PartitionSource | ownership.ClaimSource],
    not_here: type[ownership.PartitionOwners | ownership.ClaimOwners],
) -> tree.Symbol:
    """R20, R22: return what a partition or claim opens: memory, whose owners are all present in this code, and they alone."""
    source = memory(env, e)
    if not isinstance(source.type, Pointer):
        fail(not_memory(span=e.span, name=source.name, type=str(source.type), labels=(declaration_label(source),)))
    if not owners_present(env, source):
        labels = (declaration_label(source), *why_here(env))
        facts: Fields = {"name": source.name, "place": source.perspective, "code_perspective": env.code}
        fail(not_here(span=e.span, narrowed=is_narrowed(env), labels=labels, **facts))
    return source


def facts_of_unit(env: Env, source: tree.Symbol, unit: Perspective) -> Fields:
    """Return what an error says of a unit that a partition or claim cannot be for."""
    labels = (declaration_label(source),)
    return {"name": source.name, "place": source.perspective, "unit": unit, "bound": str(env.bound), "labels": labels}


def open_scope(env: Env, source: tree.Symbol, symbol: tree.Symbol) -> Env:
    """Return the environment of a scope's body: it has the new name, and R21 HIDE hides the old one."""
    assert isinstance(source.type, Pointer)
    env.context.lives[symbol] = (*env.scope, env.context.scopes + 1)  # that of the body, checked next
    if source in env.context.flights:
        env.context.flights.add(symbol)
    env = env.bind(symbol)
    return env if source.type.const else env.hide(source, symbol)


def owners_present(env: Env, source: tree.Symbol) -> bool:
    """Whether the code speaks for exactly the owners; memory that nobody writes may be partitioned by any part of them."""
    assert isinstance(source.type, Pointer)
    return env.code <= source.perspective if source.type.const else source.perspective == env.code


def memory(env: Env, e: s.Expr) -> tree.Symbol:
    """Return the symbol that a partition or claim names."""
    if not isinstance(e, s.Name):
        fail(errors.NotAValue(span=e.span, text="this", hint="name a pointer, a shared object or a view"))
    return visible(env, e.name, e.span, use="open")


def view_pointer(env: Env, source: tree.Symbol, offset: s.Expr | None) -> Pointer:
    """Return the type of a view: the source's elements, and its shape where it names the whole of it, or of a ring's copy."""
    type_ = source.type
    assert isinstance(type_, Pointer)
    const = type_.const or constant(env, source) is not None
    if offset is not None:
        return Pointer(type_.element, const, type_.space)
    return Pointer(type_.element, const, type_.space, type_.shape, 0, type_.swizzle, type_.axes)


def races_of(st: s.Partition) -> str:
    """Return what the partition says of races: `check`, `none` (it is assumed that there are none) or `allow`."""
    if st.races is None:
        return "check"
    if not (isinstance(st.races, s.Literal) and st.races.value in ("check", "none", "allow")):
        hint = 'write races="none", races="allow", or leave it out'
        fail(errors.NotAValue(span=st.races.span, text="races", hint=hint))
    return str(st.races.value)


def make_view(
    env: Env,
    source: tree.Symbol,
    unit: Perspective,
    offset: s.Expr | None,
    races: str,
    error: type[ownership.OffsetVaries],
) -> tree.View:
    """Return what the new name means. An offset is evaluated once, for each unit; a lambda at each access."""
    assert isinstance(source.type, Pointer)
    rank = len(source.view.params) if source.view is not None else source.type.rank
    if isinstance(offset, s.Lambda):
        params = tuple(tree.Symbol(name, INT32, unit, offset.span, parameter=True) for name in offset.parameters)
        inner = env
        for param in params:
            inner = inner.bind(param)
        given = offset.body.items if isinstance(offset.body, s.Braces) else (offset.body,)
        if len(given) != rank:
            fail(errors.OffsetIndices(span=offset.span, name=source.name, wanted=rank, given=len(given)))
        with in_parts(inner):
            indices = tuple(check_index(inner, part, unit) for part in given)
        for part in indices:
            agree(part, unit, error)
        return tree.View(source, unit, params, indices, None, races)
    params = tuple(
        tree.Symbol(f"i{k}" if rank > 1 else "i", INT32, unit, source.span, parameter=True) for k in range(rank)
    )
    used = tuple(tree.Var(symbol=p, type=INT32, perspective=unit, span=p.span) for p in params)
    if offset is None:
        return tree.View(source, unit, params, used, None, races)
    value = check_index(env, offset, unit)
    agree(value, unit, error)
    if rank != 1:
        fail(errors.OffsetIndices(span=offset.span, name=source.name, wanted=rank, given=1))
    start = tree.Symbol(f"{source.name}_offset", value.type, unit, offset.span, const=True)
    base = tree.Var(symbol=start, type=value.type, perspective=unit, span=offset.span)
    step: tree.Expr = used[0]
    if value.type != INT32:
        step = tree.Cast(operand=step, type=value.type, perspective=unit, span=offset.span)
    index = tree.Binary(op="+", left=base, right=step, type=value.type, perspective=unit, span=offset.span)
    return tree.View(source, unit, params, (index,), (start, value), races)


def flat_view(source: tree.Symbol, unit: Perspective) -> tree.View:
    """Return what a pointer to a shared object of several axes means: its elements row by row."""
    assert isinstance(source.type, Pointer) and source.type.shape is not None
    param = tree.Symbol("i", INT32, unit, source.span, parameter=True)
    facts: Fields = {"type": INT32, "perspective": unit, "span": source.span}
    index: list[tree.Expr] = []
    rest: tree.Expr = tree.Var(symbol=param, **facts)
    for extent in source.type.shape[:0:-1]:
        size = tree.Const(value=extent, type=INT32, span=source.span)
        index.append(tree.Binary(op="%", left=rest, right=size, **facts))
        rest = tree.Binary(op="/", left=rest, right=size, **facts)
    return tree.View(source, unit, (param,), (rest, *index[::-1]), None, "check")


def agree(value: tree.Expr, unit: Perspective, error: type[ownership.OffsetVaries]) -> None:
    """R7 READ-UP as R20 and R22 use it: an offset is the same for all threads of the unit that the part is for."""
    if not unit <= value.perspective:
        fail(error(needed=unit, **evidence(value, unit)))


@statement_rule(s.Claim)
def check_claim(env: Env, st: s.Claim) -> tree.Stmt:
    """R22 CLAIM; R23 is checked where the new name is used."""
    source = resolve_source(env, st.source, ownership.ClaimSource, ownership.ClaimOwners)
    role = env.role(st.unit.name, st.unit.span) if isinstance(st.unit, s.Name) else None
    unit = annotation.place(st.unit) if role is None else role.unit
    if not (unit <= source.perspective and unit <= env.code and env.bound.entry(unit.level) is not None):
        fail(ownership.ClaimUnit(span=st.unit.span, **facts_of_unit(env, source, unit)))
    view = make_view(env, source, unit, st.offset, "check", ownership.ClaimOffset)
    view = replace(view, in_flight=in_flight(source, st))
    symbol = tree.Symbol(st.name, view_pointer(env, source, st.offset), unit, st.name_span, view=view)
    step = Step(
        "claim", symbol.span, unit, f"claim({source.name}, {role.name if role is not None else unit})", role=role
    )
    body = check_body(open_scope(env.enter(step), source, symbol), claimed_body(env, st))
    one_use(env, symbol)
    return tree.Claim(view=symbol, code=env.code, body=body, span=st.span)


def claimed_body(env: Env, st: s.Claim) -> s.Body:
    """Return the statements inside a claim: in the role's arm, where it is for a role, unless roles of this code are named there.

    Those are entered, or passed to a function that enters them: so what is inside has to speak for all. The role's arms in it
    may use the claimed name.
    """
    (first, *_) = st.body
    if not (isinstance(first, s.Enter) and first.claimed):
        return st.body
    declared: set[str] = set()
    named: set[str] = set()

    def look(part: object) -> None:
        if isinstance(part, tuple):
            for inner in part:
                look(inner)
        elif isinstance(part, s.Roles):
            declared.update(name.name for name in part.names)
        elif isinstance(part, s.Turns):  # taken in the role's arm as well as around it
            look(part.body)
        elif isinstance(part, s.Name):
            named.add(part.name)
        elif isinstance(part, s.Node):
            for one in type(part)._fields:
                look(getattr(part, one.name))

    look(first.body)
    others = (env.names.get(name) for name in named - declared)
    return first.body if any(isinstance(role, Role) and role.code == env.code for role in others) else st.body
