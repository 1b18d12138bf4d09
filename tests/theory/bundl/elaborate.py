"""Prism's core to Bundl: a kernel in, well typed or not, a program of the calculus out (CALCULUS.md, 10).

The core: one kernel whose body declares scalars, partitions its array between blocks, and in `group(block[1])` declares shared
arrays and has scalars, local arrays, group, split, partition, claim, async_, if, while, for, assignments, stores, copies and
calls of device functions, which have the same but for shared arrays. `int32` throughout. Templates are instantiated before, by
Prism.

What the calculus has no word for is put in other words, as follows.
- Prism's code at block[1] may speak of its threads at once. A block is destructed on entry, so block[1] is (Thread, T), the
  same unit. Shared arrays are allocated just before.
- A split of several arms is one after the other: each arm alone, reached by splits whose other arm is skip.
- `claim` names who may use the memory, and a split in it says which unit that is; Bundl's narrows code and data at once. So
  the arm that has the claimed name is Bundl's claim: one for each split on the way, as deep as the arm is. That one arm alone
  has it is looked up in the syntax. See `elaborate_claims`.
- `async_` opens an array for copies of a few of its elements; Bundl's copies all of it. So a copy is one of a part as long as
  it is, in the scope if that has one copy whose place is known on entry, else in a scope of its own. See `elaborate_async`.
- A loop over a range counts in a variable of the code's perspective.
- A pointer parameter is an array in shared or in global memory: a function is another one for each that it is called with.
`NoWord` where there is nothing to say: a size that does not divide, an arm that no split reaches.
"""

from __future__ import annotations

from collections.abc import Mapping

from prism.lang import surface
from prism.lang.parse import parse
from prism.lang.parse import syntax as s
from prism.lang.parse.instantiate import instantiate
from prism.lang.surface.templates import evaluate
from prism.lang.types import Scalar
from prism.lang.types.perspective import Perspective
from tests.theory.bundl.elaborate_async import Copy, Flight, copy_of, lone_copy
from tests.theory.bundl.elaborate_claims import LONG, Pending, own, owners, part
from tests.theory.bundl.elaborate_code import Code, NoWord, mentions, narrower, reach
from theory.bundl import syntax as x
from theory.bundl.perspectives import BLOCK, GRID, THREAD, Shape, at

__all__ = ["NoWord", "elaborate"]

Template = Mapping[str, object]


class Made:
    """What all functions of a program share: the shape, the barriers' names, the functions made so far."""

    def __init__(self, shape: Shape) -> None:
        self.shape, self.count = shape, 0
        self.functions: list[x.Function] = []
        self.known: dict[tuple[object, ...], str] = {}

    def fresh(self, stem: str) -> str:
        """Return a name of its own."""
        self.count += 1
        return f"{stem}_{self.count}_"


class Elaboration:
    """One function at one shape. `kinds`: where the arrays in scope live."""

    def __init__(self, made: Made, *, inside: bool) -> None:
        self.made, self.shape, self.inside = made, made.shape, inside  # inside a block
        self.kinds: dict[str, x.Kind] = {}
        self.single: set[str] = set()  # the arrays that are one thread's
        self.flights: dict[str, Flight] = {}
        self.pending: dict[str, Pending] = {}

    def place(self, e: s.Expr | None) -> Perspective:
        """`thread[4]`, `block[1]`, .. as a perspective of the calculus."""
        if isinstance(e, s.Resolved) and isinstance(e.value, Perspective):
            return self.perspective(e.value)
        raise NoWord("a place")

    def perspective(self, pi: Perspective) -> Perspective:
        """Return what a perspective of Prism's is: that of a block is that of all its threads."""
        if pi == at(BLOCK, 1) and self.inside:
            return at(THREAD, self.shape.threads)
        return at(pi.level, pi.size)

    def psi(self) -> str:
        """Return a barrier of its own."""
        return self.made.fresh("p")

    # Expressions. ----------------------------------------------------------------------------------------------

    def expr(self, e: s.Expr) -> x.Expr:
        """Translate an expression."""
        match e:
            case s.Name(name=name):
                return x.Var(name)
            case s.Literal(value=bool(value)):
                return x.Bool(value)
            case s.Literal(value=int(value)):
                return x.Int(value)
            case s.Binary(op=op, left=left, right=right) if op in ("==", "!=", "<", "<="):
                return x.Cmp(op, self.expr(left), self.expr(right))
            case s.Binary(op=op, left=left, right=right) if op in "+-*/%":
                return x.Bop(op, self.expr(left), self.expr(right))
            case s.Subscript(base=s.Name(name=name), indices=(index,)):
                return x.Index(x.Var(name), self.expr(index))
            case s.Call(function=s.Resolved(value=surface.id), arguments=(), keywords=()):
                return x.Id()
        raise NoWord(f"an expression: {type(e).__name__}")

    # Statements. -----------------------------------------------------------------------------------------------

    def body(self, statements: tuple[s.Stmt, ...], code: Code) -> x.Stmt:
        """Translate a list; a declaration is in force to its end."""
        for place, statement in enumerate(statements):
            if isinstance(statement, s.Declare):
                before = [self.statement(one, code) for one in statements[:place]]
                return x.seq(*before, self.declare(statement, statements[place + 1 :], code))
        return x.seq(*[self.statement(statement, code) for statement in statements])

    def declare(self, st: s.Declare, rest: tuple[s.Stmt, ...], code: Code) -> x.Stmt:
        """Translate a scalar's declaration, or a local array's, and what follows it."""
        pi = self.place(st.place) if st.place is not None else at(THREAD, code.size)
        length = extent(st.annotation)
        if length is not None:
            self.kinds[st.name] = x.Kind.LOCAL
            return x.Alloc(st.name, x.Kind.LOCAL, x.Base.INT, length, self.body(rest, code), pi)
        if st.value is None:
            raise NoWord("a declaration without a value")
        value = self.expr(st.value)
        return x.Declare(st.name, x.Base.INT, pi, value, self.body(rest, code))

    def statement(self, statement: s.Stmt, code: Code) -> x.Stmt:
        """Translate a statement that declares nothing for those after it."""
        match statement:
            case s.Pass():
                return x.SKIP
            case s.Assign(target=s.Name(name=name), value=value):
                return x.Assign(name, self.expr(value))
            case s.Assign(target=s.Subscript(base=s.Name(name=name), indices=(index,)), value=value):
                return x.Store(x.Var(name), self.expr(index), self.expr(value))
            case s.If(condition=condition, then=then, otherwise=otherwise):
                return x.If(self.expr(condition), self.body(then, code), self.body(otherwise, code))
            case s.While(condition=condition, body=body):
                return x.While(self.expr(condition), self.body(body, code))
            case s.For():
                return self.loop(statement, code)
            case s.Group(unit=unit, body=body):
                inner, parts = narrower(self.place(unit), code)
                return x.Group(parts, self.body(body, inner))
            case s.Split(arms=arms):
                return x.seq(*[self.arm(arms, number, code) for number in range(len(arms))])
            case s.Partition(source=s.Name(name=name), unit=unit, offset=offset, name=new, body=body):
                inner, parts = narrower(self.place(unit), code)
                self.derive(name, new, inner.size)
                view = x.View(self.expr(offset) if offset is not None else x.Int(0), x.Int(1), x.Int(LONG))
                return x.Partition(self.psi(), name, new, parts, self.body(body, code), view)
            case s.Claim():
                return self.claim(statement, code)
            case s.Evaluate(value=s.Call(function=s.Resolved(value=surface.Kernel())) as call):
                return self.call(call)
            case s.Async():
                return self.asynchronous(statement, code)
            case s.Evaluate(value=value) if (copy := copy_of(value)) is not None:
                return self.copy(copy)
        raise NoWord(f"a statement: {type(statement).__name__}")

    def derive(self, source: str, new: str, size: int) -> None:
        """Note that `new` is where `source` is, for so many threads."""
        if source not in self.kinds:
            raise NoWord(f"{source} is no array")
        self.kinds[new] = self.kinds[source]
        if size == 1:
            self.single.add(new)

    def loop(self, statement: s.For, code: Code) -> x.Stmt:
        """`for i in range(lo, hi, step)` is `let end = hi { let i = lo { while i < end { s; i = i + step } } }`."""
        pi, end, i = at(THREAD, code.size), f"end_{statement.name}", statement.name
        body = x.seq(self.body(statement.body, code), x.Assign(i, x.Bop("+", x.Var(i), self.expr(statement.step))))
        loop = x.While(x.Cmp("<", x.Var(i), x.Var(end)), body)
        counted = x.Declare(i, x.Base.INT, pi, self.expr(statement.start), loop)
        return x.Declare(end, x.Base.INT, pi, self.expr(statement.stop), counted)

    # Splits and claims. ----------------------------------------------------------------------------------------

    def arm(self, arms: tuple[s.Case, ...], number: int, code: Code) -> x.Stmt:
        """Translate one arm: what only its threads run, and where it uses claimed names, they become its own."""
        sizes = [size_of(arm) for arm in arms]
        start, body = sum(sizes[:number]), arms[number].body
        inner = code.arm(start, sizes[number])
        before = dict(self.pending)
        claims = [claim for name, claim in before.items() if mentions(body, name)]
        for claim in claims:
            del self.pending[claim.name]
        divides = inner.size > 0 and code.size % inner.size == 0 and start % inner.size == 0
        last = claims.pop() if claims and divides else None
        made = self.owning(last, inner, start, body) if last else reach(code, start, inner.size, self.body(body, inner))
        self.pending = before
        for claim in claims:
            made = part(claim, self.psi(), code, made)
        return made

    def owning(self, claim: Pending, inner: Code, start: int, body: s.Body) -> x.Stmt:
        """Translate an arm that claims: for itself, or, on the way to the arm that has the name, for those inside it."""
        fresh = self.made.fresh(claim.name)
        self.derive(claim.source, fresh, inner.size)
        if inner.size != claim.unit:
            self.pending[claim.name] = claim._replace(source=fresh)
        made = self.body(body, inner)
        return own(claim, self.psi(), fresh, start // inner.size, inner.size, made, self.psi())

    def claim(self, st: s.Claim, code: Code) -> x.Stmt:
        """Translate a claim: what is in it, with the name kept for the one arm that uses it."""
        if not isinstance(st.source, s.Name):
            raise NoWord("a claim of no name")
        source, (unit, _) = st.source.name, narrower(self.place(st.unit), code)
        if mentions(st.body, source):
            raise NoWord(f"{source} is hidden")
        arms = set(owners(st.body, st.name, unit.size))
        if len(arms) > 1:
            raise NoWord(f"several arms use {st.name}")
        self.derive(source, st.name, unit.size)
        offset = self.made.fresh("o") if st.offset is not None else None
        self.pending[st.name] = Pending(st.name, source, unit.size, offset)
        made = self.body(st.body, code)
        del self.pending[st.name]
        unused = x.Claim(self.psi(), source, self.made.fresh(st.name), unit.size, x.SKIP)
        made = made if arms else x.seq(unused, made)
        if offset is None or st.offset is None:
            return made
        return x.Declare(offset, x.Base.INT, at(THREAD, unit.size), self.expr(st.offset), made)

    # Asynchronous copies. --------------------------------------------------------------------------------------

    def asynchronous(self, st: s.Async, code: Code) -> x.Stmt:
        """Translate a scope: with one copy of a place that is known on entry as one of Bundl's, else each copy as a scope."""
        if not isinstance(st.source, s.Name) or st.source.name not in self.kinds:
            raise NoWord("an asynchronous scope of no array")
        source = st.source.name
        if mentions(st.body, source):
            raise NoWord(f"{source} is hidden")
        copy = lone_copy(st, code)
        self.flights[st.name] = Flight(source)
        made = self.scope(copy, source, code, st.body) if copy else self.body(st.body, code)
        del self.flights[st.name]
        return made

    def copy(self, copy: Copy) -> x.Stmt:
        """Translate one copy: in the scope that was opened for it, or in one of its own."""
        flight = self.flights.get(copy.name)
        if flight is None:
            raise NoWord(f"{copy.name} is not open for copies")
        if flight.phi:
            return x.AsyncMemcpy(flight.phi, copy.name, flight.given)
        return self.scope(copy._replace(name=self.made.fresh(copy.name)), flight.target, None, ())

    def scope(self, copy: Copy, target: str, code: Code | None, body: s.Body) -> x.Stmt:
        """Return Bundl's scope for one copy: parts of both arrays that are as long as the copy, and the body in flight."""
        part, given, phi = self.made.fresh("to"), copy.source, self.made.fresh("f")
        index = self.expr(copy.source_index)
        narrow = given in self.single
        if narrow:
            given = self.made.fresh("from")
        elif index != x.Int(0):
            raise NoWord("a copy from the midst of what several threads have")
        inner: x.Stmt = x.AsyncMemcpy(phi, copy.name, given)
        if code is not None:
            self.flights[copy.name] = Flight(target, phi, given)
            inner = self.body(body, code)
        made: x.Stmt = x.AsyncPartition(phi, part, copy.name, inner)
        if narrow:
            made = x.Partition(self.psi(), copy.source, given, 1, made, x.View(index, x.Int(1), x.Int(copy.length)))
        view = x.View(self.expr(copy.index), x.Int(1), x.Int(copy.length))
        return x.Partition(self.psi(), target, part, 1, made, view)

    # Calls. ----------------------------------------------------------------------------------------------------

    def call(self, e: s.Call) -> x.Stmt:
        """Translate a call, and the function for the memory that it is called with."""
        assert isinstance(e.function, s.Resolved) and isinstance(e.function.value, surface.Kernel)
        kernel, template = e.function.value, {name: literal(value) for name, value in e.keywords}
        function = instantiate(kernel, parse(kernel), template)
        if kernel.kind == "global" or len(function.parameters) != len(e.arguments):
            raise NoWord("a call")
        kinds, arguments = [], list[x.Expr]()
        for parameter, actual in zip(function.parameters, e.arguments, strict=True):
            kinds.append(self.kind_of(parameter, actual))
            arguments.append(self.expr(actual))
        return x.Call(self.instance(kernel, template, tuple(kinds), function), tuple(arguments))

    def kind_of(self, parameter: s.Parameter, actual: s.Expr) -> x.Kind | None:
        """Return where the array that is passed lives, or None for a scalar."""
        if extent(parameter.annotation) is None and not is_pointer(parameter.annotation):
            return None
        kind = self.kinds.get(actual.name) if isinstance(actual, s.Name) else None
        if kind is None or (kind is x.Kind.LOCAL) == is_pointer(parameter.annotation):
            raise NoWord("an argument of another type")
        return kind

    def instance(
        self, kernel: surface.Kernel, template: Template, kinds: tuple[x.Kind | None, ...], function: s.Function
    ) -> str:
        """Return the name of a device function at these kinds of memory; make it if it isn't there."""
        key = (kernel, *sorted(template.items()), *kinds)
        if key not in self.made.known:
            pi = self.bound(kernel, template)
            inner = Elaboration(self.made, inside=True)
            parameters = []
            for parameter, kind in zip(function.parameters, kinds, strict=True):
                type_ = x.Base.INT if kind is None else x.ArrayOf(x.Base.INT, kind)
                parameters.append(x.Param(parameter.name, type_, inner.place(parameter.place)))
                if kind is not None:
                    inner.kinds[parameter.name] = kind
                    if parameters[-1].at == at(THREAD):
                        inner.single.add(parameter.name)
            body = inner.body(function.body, Code(pi.size, 0 if pi.size == self.shape.threads else pi.size))
            self.made.known[key] = self.made.fresh(kernel.__name__)
            self.made.functions.append(x.Function(self.made.known[key], tuple(parameters), pi, 0, body))
        return self.made.known[key]

    def bound(self, kernel: surface.Kernel, template: Template) -> Perspective:
        """Return the perspective that a device function asks for."""
        entries = {entry.level: entry.size for entry in kernel.requires or ()}
        if BLOCK in entries:
            return at(THREAD, self.shape.threads)
        size: object = entries.get(THREAD)
        if isinstance(size, surface.TemplateName):
            size = evaluate(size, template, lambda *given: None)  # of a record there is no word
        if not isinstance(size, int):
            raise NoWord("a bound")
        return at(THREAD, size)

    # The kernel. -----------------------------------------------------------------------------------------------

    def kernel(self, function: s.Function, cells: tuple[int, ...], values: tuple[int, ...]) -> x.Program:
        """Translate a kernel of an array, which has these cells, and numbers; it ends by partitioning the array to blocks."""
        whole = function.parameters[0].name
        *before, last = function.body
        if not isinstance(last, s.Partition) or len(last.body) != 1 or not isinstance(last.body[0], s.Group):
            raise NoWord("a kernel's form")
        offset = self.expr(last.offset) if last.offset is not None else x.Int(0)
        view = x.View(offset, x.Int(1), x.Int(LONG))
        self.inside = True
        blocks = x.Group(self.shape.blocks, self.block(last.body[0].body, last.name))
        self.inside = False
        shared = x.Partition(self.psi(), "grid_", "blocks_", self.shape.blocks, blocks, view)
        made: x.Stmt = x.Lower(self.psi(), whole, "grid_", x.Destruct(shared))
        for statement in reversed(before):
            if not isinstance(statement, s.Declare) or statement.value is None:
                raise NoWord("a statement of the grid")
            made = x.Declare(statement.name, x.Base.INT, self.place(statement.place), self.expr(statement.value), made)
        for parameter, value in zip(function.parameters[1:], values, strict=True):
            made = x.Declare(parameter.name, x.Base.INT, at(GRID), x.Int(value), made)
        return x.Program(made, tuple(self.made.functions), (x.Input(whole, x.Base.INT, cells),), 1 << 20)

    def block(self, statements: tuple[s.Stmt, ...], out: str) -> x.Stmt:
        """Allocate what is shared, and go from the block to its threads with all that it owns."""
        lengths = {st: shared_extent(st.annotation) for st in statements if isinstance(st, s.Declare)}
        arrays = {st: length for st, length in lengths.items() if length is not None}
        self.kinds |= {out: x.Kind.GLOBAL, **{st.name: x.Kind.SHARED for st in arrays}}
        rest = tuple(statement for statement in statements if statement not in arrays)
        made: x.Stmt = x.Destruct(self.body(rest, Code(self.shape.threads, 0)))
        for old, new in [("blocks_", out), *[(f"{st.name}_", st.name) for st in arrays]]:
            made = x.Lower(self.psi(), old, new, made)
        for st, length in reversed(arrays.items()):
            made = x.Alloc(f"{st.name}_", x.Kind.SHARED, x.Base.INT, length, made)
        return made


def extent(annotation: s.Expr) -> int | None:
    """Return n of `int32[n]`, or None for another type."""
    match annotation:
        case s.Subscript(base=s.Resolved(value=Scalar()), indices=(s.Literal(value=int(n)),)):
            return n
    return None


def shared_extent(annotation: s.Expr) -> int | None:
    """Return n of `shared(int32[n])`, or None for another type."""
    match annotation:
        case s.Call(function=s.Resolved(value=surface.shared), arguments=(inner,)):
            return extent(inner)
    return None


def is_pointer(annotation: s.Expr) -> bool:
    """Whether a type is `ptr(int32)`."""
    match annotation:
        case s.Call(function=s.Resolved(value=surface.ptr), arguments=(s.Resolved(value=Scalar()),)):
            return True
    return False


def size_of(arm: s.Case) -> int:
    """Return an arm's size."""
    if not isinstance(arm.size, s.Literal) or not isinstance(arm.size.value, int):
        raise NoWord("an arm's size")
    return arm.size.value


def literal(e: s.Expr) -> object:
    """Return a template argument."""
    if not isinstance(e, s.Literal):
        raise NoWord("a template argument")
    return e.value


def elaborate(kernel: surface.Kernel, shape: Shape, cells: tuple[int, ...], values: tuple[int, ...] = ()) -> x.Program:
    """Return the calculus's program for a kernel, at one shape, with what it is launched with."""
    function = instantiate(kernel, parse(kernel), {})
    return Elaboration(Made(shape), inside=False).kernel(function, cells, values)
