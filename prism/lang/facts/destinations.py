"""Where asynchronous copies write, and which of them are proved never to write one place.

Nothing orders two copies under way: not even one thread's own, in the order of the text. So of two that write one object it has
to be known that they never meet, or the first has to have ended when the second is issued.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod

from prism.lang import tree  # fmt: skip
from prism.lang.facts.addresses import resolve_indices, site_bounds
from prism.lang.facts.collisions import copied_element
from prism.lang.facts.definitions import Facts, surely_entered
from prism.lang.facts.digits import reader
from prism.lang.facts.disjoint import is_proved
from prism.lang.facts.polynomials import BLOCKS, THREADS, Digit, Form, add, all_digits, constant, multiply, number
from prism.lang.facts.questions import Question
from prism.lang.facts.touches import REDUCTION, Address, Pending, Touch, Use, other_trip
from prism.lang.tree.bind import binding_of, operands_of
from prism.lang.tree.plan import Elided, Path
from prism.lang.tree.walk import has_jump
from prism.lang.types import INT32
from prism.lang.types.perspective import BLOCK, GRID, THREAD, Level, Perspective
from prism.lang.types.tiles import extents_in

# -- where ----------------------------------------------------------------------------------------------------------------


def destination(known: Facts, use: Use, root: tree.Symbol, where: Address | None) -> Address | None:
    """Return the elements that an asynchronous write brings, None where they are not known; `where`: as a plain access's."""
    if not use.how or use.kind not in ("write", REDUCTION) or use.by is None:
        return None
    if isinstance(root.type, tree.TensorMap):
        return _box(known, use, root, root.type.box)
    if where is not None or not isinstance(root.type, tree.Pointer):
        return where
    maps = binding_of(use.by).maps
    if maps:
        (tensor,) = maps.values()
        return _box(known, use, root, tensor.box)
    return _run(known, use, use.by, root)


def _box(known: Facts, use: Use, root: tree.Symbol, box: tuple[int, ...]) -> Address | None:
    """Return a box of a tensor, or of a shared tile that is named whole."""
    symbol = use.expression.symbol if isinstance(use.expression, tree.Element | tree.Var) else None
    if symbol is None or (isinstance(root.type, tree.Pointer) and _shape(symbol) != root.type.shape):
        return None
    found = extents_in(root.type.shape or (), box) if isinstance(root.type, tree.Pointer) else box
    indices = _start(known, use)
    if found is None or indices is None or len(indices) < len(found):
        return None
    box = found
    extents = (*(1,) * (len(indices) - len(box)), *box)
    return Address(root, indices, site_bounds(known, use.expression), extents[-1], False, extents[:-1])


def _run(known: Facts, use: Use, apply: tree.Apply, root: tree.Symbol) -> Address | None:
    """Return elements of a shared object that follow one another, where their number is constant."""
    indices, shape = _start(known, use), root.type.shape if isinstance(root.type, tree.Pointer) else None
    if indices is None or shape is None or len(indices) != len(shape):
        return None
    flat: Form = {}
    for index, extent in zip(indices, shape, strict=True):
        flat = add(multiply(flat, constant(extent)), index)
    given = {parameter.name: argument for parameter, argument in operands_of(apply)}
    if "n" in given:
        count = int(given["n"].value) if isinstance(given["n"], tree.Const) else None
    else:
        first = number(flat)
        count = None if first is None else prod(shape) - first
    if count is None:
        return None
    return Address(root, (flat,), site_bounds(known, use.expression), max(1, count), False)


def _start(known: Facts, use: Use) -> tuple[Form, ...] | None:
    """Return the indices, in the object, of the first element."""
    e = use.expression
    if isinstance(e, tree.Element):
        return resolve_indices(known, e.symbol, tuple((reader(known).read(i, {}), i.type) for i in e.indices))
    if not isinstance(e, tree.Var):
        return None
    rank = len(e.symbol.view.params) if e.symbol.view is not None else len(_shape(e.symbol) or ())
    return resolve_indices(known, e.symbol, ((constant(0), INT32),) * rank)


def _shape(symbol: tree.Symbol) -> tuple[int, ...] | None:
    return symbol.type.shape if isinstance(symbol.type, tree.Pointer) else None


# -- whether two meet -----------------------------------------------------------------------------------------------------


def never_meet(known: Facts, first: Pending, second: Touch, source: Perspective) -> bool:
    """Whether two writes inside one unit of `source` are proved never to meet: at all, or in different trips of a loop."""
    assert first.touch is not None
    one, two, free = first.touch.lands, second.lands, _free(known, first)
    if is_proved(known, one, two, Question(source, None, None, free)):
        return True
    index = other_trip(known, first, second)
    return index is not None and is_proved(known, one, two, Question(source, None, index, free))


def meet(known: Facts, first: Pending, second: Touch) -> bool:
    """Whether two writes of one thread surely have an element in common, where both are made."""
    assert first.touch is not None
    one, two, free = first.touch.lands, second.lands, _free(known, first)
    if one is None or two is None or len(one.indices) != len(two.indices) or not _same_block(first.touch, second):
        return False
    digits = [digit for form in (*one.indices, *two.indices) for digit in all_digits(form)]
    if any(d.base[0] == "unknown" or (d.base[0] in ("name", "trip") and d.base[1] in free) for d in digits):
        return False
    rest = len(one.indices) - 1
    for a, b, mine, its in zip(
        one.indices, two.indices, (*(one.rows or (1,) * rest), one.width), (*(two.rows or (1,) * rest), two.width),
        strict=True,
    ):  # fmt: skip
        between = number(add(b, a, -1))
        if between is None or not -its < between < mine:
            return False
    return True


def _same_block(first: Touch, second: Touch) -> bool:
    """Whether two writes surely go to the same block of a cluster: stores to others say how far it is."""
    far = [dict((p.name, a) for p, a in operands_of(t.by)).get("shift") for t in (first, second) if t.by is not None]
    numbers = {shift.value if isinstance(shift, tree.Const) else None for shift in far if shift is not None}
    return far in ([], [None, None]) or (None not in far and None not in numbers and len(numbers) == 1)


def _free(known: Facts, first: Pending) -> frozenset[tree.Symbol]:
    """The names of an access that have other values now: those that loops have renewed which it went round."""
    return frozenset[tree.Symbol]().union(*(known.renewed[loop] for loop in first.aged))


def _single(path: Path) -> bool:
    while path and isinstance(path[-1], Perspective):
        path = path[:-1]
    if not path or any(isinstance(entry, Perspective) for entry in path):
        return False
    level, _, size = path[-1]  # type: ignore[misc]
    return level == Level.THREAD and size == 1


def conflict_unit(known: Facts, first: Pending, second: Touch, source: Perspective) -> Perspective:
    """Return the unit inside one of `source` whose threads make both of two writes where they meet."""
    assert first.touch is not None
    if first.touch.path == second.path and _single(second.path):  # one thread of the block makes both
        return THREAD
    if source.level != Level.THREAD:
        question = Question(source, THREAD, None, _free(known, first))
        if is_proved(known, first.touch.lands, second.lands, question):
            return THREAD
    return source


def is_declared_distinct(first: Touch, second: Touch) -> bool:
    """Whether the program says that what one statement stores, whoever does and however often, goes to different places."""
    return first.by is second.by and first.by is not None and bool(first.by.statics.get("disjoint"))


# -- what other blocks store ----------------------------------------------------------------------------------------------

LOADED = "blocks of a cluster may bring the same elements for one another; the reference machine checks it"
BLOCKED = "blocks may store to one place of it, and none waits for another; the reference machine checks it"
BELIEVED = "`disjoint=True` says that they go to different places; the reference machine checks it"


def between_blocks(known: Facts, touches: Iterable[Touch]) -> Iterator[Elided]:
    """Yield the tiles of a matrix of which it is not proved that blocks store different ones: no barrier orders those."""
    own = [t for t in touches if isinstance(t.root.type, tree.TensorMap) and t.kind == "write" and t.by is not None]
    free = frozenset[tree.Symbol]().union(*known.renewed.values())
    question = Question(GRID, BLOCK, None, free)
    for place, one in enumerate(own):
        for two in own[place:]:
            if one.root is two.root:
                if is_proved(known, one.lands, two.lands, question):
                    continue
                if is_declared_distinct(one, two):
                    yield Elided(one.access, two.access, BELIEVED, unproved="store")
                else:
                    yield Elided(one.access, two.access, BLOCKED, unproved="asynchronous")


def brought_together(known: Facts, touches: Iterable[Touch]) -> Iterator[tuple[Touch, Elided | None]]:
    """Yield loads that blocks of a cluster make for one another in one visit, where it is not proved that they are apart.

    None where it is sure that they are not: what each brings begins at one place for all.
    """
    cluster = Perspective(Level.BLOCK, known.function.bound.block or 1)
    own = [
        t
        for t in touches
        if t.how == "load" and t.kind == "write" and t.by is not None and t.by.statics.get("multicast")
    ]
    for place, one in enumerate(own):
        for two in own[place:]:
            if one.root is not two.root or one.steps[:1] and one.steps[0].view is not two.steps[0].view:
                continue
            if is_proved(known, one.lands, two.lands, Question(cluster, BLOCK, None, frozenset())):
                continue
            forms = () if one.lands is None else one.lands.indices
            surely = one is two and one.lands is not None
            if surely and all(is_common(d, cluster, frozenset()) for form in forms for d in all_digits(form)):
                yield one, None
            else:
                yield one, Elided(one.access, two.access, LOADED, unproved="asynchronous")


def stored_by_all(known: Facts, cluster: Perspective) -> Iterator[tree.Element]:
    """Yield where a matrix's tile is stored by all blocks of a cluster: each comes there, and it begins at one place for all."""
    reads = reader(known)
    for apply, counted in _always(known.function.body, frozenset()) if cluster.size > 1 else ():
        element = copied_element(apply)
        if element is not None and isinstance(element.symbol.root().type, tree.TensorMap):
            forms = [reads.read(index, {}) for index in element.indices]
            if all(is_common(digit, cluster, counted) for form in forms for digit in all_digits(form)):
                yield element


def _always(body: tree.Body, counted: frozenset[tree.Symbol]) -> Iterator[tuple[tree.Apply, frozenset[tree.Symbol]]]:
    """Yield the stores that every block makes, with the indices of the loops around, of constant bounds."""
    for statement in body:
        match statement:
            case tree.Evaluate(value=tree.Apply() as apply) if apply.intrinsic.asynchronous == "bulk":
                yield apply, counted
            case tree.Group() | tree.Partition() | tree.Claim() | tree.Async() | tree.Turns():
                yield from _always(statement.body, counted)
            case tree.Split(level=Level.THREAD):
                for arm in statement.arms:
                    yield from _always(arm.body, counted)
            case tree.For() if surely_entered(statement) and not has_jump(statement.body):
                yield from _always(statement.body, counted | {statement.symbol})
            case _:
                pass


def is_common(digit: Digit, cluster: Perspective, counted: frozenset[tree.Symbol]) -> bool:
    """Whether a number is the same for threads of one place in all blocks of a cluster; `counted`: indices of like trips."""
    match digit.base:
        case ("name" | "trip", symbol):
            return symbol in counted or cluster <= symbol.perspective
        # A function of numbers that are common is common; `all_digits` yields those inside it too.
        case ("count" | "along" | "quotient" | "remainder" | "apply" | "xor" | "wrap", *_):
            return True
        case _:
            return digit.base == THREADS or (digit.base == BLOCKS and digit.low % cluster.size == 0)
