"""Kernels that read lazy arrays: a parameter that is memory becomes the memory and the numbers of a view.

In: a kernel's tree after instantiate, and views for some of its parameters `x: ptr(const(T))`. Out: one in which each is the
view's leaves and numbers; `x[e]` is the view's expression of the leaves' elements, `load_vector(x[e], n)` a vector load of each
leaf and the expression of their components, a partition an offset, and a device function that is given `x` one that is rewritten
the same way. All that comes behind, checker, barriers, reference machine and emitter, sees the leaves and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NoReturn, TypeAlias

from prism.lang import surface
from prism.lang.diagnostics import Span
from prism.lang.intrinsics import TABLE
from prism.lang.intrinsics.declaration import Intrinsic
from prism.lang.parse import syntax as s
from prism.lang.surface.views import At, Compute, Expression, Leaf, NotReadable, Number, Position, View, direct_leaves
from prism.lang.types import SCALARS, Scalar, Vector
from prism.lang.types.perspective import GRID, THREAD, Perspective

MEMORY = ("element", "tile", "tensor")
WORD = 16
"""Bytes that a vector load has at most."""
_MOST = 256  # views of a kernel that are kept
_STATEMENTS = s.Stmt.__args__
_NOWHERE: Any = lambda: None  # noqa: E731 -- what stands for the text of a function that has none
Syntax: TypeAlias = Callable[[surface.Kernel], s.Function]
"""Gives a kernel's syntax tree."""


class Written(surface.Kernel):
    """A function of which there is no text: its tree was made. A kernel, where it says what it `requires`."""

    syntax: s.Function

    def __init__(
        self, syntax: s.Function, template: Mapping[str, Any] | None = None, python: Any = None,
        requires: tuple[Perspective, ...] = (),
    ) -> None:  # fmt: skip
        kind, bound = ("global", requires) if requires else ("device", (THREAD,))
        super().__init__(_NOWHERE if python is None else python, kind, bound, template=template or {})
        self.__name__ = self.__qualname__ = syntax.name
        self.__module__, self.__doc__ = "", None
        self.syntax = syntax


class Viewed(surface.Kernel):
    """A kernel of which some parameters are views: `base`, and `views` by the parameters' names."""

    base: surface.Kernel
    views: Mapping[str, View]
    syntax: s.Function

    def __init__(self, base: surface.Kernel, views: Mapping[str, View], parsed: s.Function) -> None:
        implied = {p.name: element_name(p.annotation) for p in parsed.parameters if p.name in views}
        defaults = {name: views[p].scalar for p, name in implied.items() if name in base.template}
        alias = tuple(kept for names in base.may_alias if len(kept := names - views.keys()) > 1)
        super().__init__(
            base.python, base.kind, base.requires, base.smem, base.cooperative, base.template, {**base.defaults, **defaults},
            base.attributes, alias, base.external,
        )  # fmt: skip
        self.__name__, self.__qualname__, self.__module__ = base.__name__, base.__qualname__, ""
        self.base, self.views = base, views
        self.syntax = replace(parsed, parameters=leaves_of(self, parsed.parameters))


def view_kernel(kernel: surface.Kernel, views: Mapping[str, View], syntax_of: Syntax) -> Viewed:
    """Return a kernel with views for some of its parameters; the same for the same."""
    kept: dict[Any, Viewed] = kernel.__dict__.setdefault("_viewed", {})
    key = tuple(sorted(views.items(), key=lambda item: item[0]))
    found = kept.get(key)
    if found is None and len(kept) >= _MOST:  # a lambda that names another number in each call is another view
        kept.clear()
    return kept.setdefault(key, Viewed(kernel, dict(views), syntax_of(kernel))) if found is None else found


def rewrite(kernel: Viewed, folded: s.Function, syntax_of: Syntax) -> s.Function:
    """Return the tree of a kernel with its views' leaves for parameters; `folded` is that of its base, instantiated.

    Raises:
        NotReadable: it does with one of these parameters what only memory can do.
    """
    env: dict[str, Bound] = {}
    for p in folded.parameters:
        if p.name in kernel.views:
            wanted, view = element_of(p.annotation), kernel.views[p.name]
            offset = s.Name(name=at_name(p.name), span=p.span) if kernel.kind == "device" else None
            env[p.name] = Bound(p.name, convert_view(view, wanted), offset)
    body = _Rewriter(syntax_of).body(folded.body, env)
    return replace(folded, parameters=leaves_of(kernel, folded.parameters), body=body)


# -- Parameters -----------------------------------------------------------------------------------------------------------


# What comes with a view has names that no kernel can have: a dot stands in each.


def leaf_name(name: str, number: int) -> str:
    """Return what a leaf of a view is called."""
    return f"{name}.leaf{number}"


def leaf_owner(name: str) -> str:
    """Return the parameter that a leaf, by its name, is one of; empty: it is none."""
    return name.rpartition(".leaf")[0]


def number_name(name: str, number: int) -> str:
    """Return what a number of a view is called."""
    return f"{name}.number{number}"


def at_name(name: str) -> str:
    """Return what is called where a view begins."""
    return f"{name}.at"


def leaves_of(kernel: Viewed, parameters: tuple[s.Parameter, ...]) -> tuple[s.Parameter, ...]:
    """Return a kernel's parameters, with leaves, numbers and, in device functions, the offset for those that are views."""
    found: list[s.Parameter] = []
    for p in parameters:
        if p.name not in kernel.views:
            found.append(p)
            continue
        if p.default is not None:
            raise NotReadable(f"`{p.name}` of `{kernel.__name__}` has a default")
        found += parameters_of(p.name, kernel.views[p.name], p.span)
        if kernel.kind == "device":
            found.append(parameter(at_name(p.name), SCALARS["int64"], p.place, p.span))
    return tuple(found)


def parameters_of(name: str, view: View, span: Span) -> list[s.Parameter]:
    """Return the parameters that a view's leaves and numbers are."""
    grid = as_syntax(replace(GRID, named=True), span)
    leaves = [
        s.Parameter(name=leaf_name(name, k), annotation=memory(scalar, span), place=grid, default=None, span=span)
        for k, scalar in enumerate(view.leaves)
    ]
    return leaves + [parameter(number_name(name, k), SCALARS["uint64"], grid, span) for k in range(view.numbers)]


def parameter(name: str, scalar: Scalar | Vector, place: s.Expr | None, span: Span) -> s.Parameter:
    """Return a parameter that is a number."""
    return s.Parameter(name=name, annotation=as_syntax(scalar, span), place=place, default=None, span=span)


def memory(scalar: Scalar, span: Span) -> s.Expr:
    """Return the annotation `ptr(const(T))`."""
    return call(surface.ptr, (call(surface.const, (as_syntax(scalar, span),), span),), span)


def element_name(annotation: s.Expr) -> str:
    """Return the name that stands for T in `ptr(const(T))`; "" where it is none."""
    match annotation:
        case s.Call(arguments=(s.Call(arguments=(s.Name(name=name),)),)):
            return name
        case _:
            return ""


def element_of(annotation: s.Expr) -> Scalar:
    """Return T of `ptr(const(T))`, instantiated.

    Raises:
        NotReadable: it is another type, as memory that is written.
    """
    match annotation:
        case s.Call(
            function=s.Resolved(value=surface.ptr),
            arguments=(
                s.Call(function=s.Resolved(value=surface.const), arguments=(s.Resolved(value=Scalar() as found),)),
            ),
        ):
            return found
        case _:
            raise NotReadable("it is written, or no plain memory")


def convert_view(view: View, wanted: Scalar) -> View:
    """Return a view as a kernel's type of the same size: of integers, where signs don't matter, and of bools' bytes.

    Raises:
        NotReadable: the kernel takes its bytes for something else.
    """
    if view.scalar == wanted:
        return view
    if (
        view.scalar.bits != wanted.bits
        or not wanted.integral
        or not (view.scalar.integral or view.scalar.kind == "bool")
    ):
        raise NotReadable(f"{view.scalar} is taken for {wanted}")
    return replace(view, value=Compute(wanted, (view.value,)), scalar=wanted)


class Bound:
    """A name that stands for a view: of the parameter `root`, from `offset` on, or read through an index function."""

    def __init__(self, root: str, view: View, offset: s.Expr | None, index: s.Lambda | None = None) -> None:
        self.root, self.view, self.offset, self.index = root, view, offset, index

    def place(self, e: s.Expr) -> s.Expr:
        """Return the position of an element by its index."""
        if self.index is not None:
            e = substitute(self.index.body, self.index.parameters[0], e)
        return e if self.offset is None else s.Binary(op="+", left=self.offset, right=e, span=e.span)

    def arguments(self, span: Span) -> tuple[s.Expr, ...]:
        """Return leaves and numbers, as a call passes them on."""
        leaves = (leaf_name(self.root, k) for k in range(len(self.view.leaves)))
        numbers = (number_name(self.root, k) for k in range(self.view.numbers))
        return tuple(s.Name(name=name, span=span) for name in (*leaves, *numbers))

    def element(self, e: s.Expr) -> s.Expr:
        """Return the element of an index."""
        return value_of(self.root, self.view.value, lambda: self.place(e), e.span, {})


# -- Values ---------------------------------------------------------------------------------------------------------------


def value_of(  # noqa: C901 -- a case a kind of expression
    root: str, value: Expression, position: Callable[[], s.Expr], span: Span, loaded: Mapping[Expression, s.Expr]
) -> s.Expr:
    """Return a view's value at a position, as syntax; `loaded` has what was read of leaves at this very position, or near it."""

    def inner(part: Expression) -> s.Expr:
        return value_of(root, part, position, span, loaded)

    if value in loaded:
        read: s.Expr = s.copy_tree(loaded[value])
        return read
    match value:
        case Leaf(number=number):
            index = s.copy_tree(position())
            return s.Subscript(base=s.Name(name=leaf_name(root, number), span=span), indices=(index,), span=span)
        case Number(number=number, scalar=scalar):
            return number_in(s.Name(name=number_name(root, number), span=span), scalar, span)
        case Position(shift=shift):
            here: s.Expr = call(SCALARS["int64"], (s.copy_tree(position()),), span)
            return s.Binary(op="+", left=here, right=s.Literal(value=shift, span=span), span=span) if shift else here
        case At(source=source, place=place):
            return value_of(root, source, lambda: value_of(root, place, position, span, loaded), span, {})
        case Compute(what="if", parts=(condition, then, otherwise)):
            return s.Conditional(condition=inner(condition), then=inner(then), otherwise=inner(otherwise), span=span)
        case Compute(what=str() as op, parts=(left, right)):
            return s.Binary(op=op, left=inner(left), right=inner(right), span=span)
        case Compute(what=str() as op, parts=(operand,)):
            return s.Unary(op=op, operand=inner(operand), span=span)
        case Compute(what=what, parts=parts):
            return call(what, tuple(map(inner, parts)), span)
    raise AssertionError(value)


def number_in(word: s.Expr, scalar: Scalar, span: Span) -> s.Expr:
    """Return a number of a launch, of 8 bytes, in its own type."""
    if scalar.kind == "bool":
        return s.Binary(op="!=", left=word, right=s.Literal(value=0, span=span), span=span)
    if scalar.kind == "float":
        word = call(TABLE["bitcast"], (word, as_syntax(SCALARS["float64"], span)), span)
    return call(scalar, (word,), span)


def reader(view: View, width: int, keywords: tuple[tuple[str, s.Expr], ...], span: Span) -> Written:
    """Return the function that loads a vector of a view: `(leaves, numbers, at) -> vector(T, width)`."""
    at, root = "at", "x"
    body: list[s.Stmt] = []
    loaded: dict[Leaf, Callable[[int], s.Expr]] = {}
    for leaf in direct_leaves(view.value):
        scalar, name = view.leaves[leaf.number], leaf_name(root, leaf.number)
        step = min(width, WORD // scalar.bytes)
        if not leaf.wide or step < 2 or width % step:
            continue
        for k in range(0, width, step):
            begin = s.Binary(op="+", left=s.Name(name=at, span=span), right=s.Literal(value=k, span=span), span=span)
            element = s.Subscript(base=s.Name(name=name, span=span), indices=(begin,), span=span)
            load = s.Call(
                function=as_syntax(TABLE["load_vector"], span),
                arguments=(element, s.Literal(value=step, span=span)), keywords=keywords, span=span,
            )  # fmt: skip
            annotation = call(surface.vector, (as_syntax(scalar, span), s.Literal(value=step, span=span)), span)
            row = f"{name}_row{k}"
            body.append(s.Declare(name=row, name_span=span, annotation=annotation, place=None, value=load, span=span))

        def component(k: int, name: str = name, step: int = step) -> s.Expr:
            row = s.Name(name=f"{name}_row{k // step * step}", span=span)
            return s.Subscript(base=row, indices=(s.Literal(value=k % step, span=span),), span=span)

        loaded[leaf] = component
    items: list[s.Expr] = []
    for k in range(width):
        here: dict[Expression, s.Expr] = {leaf: component(k) for leaf, component in loaded.items()}
        for near, leaf, shift in surface.views.near_leaves(view.value):  # what the same vectors hold is not read again
            if leaf in loaded and 0 <= k + shift < width:
                here[near] = loaded[leaf](k + shift)
        place = s.Binary(op="+", left=s.Name(name=at, span=span), right=s.Literal(value=k, span=span), span=span)
        items.append(value_of(root, view.value, lambda place=place: place, span, here))  # type: ignore[misc]
    body.append(s.Return(value=call(Vector(view.scalar, width), tuple(items), span), span=span))
    thread = as_syntax(THREAD, span)
    function = s.Function(
        name="read_vector", parameters=(*parameters_of(root, view, span), parameter(at, SCALARS["int64"], thread, span)),
        result=call(surface.vector, (as_syntax(view.scalar, span), s.Literal(value=width, span=span)), span), result_place=thread,
        body=tuple(body), extern=False, decorators=(), length=len(body), span=span,
    )  # fmt: skip
    return Written(function)


# -- Bodies ---------------------------------------------------------------------------------------------------------------


class _Rewriter:
    """Rewrites statements; `env` says which names stand for views."""

    def __init__(self, syntax_of: Syntax) -> None:
        self.syntax_of = syntax_of

    def body(self, body: s.Body, env: Mapping[str, Bound]) -> s.Body:
        found: list[s.Stmt] = []
        for statement in body:
            if isinstance(statement, s.Declare) and statement.name in env:
                env = {name: bound for name, bound in env.items() if name != statement.name}
            found += self.statement(statement, env)
        return tuple(found)

    def statement(self, st: s.Stmt, env: Mapping[str, Bound]) -> list[s.Stmt]:
        match st:
            case s.Partition(source=s.Name(name=name)) if name in env:
                return self.partition(st, env[name], env)
            case s.Evaluate(
                value=s.Call(function=s.Resolved(value=what), arguments=(s.Subscript() as element, *rest))
            ) if what is TABLE["prefetch"] and self.view_of(element, env) is not None:
                bound, span = env[element.base.name], st.span  # type: ignore[union-attr]
                calls: list[s.Stmt] = []
                for leaf in direct_leaves(bound.view.value):
                    place = s.copy_tree(bound.place(self.walk(element.indices[0], env)))
                    memory = s.Name(name=leaf_name(bound.root, leaf.number), span=span)
                    begin = s.Subscript(base=memory, indices=(place,), span=span)
                    more = tuple(s.copy_tree(self.walk(one, env)) for one in rest)
                    calls.append(s.Evaluate(value=call(what, (begin, *more), span), span=span))
                return calls
            case s.Nested():
                own = s.locals_of(st.function) - st.shared
                inner = {name: bound for name, bound in env.items() if name not in own}
                return [replace(st, function=self.walk(st.function, inner))]
            case _:
                return [self.rebuild(st, env)]

    def partition(self, st: s.Partition, bound: Bound, env: Mapping[str, Bound]) -> list[s.Stmt]:
        """A part of a view is the view, from another place on. What is declared in the body stays there, under `if True`."""
        before: tuple[s.Stmt, ...] = ()
        if isinstance(st.offset, s.Lambda):
            if len(st.offset.parameters) != 1 or bound.index is not None:
                raise NotReadable(f"`{st.name}` has an index function of several indices, or of another one")
            part = Bound(bound.root, bound.view, bound.offset, self.walk(st.offset, env))
        elif st.offset is None:
            part = bound
        else:
            if bound.index is not None:
                raise NotReadable(f"`{st.name}` is a part of what is read through an index function")
            begin = bound.place(self.walk(st.offset, env))
            at, int64 = at_name(st.name), as_syntax(SCALARS["int64"], st.span)
            before = (
                s.Declare(name=at, name_span=st.span, annotation=int64, place=st.unit, value=begin, span=st.span),
            )
            part = Bound(bound.root, bound.view, s.Name(name=at, span=st.span))
        inside = (*before, *self.body(st.body, {**env, st.name: part}))
        return [s.If(condition=s.Literal(value=True, span=st.span), then=inside, otherwise=(), span=st.span)]

    def walk(self, part: Any, env: Mapping[str, Bound]) -> Any:
        """Rewrite an expression, or a tuple of whatever there is in a tree."""
        match part:
            case tuple():
                if part and isinstance(part[0], _STATEMENTS):
                    return self.body(part, env)
                return tuple(self.walk(one, env) for one in part)
            case s.Name(name=name) if name in env:
                refuse(env[name], "it is used as memory")
            case s.Subscript() if (bound := self.view_of(part, env)) is not None:
                if len(part.indices) != 1:
                    refuse(bound, "it is read by several indices")
                return bound.element(self.walk(part.indices[0], env))
            case s.Call():
                return self.call(part, env)
            case s.Node():
                return self.rebuild(part, env)
            case _:
                return part

    def rebuild(self, node: Any, env: Mapping[str, Bound]) -> Any:
        changed = {}
        for one in type(node)._fields:
            old = getattr(node, one.name)
            new = self.walk(old, env) if isinstance(old, tuple | s.Node) else old
            if new is not old:
                changed[one.name] = new
        return replace(node, **changed) if changed else node

    def view_of(self, e: s.Expr, env: Mapping[str, Bound]) -> Bound | None:
        """Return the view of which an expression is an element."""
        if isinstance(e, s.Subscript) and isinstance(e.base, s.Name):
            return env.get(e.base.name)
        return None

    def call(self, e: s.Call, env: Mapping[str, Bound]) -> s.Expr:
        callee = e.function.value if isinstance(e.function, s.Resolved) else None
        first = self.view_of(e.arguments[0], env) if e.arguments else None
        if first is not None and (callee is TABLE["load_vector"] or isinstance(callee, surface.VectorCast)):
            width = e.arguments[1] if len(e.arguments) > 1 else dict(e.keywords).get("n")
            if isinstance(callee, surface.VectorCast):
                width = s.Literal(value=callee.vector.length, span=e.span)
            if not isinstance(width, s.Literal) or type(width.value) is not int:
                refuse(first, "it is loaded by a vector of unknown length")
            index = self.walk(e.arguments[0].indices[0], env)  # type: ignore[union-attr]
            arguments = (*first.arguments(e.span), first.place(index))
            return call(reader_of(first.view, width.value, e.keywords, e.span), arguments, e.span)
        if isinstance(callee, Intrinsic):
            for p, argument in zip(callee.parameters, e.arguments, strict=False):
                if p.kind in MEMORY and (bound := self.view_of(argument, env)) is not None:
                    refuse(bound, f"`{callee.name}` takes its memory")
        given = {k: env[a.name] for k, a in enumerate(e.arguments) if isinstance(a, s.Name) and a.name in env}
        named = {k: env[a.name] for k, a in e.keywords if isinstance(a, s.Name) and a.name in env}
        if not given and not named:
            same: s.Expr = self.rebuild(e, env)
            return same
        return self.device_call(e, callee, given, named, env)

    def device_call(
        self,
        e: s.Call,
        callee: object,
        given: Mapping[int, Bound],
        named: Mapping[str, Bound],
        env: Mapping[str, Bound],
    ) -> s.Expr:
        """A device function that is given views is one that reads their leaves."""
        bound = next(iter((*given.values(), *named.values())))
        if named or not isinstance(callee, surface.Kernel) or callee.external is not None:
            refuse(bound, "what it is passed to takes memory")
        parsed = self.syntax_of(callee)
        if len(e.arguments) > len(parsed.parameters):
            refuse(bound, "it is passed where there is no parameter")
        views: dict[str, View] = {}
        arguments: list[s.Expr] = []
        for k, argument in enumerate(e.arguments):
            if k not in given:
                arguments.append(self.walk(argument, env))
                continue
            one, zero = given[k], s.Literal(value=0, span=argument.span)
            if one.index is not None:
                refuse(one, "what is read through an index function is passed on")
            views[parsed.parameters[k].name] = one.view
            arguments += [*one.arguments(argument.span), zero if one.offset is None else s.copy_tree(one.offset)]
        found = view_kernel(callee, views, self.syntax_of)
        function = s.Resolved(value=found, text=callee.__name__, span=e.function.span)
        return s.Call(function=function, arguments=tuple(arguments), keywords=self.walk(e.keywords, env), span=e.span)


_readers: dict[Any, Written] = {}


def reader_of(view: View, width: int, keywords: tuple[tuple[str, s.Expr], ...], span: Span) -> Written:
    """Return the function that `reader` makes; the same for the same."""
    key = (view, width, tuple((name, getattr(value, "value", None)) for name, value in keywords))
    if (found := _readers.get(key)) is None:
        found = _readers.setdefault(key, reader(view, width, keywords, span))
    return found


def refuse(bound: Bound, why: str) -> NoReturn:
    """Say why a kernel can't read a view."""
    raise NotReadable(f"`{bound.root}`: {why}")


# -- Syntax ---------------------------------------------------------------------------------------------------------------


def as_syntax(value: object, span: Span) -> s.Resolved:
    """Return an object, as syntax."""
    return s.Resolved(value=value, text=str(getattr(value, "__name__", getattr(value, "name", value))), span=span)


def call(function: object, arguments: tuple[s.Expr, ...], span: Span) -> s.Call:
    """Return a call of an object."""
    return s.Call(function=as_syntax(function, span), arguments=arguments, keywords=(), span=span)


def substitute(part: Any, name: str, by: s.Expr) -> Any:
    """Return an expression with another in place of a name."""
    if isinstance(part, tuple):
        return tuple(substitute(one, name, by) for one in part)
    if isinstance(part, s.Name) and part.name == name:
        return s.copy_tree(by)
    if not isinstance(part, s.Node):
        return part
    return replace(part, **{one.name: substitute(getattr(part, one.name), name, by) for one in type(part)._fields})
