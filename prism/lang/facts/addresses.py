"""Where an access is: its indices in its object, through all views, and what the conditions and loops around it say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from prism.lang import tree
from prism.lang.facts.claims import Told
from prism.lang.facts.definitions import Facts, Span
from prism.lang.facts.digits import Reader, reader
from prism.lang.facts.polynomials import Form, add, all_digits, constant, multiply
from prism.lang.facts.touches import Address, Use, names_of
from prism.lang.facts.wraps import computation_type
from prism.lang.intrinsics import load_vector, store_vector
from prism.lang.intrinsics.wgmma import ROWS as STRIP
from prism.lang.intrinsics.wgmma import extents, is_transposed, wgmma
from prism.lang.keep.bases import Frozen, Value
from prism.lang.tree.bind import binding_of, operands_of
from prism.lang.tree.walk import subexpressions
from prism.lang.types import INT32, Type
from prism.lang.types.perspective import WARP, WARP1, WARPGROUP, WARPGROUP1, Level, Perspective

ROW = 16
"""Bytes of a matrix's row, as `ldmatrix` and `stmatrix` move it."""


class Among(Value):
    """Units `first .. first + size - 1` of a level, counted inside `code`, come here: the arm of a split, a role."""

    level: Level
    code: Perspective
    first: int
    size: int


Guard = tuple[tree.Expr, bool] | tree.For | Among | tree.Distinct
"""A condition and whether it holds, a loop whose bounds its index is between, which units come here, or what they differ in."""


class Site(Frozen):
    """Where an element stands: what holds there, and the intrinsic whose operand it is."""

    guards: tuple[Guard, ...]
    apply: tree.Apply | None


def address(known: Facts, use: Use) -> Address | None:
    """Return where a use is, or None where its object, or how much of it is touched, is not known."""
    element = use.expression
    if not isinstance(element, tree.Element) or not isinstance(element.symbol.root().type, tree.Pointer):
        return None
    found: dict[tuple[tree.Element, bool, int], Address | None] = known.found.setdefault("addresses", {})
    key = (element, use.exact, use.width)
    if key not in found:
        found[key] = _address(known, use, element)
    return found[key]


def _address(known: Facts, use: Use, element: tree.Element) -> Address | None:
    root, site = element.symbol.root(), sites(known).get(element)
    if site is None:
        return None
    product = site.apply if site.apply is not None and site.apply.intrinsic is wgmma else None
    width = _width(use, site, root) if product is None else (1, False)
    if width is None:
        return None
    reads = reader(known)
    indices = resolve_indices(known, element.symbol, tuple((reads.read(i, {}), i.type) for i in element.indices))
    guards = _guard_forms(reads, site)
    told = _site_claims(reads, site)
    if indices is None:
        return None
    found = Address(root, indices, guards, *width, distinct=told)
    return found if product is None else _of_product(reads, product, element, found)


def callee_address(known: Facts, argument: tree.Var | tree.Element, span: Span) -> Address | None:
    """Return where a callee is that reaches these elements of a pointer which it is passed."""
    indices = argument.indices if isinstance(argument, tree.Element) else ()
    reads, view = reader(known), argument.symbol.view
    if len(indices) > 1 or view is None or len(view.params) != 1:
        return None
    at = reads.read(indices[0], {}) if indices else constant(0)
    where = resolve_indices(known, argument.symbol, ((at, indices[0].type if indices else INT32),))
    where = None if where is None else (*where[:-1], add(where[-1], constant(span[0])))
    guards = site_bounds(known, argument)
    root, width = argument.symbol.root(), span[1] - span[0] + 1
    if where is None or (len(where) > 1 and not _in_a_row(reads, root, where[-1], width)):
        return None
    return Address(root, where, guards, width, False, distinct=site_claims(known, argument))


def caller_address(known: Facts, argument: tree.Var | tree.Element, call: tree.Call, where: Address) -> Address | None:
    """Return where a callee's access is, which is at `where` in the memory that it is passed as this argument."""
    reads, root, indices = reader(known), argument.symbol.root(), where.indices
    if argument.symbol.view is not None or isinstance(argument, tree.Element):
        given = argument.indices if isinstance(argument, tree.Element) else ()
        if len(given) > 1 or len(indices) != 1:
            return None
        at = (reads.read(given[0], {}), given[0].type) if given else (constant(0), INT32)
        begin = resolve_indices(known, argument.symbol, (at,))
        if begin is None:
            return None
        indices = (
            *begin[:-1],
            add(begin[-1], indices[0]),
        )  # a pointer's elements lie side by side, and no sum of them wraps
        if len(indices) > 1 and not _in_a_row(reads, root, indices[-1], where.width):
            return None
    beside = (*site_claims(known, call), *where.distinct)
    return Address(
        root, indices, (*site_bounds(known, call), *where.guards), where.width, where.aligned, distinct=beside
    )


def _in_a_row(reads: Reader, root: tree.Symbol, first: Form, width: int) -> bool:
    """Whether elements are sure to be of one row: behind its end lies the next one, though the row's index is another."""
    low, high = reads.range.form(first)
    shape = root.type.shape if isinstance(root.type, tree.Pointer) else None
    return shape is not None and low >= 0 and high + width <= shape[-1]


def site_bounds(known: Facts, element: tree.Expr) -> tuple[Form, ...]:
    """Return what is not negative where an element, or a call, stands; nothing is known of other expressions."""
    site = sites(known).get(element) if isinstance(element, tree.Element | tree.Call) else None
    return () if site is None else _guard_forms(reader(known), site)


def site_claims(known: Facts, element: tree.Expr) -> tuple[Told, ...]:
    """Return what is claimed of values that the unit has which comes to an element, or to a call."""
    site = sites(known).get(element) if isinstance(element, tree.Element | tree.Call) else None
    return () if site is None else _site_claims(reader(known), site)


def _site_claims(reads: Reader, site: Site) -> tuple[Told, ...]:
    places = (guard for guard in site.guards if isinstance(guard, tree.Distinct))
    return tuple(Told(place, tuple(reads.read(value, {}) for value in place.values)) for place in places)


def address_in(known: Facts, element: tree.Element, source: tree.Symbol) -> Address | None:
    """Return where an element is in the object or view `source`, of which its own is a view, wherever that itself is."""
    indices = resolve_indices(
        known, element.symbol, tuple((reader(known).read(i, {}), i.type) for i in element.indices), source
    )
    return None if indices is None else Address(source, indices, (), 1, False)


def resolve_indices(
    known: Facts, symbol: tree.Symbol, indices: tuple[tuple[Form, Type], ...], stop: tree.Symbol | None = None
) -> tuple[Form, ...] | None:
    """Return the indices in the object behind a name, or in the view `stop` on the way, or None where that is not known.

    An index has a type, in which C++ computes what a view makes of it.
    """
    while symbol.view is not None and symbol is not stop:
        params = symbol.view.params
        if len(params) != len(indices):
            return None
        given = dict(zip(params, (form for form, _ in indices), strict=True))
        types = {p: type_ for p, (_, type_) in zip(params, indices, strict=True) if isinstance(type_, tree.Scalar)}
        made = symbol.view.index
        indices = tuple((reader(known).read(index, given, types), computation_type(index, types)) for index in made)
        symbol = symbol.view.source
    return tuple(form for form, _ in indices)


def names_behind(known: Facts, view: tree.Symbol) -> frozenset[tree.Symbol]:
    """Return the names that a view's indices are computed from, beside its own parameters."""
    memo: dict[tree.Symbol, frozenset[tree.Symbol]] = known.found.setdefault("views", {})
    if view not in memo:
        assert view.view is not None
        forms = [reader(known).read(index, {}) for index in view.view.index]
        memo[view] = names_of(forms) - {*view.view.params}
    return memo[view]


def _of_product(reads: Reader, apply: tree.Apply, element: tree.Element, first: Address) -> Address:
    """Return the box that a wgmma reads from an element on: all of it, but of 64 rows of A each warp its own 16.

    FlashAttention-3 counts on that too: where warps write what they read, no other waits for them.
    """
    binding = binding_of(apply)
    operand = next(p.name for p, argument in operands_of(apply) if argument is element)
    box, indices = list(extents(binding, operand)), list(first.indices)
    axis = 1 if is_transposed(binding, operand) else 0
    if operand == "a" and box[axis] == STRIP:
        box[axis] //= WARPGROUP // WARP
        mine = multiply(reads.range.index(WARP1, WARPGROUP1), constant(box[axis]))
        indices[axis - 2] = add(indices[axis - 2], mine)
    return replace(first, indices=tuple(indices), width=box[1], rows=(*(1,) * (len(indices) - 2), box[0]))


def _width(use: Use, site: Site, root: tree.Symbol) -> tuple[int, bool] | None:
    """Return how many elements are touched, and whether only at multiples of so many."""
    name = "" if site.apply is None else site.apply.intrinsic.name
    if site.apply is not None and name in (load_vector.name, store_vector.name):
        binding = binding_of(site.apply)
        width = binding.statics["width"] if "width" in binding.statics else binding.lengths["value"]
        return (width, True) if isinstance(width, int) else None
    if name in ("ldmatrix", "stmatrix") and isinstance(root.type, tree.Pointer):
        return ROW // root.type.element.bytes, True
    return (use.width, False) if use.exact else None


# -- what holds where -------------------------------------------------------------------------------------------------------


def sites(known: Facts) -> Mapping[tree.Element | tree.Call, Site]:
    """Return where each element and each call of a function stands."""
    if "sites" not in known.found:
        known.found["sites"] = dict(_sites(known.function.body, ()))
    found: Mapping[tree.Element | tree.Call, Site] = known.found["sites"]
    return found


def _sites(body: tree.Body, guards: tuple[Guard, ...]) -> Iterator[tuple[tree.Element | tree.Call, Site]]:
    for statement in body:
        if isinstance(statement, tree.Assume):  # from here on in this list, as inside an `if`
            guards = (*guards, (statement.condition, True))
        elif isinstance(statement, tree.Distinct):
            guards = (*guards, statement)
        for expression in tree.expressions(statement):
            applied = {a: e for e in subexpressions(expression) if isinstance(e, tree.Apply) for a in e.arguments}
            for part in subexpressions(expression):
                if isinstance(part, tree.Element | tree.Call):
                    yield part, Site(guards, applied.get(part))
        for number, inner in enumerate(tree.children(statement)):
            yield from _sites(inner, (*guards, *_holds(statement, number)))


def _holds(statement: tree.Stmt, number: int) -> tuple[Guard, ...]:
    match statement:
        case tree.If(condition=condition):
            return ((condition, number == 0),)
        case tree.While(condition=condition):
            return ((condition, True),)
        case tree.For():
            return (statement,)
        case tree.Split(level=level, code=code, arms=arms):
            return (Among(level, code, arms[number].first, arms[number].size),)
        case _:
            return ()


def _guard_forms(reads: Reader, site: Site) -> tuple[Form, ...]:
    """Return what is not negative where a site's guards hold. A guard around many sites is read once, unless it has unknowns."""
    kept: dict[Guard, tuple[Form, ...]] = reads.known.found.setdefault("guards", {})
    found: list[Form] = []
    for guard in site.guards:
        forms = kept.get(guard)
        if forms is None:
            forms = tuple(_guard(reads, guard))
            if not any(digit.base[0] == "unknown" for form in forms for digit in all_digits(form)):
                kept[guard] = forms  # what is unknown is another number each time
        found += forms
    return tuple(found)


def _guard(reads: Reader, guard: Guard) -> Iterator[Form]:
    """Yield polynomials that are not negative where a condition holds, or in a loop."""
    if isinstance(guard, Among):
        index = reads.range.index(Perspective(guard.level, 1), guard.code)
        yield add(index, constant(-guard.first))
        yield add(constant(guard.first + guard.size - 1), index, -1)
    elif isinstance(guard, tree.Distinct):
        pass  # it says nothing of a value alone
    elif not isinstance(guard, tree.For):
        yield from _condition(reads, *guard)
    else:
        index, stop = reads.name(guard.symbol), reads.read(guard.stop, {})
        low, high = reads.range.form(reads.read(guard.step, {}))
        if low > 0 or high < 0:
            yield _less(index, stop) if low > 0 else _less(stop, index)


def _condition(reads: Reader, condition: tree.Expr, truth: bool) -> Iterator[Form]:
    match condition:
        case tree.Unary(op="not", operand=operand):
            yield from _condition(reads, operand, not truth)
        case tree.Binary(op="and" | "or" as op, left=left, right=right):
            if (op == "and") == truth:
                yield from _condition(reads, left, truth)
                yield from _condition(reads, right, truth)
        case tree.Binary(op=op, left=left, right=right) if isinstance(left.type, tree.Scalar) and left.type.integral:
            op = op if truth else {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}.get(op, "")
            yield from _compare(reads, op, left, right)
        case tree.Var(symbol=symbol) if symbol not in reads.known.changed and symbol in reads.known.definitions:
            yield from _condition(reads, reads.known.definitions[symbol], truth)
        case tree.Var() | tree.Apply():
            value = reads.truth(condition)
            if value is not None:
                yield add(value, constant(-1)) if truth else add({}, value, -1)
        case _:
            pass


def _compare(reads: Reader, op: str, left: tree.Expr, right: tree.Expr) -> Iterator[Form]:
    """Yield what is not negative where a comparison holds; of `a if c else b`, if it can't hold of one of them, the other's."""
    for here, place in ((left, 0), (right, 1)):
        select = _select(reads, here)
        for truth in (True, False) if select is not None else ():
            assert select is not None
            kept, gone = (select.then, select.otherwise) if truth else (select.otherwise, select.then)
            sides = [(one, right) if place == 0 else (left, one) for one in (gone, kept)]
            if any(reads.range.form(form)[1] < 0 for form in _compare(reads, op, *sides[0])):
                yield from _condition(reads, select.condition, truth)
                yield from _compare(reads, op, *sides[1])
                return
    one, two = reads.read(left, {}), reads.read(right, {})
    unsigned = isinstance(left.type, tree.Scalar) and left.type.kind == "uint"
    if unsigned and min(reads.range.form(one)[0], reads.range.form(two)[0]) < 0:
        return
    if op in ("<", "<=", "=="):
        yield _less(one, two, op == "<")
    if op in (">", ">=", "=="):
        yield _less(two, one, op == ">")


def _select(reads: Reader, e: tree.Expr) -> tree.Select | None:
    """Return the choice between two values that an expression, or the name that it is, stands for."""
    if isinstance(e, tree.Var) and e.symbol not in reads.known.changed:
        e = reads.known.definitions.get(e.symbol, e)
    return e if isinstance(e, tree.Select) else None


def _less(left: Form, right: Form, strictly: bool = True) -> Form:
    return add(add(right, left, -1), constant(-1 if strictly else 0))
