"""Faults of calls, memory and bounds; faults.py has the others, and says what an operator is."""

from __future__ import annotations

from collections.abc import Iterator

from prism.lang import tree
from prism.lang.diagnostics import Span
from prism.lang.types import Array, Pointer, Scalar
from prism.lang.types.perspective import BLOCK, GRID, THREAD, Level, Perspective
from tests.generated.faults import Fault, Lines, broader, edit, insert, operator, pointers, swap
from tests.generated.sites import Site, statements, uses

# -- calls (R13, R14, R15, R16, R26, R30) -----------------------------------------------------------------------------


@operator
def collective_in_lane(site: Site, text: Lines) -> Iterator[Fault]:
    """R13: a warp's collective run by one thread: in a group, in an arm, in a thread's own code."""
    call = "zz: int @ thread[1] = shuffle_down(1, 1)"
    yield from insert(site, "call-bound", 1, "with group(thread[1]):", f"    {call}")
    yield from insert(site, "call-bound", 2, "match split(thread):", "    case 1:", f"        {call}")
    if site.bound.thread is not None and site.bound.thread % 32:
        yield from insert(site, "call-bound", 0, call)


def calls_in(statement: tree.Stmt) -> Iterator[tree.Call | tree.Apply]:
    """Yield the calls that a statement itself makes."""

    def inside(e: tree.Expr) -> Iterator[tree.Call | tree.Apply]:
        if isinstance(e, tree.Call | tree.Apply):
            yield e
        for part in tree.operands(e):
            yield from inside(part)

    for e in tree.expressions(statement):
        yield from inside(e)


@operator
def call_in_lane(site: Site, text: Lines) -> Iterator[Fault]:
    """R13: an existing call moved into a group of one thread."""
    s = site.statement
    if isinstance(s, tree.Evaluate) and isinstance(s.value, tree.Call) and s.span.line == s.span.end_line:
        if s.value.function.bound.code != THREAD:
            yield from edit(text, site.line, r"^( *)(\S.*)$", r"\1with group(thread[1]): \2", "call-bound")


@operator
def argument_narrower(site: Site, text: Lines) -> Iterator[Fault]:
    """R14: an argument that its callee's threads must agree on, and do not."""
    for call in calls_in(site.statement):
        if isinstance(call, tree.Call):
            formals: list[tuple[object, Perspective]] = [(f.type, f.perspective) for f in call.function.parameters]
        else:
            named = [p for p in call.intrinsic.parameters if p.kind != "static"][: len(call.arguments)]
            formals = [
                (p.type if p.kind == "value" and not call.intrinsic.elementwise else None, p.unit) for p in named
            ]
        for (kind, place), actual in zip(formals, call.arguments, strict=False):
            given = actual.span != call.span  # else it is the parameter's default, and nothing is written for it
            if given and isinstance(kind, Scalar) and kind.kind != "bool" and place != THREAD:
                yield from swap(text, actual.span, "id(thread[1])", "call-scalar")


@operator
def argument_broader(site: Site, text: Lines) -> Iterator[Fault]:
    """R15: memory of others passed where it may be written, or const memory there."""
    for call in calls_in(site.statement):
        if not isinstance(call, tree.Call):
            continue
        for formal, actual in zip(call.function.parameters, call.arguments, strict=True):
            kind = formal.type
            if not isinstance(kind, Pointer) or kind.const or not isinstance(actual, tree.Var):
                continue
            for s in [*pointers(site, const=False), *pointers(site, const=True)]:
                if isinstance(s.type, Pointer) and s.type.element == kind.element:
                    if s.type.const or s.perspective != formal.perspective:
                        yield from swap(text, actual.span, s.name, "call-ptr")


@operator
def argument_array(site: Site, text: Lines) -> Iterator[Fault]:
    """R15: a local array of other owners."""
    for call in calls_in(site.statement):
        if isinstance(call, tree.Call):
            for formal, actual in zip(call.function.parameters, call.arguments, strict=True):
                for s in site.visible():
                    if isinstance(formal.type, Array) and s.type == formal.type and s.perspective != formal.perspective:
                        yield from swap(text, actual.span, s.name, "call-ptr")


@operator
def template_missing(site: Site, text: Lines) -> Iterator[Fault]:
    """R26: a function that the arguments do not imply is not given."""
    for call in calls_in(site.statement):
        if isinstance(call, tree.Call) and "OP" in call.function.template and call.span.line == call.span.end_line:
            yield from edit(text, call.span.line, r",? *\bOP=\w+(\.\w+)*", "", "template")


@operator
def template_unknown(site: Site, text: Lines) -> Iterator[Fault]:
    """R26: a template argument that the function does not have."""
    for call in calls_in(site.statement):
        if isinstance(call, tree.Call) and call.span.line == call.span.end_line and call.arguments:
            span = call.span
            end = Span(span.file, span.line, span.end_column - 1, span.line, span.end_column - 1)
            yield from swap(text, end, ", ZZ=1", "template")


@operator
def template_at_run_time(site: Site, text: Lines) -> Iterator[Fault]:
    """R26: a template argument that is known only at run time."""
    for call in calls_in(site.statement):
        if isinstance(call, tree.Call):
            for name, value in call.function.template.items():
                if isinstance(value, int) and call.span.line == call.span.end_line:
                    yield from edit(text, call.span.line, rf"\b{name}=[\w *]+", f"{name}=id()", "template")


@operator
def recursion(site: Site, text: Lines) -> Iterator[Fault]:
    """R30: a function that calls itself."""
    function = site.function
    if function.kind == "device" and not site.ways:
        names = [p.name for p in function.parameters] + [f"{name}={name}" for name in function.template]
        if all(site.names.get(p.name) is p for p in function.parameters):
            yield from insert(site, "recursion", 0, f"{function.name}({', '.join(names)})")


# -- memory (R17, R18, R20-R23, R25) ----------------------------------------------------------------------------------


@operator
def store_by_many(site: Site, text: Lines) -> Iterator[Fault]:
    """R18: a store in code that speaks for more than one thread."""
    if site.code != THREAD:
        for s in pointers(site, const=False):
            yield from insert(site, "ptr-write", 0, f"{s.name}[0] = 0")


@operator
def store_through_broad(site: Site, text: Lines) -> Iterator[Fault]:
    """R18: a store through a name that several threads own."""
    for s in pointers(site, const=False):
        if s.perspective != THREAD:
            yield from insert(site, "ptr-write", 1, "with group(thread[1]):", f"    {s.name}[0] = 0")


@operator
def store_const(site: Site, text: Lines) -> Iterator[Fault]:
    """R17: a store through a pointer to const."""
    for s in pointers(site, const=True):
        yield from insert(site, "const", 0, f"{s.name}[0] = 0")


@operator
def partition_in_group(site: Site, text: Lines) -> Iterator[Fault]:
    """R20: a partition where the owners are not all present."""
    for s in pointers(site, const=False):
        if s.perspective != THREAD:
            head = f"    with partition({s.name}, thread[1], id()) as zz:"
            yield from insert(site, "partition", 1, "with group(thread[1]):", head, "        pass")


@operator
def partition_broader(site: Site, text: Lines) -> Iterator[Fault]:
    """R20: parts for units broader than the owners."""
    for s in pointers(site, const=False):
        if s.perspective == site.code != GRID:
            yield from insert(
                site, "partition", 0, f"with partition({s.name}, {broader(site.code)}) as zz:", "    pass"
            )


@operator
def partition_offset(site: Site, text: Lines) -> Iterator[Fault]:
    """R20: an offset that varies within the unit that the part is for."""
    for s in pointers(site, const=False):
        if (
            s.perspective == site.code != THREAD
            and len(s.view.params if s.view else getattr(s.type, "shape", 0) or "i") == 1
        ):
            for form in ("offset=id(thread[1])", "lambda i: i + id(thread[1])"):
                yield from insert(
                    site, "partition", 0, f"with partition({s.name}, {site.code}, {form}) as zz:", "    pass"
                )


@operator
def partition_local(site: Site, text: Lines) -> Iterator[Fault]:
    """R20: a partition of something that is not memory."""
    for s in site.visible():
        if isinstance(s.type, Array | Scalar):
            yield from insert(site, "partition", 0, f"with partition({s.name}, thread[1], id()) as zz:", "    pass")


@operator
def use_hidden(site: Site, text: Lines) -> Iterator[Fault]:
    """R21: the name that goes by another here."""
    for s in site.names.values():
        if s in site.hidden:
            yield from insert(site, "hide", 0, f"zz: int @ thread[1] = {s.name}[0]")


@operator
def claim_in_group(site: Site, text: Lines) -> Iterator[Fault]:
    """R22: a claim where the owners are not all present."""
    for s in pointers(site, const=False):
        if s.perspective != THREAD:
            head = f"    with claim({s.name}, thread[1]) as zz:"
            yield from insert(site, "claim", 1, "with group(thread[1]):", head, "        pass")


def claims(site: Site) -> Iterator[tuple[tree.Symbol, Perspective]]:
    """Yield the names that a claim gives to one unit of the code here."""
    way = site.ways[-1] if site.ways else None
    if (
        isinstance(way, tree.Claim)
        and way.view.perspective.level == Level.THREAD
        and isinstance(way.view.type, Pointer)
    ):
        yield way.view, way.view.perspective


@operator
def claim_without_arm(site: Site, text: Lines) -> Iterator[Fault]:
    """R23: a claim's name outside its arm."""
    for view, _ in claims(site):
        yield from insert(site, "claim-one", 0, f"zz: int @ thread[1] = {view.name}[0]")


@operator
def claim_in_group_inside(site: Site, text: Lines) -> Iterator[Fault]:
    """R23: a claim's name used by all units of a group."""
    for view, unit in claims(site):
        if site.bound.allows(unit):
            yield from insert(site, "claim-one", 1, f"with group({unit}):", f"    zz: int @ thread[1] = {view.name}[0]")


def after(site: Site, text: Lines) -> int:
    """Return the line after a compound statement."""
    line, column = site.line + 1, site.statement.span.column
    while line <= len(text) and (not text[line - 1].strip() or text[line - 1][: column + 1].isspace()):
        line += 1
    return line


@operator
def claim_in_two_arms(site: Site, text: Lines) -> Iterator[Fault]:
    """R23: a claim's name used by a second arm, after the first."""
    s = site.statement
    for view, unit in claims(site):
        used = isinstance(s, tree.Split) and any(uses(arm.body, view) for arm in s.arms)
        whole = site.code.level == Level.BLOCK and site.bound.whole or site.bound.allows(unit)
        if used and whole:
            margin = " " * s.span.column
            lines = ("match split(thread):", f"    case {unit.size}:", f"        zz: int @ thread[1] = {view.name}[0]")
            at = after(site, text)
            yield Fault(at, at, tuple(margin + line for line in lines), "claim-one", at + 2)


@operator
def shared_in_arm(site: Site, text: Lines) -> Iterator[Fault]:
    """R25: shared memory declared in an arm, a group, or at a perspective of its own."""
    declaration = "zz: shared(int[4]) @ block[1]"
    yield from insert(site, "split-body", 2, "match split(thread):", "    case 1:", f"        {declaration}")
    yield from insert(site, "shared-alloc", 1, "with group(thread[1]):", f"    {declaration}")
    if site.code != BLOCK:
        narrowing = [way for way in site.ways if isinstance(way, tree.Group | tree.Split)]
        inside_arm = bool(narrowing) and isinstance(narrowing[-1], tree.Split)
        yield from insert(site, "split-body" if inside_arm else "shared-alloc", 0, declaration)
    else:
        yield from insert(site, "shared-alloc", 0, "zz: shared(int[4]) @ thread[1]")


@operator
def overlapping(site: Site, text: Lines) -> Iterator[Fault]:
    """Races: a partition whose parts are one and the same."""
    for s in pointers(site, const=False):
        if s.perspective == site.code and units(site) > 1 and len(s.view.params if s.view else "i") == 1:
            if s.view is None and len(getattr(s.type, "shape", None) or "i") != 1:
                continue
            head = f"with partition({s.name}, thread[1], 0) as zz:"
            yield from insert(site, "race", 0, head, "    with group(thread[1]):", "        zz[0] = zz[0]")


def units(site: Site) -> int:
    """How many threads are guaranteed in the code's unit."""
    return site.code.size if site.code.level == Level.THREAD else site.function.bound.thread or 1


# -- functions (R1, R16) ----------------------------------------------------------------------------------------------


def decorator(site: Site, text: Lines) -> int | None:
    """Return the line of `@requires`, where the site is the function's first."""
    if site.ways or site.statement is not site.function.body[0]:
        return None
    line = site.function.span.line
    while line > 1 and not text[line - 1].startswith("@requires"):
        line -= 1
        if text[line - 1].startswith("def "):
            return None
    return line


@operator
def without_requires(site: Site, text: Lines) -> Iterator[Fault]:
    """R1: no bound."""
    line = decorator(site, text)
    if line is not None:
        yield Fault(line, line + 1, ("",), "bound-wf", site.function.span.line)


@operator
def bad_bound(site: Site, text: Lines) -> Iterator[Fault]:
    """R1: two entries of a level, or a size that is none."""
    line = decorator(site, text)
    if line is not None:
        for new in ("thread[64], thread[32]", "thread[0]"):
            yield from edit(text, line, r"(thread|warp)\[[^\]]*\]", new, "bound-wf")


def takes_shared(function: tree.Function) -> int:
    """Return the line of the first shared object, or call of a function that has one; 0 where there is none."""
    for s in statements(function.body):
        if isinstance(s, tree.SharedDeclare):
            return s.span.line
        for call in calls_in(s):
            if isinstance(call, tree.Call) and takes_shared(call.function):
                return call.span.line
    return 0


@operator
def too_little_shared(site: Site, text: Lines) -> Iterator[Fault]:
    """R16: more shared memory than the bound allows."""
    line, at = decorator(site, text), takes_shared(site.function)
    if line is not None and at and "smem" not in text[line - 1]:
        yield from edit(text, line, r"\)$", ", smem=2)", "call-smem", at)
